/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <math.h>
#include <string.h>
#include "bench/stats/design.h"
#include "lib/util.h"

static void shuffle(size_t *v, size_t n, struct bn_rng *rng)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)bn_rng_below(rng, i), t = v[i - 1];

		v[i - 1] = v[j];
		v[j] = t;
	}
}

/* Sylvester's Hadamard matrix of order 2^k: the sign is the parity of the common bits of row and column. */
static signed char hadamard(size_t row, size_t column)
{
	return __builtin_parityll(row & column) ? -1 : 1;
}

void bn_design_make(size_t factors, size_t spare, struct bn_rng *rng, struct bn_design *ret)
{
	size_t order = 2, column[BN_DESIGN_MAX + 1], reps, order_of[BN_DESIGN_MAX + 1];

	assert(factors <= BN_DESIGN_MAX);
	while (order < factors + 1)
		order *= 2;
	reps = (factors + spare + order - 1) / order;
	*ret = (struct bn_design){factors, order * reps, gt_xcalloc(order * reps * factors + 1, 1)};
	for (size_t i = 0; i + 1 < order; i++)
		column[i] = i + 1; /* column 0 contains only ones */
	for (size_t rep = 0; rep < reps; rep++) {
		shuffle(column, order - 1, rng); /* each repetition of the matrix has other aliases */
		for (size_t i = 0; i < order; i++)
			order_of[i] = i;
		shuffle(order_of, order, rng);
		for (size_t i = 0; i < order; i++) {
			signed char turn = bn_rng_u64(rng) >> 63 ? -1 : 1;

			for (size_t k = 0; k < factors; k++)
				ret->sign[(rep * order + i) * factors + k] =
					(signed char)(turn * hadamard(order_of[i], column[k]));
		}
	}
}

void bn_design_clear(struct bn_design *d)
{
	free(d->sign);
	d->sign = NULL;
}

/* Inverts by Gauss-Jordan elimination with pivots. m is k x 2k; its left half becomes the identity. */
static bool invert(double *m, size_t k)
{
	size_t w = 2 * k;

	for (size_t c = 0; c < k; c++) {
		size_t best = c;

		for (size_t r = c + 1; r < k; r++)
			if (fabs(m[r * w + c]) > fabs(m[best * w + c]))
				best = r;
		if (fabs(m[best * w + c]) < 1e-9)
			return false;
		for (size_t j = 0; j < w && best != c; j++) {
			double t = m[c * w + j];

			m[c * w + j] = m[best * w + j];
			m[best * w + j] = t;
		}
		for (size_t j = w; j-- > 0;)
			m[c * w + j] /= m[c * w + c];
		for (size_t r = 0; r < k; r++)
			for (size_t j = w; r != c && j-- > c;)
				m[r * w + j] -= m[r * w + c] * m[c * w + j];
	}
	return true;
}

bool bn_design_fit(const struct bn_design *d, const double *y, const size_t *row, size_t n, double alpha,
		   struct bn_effect *ret)
{
	size_t k = d->factors, w = 2 * k;
	gt_autofree double *m = gt_xcalloc(k * w + 1, sizeof(*m)), *xy = gt_xcalloc(k + 1, sizeof(*xy));
	double rss = 0, t, df = (double)n - (double)k;

	for (size_t a = 0; a < k; a++)
		ret[a] = (struct bn_effect){NAN, -INFINITY, INFINITY, NAN, n, false};
	for (size_t i = 0; i < n; i++)
		for (size_t a = 0; a < k; a++) {
			const signed char *s = d->sign + row[i] * k;

			xy[a] += s[a] * y[i];
			for (size_t b = 0; b < k; b++)
				m[a * w + b] += s[a] * s[b];
		}
	for (size_t a = 0; a < k; a++)
		m[a * w + k + a] = 1;
	if (df < 1 || !invert(m, k))
		return false;
	for (size_t a = 0; a < k; a++) {
		ret[a].est = 0;
		for (size_t b = 0; b < k; b++)
			ret[a].est += m[a * w + k + b] * xy[b];
	}
	for (size_t i = 0; i < n; i++) {
		double e = y[i];

		for (size_t a = 0; a < k; a++)
			e -= d->sign[row[i] * k + a] * ret[a].est;
		rss += e * e;
	}
	t = bn_t_quantile(1 - alpha / 2, df);
	for (size_t a = 0; a < k; a++) {
		double se = sqrt(rss / df * m[a * w + k + a]);

		ret[a].lo = ret[a].est - t * se;
		ret[a].hi = ret[a].est + t * se;
		ret[a].p = se > 0 ? 2 * bn_t_cdf(-fabs(ret[a].est / se), df) : NAN;
	}
	return isfinite(rss);
}
