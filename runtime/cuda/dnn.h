/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_DNN_H
#define RT_CUDA_DNN_H
/*
 * Convolutions and attention by cuDNN's graph (backend) interface. For each shape the heuristic's configurations that this program
 * accepts are built; the fastest on the card is kept, here and on disk beside cuBLASLt's choices (tuned.h). A step replays
 * choices.
 */
#include "runtime/cuda/driver.h"
#include "runtime/runtime.h"

enum rt_dnn_way { RT_DNN_FORWARD, RT_DNN_DATA, RT_DNN_FILTER };
/*
 * FORWARD: y (N,OH,OW,O) = x (N,H,W,C) convolved with w (O,KH,KW,C/groups). DATA: x is the gradient that y and w give.
 * FILTER: w is the gradient that y and x give. All dense, zero padding on all four sides, sums in f32.
 */
struct rt_dnn_conv {
	enum rt_dnn_way way;
	int64_t n, h, w, c, o, oh, ow, kh, kw, stride, pad, groups;
	enum rt_dtype type; /* of x, w and y: RT_F32, RT_BF16, RT_F16 */
	bool tf32;	    /* f32 operands may be rounded to TF32 */
};
struct rt_dnn_args {
	cu_ptr x, w, y, workspace; /* multiples of 16 bytes */
};

struct rt_dnn;
#define RT_DNN_WORKSPACE	(256u << 20) /* bytes that a configuration may want; attention backward: or what its sums are */
#define RT_DNN_CANDIDATES	8	     /* configurations of a shape that are timed at most */
/* exact: nothing is chosen by timing, now or as an earlier program has kept it on disk.
 * -ENOENT: no library; -ENOSYS: one that is too old, or made for a newer driver or for other cards. */
int rt_dnn_open(struct rt_cuda *dev, bool exact, struct rt_dnn **ret, struct gt_err *err);
/* The same for a card that need not be here, by its properties as cuDNN writes them (JSON): convolutions can be planned and
 * not run. -ENOSYS: cuDNN before 9.8. */
int rt_dnn_open_for(const char *properties, struct rt_dnn **ret, struct gt_err *err);
void rt_dnn_close(struct rt_dnn *d);
const char *rt_dnn_version(const struct rt_dnn *d); /* "9.26.0" */

/* What a convolution is made of, for tests and reports. */
struct rt_dnn_info {
	int suggested; /* configurations that the heuristics gave */
	int accepted;  /* of these, built and kept */
	int too_large; /* of these, not kept since they want more workspace than they may */
	size_t workspace; /* bytes: the most that an accepted one wants */
};
/* Ask for the configurations of c and build them; once per shape. -ENOTSUP: cuDNN has none that this program accepts. */
int rt_dnn_plan(struct rt_dnn *d, const struct rt_dnn_conv *c, struct rt_dnn_info *ret, struct gt_err *err);
/* Enqueue it. workspace has the bytes that rt_dnn_plan said. The first call with a shape chooses how: `tune`: by timing, with
 * these very arguments (what it writes is overwritten; the stream is idle meanwhile); else the heuristic's first. */
int rt_dnn_run(struct rt_dnn *d, const struct rt_dnn_conv *c, const struct rt_dnn_args *args, cu_stream stream, bool tune,
	       struct gt_err *err);

/* ---- attention: heads side by side ---- */
/* y (B,T,H,D), lse (B,H,T) = softmax(q k^T / sqrt(D)) v of qkv (B,T,3,H,D); backward: dqkv from dy, y and lse. */
struct rt_dnn_attention {
	bool backward;
	int64_t batch, len, heads, depth;
	bool all_keys;	    /* or causal: the keys up to the query */
	enum rt_dtype type; /* RT_BF16, RT_F16; lse is f32 */
	bool any_order;	    /* sums may be added up in another order in each run */
	bool alone;	    /* nothing else can do it: the choice is among cuDNN's ways */
};
struct rt_dnn_attention_args {
	cu_ptr qkv, y, lse, dy, dqkv, scratch; /* multiples of 16 bytes; dy and dqkv backward alone */
};
/* As rt_dnn_plan; ret->workspace is what scratch must have, and ret->accepted is 0 if the choice on disk is another's than cuDNN's.
 * -ENOTSUP too for a cuDNN before 9.6. */
int rt_dnn_attention_plan(struct rt_dnn *d, const struct rt_dnn_attention *k, struct rt_dnn_info *ret, struct gt_err *err);
/* As rt_dnn_run; `rival`, which may be NULL, is timed with cuDNN's ways. 0, or 1: nothing was enqueued, the rival is faster. */
struct dnn_rival;
int rt_dnn_attention_run(struct rt_dnn *d, const struct rt_dnn_attention *k, const struct rt_dnn_attention_args *args,
			 const struct dnn_rival *rival, cu_stream stream, bool tune, struct gt_err *err);

/* Shapes chosen by timing now, taken from disk, and left to the heuristic. */
void rt_dnn_counts(const struct rt_dnn *d, int *ret_timed, int *ret_cached, int *ret_guessed);
#endif
