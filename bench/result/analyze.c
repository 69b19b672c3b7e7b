/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/result/analyze.h"
#include "bench/result/outlier.h"

#define ALPHA .05

/* Everything known about one metric. */
struct row {
	const struct bn_metric *m;
	size_t index;
	struct bn_pairs pairs, aa_pairs;
	double a_median, b_median;
	size_t n_a, n_b;
	struct bn_effect e, t, aa;
	double hl, sd, p_adj, aa_p_adj;
	struct bn_margins margin;
	const char *family;
	enum bn_verdict verdict;
	bool aa_bad, tiny, unfit; /* unfit: its numbers carry no claim at all, not even "not worse" */
	bool breaks; /* the change costs launches their numbers */
	bool open,
		seems_worse; /* a guard: not shown to be not worse; and its estimate is worse by the margin or more */
	size_t more;
	char reason[256];
};

struct session {
	struct bn_data *data;
	const struct bn_limits *limits;
	struct row *row;
	size_t n;
	enum bn_kind kind; /* of the blocks that are compared */
	bool paired;
	size_t primaries;
	double alpha;	   /* of the look at which we stand */
	const char *hold;  /* why no verdict may be given at all, or NULL */
};

static double pct(double log_ratio)
{
	return 100 * expm1(log_ratio);
}

/* What the session as a whole allows: at which alpha we stand, or why no verdict may be given. */
static void stand(struct session *s)
{
	const struct bn_data *d = s->data;

	s->paired = !gt_streq(d->design, "unpaired") && !gt_streq(d->design, "single");
	s->kind = gt_streq(d->design, "aa") ? BN_KIND_AA : s->paired ? BN_KIND_AB : BN_KIND_SINGLE;
	s->alpha = ALPHA;
	if (!s->paired)
		return;
	if (d->clock_broken)
		s->hold = "the clock ran backwards";
	else
		s->hold = d->interrupted ? "interrupted before a planned look" : "not at a planned look";
	for (size_t i = 0; i < d->n_looks; i++)
		if (d->looks[i].pairs == d->blocks_done) {
			s->alpha = d->looks[i].alpha;
			if (!d->clock_broken)
				s->hold = NULL;
		}
}

static void measure_paired(struct session *s, struct row *r)
{
	struct bn_pairs *p = &r->pairs;

	bn_pairs_collect(s->data, r->index, s->kind, p);
	r->n_a = r->n_b = p->n;
	r->a_median = bn_median(p->a, p->n);
	r->b_median = bn_median(p->b, p->n);
	r->e = bn_signflip(p->d, p->n, s->alpha, s->data->seed);
	r->t = bn_t_effect(p->d, p->n, s->alpha);
	r->hl = bn_hodges_lehmann(p->d, p->n);
	r->sd = bn_sd(p->d, p->n);
	if (s->kind != BN_KIND_AB)
		return;
	p = &r->aa_pairs;
	bn_pairs_collect(s->data, r->index, BN_KIND_AA, p);
	r->aa = bn_aa_effect(p->d, p->n, r->m->role == BN_PRIMARY ? s->primaries : 1, s->data->seed);
}

static void to_logs(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = log(x[i]);
}

static void measure_unpaired(struct session *s, struct row *r)
{
	gt_autofree double *a = NULL, *b = NULL;
	double va, vb;

	r->n_a = bn_values(s->data, r->index, BN_KIND_SINGLE, BN_ARM_A, &a);
	r->n_b = bn_values(s->data, r->index, BN_KIND_SINGLE, BN_ARM_B, &b);
	r->a_median = bn_median(a, r->n_a);
	r->b_median = bn_median(b, r->n_b);
	to_logs(a, r->n_a);
	to_logs(b, r->n_b);
	r->e = r->t = bn_welch(a, r->n_a, b, r->n_b, s->alpha);
	va = bn_sd(a, r->n_a);
	vb = bn_sd(b, r->n_b);
	r->sd = sqrt(va * va + vb * vb);
	r->hl = NAN;
}

