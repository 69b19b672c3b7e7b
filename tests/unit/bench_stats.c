/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected values come from SciPy 1.17 (t, quantiles, permutation_test, ttest, Welch, false_discovery_control,
 * theilslopes). Expected intervals come from bisecting the brute-force sign-flip test.
 */
#include <math.h>
#include <string.h>
#include "bench/result/analyze.h"
#include "bench/stats/rng.h"
#include "bench/stats/stats.h"
#include "tests/unit/check_bench.h"

static const double d9[] = { .012, -.004, .021, .007, .015, -.001, .018, .009, .003 };

START_TEST(quantiles_interpolate_as_numpy_does)
{
	const double x[] = { 3.1, 2.7, 9.4, 4.4, 5.0, 1.2, 8.8 };
	const struct {
		double q, want;
	} t[] = { { 0, 1.2 }, { .01, 1.29 }, { .25, 2.9 }, { .5, 4.4 }, { .9, 9.04 }, { .99, 9.364 }, { 1, 9.4 } };

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ck_assert_double_eq_tol(bn_quantile(x, 7, t[i].q), t[i].want, 1e-12);
	ck_assert(isnan(bn_quantile(x, 0, .5)));
	ck_assert(isnan(bn_quantile((double[]){ 1, NAN }, 2, .5)));
}
END_TEST

START_TEST(selection_equals_sorting)
{
	struct bn_rng rng;

	bn_rng_seed(&rng, 11);
	for (size_t n = 1; n <= 40; n++)
		for (size_t k = 0; k < n; k++) {
			double v[40], got;
			size_t below = 0, equal = 0;

			for (size_t i = 0; i < n; i++)
				v[i] = (double)bn_rng_below(&rng, 1 + n / 2); /* values with ties */
			got = bn_select(v, n, k);
			for (size_t i = 0; i < n; i++) {
				below += v[i] < got;
				equal += v[i] == got;
				ck_assert(i < k ? v[i] <= got : v[i] >= got);
			}
			ck_assert(below <= k && k < below + equal);
		}
}
END_TEST

/* Iterates over subsets, then over values. */
static double flip_p_one_by_one(const double *d, size_t n, size_t resamples, uint64_t seed)
{
	size_t below = 0, above = 0;
	struct bn_rng rng;

	bn_rng_seed(&rng, seed);
	for (size_t r = 0; r < resamples; r++) {
		double sum = 0;
		uint64_t bits = 0;

		for (size_t i = 0; i < n; i++, bits >>= 1) {
			if (i % 64 == 0)
				bits = bn_rng_u64(&rng);
			sum += bits & 1 ? d[i] : 0;
		}
		below += sum <= 0;
		above += sum >= 0;
	}
	return 2 * (1 + (double)(below < above ? below : above)) / ((double)resamples + 1);
}

START_TEST(resampled_sign_flip_is_the_same_in_lanes_as_one_by_one)
{
	static const size_t sizes[] = { 21, 63, 64, 65, 128, 200 };
	struct bn_rng rng;

	bn_rng_seed(&rng, 3);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		double d[200];

		for (size_t i = 0; i < sizes[s]; i++)
			d[i] = .1 + bn_rng_normal(&rng);
		ck_assert_double_eq(bn_signflip(d, sizes[s], .05, 9).p, flip_p_one_by_one(d, sizes[s], 99999, 9));
	}
}
END_TEST

START_TEST(students_t_has_the_published_quantiles)
{
	ck_assert_double_eq_tol(bn_t_quantile(.975, 9), 2.262157162798205, 1e-9);
	ck_assert_double_eq_tol(bn_t_quantile(.995, 3.7), 4.8692522532278275, 1e-9);
	ck_assert_double_eq_tol(bn_t_quantile(.8, 1), 1.3763819204711738, 1e-9);
	ck_assert_double_eq_tol(bn_t_quantile(.025, 9), -2.262157162798205, 1e-9);
	ck_assert_double_eq_tol(bn_t_cdf(-1.7, 11), 0.05859820932343865, 1e-12);
	ck_assert_double_eq_tol(bn_t_cdf(0, 5), .5, 1e-15);
	ck_assert(isnan(bn_t_quantile(0, 5)));
}
END_TEST

