/* SPDX-License-Identifier: Apache-2.0 */
/* Compares casts to 8 bits and their scales with plain definitions. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include "runtime/cuda/driver.h"
#include "runtime/cuda/kernel/fp8.h"
#include "runtime/cuda/selfcheck.h"

#define HISTORY 5

double rt_fp8_value(unsigned code, bool e5m2)
{
	int fraction = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7;
	unsigned exponent = (code & 0x7f) >> fraction, rest = code & ((1u << fraction) - 1);
	double a = exponent ? ldexp(1 + (double)rest / (1 << fraction), (int)exponent - bias) :
			      ldexp((double)rest / (1 << fraction), 1 - bias);

	return code & 0x80 ? -a : a;
}

uint8_t rt_fp8_nearest(float x, bool e5m2)
{
	unsigned low = 0, high = e5m2 ? 0x7b : 0x7e, sign = signbit(x) ? 0x80 : 0;
	double a = fabs((double)x), below, above;

	if (isnan(x))
		return 0x7f;
	if (a >= rt_fp8_value(high, e5m2))
		return (uint8_t)(sign | high);
	while (high - low > 1) {
		unsigned middle = (low + high) / 2;

		if (rt_fp8_value(middle, e5m2) <= a)
			low = middle;
		else
			high = middle;
	}
	below = a - rt_fp8_value(low, e5m2);
	above = rt_fp8_value(high, e5m2) - a;
	return (uint8_t)(sign | (below < above || (below == above && low % 2 == 0) ? low : high));
}

struct bench {
	struct rt_cuda *dev;
	json_t *rows;
	uint64_t seed;
	int failed;
};

static int check(const struct bench *b, cu_result code, const char *what, struct gt_err *err)
{
	return rt_cuda_check(b->dev, code, what, err);
}

static void add_row(struct bench *b, const char *name, const char *tensor, int64_t wrong, int64_t n)
{
	b->failed += wrong > 0;
	json_array_append_new(b->rows, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:b}", "case", name, "type", "fp8", "tensor",
						 tensor, "error", (double)wrong / (double)n, "worst", 0.0, "limit", 0.0, "ok",
						 !wrong));
}

/* ---- casts ---- */
struct cast_case {
	const char *name;
	int64_t rows, cols;
	bool low; /* bf16: the value of element i is bit pattern i */
	bool e5m2;
	float scale;
};
static const struct cast_case casts[] = {
	{ "cast8.e4m3.all", 256, 256, true, false, 1 },	     { "cast8.e5m2.all", 256, 256, true, true, 1 },
	{ "cast8.e4m3.scaled", 256, 256, true, false, 0.7f }, { "cast8.e5m2.scaled", 256, 256, true, true, 3e4f },
	{ "cast8.e4m3.edge", 80, 48, false, false, 1 },	     { "cast8.e5m2.edge", 48, 208, false, true, 0x1p-9f },
	{ "cast8.e4m3.floats", 128, 512, false, false, 5e-3f },
};