/* Adjust p over the rows of one family. */
static void adjust(struct session *s, const char *family, void (*method)(const double *, size_t, double *), bool aa)
{
	gt_autofree double *p = gt_xcalloc(s->n + 1, sizeof(*p));
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (gt_streq(s->row[i].family, family))
			p[n++] = aa ? s->row[i].aa.p : s->row[i].e.p;
	method(p, n, p);
	n = 0;
	for (size_t i = 0; i < s->n; i++)
		if (gt_streq(s->row[i].family, family))
			*(aa ? &s->row[i].aa_p_adj : &s->row[i].p_adj) = p[n++];
}

static const char *zero_variance(const struct session *s, const struct row *r)
{
	if (r->sd < 1e-12 && r->n_a >= 2) /* of logs: less is rounding */
		return "never varies: not a measurement";
	return NULL;
}

static double gain(const struct row *r)
{
	return r->m->direction == BN_HIGHER ? r->e.est : -r->e.est;
}

static bool not_worse(const struct row *r)
{
	return !r->unfit && bn_not_worse(r->m->direction == BN_HIGHER, r->e, r->margin.same);
}

/* How many more pairs would answer, with 80 % power, if the effect is what it seems to be. */
static void needs_more(struct session *s, struct row *r)
{
	double size = fabs(r->e.est), gap = size >= r->margin.change ? size : r->margin.same - size;
	bool guard =
		r->m->role == BN_GUARD && gain(r) > -r->margin.same; /* of it the question is whether it is not worse */
	double sd = isfinite(r->sd) ? r->sd : bn_sd(r->aa_pairs.d, r->aa_pairs.n);
	size_t needed;

	if (!(sd > 0) || !isfinite(r->e.est))
		return;
	if (guard)
		gap = r->margin.same + gain(r);
	else if (size >= r->margin.same && size < r->margin.change) {
		snprintf(r->reason, sizeof(r->reason),
			 "A/A noise is %.1f %%", pct(r->margin.change));
		return;
	}
	needed = bn_pairs_needed(sd, gap, s->alpha);
	r->more = needed > r->n_a ? needed - r->n_a : 1;
	if (needed >= BN_PAIRS_MAX)
		snprintf(r->reason, sizeof(r->reason), "too noisy to tell"); /* more than any session has */
	else if (s->paired && isfinite(s->data->block_s))
		snprintf(r->reason, sizeof(r->reason), "%zu more pair%s (%.0f min)", r->more,
			 r->more == 1 ? "" : "s", ceil((double)r->more * s->data->block_s / 60));
	else
		snprintf(r->reason, sizeof(r->reason), "%zu more %s%s", r->more, s->paired ? "pair" : "launch",
			 r->more == 1 ? "" : s->paired ? "s" : "es");
}

static void set_reason(struct row *r, const char *text)
{
	snprintf(r->reason, sizeof(r->reason), "%s", text);
}

static void judge_guard(const struct session *s, struct row *r)
{
	r->open =
		r->m->role == BN_GUARD && s->kind != BN_KIND_AA && !s->hold && r->verdict != BN_WORSE && !not_worse(r);
	r->seems_worse = r->open && gain(r) <= -r->margin.same;
}

static void decide(struct session *s, struct row *r)
{
	const struct bn_pairs *p = &r->pairs;
	const char *zero = zero_variance(s, r);
	double own = log1p(r->m->margin);

	if (!s->paired) /* without drift under control neither a change nor its absence can be told below that */
		own = fmax(own, log1p(s->limits->floor));
	r->margin = bn_margins(own, r->aa);
	r->verdict = BN_INCONCLUSIVE;
	r->breaks = s->kind == BN_KIND_AB && p->failed_b > p->failed_a;
	r->unfit = s->hold || r->n_a == 0 || r->n_b == 0 || p->failed_a != p->failed_b || zero;
	if (r->n_a == 0 || r->n_b == 0)
		set_reason(r, p->failed_b > p->failed_a ? "no numbers with the change"
							: "no numbers from one arm or both");
	else if (p->failed_a != p->failed_b)
		snprintf(r->reason, sizeof(r->reason),
			 "launches without a number: %zu before, %zu after", p->failed_a, p->failed_b);
	else if (zero)
		set_reason(r, zero);
	else
		r->verdict = bn_decide(r->m->direction == BN_HIGHER, r->e, r->p_adj, s->alpha, r->margin);
	if (r->verdict == BN_INCONCLUSIVE && !r->reason[0])
		needs_more(s, r);
	if (r->verdict == BN_INCONCLUSIVE && !r->reason[0])
		set_reason(r, "too few launches for an interval");
	if (s->hold) {
		r->verdict = BN_INCONCLUSIVE;
		if (r->n_a && r->n_b)
			set_reason(r, s->hold);
	}
	judge_guard(s, r);
	/* Of two files drift may be the whole of it, so nothing is called real. */
	r->tiny = s->paired && r->verdict == BN_SAME && (r->e.lo > 0 || r->e.hi < 0);
}

