/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel settings that checks evaluate: their current values, and their values at the next boot by sysctl.d. Also the
 * services that change some of them.
 */
#include <string.h>
#include "probe/host/reading.h"
#include "sysctl/sysctl.h"

/* path NULL: name is a sysctl */
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
	{ "net.ipv4.tcp_window_scaling", NULL },
	{ "net.ipv4.tcp_timestamps", NULL },
	{ "thp.shmem", "/sys/kernel/mm/transparent_hugepage/shmem_enabled" },
};

/* ---- services ------------------------------------------------------------------------------------------------- */

/*
 * Detects services from files. A running unit has a control group or a file in /run. An enabled unit has a link. A unit
 * may run without being enabled: a desktop starts power-profiles-daemon on demand.
 */
static const struct {
	const char *name, *running, *unit;
} tuners[] = {
	{ "tuned", "/run/tuned/tuned.pid", "multi-user.target.wants/tuned.service" },
	{ "irqbalance", "/run/irqbalance", "multi-user.target.wants/irqbalance.service" },
	{ "power-profiles-daemon", NULL, "graphical.target.wants/power-profiles-daemon.service" },
	{ "tlp", "/run/tlp/last_pwr", "multi-user.target.wants/tlp.service" },
	{ "numad", "/run/numad.pid", "multi-user.target.wants/numad.service" },
	{ "bpftune", NULL, "multi-user.target.wants/bpftune.service" },
	{ "cpufrequtils", NULL, "multi-user.target.wants/cpufrequtils.service" },
	{ "ksmtuned", "/run/ksmtune.pid", "multi-user.target.wants/ksmtuned.service" },
};

void pr_find_tuners(struct gt_fsroot *fs, struct gt_strv *ret)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(tuners); i++) {
		gt_autofree char *unit = gt_xasprintf("/etc/systemd/system/%s", tuners[i].unit), *target = NULL;
		gt_autofree char *group = gt_xasprintf("/sys/fs/cgroup/system.slice/%s.service", tuners[i].name);

		if ((tuners[i].running && gt_fs_exists(fs, tuners[i].running)) || gt_fs_exists(fs, group))
			gt_strv_take(ret, gt_xasprintf("%s (running)", tuners[i].name));
		else if (gt_fs_readlink(fs, unit, &target) >= 0)
			gt_strv_take(ret, gt_xasprintf("%s (enabled)", tuners[i].name));
	}
}

const char *pr_find_tuner(const struct gt_strv *list, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < list->n; i++)
		if (!strncmp(list->v[i], name, n) && list->v[i][n] == ' ')
			return list->v[i];
	return NULL;
}

/* ---- settings ------------------------------------------------------------------------------------------------- */

/* Returns the value in the text: for a sysctl as the kernel parses it, for others the choice in brackets. */
static struct pr_str accepted_value(struct pr_host *h, const char *name, bool sysctl, struct pr_str text)
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
		s->boot = accepted_value(h, s->name, true, pr_text(h, a->value));
	if (s->boot.state == PR_PRESENT)
		s->boot_by = pr_own(h, gt_xasprintf("%s:%u", a->file, a->line));
	else
		s->boot.state = PR_ABSENT; /* an invalid value has no effect */
}

void pr_discover_settings(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto(sc_conf) *conf = NULL;
	int r = sc_conf_load(fs, SC_NEXT_BOOT, NULL, &conf, NULL);

	pr_find_tuners(fs, &h->tuners);
	h->nccl_conf = pr_read_text(h, fs, "/etc/nccl.conf");
	h->setting = gt_xcalloc(GT_ARRAY_SIZE(known), sizeof(*h->setting));
	h->n_setting = GT_ARRAY_SIZE(known);
	for (size_t i = 0; i < GT_ARRAY_SIZE(known); i++) {
		struct pr_setting *s = &h->setting[i];
		gt_autofree char *path = known[i].path ? gt_xstrdup(known[i].path) : sc_path(known[i].name);

		s->name = known[i].name;
		s->now = accepted_value(h, s->name, !known[i].path, pr_read_str(h, fs, "%s", path));
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
