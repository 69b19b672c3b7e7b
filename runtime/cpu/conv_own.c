/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution as a matrix product: each output pixel is a row with the inputs of its patch, (kh,kw,channel) with
 * channel innermost. The weights are reordered in the same way once per call. One image is one task. Each thread has
 * its own patches and, for the weight gradient, its own sum. The sums are added in thread order.
 */
#include <omp.h>
#include <string.h>
#include "runtime/cpu/conv.h"

static size_t round16(int64_t floats)
{
	return (size_t)(floats + 15) / 16 * 16;
}

static int64_t patch_length(const struct rt_conv *s)
{
	return s->kh * s->kw * (s->c / s->groups);
}

size_t rt_conv_own_scratch(const struct rt_conv *s, enum rt_conv_kind kind, int threads)
{
	size_t patches = round16(s->oh * s->ow * patch_length(s)), weights = round16(s->o * patch_length(s));

	return sizeof(float) * (weights + (size_t)threads * (patches + (kind == RT_CONV_BWD_W ? weights : 0)));
}

/* (O,C/g,KH,KW) to (O,KH,KW,C/g), or the reverse if `back`. */
static void reorder(const struct rt_conv *s, const float *from, float *to, bool back)
{
	int64_t inner = s->c / s->groups, area = s->kh * s->kw;

	for (int64_t o = 0; o < s->o; o++)
		for (int64_t i = 0; i < inner; i++)
			for (int64_t k = 0; k < area; k++) {
				int64_t plain = (o * inner + i) * area + k, packed = (o * area + k) * inner + i;

				to[back ? plain : packed] = from[back ? packed : plain];
			}
}

/* rows (OH*OW, KH*KW*C/g) = patches of one image and group. back: adds the rows to the image instead. */
static void patches(const struct rt_conv *s, float *image, int64_t group, float *rows, bool back)
{
	int64_t inner = s->c / s->groups;

	image += group * inner;
	for (int64_t p = 0; p < s->oh * s->ow; p++)
		for (int64_t k = 0; k < s->kh * s->kw; k++, rows += inner) {
			int64_t h = p / s->ow * s->stride - s->pad + k / s->kw, w = p % s->ow * s->stride - s->pad + k % s->kw;
			bool inside = h >= 0 && h < s->h && w >= 0 && w < s->w;
			float *pixel = inside ? image + (h * s->w + w) * s->c : NULL;

			if (!back && inside)
				memcpy(rows, pixel, (size_t)inner * sizeof(float));
			else if (!back)
				memset(rows, 0, (size_t)inner * sizeof(float));
			for (int64_t i = 0; back && inside && i < inner; i++)
				pixel[i] += rows[i];
		}
}

struct parts {
	float *weights, *rows, *sum; /* packed weights; patches and gradient sum of this thread */
};

static void one_image(const struct rt_conv *s, enum rt_conv_kind kind, float *x, float *y, const struct parts *t, bool first)
{
	int64_t pixels = s->oh * s->ow, length = patch_length(s), og = s->o / s->groups;

	if (kind == RT_CONV_BWD_X)
		memset(x, 0, (size_t)(s->h * s->w * s->c) * sizeof(float));
	for (int64_t g = 0; g < s->groups; g++) {
		float *w = t->weights + g * og * length, *yg = y + g * og;

		if (kind == RT_CONV_BWD_X) {
			rt_gemm_one(false, false, pixels, length, og, 1, yg, s->o, w, length, 0, t->rows, length);
			patches(s, x, g, t->rows, true);
			continue;
		}
		patches(s, x, g, t->rows, false);
		if (kind == RT_CONV_FWD)
			rt_gemm_one(false, true, pixels, og, length, 1, t->rows, length, w, length, 0, yg, s->o);
		else
			rt_gemm_one(true, false, og, length, pixels, 1, yg, s->o, t->rows, length, first ? 0 : 1,
				    t->sum + g * og * length, length);
	}
}

/* Adds the threads' gradients in thread order. */
static void add_thread_sums(const struct rt_conv *s, const float *sums, float *packed, float *dw, int team)
{
	int64_t n = s->o * patch_length(s);

	memset(packed, 0, (size_t)n * sizeof(float));
	for (int t = 0; t < team; t++)
		for (int64_t i = 0; i < n; i++)
			packed[i] += sums[(size_t)t * round16(n) + (size_t)i];
	reorder(s, packed, dw, true);
}

void rt_conv_own(const struct rt_conv *s, enum rt_conv_kind kind, int threads, float *x, float *w, float *y, float *scratch)
{
	size_t n_patches = round16(s->oh * s->ow * patch_length(s)), n_weights = round16(s->o * patch_length(s));
	float *sums = scratch + n_weights + (size_t)threads * n_patches;
	int team = 1; /* actual team size, which may be smaller than requested */

	if (kind != RT_CONV_BWD_W)
		reorder(s, w, scratch, false);
#pragma omp parallel num_threads(threads) if (threads > 1)
	{
		int thread = omp_get_thread_num();
		int64_t lo, hi;
		struct parts t = {
			.weights = scratch,
			.rows = scratch + n_weights + (size_t)thread * n_patches,
			.sum = sums + (size_t)thread * n_weights,
		};

		if (thread == 0)
			team = omp_get_num_threads();
		rt_part(s->n, 1, omp_get_num_threads(), thread, &lo, &hi);
		if (kind == RT_CONV_BWD_W && lo == hi)
			memset(t.sum, 0, n_weights * sizeof(float));
		for (int64_t i = lo; i < hi; i++)
			one_image(s, kind, x + i * s->h * s->w * s->c, y + i * s->oh * s->ow * s->o, &t, i == lo);
	}
	if (kind == RT_CONV_BWD_W)
		add_thread_sums(s, sums, scratch, w, team);
}
