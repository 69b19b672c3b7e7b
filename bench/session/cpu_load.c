/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/session/cpu_load.h"
#include "lib/util.h"

struct process {
	int64_t pid;
	double ticks;
	char name[32];
};

struct snapshot {
	double busy, all; /* ticks of all CPUs since boot */
	struct process *p;
	size_t n;
};

/* Parses "12 (a name) R 1 ... utime stime": the name may contain blanks and parentheses. */
static bool parse_stat(char *text, struct process *p)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	double user, sys;

	if (!open || !close || close < open ||
	    sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lf %lf", &user, &sys) != 2)
		return false;
	*close = '\0';
	snprintf(p->name, sizeof(p->name), "%s", open + 1);
	for (char *c = p->name; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	p->pid = strtoll(text, NULL, 10);
	p->ticks = user + sys;
	return true;
}

static void take_snapshot(struct gt_fsroot *fs, struct snapshot *l)
{
	gt_autofree char *stat = NULL;
	gt_auto_strv names = { 0 };
	double v[8] = { 0 };

	l->busy = l->all = NAN;
	if (gt_fs_read(fs, "/proc/stat", &stat, NULL) == 0 &&
	    sscanf(stat, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) >= 5) {
		l->busy = v[0] + v[1] + v[2] + v[5] + v[6] + v[7];
		l->all = l->busy + v[3] + v[4];
	}
	if (gt_fs_list(fs, "/proc", &names) < 0)
		return;
	l->p = gt_xcalloc(names.n + 1, sizeof(*l->p));
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = NULL, *text = NULL;

		if (!isdigit((unsigned char)names.v[i][0]))
			continue;
		path = gt_xasprintf("/proc/%s/stat", names.v[i]);
		if (gt_fs_read(fs, path, &text, NULL) == 0 && parse_stat(text, &l->p[l->n]) && l->p[l->n].pid != getpid())
			l->n++;
	}
}

static double ticks_used(const struct snapshot *before, const struct process *p)
{
	for (size_t i = 0; i < before->n; i++)
		if (before->p[i].pid == p->pid)
			return p->ticks - before->p[i].ticks;
	return p->ticks; /* a new process */
}

/* Adds up the processes with the same name. Keeps the order of their first appearance. */
static size_t add_up(const struct snapshot *a, const struct snapshot *b, struct process *sum)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		double ticks = ticks_used(a, &b->p[i]);
		size_t k = 0;

		while (k < n && strcmp(sum[k].name, b->p[i].name) != 0)
			k++;
		if (k == n && ticks > 0) {
			sum[n] = b->p[i];
			sum[n++].ticks = 0;
		}
		if (ticks > 0)
			sum[k].ticks += ticks;
	}
	return n;
}

void bn_cpu_load_read(struct gt_fsroot *fs, double seconds, struct bn_cpu_load *ret)
{
	struct snapshot a = { 0 }, b = { 0 };
	gt_autofree struct process *sum = NULL;
	double all, end;
	size_t n;

	*ret = (struct bn_cpu_load){ .share = NAN };
	take_snapshot(fs, &a);
	for (end = gt_now_s() + seconds; gt_now_s() < end;)
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	take_snapshot(fs, &b);
	all = b.all - a.all;
	if (all > 0) {
		ret->share = (b.busy - a.busy) / all;
		sum = gt_xcalloc(b.n + 1, sizeof(*sum));
		n = add_up(&a, &b, sum);
		for (size_t k = 0; k < BN_CPU_LOAD_TOP; k++) {
			struct process *most = NULL;

			for (size_t i = 0; i < n; i++)
				if (sum[i].ticks > 0 && (!most || sum[i].ticks > most->ticks))
					most = &sum[i];
			if (!most)
				break;
			ret->of[k] = most->ticks / all;
			memcpy(ret->name[k], most->name, sizeof(ret->name[k]));
			most->ticks = 0;
		}
	}
	free(a.p);
	free(b.p);
}
