/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sign-flip test by subset means. Flipping the signs of the differences in a set N turns the sum S(t) of (d[i]-t)
 * into S(t) minus twice the sum over N; so a flipped sum reaches S(t) exactly when mean(d over N) <= t. Hence
 * p(t) = (1 + #{N: mean <= t}) / 2^n one-sided, and the interval that does not reject at alpha runs from the k-th
 * smallest to the k-th largest subset mean, k = floor(alpha/2 * 2^n).
 */
#include <math.h>
#include "bench/rng.h"
#include "bench/stats.h"
#include "lib/util.h"

#define RESAMPLES	99999
#define WORK_MAX	20000000 /* additions: thousands of pairs need fewer resamples than dozens */

static void swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

/* k-th smallest (from 0) of v[0..n-1], which is reordered: Hoare's selection with median of three. */
static double select_kth(double *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;

	while (hi > lo) {
		size_t i = lo, j = hi, mid = lo + (hi - lo) / 2;
		double pivot;

		if (v[mid] < v[lo])
			swap(&v[mid], &v[lo]);
		if (v[hi] < v[lo])
			swap(&v[hi], &v[lo]);
		if (v[hi] < v[mid])
			swap(&v[hi], &v[mid]);
		pivot = v[mid];
		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&v[i++], &v[j--]);
		}
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return v[k];
}

/* Means of all 2^n - 1 non-empty subsets. */
static double *all_means(const double *d, size_t n, size_t *ret_m)
{
	size_t m = (size_t)1 << n;
	double *v = gt_xcalloc(m, sizeof(*v));

	for (size_t mask = 1; mask < m; mask++)
		v[mask] = v[mask & (mask - 1)] + d[__builtin_ctzll(mask)];
	for (size_t mask = 1; mask < m; mask++)
		v[mask] /= __builtin_popcountll(mask);
	v[0] = v[m - 1]; /* the empty set has no mean: move the last one into its place */
	*ret_m = m - 1;
	return v;
}

static double *random_means(const double *d, size_t n, uint64_t seed, size_t *ret_m)
{
	size_t resamples = GT_MIN((size_t)RESAMPLES, GT_MAX((size_t)9999, WORK_MAX / n));
	double *v = gt_xcalloc(resamples, sizeof(*v));
	struct bn_rng rng;

	bn_rng_seed(&rng, seed);
	for (size_t r = 0; r < resamples; r++) {
		double sum = 0;
		uint64_t bits = 0;
		size_t members = 0;

		for (size_t i = 0; i < n; i++) {
			if (i % 64 == 0)
				bits = bn_rng_u64(&rng);
			sum += d[i] * (double)(bits & 1); /* no branch: it would be mispredicted every other time */
			members += bits & 1;
			bits >>= 1;
		}
		v[r] = members ? sum / (double)members : bn_mean(d, n);
	}
	*ret_m = resamples;
	return v;
}

struct bn_effect bn_signflip(const double *d, size_t n, double alpha, uint64_t seed)
{
	struct bn_effect e = { .est = NAN, .lo = -INFINITY, .hi = INFINITY, .p = NAN, .n = n,
			       .exact = n <= BN_FLIP_EXACT_MAX };
	gt_autofree double *v = NULL;
	size_t m, k, below = 0, above = 0;
	double scale = 0, eps;

	for (size_t i = 0; i < n; i++) {
		if (!isfinite(d[i]))
			return e;
		scale = fmax(scale, fabs(d[i]));
	}
	if (n == 0)
		return e;
	e.est = bn_mean(d, n);
	v = e.exact ? all_means(d, n, &m) : random_means(d, n, seed, &m);
	eps = 1e-12 * scale; /* sums of the same numbers in another order are ties */
	for (size_t i = 0; i < m; i++) {
		below += v[i] <= eps;
		above += v[i] >= -eps;
	}
	e.p = fmin(1, 2 * (1 + (double)GT_MIN(below, above)) / ((double)m + 1));
	k = (size_t)(alpha / 2 * ((double)m + 1) + 1e-9);
	if (k == 0)
		return e;
	e.lo = select_kth(v, m, k - 1);
	e.hi = select_kth(v, m, m - k);
	return e;
}
