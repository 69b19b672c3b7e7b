/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary position embedding. */
#include "common.cuh"

struct rt_rope { /* launch_math.c */
	int len, cols, heads, depth;
	float base_log2, turn; /* turn: 1 or -1 */
};

/* y (rows,cols) = or += x with the pairs of its heads rotated. A thread has one pair, or one column after the heads. y
 * may be x. */
template <class T> RT_DEVICE void rope_body(T *y, const T *x, int64_t rows, struct rt_rope s, int add)
{
	int half = s.depth / 2, pairs = s.heads * half, items = pairs + s.cols - s.heads * s.depth;

	for (int64_t i = global_thread(); i < rows * items; i += global_threads()) {
		int64_t row = i / items, at = row * s.cols;
		int j = (int)(i % items), pair = j % half;

		if (j >= pairs) {
			at += j + pairs;
			assign(y[at], as_float(x[at]) + (add ? as_float(y[at]) : 0));
			continue;
		}
		at += (int64_t)(j / half) * s.depth + pair;
		float angle = (float)(row % s.len) * exp2f(-2 * (float)pair / (float)s.depth * s.base_log2);
		float cosine = cosf(angle), sine = s.turn * sinf(angle), a = as_float(x[at]), b = as_float(x[at + half]);

		assign(y[at], a * cosine - b * sine + (add ? as_float(y[at]) : 0));
		assign(y[at + half], b * cosine + a * sine + (add ? as_float(y[at + half]) : 0));
	}
}
RT_TYPED(rope, (T *y, const T *x, int64_t rows, struct rt_rope s, int add),
	rope_body(y, x, rows, s, add))
