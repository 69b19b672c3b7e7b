/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/result/outlier.h"
#include "bench/result/text.h"

#define LIMIT_SD	 5.0 /* robust standard deviations */
#define LAUNCHES 6   /* minimum number of launches from which the usual value is computed */
#define LIST_MAX 100

/* Possible causes of a slow launch. A reading is a cause if it exceeds its limit, which is computed from the session's
 * usual value. */
static const struct cause {
	const char *field, *text, *unit;
	double scale, factor, floor; /* limit = usual * factor + floor; if factor < 1, the cause is a value below the limit */
} causes[] = {
	{ "throttled", "the CPU was throttled by heat", "times", 1, 1, 0 },
	{ "gpu_heat_pct", "the GPU was slowed down by heat", "% of the time", 1, 1, 10 },
	{ "gpu_brake_pct", "the GPU's power brake was active", "% of the time", 1, 1, 10 },
	{ "gpu_power_cap_pct", "the GPU reached its power limit", "% of the time", 1, 1.5, 20 },
	{ "gpu_slowdown_pct", "the GPU's hardware slowed it down", "% of the time", 1, 1, 10 },
	{ "gpu_sm_mhz", "the GPU ran slower", "MHz", 1, .95, 0 },
	{ "gpu_memory_mhz", "the GPU's memory ran slower", "MHz", 1, .95, 0 },
	{ "gpu_temp_c", "the GPU was hotter", "degrees", 1, 1, 8 },
	{ "steal_s", "the hypervisor took the CPU away", "s", 1, 2, .02 },
	{ "cpu_mhz", "the CPUs ran slower", "MHz", 1, .93, 0 },
	{ "major_faults", "pages were read back from disk", "faults", 1, 3, 50 },
	{ "compact_stalls", "memory was compacted", "stalls", 1, 2, 5 },
	{ "psi_memory_pct", "tasks waited for memory", "% of 10 s", 1, 2, 2 },
	{ "psi_io_pct", "tasks waited for the disk", "% of 10 s", 1, 2, 5 },
	{ "numa_hint_faults", "the kernel moved pages between nodes", "faults", 1, 3, 1000 },
	{ "interrupts", "a burst of interrupts", "interrupts", 1, 2, 2000 },
	{ "context_switches", "other tasks ran", "switches", 1, 2, 2000 },
	{ "psi_cpu_pct", "tasks waited for a CPU", "% of 10 s", 1, 1.5, 5 },
	{ "load1", "other programs used the CPUs, load", "", 1, 1.5, .7 },
	{ "temp_c", "the host was hotter", "degrees", 1, 1, 8 },
};

/* The launches of one arm with a value of one metric. */
struct group {
	json_t **env;
	double *y; /* log values of the metric */
	size_t *run;
	size_t n;
};

static json_t *env_of(const struct bn_data *d, int64_t seq)
{
	json_t *list = json_object_get(d->doc, "launches"), *l;
	size_t i;

	l = json_array_get(list, (size_t)seq); /* the launch is usually at this index, unless the file was edited */
	if (gt_json_get_int(l, "seq", -1) == seq)
		return json_object_get(l, "env");
	json_array_foreach(list, i, l)
		if (gt_json_get_int(l, "seq", -1) == seq)
			return json_object_get(l, "env");
	return NULL;
}

static double usual(const struct group *g, const char *field)
{
	gt_autofree double *x = gt_xcalloc(g->n + 1, sizeof(*x));
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		double v = gt_json_get_real(g->env[i], field, NAN);

		if (isfinite(v))
			x[n++] = v;
	}
	return bn_median(x, n);
}

/*
 * Finds the most likely cause. Tests first whether the host was suspended, then messages of the kernel or driver, then
 * the reading that exceeds its limit by the largest factor.
 */
