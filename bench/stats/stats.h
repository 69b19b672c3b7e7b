/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_STATS_H
#define BN_STATS_H
/*
 * The statistics of a before/after comparison. All functions are pure. They do not report errors. A result that cannot be
 * computed (too few values, a value that is not finite) is NaN or an infinite interval. The caller must then report
 * "inconclusive", never "changed".
 *
 * The unit is the launch. Differences are natural logarithms of ratios, so that 2x and 1/2x have the same weight.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Quantile by linear interpolation between order statistics (type 7, the default of R and NumPy). */
double bn_quantile(const double *x, size_t n, double q);
/*
 * Returns the k-th smallest of v[0..n-1], counted from 0; n > k. Reorders v: smaller values come before index k, larger
 * ones after it.
 */
double bn_select(double *v, size_t n, size_t k);
double bn_median(const double *x, size_t n);
double bn_mean(const double *x, size_t n);
double bn_sd(const double *x, size_t n); /* standard deviation with divisor n-1 */
/* Median of all Walsh averages (x[i]+x[j])/2, i <= j; NaN for more than 2000 values. */
double bn_hodges_lehmann(const double *x, size_t n);

/* Student's t with df > 0 degrees of freedom. */
double bn_t_cdf(double t, double df);
double bn_t_quantile(double p, double df);

/* Trend over time: two-sided p of the Mann-Kendall test with ties (normal approximation; 1 for n < 8), and the
 * Theil-Sen slope per step, as a share of the median. */
struct bn_trend {
	double p, slope;
};
struct bn_trend bn_trend(const double *x, size_t n);

/* Returns the number of warm-up samples. Warm-up ends at the first two consecutive samples within the range of the
 * second half (2 % to 98 %, widened by its interquartile range). At most half of the samples; 0 for fewer than 8. */
size_t bn_warmup(const double *x, size_t n);

struct bn_effect {
	double est, lo, hi; /* interval at 1 - alpha; infinite if n values cannot reach that level */
	double p;	    /* two-sided, of "no effect" */
	size_t n;
	bool exact;	    /* all sign patterns were enumerated */
};

/* Sign-flip randomisation test of d[0..n-1] with the interval from its inversion. Exact for n <= 20: by Hartigan's
 * theorem the bounds are order statistics of the means of all non-empty subsets. Above that it uses random subsets from
 * the seed: 99999 for up to 200 pairs, at least 9999. The test is valid under any drift, because the order within each
 * pair was randomised. */
#define BN_FLIP_EXACT_MAX	20
struct bn_effect bn_signflip(const double *d, size_t n, double alpha, uint64_t seed);
/* Student's interval of the mean of d. */
struct bn_effect bn_t_effect(const double *d, size_t n, double alpha);
/* Welch's interval of mean(b) - mean(a). */
struct bn_effect bn_welch(const double *a, size_t na, const double *b, size_t nb, double alpha);

/* Adjusted p-values; adj may be p. NaN stays NaN and counts as one of the tests. */
void bn_holm(const double *p, size_t n, double *adj);
void bn_benjamini_hochberg(const double *p, size_t n, double *adj);

/* Smallest log effect that n pairs of standard deviation s detect with 80 % power at two-sided alpha. Infinite if the
 * sign-flip test of n pairs cannot reach alpha. */
double bn_mde(double s, size_t n, double alpha);
/* Upper confidence bound (80 %) of a standard deviation estimated from n values (Kieser and Wassmer 1996), for a plan
 * based on a pilot. For three values it is twice the estimate. */
double bn_sd_upper(double s, size_t n);
/* Pairs needed to detect an effect of that size with 80 % power; at most BN_PAIRS_MAX. */
#define BN_PAIRS_MAX	9999
size_t bn_pairs_needed(double s, double effect, double alpha);

/* Median and scale (1.4826 times the median absolute deviation) of x; NaN without values. */
struct bn_robust {
	double center, scale;
};
struct bn_robust bn_robust(const double *x, size_t n);
/* Returns the distance from the median, in scales, beyond which one of n normal values is an outlier. A false alarm
 * among all `tests` values has probability alpha. The scale is itself estimated from few values. Student's t is
 * therefore used, with the degrees of freedom of a median absolute deviation. */
double bn_outlier_critical(size_t n, size_t tests, double alpha);

/* Finds the change points of a series by E-divisive (Matteson and James 2014) with alpha 1. A segment is cut where the
 * energy distance between both sides is largest, if a permutation test within the segment is significant. Both sides
 * are then searched again. Segments have at least BN_SEGMENT_MIN values. Fills at (ascending; first index of the new
 * segment) with at most max values and returns their number. Values must be finite, n at most BN_HISTORY_MAX. */
#define BN_SEGMENT_MIN 4
#define BN_HISTORY_MAX 1000
size_t bn_change_points(const double *x, size_t n, double alpha, uint64_t seed, size_t *at, size_t max);

/* Planned interim analyses and the alpha that each may spend (sum .05). */
struct bn_interim {
	size_t pairs;
	double alpha;
};
extern const struct bn_interim bn_interims[];
extern const size_t bn_n_interims;
#endif