START_TEST(sign_flip_gives_the_brute_force_p_and_interval)
{
	struct bn_effect e = bn_signflip(d9, 9, .05, 1);

	ck_assert(e.exact);
	ck_assert_double_eq_tol(e.p, 0.0234375, 1e-15);
	ck_assert_double_eq_tol(e.lo, 0.002, 1e-12);
	ck_assert_double_eq_tol(e.hi, 0.01575, 1e-12);
	e = bn_signflip(d9, 9, .01, 1);
	ck_assert_double_eq_tol(e.lo, -0.0025, 1e-12);
	ck_assert_double_eq_tol(e.hi, 0.0195, 1e-12);
}
END_TEST

START_TEST(sign_flip_has_the_smallest_p_that_n_allows)
{
	const double up[] = { 1, 2, 3, 4, 5, 6 };

	ck_assert_double_eq_tol(bn_signflip(up, 6, .05, 1).p, 2.0 / 64, 1e-15);
	ck_assert_double_eq_tol(bn_signflip(up, 6, .05, 1).lo, 1, 1e-15); /* k = 1: the extremes */
	ck_assert(isinf(bn_signflip(up, 5, .05, 1).lo)); /* five pairs cannot support 95 % */
	ck_assert(isinf(bn_signflip(up, 1, .05, 1).hi));
}
END_TEST

START_TEST(interval_and_p_agree_about_zero)
{
	struct bn_rng rng;

	bn_rng_seed(&rng, 3);
	for (int trial = 0; trial < 300; trial++) {
		double d[10];
		struct bn_effect e;

		for (int i = 0; i < 10; i++)
			d[i] = .8 + bn_rng_normal(&rng);
		e = bn_signflip(d, 10, .05, 1);
		ck_assert_int_eq(e.p <= .05, e.lo > 0 || e.hi < 0);
		ck_assert(e.lo <= e.est && e.est <= e.hi);
	}
}
END_TEST

START_TEST(sampled_sign_flip_is_close_to_the_exact_one)
{
	double d[24], shifted[48];
	struct bn_effect big, t;

	for (int i = 0; i < 24; i++)
		d[i] = .01 * sin(i * 1.7) + .004;
	for (int i = 0; i < 48; i++)
		shifted[i] = d[i % 24];
	big = bn_signflip(shifted, 48, .05, 7);
	t = bn_t_effect(shifted, 48, .05);
	ck_assert(!big.exact);
	ck_assert_double_eq_tol(big.lo, t.lo, .1 * fabs(t.hi - t.lo));
	ck_assert_double_eq_tol(big.hi, t.hi, .1 * fabs(t.hi - t.lo));
	ck_assert_double_eq(big.p, bn_signflip(shifted, 48, .05, 7).p); /* the same seed gives the same result */
}
END_TEST

START_TEST(t_and_welch_agree_with_scipy)
{
	const double a[] = { .1, .12, .09, .11, .13 }, b[] = { .14, .15, .11, .16, .13, .17 };
	struct bn_effect e = bn_t_effect(d9, 9, .05);

	ck_assert_double_eq_tol(e.p, 0.013913090575815404, 1e-10);
	ck_assert_double_eq_tol(e.lo, 0.0023501884617306776, 1e-10);
	ck_assert_double_eq_tol(e.hi, 0.0154275893160471, 1e-10);
	e = bn_welch(a, 5, b, 6, .05);
	ck_assert_double_eq_tol(e.p, 0.016449098984119143, 1e-10);
	ck_assert_double_eq_tol(e.lo, 0.007717523626709865, 1e-10);
	ck_assert_double_eq_tol(e.hi, 0.05894914303995678, 1e-10);
	ck_assert_double_eq_tol(bn_hodges_lehmann(d9, 9), .009, 1e-12);
}
END_TEST

START_TEST(many_tests_are_paid_for)
{
	const double p[] = { .01, .04, .03, .005, .9 }, bh[] = { .025, .05, .05, .025, .9 };
	const double holm[] = { .04, .09, .09, .025, .9 };
	double adj[5];

	bn_benjamini_hochberg(p, 5, adj);
	for (int i = 0; i < 5; i++)
		ck_assert_double_eq_tol(adj[i], bh[i], 1e-12);
	bn_holm(p, 5, adj);
	for (int i = 0; i < 5; i++)
		ck_assert_double_eq_tol(adj[i], holm[i], 1e-12);
	bn_holm((double[]){ .01, NAN }, 2, adj);
	ck_assert_double_eq_tol(adj[0], .02, 1e-12); /* a failed test still counts as a test */
	ck_assert(isnan(adj[1]));
}
END_TEST