/* Identical arms that differ by something that matters: nothing this session says can be trusted. */
static bool aa_gate(struct session *s, const struct row **ret)
{
	for (size_t i = 0; i < s->n; i++) {
		struct row *r = &s->row[i];
		const struct bn_effect *e = s->kind == BN_KIND_AA ? &r->e : &r->aa;
		double p = s->kind == BN_KIND_AA ? r->p_adj : r->aa_p_adj;

		if (r->m->role != BN_PRIMARY || e->n < BN_AA_PAIRS_MIN || !(p <= ALPHA))
			continue;
		r->aa_bad = fabs(e->est) >= log1p(r->m->margin);
		if (r->aa_bad) {
			*ret = r;
			return true;
		}
	}
	return false;
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

static json_t *row_json(const struct session *s, const struct row *r)
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
	json_object_set_new(j, "not_worse", json_boolean(not_worse(r)));
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

/* What each arm gave, whatever the design. */
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

static void warn_about_runs(const struct bn_data *d)
{
	for (size_t w = 0; w < d->n_metrics; w++) {
		const char *id = d->metrics[w].workload, *why = NULL;
		size_t failed = 0, unsteady = 0, all = 0;
		bool seen = false;

		for (size_t k = 0; k < w; k++)
			seen |= strcmp(d->metrics[k].workload, id) == 0;
		for (size_t i = 0; i < d->n_runs && !seen; i++) {
			if (strcmp(d->runs[i].workload, id) != 0)
				continue;
			all++;
			failed += d->runs[i].failure != NULL;
			why = d->runs[i].failure ? d->runs[i].failure : why;
			unsteady += d->runs[i].unsteady;
		}
		if (failed)
			bn_warning(d->warnings, "failed", "its pairs are incomplete",
				   "%s failed in %zu of %zu launches: %s", id, failed, all, why);
		if (unsteady > all / 2)
			bn_warning(d->warnings, "unsteady", "its steps had not reached a steady pace; nothing was cut",
				   "%s: a trend within the launch in %zu of %zu launches", id, unsteady, all);
	}
}

static const char *first_wrong(const struct bn_data *d, const char **ret_workload)
{
	for (size_t i = 0; i < d->n_runs; i++)
		if (d->runs[i].wrong) {
			*ret_workload = d->runs[i].workload;
			return d->runs[i].wrong;
		}
	return NULL;
}

struct outcome {
	const char *verdict;
	int code;
	char why[256];
};

static bool outranks(enum bn_verdict a, enum bn_verdict b)
{
	static const int rank[] = { [BN_SAME] = 0, [BN_BETTER] = 1, [BN_INCONCLUSIVE] = 2, [BN_WORSE] = 3 };

	return rank[a] > rank[b];
}

/* The worst that a primary metric says, and what the guards leave of it. *ret_guard: the one that leaves it open, or
 * NULL. */
static enum bn_verdict overall(const struct session *s, size_t *ret_primaries, const struct row **ret_guard)
{
	enum bn_verdict v = BN_SAME;

	*ret_guard = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct row *r = &s->row[i];

		if (r->m->role == BN_GUARD && r->verdict == BN_WORSE)
			v = BN_WORSE;
		if (r->m->role != BN_PRIMARY)
			continue;
		++*ret_primaries;
		if (outranks(r->verdict, v))
			v = r->verdict;
	}
	for (size_t i = 0; i < s->n && !*ret_guard; i++)
		if (s->row[i].seems_worse && outranks(BN_INCONCLUSIVE, v)) {
			*ret_guard = &s->row[i];
			v = BN_INCONCLUSIVE;
		}
	return *ret_primaries ? v : v == BN_WORSE ? v : BN_INCONCLUSIVE;
}

