/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBCUDNN_H
#define LIBCUDNN_H
/* Inside the stand-in cuDNN: descriptors (libcudnn.c) and their execution (libcudnn_run.c). */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "record.h"
#include "standin.h"

enum { BAD_PARAM = 2000, NOT_FINALIZED = 2004, NOT_SUPPORTED = 3000, EXECUTION_FAILED = 5000 };
enum {
	POINTWISE, CONVOLUTION = 1, ENGINE, ENGINECFG, ENGINEHEUR, PLAN, KNOB_CHOICE = 7, FORWARD = 10, FILTER, DATA, OP_POINTWISE,
	GRAPH = 15, PACK, TENSOR, MATMUL, OP_MATMUL, REDUCTION = 21, OP_REDUCTION, OP_RESHAPE = 31
};
#define ENGINES	  5
#define OPS	  32
#define ARGS	  16
#define SCRIBBLED (1 << 16) /* bytes of workspace of engine 3 */

struct desc {
	int kind;
	bool final;
	int64_t dims[4], strides[4], uid;			     /* tensor */
	int64_t pad[2][2], stride[2], dilation[2], spatial;	     /* convolution */
	bool is_virtual, by_value;
	int type, mode;						     /* data type; also of a heuristic and a pointwise
								      * operation */
	int64_t axis;
	struct desc *conv, *w, *x, *y, *b, *t;			     /* operation: copies; conv: parameters */
	struct desc *ops[OPS];					     /* graph */
	int64_t n_ops;
	float alpha, beta;
	struct desc *of;					     /* engine: graph; plan, config: engine */
	int64_t index;						     /* engine; knob's value */
	int64_t ids[ARGS];					     /* variant pack */
	void *pointers[ARGS], *workspace;
	int64_t n_ids, n_pointers;
	bool has_handle;
};
struct handle {
	void *stream;
};

static inline int64_t count_of(const struct desc *t)
{
	return t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
}

size_t cudnnGetVersion(void);
/* Enqueues a plan's graph with its engine on the pack's pointers. */
int run_convolution(struct handle *h, const struct desc *plan, const struct desc *pack);
int run_operations(struct handle *h, const struct desc *plan, const struct desc *pack);
#endif
