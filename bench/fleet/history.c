/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the change points of a host's history, their metrics and the settings that changed. */
#include <math.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/fleet/fleet.h"
#include "bench/fleet/knob_affects.h"

#define ALPHA       .05 /* probability of one false alarm in all metrics together */
#define POINTS_MAX  32
#define CHANGES_MAX 8
#define RESULTS_MIN (2 * BN_SEGMENT_MIN)

/* ---- one metric ---- */

struct series {
	const struct bn_result **of;
	double *level;
	size_t n;
	const struct bn_metric *metric; /* a metric of the newest result */
};

static int by_date(const void *a, const void *b)
{
	const struct bn_result *x = *(const struct bn_result *const *)a, *y = *(const struct bn_result *const *)b;
	int d = strcmp(x->started, y->started);

	return d ? d : strcmp(x->name, y->name);
}

static double median_between(const struct series *s, size_t from, size_t to)
{
	return bn_median(s->level + from, to - from);
}

/* Lists the settings that changed at result `at`: different before and after, and the same in two results on each side. */
static json_t *what_changed(const struct series *s, size_t at, const struct gt_strv *keys)
{
	json_t *list = json_array();

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < keys->n && json_array_size(list) < CHANGES_MAX; i++) {
			const char *key = keys->v[i];
			const json_t *before = bn_result_setting(s->of[at - 1], key),
				     *after = bn_result_setting(s->of[at], key);
			bool moves = bn_knob_affects(s->metric->workload, key);

			if (bn_setting_equal(before, after, key) || moves != (pass == 0) ||
			    !bn_setting_equal(before, bn_result_setting(s->of[at - 2], key), key) ||
			    (at + 1 < s->n && !bn_setting_equal(after, bn_result_setting(s->of[at + 1], key), key)))
				continue;
			json_array_append_new(list, json_pack("{s:s, s:O?, s:O?, s:b}", "key", key, "from", before, "to",
							      after, "moves_it", moves));
		}
	return list;
}

static json_t *change_json(const struct series *s, const size_t *points, size_t n, size_t i, const struct gt_strv *keys)
{
	size_t from = i ? points[i - 1] : 0, to = i + 1 < n ? points[i + 1] : s->n;
	double before = median_between(s, from, points[i]), after = median_between(s, points[i], to);
	bool worse = (after < before) == (s->metric->direction == BN_HIGHER);
	const struct bn_result *first = s->of[points[i]];

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:I, s:b, s:s, s:o}", "metric", s->metric->id,
			 "unit", s->metric->unit ? s->metric->unit : "", "role", bn_role_name[s->metric->role],
			 "result", first->name, "started", first->started, "before", exp(before), "after", exp(after),
			 "change_pct", 100 * expm1(after - before), "index", (json_int_t)points[i], "newest",
			 i + 1 == n, "verdict", worse ? "worse" : "better", "settings",
			 what_changed(s, points[i], keys));
}

/* Removes change points that change the metric by less than its margin. */
static size_t drop_small(const struct series *s, size_t *points, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t from = i ? points[i - 1] : 0, to = i + 1 < n ? points[i + 1] : s->n;

		if (fabs(median_between(s, points[i], to) - median_between(s, from, points[i])) >=
		    log1p(s->metric->margin)) {
			i++;
			continue;
		}
		memmove(points + i, points + i + 1, (n - i - 1) * sizeof(*points));
		n--;
		i = 0;
	}
	return n;
}

static void judge_series(const struct series *s, double alpha, uint64_t seed, const struct gt_strv *keys, json_t *doc)
{
	size_t points[POINTS_MAX], n = 0;
	json_t *values = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(values, json_pack("{s:s, s:s, s:f}", "result", s->of[i]->name, "started",
							s->of[i]->started, "median", exp(s->level[i])));
	if (s->n >= RESULTS_MIN) {
		n = bn_change_points(s->level, s->n, alpha, seed, points, POINTS_MAX);
		n = drop_small(s, points, n);
	}
	json_array_append_new(json_object_get(doc, "metrics"),
			      json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:f}", "metric", s->metric->id, "unit",
					s->metric->unit ? s->metric->unit : "", "direction",
					bn_direction_name[s->metric->direction], "role", bn_role_name[s->metric->role],
					"definition", s->metric->definition, "judged", s->n >= RESULTS_MIN, "values",
					values, "margin", s->metric->margin));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(json_object_get(doc, "changes"), change_json(s, points, n, i, keys));
}