static bool guards_shown(const struct session *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->row[i].open)
			return false;
	return true;
}

/* A change that costs launches their numbers is no gain, whatever the others say: a gate must see it. */
static void broken_by_change(const struct session *s, struct outcome *o)
{
	const struct row *r = NULL;
	size_t failed = 0, all = 0;
	const char *why = NULL;

	for (size_t i = 0; i < s->n && !r; i++)
		if (s->row[i].breaks && s->row[i].m->role == BN_PRIMARY)
			r = &s->row[i];
	for (size_t i = 0; r && i < s->data->n_runs; i++) {
		const struct bn_run *run = &s->data->runs[i];

		if (run->kind != BN_KIND_AB || run->arm != BN_ARM_B || !gt_streq(run->workload, r->m->workload))
			continue;
		all++;
		failed += !isfinite(run->value[r->index]);
		why = run->failure ? run->failure : why;
	}
	if (!r)
		return;
	o->code = BN_EXIT_INCONCLUSIVE;
	snprintf(o->why, sizeof(o->why), "%s has no number in %zu of %zu launches with the change%s%s", r->m->id, failed, all,
		 why ? ": " : "", why ? why : "");
}

/* Number of launches that gave at least one number. */
static size_t usable_launches(const struct bn_data *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_runs; i++)
		for (size_t m = 0; m < d->n_metrics && !d->runs[i].failure; m++)
			if (isfinite(d->runs[i].value[m])) {
				n++;
				break;
			}
	return n;
}

static struct outcome conclude(struct session *s)
{
	const struct bn_data *d = s->data;
	const char *workload = NULL, *wrong = first_wrong(d, &workload);
	const char *invalid = gt_json_get_str(json_object_get(d->doc, "run"), "invalid", NULL);
	const struct row *bad = NULL;
	struct outcome o = { .verdict = "invalid", .code = BN_EXIT_INVALID };
	size_t primaries = 0, succeeded = 0;

	for (size_t i = 0; i < d->n_runs; i++)
		succeeded += !d->runs[i].failure;
	if (wrong) {
		o = (struct outcome){ .verdict = "wrong", .code = BN_EXIT_WRONG };
		snprintf(o.why, sizeof(o.why), "%s: %s", workload, wrong);
	} else if (invalid) {
		snprintf(o.why, sizeof(o.why), "%s", invalid);
	} else if (aa_gate(s, &bad)) {
		double est = s->kind == BN_KIND_AA ? bad->e.est : bad->aa.est;

		snprintf(o.why, sizeof(o.why),
			 "identical arms differ by %+.1f %% in %s: nothing measured here can be trusted", pct(est),
			 bad->m->id);
	} else if (!succeeded) {
		snprintf(o.why, sizeof(o.why), "no launch succeeded");
	} else if (!usable_launches(d)) {
		snprintf(o.why, sizeof(o.why), "no launch gave a valid number");
	} else if (d->interrupted) {
		snprintf(o.why, sizeof(o.why), "interrupted: what was measured is kept, no verdict is given");
	} else if (gt_streq(d->design, "single")) {
		o = (struct outcome){ .verdict = "measured" };
	} else {
		const struct row *guard = NULL;
		enum bn_verdict v = overall(s, &primaries, &guard);

		o = (struct outcome){ .verdict = bn_verdict_name[v] };
		if (guard)
			snprintf(o.why, sizeof(o.why),
				 "%s seems worse, by %.1f %% where %.1f %% is allowed: more %s would tell",
				 guard->m->id, 100 * fabs(expm1(guard->e.est)), pct(guard->margin.same),
				 s->paired ? "pairs" : "launches");
		if (v == BN_WORSE)
			o.code = BN_EXIT_REGRESSION;
		else if (s->limits->require_conclusive && (v == BN_INCONCLUSIVE || !guards_shown(s)))
			o.code = BN_EXIT_INCONCLUSIVE;
		if (v == BN_INCONCLUSIVE)
			broken_by_change(s, &o);
	}
	return o;
}

