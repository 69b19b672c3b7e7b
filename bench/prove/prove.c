/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of gpubench prove: the arms of each phase and the conclusions from it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/prove/phase.h"
#include "bench/prove/plan.h"
#include "bench/prove/race.h"
#include "bench/prove/race_request.h"
#include "bench/result/text.h"
#include "bench/stats/design.h"
#include "bench/prove/prove.h"
#include "bench/workload/workload.h"
#include "tune/model/tunable.h"

/* ---- the states of the host ---- */

static void all(struct bn_prove *p, int arm, bool on)
{
	for (size_t i = 0; i < p->stage->arms.n_factor; i++)
		p->stage->arms.on[arm][i] = on && !p->stage->arms.factor[i].disabled;
}

static void set(struct bn_prove *p, int arm, const struct bn_proof *f, bool on)
{
	for (size_t i = 0; i < f->n; i++)
		p->stage->arms.on[arm][f->factor[i]] = on;
}

static void set_kept(struct bn_prove *p, int arm)
{
	all(p, arm, false);
	for (size_t k = 0; k < p->n_proof; k++)
		set(p, arm, &p->proof[k], p->proof[k].kept);
}

static const char *name_of(const struct bn_prove *p, const struct bn_proof *f)
{
	const struct bn_factor *first = &p->stage->arms.factor[f->factor[0]];

	return f->n > 1 && first->knob ? first->knob : first->id;
}

static struct bn_proof unmeasured(void)
{
	const struct bn_effect none = {NAN, -INFINITY, INFINITY, NAN, 0, false};

	return (struct bn_proof){.loss = none, .alone = none, .p_adj = NAN, .moved = -1, .method = "not measured"};
}

/* Groups the factors: instances of one knob form one group. */
static void make_groups(struct bn_prove *p)
{
	const struct bn_arms *a = &p->stage->arms;

	p->proof = gt_xcalloc(a->n_factor + 1, sizeof(*p->proof));
	for (size_t i = 0; i < a->n_factor; i++) {
		struct bn_proof *f = NULL;

		if (a->factor[i].disabled)
			continue;
		for (size_t k = 0; k < p->n_proof; k++) {
			const struct bn_factor *first = &a->factor[p->proof[k].factor[0]];

			if (a->factor[i].kind == BN_FACTOR_ITEM && first->kind == BN_FACTOR_ITEM &&
			    gt_streq(first->knob, a->factor[i].knob))
				f = &p->proof[k];
		}
		if (!f) {
			f = &p->proof[p->n_proof++];
			*f = unmeasured();
		}
		f->factor = gt_xrealloc(f->factor, (f->n + 1) * sizeof(*f->factor));
		f->factor[f->n++] = i;
	}
}

/* ---- the phases ---- */

static struct bn_effect effect_in(const struct bn_prove *p, const struct bn_phase_result *r)
{
	return bn_comparison_effect(bn_analysis_find(r->analysis, p->metric));
}

/* Takes the effect of a change among all others from this phase. */
static void take_phase(const struct bn_prove *p, struct bn_proof *f, const char *method, const struct bn_phase_result *r)
{
	const struct bn_comparison *c = bn_analysis_find(r->analysis, p->metric);

	f->loss = bn_comparison_effect(c);
	f->why = c && c->reason[0] ? c->reason : NULL;
	bn_phase_guards(r, &f->guard_worse, &f->guard_open);
	f->method = method;
	f->phase = r;
}

static int total(struct bn_prove *p)
{
	struct bn_phase ph = {.name = "total", .pairs = p->pairs, .aa_pairs = bn_prove_aa(p), .interims = p->interims,
			      .reserve_s = bn_plan_after_total_s(p)};
	const struct bn_phase_result *result;
	int r;

	all(p, 0, false);
	all(p, 1, true);
	p->total_s = bn_plan_left_s(p) - ph.reserve_s;
	r = bn_phase_run(p, &ph, &result);
	if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
		return r;
	bn_plan_refine(p, result->doc);
	if (bn_phase_cut(result))
		bn_plan_skipped(p, "all pairs of the total effect");
	r = bn_prove_metric(p, result);
	if (r < 0)
		return r;
	if (bn_prove_total_is_all(p)) {
		take_phase(p, &p->proof[0], "total effect", result);
		p->proof[0].alone = p->proof[0].loss;
	}
	return 0;
}

