/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CONV_H
#define RT_CONV_H
/* Convolutions of images (N,H,W,C) with weights (O,C/groups,KH,KW), as in torch. */
#include "runtime/cpu/cpu.h"
#include "runtime/graph/conv.h"

struct rt_conv {
	int64_t n, h, w, c;	/* input */
	int64_t o, oh, ow;	/* output */
	int64_t kh, kw, stride, pad, groups;
};
/* The geometry of a call's input x, weight w and output y. */
struct rt_conv rt_conv_of(const struct rt_call *c, const struct rt_node *x, const struct rt_node *w, const struct rt_node *y);

/* struct rt_target. */
double rt_conv_tiles_flops(const struct rt_call *c, enum rt_dtype rival);

/* By oneDNN. Bytes of scratch that it wants, or -1: this build or this library has no fast kernel for the shape.
 * bf16: both tensors that are read are of that type, the one that is written is f32. */
int64_t rt_conv_library_scratch(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads);
/* x, w, y: the three tensors, of which kind says which is written. */
void rt_conv_library(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads, void *x, void *w, void *y,
		     void *scratch);

/* By our own code in tiles, cpu/conv_winograd.c: 3x3, stride 1, pad 0 to 2, one group. */
bool rt_conv_winograd_fits(const struct rt_conv *s);
/* Over plain convolution that makes `rate` products in the time of one in f32, as counted. */
bool rt_conv_winograd_wins(const struct rt_conv *s, enum rt_conv_kind kind, double rate);
double rt_conv_winograd_flops(const struct rt_conv *s, enum rt_conv_kind kind); /* of its products */
size_t rt_conv_winograd_scratch(const struct rt_conv *s, enum rt_conv_kind kind, int threads);
/* add: to x or y, the image that is written. */
void rt_conv_winograd(const struct rt_cpu *cpu, const struct rt_conv *s, enum rt_conv_kind kind, float *x, float *w, float *y,
		      float *scratch, bool add);

/* By our own code: rows of patches times weights, image by image. Works for every shape. */
size_t rt_conv_own_scratch(const struct rt_conv *s, enum rt_conv_kind kind, int threads);
void rt_conv_own(const struct rt_conv *s, enum rt_conv_kind kind, int threads, float *x, float *w, float *y, float *scratch);
#endif