static bool find_cause(const struct group *g, const json_t *env, char *text, size_t size, const char **ret_code)
{
	const char *line = gt_json_get_str(env, "kernel_log", NULL);
	const char *gpu = gt_json_get_str(env, "gpu_error", NULL);
	double most = 0, slept = gt_json_get_real(env, "suspended_s", 0);

	if (slept > 0) {
		snprintf(text, size, "the host was suspended for %.3g s", slept);
		*ret_code = "suspended_s";
		return true;
	}
	if (line || gpu) {
		snprintf(text, size, "%s message: %.150s", line ? "kernel" : "driver", line ? line : gpu);
		*ret_code = line ? "kernel_log" : "gpu_error";
		return true;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(causes); i++) {
		const struct cause *c = &causes[i];
		double v = gt_json_get_real(env, c->field, NAN), u = usual(g, c->field);
		double limit = u * c->factor + c->floor, excess = c->factor < 1 ? limit / v : v / fmax(limit, 1e-9);

		if (!isfinite(v) || !isfinite(u) || !(c->factor < 1 ? v < limit : v > limit) || excess <= most)
			continue;
		most = excess;
		*ret_code = c->field;
		snprintf(text, size, "%s: %.40s%s%s, usually %.40s", c->text, bn_text_number(v * c->scale, 4).s,
			 c->unit[0] ? " " : "", c->unit, bn_text_number(u * c->scale, 4).s);
	}
	return most > 0;
}

static void describe(const struct bn_data *d, size_t metric, const struct group *g, size_t i, double center, json_t *list)
{
	const struct bn_run *run = &d->runs[g->run[i]];
	const char *code = NULL;
	char text[256];
	bool known = find_cause(g, g->env[i], text, sizeof(text), &code);

	json_array_append_new(list, json_pack("{s:I, s:I, s:s, s:s, s:o, s:o, s:o}", "seq", (json_int_t)run->seq, "block",
					      (json_int_t)run->block, "arm", run->arm ? "B" : "A", "metric",
					      d->metrics[metric].id, "deviation_pct",
					      gt_json_real(100 * expm1(g->y[i] - center)), "cause",
					      known ? gt_json_str(text) : json_null(), "code",
					      known ? gt_json_str(code) : json_null()));
}

static double mad(const double *x, size_t n, double center)
{
	gt_autofree double *a = gt_xcalloc(n + 1, sizeof(*a));

	for (size_t i = 0; i < n; i++)
		a[i] = fabs(x[i] - center);
	return 1.4826 * bn_median(a, n);
}

static void find_in_arm(const struct bn_data *d, size_t metric, enum bn_arm arm, json_t *list)
{
	struct group g = { gt_xcalloc(d->n_runs + 1, sizeof(json_t *)), gt_xcalloc(d->n_runs + 1, sizeof(double)),
			   gt_xcalloc(d->n_runs + 1, sizeof(size_t)), 0 };
	double center, spread;

	for (size_t i = 0; i < d->n_runs; i++) {
		const struct bn_run *run = &d->runs[i];
		/* A/A launches run in the unchanged state in both arms. */
		enum bn_arm state = run->kind == BN_KIND_AA ? BN_ARM_A : run->arm;

		if (state != arm || isnan(run->value[metric]))
			continue;
		g.env[g.n] = env_of(d, run->seq);
		g.y[g.n] = log(run->value[metric]);
		g.run[g.n++] = i;
	}
	center = bn_median(g.y, g.n);
	spread = fmax(mad(g.y, g.n, center), log1p(d->metrics[metric].margin) / LIMIT_SD);
	for (size_t i = 0; g.n >= LAUNCHES && i < g.n && json_array_size(list) < LIST_MAX; i++)
		if (fabs(g.y[i] - center) > LIMIT_SD * spread)
			describe(d, metric, &g, i, center, list);
	free(g.env);
	free(g.y);
	free(g.run);
}

json_t *bn_outliers(const struct bn_data *d)
{
	json_t *list = json_array();

	for (size_t m = 0; m < d->n_metrics; m++) {
		if (d->metrics[m].tail || d->metrics[m].role == BN_CONTROL)
			continue;
		find_in_arm(d, m, BN_ARM_A, list);
		find_in_arm(d, m, BN_ARM_B, list);
	}
	return list;
}