static int mark_late(struct bn_prove *p, struct bn_proof *f)
{
	f->late = true;
	bn_plan_skipped(p, name_of(p, f));
	return 0;
}

/* Measures a change twice: among all other changes, and by itself. */
static int one_by_one(struct bn_prove *p, struct bn_proof *f)
{
	struct bn_phase ph = {.name = "leave-one-out", .what = name_of(p, f), .pairs = p->pairs, .reserve_s = bn_plan_confirm_s(p)};
	const struct bn_phase_result *result;
	int r;

	if (!bn_plan_time_for(p, ph.reserve_s))
		return mark_late(p, f);
	all(p, 0, true);
	set(p, 0, f, false);
	all(p, 1, true);
	r = bn_phase_run(p, &ph, &result);
	if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
		return r;
	take_phase(p, f, "leave-one-out", result);
	if (bn_phase_cut(result))
		mark_late(p, f);
	if (p->n_proof == 1) { /* with only one change, both comparisons would be the same */
		f->alone = f->loss;
		return 0;
	}
	if (!bn_plan_time_for(p, ph.reserve_s)) {
		gt_autofree char *what = gt_xasprintf("%s by itself", ph.what);

		bn_plan_skipped(p, what);
		return 0;
	}
	ph.name = "add-one";
	all(p, 0, false);
	all(p, 1, false);
	set(p, 1, f, true);
	r = bn_phase_run(p, &ph, &result);
	if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
		return r;
	f->alone = effect_in(p, result);
	return 0;
}

/* Fits the effect of each change on one metric from all launches of the design. */
static void fit(const struct bn_design *d, const struct bn_data *data, size_t metric, struct bn_effect *ret)
{
	gt_autofree size_t *row = NULL;
	bn_auto_pairs pairs = {0};

	bn_pairs_collect(data, metric, BN_KIND_AB, &pairs);
	row = gt_xcalloc(pairs.n + 1, sizeof(*row));
	for (size_t i = 0; i < pairs.n; i++)
		row[i] = (size_t)pairs.block[i];
	bn_design_fit(d, pairs.d, row, pairs.n, BN_PROVE_ALPHA, ret);
}

static void take_design(struct bn_prove *p, const struct bn_design *d, const struct bn_phase_result *result)
{
	const struct bn_data *data = result->data;
	size_t n = p->n_proof;
	gt_autofree struct bn_effect *e = gt_xcalloc(data->n_metrics * n + 1, sizeof(*e));

	for (size_t m = 0; m < data->n_metrics; m++)
		fit(d, data, m, e + m * n);
	for (size_t k = 0; k < n; k++) {
		struct bn_proof *f = &p->proof[k];

		for (size_t m = 0; m < data->n_metrics; m++)
			if (gt_streq(data->metrics[m].id, p->metric))
				f->loss = e[m * n + k];
		bn_design_guards(data, e, n, k, &f->guard_worse, &f->guard_open);
		f->method = "fold-over design";
		f->phase = result;
		f->changes = n;
		f->column = k;
		if (bn_phase_cut(result))
			mark_late(p, f);
	}
}

static int all_at_once(struct bn_prove *p)
{
	bn_auto_design d = {0};
	struct bn_phase ph = {.name = "design", .design = &d, .reserve_s = bn_plan_confirm_s(p)};
	const struct bn_phase_result *result = NULL;
	struct bn_rng rng;
	int r;

	if (!bn_plan_time_for(p, ph.reserve_s)) {
		for (size_t k = 0; k < p->n_proof; k++)
			mark_late(p, &p->proof[k]);
		return 0;
	}
	bn_rng_seed(&rng, p->seed);
	bn_design_make(p->n_proof, BN_DESIGN_SPARE, &rng, &d);
	ph.pairs = d.rows;
	r = bn_phase_run(p, &ph, &result);
	if (!result)
		return r;
	if (!r)
		take_design(p, &d, result);
	/* Both arms of a design are mixtures, so their difference has no meaning. */
	json_object_set_new(result->doc, "comparisons", json_array());
	json_object_set_new(result->doc, "guards_open", json_array());
	json_object_set_new(result->doc, "verdict", json_string("measured"));
	return r;
}

