/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_REDUCE_H
#define RT_REDUCE_H
#include <stdint.h>

/* out[0] = … = out[n_out-1] = sum over i of w[i] * x[i] for elements lo to hi, in order of i. Any of out[] may be among x[]. */
void rt_sum_ranks(float *const *out, int n_out, float *const *x, const float *w, int n_in, int64_t lo, int64_t hi, int threads);
#endif
