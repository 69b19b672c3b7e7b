/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/stats/verdict.h"
#include "bench/stats/rng.h"
#include "bench/stats/simulate.h"

#define STEPS	     16
#define STEP_SD	     .01
#define STEP_AR	     .9 /* the steps of one launch are correlated, which is why the launch is the unit */
#define PAIRS	     12 /* pairs of a session without interim analyses */
#define PAIRS_MOST   24
#define AA_PAIRS     6 /* A/A pairs of a session, before its other pairs */
#define MARGIN	     .01
#define PRIMARIES    3
#define EXPLORES     10

const struct bn_sim_host bn_sim_hosts[] = {
	{"calm", "launches differ by 0.4 %", .004, 0, 0, 0, 0, false},
	{"drifting", "2 % slower at the end, with a random walk of 0.57 % per launch", .004, .02, .0057, 0, 0, false},
	{"bursty", "one launch in ten is disturbed, by 8 % on average", .004, .005, .001, .1, .08, false},
	{"noisy", "launches differ by 4.5 %, far more than the margin", .045, 0, 0, 0, 0, true},
};
const size_t bn_n_sim_hosts = GT_ARRAY_SIZE(bn_sim_hosts);

/* The state of a host during a session. */
struct sim {
	const struct bn_sim_host *h;
	struct bn_rng rng;
	double walk;
	size_t launch, launches;
};

static void begin(struct sim *s, const struct bn_sim_host *h, uint64_t seed, size_t trial, size_t launches)
{
	uint64_t key[2] = { seed, trial };

	*s = (struct sim){ .h = h, .launches = launches };
	bn_rng_seed(&s->rng, gt_hash64(key, sizeof(key), gt_hash64(h->name, strlen(h->name), 7)));
}

/* Simulates the step times of one launch. */
static void launch_steps(struct sim *s, double effect, double steps[STEPS])
{
	double level = effect + s->h->launch_sd * bn_rng_normal(&s->rng), ar = bn_rng_normal(&s->rng);

	s->walk += s->h->walk_sd * bn_rng_normal(&s->rng);
	level += s->walk + s->h->drift * (double)s->launch++ / (double)s->launches;
	if (bn_rng_uniform(&s->rng) < s->h->burst_p)
		level -= s->h->burst * log1p(-bn_rng_uniform(&s->rng));
	for (int i = 0; i < STEPS; i++) {
		ar = STEP_AR * ar + sqrt(1 - STEP_AR * STEP_AR) * bn_rng_normal(&s->rng);
		steps[i] = exp(level + STEP_SD * .2 * ar);
	}
}

static double launch(struct sim *s, double effect)
{
	double steps[STEPS];

	launch_steps(s, effect, steps);
	return log(bn_median(steps, STEPS));
}

/* Simulates n pairs in randomised order, as log-ratios. */
static void pairs(struct sim *s, double effect, size_t n, double *d)
{
	for (size_t i = 0; i < n; i++) {
		bool b_first = bn_rng_u64(&s->rng) >> 63;
		double first = launch(s, b_first ? effect : 0), second = launch(s, b_first ? 0 : effect);

		d[i] = b_first ? first - second : second - first;
	}
}

/* ---- one session each: does the event occur? ---- */

struct promise {
	double effect;
	bool broken;
	double margin;
};
typedef bool (*event_fn)(struct sim *s, const struct promise *p, uint64_t seed);

/* Returns true if any interim analysis claims a change. */
static bool claims_at_interim(struct sim *s, const struct promise *p, uint64_t seed)
{
	double d[PAIRS_MOST];

	pairs(s, p->effect, PAIRS_MOST, d);
	for (size_t k = 0; k < bn_n_interims; k++)
		if (bn_signflip(d, bn_interims[k].pairs, bn_interims[k].alpha, seed).p <= bn_interims[k].alpha)
			return true;
	return false;
}

/* Computes the margins as a session does, from its own A/A pairs. Returns whether the A/A pairs allow a verdict. */
static bool margins(struct sim *s, double own, uint64_t seed, struct bn_margins *ret)
{
	double d[AA_PAIRS];
	struct bn_effect aa;

	pairs(s, 0, AA_PAIRS, d);
	aa = bn_aa_effect(d, AA_PAIRS, 1, seed);
	*ret = bn_margins(own, aa);
	return !(aa.p <= .05 && fabs(aa.est) >= own);
}

/* Returns the verdict of a whole session: A/A pairs, then the first interim analysis that decides. */
static enum bn_verdict session_verdict(struct sim *s, double effect, uint64_t seed)
{
	double d[PAIRS_MOST];
	struct bn_margins m;

	if (!margins(s, log1p(MARGIN), seed, &m))
		return BN_INCONCLUSIVE;
	pairs(s, effect, PAIRS_MOST, d);
	for (size_t k = 0; k < bn_n_interims; k++) {
		struct bn_effect e = bn_signflip(d, bn_interims[k].pairs, bn_interims[k].alpha, seed);
		enum bn_verdict v = bn_decide(false, e, e.p, bn_interims[k].alpha, m);

		if (v != BN_INCONCLUSIVE)
			return v;
	}
	return BN_INCONCLUSIVE;
}