static void judge(struct bn_prove *p)
{
	gt_autofree double *pv = gt_xcalloc(p->n_proof + 1, sizeof(*pv));

	for (size_t k = 0; k < p->n_proof; k++)
		pv[k] = p->proof[k].loss.p;
	bn_holm(pv, p->n_proof, pv);
	for (size_t k = 0; k < p->n_proof; k++) {
		struct bn_proof *f = &p->proof[k];

		f->p_adj = pv[k];
		f->verdict = bn_decide(p->higher, f->loss, pv[k], BN_PROVE_ALPHA, p->margin);
		if (!isfinite(f->loss.est) && !f->why)
			f->why = f->late ? "the time limit ended before it was measured" : "too few of its pairs gave numbers";
		f->kept = !f->guard_worse &&
			  (f->verdict == BN_BETTER ||
			   (p->keep_inconclusive && f->verdict == BN_INCONCLUSIVE && isfinite(f->loss.est)));
	}
}

/*
 * Replaces a group of factors by its instances: the first takes the place of the group, the others are appended. Marks
 * their effects as unknown.
 */
static void split(struct bn_prove *p, size_t k)
{
	struct bn_proof group = p->proof[k];

	p->proof = gt_xrealloc(p->proof, (p->n_proof + group.n) * sizeof(*p->proof));
	for (size_t i = 0; i < group.n; i++) {
		struct bn_proof *f = i ? &p->proof[p->n_proof++] : &p->proof[k];

		*f = unmeasured();
		f->factor = gt_xcalloc(1, sizeof(size_t));
		f->factor[0] = group.factor[i];
		f->n = 1;
	}
	free(group.factor);
}

/* Splits groups with a verdict better or worse. Each instance is measured by itself and among all the others. */
static int split_groups(struct bn_prove *p)
{
	size_t n = p->n_proof;

	for (size_t k = 0; k < n; k++) {
		const struct bn_proof *group = &p->proof[k];
		size_t size = group->n, first = p->n_proof;

		if (size < 2 || (group->verdict != BN_BETTER && group->verdict != BN_WORSE))
			continue;
		if (!bn_plan_time_for(p, bn_plan_confirm_s(p))) { /* no time to split the group: it stays one change */
			gt_autofree char *what = gt_xasprintf("the instances of %s", name_of(p, group));

			bn_plan_skipped(p, what);
			continue;
		}
		split(p, k);
		for (size_t i = 0; i < size; i++) {
			int r = one_by_one(p, &p->proof[i ? first + i - 1 : k]);

			if (r)
				return r;
		}
	}
	if (p->n_proof > n)
		judge(p);
	return 0;
}

/* Returns whether a metric improved. A mechanism is confirmed only in the claimed direction. */
static bool any_better(const struct bn_analysis *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->row[i].verdict == BN_BETTER && a->row[i].m->role != BN_CONTROL)
			return true;
	return false;
}

/* Checks for each kept change whether the metric of its claimed mechanism improves. */
static int mechanisms(struct bn_prove *p)
{
	for (size_t k = 0; k < p->n_proof; k++) {
		struct bn_proof *f = &p->proof[k];
		const char *mechanism = p->stage->arms.factor[f->factor[0]].mechanism;
		const struct bn_workload *w = mechanism ? bn_workload_find(mechanism) : NULL;
		struct bn_phase ph = {.name = "mechanism", .what = name_of(p, f), .pairs = bn_prove_mechanism_pairs(p)};
		const struct bn_phase_result *result;
		int r;

		if (!f->kept || !w || !w->run || (w->unavailable && w->unavailable(p->cli->fs)))
			continue;
		if (!bn_plan_time_for(p, bn_plan_confirm_s(p))) {
			gt_autofree char *what = gt_xasprintf("the mechanism of %s", ph.what);

			bn_plan_skipped(p, what);
			continue;
		}
		ph.workload = w->id;
		ph.reserve_s = bn_plan_confirm_s(p);
		set_kept(p, 0);
		set_kept(p, 1);
		set(p, 0, f, false);
		r = bn_phase_run(p, &ph, &result);
		if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
			return r;
		f->moved = any_better(result->analysis);
	}
	return 0;
}

/* Records the confirmation. The metric of the receipt must be better again, and the verdict of all metrics together
 * must be better. */