START_TEST(planning_numbers_are_those_of_the_t_test)
{
	double spent = 0;

	ck_assert_double_eq_tol(bn_mde(.01, 9, .05), 0.010649645509903953, 1e-9);
	ck_assert_uint_eq(bn_pairs_needed(.01, .008, .05), 15);
	ck_assert_uint_eq(bn_pairs_needed(.01, 0, .05), BN_PAIRS_MAX);
	ck_assert_uint_eq(bn_pairs_needed(.0001, .5, .05), 6); /* fewer could never reach .05 */
	ck_assert(isnan(bn_mde(.01, 1, .05)));
	for (size_t i = 0; i < bn_n_interims; i++) {
		spent += bn_interims[i].alpha;
		ck_assert(ldexp(2, -(int)bn_interims[i].pairs) < bn_interims[i].alpha);
	}
	ck_assert_double_le(spent, .05 + 1e-12);
}
END_TEST

START_TEST(a_trend_within_a_launch_is_detected)
{
	const double y[] = { 1, 3, 2, 5, 4, 6, 7, 9, 8, 10, 12, 11 }, flat[] = { 5, 5, 5, 5, 5, 5, 5, 5, 5 };

	ck_assert_double_eq_tol(bn_trend(y, 12).p, 9.281898133684614e-05, 1e-10);
	ck_assert_double_eq_tol(bn_trend(y, 12).slope, 0.15384615384615385, 1e-12);
	ck_assert_double_eq(bn_trend(flat, 9).p, 1);
}
END_TEST

START_TEST(a_slow_start_is_detected_exactly)
{
	double x[24];

	for (int i = 0; i < 24; i++)
		x[i] = (i < 5 ? 3 : 1) * (1 + .01 * sin(i * 2.3));
	ck_assert_uint_eq(bn_warmup(x, 24), 5);
	ck_assert_uint_eq(bn_warmup(x + 5, 19), 0);
	ck_assert_uint_eq(bn_warmup(x, 7), 0); /* too few to decide */
	for (int i = 0; i < 24; i++)
		x[i] = 24 - i; /* never steady: warm-up ends at the first sample within the widened range of the second half */
	ck_assert_uint_eq(bn_warmup(x, 24), 7);
	ck_assert_uint_eq(bn_warmup((double[]){ 9, 9, 9, 9, 1, 1, 1, NAN }, 8), 0);
}
END_TEST

static const struct {
	const char *what;
	bool higher;
	double est, lo, hi, p;
	enum bn_verdict want;
} rule[] = {
	{ "faster by 2 %", false, -.02, -.03, -.015, .004, BN_BETTER },
	{ "slower by 2 %", false, .02, .015, .03, .004, BN_WORSE },
	{ "more bandwidth", true, .02, .015, .03, .004, BN_BETTER },
	{ "less bandwidth", true, -.02, -.03, -.015, .004, BN_WORSE },
	{ "inside the margin", false, .001, -.004, .006, .7, BN_SAME },
	{ "real but tiny", false, .004, .002, .006, .004, BN_SAME },
	{ "wide", false, .004, -.02, .03, .7, BN_INCONCLUSIVE },
	{ "excludes zero, point below margin, bound beyond it", false, -.008, -.014, -.002, .01, BN_INCONCLUSIVE },
	{ "interval says so, adjusted p does not", false, -.02, -.03, -.015, .06, BN_INCONCLUSIVE },
	{ "no p", false, -.02, -.03, -.015, NAN, BN_INCONCLUSIVE },
	{ "no interval", false, -.02, -INFINITY, INFINITY, .004, BN_INCONCLUSIVE },
	{ "no estimate", false, NAN, NAN, NAN, .004, BN_INCONCLUSIVE },
};

