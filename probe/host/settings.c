/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel settings that checks judge: now, and at the next boot by sysctl.d. */
#include <string.h>
#include "probe/host/reading.h"
#include "sysctl/sysctl.h"

/* Without a path the name is a sysctl's. */
static const struct {
	const char *name, *path;
} known[] = {
	{ "vm.overcommit_memory", NULL },
	{ "vm.nr_hugepages", NULL },
	{ "kernel.shmmax", NULL },
	{ "kernel.sched_rt_runtime_us", NULL },
	{ "kernel.nmi_watchdog", NULL },
	{ "net.core.rmem_default", NULL },
	{ "net.core.busy_read", NULL },
	{ "net.ipv4.tcp_timestamps", NULL },
	{ "thp.shmem", "/sys/kernel/mm/transparent_hugepage/shmem_enabled" },
};

/* The value that the text sets: of a sysctl as the kernel reads it, of others the choice in brackets. */
static struct pr_str taken(struct pr_host *h, const char *name, bool sysctl, struct pr_str text)
{
	char *value = NULL;

	if (text.state != PR_PRESENT)
		return text;
	if (!sysctl)
		return strchr(text.v, '[') ? pr_chosen(h, text) : (struct pr_str){ PR_BROKEN, NULL };
	if (sc_read_value(name, text.v, &value, NULL, NULL) < 0)
		return (struct pr_str){ PR_BROKEN, NULL };
	return (struct pr_str){ PR_PRESENT, pr_own(h, value) };
}

static void read_boot(struct pr_host *h, const struct sc_conf *conf, struct pr_setting *s)
{
	const struct sc_assign *a = sc_boot_value(conf, s->name);

	if (a)
		s->boot = taken(h, s->name, true, pr_text(h, a->value));
	if (s->boot.state == PR_PRESENT)
		s->boot_by = pr_own(h, gt_xasprintf("%s:%u", a->file, a->line));
	else
		s->boot.state = PR_ABSENT; /* what the kernel refuses sets nothing */
}

void pr_discover_settings(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto(sc_conf) *conf = NULL;
	int r = sc_conf_load(fs, SC_NEXT_BOOT, NULL, &conf, NULL);

	h->setting = gt_xcalloc(GT_ARRAY_SIZE(known), sizeof(*h->setting));
	h->n_setting = GT_ARRAY_SIZE(known);
	for (size_t i = 0; i < GT_ARRAY_SIZE(known); i++) {
		struct pr_setting *s = &h->setting[i];
		gt_autofree char *path = known[i].path ? gt_xstrdup(known[i].path) : sc_path(known[i].name);

		s->name = known[i].name;
		s->now = taken(h, s->name, !known[i].path, pr_read_str(h, fs, "%s", path));
		if (r < 0)
			s->boot.state = pr_state_of(r);
		else
			read_boot(h, conf, s);
	}
}

const struct pr_setting *pr_find_setting(const struct pr_host *h, const char *name)
{
	for (size_t i = 0; i < h->n_setting; i++)
		if (!strcmp(h->setting[i].name, name))
			return &h->setting[i];
	return NULL;
}
