/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeats the statistics of gpubench on the samples of a receipt. Its effects, intervals and verdicts must follow from
 * them. This finds a receipt that contradicts itself, but not one with forged samples.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bench/stats/design.h"
#include "bench/stats/verdict.h"
#include "tune/plan/receipt_samples.h"

#define ALPHA	    .05
#define PAIRS_MAX   1000
#define METRICS_MAX 200
#define TESTS_MAX   (4 * BN_DESIGN_MAX) /* a group of instances may be split, with a test for each */

/* One hypothesis: a change, or several instances of one tunable that were switched together. */
struct change {
	struct bn_effect e;
	double p_adj;
	enum bn_verdict verdict;
	int64_t test, column;
	bool seen;
};

struct samples {
	const json_t *doc;
	const char *metric;
	bool higher, keep_inconclusive;
	struct bn_margins margin;
	struct change *change;
	size_t n_change;
	struct gt_err *err;
};

/* Reads the log-ratios of [[a, b], …]. The caller frees *ret. */
static int read_pairs(const json_t *holder, const char *key, double **ret, size_t *ret_n, struct gt_err *err)
{
	json_t *list = NULL, *pair;
	gt_autofree double *d = NULL;
	size_t i;
	int r = gt_json_req_array(holder, key, &list, err);

	if (r < 0)
		return r;
	if (json_array_size(list) > PAIRS_MAX)
		return gt_fail(err, E2BIG, "\"%s\" has more than %d pairs", key, PAIRS_MAX);
	d = gt_xcalloc(json_array_size(list) + 1, sizeof(*d));
	json_array_foreach(list, i, pair) {
		double a = json_number_value(json_array_get(pair, 0)), b = json_number_value(json_array_get(pair, 1));

		if (json_array_size(pair) != 2 || !(a > 0) || !(b > 0) || !isfinite(a) || !isfinite(b))
			return gt_fail(err, EINVAL, "pair %zu of \"%s\" is not two positive numbers", i + 1, key);
		d[i] = log(b) - log(a);
	}
	*ret = gt_take(d);
	*ret_n = json_array_size(list);
	return 0;
}

static int read_own_margin(const json_t *o, double *ret, struct gt_err *err)
{
	double pct = gt_json_get_real(o, "own_margin_pct", NAN);

	if (!(pct >= 0) || !isfinite(pct))
		return gt_fail(err, EINVAL, "\"own_margin_pct\" must be a number, 0 or more");
	*ret = log1p(pct / 100);
	return 0;
}

/* ---- the changes -------------------------------------------------------------------------------------------------- */

/*
 * Reads the margin that applies to all changes: the margin of the metric, or the difference between identical arms if
 * that is larger.
 */
static int read_margin(struct samples *s, const json_t *o)
{
	gt_autofree double *aa = NULL;
	double own = NAN;
	size_t n = 0;
	int r = read_own_margin(o, &own, s->err);

	if (r == 0)
		r = read_pairs(o, "aa", &aa, &n, s->err);
	if (r == 0)
		s->margin = bn_margins(own, (struct bn_effect){ .est = bn_mean(aa, n), .n = n });
	return r;
}

/* Reads the design row of each pair. The caller frees *ret. */
static int read_rows(const json_t *test, size_t pairs, size_t rows, size_t **ret, struct gt_err *err)
{
	gt_autofree size_t *row = gt_xcalloc(pairs + 1, sizeof(*row));
	json_t *list = NULL, *v;
	size_t i;
	int r = gt_json_req_array(test, "rows", &list, err);

	if (r < 0)
		return r;
	if (json_array_size(list) != pairs)
		return gt_fail(err, EINVAL, "\"rows\" must have one row for each pair");
	json_array_foreach(list, i, v) {
		json_int_t at = json_is_integer(v) ? json_integer_value(v) : -1;

		if (at < 0 || (size_t)at >= rows)
			return gt_fail(err, EINVAL, "\"rows\" has a row that the design lacks");
		row[i] = (size_t)at;
	}
	*ret = gt_take(row);
	return 0;
}

