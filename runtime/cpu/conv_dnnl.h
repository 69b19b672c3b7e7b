/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CONV_DNNL_H
#define RT_CONV_DNNL_H
/* A cached convolution primitive of oneDNN, used by cpu/conv_parts.c. Callers must hold one lock for all functions. */
#include "runtime/cpu/conv.h"

struct rt_conv_kernel {
	bool reorders;	     /* the kernel has its own layout of the weights or their gradient */
	size_t weight_bytes; /* size of the weights in that layout; both sizes are multiples of a cache line */
	size_t scratch_bytes;
};
/*
 * Returns a primitive that the library divides among `threads` threads and that can run `at_once` times concurrently.
 * The first call creates it. NULL if the library has no fast kernel. The pointer is valid until hundreds of other
 * primitives were requested.
 */
const struct rt_conv_kernel *rt_conv_kernel(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads, int at_once);
bool rt_conv_kernels_share_weights(const struct rt_conv_kernel *a, const struct rt_conv_kernel *b);
/* w is in the kernel's layout if `reorders`. slot: index among concurrent executions. */
void rt_conv_execute(const struct rt_conv_kernel *k, int slot, void *x, void *w, void *y, void *scratch);
/* Converts weights from PyTorch's layout to the kernel's, or a weight gradient back. */
void rt_conv_reorder(const struct rt_conv_kernel *k, void *w, void *packed);
#endif
