/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "sysctl/sysctl.h"

/* Ranges are from kernel/sysctl.c, mm/page-writeback.c and net/core/sysctl_net_core.c of Linux 6.1 to 6.18. */
const struct sc_key sc_keys[] = {
	{ "vm.dirty_ratio", SC_INT, 1, 0, 100, "percent", "vm.dirty_bytes" },
	{ "vm.dirty_bytes", SC_UNSIGNED, 1, 8192 /* two pages */, UINT64_MAX, "bytes", "vm.dirty_ratio" },
	{ "vm.dirty_background_ratio", SC_INT, 1, 0, 100, "percent", "vm.dirty_background_bytes" },
	{ "vm.dirty_background_bytes", SC_UNSIGNED, 1, 1, UINT64_MAX, "bytes", "vm.dirty_background_ratio" },
	{ "vm.swappiness", SC_INT, 1, 0, 200, "", NULL },
	{ "vm.zone_reclaim_mode", SC_INT, 1, 0, 7, "", NULL },
	{ "vm.max_map_count", SC_INT, 1, 0, INT32_MAX, "mappings", NULL },
	{ "vm.min_free_kbytes", SC_INT, 1, 0, INT32_MAX, "KiB", NULL },
	{ "vm.compaction_proactiveness", SC_INT, 1, 0, 100, "percent", NULL },
	{ "vm.overcommit_memory", SC_INT, 1, 0, 2, "", NULL },
	{ "vm.overcommit_ratio", SC_INT, 1, 0, INT32_MAX, "percent", "vm.overcommit_kbytes" },
	{ "vm.overcommit_kbytes", SC_UNSIGNED, 1, 0, UINT64_MAX, "KiB", "vm.overcommit_ratio" },
	{ "vm.nr_hugepages", SC_UNSIGNED, 1, 0, INT32_MAX, "pages", NULL },
	{ "kernel.numa_balancing", SC_INT, 1, 0, 4, "", NULL },
	{ "kernel.pid_max", SC_INT, 1, 301, 4194304, "", NULL },
	{ "kernel.shmmax", SC_UNSIGNED, 1, 0, UINT64_MAX, "bytes", NULL },
	{ "kernel.shmall", SC_UNSIGNED, 1, 0, UINT64_MAX, "pages", NULL },
	{ "kernel.sched_rt_runtime_us", SC_INT, 1, -1, INT32_MAX, "us", NULL },
	{ "fs.inotify.max_user_instances", SC_UNSIGNED, 1, 0, INT32_MAX, "", NULL },
	{ "fs.inotify.max_user_watches", SC_UNSIGNED, 1, 0, INT32_MAX, "", NULL },
	{ "kernel.nmi_watchdog", SC_INT, 1, 0, 1, "", NULL },
	{ "fs.file-max", SC_UNSIGNED, 1, 0, INT64_MAX, "files", NULL },
	{ "fs.aio-max-nr", SC_UNSIGNED, 1, 0, UINT64_MAX, "requests", NULL },
	{ "net.core.netdev_budget", SC_INT, 1, 0, INT32_MAX, "packets", NULL },
	{ "net.core.busy_read", SC_INT, 1, 0, INT32_MAX, "us", NULL },
	{ "net.core.busy_poll", SC_INT, 1, 0, INT32_MAX, "us", NULL },
	{ "net.ipv4.tcp_sack", SC_UNSIGNED, 1, 0, 255, "", NULL },
	{ "net.ipv4.tcp_window_scaling", SC_UNSIGNED, 1, 0, 255, "", NULL },
	{ "net.ipv4.tcp_moderate_rcvbuf", SC_UNSIGNED, 1, 0, 255, "", NULL },
	{ "net.ipv4.tcp_timestamps", SC_UNSIGNED, 1, 0, 2, "", NULL },
	{ "net.core.netdev_max_backlog", SC_INT, 1, 0, INT32_MAX, "packets", NULL },
	{ "net.ipv4.conf.all.arp_announce", SC_INT, 1, 0, 2, "", NULL },
	{ "net.ipv4.conf.all.arp_ignore", SC_INT, 1, 0, 8, "", NULL },
	{ "sunrpc.tcp_max_slot_table_entries", SC_INT, 1, 2, 65536, "requests", NULL },
	{ "net.core.rmem_max", SC_INT, 1, 2304, INT32_MAX, "bytes", NULL },
	{ "net.core.wmem_max", SC_INT, 1, 4608, INT32_MAX, "bytes", NULL },
	{ "net.core.rmem_default", SC_INT, 1, 2304, INT32_MAX, "bytes", NULL },
	{ "net.core.wmem_default", SC_INT, 1, 4608, INT32_MAX, "bytes", NULL },
	{ "net.ipv4.tcp_rmem", SC_INT, 3, 1, INT32_MAX, "bytes", NULL },
	{ "net.ipv4.tcp_wmem", SC_INT, 3, 1, INT32_MAX, "bytes", NULL },
	{ 0 },
};

char *sc_normalize(const char *key)
{
	char *s = gt_xstrdup(key), *first = strpbrk(s, "/."), *to = s;

	if (first && *first == '.') /* if the first separator is a dot, dots separate components, and a slash stands for a dot */
		for (char *p = first; p; p = strpbrk(p + 1, "/."))
			*p = *p == '.' ? '/' : '.';
	for (char *p = s; *p;) { /* removes empty components, "." components and leading slashes */
		size_t n = strcspn(p, "/");

		if (n && !(n == 1 && *p == '.')) {
			if (to != s)
				*to++ = '/';
			memmove(to, p, n);
			to += n;
		}
		p += n;
		p += *p == '/';
	}
	*to = '\0';
	return s;
}

char *sc_path(const char *key)
{
	gt_autofree char *n = sc_normalize(key);

	return gt_xasprintf("/proc/sys/%s", n);
}

/* Compares a name of the table, which is separated by dots, with a normalised key. */
static bool is_key(const struct sc_key *k, const char *want)
{
	size_t i = 0;

	while (k->name[i] && want[i] == (k->name[i] == '.' ? '/' : k->name[i]))
		i++;
	return k->name[i] == want[i];
}

const struct sc_key *sc_key_find(const char *name)
{
	gt_autofree char *want = sc_normalize(name);

	for (const struct sc_key *k = sc_keys; k->name; k++)
		if (is_key(k, want))
			return k;
	return NULL;
}
