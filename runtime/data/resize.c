/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize with a triangle filter as wide as the step between results, so that every pixel contributes when an image
 * shrinks. Rows first: whole rows are summed into one row of floats, 4 per pixel, which vectorises. Then the pixels of
 * that row.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/data/image.h"
#include "runtime/data/image_scratch.h"

typedef float v4 __attribute__((vector_size(16)));
typedef int32_t i4 __attribute__((vector_size(16)));

/* Returns the largest number of pixels that contribute to one of n results of `length` pixels. */
static int taps_of(double length, int64_t n)
{
	return (int)ceil(fmax(length / (double)n, 1)) * 2 + 1;
}

/* Computes n results from part lo … hi of a line of `length` pixels. Weights of result i start at weight[i * most].
 * from[2 i] is its first pixel, from[2 i + 1] the number of its pixels. */
static void axis(double lo, double hi, uint32_t length, int64_t n, float *weight, int most, int32_t *from)
{
	double step = (hi - lo) / (double)n, reach = fmax(step, 1);

	for (int64_t i = 0; i < n; i++) {
		double centre = lo + ((double)i + .5) * step, sum = 0;
		int first = (int)fmax(floor(centre - reach + .5), 0), end = (int)fmin(floor(centre + reach + .5), length);
		float *w = weight + (size_t)i * (size_t)most;

		first = GT_MIN(first, (int)length - 1);
		end = GT_MAX(end, first + 1);
		end = GT_MIN(end, first + most);
		for (int k = first; k < end; k++) {
			double v = fmax(1 - fabs((k + .5 - centre) / reach), 0);

			w[k - first] = (float)v;
			sum += v;
		}
		for (int k = first; k < end; k++)
			w[k - first] = sum > 0 ? (float)(w[k - first] / sum) : 1.f / (float)(end - first);
		from[2 * i] = first;
		from[2 * i + 1] = end - first;
	}
}

/*
 * line (n) = weighted sum of `taps` rows of n bytes each. Two rows per pass, so that the line is loaded and stored less
 * often.
 */
static inline __attribute__((always_inline)) void sum_rows(const unsigned char *restrict p, size_t stride, size_t n,
							   const float *w, int taps, float *restrict line)
{
	int k = taps % 2;

	if (k) {
#pragma omp simd
		for (size_t i = 0; i < n; i++)
			line[i] = w[0] * (float)p[i];
	}
	for (; k < taps; k += 2) {
		const unsigned char *restrict a = p + (size_t)k * stride, *restrict b = a + stride;
		float wa = w[k], wb = w[k + 1];

		if (k)
#pragma omp simd
			for (size_t i = 0; i < n; i++)
				line[i] += wa * (float)a[i] + wb * (float)b[i];
		else
#pragma omp simd
			for (size_t i = 0; i < n; i++)
				line[i] = wa * (float)a[i] + wb * (float)b[i];
	}
}

/* Computes the same sums, to the bit, with wider registers and without fused multiply-add. */
#ifdef __x86_64__
__attribute__((target("avx2"))) static void sum_rows_avx2(const unsigned char *p, size_t stride, size_t n, const float *w,
							  int taps, float *line)
{
	sum_rows(p, stride, n, w, taps, line);
}
#endif

static void sum_rows_plain(const unsigned char *p, size_t stride, size_t n, const float *w, int taps, float *line)
{
	sum_rows(p, stride, n, w, taps, line);
}

typedef void sum_rows_fn(const unsigned char *p, size_t stride, size_t n, const float *w, int taps, float *line);

static sum_rows_fn *best_sum_rows(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return sum_rows_avx2;
#endif
	return sum_rows_plain;
}

static void sum_pixels(const float *line, int32_t x0, const float *weight, int most, const int32_t *from, int64_t n,
		       unsigned char *out)
{
	for (int64_t i = 0; i < n; i++) {
		const v4 *p = (const v4 *)(const void *)(line + 4 * (from[2 * i] - x0));
		const float *w = weight + (size_t)i * (size_t)most;
		v4 sum = { .5f, .5f, .5f, .5f };
		i4 whole;

		for (int k = 0; k < from[2 * i + 1]; k++)
			sum += w[k] * p[k];
		whole = __builtin_convertvector(sum, i4);
		for (int c = 0; c < 3; c++)
			out[3 * i + c] = (unsigned char)whole[c];
	}
}

/* Grows the memory for a line of pixels and for the weights of both axes. */
static int reserve(struct rt_image_scratch *s, size_t pixels, size_t weights, struct gt_err *err)
{
	if (pixels > s->line_cap) {
		free(s->line);
		s->line = aligned_alloc(64, (pixels * 16 + 63) / 64 * 64);
		s->line_cap = s->line ? pixels : 0;
	}
	if (weights > s->weight_cap) {
		free(s->weight);
		s->weight = malloc(weights * sizeof(float));
		s->weight_cap = s->weight ? weights : 0;
	}
	if (s->line_cap < pixels || s->weight_cap < weights)
		return gt_fail(err, ENOMEM, "no memory to resize %zu pixels", pixels);
	return 0;
}

static void copy_pixels(const struct rt_pixels *p, unsigned char *out)
{
	for (size_t i = 0; i < (size_t)p->w * p->h; i++)
		memcpy(out + 3 * i, p->p + 4 * i, 3);
}

int rt_image_resize(const struct rt_pixels *p, const struct rt_box *box, int64_t size, struct rt_image_scratch *s,
		    unsigned char *out, struct gt_err *err)
{
	double kx = (double)p->w / p->full_w, ky = (double)p->h / p->full_h;
	int most_down = taps_of((box->y1 - box->y0) * ky, size), most = taps_of((box->x1 - box->x0) * kx, size);
	int32_t *down = s->from, *across = s->from + 2 * size, x0, x1;
	sum_rows_fn *sum = best_sum_rows();
	float *weight;

	if (p->w == size && p->h == size && box->x0 == 0 && box->y0 == 0 && box->x1 == p->full_w && box->y1 == p->full_h) {
		copy_pixels(p, out);
		return 0;
	}
	if (reserve(s, p->w, (size_t)size * (size_t)(most + most_down), err))
		return -ENOMEM;
	weight = s->weight + (size_t)size * (size_t)most_down;
	axis(box->y0 * ky, box->y1 * ky, p->h, size, s->weight, most_down, down);
	axis(box->x0 * kx, box->x1 * kx, p->w, size, weight, most, across);
	x0 = across[0];
	x1 = x0;
	for (int64_t i = 0; i < size; i++)
		x1 = GT_MAX(x1, across[2 * i] + across[2 * i + 1]);
	for (int64_t i = 0; i < size; i++) {
		const unsigned char *from = p->p + ((size_t)down[2 * i] * p->w + (size_t)x0) * 4;

		sum(from, (size_t)p->w * 4, (size_t)(x1 - x0) * 4, s->weight + (size_t)i * (size_t)most_down, down[2 * i + 1],
			 s->line);
		sum_pixels(s->line, x0, weight, most, across, size, out + 3 * i * size);
	}
	return 0;
}
