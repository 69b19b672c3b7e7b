/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic 8-bit maps of Dettmers et al., 2022: seven decades below 1, each with more values than the next lower
 * one, and 0 and 1. A code is looked up by the upper bits of the float. A cell of such bits contains at most one border
 * between two codes.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/math/map8.h"

#define DECADES	7

static struct rt_map8 maps[2]; /* unsigned, signed */

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void make_values(float value[256], bool is_signed)
{
	int n = 0;

	for (int i = 0; i < DECADES; i++) {
		int parts = 1 << (is_signed ? i : i + 1);
		double decade = pow(10, i - (DECADES - 1));

		for (int k = 0; k < parts; k++) {
			/* midpoint of interval k of 0.1..1 */
			float v = (float)(decade * (0.1 + 0.9 * (k + 0.5) / parts));

			value[n++] = v;
			if (is_signed)
				value[n++] = -v;
		}
	}
	value[n++] = 0;
	value[n++] = 1;
	qsort(value, 256, sizeof(*value), by_value);
}

/* Returns the border between codes i and i + 1. */
static float border(const struct rt_map8 *m, int i)
{
	return (m->value[i] + m->value[i + 1]) / 2;
}

static void make_cells(struct rt_map8 *m)
{
	int code = m->zero;

	for (uint32_t i = 0; i < RT_MAP8_CELLS; i++) {
		uint32_t end_bits = (i + 1 + RT_MAP8_FIRST) << 16;
		float end;

		memcpy(&end, &end_bits, sizeof(end));
		m->code[i] = code;
		m->border[i] = INFINITY;
		if (code < 255 && border(m, code) < end)
			m->border[i] = border(m, code++);
	}
}

static void make(void)
{
	for (int s = 0; s < 2; s++) {
		make_values(maps[s].value, s);
		maps[s].zero = s ? 127 : 0;
		make_cells(&maps[s]);
	}
}

const struct rt_map8 *rt_map8(bool is_signed)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make);
	return &maps[is_signed];
}

/* Returns the code of x, which is cut to -1 … 1. NaN, from an infinite scale, becomes -1 as in simd_adam8.h. */
static uint8_t code_of(const struct rt_map8 *m, float x)
{
	float magnitude;
	uint32_t bits;
	int32_t cell, code;

	x = x > -1 ? x : -1;
	x = x < 1 ? x : 1;
	magnitude = fabsf(x);
	memcpy(&bits, &magnitude, sizeof(bits));
	cell = (int32_t)(bits >> 16) - (int32_t)RT_MAP8_FIRST;
	cell = cell > 0 ? cell : 0;
	code = m->code[cell] + (magnitude > m->border[cell]);
	code = x < 0 ? 2 * m->zero - code : code;
	return (uint8_t)(code > 0 ? code : 0);
}

void rt_map8_decode(const struct rt_map8 *m, float *x, const uint8_t *codes, const float *scales, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = m->value[codes[i]] * scales[i / RT_MAP8_BLOCK];
}

void rt_map8_encode(const struct rt_map8 *m, uint8_t *codes, float *scales, const float *x, int64_t n)
{
	for (int64_t at = 0; at < n; at += RT_MAP8_BLOCK) {
		int64_t end = at + RT_MAP8_BLOCK < n ? at + RT_MAP8_BLOCK : n;
		float most = 0;

		for (int64_t i = at; i < end; i++)
			most = fmaxf(most, fabsf(x[i]));
		scales[at / RT_MAP8_BLOCK] = most;
		for (int64_t i = at; i < end; i++)
			codes[i] = code_of(m, most > 0 ? x[i] / most : 0);
	}
}