static void control_alarm(const struct session *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct row *r = &s->row[i];

		if (r->m->role == BN_CONTROL && r->e.p <= .01 && fabs(r->e.est) >= r->margin.change)
			bn_warning(s->data->warnings, "control",
				   "something besides the settings changed between the arms",
				   "%s, which no setting should move, moved by %+.1f %%", r->m->id, pct(r->e.est));
	}
}

/* Guards of which nobody can say that they are not worse; needed: pairs or launches that would show it, if they are as
 * they seem. */
static json_t *open_guards(const struct session *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n; i++) {
		const struct row *r = &s->row[i];
		double room = r->margin.same + gain(r);

		if (!r->open)
			continue;
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:I}", "metric", r->m->id, "direction",
					bn_direction_name[r->m->direction], "change_pct", gt_json_real(pct(r->e.est)),
					"ci_low_pct", gt_json_real(isfinite(r->e.lo) ? pct(r->e.lo) : NAN),
					"ci_high_pct", gt_json_real(isfinite(r->e.hi) ? pct(r->e.hi) : NAN),
					"margin_pct", gt_json_real(pct(r->margin.same)), "seems_worse", r->seems_worse,
					"needed", (json_int_t)bn_pairs_needed(r->sd, room, s->alpha)));
	}
	return list;
}

static void write_doc(struct session *s, const struct outcome *o)
{
	json_t *doc = s->data->doc, *list = json_array();
	json_int_t count[4] = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		json_array_append_new(list, row_json(s, &s->row[i]));
		if (s->row[i].m->role != BN_CONTROL)
			count[s->row[i].verdict]++;
	}
	json_object_set_new(doc, "levels", levels_json(s->data));
	json_object_set_new(doc, "comparisons", list);
	json_object_set_new(doc, "guards_open", open_guards(s));
	json_object_set_new(doc, "outliers", bn_outliers(s->data));
	json_object_set_new(doc, "pairs_done", json_integer((json_int_t)s->data->blocks_done));
	json_object_set(doc, "warnings", s->data->warnings);
	json_object_set_new(doc, "summary", json_pack("{s:I, s:I, s:I, s:I}", "better", count[BN_BETTER], "worse",
						      count[BN_WORSE], "same", count[BN_SAME], "inconclusive",
						      count[BN_INCONCLUSIVE]));
	json_object_set_new(doc, "verdict", json_string(o->verdict));
	json_object_set_new(doc, "verdict_reason", o->why[0] ? gt_json_str(o->why) : json_null());
	json_object_set_new(doc, "exit_code", json_integer(o->code));
}

int bn_analyze(struct bn_data *data, const struct bn_limits *limits)
{
	struct session s = { .data = data, .limits = limits };
	struct outcome o;

	s.n = gt_streq(data->design, "single") ? 0 : data->n_metrics;
	s.row = gt_xcalloc(s.n + 1, sizeof(*s.row));
	stand(&s);
	for (size_t i = 0; i < s.n; i++)
		s.primaries += data->metrics[i].role == BN_PRIMARY;
	for (size_t i = 0; i < s.n; i++) {
		struct row *r = &s.row[i];

		*r = (struct row){ .m = &data->metrics[i], .index = i, .aa = { .est = NAN, .p = NAN } };
		r->family = r->m->role == BN_PRIMARY ? "holm" : r->m->role == BN_CONTROL ? "control" : "bh";
		if (s.paired)
			measure_paired(&s, r);
		else
			measure_unpaired(&s, r);
		r->p_adj = r->e.p;
		r->aa_p_adj = r->aa.p;
	}
	adjust(&s, "holm", bn_holm, false);
	adjust(&s, "holm", bn_holm, true);
	adjust(&s, "bh", bn_benjamini_hochberg, false);
	for (size_t i = 0; i < s.n; i++)
		decide(&s, &s.row[i]);
	warn_about_runs(data);
	control_alarm(&s);
	o = conclude(&s);
	write_doc(&s, &o);
	for (size_t i = 0; i < s.n; i++) {
		bn_pairs_clear(&s.row[i].pairs);
		bn_pairs_clear(&s.row[i].aa_pairs);
	}
	free(s.row);
	return o.code;
}
