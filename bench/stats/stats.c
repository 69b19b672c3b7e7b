/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "bench/stats/stats.h"
#include "lib/util.h"

const struct bn_interim bn_interims[] = { { 9, .005 }, { 12, .01 }, { 16, .015 }, { 24, .02 } };
const size_t bn_n_interims = GT_ARRAY_SIZE(bn_interims);

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool all_finite(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

static double *copied(const double *x, size_t n)
{
	double *v = gt_xcalloc(n, sizeof(*v));

	memcpy(v, x, n * sizeof(*v));
	return v;
}

static double *sorted(const double *x, size_t n)
{
	double *v = copied(x, n);

	qsort(v, n, sizeof(*v), cmp_double);
	return v;
}

static void swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

/* Hoare's selection with the median of three as pivot. */
double bn_select(double *v, size_t n, size_t k)
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

double bn_quantile(const double *x, size_t n, double q)
{
	gt_autofree double *v = NULL;
	double pos, at, next;
	size_t i;

	if (n == 0 || !(q >= 0 && q <= 1) || !all_finite(x, n))
		return NAN;
	v = copied(x, n);
	pos = q * (double)(n - 1);
	i = (size_t)pos;
	at = bn_select(v, n, i);
	if (i + 1 >= n)
		return at;
	next = v[i + 1]; /* smallest value above the selected one */
	for (size_t k = i + 2; k < n; k++)
		next = fmin(next, v[k]);
	return at + (pos - (double)i) * (next - at);
}

double bn_median(const double *x, size_t n)
{
	return bn_quantile(x, n, .5);
}

double bn_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : NAN;
}

double bn_sd(const double *x, size_t n)
{
	double mean = bn_mean(x, n), ss = 0;

	if (n < 2)
		return NAN;
	for (size_t i = 0; i < n; i++)
		ss += (x[i] - mean) * (x[i] - mean);
	return sqrt(ss / (double)(n - 1));
}

double bn_hodges_lehmann(const double *x, size_t n)
{
	gt_autofree double *walsh = NULL;
	size_t k = 0;

	if (n == 0 || n > 2000)
		return NAN;
	walsh = gt_xcalloc(n * (n + 1) / 2, sizeof(*walsh));
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			walsh[k++] = (x[i] + x[j]) / 2;
	return bn_median(walsh, k);
}

/* Continued fraction of the incomplete beta function (modified Lentz). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 500; m++) {
		double num = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), delta;

		d = 1 + num * d;
		c = 1 + num / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		num = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 + num * d;
		c = 1 + num / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		delta = d * c;
		h *= delta;
		if (fabs(delta - 1) < 1e-15)
			break;
	}
	return h;
}

/* Regularised incomplete beta I_x(a, b). */
static double beta_inc(double a, double b, double x)
{
	double front;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double bn_t_cdf(double t, double df)
{
	double tail;

	if (isnan(t) || !(df > 0))
		return NAN;
	tail = .5 * beta_inc(df / 2, .5, df / (df + t * t));
	return t > 0 ? 1 - tail : tail;
}

double bn_t_quantile(double p, double df)
{
	double lo = 0, hi = 1, want = p < .5 ? 1 - p : p;

	if (!(p > 0 && p < 1) || !(df > 0))
		return NAN;
	while (bn_t_cdf(hi, df) < want && hi < 1e18)
		hi *= 2;
	for (int i = 0; i < 200 && hi - lo > 1e-14 * hi; i++) {
		double mid = (lo + hi) / 2;

		if (bn_t_cdf(mid, df) < want)
			lo = mid;
		else
			hi = mid;
	}
	return p < .5 ? -(lo + hi) / 2 : (lo + hi) / 2;
}

/* Sum over groups of equal values of t(t-1)(2t+5): the tie correction of the Mann-Kendall variance. */
static double tie_term(const double *x, size_t n)
{
	gt_autofree double *v = sorted(x, n);
	double sum = 0;

	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && v[j] == v[i]; j++)
			;
		double t = (double)(j - i);
		sum += t * (t - 1) * (2 * t + 5);
	}
	return sum;
}

struct bn_trend bn_trend(const double *x, size_t n)
{
	struct bn_trend ret = { .p = 1, .slope = 0 };
	gt_autofree double *slopes = NULL;
	double s = 0, var, nn = (double)n, z;
	size_t k = 0;

	if (n < 8 || n > 4096 || !all_finite(x, n))
		return ret;
	slopes = gt_xcalloc(n * (n - 1) / 2, sizeof(*slopes));
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			s += (x[j] > x[i]) - (x[j] < x[i]);
			slopes[k++] = (x[j] - x[i]) / (double)(j - i);
		}
	var = (nn * (nn - 1) * (2 * nn + 5) - tie_term(x, n)) / 18;
	if (!(var > 0))
		return ret;
	z = (s - (s > 0) + (s < 0)) / sqrt(var);
	ret.p = erfc(fabs(z) / M_SQRT2);
	ret.slope = bn_median(slopes, k) / fabs(bn_median(x, n));
	return ret;
}

size_t bn_warmup(const double *x, size_t n)
{
	const double *half = x + n / 2;
	size_t m = n - n / 2;
	double iqr, lo, hi;

	if (n < 8 || !all_finite(x, n))
		return 0;
	iqr = bn_quantile(half, m, .75) - bn_quantile(half, m, .25);
	lo = bn_quantile(half, m, .02) - iqr;
	hi = bn_quantile(half, m, .98) + iqr;
	for (size_t k = 0; k < n / 2; k++)
		if (x[k] >= lo && x[k] <= hi && x[k + 1] >= lo && x[k + 1] <= hi)
			return k;
	return n / 2;
}

struct bn_effect bn_t_effect(const double *d, size_t n, double alpha)
{
	struct bn_effect e = { .est = NAN, .lo = -INFINITY, .hi = INFINITY, .p = NAN, .n = n };
	double se, t;

	if (n == 0 || !all_finite(d, n))
		return e;
	e.est = bn_mean(d, n);
	if (n < 2)
		return e;
	se = bn_sd(d, n) / sqrt((double)n);
	t = bn_t_quantile(1 - alpha / 2, (double)(n - 1));
	e.lo = e.est - t * se;
	e.hi = e.est + t * se;
	if (se > 0)
		e.p = 2 * bn_t_cdf(-fabs(e.est / se), (double)(n - 1));
	return e;
}

struct bn_effect bn_welch(const double *a, size_t na, const double *b, size_t nb, double alpha)
{
	struct bn_effect e = { .est = NAN, .lo = -INFINITY, .hi = INFINITY, .p = NAN, .n = GT_MIN(na, nb) };
	double va, vb, se, df, t;

	if (na == 0 || nb == 0 || !all_finite(a, na) || !all_finite(b, nb))
		return e;
	e.est = bn_mean(b, nb) - bn_mean(a, na);
	if (na < 2 || nb < 2)
		return e;
	va = pow(bn_sd(a, na), 2) / (double)na;
	vb = pow(bn_sd(b, nb), 2) / (double)nb;
	se = sqrt(va + vb);
	if (!(se > 0))
		return e;
	df = (va + vb) * (va + vb) / (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1));
	t = bn_t_quantile(1 - alpha / 2, df);
	e.lo = e.est - t * se;
	e.hi = e.est + t * se;
	e.p = 2 * bn_t_cdf(-fabs(e.est / se), df);
	return e;
}