/* ---- all ---- */

static size_t in_order(const struct bn_result_set *set, const struct bn_result **ret, json_t *doc)
{
	json_t *warnings = json_object_get(doc, "warnings");
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++) {
		if (set->v[i].skipped)
			bn_warning(warnings, "skipped", "left out", "%s: %s", set->v[i].name, set->v[i].skipped);
		else
			ret[n++] = &set->v[i];
	}
	qsort(ret, n, sizeof(*ret), by_date);
	if (n > BN_HISTORY_MAX) {
		bn_warning(warnings, "long", "older ones are left out", "only the newest %d results are used",
			   BN_HISTORY_MAX);
		memmove(ret, ret + n - BN_HISTORY_MAX, BN_HISTORY_MAX * sizeof(*ret));
		n = BN_HISTORY_MAX;
	}
	return n;
}

static void make_series(const struct bn_result *const *all, size_t n, const struct bn_metric *m, struct series *s,
			json_t *doc)
{
	size_t other = 0;

	*s = (struct series){
		.metric = m, .of = gt_xcalloc(n + 1, sizeof(*s->of)), .level = gt_xcalloc(n + 1, sizeof(*s->level))};
	for (size_t i = 0; i < n; i++) {
		const struct bn_metric *same = bn_result_metric(all[i], m->id, m->definition);
		double se, level = same ? bn_result_level(all[i], same, &se) : NAN;

		other += !same && bn_result_metric(all[i], m->id, NULL);
		if (isfinite(level)) {
			s->of[s->n] = all[i];
			s->level[s->n++] = level;
		}
	}
	if (other)
		bn_warning(json_object_get(doc, "warnings"), "definition", "they are left out",
			   "%s has another definition in %zu results", m->id, other);
}

static void verdict(json_t *doc, bool judged)
{
	json_t *c;
	size_t i, worse = 0;

	json_array_foreach(json_object_get(doc, "changes"), i, c)
	{
		const char *role = gt_json_get_str(c, "role", "");

		worse += gt_json_get_bool(c, "newest", false) &&
			 gt_streq(gt_json_get_str(c, "verdict", NULL), "worse") &&
			 (gt_streq(role, "primary") || gt_streq(role, "guard"));
	}
	json_object_set_new(doc, "verdict", json_string(!judged ? "inconclusive" : worse ? "worse" : "same"));
	json_object_set_new(doc, "exit_code",
			    json_integer(!judged ? BN_EXIT_INCONCLUSIVE
					 : worse ? BN_EXIT_REGRESSION
						 : 0));
}

json_t *bn_history_judge(const struct bn_result_set *set, uint64_t seed)
{
	json_t *doc = json_pack("{s:s, s:s, s:[], s:[], s:[]}", "schema", BN_HISTORY_SCHEMA, "host",
				set->n ? set->v[0].identity : "unknown", "metrics", "changes", "warnings");
	const struct bn_result **all = gt_xcalloc(set->n + 1, sizeof(*all));
	size_t n = in_order(set, all, doc), metrics = n ? all[n - 1]->data->n_metrics : 0;
	gt_auto_strv keys = {0};
	bool judged = false;

	json_object_set_new(doc, "results", json_integer((json_int_t)n));
	bn_result_set_keys(set, &keys);
	for (size_t m = 0; m < metrics; m++) {
		struct series s;

		make_series(all, n, &all[n - 1]->data->metrics[m], &s, doc);
		judged |= s.n >= RESULTS_MIN;
		judge_series(&s, ALPHA / (double)metrics, seed + m, &keys, doc);
		free(s.of);
		free(s.level);
	}
	verdict(doc, judged);
	free(all);
	return doc;
}

