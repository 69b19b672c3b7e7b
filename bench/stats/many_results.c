/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of many results: outlier hosts of a fleet and change points of a history. */
#include <math.h>
#include <string.h>
#include "bench/stats/rng.h"
#include "bench/stats/stats.h"
#include "lib/util.h"

#define MAD_TO_SD	1.4826
#define MAD_EFFICIENCY	.37 /* efficiency of the median absolute deviation relative to the standard deviation, normal values */

struct bn_robust bn_robust(const double *x, size_t n)
{
	struct bn_robust r = { NAN, NAN };
	gt_autofree double *off = gt_xcalloc(n + 1, sizeof(*off));

	if (!n)
		return r;
	r.center = bn_median(x, n);
	for (size_t i = 0; i < n; i++)
		off[i] = fabs(x[i] - r.center);
	r.scale = MAD_TO_SD * bn_median(off, n);
	return r;
}

double bn_outlier_critical(size_t n, size_t tests, double alpha)
{
	double df = fmax(2, MAD_EFFICIENCY * ((double)n - 1));

	if (n < 4 || !tests)
		return INFINITY;
	return bn_t_quantile(1 - alpha / (2 * (double)tests), df);
}

/* ---- change points ---- */

/* Finds the best position to cut x[0 … n-1]. Returns the energy distance between both sides. */
static double best_cut(const double *x, size_t n, size_t *ret_at)
{
	double left = 0, right = 0, across = 0, best = -1;

	for (size_t i = 0; i < n; i++) /* all values are first on the right side of the cut */
		for (size_t k = i + 1; k < n; k++)
			right += fabs(x[i] - x[k]);
	for (size_t cut = 1; cut < n; cut++) {
		double to_left = 0, to_right = 0, nl = (double)cut, nr = (double)(n - cut), q;

		for (size_t i = 0; i + 1 < cut; i++)
			to_left += fabs(x[i] - x[cut - 1]);
		for (size_t i = cut; i < n; i++)
			to_right += fabs(x[i] - x[cut - 1]);
		left += to_left;
		right -= to_right;
		across += to_right - to_left;
		if (cut < BN_SEGMENT_MIN || n - cut < BN_SEGMENT_MIN)
			continue;
		q = 2 * across / (nl * nr) - 2 * left / (nl * fmax(1, nl - 1)) - 2 * right / (nr * fmax(1, nr - 1));
		q *= nl * nr / (nl + nr);
		if (q > best) {
			best = q;
			*ret_at = cut;
		}
	}
	return best;
}

static void shuffle(double *x, size_t n, struct bn_rng *rng)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)bn_rng_below(rng, i);
		double t = x[i - 1];

		x[i - 1] = x[k];
		x[k] = t;
	}
}

/* Permutation test: returns true if fewer than alpha of the shuffled segments have a cut as good as `found`. Stops
 * early when that cannot be reached any more. */
static bool cut_is_real(const double *x, size_t n, double found, double alpha, struct bn_rng *rng)
{
	size_t rounds = (size_t)fmin(4999, ceil(20 / alpha) - 1), allowed, better = 0;
	gt_autofree double *copy = gt_xcalloc(n, sizeof(*copy));
	size_t unused;

	allowed = (size_t)floor(alpha * (double)(rounds + 1)) - 1;
	memcpy(copy, x, n * sizeof(*copy));
	for (size_t i = 0; i < rounds && better <= allowed; i++) {
		shuffle(copy, n, rng);
		better += best_cut(copy, n, &unused) >= found;
	}
	return better <= allowed;
}

size_t bn_change_points(const double *x, size_t n, double alpha, uint64_t seed, size_t *at, size_t max)
{
	size_t cut = 0, k, from = 0, found = 0;
	struct bn_rng rng;
	double q;

	bn_rng_seed(&rng, seed);
	/* The change points found so far bound the segments. A segment with a change point is cut and searched again. */
	while (found < max && n <= BN_HISTORY_MAX) {
		size_t to;

		for (k = 0; k < found && at[k] <= from; k++)
			;
		to = k < found ? at[k] : n;
		q = to - from >= 2 * BN_SEGMENT_MIN ? best_cut(x + from, to - from, &cut) : -1;
		if (q > 0 && cut_is_real(x + from, to - from, q, alpha, &rng)) {
			memmove(at + k + 1, at + k, (found - k) * sizeof(*at));
			at[k] = from + cut;
			found++;
		} else if (to < n) {
			from = to;
		} else {
			break;
		}
	}
	return found;
}
