/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CONV_DNNL_H
#define RT_CONV_DNNL_H
/* One convolution of oneDNN's, made ready; cpu/conv_parts.c says which are. Callers hold one lock for all of it. */
#include "runtime/cpu/conv.h"

struct rt_conv_kernel {
	bool reorders;	     /* it wants the weights, or makes their gradient, in an order of its own */
	size_t weight_bytes; /* in that order; both in whole cache lines */
	size_t scratch_bytes;
};
/*
 * Divided by the library among so many threads, executed `at_once` times at once; made at the first call. NULL if the library has
 * no fast kernel. The answer is good until hundreds of others have been asked for.
 */
const struct rt_conv_kernel *rt_conv_kernel(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads, int at_once);
bool rt_conv_kernels_share_weights(const struct rt_conv_kernel *a, const struct rt_conv_kernel *b);
/* w is in the kernel's order if it reorders. slot: which of those that go on at once. */
void rt_conv_execute(const struct rt_conv_kernel *k, int slot, void *x, void *w, void *y, void *scratch);
/* The weights between torch's order and the kernel's: to it, or back if they are a gradient. */
void rt_conv_reorder(const struct rt_conv_kernel *k, void *w, void *packed);
#endif
