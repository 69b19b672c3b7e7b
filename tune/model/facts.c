/* SPDX-License-Identifier: Apache-2.0 */
/* Facts for tunables that struct pr_host lacks: kind of swap, network queues, other tuners. */
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "tune/model/tunable.h"

/* The second and third hexadecimal word of each CPU's line (net/core/net-procfs.c). */
static void read_softnet(struct gt_fsroot *fs, struct tn_facts *ret)
{
	gt_autofree char *text = NULL;

	if (gt_fs_read(fs, "/proc/net/softnet_stat", &text, NULL) < 0)
		return;
	gt_each_line(line, text) {
		unsigned packets, dropped, squeezed;

		if (sscanf(line, "%x %x %x", &packets, &dropped, &squeezed) != 3)
			continue;
		ret->dropped += dropped;
		ret->squeezed += squeezed;
	}
}

#define ROUTE_UP      0x1u
#define ROUTE_GATEWAY 0x2u

/* For each address of a port the kernel keeps a route to its subnet. Two ports in one subnet have two routes to it
 * (net/ipv4/fib_trie.c, fib_route_seq_show). All numbers are hexadecimal except those in the middle. */
static void read_subnets(struct gt_fsroot *fs, struct tn_facts *ret)
{
	gt_autofree char *text = NULL;

	if (gt_fs_read(fs, "/proc/net/route", &text, NULL) < 0)
		return;
	ret->routes = true;
	gt_each_line(line, text) {
		char port[16], to[9], mask[9];
		unsigned flags;

		if (sscanf(line, "%15s %8s %*s %x %*s %*s %*s %8s", port, to, &flags, mask) == 4 &&
		    (flags & (ROUTE_UP | ROUTE_GATEWAY)) == ROUTE_UP && strcmp(mask, "00000000"))
			gt_strv_take(&ret->subnets, gt_xasprintf("%s/%s %s", to, mask, port));
	}
}

bool tn_facts_same_subnet(const struct tn_facts *f, const char *port, const char *other)
{
	for (size_t i = 0; i < f->subnets.n; i++) {
		size_t n = strcspn(f->subnets.v[i], " ") + 1;

		for (size_t k = 0; k < f->subnets.n && !strcmp(f->subnets.v[i] + n, port); k++)
			if (!strncmp(f->subnets.v[i], f->subnets.v[k], n) && !strcmp(f->subnets.v[k] + n, other))
				return true;
	}
	return false;
}

static void read_idle(struct gt_fsroot *fs, struct tn_facts *ret)
{
	for (; ret->n_idle < GT_ARRAY_SIZE(ret->idle_us); ret->n_idle++) {
		gt_autofree char *path = gt_xasprintf("/sys/devices/system/cpu/cpu0/cpuidle/state%zu/latency", ret->n_idle);

		if (gt_fs_read_i64(fs, path, &ret->idle_us[ret->n_idle]) < 0)
			return;
	}
}

void tn_facts_read(struct gt_fsroot *fs, struct tn_facts *ret)
{
	gt_autofree char *swaps = NULL;

	*ret = (struct tn_facts){ 0 };
	if (gt_fs_read(fs, "/proc/swaps", &swaps, NULL) >= 0)
		ret->swap_is_zram = strstr(swaps, "/dev/zram") && !strstr(swaps, "/dev/sd") && !strstr(swaps, "/dev/nvme") &&
				    !strstr(swaps, "/dev/vd") && !strstr(swaps, "file\t");
	pr_find_tuners(fs, &ret->tuners);
	ret->virtual_machines = gt_fs_exists(fs, "/run/libvirt/qemu") || gt_fs_exists(fs, "/run/qemu-server");
	read_softnet(fs, ret);
	read_subnets(fs, ret);
	read_idle(fs, ret);
	gt_fs_read_i64(fs, "/sys/devices/system/cpu/intel_pstate/max_perf_pct", &ret->max_perf_percent);
}

void tn_facts_clear(struct tn_facts *f)
{
	gt_strv_clear(&f->tuners);
	gt_strv_clear(&f->subnets);
}

const char *tn_facts_tuner(const struct tn_facts *f, const char *name)
{
	return pr_find_tuner(&f->tuners, name);
}

/* "Max open files            1024                 524288               files", soft and hard. */
bool tn_open_files(struct gt_fsroot *fs, int64_t *ret_soft, int64_t *ret_hard)
{
	gt_autofree char *text = NULL;
	const char *line;

	if (gt_fs_read(fs, "/proc/self/limits", &text, NULL) < 0)
		return false;
	line = strstr(text, "Max open files");
	return line && sscanf(line, "Max open files %ld %ld", ret_soft, ret_hard) == 2;
}
