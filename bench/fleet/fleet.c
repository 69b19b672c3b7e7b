/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the outlier hosts of a fleet, their metrics and the probable causes. */
#include <math.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/fleet/fleet.h"
#include "bench/fleet/knob_affects.h"

#define ALPHA      .05 /* probability of one false alarm in the whole table */
#define CAUSES_MAX 4
#define USUAL      .6 /* share of the other hosts that must agree on a value for it to be the usual one */


/* ---- one metric of one class ---- */

struct column {
	const struct bn_metric *metric;
	const char *cpu;
	const struct bn_result **host;
	double *level, *se;
	size_t n;
	struct bn_robust robust;
};

static void column_add(struct column *c, const struct bn_result *s, const struct bn_metric *m)
{
	double se, level = bn_result_level(s, m, &se);

	if (!isfinite(level))
		return;
	c->host = gt_xrealloc(c->host, (c->n + 1) * sizeof(*c->host));
	c->level = gt_xrealloc(c->level, (c->n + 1) * sizeof(*c->level));
	c->se = gt_xrealloc(c->se, (c->n + 1) * sizeof(*c->se));
	c->host[c->n] = s;
	c->level[c->n] = level;
	c->se[c->n++] = se;
}

static struct column *column_of(struct column **all, size_t *n, const struct bn_result *s, const struct bn_metric *m)
{
	for (size_t i = 0; i < *n; i++) {
		struct column *c = &(*all)[i];

		if (gt_streq(c->metric->id, m->id) && gt_streq(c->metric->definition, m->definition) &&
		    gt_streq(c->cpu, s->cpu))
			return c;
	}
	*all = gt_xrealloc(*all, (*n + 1) * sizeof(**all));
	(*all)[*n] = (struct column){.metric = m, .cpu = s->cpu};
	return &(*all)[(*n)++];
}

/* ---- causes ---- */

/* Returns the value that most other hosts have, or NULL if they do not agree. *ret_rare: share of the others with this
 * host's value. */
static const json_t *usual(const struct column *c, const bool *out, size_t host, const char *key, double *ret_share,
			   double *ret_rare)
{
	const json_t *own_value = bn_result_setting(c->host[host], key), *best = NULL;
	size_t others = 0, most = 0, same_as_host = 0;

	for (size_t i = 0; i < c->n; i++) {
		const json_t *v = bn_result_setting(c->host[i], key);
		size_t same = 0;

		if (out[i])
			continue;
		others++;
		same_as_host += bn_setting_equal(v, own_value, key);
		for (size_t k = 0; k < c->n; k++)
			same += !out[k] && bn_setting_equal(v, bn_result_setting(c->host[k], key), key);
		if (same > most) {
			most = same;
			best = v;
		}
	}
	*ret_share = others ? (double)most / (double)others : 0;
	*ret_rare = others ? (double)same_as_host / (double)others : 0;
	return *ret_share >= USUAL && !bn_setting_equal(best, own_value, key) ? best : NULL;
}

static double weight(const json_t *cause)
{
	return gt_json_get_real(cause, "others_share", 0) - gt_json_get_real(cause, "like_me_share", 0) +
	       (gt_json_get_bool(cause, "moves_it", false) ? 1 : 0);
}

/* Inserts a cause, the most probable first. */
static void keep_cause(json_t *list, json_t *cause)
{
	size_t at = 0;

	while (at < json_array_size(list) && weight(json_array_get(list, at)) >= weight(cause))
		at++;
	json_array_insert_new(list, at, cause);
	if (json_array_size(list) > CAUSES_MAX)
		json_array_remove(list, CAUSES_MAX);
}

static json_t *causes_of(const struct column *c, const bool *out, size_t host, const struct gt_strv *keys)
{
	json_t *list = json_array();

	for (size_t i = 0; i < keys->n; i++) {
		const char *key = keys->v[i];
		const json_t *own_value = bn_result_setting(c->host[host], key);
		double share, rare_share;
		const json_t *usual_value = usual(c, out, host, key, &share, &rare_share);

		if (usual_value && rare_share < .5)
			keep_cause(list, json_pack("{s:s, s:O?, s:O, s:f, s:f, s:b}", "key", key, "value", own_value,
						   "usual", usual_value, "others_share", share, "like_me_share", rare_share,
						   "moves_it", bn_knob_affects(c->metric->workload, key)));
	}
	return list;
}

/* ---- judging ---- */

static bool is_outlier(const struct column *c, size_t i, double critical)
{
	double off = fabs(c->level[i] - c->robust.center), margin = log1p(c->metric->margin);
	double scale = fmax(c->robust.scale, margin / 3); /* the scale is 0 if all hosts are identical; uses the margin then */

	return off > critical * scale && off >= margin && off > 3 * c->se[i];
}

static json_t *host_row(const struct column *c, size_t i, bool out, bool worse)
{
	double scale = fmax(c->robust.scale, log1p(c->metric->margin) / 3);

	return json_pack("{s:s, s:s, s:f, s:f, s:f, s:s}", "host", c->host[i]->name, "identity", c->host[i]->identity,
			 "median", exp(c->level[i]), "deviation_pct", 100 * expm1(c->level[i] - c->robust.center),
			 "scales", (c->level[i] - c->robust.center) / scale, "verdict",
			 !out    ? "usual"
			 : worse ? "worse"
				 : "better");
}

