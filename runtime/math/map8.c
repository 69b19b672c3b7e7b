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