static bool concludes_better(struct sim *s, const struct promise *p, uint64_t seed)
{
	return session_verdict(s, p->effect, seed) == BN_BETTER;
}

static bool concludes_same(struct sim *s, const struct promise *p, uint64_t seed)
{
	return session_verdict(s, p->effect, seed) == BN_SAME;
}

static bool claims(struct sim *s, const struct promise *p, uint64_t seed)
{
	double d[PAIRS];

	pairs(s, p->effect, PAIRS, d);
	if (p->broken) { /* deliberately wrong: treats each step as an independent measurement */
		double a[PAIRS * STEPS], b[PAIRS * STEPS];

		for (size_t i = 0; i < PAIRS; i++) {
			launch_steps(s, 0, a + i * STEPS);
			launch_steps(s, p->effect, b + i * STEPS);
		}
		return bn_welch(a, PAIRS * STEPS, b, PAIRS * STEPS, .05).p <= .05;
	}
	return bn_signflip(d, PAIRS, .05, seed).p <= .05;
}

static bool covers(struct sim *s, const struct promise *p, uint64_t seed)
{
	double d[PAIRS];
	struct bn_effect e;

	pairs(s, p->effect, PAIRS, d);
	e = bn_signflip(d, PAIRS, .05, seed);
	return e.lo <= p->effect && p->effect <= e.hi;
}

/* Returns true if a guard that is worse by its margin passes as "not worse". */
static bool guard_passes(struct sim *s, const struct promise *p, uint64_t seed)
{
	double d[PAIRS];
	struct bn_margins m;

	if (!margins(s, p->margin, seed, &m))
		return false;
	pairs(s, p->margin, PAIRS, d);
	return bn_not_worse(false, bn_signflip(d, PAIRS, .05, seed), m.same);
}

static bool aa_fails(struct sim *s, const struct promise *p, uint64_t seed)
{
	double d[AA_PAIRS];

	pairs(s, 0, AA_PAIRS, d);
	return bn_aa_effect(d, AA_PAIRS, 1, seed).p <= .05;
}

/* Does the same for three primary metrics. The first one may be biased. */
static bool aa_fails_of_three(struct sim *s, const struct promise *p, uint64_t seed)
{
	double d[AA_PAIRS], pv[PRIMARIES];
	bool any = false;

	for (int m = 0; m < PRIMARIES; m++) {
		pairs(s, m ? 0 : p->effect, AA_PAIRS, d);
		pv[m] = bn_aa_effect(d, AA_PAIRS, PRIMARIES, seed).p;
	}
	bn_holm(pv, PRIMARIES, pv);
	for (int m = 0; m < PRIMARIES; m++)
		any |= pv[m] <= .05;
	return any;
}

/* Returns true if Holm's method claims a change of any of three unchanged primary metrics. */
static bool holm_claims(struct sim *s, const struct promise *p, uint64_t seed)
{
	double d[PAIRS], pv[PRIMARIES];
	bool any = false;

	for (int m = 0; m < PRIMARIES; m++) {
		pairs(s, 0, PAIRS, d);
		pv[m] = bn_signflip(d, PAIRS, .05, seed).p;
	}
	bn_holm(pv, PRIMARIES, pv);
	for (int m = 0; m < PRIMARIES; m++)
		any |= pv[m] <= .05;
	return any;
}

/* Draws the false discovery share of ten metrics, two of which really change. A rate of sessions would bound the share
 * only roughly. The function therefore returns true with a probability equal to the share. */
static bool bh_false_discovery(struct sim *s, const struct promise *p, uint64_t seed)
{
	double d[PAIRS], pv[EXPLORES];
	int found = 0, false_claims = 0;

	for (int m = 0; m < EXPLORES; m++) {
		pairs(s, m < 2 ? .03 : 0, PAIRS, d);
		pv[m] = bn_signflip(d, PAIRS, .05, seed).p;
	}
	bn_benjamini_hochberg(pv, EXPLORES, pv);
	for (int m = 0; m < EXPLORES; m++) {
		found += pv[m] <= .05;
		false_claims += m >= 2 && pv[m] <= .05;
	}
	return found && bn_rng_uniform(&s->rng) * found < false_claims;
}

/* Simulates the usual practice: first all launches before the change, then all launches after it. */
static bool sequential_claims(struct sim *s, const struct promise *p, uint64_t seed)
{
	double a[PAIRS], b[PAIRS];

	for (size_t i = 0; i < PAIRS; i++)
		a[i] = launch(s, 0);
	for (size_t i = 0; i < PAIRS; i++)
		b[i] = launch(s, 0);
	return bn_welch(a, PAIRS, b, PAIRS, .05).p <= .05;
}

