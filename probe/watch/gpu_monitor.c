/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "lib/util.h"
#include "probe/watch/gpu_readings.h"
#include "probe/watch/gpu_monitor.h"

#define GPUS_MAX 64

/* Mean over the readings with the GPU in use. */
struct mean {
	double sum, n;
};

struct gpu {
	pr_gpu_handle dev;
	int code; /* NVML code of the last handle or reading */
	char error[96];
	unsigned readings, used, n_known; /* n_known: readings in use with known clock reasons */
	struct mean sm, memory, power;
	double sm_min, power_max, hottest;
	double energy_begin_j; /* counter at the begin of the measurement; NaN: the GPU has none */
	unsigned held[PR_GPU_REASONS];
	struct pr_gpu_clocks point[PR_GPU_MONITOR_POINTS];
};

struct gpu_monitor {
	struct pr_gpu_readings nvml;
	bool running;
	double begun_s, nvml_s, cpu_s, period_s, last_s;
	unsigned readings, count;
	unsigned points, skip; /* one of `skip` readings is kept */
	double t_s[PR_GPU_MONITOR_POINTS];
	struct gpu gpu[GPUS_MAX];
};

void *pr_gpu_monitor_state(void)
{
	return gt_xcalloc(1, sizeof(struct gpu_monitor));
}

