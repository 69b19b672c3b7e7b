/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_STATS_H
#define BN_STATS_H
/*
 * The statistics of a before/after comparison. Pure: numbers in, numbers out. Nothing here fails loudly: what cannot be
 * computed (too few values, a value that is not finite) is NaN or an infinite interval, and whoever reads it must then
 * say "inconclusive", never "changed".
 *
 * The unit is the launch. Differences are natural logarithms of ratios, so that 2x and 1/2x weigh the same.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Quantile by linear interpolation between order statistics (type 7, as R and NumPy do by default). */
double bn_quantile(const double *x, size_t n, double q);
/* k-th smallest, from 0, of v[0..n-1], n > k; reorders v: nothing before place k is larger, nothing behind it smaller. */
double bn_select(double *v, size_t n, size_t k);
double bn_median(const double *x, size_t n);
double bn_mean(const double *x, size_t n);
double bn_sd(const double *x, size_t n); /* with n-1 */
/* Median of all Walsh averages (x[i]+x[j])/2, i <= j; NaN beyond 2000 values. */
double bn_hodges_lehmann(const double *x, size_t n);

/* Student's t with df > 0 degrees of freedom. */
double bn_t_cdf(double t, double df);
double bn_t_quantile(double p, double df);

/* Is there a trend in time? Two-sided p of the Mann-Kendall test with ties (normal approximation; 1 for n < 8) and the
 * Theil-Sen slope per step, as a share of the median. */
struct bn_trend {
	double p, slope;
};
struct bn_trend bn_trend(const double *x, size_t n);

/* Samples at the start that are unlike the second half: the first two in a row that lie within its range (2 % to 98 %,
 * widened by its interquartile range) end the warm-up. At most half; 0 below 8 samples. */
size_t bn_warmup(const double *x, size_t n);

struct bn_effect {
	double est, lo, hi; /* interval at 1 - alpha; infinite where n cannot carry that level */
	double p;	    /* two-sided, for "no effect" */
	size_t n;
	bool exact;	    /* all sign patterns were enumerated */
};

/* Sign-flip randomisation test of d[0..n-1] and the interval that comes from inverting it. Exact for n <= 20: by
 * Hartigan's theorem the bounds are order statistics of the means of all non-empty subsets. Beyond that random
 * subsets from the seed, 99999 of them up to 200 pairs and at least 9999. It holds whatever the drift, because the
 * order inside each pair was tossed by us. */
#define BN_FLIP_EXACT_MAX	20
struct bn_effect bn_signflip(const double *d, size_t n, double alpha, uint64_t seed);
/* Student's interval of the mean of d. */
struct bn_effect bn_t_effect(const double *d, size_t n, double alpha);
/* Welch's interval of mean(b) - mean(a). */
struct bn_effect bn_welch(const double *a, size_t na, const double *b, size_t nb, double alpha);

/* Adjusted p-values; adj may be p. NaN stays NaN and counts as a test that was made. */
void bn_holm(const double *p, size_t n, double *adj);
void bn_benjamini_hochberg(const double *p, size_t n, double *adj);

/* Smallest log effect that n pairs of standard deviation s show with 80 % power at two-sided alpha; infinite where the
 * sign-flip test of n pairs cannot reach alpha at all. */
double bn_mde(double s, size_t n, double alpha);
/* What the standard deviation of few values may really be: its upper confidence bound at 80 % (Kieser and Wassmer 1996), for a
 * plan that rests on a pilot. With three values it is twice what they show. */
double bn_sd_upper(double s, size_t n);
/* Pairs needed to show an effect of that size with 80 % power; at most BN_PAIRS_MAX. */
#define BN_PAIRS_MAX	9999
size_t bn_pairs_needed(double s, double effect, double alpha);

/* Median and scale (1.4826 times the median absolute deviation) of x; NaN without values. */
struct bn_robust {
	double center, scale;
};
struct bn_robust bn_robust(const double *x, size_t n);
/* How many scales from the median one of n values of a normal population must lie to be called an outlier, when `tests`
 * values are looked at and a false alarm among all of them may have probability alpha. The scale is itself an estimate of
 * few values: Student's t, with the degrees of freedom that a median absolute deviation is worth. */
double bn_outlier_critical(size_t n, size_t tests, double alpha);

/* Change points of a series, by E-divisive (Matteson and James 2014) with alpha 1: the place that maximises the energy
 * distance between both sides, kept when a permutation test within its segment says so, then both sides again. Segments
 * have at least BN_SEGMENT_MIN values. Fills at (ascending; first index of the new segment) with at most max; returns how
 * many. Values must be finite, n at most BN_HISTORY_MAX. */
#define BN_SEGMENT_MIN 4
#define BN_HISTORY_MAX 1000
size_t bn_change_points(const double *x, size_t n, double alpha, uint64_t seed, size_t *at, size_t max);

/* Planned looks and the alpha each may spend (sum .05). */
struct bn_interim {
	size_t pairs;
	double alpha;
};
extern const struct bn_interim bn_interims[];
extern const size_t bn_n_interims;
#endif
