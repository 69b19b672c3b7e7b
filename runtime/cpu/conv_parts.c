/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects oneDNN convolutions and divides their work among threads. For outputs that are images, the library divides
 * the images among its threads. The weight gradient is a sum over the batch. The library's threads would each compute a
 * part and spin at barriers without limit. If another process shares a core, each barrier costs one of its time slices.
 *
 * Therefore the batch is cut here. One thread computes each part, parts are assigned dynamically, and the sums of the
 * parts are added in their order.
 */
#include <omp.h>
#include <pthread.h>
#include "runtime/cpu/conv_dnnl.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A batch cut into `count` parts of nearly equal numbers of images. count 1: not cut; 0: the library has no kernel. */
struct cut {
	int64_t count;
	const struct rt_conv_kernel *of[2];
	size_t own; /* scratch bytes per thread, in addition to the sums */
};

/* Largest number of parts per thread. Several parts per thread shorten the wait for the last one. */
#define PARTS		4
/*
 * Smallest number of output pixels per part. The part's sum (eight bytes per weight, at 15 GB/s) then takes at most
 * about 3 % of its products' time. A product has two flops per weight and pixel, at 100 Gflop/s.
 */
#define PART_PIXELS	1000.0
/* Below this number of output pixels per thread, the library divides channels instead, which needs no sums. */
#define FEW_PIXELS	128

static int64_t parts_of(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads)
{
	double rate = bf16 ? rt_cpu_gemm_rate(RT_BF16) : 1;
	int64_t pixels = s->n * s->oh * s->ow, most = (int64_t)((double)pixels / rate / PART_PIXELS);

	if (kind != RT_CONV_BWD_W || threads < 2 || s->n < threads || pixels < FEW_PIXELS * threads)
		return 0;
	return GT_MAX(GT_MIN(GT_MIN(most, PARTS * threads), s->n) / threads, 1) * threads;
}

static bool cut_up(struct cut *c, const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads)
{
	c->count = parts_of(s, kind, bf16, threads);
	if (c->count < 2)
		return false;
	for (int i = 0; i < 3; i++) { /* one more time: creating the second kernel may have evicted the first */
		struct rt_conv part = *s;

		part.n = s->n / c->count + (i == 1 && s->n % c->count);
		c->of[i & 1] = rt_conv_kernel(&part, kind, bf16, 1, threads);
		if (!c->of[i & 1])
			return false;
	}
	c->own = GT_MAX(c->of[0]->scratch_bytes, c->of[1]->scratch_bytes);
	return rt_conv_kernels_share_weights(c->of[0], c->of[1]);
}

static struct cut cut_of(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads)
{
	struct cut c;
	bool cut = cut_up(&c, s, kind, bf16, threads);

	omp_set_num_threads(threads); /* restores the setting that creating a one-thread kernel changed */
	if (cut)
		return c;
	c.of[0] = rt_conv_kernel(s, kind, bf16, threads, 1);
	c.count = c.of[0] != NULL;
	return c;
}

int64_t rt_conv_library_scratch(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads)
{
	size_t bytes = 64;
	struct cut c;

	pthread_mutex_lock(&lock);
	c = cut_of(s, kind, bf16, threads);
	if (c.count > 1)
		bytes += (size_t)c.count * c.of[0]->weight_bytes + (size_t)threads * c.own;
	else if (c.count)
		bytes += c.of[0]->scratch_bytes + (c.of[0]->reorders ? c.of[0]->weight_bytes : 0);
	pthread_mutex_unlock(&lock);
	return c.count ? (int64_t)bytes : -1;
}

static void whole(const struct rt_conv_kernel *k, enum rt_conv_kind kind, void *x, void *w, void *y, char *scratch)
{
	if (!k->reorders) {
		rt_conv_execute(k, 0, x, w, y, scratch);
		return;
	}
	if (kind != RT_CONV_BWD_W)
		rt_conv_reorder(k, w, scratch);
	rt_conv_execute(k, 0, x, scratch, y, scratch + k->weight_bytes);
	if (kind == RT_CONV_BWD_W)
		rt_conv_reorder(k, w, scratch);
}

/* Adds floats lo..hi of `count` sums into the first, in order, in blocks that stay in the L1 cache. */
static void add_sums(float *first, const float *sums, int64_t step, int64_t count, int64_t lo, int64_t hi)
{
	for (int64_t at = lo; at < hi; at += 2048)
		for (int64_t i = 1; i < count; i++)
			rt_simd_best()->add(first + at, first + at, sums + i * step + at, GT_MIN(hi - at, 2048));
}

static void in_parts(const struct rt_conv *s, const struct cut *c, size_t element, int threads, char *x, float *w, char *y,
		     char *scratch)
{
	const struct rt_conv_kernel *k = c->of[0];
	int64_t x_image = s->h * s->w * s->c * (int64_t)element, y_image = s->oh * s->ow * s->o * (int64_t)element;
	int64_t step = (int64_t)(k->weight_bytes / sizeof(float));
	int64_t floats = k->reorders ? step : s->o * (s->c / s->groups) * s->kh * s->kw;
	float *sums = (float *)(void *)scratch, *first = k->reorders ? sums : w;

#pragma omp parallel num_threads(threads)
	{
		int thread = omp_get_thread_num();
		int64_t lo, hi;

#pragma omp for schedule(dynamic)
		for (int64_t i = 0; i < c->count; i++) {
			lo = s->n * i / c->count;
			hi = s->n * (i + 1) / c->count;
			rt_conv_execute(c->of[hi - lo > s->n / c->count], thread, x + lo * x_image, i ? sums + i * step : first,
					y + lo * y_image, scratch + (size_t)c->count * k->weight_bytes + (size_t)thread * c->own);
		}
		rt_part(floats, 16, omp_get_num_threads(), thread, &lo, &hi);
		add_sums(first, sums, step, c->count, lo, hi);
	}
	if (k->reorders)
		rt_conv_reorder(k, w, first);
}

void rt_conv_library(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads, void *x, void *w, void *y,
		     void *scratch)
{
	struct cut c;

	pthread_mutex_lock(&lock);
	c = cut_of(s, kind, bf16, threads);
	if (c.count > 1)
		in_parts(s, &c, bf16 ? sizeof(uint16_t) : sizeof(float), threads, x, w, y, scratch);
	else
		whole(c.of[0], kind, x, w, y, scratch);
	pthread_mutex_unlock(&lock);
}