static void take_confirmation(struct bn_prove *p, const struct bn_phase_result *result)
{
	const struct bn_analysis *a = result->analysis;
	const struct bn_comparison *c = bn_analysis_find(a, p->metric);
	json_t *rows = json_object_get(result->doc, "comparisons");
	bool again = c && c->verdict == BN_BETTER, borne_out = a->outcome == BN_OUTCOME_BETTER;

	json_object_set_new(p->doc, "confirmed", json_boolean(again && borne_out));
	json_object_set_new(p->doc, "confirm", c ? json_deep_copy(json_array_get(rows, (size_t)(c - a->row))) : NULL);
	json_object_set_new(p->doc, "guards_open", json_deep_copy(json_object_get(result->doc, "guards_open")));
	json_object_set_new(p->doc, "unconfirmed", gt_json_str(again && !borne_out && a->why[0] ? a->why : NULL));
	if (!again || borne_out || a->why[0])
		return;
	for (size_t i = 0; i < a->n; i++) { /* find the other metric that prevents the confirmation */
		const struct bn_comparison *o = &a->row[i];
		const json_t *row = json_array_get(rows, i);

		if ((enum bn_outcome)o->verdict != a->outcome ||
		    !(o->m->role == BN_PRIMARY || (o->m->role == BN_GUARD && o->verdict == BN_WORSE)))
			continue;
		json_object_set_new(p->doc, "unconfirmed",
				    json_sprintf("%s is %s, %s %s", o->m->id, bn_verdict_name[o->verdict], bn_text_change(row).s,
						 bn_text_interval(row).s));
		return;
	}
}

/* Measures the kept changes on new data. The estimates that selected them are biased upwards. */
static int confirm(struct bn_prove *p)
{
	struct bn_phase ph = {.name = "confirm", .pairs = p->pairs, .interims = p->interims};
	size_t n = 0;
	const struct bn_phase_result *result;
	int r;

	for (size_t k = 0; k < p->n_proof; k++)
		n += p->proof[k].kept;
	if (!n)
		return 0;
	if (!bn_plan_time_for(p, 0)) {
		bn_plan_skipped(p, "confirmation");
		return 0;
	}
	all(p, 0, false);
	set_kept(p, 1);
	r = bn_phase_run(p, &ph, &result);
	if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
		return r;
	take_confirmation(p, result);
	if (bn_phase_cut(result))
		bn_plan_skipped(p, "all pairs of the confirmation");
	if (n == p->n_proof)
		return 0;
	if (!bn_plan_time_for(p, 0)) {
		bn_plan_skipped(p, "kept changes compared with all");
		return 0;
	}
	ph = (struct bn_phase){.name = "kept against all", .pairs = p->pairs};
	all(p, 0, true);
	r = bn_phase_run(p, &ph, &result);
	if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
		return r;
	json_object_set_new(p->doc, "as_good_as_all",
			    json_boolean(bn_not_worse(p->higher, effect_in(p, result), p->margin.same)));
	return 0;
}

static void clear_groups(struct bn_prove *p)
{
	for (size_t k = 0; k < p->n_proof; k++)
		free(p->proof[k].factor);
	free(p->proof);
	p->proof = NULL;
	p->n_proof = 0;
}

/* Measures the effect of each change, all in one design or one after another. */
static int each_change(struct bn_prove *p)
{
	if (bn_prove_designed(p))
		return all_at_once(p);
	for (size_t k = 0; k < p->n_proof && !bn_prove_total_is_all(p); k++) {
		int r = one_by_one(p, &p->proof[k]);

		if (r)
			return r;
	}
	return 0;
}

int bn_prove_run(struct bn_prove *p)
{
	int r;

	json_object_set_new(p->doc, "confirmed", json_false());
	json_object_set_new(p->doc, "not_reached", json_array());
	p->pair_s = NAN;
	make_groups(p);
	if (p->n_proof > BN_DESIGN_MAX)
		return gt_fail_exit(
			&p->cli->err, GT_EXIT_USAGE, E2BIG,
			"%zu changes: one session proves at most %d; choose with --knob, or prove them in parts",
			p->n_proof, BN_DESIGN_MAX);
	r = bn_plan_print(p);
	if (r < 0)
		return r;
	if (p->n_races) {
		r = bn_races_run(p);
		if (r)
			return r;
		clear_groups(p);
		make_groups(p);
		if (!p->n_proof) /* no change is left, because the host's own values won all races */
			return 0;
	}
	r = total(p);
	if (r)
		return r;
	r = each_change(p);
	if (r)
		return r;
	judge(p);
	r = split_groups(p);
	if (r)
		return r;
	r = mechanisms(p);
	return r ? r : confirm(p);
}

void bn_prove_clear(struct bn_prove *p)
{
	clear_groups(p);
	bn_phase_results_free(p);
	bn_races_free(p->races, p->n_races);
	free(p->metric);
	json_decref(p->doc);
}