START_TEST(the_rule_gives_four_verdicts)
{
	struct bn_effect e = { .est = rule[_i].est, .lo = rule[_i].lo, .hi = rule[_i].hi };

	ck_assert_msg(bn_decide(rule[_i].higher, e, rule[_i].p, .05, (struct bn_margins){.01, .01}) == rule[_i].want,
		      "%s", rule[_i].what);
}
END_TEST

/*
 * The difference of identical arms raises the threshold only for the claim of a change, because "same" and "not worse"
 * are claims too.
 */
START_TEST(noise_makes_every_claim_harder_and_none_easier)
{
	const struct bn_effect aa = {.est = -.02, .n = 6}, few = {.est = -.02, .n = 2};
	struct bn_margins m = bn_margins(.01, aa);
	struct bn_effect small = {.est = -.015, .lo = -.018, .hi = -.012},
			 large = {.est = -.03, .lo = -.035, .hi = -.025}, near = {.est = .013, .lo = .008, .hi = .018},
			 none = {.est = 0, .lo = -.008, .hi = .008};

	ck_assert(fabs(m.change - .02) < 1e-12 && fabs(m.same - .01) < 1e-12);
	ck_assert(bn_margins(.01, few).change == .01);
	ck_assert_int_eq(bn_decide(false, large, .001, .05, m), BN_BETTER);
	ck_assert_int_eq(bn_decide(false, small, .001, .05, m),
			 BN_INCONCLUSIVE); /* no larger than noise, but not within 1 % either */
	ck_assert_int_eq(bn_decide(false, near, .001, .05, m), BN_INCONCLUSIVE);
	ck_assert_int_eq(bn_decide(false, none, .9, .05, m), BN_SAME);
	ck_assert(!bn_not_worse(false, near, m.same));
}
END_TEST

/* The A/A gate can fail for any number of pairs and metrics. */
START_TEST(the_aa_check_can_always_fail)
{
	double d[12];

	for (size_t i = 0; i < GT_ARRAY_SIZE(d); i++)
		d[i] = .05 + .001 * sin((double)i * 2.3);
	for (size_t n = 3; n <= GT_ARRAY_SIZE(d); n++)
		for (size_t tests = 1; tests <= 8; tests++)
			ck_assert_msg(bn_aa_effect(d, n, tests, 1).p * (double)tests <= .05, "%zu pairs of %zu metrics", n, tests);
	ck_assert(bn_aa_effect(d, 6, 1, 1).exact && !bn_aa_effect(d, 6, 2, 1).exact);
	ck_assert(!(bn_aa_effect(d, 2, 1, 1).p <= .05)); /* two values give no estimate of the variation */
}
END_TEST

/* scipy: sqrt(df / chi2.ppf(.2, df)) */
START_TEST(a_pilot_of_few_is_trusted_less)
{
	static const struct {
		size_t n;
		double factor;
	} known[] = {{3, 2.1170}, {6, 1.4608}, {12, 1.2546}, {24, 1.1568}, {100, 1.0667}};

	for (size_t i = 0; i < GT_ARRAY_SIZE(known); i++)
		ck_assert_msg(fabs(bn_sd_upper(.01, known[i].n) / .01 / known[i].factor - 1) < .01, "%zu", known[i].n);
	ck_assert(isnan(bn_sd_upper(.01, 1)) && bn_sd_upper(0, 3) == 0);
}
END_TEST

TCase *bench_stats_case(void)
{
	TCase *tc = tcase_create("statistics");

	tcase_add_test(tc, quantiles_interpolate_as_numpy_does);
	tcase_add_test(tc, selection_equals_sorting);
	tcase_add_test(tc, resampled_sign_flip_is_the_same_in_lanes_as_one_by_one);
	tcase_add_test(tc, students_t_has_the_published_quantiles);
	tcase_add_test(tc, sign_flip_gives_the_brute_force_p_and_interval);
	tcase_add_test(tc, sign_flip_has_the_smallest_p_that_n_allows);
	tcase_add_test(tc, interval_and_p_agree_about_zero);
	tcase_add_test(tc, the_aa_check_can_always_fail);
	tcase_add_test(tc, a_pilot_of_few_is_trusted_less);
	tcase_add_test(tc, sampled_sign_flip_is_close_to_the_exact_one);
	tcase_add_test(tc, t_and_welch_agree_with_scipy);
	tcase_add_test(tc, many_tests_are_paid_for);
	tcase_add_test(tc, planning_numbers_are_those_of_the_t_test);
	tcase_add_test(tc, a_trend_within_a_launch_is_detected);
	tcase_add_test(tc, a_slow_start_is_detected_exactly);
	tcase_add_test(tc, noise_makes_every_claim_harder_and_none_easier);
	tcase_add_loop_test(tc, the_rule_gives_four_verdicts, 0, sizeof(rule) / sizeof(rule[0]));
	return tc;
}

