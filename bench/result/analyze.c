/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/result/analyze.h"

#define ALPHA .05

const char *const bn_outcome_name[] = { [BN_OUTCOME_INCONCLUSIVE] = "inconclusive", [BN_OUTCOME_SAME] = "same",
					[BN_OUTCOME_BETTER] = "better",	      [BN_OUTCOME_WORSE] = "worse",
					[BN_OUTCOME_MEASURED] = "measured",   [BN_OUTCOME_INVALID] = "invalid",
					[BN_OUTCOME_WRONG] = "wrong" };

static double pct(double log_ratio)
{
	return 100 * expm1(log_ratio);
}

/* Determines what the session as a whole allows: the alpha that applies, or the reason why no verdict may be given. */
static void set_alpha(struct bn_analysis *s)
{
	const struct bn_data *d = s->data;

	s->paired = d->design != BN_DESIGN_UNPAIRED && d->design != BN_DESIGN_SINGLE;
	s->kind = d->design == BN_DESIGN_AA ? BN_KIND_AA : s->paired ? BN_KIND_AB : BN_KIND_SINGLE;
	s->alpha = ALPHA;
	if (!s->paired)
		return;
	if (d->clock_broken)
		s->withheld = "the clock ran backwards";
	else
		s->withheld = d->interrupted ? "interrupted before a planned interim analysis" : "not at a planned "
					       "interim analysis";
	for (size_t i = 0; i < d->n_interims; i++)
		if (d->interims[i].pairs == d->blocks_done) {
			s->alpha = d->interims[i].alpha;
			if (!d->clock_broken)
				s->withheld = NULL;
		}
}

static void measure_paired(struct bn_analysis *s, struct bn_comparison *r)
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

static void measure_unpaired(struct bn_analysis *s, struct bn_comparison *r)
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

/* Adjusts p over the rows of one family. */
static void adjust(struct bn_analysis *s, const char *family, void (*method)(const double *, size_t, double *), bool aa)
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

static const char *zero_variance(const struct bn_analysis *s, const struct bn_comparison *r)
{
	if (r->sd < 1e-12 && r->n_a >= 2) /* a smaller deviation of logarithms is a rounding error */
		return "no variance: not a measurement";
	return NULL;
}

static double gain(const struct bn_comparison *r)
{
	return r->m->direction == BN_HIGHER ? r->e.est : -r->e.est;
}

bool bn_comparison_not_worse(const struct bn_comparison *r)
{
	return !r->unfit && bn_not_worse(r->m->direction == BN_HIGHER, r->e, r->margin.same);
}

/* Computes the number of further pairs that would decide with 80 % power, assuming the observed effect. */
static void further_pairs(struct bn_analysis *s, struct bn_comparison *r)
{
	double size = fabs(r->e.est), gap = size >= r->margin.change ? size : r->margin.same - size;
	bool guard =
		r->m->role == BN_GUARD && gain(r) > -r->margin.same; /* a guard must only be not worse */
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
		snprintf(r->reason, sizeof(r->reason), "too noisy to tell"); /* more pairs than any session has */
	else if (s->paired && isfinite(s->data->block_s))
		snprintf(r->reason, sizeof(r->reason), "%zu more pair%s (%.0f min)", r->more,
			 r->more == 1 ? "" : "s", ceil((double)r->more * s->data->block_s / 60));
	else
		snprintf(r->reason, sizeof(r->reason), "%zu more %s%s", r->more, s->paired ? "pair" : "launch",
			 r->more == 1 ? "" : s->paired ? "s" : "es");
}

static void set_reason(struct bn_comparison *r, const char *text)
{
	snprintf(r->reason, sizeof(r->reason), "%s", text);
}

static void judge_guard(const struct bn_analysis *s, struct bn_comparison *r)
{
	r->open = r->m->role == BN_GUARD && s->kind != BN_KIND_AA && !s->withheld && r->verdict != BN_WORSE &&
		  !bn_comparison_not_worse(r);
	r->seems_worse = r->open && gain(r) <= -r->margin.same;
}

static void decide(struct bn_analysis *s, struct bn_comparison *r)
{
	const struct bn_pairs *p = &r->pairs;
	const char *zero = zero_variance(s, r);
	double own = log1p(r->m->margin);

	if (!s->paired) /* in an unpaired comparison, smaller changes cannot be distinguished from drift */
		own = fmax(own, log1p(s->limits.floor));
	r->margin = bn_margins(own, r->aa);
	r->verdict = BN_INCONCLUSIVE;
	r->breaks = s->kind == BN_KIND_AB && p->failed_b > p->failed_a;
	r->unfit = s->withheld || r->n_a == 0 || r->n_b == 0 || p->failed_a != p->failed_b || zero;
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
		further_pairs(s, r);
	if (r->verdict == BN_INCONCLUSIVE && !r->reason[0])
		set_reason(r, "too few launches for an interval");
	if (s->withheld) {
		r->verdict = BN_INCONCLUSIVE;
		if (r->n_a && r->n_b)
			set_reason(r, s->withheld);
	}
	judge_guard(s, r);
	/* An unpaired difference may be entirely drift, so it never counts as a real effect. */
	r->tiny = s->paired && r->verdict == BN_SAME && (r->e.lo > 0 || r->e.hi < 0);
}

