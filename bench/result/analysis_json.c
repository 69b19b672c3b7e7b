/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the analysis as members of a result document. */
#include <math.h>
#include "bench/result/analysis_json.h"
#include "bench/result/outlier.h"

static double pct(double log_ratio)
{
	return 100 * expm1(log_ratio);
}

static json_t *effect_json(const struct bn_effect *e)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o}", "n", (json_int_t)e->n, "change_pct", gt_json_real(pct(e->est)),
			 "ci_low_pct", gt_json_real(isfinite(e->lo) ? pct(e->lo) : NAN), "ci_high_pct",
			 gt_json_real(isfinite(e->hi) ? pct(e->hi) : NAN), "p", gt_json_real(e->p));
}

static json_t *pairs_json(const struct bn_pairs *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(list,
				      json_pack("{s:I, s:o, s:o}", "block", (json_int_t)p->block[i], "t_s",
						gt_json_real(p->t_s[i]), "change_pct", gt_json_real(pct(p->d[i]))));
	return list;
}

static json_t *row_json(const struct bn_analysis *s, const struct bn_comparison *r)
{
	const struct bn_metric *m = r->m;
	bool ci = isfinite(r->e.lo) && isfinite(r->e.hi);
	json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I}", "metric", m->id, "workload", m->workload,
			      "unit", m->unit, "direction", bn_direction_name[m->direction], "role",
			      bn_role_name[m->role], "tail", m->tail, "n", (json_int_t)GT_MIN(r->n_a, r->n_b),
			      "dropped", (json_int_t)r->pairs.dropped, "more", (json_int_t)r->more);

	json_object_set_new(j, "a_median", gt_json_real(r->a_median));
	json_object_set_new(j, "b_median", gt_json_real(r->b_median));
	json_object_set_new(j, "estimate_log", gt_json_real(r->e.est));
	json_object_set_new(j, "change_pct", gt_json_real(pct(r->e.est)));
	json_object_set_new(j, "ci_low_pct", gt_json_real(ci ? pct(r->e.lo) : NAN));
	json_object_set_new(j, "ci_high_pct", gt_json_real(ci ? pct(r->e.hi) : NAN));
	json_object_set_new(j, "ci_method", json_string(!s->paired ? "welch" : r->e.exact ? "sign-flip, exact" :
											     "sign-flip, resampled"));
	json_object_set_new(j, "alpha", json_real(s->alpha));
	json_object_set_new(j, "t_interval", effect_json(&r->t));
	json_object_set_new(j, "hodges_lehmann_pct", gt_json_real(pct(r->hl)));
	json_object_set_new(j, "p", gt_json_real(r->e.p));
	json_object_set_new(j, "p_adjusted", gt_json_real(r->p_adj));
	json_object_set_new(j, "family", json_string(r->family));
	json_object_set_new(j, "margin_pct", gt_json_real(pct(r->margin.change)));
	json_object_set_new(j, "same_margin_pct", gt_json_real(pct(r->margin.same)));
	json_object_set_new(j, "own_margin_pct", json_real(100 * m->margin));
	json_object_set_new(j, "mde_pct", gt_json_real(pct(bn_mde(r->sd, GT_MIN(r->n_a, r->n_b), s->alpha))));
	json_object_set_new(j, "verdict", json_string(bn_verdict_name[r->verdict]));
	json_object_set_new(j, "tiny", json_boolean(r->tiny));
	json_object_set_new(j, "not_worse", json_boolean(bn_comparison_not_worse(r)));
	json_object_set_new(j, "may_be_worse", json_boolean(r->open && !r->unfit));
	json_object_set_new(j, "reason", r->reason[0] ? gt_json_str(r->reason) : json_null());
	json_object_set_new(j, "pairs", pairs_json(&r->pairs));
	if (s->kind == BN_KIND_AB) {
		json_t *aa = effect_json(&r->aa);

		json_object_set_new(aa, "bad", json_boolean(r->aa_bad));
		json_object_set_new(aa, "pairs", pairs_json(&r->aa_pairs));
		json_object_set_new(j, "aa", aa);
	}
	return j;
}

/* The level of each metric in each arm, for every design. */
static json_t *levels_json(const struct bn_data *d)
{
	json_t *list = json_array();

	for (size_t m = 0; m < d->n_metrics; m++)
		for (int kind = 0; bn_kind_name[kind]; kind++)
			for (int arm = 0; arm < 2; arm++) {
				gt_autofree double *x = NULL;
				size_t n = bn_values(d, m, (enum bn_kind)kind, (enum bn_arm)arm, &x);

				if (n)
					json_array_append_new(list,
							      json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o}", "metric",
									d->metrics[m].id, "kind", bn_kind_name[kind],
									"arm", arm ? "B" : "A", "n", (json_int_t)n,
									"median", gt_json_real(bn_median(x, n)), "low",
									gt_json_real(bn_quantile(x, n, 0)), "high",
									gt_json_real(bn_quantile(x, n, 1))));
			}
	return list;
}

/* The open guards. */
static json_t *guards_json(const struct bn_analysis *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n; i++) {
		const struct bn_comparison *r = &s->row[i];

		if (!r->open)
			continue;
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:I}", "metric", r->m->id, "direction",
					bn_direction_name[r->m->direction], "change_pct", gt_json_real(pct(r->e.est)),
					"ci_low_pct", gt_json_real(isfinite(r->e.lo) ? pct(r->e.lo) : NAN),
					"ci_high_pct", gt_json_real(isfinite(r->e.hi) ? pct(r->e.hi) : NAN),
					"margin_pct", gt_json_real(pct(r->margin.same)), "seems_worse", r->seems_worse,
					"needed", (json_int_t)bn_guard_needed(s, r)));
	}
	return list;
}

void bn_analysis_write(const struct bn_analysis *s, json_t *doc)
{
	json_t *list = json_array();
	json_int_t count[4] = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		json_array_append_new(list, row_json(s, &s->row[i]));
		if (s->row[i].m->role != BN_CONTROL)
			count[s->row[i].verdict]++;
	}
	json_object_set_new(doc, "levels", levels_json(s->data));
	json_object_set_new(doc, "comparisons", list);
	json_object_set_new(doc, "guards_open", guards_json(s));
	json_object_set_new(doc, "outliers", bn_outliers(s->data));
	json_object_set_new(doc, "pairs_done", json_integer((json_int_t)s->data->blocks_done));
	json_object_set(doc, "warnings", s->warnings);
	json_object_set_new(doc, "summary", json_pack("{s:I, s:I, s:I, s:I}", "better", count[BN_BETTER], "worse",
						      count[BN_WORSE], "same", count[BN_SAME], "inconclusive",
						      count[BN_INCONCLUSIVE]));
	json_object_set_new(doc, "verdict", json_string(bn_outcome_name[s->outcome]));
	json_object_set_new(doc, "verdict_reason", s->why[0] ? gt_json_str(s->why) : json_null());
	json_object_set_new(doc, "exit_code", json_integer(s->exit_code));
}

int bn_analyze(const struct bn_data *data, const struct bn_limits *limits)
{
	gt_auto(bn_analysis) *a = bn_analysis_new(data, limits);

	bn_analysis_write(a, data->doc);
	return a->exit_code;
}
