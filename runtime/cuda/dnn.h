/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_DNN_H
#define RT_CUDA_DNN_H
/*
 * Convolutions and attention by cuDNN's graph (backend) interface. For each shape, the acceptable configurations of the
 * heuristics are built. The fastest on the device is stored in the program and on disk, together with cuBLASLt's
 * choices (tuned.h). A step uses the stored choices.
 */
#include "runtime/cuda/driver.h"
#include "runtime/runtime.h"

enum rt_dnn_pass { RT_DNN_FORWARD, RT_DNN_DATA, RT_DNN_FILTER };
/*
 * FORWARD: y (N,OH,OW,O) = x (N,H,W,C) convolved with w (O,KH,KW,C/groups). DATA: x is its gradient, from y and w.
 * FILTER: w is its gradient, from y and x. All tensors are dense, the padding is zero and equal on all four sides, sums
 * are f32.
 */
struct rt_dnn_conv {
	enum rt_dnn_pass pass;
	int64_t n, h, w, c, o, oh, ow, kh, kw, stride, pad, groups;
	enum rt_dtype type; /* type of x, w and y: RT_F32, RT_BF16, RT_F16 */
	bool tf32;	    /* f32 operands may be rounded to TF32 */
};
struct rt_dnn_args {
	cu_ptr x, w, y, workspace; /* multiples of 16 bytes */
};

struct rt_dnn;
#define RT_DNN_WORKSPACE	(256u << 20) /* workspace limit; for attention backward the size of its sums, if that is larger */
#define RT_DNN_CANDIDATES	8	     /* limit of timed configurations of a shape */
/* exact: no choice by timing, neither now nor by an earlier program on disk. -ENOENT: no library. -ENOSYS: the library
 * is too old, or made for a newer driver or other devices. */
int rt_dnn_open(struct rt_cuda *dev, bool exact, struct rt_dnn **ret, struct gt_err *err);
/* Does the same for a device that is not present, from its properties in cuDNN's JSON format. Convolutions can be planned
 * but not run. -ENOSYS: cuDNN before 9.8. */
int rt_dnn_open_for(const char *properties, struct rt_dnn **ret, struct gt_err *err);
void rt_dnn_close(struct rt_dnn *d);
const char *rt_dnn_version(const struct rt_dnn *d); /* "9.26.0" */

/* Configurations of a convolution, for tests and reports. */
struct rt_dnn_info {
	int suggested; /* configurations suggested by the heuristics */
	int accepted;  /* number of suggested ones that were built and kept */
	int too_large; /* number of suggested ones that were rejected because of their workspace */
	size_t workspace; /* largest workspace of an accepted one, in bytes */
};
/* Builds the configurations of c, once per shape. -ENOTSUP: cuDNN has no acceptable one. */
int rt_dnn_plan(struct rt_dnn *d, const struct rt_dnn_conv *c, struct rt_dnn_info *ret, struct gt_err *err);
/* Enqueues the convolution. workspace has the bytes that rt_dnn_plan() returned. The first call with a shape chooses
 * the configuration. With `tune` it is chosen by timing with these arguments: the outputs are overwritten, and the
 * stream must be idle. Otherwise it is the heuristic's first. */
int rt_dnn_run(struct rt_dnn *d, const struct rt_dnn_conv *c, const struct rt_dnn_args *args, cu_stream stream, bool tune,
	       struct gt_err *err);

/* ---- attention ---- */
/* y (B,T,H,D), lse (B,H,T) = softmax(q k^T / sqrt(D)) v of qkv (B,T,3,H,D). Backward: dqkv from dy, y and lse. */
struct rt_dnn_attention {
	bool backward;
	int64_t batch, len, heads, depth;
	bool all_keys;	    /* all keys; otherwise causal: keys up to the query */
	enum rt_dtype type; /* RT_BF16, RT_F16; lse is f32 */
	bool any_order;	    /* the order of sums may differ between runs */
	bool alone;	    /* no alternative kernels: the choice is among cuDNN's plans */
};
struct rt_dnn_attention_args {
	cu_ptr qkv, y, lse, dy, dqkv, scratch; /* multiples of 16 bytes; dy and dqkv only backward */
};
/* As rt_dnn_plan(). ret->workspace is the size of scratch. ret->accepted is 0 if the choice on disk is not cuDNN.
 * -ENOTSUP also for cuDNN before 9.6. */
int rt_dnn_attention_plan(struct rt_dnn *d, const struct rt_dnn_attention *k, struct rt_dnn_info *ret, struct gt_err *err);
/* As rt_dnn_run(). `rival` (may be NULL) is an alternative that is timed together with cuDNN's plans. Returns 0, or 1
 * if the rival is faster; then nothing was enqueued. */
struct dnn_rival;
int rt_dnn_attention_run(struct rt_dnn *d, const struct rt_dnn_attention *k, const struct rt_dnn_attention_args *args,
			 const struct dnn_rival *rival, cu_stream stream, bool tune, struct gt_err *err);

/* Return the number of shapes chosen by timing now, loaded from disk, and left to the heuristic. */
void rt_dnn_counts(const struct rt_dnn *d, int *ret_timed, int *ret_cached, int *ret_guessed);
#endif
