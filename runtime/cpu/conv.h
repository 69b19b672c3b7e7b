/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CONV_H
#define RT_CONV_H
/* Convolutions of images (N,H,W,C) with weights (O,C/groups,KH,KW), PyTorch's layout. */
#include "runtime/cpu/cpu.h"
#include "runtime/graph/conv.h"

struct rt_conv {
	int64_t n, h, w, c;	/* input */
	int64_t o, oh, ow;	/* output */
	int64_t kh, kw, stride, pad, groups;
};
/* Returns the dimensions of a call's input x, weight w and output y. */
struct rt_conv rt_conv_of(const struct rt_call *c, const struct rt_node *x, const struct rt_node *w, const struct rt_node *y);

/* rt_target.winograd_flops of the CPU. */
double rt_cpu_winograd_flops(const struct rt_call *c, enum rt_dtype rival);

/* oneDNN: returns the scratch size in bytes, or -1 if this build or library version has no fast kernel for the shape.
 * bf16: both input tensors are bf16, the output is f32. */
int64_t rt_conv_library_scratch(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads);
/* x, w, y: the three tensors; `kind` selects the output. */
void rt_conv_library(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads, void *x, void *w, void *y,
		     void *scratch);

/* Winograd (cpu/conv_winograd.c): 3x3, stride 1, pad 0 to 2, one group. */
bool rt_conv_winograd_fits(const struct rt_conv *s);
/* Returns whether Winograd is faster than a direct convolution whose products run at `rate` times the speed of f32, by
 * counted work. */
bool rt_conv_winograd_faster(const struct rt_conv *s, enum rt_conv_kind kind, double rate);
double rt_conv_winograd_flops(const struct rt_conv *s, enum rt_conv_kind kind); /* flops of Winograd's products */
size_t rt_conv_winograd_scratch(const struct rt_conv *s, enum rt_conv_kind kind, int threads);
/* add: add to the output image (x or y). */
void rt_conv_winograd(const struct rt_cpu *cpu, const struct rt_conv *s, enum rt_conv_kind kind, float *x, float *w, float *y,
		      float *scratch, bool add);

/* The fallback: rows of patches times weights, image by image. Supports every shape. */
size_t rt_conv_own_scratch(const struct rt_conv *s, enum rt_conv_kind kind, int threads);
void rt_conv_own(const struct rt_conv *s, enum rt_conv_kind kind, int threads, float *x, float *w, float *y, float *scratch);
#endif