/* Returns mostly floats in the range of the formats, and all other bit patterns. */
static float any_float(uint64_t seed, uint64_t i)
{
	uint64_t r = rt_random_u64(seed, 8, i);
	uint32_t bits = i % 8 ? ((uint32_t)r & 0x80ffffff) | ((uint32_t)(100 + (r >> 32) % 50) << 23) : (uint32_t)r;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static float *make_source(const struct bench *b, const struct cast_case *c, void *raw)
{
	int64_t n = c->rows * c->cols;
	float *x = gt_xcalloc((size_t)n, sizeof(*x));

	for (int64_t i = 0; i < n; i++) {
		uint32_t bits = (uint32_t)i << 16;

		if (c->low)
			memcpy(&x[i], &bits, sizeof(*x));
		else
			x[i] = any_float(b->seed, (uint64_t)i);
		if (c->low)
			((uint16_t *)raw)[i] = (uint16_t)i;
		else
			((float *)raw)[i] = x[i];
	}
	return x;
}

/* Runs the cast on the device: y, t and the slot are in one allocation after x. */
static int run_cast(struct bench *b, const struct cast_case *c, const void *raw, uint8_t *ret_y, uint8_t *ret_t, float *slot,
		    struct gt_err *err)
{
	const struct rt_driver *d = &b->dev->d;
	size_t n = (size_t)(c->rows * c->cols), size = n * (c->low ? 2 : 4), head = RT_FP8_HEAD * sizeof(float);
	unsigned gx = (unsigned)(c->cols + RT_FP8_TILE - 1) / RT_FP8_TILE, gy = (unsigned)(c->rows + RT_FP8_TILE - 1) / RT_FP8_TILE;
	int64_t rows = c->rows, cols = c->cols;
	int e5m2 = c->e5m2, record = 1;
	cu_ptr x = 0, y, t, at;
	void *args[] = { &y, &t, &x, &at, &rows, &cols, &e5m2, &record };
	int r = check(b, d->mem_alloc(&x, size + 2 * n + head), "cuMemAlloc", err);

	if (r)
		return r;
	y = x + size;
	t = y + n;
	at = t + n;
	r = rt_cuda_put(b->dev, x, raw, size, err);
	if (!r)
		r = rt_cuda_put(b->dev, at, slot, head, err);
	if (!r)
		r = check(b, d->launch(b->dev->fn[RT_K_cast8 + c->low], gx, gy, 1, 256, 1, 1, 0, NULL, args, NULL),
			  "cuLaunchKernel", err);
	if (!r)
		r = check(b, d->ctx_sync(), "cuCtxSynchronize", err);
	if (!r)
		r = check(b, d->copy_from(ret_y, y, n), "cuMemcpyDtoH", err);
	if (!r)
		r = check(b, d->copy_from(ret_t, t, n), "cuMemcpyDtoH", err);
	if (!r)
		r = check(b, d->copy_from(slot, at, head), "cuMemcpyDtoH", err);
	d->mem_free(x);
	return r;
}

static int check_cast(struct bench *b, const struct cast_case *c, struct gt_err *err)
{
	int64_t n = c->rows * c->cols, wrong = 0, turned = 0;
	float slot[RT_FP8_HEAD] = { [RT_FP8_SCALE] = c->scale }, largest = 0;
	gt_autofree void *raw = gt_xcalloc((size_t)n, 4);
	gt_autofree uint8_t *y = gt_xcalloc((size_t)n, 1), *t = gt_xcalloc((size_t)n, 1);
	gt_autofree float *x = make_source(b, c, raw);
	int r = run_cast(b, c, raw, y, t, slot, err);

	for (int64_t i = 0; i < n; i++) {
		uint8_t want = isinf(x[i]) ? 0x7f : rt_fp8_nearest(x[i] * c->scale, c->e5m2);

		largest = isnan(x[i]) ? largest : fmaxf(largest, fabsf(x[i]));
		wrong += y[i] != want;
		turned += t[i % c->cols * c->rows + i / c->cols] != want;
	}
	if (r)
		return r;
	add_row(b, c->name, "codes", wrong, n);
	add_row(b, c->name, "codes, turned", turned, n);
	add_row(b, c->name, "largest", memcmp(&slot[RT_FP8_AMAX], &largest, sizeof(largest)) != 0, 1);
	return 0;
}

/* ---- scales ---- */
/*
 * Values that the updates see in order. Non-finite values change nothing; zero only clears the history. The first value
 * starts a history, and so does the first value after the parameters changed. Earlier values do not count, and the
 * value itself counts only in later updates.
 */
static const struct {
	float largest;
	bool begins;
} values[] = {
	{ 2, true },  { 1 },	 { 0.5f },  { 3e38f },	{ 0.25f }, { INFINITY }, { 0.125f }, { 0 },	{ 1e-3f },
	{ 1e-3f },    { 1e-3f }, { 1e-3f }, { 1e-3f },	{ 4 },	   { NAN },	 { 1, true }, { 0.5f }, { 1e-3f },
	{ 0 },	      { 0 },	 { 0 },	    { 0 },	{ 0 },	   { 0 },	 { 2e-4f },   { 0 },	{ 1e-5f },
	{ 0, true },  { 0 },	 { 8 },	    { INFINITY, true }, { 2 }, { 1e-44f, true }, { 1e-44f }, { 3e38f, true }, { 3e38f },
};

/* Expected scale: most / the largest of the last HISTORY values that count, halved once for the margin, and always
 * finite. Without such values, or with zeros only, the scale stays as before, initially 1. */
static float expected_scale(int upto, float most, float before)
{
	float largest = values[upto].begins && values[upto].largest < INFINITY ? values[upto].largest : 0;

	for (int i = upto, left = HISTORY; i >= 0 && left > 0 && !values[i].begins; i--)
		if (isfinite(values[i].largest)) {
			largest = fmaxf(largest, values[i].largest);
			left--;
		}
	return largest > 0 ? fminf(most / largest * 0.5f, FLT_MAX) : values[upto].begins ? 1 : before;
}

static int check_scales(struct bench *b, struct gt_err *err)
{
	const struct rt_driver *d = &b->dev->d;
	float slot[RT_FP8_HEAD + HISTORY], most = RT_FP8_MOST_E4M3, factor = 0.5f, want = 0;
	int history = HISTORY, wrong = 0;
	cu_ptr at = 0;
	void *begin[] = { &at, &history, &most, &factor }, *renew[] = { &at, &history, &factor };
	int r = check(b, d->mem_alloc(&at, sizeof(slot)), "cuMemAlloc", err);

	if (r)
		return r;
	for (int i = 0; i < RT_FP8_HEAD + HISTORY; i++)
		slot[i] = 1e30f; /* garbage from an earlier user of the memory */
	r = rt_cuda_put(b->dev, at, slot, sizeof(slot), err);
	for (int i = 0; !r && i < (int)GT_ARRAY_SIZE(values); i++) {
		bool begins = values[i].begins;

		r = rt_cuda_put(b->dev, at + RT_FP8_AMAX * sizeof(float), &values[i].largest, sizeof(float), err);
		if (!r)
			r = check(b, d->launch(b->dev->fn[begins ? RT_K_fp8_begin : RT_K_fp8_renew], 1, 1, 1, 32, 1, 1, 0, NULL,
					       begins ? begin : renew, NULL), "cuLaunchKernel", err);
		if (!r)
			r = check(b, d->ctx_sync(), "cuCtxSynchronize", err);
		if (!r)
			r = check(b, d->copy_from(slot, at, sizeof(slot)), "cuMemcpyDtoH", err);
		want = expected_scale(i, most, want);
		wrong += slot[RT_FP8_SCALE] != want || slot[RT_FP8_INVERSE] != 1 / slot[RT_FP8_SCALE] ||
			 (!begins && slot[RT_FP8_AMAX] != 0);
	}
	d->mem_free(at);
	if (!r)
		add_row(b, "scales8", "scales", wrong, GT_ARRAY_SIZE(values));
	return r;
}

int rt_cuda_selfcheck_fp8(uint64_t seed, json_t *rows, struct gt_err *err)
{
	struct bench b = { .rows = rows, .seed = seed };
	int r = rt_cuda_open(&b.dev, err);

	if (!r && b.dev->arch < 89)
		r = gt_fail(err, ENOSYS, "%s is sm_%d and fp8 needs sm_89 or newer", b.dev->name, b.dev->arch);
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(casts); i++)
		r = check_cast(&b, &casts[i], err);
	if (!r)
		r = check_scales(&b, err);
	rt_cuda_close(b.dev);
	return r ? r : b.failed;
}