static double cpu_now(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static void add(struct mean *m, double v)
{
	if (!isnan(v)) {
		m->sum += v;
		m->n++;
	}
}

static void count_used(struct gpu *c, const struct pr_gpu_clocks *now)
{
	c->used++;
	add(&c->sm, now->sm_mhz);
	add(&c->memory, now->memory_mhz);
	add(&c->power, now->power_w);
	c->sm_min = fmin(c->sm_min, now->sm_mhz); /* fmin and fmax ignore NaN */
	c->power_max = fmax(c->power_max, now->power_w);
	c->hottest = fmax(c->hottest, now->temperature_c);
	c->n_known += now->reasons_known;
	for (size_t i = 0; i < PR_GPU_REASONS; i++)
		c->held[i] += now->reasons_known && now->reasons >> i & 1;
}

/* Returns whether the GPU is lost. This measurement does not query it again, but continues with the other GPUs. */
static bool is_lost(const struct gpu_monitor *g, struct gpu *c)
{
	struct pr_nvml_utilization use;
	int r = c->code ? c->code : g->nvml.n.utilization ? g->nvml.n.utilization(c->dev, &use) : 0;

	if (!c->code && r != PR_NVML_LOST && r != PR_NVML_RESET_REQUIRED)
		return false;
	c->code = r;
	snprintf(c->error, sizeof(c->error), "%s", g->nvml.n.text(r));
	return true;
}

/* Returns whether the GPU reports idle. One without clock reasons counts as used. */
static bool idle(const struct pr_gpu_clocks *now)
{
	return now->reasons_known && now->reasons & PR_GPU_IDLE;
}

/* Makes space for one more point by dropping every second one. */
static void thin(struct gpu_monitor *g)
{
	if (g->points < PR_GPU_MONITOR_POINTS)
		return;
	g->points = PR_GPU_MONITOR_POINTS / 2;
	g->period_s *= 2;
	for (unsigned i = 1; i < g->points; i++) {
		g->t_s[i] = g->t_s[2 * i];
		for (unsigned k = 0; k < g->count; k++)
			g->gpu[k].point[i] = g->gpu[k].point[2 * i];
	}
}

static void take_reading(struct gpu_monitor *g)
{
	double t0 = gt_now_s();

	thin(g);
	g->t_s[g->points] = t0 - g->begun_s;
	for (unsigned i = 0; i < g->count; i++) {
		struct gpu *c = &g->gpu[i];
		struct pr_gpu_clocks *now = &c->point[g->points];

		*now = (struct pr_gpu_clocks){.sm_mhz = NAN, .memory_mhz = NAN, .power_w = NAN, .temperature_c = NAN};
		if (is_lost(g, c))
			continue;
		pr_gpu_clocks(&g->nvml, c->dev, now);
		c->readings++;
		if (!idle(now))
			count_used(c, now);
	}
	g->points++;
	g->readings++;
	g->last_s = gt_now_s();
	g->nvml_s += g->last_s - t0;
}

static json_t *begin(struct gpu_monitor *g)
{
	json_t *doc = json_object();
	struct pr_gpu_readings nvml = g->nvml;
	unsigned count = pr_gpu_readings_count(&nvml, doc);

	*g = (struct gpu_monitor){.nvml = nvml, .running = count > 0, .count = GT_MIN(count, (unsigned)GPUS_MAX),
				  .begun_s = gt_now_s(), .cpu_s = cpu_now(), .period_s = PR_GPU_MONITOR_PERIOD_S};
	for (unsigned i = 0; i < g->count; i++) {
		struct gpu *c = &g->gpu[i];

		c->sm_min = c->power_max = c->hottest = NAN;
		c->code = nvml.n.handle(i, &c->dev);
		c->energy_begin_j = c->code ? NAN : pr_gpu_energy_j(&nvml, c->dev);
	}
	if (g->running)
		take_reading(g);
	return doc;
}

static json_t *number(double v)
{
	return isnan(v) ? json_null() : v == floor(v) ? json_integer((json_int_t)v) : json_real(v);
}

static void put(json_t *d, const char *key, double v)
{
	if (!isnan(v))
		json_object_set_new(d, key, number(v));
}

static double mean_of(const struct mean *m)
{
	return m->n > 0 ? round(10 * m->sum / m->n) / 10 : NAN;
}

static json_t *points_of(const struct gpu_monitor *g, const struct gpu *c)
{
	static const struct {
		const char *key;
		size_t at;
	} series[] = {{"sm_mhz", offsetof(struct pr_gpu_clocks, sm_mhz)},
		      {"memory_mhz", offsetof(struct pr_gpu_clocks, memory_mhz)},
		      {"power_w", offsetof(struct pr_gpu_clocks, power_w)},
		      {"temperature_c", offsetof(struct pr_gpu_clocks, temperature_c)}};
	json_t *d = json_object(), *t = json_array(), *reasons = json_array();

	for (unsigned i = 0; i < g->points; i++) {
		json_array_append_new(t, json_real(round(1000 * g->t_s[i]) / 1000));
		json_array_append_new(reasons,
				      c->point[i].reasons_known ? json_integer((json_int_t)c->point[i].reasons) : json_null());
	}
	json_object_set_new(d, "t_s", t);
	for (size_t k = 0; k < GT_ARRAY_SIZE(series); k++) {
		json_t *list = json_array();

		for (unsigned i = 0; i < g->points; i++)
			json_array_append_new(list, number(*(const double *)((const char *)&c->point[i] + series[k].at)));
		json_object_set_new(d, series[k].key, list);
	}
	json_object_set_new(d, "reasons", reasons);
	return d;
}

static json_t *gpu_json(const struct gpu_monitor *g, unsigned i)
{
	const struct gpu *c = &g->gpu[i];
	json_t *d = json_object(), *held = json_object();

	if (c->code) {
		json_object_set_new(d, "index", json_integer(i));
		json_object_set_new(d, "error", gt_json_str(c->error));
	}
	if (c->dev) {
		pr_gpu_names(&g->nvml, i, c->dev, d);
		put(d, "sm_max_mhz", pr_gpu_max_sm_mhz(&g->nvml, c->dev));
		put(d, "power_limit_w", pr_gpu_power_limit_w(&g->nvml, c->dev));
	}
	put(d, "looks", c->readings);
	put(d, "used_looks", c->used);
	put(d, "sm_mhz", mean_of(&c->sm));
	put(d, "sm_min_mhz", c->sm_min);
	put(d, "memory_mhz", mean_of(&c->memory));
	put(d, "power_w", mean_of(&c->power));
	put(d, "power_max_w", c->power_max);
	put(d, "temperature_c", c->hottest);
	if (!c->code)
		put(d, "energy_j", round(1000 * (pr_gpu_energy_j(&g->nvml, c->dev) - c->energy_begin_j)) / 1000);
	for (size_t k = 0; k < PR_GPU_REASONS; k++)
		if (c->held[k])
			put(held, pr_gpu_reason[k], round(1000.0 * c->held[k] / c->n_known) / 10);
	if (c->n_known)
		json_object_set(d, "held_pct", held);
	json_decref(held);
	json_object_set_new(d, "points", points_of(g, c));
	return d;
}

static json_t *end(struct gpu_monitor *g)
{
	json_t *doc = json_object(), *gpus = json_array();

	take_reading(g);
	json_object_set_new(doc, "code", json_integer(0));
	put(doc, "seconds", g->last_s - g->begun_s);
	put(doc, "looks", g->readings);
	put(doc, "nvml_s", g->nvml_s);
	for (unsigned i = 0; i < g->count; i++)
		json_array_append_new(gpus, gpu_json(g, i));
	put(doc, "cpu_s", cpu_now() - g->cpu_s);
	json_object_set_new(doc, "cards", gpus);
	g->running = false;
	return doc;
}

/* Takes readings until the next request arrives, which ends the measurement. */
static void read_until_request(struct gpu_monitor *g)
{
	struct pollfd request = {.events = POLLIN};

	for (;;) {
		double wait_s = g->last_s + g->period_s - gt_now_s();

		if (poll(&request, 1, wait_s > 0 ? (int)(1000 * wait_s) + 1 : 0) != 0)
			return;
		take_reading(g);
	}
}

int pr_gpu_monitor_serve(void *state)
{
	struct gpu_monitor *g = state;
	gt_auto_json *doc = g->running ? end(g) : begin(g);
	gt_autofree char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(7));

	if (!text || printf("%s\n", text) < 0 || fflush(stdout))
		return -EPIPE;
	if (g->running)
		read_until_request(g);
	return 0;
}
