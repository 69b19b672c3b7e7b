/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of gpubench prove: what is compared with what, and what follows from it. */
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
#include "tune/model/knob.h"

/* ---- the states of the host ---- */

static void all(struct bn_prove *p, int arm, bool on)
{
	for (size_t i = 0; i < p->stage->arms.n_factor; i++)
		p->stage->arms.on[arm][i] = on && !p->stage->arms.factor[i].out;
}

static void set(struct bn_prove *p, int arm, const struct bn_proof *f, bool on)
{
	for (size_t i = 0; i < f->n; i++)
		p->stage->arms.on[arm][f->factor[i]] = on;
}

static void kept(struct bn_prove *p, int arm)
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

static struct bn_proof nothing_known(void)
{
	const struct bn_effect none = {NAN, -INFINITY, INFINITY, NAN, 0, false};

	return (struct bn_proof){.loss = none, .alone = none, .p_adj = NAN, .moved = -1, .method = "not measured"};
}

/* Instances of one knob belong together. */
static void make_groups(struct bn_prove *p)
{
	const struct bn_arms *a = &p->stage->arms;

	p->proof = gt_xcalloc(a->n_factor + 1, sizeof(*p->proof));
	for (size_t i = 0; i < a->n_factor; i++) {
		struct bn_proof *f = NULL;

		if (a->factor[i].out)
			continue;
		for (size_t k = 0; k < p->n_proof; k++) {
			const struct bn_factor *first = &a->factor[p->proof[k].factor[0]];

			if (a->factor[i].kind == BN_FACTOR_ITEM && first->kind == BN_FACTOR_ITEM &&
			    gt_streq(first->knob, a->factor[i].knob))
				f = &p->proof[k];
		}
		if (!f) {
			f = &p->proof[p->n_proof++];
			*f = nothing_known();
		}
		f->factor = gt_xrealloc(f->factor, (f->n + 1) * sizeof(*f->factor));
		f->factor[f->n++] = i;
	}
}

/* ---- the phases ---- */

static void take_total(struct bn_prove *p, const json_t *doc)
{
	struct bn_proof *f = &p->proof[0];

	f->loss = f->alone = bn_phase_effect(bn_phase_row(doc, p->metric));
	f->why = gt_json_get_str(bn_phase_row(doc, p->metric), "reason", NULL);
	bn_phase_guards(doc, &f->guard_worse, &f->guard_open);
	f->method = "total effect";
	f->phase = doc;
}

static int total(struct bn_prove *p)
{
	struct bn_phase ph = {.name = "total", .pairs = p->pairs, .aa_pairs = bn_prove_aa(p), .looks = p->looks,
			      .keep_s = bn_plan_after_total_s(p)};
	json_t *doc = NULL;
	int r;

	all(p, 0, false);
	all(p, 1, true);
	p->total_s = bn_plan_left_s(p) - ph.keep_s;
	r = bn_phase_run(p, &ph, &doc);
	if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
		return r;
	bn_plan_refine(p, doc);
	if (bn_phase_cut(doc))
		bn_plan_missed(p, "all pairs of the total effect");
	r = bn_prove_metric(p, doc);
	if (r == 0 && bn_prove_total_is_all(p))
		take_total(p, doc);
	return r;
}

static int late(struct bn_prove *p, struct bn_proof *f)
{
	f->late = true;
	bn_plan_missed(p, name_of(p, f));
	return 0;
}

/* Among all the others and by itself. */
static int one_by_one(struct bn_prove *p, struct bn_proof *f)
{
	struct bn_phase ph = {.name = "leave-one-out", .what = name_of(p, f), .pairs = p->pairs, .keep_s = bn_plan_confirm_s(p)};
	json_t *doc = NULL;
	int r;

	if (!bn_plan_time_for(p, ph.keep_s))
		return late(p, f);
	all(p, 0, true);
	set(p, 0, f, false);
	all(p, 1, true);
	r = bn_phase_run(p, &ph, &doc);
	if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
		return r;
	f->loss = bn_phase_effect(bn_phase_row(doc, p->metric));
	f->why = gt_json_get_str(bn_phase_row(doc, p->metric), "reason", NULL);
	bn_phase_guards(doc, &f->guard_worse, &f->guard_open);
	f->method = "leave-one-out";
	f->phase = doc;
	if (bn_phase_cut(doc))
		late(p, f);
	if (p->n_proof == 1) { /* it would be the same comparison again */
		f->alone = f->loss;
		return 0;
	}
	if (!bn_plan_time_for(p, ph.keep_s)) {
		gt_autofree char *what = gt_xasprintf("%s by itself", ph.what);

		bn_plan_missed(p, what);
		return 0;
	}
	ph.name = "add-one";
	all(p, 0, false);
	all(p, 1, false);
	set(p, 1, f, true);
	r = bn_phase_run(p, &ph, &doc);
	if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
		return r;
	f->alone = bn_phase_effect(bn_phase_row(doc, p->metric));
	return 0;
}