/* Computes the effects of all columns from all pairs. effect has BN_DESIGN_MAX elements. */
static int fit_design(const json_t *test, const double *d, size_t n, uint64_t seed, struct bn_effect *effect, struct gt_err *err)
{
	int64_t factors = gt_json_get_int(test, "changes", 0);
	gt_autofree size_t *row = NULL;
	struct bn_design design;
	struct bn_rng rng;
	int r;

	if (factors < 1 || factors > BN_DESIGN_MAX)
		return gt_fail(err, EINVAL, "\"changes\" must be 1 to %d", BN_DESIGN_MAX);
	bn_rng_seed(&rng, seed);
	bn_design_make((size_t)factors, BN_DESIGN_SPARE, &rng, &design);
	r = read_rows(test, n, design.rows, &row, err);
	if (r == 0)
		bn_design_fit(&design, d, row, n, ALPHA, effect);
	bn_design_clear(&design);
	return r;
}

/* Computes the effect of each change of this test. */
static int judge_test(struct samples *s, const json_t *test, size_t at)
{
	struct bn_effect effect[BN_DESIGN_MAX];
	gt_autofree double *d = NULL;
	int64_t seed = 0;
	size_t n = 0, columns = 1;
	int r = read_pairs(test, "pairs", &d, &n, s->err);

	if (r == 0)
		r = gt_json_req_int(test, "seed", &seed, s->err);
	if (r < 0)
		return r;
	if (json_object_get(test, "rows")) {
		columns = (size_t)GT_MAX(INT64_C(0), gt_json_get_int(test, "changes", 0));
		r = fit_design(test, d, n, (uint64_t)seed, effect, s->err);
	} else {
		effect[0] = bn_signflip(d, n, ALPHA, (uint64_t)seed);
	}
	for (size_t k = 0; r == 0 && k < s->n_change; k++) {
		struct change *c = &s->change[k];

		if (c->test != (int64_t)at)
			continue;
		if (c->column < 0 || (size_t)c->column >= columns)
			return gt_fail(s->err, EINVAL, "change %zu has no column in its test", k);
		c->e = effect[c->column];
	}
	return r;
}

static bool same_place(const json_t *knob, const struct change *c)
{
	return gt_json_get_int(knob, "test", -1) == c->test && gt_json_get_int(knob, "column", 0) == c->column;
}

/* Instances that were switched together are one change with one number. */
static int read_changes(struct samples *s)
{
	const struct bn_effect none = { NAN, -INFINITY, INFINITY, NAN, 0, false };
	json_t *knobs = json_object_get(s->doc, "knobs"), *k;
	size_t i;

	s->change = gt_xcalloc(json_array_size(knobs) + 1, sizeof(*s->change));
	json_array_foreach(knobs, i, k) {
		int64_t at = gt_json_get_int(k, "change", -1);
		struct change *c = &s->change[GT_MAX(at, INT64_C(0))];

		if (at < 0 || (size_t)at >= json_array_size(knobs))
			return gt_fail(s->err, EINVAL, "\"change\" of knob %zu is not the number of a change", i + 1);
		if (!c->seen)
			*c = (struct change){ .e = none, .test = gt_json_get_int(k, "test", -1),
					      .column = gt_json_get_int(k, "column", 0), .seen = true };
		if (!same_place(k, c))
			return gt_fail(s->err, EINVAL, "change %lld occurs in two tests", (long long)at);
		s->n_change = GT_MAX(s->n_change, (size_t)at + 1);
	}
	for (i = 0; i < s->n_change; i++)
		if (!s->change[i].seen)
			return gt_fail(s->err, EINVAL, "change %zu is missing", i);
	return 0;
}

