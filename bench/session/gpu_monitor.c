/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/session/gpu_monitor.h"
#include "probe/watch/gpu_monitor.h"

#define START_S	15.0 /* time for the start of NVML, which can take seconds if the driver must wake the GPUs */
#define ANSWER_S 5.0

static void stop_monitor(struct bn_gpu_monitor *g, const char *why)
{
	snprintf(g->failure, sizeof(g->failure), "%.240s", why);
	g->off = true;
	g->running = false;
	gt_helper_stop(&g->helper);
}

/* Returns the child's next answer. Returns NULL on failure and then stops the monitor. */
static json_t *answer(struct bn_gpu_monitor *g, double wait_s)
{
	gt_autofree char *line = NULL;
	struct gt_err err = { 0 };
	json_t *doc = NULL;
	char why[96];
	int r = gt_helper_request(&g->helper);

	r = r ? r : gt_helper_answer(&g->helper, wait_s, NULL, &line);
	snprintf(why, sizeof(why), "NVML gave no answer within %g s", wait_s);
	if (r)
		stop_monitor(g, r == -EAGAIN ? why : "the child process that reads NVML ended");
	else if (gt_json_parse(line, strlen(line), "NVML's answer", &doc, &err) < 0)
		stop_monitor(g, err.msg);
	return doc;
}

void bn_gpu_monitor_begin(struct bn_gpu_monitor *g)
{
	gt_auto_json *doc = NULL;
	struct gt_err err = { 0 };

	if (g->off || g->running)
		return;
	if (!g->helper.pid) {
		g->state = g->state ? g->state : pr_gpu_monitor_state();
		if (gt_helper_start(&g->helper, pr_gpu_monitor_serve, g->state, &err) < 0) {
			stop_monitor(g, err.msg);
			return;
		}
	}
	doc = answer(g, START_S);
	if (!doc)
		return;
	g->running = json_is_integer(json_object_get(doc, "code")) && !gt_json_get_int(doc, "code", 0);
	if (!g->running) {
		gt_autofree char *why = gt_xasprintf("NVML: %s", gt_json_get_str(doc, "error", "nothing"));

		stop_monitor(g, why);
		if (gt_json_get_bool(doc, "no_library", false))
			g->failure[0] = '\0'; /* the host probably has no GPU, which is no fault */
	}
}

json_t *bn_gpu_monitor_end(struct bn_gpu_monitor *g)
{
	if (!g->running)
		return NULL;
	g->running = false;
	return answer(g, ANSWER_S);
}

void bn_gpu_monitor_close(struct bn_gpu_monitor *g)
{
	gt_helper_stop(&g->helper);
	free(g->state);
	g->state = NULL;
}

/* ---- recorded values ---- */

static bool is_visible(const json_t *card, const struct gt_strv *visible)
{
	const char *pci = gt_json_get_str(card, "pci", NULL);

	return !visible || !pci || gt_strv_has(visible, pci);
}

enum worst { LOWEST, HIGHEST };

static void set_worst(json_t *env, const char *key, double v, enum worst worst)
{
	double before = gt_json_get_real(env, key, NAN);

	if (isfinite(v))
		json_object_set_new(env, key, json_real(worst == LOWEST ? fmin(before, v) : fmax(before, v)));
}

/* Records the shares of the time in which a limit reduced the clocks. 0 is a valid value. */
static void set_limits(json_t *env, const json_t *card)
{
	static const struct {
		const char *key, *reason[2];
	} limits[] = { { "gpu_power_cap_pct", { "software power cap" } },
		     { "gpu_heat_pct", { "software thermal", "hardware thermal" } },
		     { "gpu_brake_pct", { "power brake" } },
		     { "gpu_slowdown_pct", { "hardware slowdown" } } };
	json_t *shares = json_object_get(card, "held_pct");

	for (size_t i = 0; json_is_object(shares) && i < GT_ARRAY_SIZE(limits); i++) {
		double share = 0;

		for (size_t k = 0; k < GT_ARRAY_SIZE(limits[i].reason) && limits[i].reason[k]; k++)
			share = fmax(share, gt_json_get_real(shares, limits[i].reason[k], 0));
		set_worst(env, limits[i].key, share, HIGHEST);
	}
}

static void set_levels(json_t *env, const json_t *card)
{
	static const struct {
		const char *key, *of;
		enum worst worst;
	} level[] = { { "gpu_sm_mhz", "sm_mhz", LOWEST },
		      { "gpu_memory_mhz", "memory_mhz", LOWEST },
		      { "gpu_power_w", "power_w", HIGHEST },
		      { "gpu_temp_c", "temperature_c", HIGHEST } };
	double share = 100 * gt_json_get_real(card, "sm_mhz", NAN) / gt_json_get_real(card, "sm_max_mhz", NAN);

	for (size_t i = 0; i < GT_ARRAY_SIZE(level); i++)
		set_worst(env, level[i].key, gt_json_get_real(card, level[i].of, NAN), level[i].worst);
	set_worst(env, "gpu_clock_pct", share, LOWEST);
}

/* Adds the energy to the sum over the GPUs that were used. */
static void add_energy(json_t *env, const json_t *card)
{
	double joules = gt_json_get_real(card, "energy_j", NAN), before = gt_json_get_real(env, "gpu_energy_j", 0);

	if (isfinite(joules))
		json_object_set_new(env, "gpu_energy_j", json_real(before + joules));
}

void bn_gpu_monitor_record(const json_t *doc, const struct gt_strv *visible, json_t **ret_gpu, json_t *env)
{
	json_t *cards = json_object_get(doc, "cards"), *card, *used = json_array();
	double seconds = gt_json_get_real(doc, "seconds", NAN), cpu_s = gt_json_get_real(doc, "cpu_s", NAN);
	size_t i;

	*ret_gpu = NULL;
	json_array_foreach(cards, i, card) {
		const char *error = gt_json_get_str(card, "error", NULL);

		if (!is_visible(card, visible) || (!error && !gt_json_get_int(card, "used_looks", 0)))
			continue;
		json_array_append(used, card);
		set_levels(env, card);
		set_limits(env, card);
		add_energy(env, card);
		if (error)
			json_object_set_new(env, "gpu_error",
					    json_sprintf("GPU %lld: %s", (long long)gt_json_get_int(card, "index", -1), error));
	}
	if (json_array_size(used))
		*ret_gpu = json_pack("{s:I, s:o, s:o, s:o, s:O}", "looks", (json_int_t)gt_json_get_int(doc, "looks", 0), "nvml_s",
				     gt_json_real(gt_json_get_real(doc, "nvml_s", NAN)), "cpu_s", gt_json_real(cpu_s),
				     "cpu_share", gt_json_real(cpu_s / seconds), "cards", used);
	json_decref(used);
}

void bn_gpu_monitor_store(struct bn_gpu_monitor *g, json_t *answer, const struct gt_strv *visible, json_t *doc)
{
	json_t *gpu = NULL;

	if (answer)
		bn_gpu_monitor_record(answer, visible, &gpu, json_object_get(doc, "env"));
	if (gpu)
		json_object_set_new(doc, "gpu", gpu);
	if (g->failure[0])
		json_object_set_new(doc, "gpu_trouble", gt_json_str(g->failure));
	g->failure[0] = '\0'; /* reported once */
	json_decref(answer);
}
