/* SPDX-License-Identifier: Apache-2.0 */
/* Multiple tests, and the number of pairs that a comparison needs. */
#include <math.h>
#include "bench/stats/stats.h"
#include "lib/util.h"

#define Z80 .841621233572914 /* normal quantile */

struct ranked {
	double p;
	size_t i;
};

/* Sorts NaN last: a test that could not be computed is the least significant one. */
static int cmp_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (isnan(x->p) || isnan(y->p))
		return isnan(x->p) - isnan(y->p);
	return (x->p > y->p) - (x->p < y->p);
}

static struct ranked *rank(const double *p, size_t n)
{
	struct ranked *r = gt_xcalloc(n ? n : 1, sizeof(*r));

	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked){ p[i], i };
	qsort(r, n, sizeof(*r), cmp_ranked);
	return r;
}

void bn_holm(const double *p, size_t n, double *adj)
{
	gt_autofree struct ranked *r = rank(p, n);
	double running = 0;

	for (size_t k = 0; k < n; k++) {
		running = fmax(running, fmin(1, r[k].p * (double)(n - k)));
		adj[r[k].i] = isnan(r[k].p) ? NAN : running;
	}
}

void bn_benjamini_hochberg(const double *p, size_t n, double *adj)
{
	gt_autofree struct ranked *r = rank(p, n);
	double running = 1;

	for (size_t k = n; k-- > 0;) {
		if (isnan(r[k].p)) {
			adj[r[k].i] = NAN;
			continue;
		}
		running = fmin(running, r[k].p * (double)n / (double)(k + 1));
		adj[r[k].i] = running;
	}
}

double bn_mde(double s, size_t n, double alpha)
{
	double df = (double)n - 1;

	if (n < 2 || !(s >= 0) || isinf(s))
		return NAN;
	if (n < 60 && ldexp(2, -(int)n) > alpha) /* that few pairs cannot be significant at alpha */
		return INFINITY;
	return (bn_t_quantile(1 - alpha / 2, df) + bn_t_quantile(.8, df)) * s / sqrt((double)n);
}

double bn_sd_upper(double s, size_t n)
{
	double df = (double)n - 1, v;

	if (n < 2)
		return NAN;
	v = 2 / (9 * df); /* Wilson and Hilferty: the cube root of chi-squared over df is nearly normal */
	return s / pow(1 - v - Z80 * sqrt(v), 1.5);
}

size_t bn_pairs_needed(double s, double effect, double alpha)
{
	size_t lo = 2, hi = BN_PAIRS_MAX;

	if (!(s > 0) || !(effect > 0) || !(bn_mde(s, hi, alpha) <= effect))
		return BN_PAIRS_MAX;
	while (lo < hi) { /* bn_mde falls with n */
		size_t mid = lo + (hi - lo) / 2;

		if (bn_mde(s, mid, alpha) <= effect)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}
