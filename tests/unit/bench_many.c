/* SPDX-License-Identifier: Apache-2.0 */
/* Fleets and histories with known outliers and changes. */
#include <math.h>
#include "bench/stats/rng.h"
#include "bench/stats/stats.h"
#include "lib/util.h"
#include "tests/unit/check_bench.h"

#define TRIALS 400

START_TEST(robust_scale_is_that_of_normal_values_and_ignores_one_far_out)
{
	double x[2001];
	struct bn_robust r;
	struct bn_rng rng;

	bn_rng_seed(&rng, 3);
	for (size_t i = 0; i < GT_ARRAY_SIZE(x); i++)
		x[i] = 5 + 2 * bn_rng_normal(&rng);
	x[7] = 1e9;
	r = bn_robust(x, GT_ARRAY_SIZE(x));
	ck_assert_double_eq_tol(r.center, 5, .15);
	ck_assert_double_eq_tol(r.scale, 2, .15);
	ck_assert(isnan(bn_robust(x, 0).center));
	ck_assert(isinf(bn_outlier_critical(3, 3, .05)));
}
END_TEST

/* Returns the share of fleets of n equal hosts, each with two metrics, in which any host counts as an outlier. */
static double alarms(size_t n, uint64_t seed)
{
	struct bn_rng rng;
	size_t bad = 0;

	bn_rng_seed(&rng, seed);
	for (size_t trial = 0; trial < TRIALS; trial++) {
		double critical = bn_outlier_critical(n, 2 * n, .05);
		bool any = false;

		for (int metric = 0; metric < 2; metric++) {
			double x[64];
			struct bn_robust r;

			for (size_t i = 0; i < n; i++)
				x[i] = bn_rng_normal(&rng);
			r = bn_robust(x, n);
			for (size_t i = 0; i < n; i++)
				any |= fabs(x[i] - r.center) > critical * r.scale;
		}
		bad += any;
	}
	return (double)bad / TRIALS;
}

START_TEST(equal_hosts_are_rarely_called_outliers)
{
	static const size_t sizes[] = { 4, 8, 16, 64 };

	ck_assert_double_le(alarms(sizes[_i], 11 + (uint64_t)_i), .07);
}
END_TEST

START_TEST(a_host_far_out_is_found_among_few)
{
	double x[8] = { 1, 1.01, .99, 1.005, .995, 1.002, .998, 1.5 };
	struct bn_robust r = bn_robust(x, 8);

	ck_assert_double_gt(fabs(x[7] - r.center) / r.scale, bn_outlier_critical(8, 8, .05));
	ck_assert_double_lt(fabs(x[1] - r.center) / r.scale, bn_outlier_critical(8, 8, .05));
}
END_TEST

/* Generates n nights whose level changes at night `at`. Every tenth night is an unrelated outlier. */
static void nights(double *x, size_t n, size_t at, double shift, struct bn_rng *rng)
{
	for (size_t i = 0; i < n; i++)
		x[i] = bn_rng_normal(rng) + (i >= at ? shift : 0) + (bn_rng_uniform(rng) < .1 ? 4 * bn_rng_uniform(rng) : 0);
}

START_TEST(quiet_histories_have_no_change)
{
	size_t bad = 0, at[8];
	struct bn_rng rng;

	bn_rng_seed(&rng, 5);
	for (size_t trial = 0; trial < TRIALS; trial++) {
		double x[30];

		nights(x, 30, 30, 0, &rng);
		bad += bn_change_points(x, 30, .05, trial, at, 8) > 0;
	}
	ck_assert_double_le((double)bad / TRIALS, .07);
}
END_TEST

START_TEST(the_night_of_a_change_is_found)
{
	size_t found = 0, at[8];
	struct bn_rng rng;

	bn_rng_seed(&rng, 6);
	for (size_t trial = 0; trial < 100; trial++) {
		double x[40];
		size_t n;

		nights(x, 40, 23, 4, &rng);
		n = bn_change_points(x, 40, .05, trial, at, 8);
		for (size_t i = 0; i < n; i++)
			if (at[i] >= 21 && at[i] <= 25) {
				found++;
				break;
			}
	}
	ck_assert_uint_ge(found, 90);
}
END_TEST

START_TEST(a_change_and_its_reversal_are_two_changes)
{
	double x[36];
	struct bn_rng rng;
	size_t at[8];

	bn_rng_seed(&rng, 7);
	for (size_t i = 0; i < 36; i++)
		x[i] = .2 * bn_rng_normal(&rng) + (i >= 12 && i < 24 ? 5 : 0);
	ck_assert_uint_eq(bn_change_points(x, 36, .05, 1, at, 8), 2);
	ck_assert_uint_eq(at[0], 12);
	ck_assert_uint_eq(at[1], 24);
	ck_assert_uint_eq(bn_change_points(x, 36, .05, 1, at, 1), 1);
	ck_assert_uint_eq(bn_change_points(x, 7, .05, 1, at, 8), 0);
}
END_TEST

TCase *bench_many_case(void)
{
	TCase *t = tcase_create("many");

	tcase_add_test(t, robust_scale_is_that_of_normal_values_and_ignores_one_far_out);
	tcase_add_loop_test(t, equal_hosts_are_rarely_called_outliers, 0, 4);
	tcase_add_test(t, a_host_far_out_is_found_among_few);
	tcase_add_test(t, quiet_histories_have_no_change);
	tcase_add_test(t, the_night_of_a_change_is_found);
	tcase_add_test(t, a_change_and_its_reversal_are_two_changes);
	return t;
}