/* What each change does to one metric, from all launches of the design. */
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

static void take_design(struct bn_prove *p, const struct bn_design *d, const struct bn_data *data, const json_t *doc)
{
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
		f->phase = doc;
		f->changes = n;
		f->column = k;
		if (bn_phase_cut(doc))
			late(p, f);
	}
}

static int all_at_once(struct bn_prove *p)
{
	gt_auto(bn_data) *data = NULL;
	struct bn_design d;
	struct bn_phase ph = {.name = "design", .design = &d, .keep_s = bn_plan_confirm_s(p)};
	struct bn_rng rng;
	json_t *doc = NULL;
	int r;

	for (size_t k = 0; k < p->n_proof && !bn_plan_time_for(p, ph.keep_s); k++)
		late(p, &p->proof[k]);
	if (!bn_plan_time_for(p, ph.keep_s))
		return 0;
	bn_rng_seed(&rng, p->seed);
	bn_design_make(p->n_proof, BN_DESIGN_SPARE, &rng, &d);
	ph.pairs = d.rows;
	r = bn_phase_run(p, &ph, &doc);
	if (r == 0)
		r = bn_data_from_doc(doc, "design", &data, &p->cli->err);
	if (r == 0)
		take_design(p, &d, data, doc);
	/* Its two arms are mixtures: what they differ by means nothing by itself. */
	if (doc) {
		json_object_set_new(doc, "comparisons", json_array());
		json_object_set_new(doc, "guards_open", json_array());
		json_object_set_new(doc, "verdict", json_string("measured"));
	}
	bn_design_clear(&d);
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
			f->why = f->late ? "the time was up before it was measured" : "too few of its pairs gave numbers";
		f->kept = !f->guard_worse &&
			  (f->verdict == BN_BETTER ||
			   (p->keep_inconclusive && f->verdict == BN_INCONCLUSIVE && isfinite(f->loss.est)));
	}
}

/* The instances of a group in its place and at the end; nothing is known of any of them. */
static void split(struct bn_prove *p, size_t k)
{
	struct bn_proof group = p->proof[k];

	p->proof = gt_xrealloc(p->proof, (p->n_proof + group.n) * sizeof(*p->proof));
	for (size_t i = 0; i < group.n; i++) {
		struct bn_proof *f = i ? &p->proof[p->n_proof++] : &p->proof[k];

		*f = nothing_known();
		f->factor = gt_xcalloc(1, sizeof(size_t));
		f->factor[0] = group.factor[i];
		f->n = 1;
	}
	free(group.factor);
}

/* A group that moved, for the better or the worse, is split: each instance by itself, among all the others. */
static int split_groups(struct bn_prove *p)
{
	size_t n = p->n_proof;
	int r = 0;

	for (size_t k = 0; k < n && r == 0; k++) {
		const struct bn_proof *group = &p->proof[k];
		size_t size = group->n, first = p->n_proof;

		if (size < 2 || (group->verdict != BN_BETTER && group->verdict != BN_WORSE))
			continue;
		if (!bn_plan_time_for(p, bn_plan_confirm_s(p))) { /* it stays one change */
			gt_autofree char *what = gt_xasprintf("the instances of %s", name_of(p, group));

			bn_plan_missed(p, what);
			continue;
		}
		split(p, k);
		for (size_t i = 0; i < size && r == 0; i++)
			r = one_by_one(p, &p->proof[i ? first + i - 1 : k]);
	}
	if (p->n_proof > n && r == 0)
		judge(p);
	return r;
}

/* Does what it claims to act on move with it? */
static int mechanisms(struct bn_prove *p)
{
	for (size_t k = 0; k < p->n_proof; k++) {
		struct bn_proof *f = &p->proof[k];
		const char *mechanism = p->stage->arms.factor[f->factor[0]].mechanism;
		const struct bn_workload *w = mechanism ? bn_workload_find(mechanism) : NULL;
		struct bn_phase ph = {.name = "mechanism", .what = name_of(p, f), .pairs = bn_prove_mechanism_pairs(p)};
		json_t *doc = NULL, *c;
		size_t i;
		int r;

		if (!f->kept || !w || !w->run || (w->unavailable && w->unavailable(p->cli->fs)))
			continue;
		if (!bn_plan_time_for(p, bn_plan_confirm_s(p))) {
			gt_autofree char *what = gt_xasprintf("the mechanism of %s", ph.what);

			bn_plan_missed(p, what);
			continue;
		}
		ph.workload = w->id;
		ph.keep_s = bn_plan_confirm_s(p);
		kept(p, 0);
		kept(p, 1);
		set(p, 0, f, false);
		r = bn_phase_run(p, &ph, &doc);
		if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
			return r;
		f->moved = 0;
		json_array_foreach(json_object_get(doc, "comparisons"), i,
				   c) /* a claim is borne out the right way round, or not */
			f->moved |= gt_streq(gt_json_get_str(c, "verdict", NULL), "better") &&
				    !gt_streq(gt_json_get_str(c, "role", NULL), "control");
	}
	return 0;
}