static double rate(const struct bn_sim_host *h, event_fn event, const struct promise *p, uint64_t seed, size_t trials)
{
	size_t hits = 0;

#pragma omp parallel for reduction(+ : hits) schedule(dynamic, 4)
	for (size_t t = 0; t < trials; t++) {
		struct sim s;

		begin(&s, h, seed, t, 2 * (PAIRS_MOST + AA_PAIRS));
		hits += event(&s, p, seed + t);
	}
	return (double)hits / (double)trials;
}

/* Returns the standard deviation of a pair on this host, from a long A/A session. */
static double pair_sd(const struct bn_sim_host *h, uint64_t seed)
{
	double d[400];
	struct sim s;

	begin(&s, h, seed, SIZE_MAX, GT_ARRAY_SIZE(d) * 2);
	pairs(&s, 0, GT_ARRAY_SIZE(d), d);
	return bn_sd(d, GT_ARRAY_SIZE(d));
}

/* The smallest bias that the t-test of the A/A pairs of three metrics must find in one of them. */
static double aa_bias(double sd)
{
	double df = AA_PAIRS - 1;

	return (bn_t_quantile(1 - .05 / PRIMARIES / 2, df) + bn_t_quantile(.8, df)) * sd / sqrt(AA_PAIRS);
}

/* Formats the text. "%.2f %%" becomes the size of the effect. */
static void promise_text(char *out, size_t size, const char *text, double effect)
{
	const char *at = strstr(text, "%.2f %%");

	if (!at)
		snprintf(out, size, "%s", text);
	else
		snprintf(out, size, "%.*s%.2f %%%s", (int)(at - text), text, -100 * expm1(effect), at + strlen("%.2f %%"));
}

size_t bn_simulate(uint64_t seed, size_t trials, bool broken, struct bn_sim_result *out)
{
	const struct {
		const char *text;
		event_fn event;
		double effect; /* +INFINITY: the promised MDE; -INFINITY: the promised A/A bias of three primaries */
		enum bn_sim_sense sense;
		double bound;
		bool margins; /* whether the property depends on the margins */
	} promises[] = {
		{"false alarms, 12 pairs at 5 %", claims, 0, BN_AT_MOST, .07, false},
		{"false alarms at any interim analysis", claims_at_interim, 0, BN_AT_MOST, .07, false},
		{"intervals that contain no change", covers, 0, BN_AT_LEAST, .93, false},
		{"intervals that contain a change of -3 %", covers, -.03, BN_AT_LEAST, .93, false},
		{"a change of %.2f %% is found, promised 80 %", claims, INFINITY, BN_AT_LEAST, .73, false},
		{"\"same\" of a change as large as the margin", concludes_same, -MARGIN, BN_AT_MOST, .07, true},
		{"\"not worse\" of a guard worse by its margin", guard_passes, 0, BN_AT_MOST, .07, true},
		{"\"better\" where nothing changed", concludes_better, 0, BN_AT_MOST, .07, true},
		{"unbiased sessions that A/A pairs call biased", aa_fails, 0, BN_AT_MOST, .07, false},
		{"unbiased sessions of three primaries called biased", aa_fails_of_three, 0, BN_AT_MOST, .07, false},
		{"a bias of %.2f %% in one of three is found, promised 80 %", aa_fails_of_three, -INFINITY, BN_AT_LEAST, .73,
		 false},
		{"a false claim among three primaries (Holm)", holm_claims, 0, BN_AT_MOST, .07, false},
		{"false among the claims of ten metrics (BH)", bh_false_discovery, 0, BN_AT_MOST, .07, false},
		{"for comparison: all before, then all after", sequential_claims, 0, BN_AT_MOST, NAN, false},
	};
	size_t n = 0;

	for (size_t h = 0; h < bn_n_sim_hosts; h++) {
		double sd = pair_sd(&bn_sim_hosts[h], seed), mde = bn_mde(sd, PAIRS, .05), bias = aa_bias(sd);

		for (size_t i = 0; i < GT_ARRAY_SIZE(promises) && n < BN_SIM_RESULTS_MAX; i++) {
			double effect = !isinf(promises[i].effect) ? promises[i].effect : promises[i].effect > 0 ? -mde : -bias;
			struct promise p = {effect, broken, log1p(.02)};
			struct bn_sim_result *r = &out[n];

			if (bn_sim_hosts[h].margins && !promises[i].margins)
				continue;
			n++;
			*r = (struct bn_sim_result){ .host = bn_sim_hosts[h].name, .bound = promises[i].bound,
						     .sense = promises[i].sense, .trials = trials };
			promise_text(r->promise, sizeof(r->promise), promises[i].text, effect);
			r->rate = rate(&bn_sim_hosts[h], promises[i].event, &p, seed, trials);
		}
	}
	return n;
}

bool bn_sim_holds(const struct bn_sim_result *r)
{
	if (isnan(r->bound))
		return true;
	return r->sense == BN_AT_MOST ? r->rate <= r->bound : r->rate >= r->bound;
}