/* ---- error rates of the design on hosts with drift; seeded, so the result is always the same ---- */

struct host {
	const char *name;
	double drift, walk; /* over the session; per launch */
};
static const struct host hosts[] = { { "calm", 0, 0 }, { "mild drift", .005, .001 }, { "strong drift", .02, .0057 } };

/* Log-ratios of n pairs on a host with drift: random order per pair, 0.4 % between launches, spikes in 2 %. */
static void simulate(struct bn_rng *rng, const struct host *h, double effect, size_t n, double *d)
{
	double walk = 0;

	for (size_t i = 0; i < n; i++) {
		bool b_first = bn_rng_u64(rng) >> 63;
		double y[2];

		for (int k = 0; k < 2; k++) {
			walk += h->walk * bn_rng_normal(rng);
			y[k] = walk + h->drift * (double)(2 * i + (size_t)k) / (double)(2 * n) + .004 * bn_rng_normal(rng);
			if (bn_rng_uniform(rng) < .02)
				y[k] += .05 * bn_rng_uniform(rng);
		}
		d[i] = (b_first ? y[0] - y[1] : y[1] - y[0]) + effect;
	}
}

#define TRIALS	2000

START_TEST(false_alarms_and_coverage_hold_under_drift)
{
	const struct host *h = &hosts[_i];
	int alarms = 0, covered = 0;
	struct bn_rng rng;

	bn_rng_seed(&rng, 20 + (uint64_t)_i);
	for (int t = 0; t < TRIALS; t++) {
		double d[12];
		struct bn_effect e;

		simulate(&rng, h, 0, 12, d);
		alarms += bn_signflip(d, 12, .05, 1).p <= .05;
		simulate(&rng, h, -.01, 12, d);
		e = bn_signflip(d, 12, .05, 1);
		covered += e.lo <= -.01 && -.01 <= e.hi;
	}
	ck_assert_msg(alarms <= .07 * TRIALS, "%s: %d false alarms in %d", h->name, alarms, TRIALS);
	ck_assert_msg(covered >= .93 * TRIALS, "%s: %d of %d intervals cover", h->name, covered, TRIALS);
}
END_TEST

/* The complete rule with interim analyses: frequency of better or worse. */
static int verdicts(struct bn_rng *rng, const struct host *h, double effect, int trials)
{
	int changed = 0;

	for (int t = 0; t < trials; t++) {
		double d[24];

		simulate(rng, h, effect, 24, d);
		for (size_t look = 0; look < bn_n_interims; look++) {
			double alpha = bn_interims[look].alpha;
			struct bn_effect e = bn_signflip(d, bn_interims[look].pairs, alpha, 1);
			enum bn_verdict v =
				bn_decide(false, e, e.p, alpha, (struct bn_margins){log1p(.005), log1p(.005)});

			if (v == BN_BETTER || v == BN_WORSE) {
				changed++;
				break;
			}
		}
	}
	return changed;
}

START_TEST(interim_analyses_keep_alpha)
{
	struct bn_rng rng;
	int n;

	bn_rng_seed(&rng, 40 + (uint64_t)_i);
	n = verdicts(&rng, &hosts[_i], 0, 200);
	ck_assert_msg(n <= 14, "%s: %d false verdicts in 200", hosts[_i].name, n);
	n = verdicts(&rng, &hosts[_i], -.02, 60);
	ck_assert_msg(n >= 57, "%s: a 2 %% gain found in %d of 60", hosts[_i].name, n);
}
END_TEST

TCase *bench_simulation_case(void)
{
	TCase *tc = tcase_create("simulation");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, false_alarms_and_coverage_hold_under_drift, 0, 3);
	tcase_add_loop_test(tc, interim_analyses_keep_alpha, 0, 3);
	return tc;
}