/* Returns true if identical arms differ by a relevant amount. No result of such a session can be trusted. */
static bool aa_gate(struct bn_analysis *s, const struct bn_comparison **ret)
{
	for (size_t i = 0; i < s->n; i++) {
		struct bn_comparison *r = &s->row[i];
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

static void warn_about_runs(const struct bn_data *d, json_t *warnings)
{
	for (size_t w = 0; w < d->n_metrics; w++) {
		const char *id = d->metrics[w].workload, *why = NULL;
		size_t failed = 0, unsteady = 0, all = 0;
		bool reported = false;

		for (size_t k = 0; k < w; k++)
			reported |= strcmp(d->metrics[k].workload, id) == 0;
		for (size_t i = 0; i < d->n_runs && !reported; i++) {
			if (strcmp(d->runs[i].workload, id) != 0)
				continue;
			all++;
			failed += d->runs[i].failure != NULL;
			why = d->runs[i].failure ? d->runs[i].failure : why;
			unsteady += d->runs[i].unsteady;
		}
		if (failed)
			bn_warning(warnings, "failed", "its pairs are incomplete",
				   "%s failed in %zu of %zu launches: %s", id, failed, all, why);
		if (unsteady > all / 2)
			bn_warning(warnings, "unsteady", "its steps had not reached a steady state; no samples were removed",
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

static bool outranks(enum bn_verdict a, enum bn_verdict b)
{
	static const int rank[] = { [BN_SAME] = 0, [BN_BETTER] = 1, [BN_INCONCLUSIVE] = 2, [BN_WORSE] = 3 };

	return rank[a] > rank[b];
}

/* Returns the worst verdict of the primary metrics, after the guards. *ret_guard: the guard that makes it inconclusive,
 * or NULL. */
static enum bn_verdict overall(const struct bn_analysis *s, size_t *ret_primaries, const struct bn_comparison **ret_guard)
{
	enum bn_verdict v = BN_SAME;

	*ret_guard = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct bn_comparison *r = &s->row[i];

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

static bool guards_shown(const struct bn_analysis *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->row[i].open)
			return false;
	return true;
}

static void set_why(struct bn_analysis *s, const char *text)
{
	snprintf(s->why, sizeof(s->why), "%s", text);
}

static const struct bn_comparison *first_broken(const struct bn_analysis *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->row[i].breaks && s->row[i].m->role == BN_PRIMARY)
			return &s->row[i];
	return NULL;
}

/*
 * Sets the exit code if the change makes launches fail. Such a change is never a gain, whatever the other metrics show.
 */
static void broken_by_change(struct bn_analysis *s)
{
	const struct bn_comparison *r = first_broken(s);
	size_t failed = 0, all = 0;
	const char *why = NULL;

	if (!r)
		return;
	for (size_t i = 0; i < s->data->n_runs; i++) {
		const struct bn_run *run = &s->data->runs[i];

		if (run->kind != BN_KIND_AB || run->arm != BN_ARM_B || !gt_streq(run->workload, r->m->workload))
			continue;
		all++;
		failed += !isfinite(run->value[r->index]);
		why = run->failure ? run->failure : why;
	}
	s->exit_code = BN_EXIT_INCONCLUSIVE;
	snprintf(s->why, sizeof(s->why), "%s has no number in %zu of %zu launches with the change%s%s", r->m->id, failed, all,
		 why ? ": " : "", why ? why : "");
}

/* Returns the number of launches with at least one valid number. */
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

/* Records an outcome without a verdict. Returns its exit code. */
static int void_outcome(struct bn_analysis *s, enum bn_outcome outcome, int code)
{
	s->outcome = outcome;
	return s->exit_code = code;
}

/* Checks whether the session as a whole can have a verdict. Returns 0 if so, otherwise the exit code. */
static int check_session(struct bn_analysis *s)
{
	const struct bn_data *d = s->data;
	const char *workload = NULL, *wrong = first_wrong(d, &workload);
	const struct bn_comparison *bad = NULL;
	size_t succeeded = 0;

	for (size_t i = 0; i < d->n_runs; i++)
		succeeded += !d->runs[i].failure;
	if (wrong) {
		snprintf(s->why, sizeof(s->why), "%s: %s", workload, wrong);
		return void_outcome(s, BN_OUTCOME_WRONG, BN_EXIT_WRONG);
	}
	if (d->invalid)
		snprintf(s->why, sizeof(s->why), "%s", d->invalid);
	else if (aa_gate(s, &bad))
		snprintf(s->why, sizeof(s->why),
			 "identical arms differ by %+.1f %% in %s: nothing measured here can be trusted",
			 pct(s->kind == BN_KIND_AA ? bad->e.est : bad->aa.est), bad->m->id);
	else if (!succeeded)
		set_why(s, "no launch succeeded");
	else if (!usable_launches(d))
		set_why(s, "no launch gave a valid number");
	else if (d->interrupted)
		set_why(s, "interrupted: the measurements are kept, without a verdict");
	else
		return 0;
	return void_outcome(s, BN_OUTCOME_INVALID, BN_EXIT_INVALID);
}

static void conclude(struct bn_analysis *s)
{
	const struct bn_comparison *guard = NULL;
	size_t primaries = 0;
	enum bn_verdict v;

	if (check_session(s))
		return;
	s->outcome = BN_OUTCOME_MEASURED;
	if (s->data->design == BN_DESIGN_SINGLE)
		return;
	v = overall(s, &primaries, &guard);
	s->outcome = (enum bn_outcome)v;
	if (guard)
		snprintf(s->why, sizeof(s->why),
			 "%s seems worse by %.1f %% (allowed %.1f %%): more %s would decide", guard->m->id,
			 100 * fabs(expm1(guard->e.est)), pct(guard->margin.same), s->paired ? "pairs" : "launches");
	if (v == BN_WORSE)
		s->exit_code = BN_EXIT_REGRESSION;
	else if (s->limits.require_conclusive && (v == BN_INCONCLUSIVE || !guards_shown(s)))
		s->exit_code = BN_EXIT_INCONCLUSIVE;
	if (v == BN_INCONCLUSIVE)
		broken_by_change(s);
}

static void control_alarm(struct bn_analysis *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct bn_comparison *r = &s->row[i];

		if (r->m->role == BN_CONTROL && r->e.p <= .01 && fabs(r->e.est) >= r->margin.change)
			bn_warning(s->warnings, "control",
				   "something besides the settings changed between the arms",
				   "%s changed by %+.1f %%, although no setting should affect it", r->m->id, pct(r->e.est));
	}
}

struct bn_analysis *bn_analysis_new(const struct bn_data *data, const struct bn_limits *limits)
{
	struct bn_analysis *s = gt_xcalloc(1, sizeof(*s));

	s->data = data;
	s->limits = *limits;
	s->warnings = json_copy(data->warnings);
	s->n = data->design == BN_DESIGN_SINGLE ? 0 : data->n_metrics;
	s->row = gt_xcalloc(s->n + 1, sizeof(*s->row));
	set_alpha(s);
	for (size_t i = 0; i < s->n; i++)
		s->primaries += data->metrics[i].role == BN_PRIMARY;
	for (size_t i = 0; i < s->n; i++) {
		struct bn_comparison *r = &s->row[i];

		*r = (struct bn_comparison){ .m = &data->metrics[i], .index = i, .aa = { .est = NAN, .p = NAN } };
		r->family = r->m->role == BN_PRIMARY ? "holm" : r->m->role == BN_CONTROL ? "control" : "bh";
		if (s->paired)
			measure_paired(s, r);
		else
			measure_unpaired(s, r);
		r->p_adj = r->e.p;
		r->aa_p_adj = r->aa.p;
	}
	adjust(s, "holm", bn_holm, false);
	adjust(s, "holm", bn_holm, true);
	adjust(s, "bh", bn_benjamini_hochberg, false);
	for (size_t i = 0; i < s->n; i++)
		decide(s, &s->row[i]);
	warn_about_runs(data, s->warnings);
	control_alarm(s);
	conclude(s);
	return s;
}

void bn_analysis_free(struct bn_analysis *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++) {
		bn_pairs_clear(&a->row[i].pairs);
		bn_pairs_clear(&a->row[i].aa_pairs);
	}
	free(a->row);
	json_decref(a->warnings);
	free(a);
}

const struct bn_comparison *bn_analysis_find(const struct bn_analysis *a, const char *metric)
{
	for (size_t i = 0; i < a->n; i++)
		if (metric ? gt_streq(a->row[i].m->id, metric) : a->row[i].m->role == BN_PRIMARY)
			return &a->row[i];
	return NULL;
}

static double finite_or_nan(double v)
{
	return isfinite(v) ? v : NAN;
}

struct bn_effect bn_comparison_effect(const struct bn_comparison *c)
{
	bool interval = c && isfinite(c->e.lo) && isfinite(c->e.hi);

	if (!c)
		return (struct bn_effect){ .est = NAN, .lo = NAN, .hi = NAN, .p = NAN };
	return (struct bn_effect){ .est = finite_or_nan(c->e.est), .lo = interval ? c->e.lo : NAN, .hi = interval ? c->e.hi : NAN,
				   .p = finite_or_nan(c->e.p), .n = GT_MIN(c->n_a, c->n_b) };
}

size_t bn_guard_needed(const struct bn_analysis *a, const struct bn_comparison *c)
{
	return bn_pairs_needed(c->sd, c->margin.same + gain(c), a->alpha);
}