static void judge_column(struct column *c, double critical, const struct gt_strv *keys, json_t *doc)
{
	json_t *rows = json_array(), *outliers = json_object_get(doc, "outliers");
	gt_autofree bool *out = gt_xcalloc(c->n + 1, sizeof(*out));
	bool enough = c->n >= BN_FLEET_MIN, higher = c->metric->direction == BN_HIGHER;

	c->robust = bn_robust(c->level, c->n);
	for (size_t i = 0; i < c->n; i++)
		out[i] = enough && is_outlier(c, i, critical);
	for (size_t i = 0; i < c->n; i++) {
		bool worse = (c->level[i] < c->robust.center) == higher;
		json_t *row = host_row(c, i, out[i], worse), *found;

		json_array_append(rows, row);
		if (out[i]) {
			found = json_copy(row);
			json_object_set_new(found, "metric", json_string(c->metric->id));
			json_object_set_new(found, "unit", gt_json_str(c->metric->unit));
			json_object_set_new(found, "usual_median", json_real(exp(c->robust.center)));
			json_object_set_new(found, "causes", causes_of(c, out, i, keys));
			json_array_append_new(outliers, found);
		}
		json_decref(row);
	}
	json_array_append_new(json_object_get(doc, "metrics"),
			      json_pack("{s:s, s:s, s:s, s:s, s:o, s:f, s:o, s:o, s:b, s:o}", "metric", c->metric->id,
					"unit", c->metric->unit ? c->metric->unit : "", "direction",
					bn_direction_name[c->metric->direction], "definition", c->metric->definition,
					"cpu", gt_json_str(c->cpu), "margin", c->metric->margin, "median",
					gt_json_real(exp(c->robust.center)), "scale_pct",
					gt_json_real(100 * expm1(c->robust.scale)), "judged", enough, "hosts", rows));
}

/* Returns whether a newer result of the same machine exists. */
static bool superseded(const struct bn_result_set *set, size_t i)
{
	for (size_t k = 0; k < set->n; k++) {
		int later = strcmp(set->v[k].started, set->v[i].started);

		if (k != i && !set->v[k].skipped && bn_result_same_machine(&set->v[k], &set->v[i]) &&
		    (later > 0 || (later == 0 && k > i)))
			return true;
	}
	return false;
}

static void hosts_json(const struct bn_result_set *set, const bool *counts, json_t *doc)
{
	json_t *hosts = json_object_get(doc, "hosts"), *warnings = json_object_get(doc, "warnings");

	for (size_t i = 0; i < set->n; i++) {
		const struct bn_result *s = &set->v[i];

		json_array_append_new(hosts,
				      json_pack("{s:s, s:s, s:s, s:s, s:b}", "name", s->name, "identity", s->identity,
						"cpu", s->cpu, "started", s->started, "counts", counts[i]));
		if (s->skipped)
			bn_warning(warnings, "skipped", "left out", "%s: %s", s->name, s->skipped);
		else if (!counts[i])
			bn_warning(warnings, "twice", "left out", "%s: a newer result of the same machine exists",
				   s->name);
	}
}

static void verdict(json_t *doc, size_t judged)
{
	json_t *o;
	size_t i, worse = 0;

	json_array_foreach(json_object_get(doc, "outliers"), i, o) worse +=
		gt_streq(gt_json_get_str(o, "verdict", NULL), "worse");
	json_object_set_new(doc, "verdict", json_string(!judged ? "inconclusive" : worse ? "worse" : "same"));
	json_object_set_new(doc, "exit_code",
			    json_integer(!judged ? BN_EXIT_INCONCLUSIVE
					 : worse ? BN_EXIT_REGRESSION
						 : 0));
}

json_t *bn_fleet_judge(const struct bn_result_set *set)
{
	json_t *doc = json_pack("{s:s, s:[], s:[], s:[], s:[]}", "schema", BN_FLEET_SCHEMA, "hosts", "metrics",
				"outliers", "warnings");
	gt_autofree bool *counts = gt_xcalloc(set->n + 1, sizeof(*counts));
	struct column *column = NULL;
	gt_auto_strv keys = {0};
	size_t n = 0, tests = 0, judged = 0;

	for (size_t i = 0; i < set->n; i++)
		counts[i] = !set->v[i].skipped && !superseded(set, i);
	hosts_json(set, counts, doc);
	bn_result_set_keys(set, &keys);
	for (size_t i = 0; i < set->n; i++)
		for (size_t m = 0; counts[i] && m < set->v[i].data->n_metrics; m++)
			column_add(column_of(&column, &n, &set->v[i], &set->v[i].data->metrics[m]), &set->v[i],
				   &set->v[i].data->metrics[m]);
	for (size_t i = 0; i < n; i++)
		if (column[i].n >= BN_FLEET_MIN) {
			tests += column[i].n;
			judged++;
		}
	for (size_t i = 0; i < n; i++) {
		judge_column(&column[i], bn_outlier_critical(column[i].n, tests, ALPHA), &keys, doc);
		free(column[i].host);
		free(column[i].level);
		free(column[i].se);
	}
	free(column);
	verdict(doc, judged);
	return doc;
}