/* The metric that the receipt is about has to be better again, and nothing else that decides may object. */
static void take_confirmation(struct bn_prove *p, const json_t *doc)
{
	const json_t *row = bn_phase_row(doc, p->metric);
	const char *verdict = gt_json_get_str(doc, "verdict", NULL),
		   *why = gt_json_get_str(doc, "verdict_reason", NULL);
	bool again = gt_streq(gt_json_get_str(row, "verdict", NULL), "better"), borne_out = gt_streq(verdict, "better");
	json_t *list = json_object_get(doc, "comparisons"), *c;
	size_t i;

	json_object_set_new(p->doc, "confirmed", json_boolean(again && borne_out));
	json_object_set_new(p->doc, "confirm", json_deep_copy(row));
	json_object_set_new(p->doc, "guards_open", json_deep_copy(json_object_get(doc, "guards_open")));
	json_object_set_new(p->doc, "unconfirmed", gt_json_str(again && !borne_out ? why : NULL));
	json_array_foreach(list, i, c)
	{ /* which other metric objects */
		const char *role = gt_json_get_str(c, "role", ""), *v = gt_json_get_str(c, "verdict", "");
		bool decides = gt_streq(role, "primary") || (gt_streq(role, "guard") && gt_streq(v, "worse"));

		if (!again || borne_out || why || !decides || !gt_streq(v, verdict))
			continue;
		json_object_set_new(p->doc, "unconfirmed",
				    json_sprintf("%s is %s, %s %s", gt_json_get_str(c, "metric", "?"), v,
						 bn_text_change(c).s, bn_text_interval(c).s));
		break;
	}
}

/* Only what is seen again in new data counts: the estimates that chose it flatter it. */
static int confirm(struct bn_prove *p)
{
	struct bn_phase ph = {.name = "confirm", .pairs = p->pairs, .looks = p->looks};
	size_t n = 0;
	json_t *doc = NULL;
	int r;

	for (size_t k = 0; k < p->n_proof; k++)
		n += p->proof[k].kept;
	if (!n)
		return 0;
	if (!bn_plan_time_for(p, 0)) {
		bn_plan_missed(p, "confirmation");
		return 0;
	}
	all(p, 0, false);
	kept(p, 1);
	r = bn_phase_run(p, &ph, &doc);
	if (r < 0 || r >= BN_EXIT_INCOMPARABLE)
		return r;
	take_confirmation(p, doc);
	if (bn_phase_cut(doc))
		bn_plan_missed(p, "all pairs of the confirmation");
	if (n == p->n_proof)
		return 0;
	if (!bn_plan_time_for(p, 0)) {
		bn_plan_missed(p, "what is kept beside all");
		return 0;
	}
	ph = (struct bn_phase){.name = "kept against all", .pairs = p->pairs};
	all(p, 0, true);
	r = bn_phase_run(p, &ph, &doc);
	if (r >= 0 && r < BN_EXIT_INCOMPARABLE) {
		struct bn_effect e = bn_phase_effect(bn_phase_row(doc, p->metric));

		json_object_set_new(p->doc, "as_good_as_all", json_boolean(bn_not_worse(p->higher, e, p->margin.same)));
		r = 0;
	}
	return r < 0 || r >= BN_EXIT_INCOMPARABLE ? r : 0;
}

static void clear_groups(struct bn_prove *p)
{
	for (size_t k = 0; k < p->n_proof; k++)
		free(p->proof[k].factor);
	free(p->proof);
	p->proof = NULL;
	p->n_proof = 0;
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
	r = bn_plan_say(p);
	if (r < 0)
		return r;
	if (p->n_races) {
		r = bn_races_run(p);
		if (r)
			return r;
		clear_groups(p);
		make_groups(p);
		if (!p->n_proof) /* the host's own values won all of them */
			return 0;
	}
	r = total(p);
	if (r == 0 && bn_prove_designed(p))
		r = all_at_once(p);
	for (size_t k = 0; k < p->n_proof && r == 0 && !bn_prove_designed(p) && !bn_prove_total_is_all(p); k++)
		r = one_by_one(p, &p->proof[k]);
	if (r == 0) {
		judge(p);
		r = split_groups(p);
	}
	if (r == 0)
		r = mechanisms(p);
	return r == 0 ? confirm(p) : r;
}

void bn_prove_clear(struct bn_prove *p)
{
	clear_groups(p);
	bn_races_free(p->races, p->n_races);
	free(p->metric);
	json_decref(p->doc);
}
