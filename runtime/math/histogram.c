/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "lib/util.h"
#include "runtime/math/histogram.h"

#define MIDDLE	(RT_HISTOGRAM_BINS / 2)
#define STEP	8 /* bins between two limits that are compared */

/* Doubles the limit: each pair of bins becomes one bin. */
static void widen(struct rt_histogram *h)
{
	float old[RT_HISTOGRAM_BINS];

	memcpy(old, h->count, sizeof(old));
	memset(h->count, 0, sizeof(h->count));
	for (int i = 0; i < MIDDLE; i++)
		h->count[MIDDLE / 2 + i] = old[2 * i] + old[2 * i + 1];
	h->limit *= 2;
}

/* Makes the limit larger than x. */
static void reach(struct rt_histogram *h, float x)
{
	if (h->limit == 0) /* the first value that is not 0 */
		h->limit = ldexpf(1, ilogbf(x) + 1);
	while (h->limit <= x && h->limit < 0x1p126f)
		widen(h);
}

void rt_histogram_add(struct rt_histogram *h, const float *x, int64_t n)
{
	int64_t counts[RT_HISTOGRAM_BINS] = { 0 }, bad = 0;
	float most = 0;

	for (int64_t i = 0; i < n; i++) {
		bad += !isfinite(x[i]);
		most = isfinite(x[i]) ? fmaxf(most, fabsf(x[i])) : most;
		h->lo = isfinite(x[i]) ? fminf(h->lo, x[i]) : h->lo;
		h->hi = isfinite(x[i]) ? fmaxf(h->hi, x[i]) : h->hi;
	}
	if (most > 0)
		reach(h, most);
	for (int64_t i = 0; i < n; i++) {
		double at = h->limit > 0 ? floor((double)x[i] / (double)h->limit * MIDDLE) + MIDDLE : MIDDLE;

		if (isfinite(x[i]))
			counts[(int)fmin(fmax(at, 0), RT_HISTOGRAM_BINS - 1)]++;
	}
	for (int i = 0; i < RT_HISTOGRAM_BINS; i++)
		h->count[i] += (float)counts[i];
	h->bad += (float)bad;
	h->total += (float)(n - bad);
}

static float edge(const struct rt_histogram *h, int bin)
{
	return h->limit * (float)(bin - MIDDLE) / MIDDLE;
}

/* Leaves out the outermost values, on each side that has values. */
static void percentile_range(const struct rt_histogram *h, double percentile, float *lo, float *hi)
{
	double total = 0, skipped = 0, most;
	int first = 0, last = RT_HISTOGRAM_BINS - 1;

	for (int i = 0; i < RT_HISTOGRAM_BINS; i++)
		total += (double)h->count[i];
	most = total * (1 - percentile / 100);
	while (first < MIDDLE && skipped + (double)h->count[first] <= most)
		skipped += (double)h->count[first++];
	skipped = 0;
	while (last >= MIDDLE && skipped + (double)h->count[last] <= most)
		skipped += (double)h->count[last--];
	*lo = fmaxf(h->lo, edge(h, first));
	*hi = fminf(h->hi, edge(h, last + 1));
}

/*
 * Returns the divergence of p from q. p has n bins, and the last one includes all larger values. q is p with its bins
 * merged into `levels` groups.
 */
static double divergence(const double *count, int n, double above, int levels)
{
	double sum_p = above, sum_q = 0, kl = 0;

	for (int i = 0; i < n; i++) {
		sum_p += count[i];
		sum_q += count[i];
	}
	for (int g = 0; g < levels; g++) {
		int from = (int)((int64_t)n * g / levels), to = (int)((int64_t)n * (g + 1) / levels), used = 0;
		double sum = 0;

		for (int i = from; i < to; i++) {
			sum += count[i];
			used += count[i] > 0;
		}
		for (int i = from; i < to; i++) {
			double p = (count[i] + (i == n - 1 ? above : 0)) / sum_p, q = count[i] > 0 ? sum / used / sum_q : 1e-9;

			kl += p > 0 ? p * log(p / q) : 0;
		}
	}
	return kl;
}

/*
 * Returns the limit of the absolute values with the smallest Kullback-Leibler divergence, as in S. Migacz, 8-bit
 * Inference with TensorRT, 2017. The bin of zero gets the count of its neighbour, because 8 bits represent zero exactly.
 */
static void entropy_range(const struct rt_histogram *h, float *lo, float *hi)
{
	double count[MIDDLE], above = 0, best = INFINITY;
	int levels = h->lo < 0 ? 128 : 256, end = 0, chosen;

	for (int i = 0; i < MIDDLE; i++) {
		count[i] = (double)h->count[MIDDLE + i] + (double)h->count[MIDDLE - 1 - i];
		end = count[i] > 0 ? i + 1 : end;
	}
	count[0] = count[1];
	chosen = end;
	for (int n = end; n >= levels; n -= STEP) {
		double kl = divergence(count, n, above, levels);

		if (kl < best) {
			best = kl;
			chosen = n;
		}
		for (int i = n - STEP; i < n; i++)
			above += count[i];
	}
	*lo = fmaxf(h->lo, edge(h, MIDDLE - chosen));
	*hi = fminf(h->hi, edge(h, MIDDLE + chosen));
}

void rt_histogram_range(const struct rt_histogram *h, enum rt_calibration method, double percentile, float *lo, float *hi)
{
	switch (method) {
	case RT_CALIBRATE_PERCENTILE:
		percentile_range(h, percentile, lo, hi);
		return;
	case RT_CALIBRATE_ENTROPY:
		entropy_range(h, lo, hi);
		return;
	case RT_CALIBRATE_MINMAX:
		break;
	}
	*lo = h->lo;
	*hi = h->hi;
}
