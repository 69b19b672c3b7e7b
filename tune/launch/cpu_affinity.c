/* SPDX-License-Identifier: Apache-2.0 */
/* Determines the CPU mask that the launcher gave to this process (a rank), and reads the launcher's environment. */
#include <stdio.h>
#include <string.h>
#include "tune/launch/cpu_affinity.h"

#define ANCESTORS_MAX 8 /* maximum number of shells and wrappers between a launcher and this process */

/* Returns the value of the "key:" line in /proc/PID/status; NULL: unreadable. The caller frees it. */
static char *status_of(const struct tn_launch *c, int pid, const char *key)
{
	gt_autofree char *path = gt_xasprintf("/proc/%d/status", pid), *text = NULL;
	size_t n = strlen(key);

	if (gt_fs_read(c->fs, path, &text, NULL) < 0)
		return NULL;
	for (const char *line = text; line && *line; line = gt_next_line(line))
		if (!strncmp(line, key, n) && line[n] == ':') {
			gt_autofree char *value = gt_xstrndup(line + n + 1, strcspn(line + n + 1, "\n"));

			return gt_xstrdup(gt_strip(value));
		}
	return NULL;
}

static const char *find(const char *environment, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = environment; p && p < environment + len; p += strlen(p) + 1)
		if (!strncmp(p, name, n) && p[n] == '=')
			return p + n + 1;
	return NULL;
}

/*
 * Returns the nearest ancestor that does not belong to this rank. A shell between the launcher and the rank has the
 * rank's variables. A process with an unreadable environment belongs to another user, so it is no part of the rank. 0:
 * unknown.
 */
static int launcher_of(const struct tn_launch *c, const char *variable, char **ret_environment, size_t *ret_len)
{
	int pid = c->host->live ? (int)getppid() : 0;

	for (int i = 0; i < ANCESTORS_MAX && pid > 0; i++) {
		gt_autofree char *path = gt_xasprintf("/proc/%d/environ", pid), *text = NULL, *parent = NULL;
		size_t len = 0;
		int64_t up = 0;

		if (gt_fs_read(c->fs, path, &text, &len) < 0 || !find(text, len, variable)) {
			*ret_environment = gt_take(text);
			*ret_len = len;
			return pid;
		}
		parent = status_of(c, pid, "PPid");
		pid = parent && !gt_parse_i64(parent, &up) ? (int)up : 0;
	}
	return 0;
}

char *tn_launcher_command(const struct tn_launch *c, const char *variable)
{
	gt_autofree char *environment = NULL, *path = NULL, *text = NULL;
	size_t len = 0;
	int pid = launcher_of(c, variable, &environment, &len);

	path = gt_xasprintf("/proc/%d/cmdline", pid);
	if (!pid || gt_fs_read(c->fs, path, &text, &len) < 0)
		return NULL;
	for (char *p = text; len && p < text + len - 1; p++)
		*p = *p ? *p : ' ';
	return gt_take(text);
}

bool tn_launcher_had(const struct tn_launch *c, const char *variable, const char *name, char **ret_value)
{
	gt_autofree char *environment = NULL;
	const char *value;
	size_t len = 0;

	if (!launcher_of(c, variable, &environment, &len) || !len)
		return false;
	value = find(environment, len, name);
	*ret_value = value ? gt_xstrdup(value) : NULL;
	return true;
}

/* Returns the launcher whose variables describe a CPU binding. They are used only if the same launcher set the rank. */
static const char *stated_by(const struct tn_launch *c, const char *variable)
{
	const char *srun = tn_run_value(c, "SLURM_CPU_BIND_TYPE");

	if (gt_starts_with(variable, "OMPI_"))
		return tn_run_value(c, "OMPI_MCA_orte_bound_at_launch") ? "mpirun" : NULL;
	if (!gt_starts_with(variable, "SLURM_") || !srun)
		return NULL;
	return gt_starts_with(srun, "mask_") || gt_starts_with(srun, "map_") || gt_starts_with(srun, "rank") ? "srun" : NULL;
}

const char *tn_affinity_launcher(const struct tn_launch *c, const char *variable)
{
	const struct pr_host *h = c->host;
	const struct gt_set *all = tn_possible_cpus(h);
	gt_autofree char *environment = NULL, *list = NULL;
	gt_auto_set launchers = {0};
	size_t len = 0;
	int launcher;

	if (!variable || gt_set_equal(&h->cpu.allowed, all))
		return NULL;
	if (stated_by(c, variable))
		return stated_by(c, variable);
	launcher = launcher_of(c, variable, &environment, &len);
	list = launcher ? status_of(c, launcher, "Cpus_allowed_list") : NULL;
	if (list && gt_parse_cpulist(list, &launchers) >= 0)
		gt_set_and(&launchers, all);
	if (gt_set_count(&launchers))
		return gt_set_equal(&launchers, &h->cpu.allowed) ? NULL : "its launcher";
	return all == &h->cpu.cpuset ? "its launcher" : NULL;
}

const struct gt_set *tn_possible_cpus(const struct pr_host *h)
{
	gt_auto_set both = {0};

	gt_set_copy(&both, &h->cpu.cpuset);
	gt_set_and(&both, &h->cpu.allowed);
	return gt_set_equal(&both, &h->cpu.allowed) ? &h->cpu.cpuset : &h->cpu.online;
}
