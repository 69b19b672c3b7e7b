/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sign-flip test by subset means. Let S(t) be the sum of (d[i]-t). Flipping the signs of the differences in a set N
 * changes S(t) by minus twice the sum over N. A flipped sum therefore reaches S(t) exactly when mean(d over N) <= t.
 *
 * The one-sided p value is p(t) = (1 + #{N: mean <= t}) / 2^n. The interval that is not rejected at alpha runs from the
 * k-th smallest to the k-th largest subset mean, k = floor(alpha/2 * 2^n).
 */
#include <math.h>
#include "bench/stats/rng.h"
#include "bench/stats/stats.h"
#include "lib/util.h"

#define RESAMPLES	99999
#define LANES		4 /* subset_sums() requires this value */
#define WORK_MAX	20000000 /* additions; thousands of pairs need fewer resamples than dozens */

/* Returns the means of all 2^n - 1 non-empty subsets. */
static double *all_means(const double *d, size_t n, size_t *ret_m)
{
	size_t m = (size_t)1 << n;
	double *v = gt_xcalloc(m, sizeof(*v));

	for (size_t mask = 1; mask < m; mask++)
		v[mask] = v[mask & (mask - 1)] + d[__builtin_ctzll(mask)];
	for (size_t mask = 1; mask < m; mask++)
		v[mask] /= __builtin_popcountll(mask);
	v[0] = v[m - 1]; /* the empty set has no mean, so the last mean takes its place */
	*ret_m = m - 1;
	return v;
}

typedef uint64_t bits_t __attribute__((vector_size(LANES * sizeof(uint64_t))));
typedef double sums_t __attribute__((vector_size(LANES * sizeof(double))));

/* Computes the sums over LANES subsets at once; `in` has one bit for each value. Each lane adds in its own order, so
 * vectorisation changes no sum. A value outside the subset is masked to zero, because a branch would be mispredicted
 * half of the time. */
static void subset_sums(const double *d, size_t n, const uint64_t *in, size_t words, double ret[LANES])
{
	sums_t sum = { 0 };

	for (size_t w = 0; w < words; w++) {
		bits_t bits = { in[w], in[words + w], in[2 * words + w], in[3 * words + w] };

		for (size_t i = 64 * w; i < GT_MIN(n, 64 * (w + 1)); i++) {
			sums_t all = { d[i], d[i], d[i], d[i] };

			sum += (sums_t)((bits_t)all & -(bits & 1));
			bits >>= 1;
		}
	}
	for (size_t l = 0; l < LANES; l++)
		ret[l] = sum[l];
}

static double *random_means(const double *d, size_t n, uint64_t seed, size_t *ret_m)
{
	size_t resamples = GT_MIN((size_t)RESAMPLES, GT_MAX((size_t)9999, WORK_MAX / n)), words = (n + 63) / 64;
	gt_autofree uint64_t *in = gt_xcalloc(LANES * words, sizeof(*in));
	double *v = gt_xcalloc(resamples, sizeof(*v)), mean = bn_mean(d, n);
	uint64_t tail = n % 64 ? (UINT64_C(1) << n % 64) - 1 : UINT64_MAX; /* the bits of the last word that correspond to
									    * values */
	struct bn_rng rng;

	bn_rng_seed(&rng, seed);
	for (size_t r = 0; r < resamples; r += LANES) {
		size_t members[LANES] = { 0 };
		double sum[LANES];

		for (size_t i = 0; i < LANES * words; i++) {
			in[i] = bn_rng_u64(&rng) & (i % words == words - 1 ? tail : UINT64_MAX);
			members[i / words] += (size_t)__builtin_popcountll(in[i]);
		}
		subset_sums(d, n, in, words, sum);
		for (size_t l = 0; l < LANES && r + l < resamples; l++)
			v[r + l] = members[l] ? sum[l] / (double)members[l] : mean;
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
	eps = 1e-12 * scale; /* sums of the same numbers in a different order are ties */
	for (size_t i = 0; i < m; i++) {
		below += v[i] <= eps;
		above += v[i] >= -eps;
	}
	e.p = fmin(1, 2 * (1 + (double)GT_MIN(below, above)) / ((double)m + 1));
	k = (size_t)(alpha / 2 * ((double)m + 1) + 1e-9);
	if (k == 0)
		return e;
	e.lo = bn_select(v, m, k - 1);
	e.hi = bn_select(v, m, m - k);
	return e;
}