static int judge_changes(struct samples *s, const json_t *tests)
{
	gt_autofree double *p = gt_xcalloc(s->n_change + 1, sizeof(*p));
	const json_t *test;
	size_t i;

	if (json_array_size(tests) > TESTS_MAX)
		return gt_fail(s->err, E2BIG, "\"tests\" has more than %d entries", TESTS_MAX);
	json_array_foreach(tests, i, test) {
		int r = judge_test(s, test, i);

		if (r < 0)
			return gt_fail_prefix(s->err, "test %zu", i);
	}
	for (i = 0; i < s->n_change; i++)
		p[i] = s->change[i].e.p;
	bn_holm(p, s->n_change, p);
	for (i = 0; i < s->n_change; i++) {
		s->change[i].p_adj = p[i];
		s->change[i].verdict = bn_decide(s->higher, s->change[i].e, p[i], ALPHA, s->margin);
	}
	return 0;
}

/* ---- stated results --------------------------------------------------------------------------------------------- */

/* The document has twelve digits, so the comparison has a tolerance. */
static bool same_pct(double log_ratio, const json_t *stated)
{
	double pct = 100 * expm1(log_ratio), v = json_is_number(stated) ? json_number_value(stated) : NAN;

	return isfinite(pct) ? fabs(pct - v) <= 1e-6 * (1 + fabs(pct)) : isnan(v);
}

static bool same_effect(const struct bn_effect *e, const json_t *stated)
{
	return same_pct(e->est, json_object_get(stated, "change_pct")) && same_pct(e->lo, json_object_get(stated, "ci_low_pct")) &&
	       same_pct(e->hi, json_object_get(stated, "ci_high_pct"));
}

static bool is_kept(const struct samples *s, const struct change *c, const json_t *knob)
{
	return !gt_json_get_bool(knob, "guard_worse", false) &&
	       (c->verdict == BN_BETTER || (s->keep_inconclusive && c->verdict == BN_INCONCLUSIVE && isfinite(c->e.est)));
}

static int check_knob(const struct samples *s, const json_t *knob)
{
	const struct change *c = &s->change[gt_json_get_int(knob, "change", 0)];
	const char *id = gt_json_get_str(knob, "id", "?"), *verdict = gt_json_get_str(knob, "verdict", "none");
	bool kept = gt_json_get_bool(knob, "kept", false);

	if (!gt_streq(verdict, bn_verdict_name[c->verdict]))
		return gt_fail(s->err, EBADMSG, "the verdict of %.80s is \"%.20s\", but its samples give \"%s\"", id, verdict,
			       bn_verdict_name[c->verdict]);
	if (!same_effect(&c->e, json_object_get(knob, "effect")))
		return gt_fail(s->err, EBADMSG, "the effect of %.80s does not follow from its samples", id);
	if (kept != is_kept(s, c, knob))
		return gt_fail(s->err, EBADMSG, "%.80s is %skept, although its verdict is \"%.20s\"%s", id, kept ? "" : "not ",
			       verdict, kept && c->verdict == BN_BETTER ? " and a guard is worse" : "");
	return 0;
}

/* ---- the confirmation --------------------------------------------------------------------------------------------- */

static int confirm_metric(struct samples *s, const json_t *m, uint64_t seed, double alpha, struct bn_effect *e, double *own)
{
	gt_autofree double *d = NULL;
	size_t n = 0;
	int r = read_own_margin(m, own, s->err);

	if (r == 0)
		r = read_pairs(m, "pairs", &d, &n, s->err);
	if (r == 0)
		*e = bn_signflip(d, n, alpha, seed);
	return r;
}

