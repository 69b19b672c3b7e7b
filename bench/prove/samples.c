/* SPDX-License-Identifier: Apache-2.0 */
/* The paired samples that determine the verdicts of a receipt. gputune computes the verdicts again before it applies
 * anything. */
#include "bench/prove/samples.h"

static json_t *pair_list(const struct bn_pairs *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(list, json_pack("[f, f]", p->a[i], p->b[i]));
	return list;
}

/* Returns the pairs of one metric in a phase, or [] if it was not measured. rows, if not NULL, gets the block of each
 * pair. */
static json_t *phase_pairs(const struct bn_phase_result *phase, const char *metric, enum bn_kind kind, json_t *rows)
{
	const struct bn_data *data = phase ? phase->data : NULL;
	bn_auto_pairs pairs = {0};
	size_t m = 0;

	while (data && m < data->n_metrics && !gt_streq(data->metrics[m].id, metric))
		m++;
	if (!data || m == data->n_metrics)
		return json_array();
	bn_pairs_collect(data, m, kind, &pairs);
	for (size_t i = 0; i < pairs.n && rows; i++)
		json_array_append_new(rows, json_integer(pairs.block[i]));
	return pair_list(&pairs);
}

static json_int_t seed_of(const struct bn_phase_result *phase)
{
	return phase ? (json_int_t)phase->data->seed : 0;
}

static json_t *test_json(const struct bn_prove *p, const struct bn_proof *f)
{
	json_t *rows = f->changes ? json_array() : NULL, *test = json_pack("{s:s}", "method", f->method);

	json_object_set_new(test, "seed", json_integer(f->changes ? (json_int_t)p->seed : seed_of(f->phase)));
	json_object_set_new(test, "pairs", phase_pairs(f->phase, p->metric, BN_KIND_AB, rows));
	if (!rows)
		return test;
	json_object_set_new(test, "changes", json_integer((json_int_t)f->changes));
	json_object_set_new(test, "rows", rows);
	return test;
}

static bool is_first_of_phase(const struct bn_prove *p, const struct bn_proof *f)
{
	const struct bn_proof *k = p->proof;

	while (k->phase != f->phase)
		k++;
	return k == f;
}

int bn_prove_test(const struct bn_prove *p, const struct bn_proof *f)
{
	int at = 0;

	if (!f->phase)
		return -1;
	for (const struct bn_proof *k = p->proof; k->phase != f->phase; k++) /* all changes of a design share one test */
		at += k->phase && is_first_of_phase(p, k);
	return at;
}

static json_t *confirm_json(const struct bn_phase_result *phase)
{
	const struct bn_analysis *a = phase ? phase->analysis : NULL;
	json_t *metrics;
	double alpha = BN_PROVE_ALPHA;

	if (!phase)
		return json_null();
	metrics = json_array();
	for (size_t i = 0; i < a->n; i++) {
		const struct bn_metric *m = a->row[i].m;

		if (m->role != BN_PRIMARY)
			continue;
		alpha = a->alpha;
		json_array_append_new(metrics, json_pack("{s:s, s:s, s:o, s:o}", "metric", m->id, "direction",
							 bn_direction_name[m->direction], "own_margin_pct",
							 gt_json_real(100 * m->margin), "pairs",
							 phase_pairs(phase, m->id, BN_KIND_AB, NULL)));
	}
	return json_pack("{s:I, s:f, s:o}", "seed", seed_of(phase), "alpha", alpha, "metrics", metrics);
}

json_t *bn_prove_samples(const struct bn_prove *p)
{
	const struct bn_phase_result *total = bn_prove_result(p, "total");
	const struct bn_comparison *c = total && p->metric ? bn_analysis_find(total->analysis, p->metric) : NULL;
	json_t *tests = json_array();

	for (size_t k = 0; k < p->n_proof; k++)
		if (bn_prove_test(p, &p->proof[k]) == (int)json_array_size(tests))
			json_array_append_new(tests, test_json(p, &p->proof[k]));
	return json_pack("{s:o, s:o, s:o, s:o}", "own_margin_pct", gt_json_real(c ? 100 * c->m->margin : 0), "aa",
			 phase_pairs(total, p->metric, BN_KIND_AA, NULL), "tests", tests, "confirm",
			 confirm_json(bn_prove_result(p, "confirm")));
}