/* The deciding metric must be better again, and no other primary metric may be worse or inconclusive. */
static int judge_confirmation(struct samples *s, json_t *metrics, uint64_t seed, double alpha)
{
	size_t n = json_array_size(metrics), i;
	gt_autofree struct bn_effect *e = gt_xcalloc(n + 1, sizeof(*e));
	gt_autofree double *p = gt_xcalloc(n + 1, sizeof(*p)), *own = gt_xcalloc(n + 1, sizeof(*own));
	bool found = false;
	const json_t *m;

	json_array_foreach(metrics, i, m) {
		int r = confirm_metric(s, m, seed, alpha, &e[i], &own[i]);

		if (r < 0)
			return gt_fail_prefix(s->err, "metric %zu of the confirmation", i + 1);
		p[i] = e[i].p;
	}
	bn_holm(p, n, p);
	json_array_foreach(metrics, i, m) {
		bool decides = gt_streq(gt_json_get_str(m, "metric", NULL), s->metric);
		bool higher = gt_streq(gt_json_get_str(m, "direction", NULL), "higher");
		enum bn_verdict v = bn_decide(higher, e[i], p[i], alpha, (struct bn_margins){ own[i], own[i] });

		if (decides && (higher != s->higher || !same_effect(&e[i], json_object_get(s->doc, "confirm"))))
			return gt_fail(s->err, EBADMSG, "the effect of \"confirm\" does not follow from its samples");
		if (v == BN_WORSE || v == BN_INCONCLUSIVE || (decides && v != BN_BETTER))
			return gt_fail(s->err, EBADMSG,
				       "it is confirmed, but the samples of the confirmation give \"%s\" for %.80s",
				       bn_verdict_name[v], gt_json_get_str(m, "metric", "?"));
		found |= decides;
	}
	return found ? 0 : gt_fail(s->err, EBADMSG, "the confirmation has no samples of %.80s", s->metric);
}

static int check_confirmation(struct samples *s, const json_t *samples)
{
	json_t *o = NULL, *metrics = NULL;
	double alpha;
	int64_t seed = 0;
	int r = gt_json_req_object(samples, "confirm", &o, s->err);

	if (r == 0)
		r = gt_json_req_array(o, "metrics", &metrics, s->err);
	if (r == 0)
		r = gt_json_req_int(o, "seed", &seed, s->err);
	if (r < 0)
		return r;
	alpha = gt_json_get_real(o, "alpha", NAN);
	if (!(alpha > 0 && alpha <= ALPHA) || json_array_size(metrics) > METRICS_MAX)
		return gt_fail(s->err, EINVAL, "\"alpha\" of the confirmation must be at most %g, and its metrics at most %d",
			       ALPHA, METRICS_MAX);
	return judge_confirmation(s, metrics, (uint64_t)seed, alpha);
}

static int check(struct samples *s, const json_t *samples)
{
	json_t *tests = NULL, *knobs = NULL, *k;
	size_t i, kept = 0;
	int r = gt_json_req_array(samples, "tests", &tests, s->err);

	if (r == 0)
		r = gt_json_req_array(s->doc, "knobs", &knobs, s->err);
	if (r == 0)
		r = read_margin(s, samples);
	if (r == 0)
		r = read_changes(s);
	if (r == 0)
		r = judge_changes(s, tests);
	for (i = 0; r == 0 && i < json_array_size(knobs); i++) {
		k = json_array_get(knobs, i);
		r = check_knob(s, k);
		kept += gt_json_get_bool(k, "kept", false);
	}
	if (r == 0 && !kept)
		r = gt_fail(s->err, EBADMSG, "it is confirmed, but no change is kept");
	return r < 0 ? r : check_confirmation(s, samples);
}

int tn_receipt_check_samples(const json_t *doc, struct gt_err *err)
{
	struct samples s = { .doc = doc, .metric = gt_json_get_str(doc, "metric", ""),
			     .higher = gt_streq(gt_json_get_str(doc, "direction", NULL), "higher"),
			     .keep_inconclusive = gt_json_get_bool(doc, "keep_inconclusive", false), .err = err };
	json_t *samples = NULL;
	int r = gt_json_req_object(doc, "samples", &samples, err);

	if (r == 0)
		r = check(&s, samples);
	free(s.change);
	return r;
}
