/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPHS_GENERATED_H
#define TESTS_GRAPHS_GENERATED_H
/*
 * A program of the runtime's public ops, drawn from bytes: random ones, or those that libFuzzer thinks of. It is kept as a list of
 * steps, so that it can be built again, with other sizes or without some of its steps, and be printed.
 */
#include "lib/err.h"
#include "runtime/graph/ir.h"

#define MADE_STEPS  96
#define MADE_INPUTS 5
#define MADE_BYTES  512 /* that one program is drawn from at most */

enum made_op {
	/* leaves */
	MADE_INPUT, MADE_IDS, MADE_PARAM, MADE_BUFFER, MADE_VARIANCE,
	MADE_LINEAR, MADE_MATMUL, MADE_CONV, MADE_BATCHNORM, MADE_LAYERNORM, MADE_RMSNORM, MADE_EMBEDDING, MADE_ATTENTION,
	MADE_ACT, MADE_ADD, MADE_MUL, MADE_AFFINE, MADE_DROPOUT, MADE_SOFTMAX, MADE_REDUCE, MADE_RESHAPE, MADE_MAX_POOL,
	MADE_AVG_POOL, MADE_PAD, MADE_USER,
	/* losses */
	MADE_CROSS_ENTROPY, MADE_DOT,
	MADE_N,
};
/* How the values of a leaf are spread: about 0, about 1, or as weights of so many inputs. */
enum made_spread { MADE_ZERO, MADE_ONE, MADE_WEIGHT };
struct made_step {
	enum made_op op;
	int in[MADE_INPUTS];   /* other steps, or -1 */
	int a[4];	       /* what the op wants beside them, see made_apply(); of a leaf: its spread; of ids: their
				* limit, and whether some of them are ignored */
	struct rt_shape shape; /* of a leaf, of a reshape */
};
struct made {
	struct made_step step[MADE_STEPS]; /* the last one is the loss */
	int n;
	struct made_step refused; /* a step that the library refused while the program was drawn */
	int refused_at;		  /* the number of steps before it; 0: none was */
	uint64_t seed;		  /* of all values */
	uint8_t how[16];	  /* what the checks draw their options from */
	bool dropout;		  /* dropouts drop */
	bool pixels;		  /* inputs are bytes v, which stand for (v / 255 - mean) / std */
};
#define MADE_PIXEL_MEAN 0.45f
#define MADE_PIXEL_STD	0.25f
/* Batches that may have another number of rows, or sequences of another length, have this many; the others are between the two. No
 * other size is drawn as this number. */
#define MADE_ROWS      6
#define MADE_MOST_ROWS 10
#define MADE_LEAST_ROWS 4

/* Sizes for a device, whose kernels take rows in pieces of 16 bytes and tensor cores multiples of 16. */
extern const bool made_for_device;
/* The program that these bytes are; any bytes are one. */
void made_draw(struct made *m, const uint8_t *bytes, size_t n);

struct made_graph {
	struct rt_graph *g;
	struct rt_node *node[MADE_STEPS]; /* of each step */
	struct rt_node *loss;
};
/* 0, or what the library refused. ret is valid, and to be freed, in both cases. rows: instead of MADE_ROWS. */
int made_build(const struct made *m, int64_t rows, struct made_graph *ret, struct gt_err *err);
void made_graph_free(struct made_graph *mg);
struct rt_node *made_apply(struct made_graph *mg, const struct made *m, const struct made_step *s, int64_t rows);
bool made_is_leaf(enum made_op op);
const char *made_op_name(enum made_op op);
/* One line per step. */
void made_print(const struct made *m, FILE *to);

/* Element i of a leaf; t: batch, of inputs alone. */
double made_value(const struct made *m, int step, uint64_t t, uint64_t i, int64_t fan_in);
/* Inputs of batch t, in order of declaration, for a graph; to be freed with made_inputs_free(). */
void **made_inputs(const struct made *m, const struct made_graph *mg, uint64_t t);
void made_inputs_free(void **inputs);
/* All leaves as doubles, inputs those of batch t, by node id; NULL for others. */
double **made_leaves(const struct made *m, const struct made_graph *mg, uint64_t t);
void made_values_free(double **values, int n);
/* Parameters and buffers of p take their values. */
void made_load(const struct made *m, const struct made_graph *mg, struct rt_program *p);

/* Smaller programs made from m: change number k of them, or false if there are no more. */
bool made_smaller(const struct made *m, int k, struct made *ret);

enum { MADE_BUMP, MADE_TIMES, MADE_FMA, MADE_USER_OPS };
#define MADE_USER_ARGS 2
extern const struct rt_user_op made_user_ops[MADE_USER_OPS];
/* What the op is made with: one of MADE_USER_ARGS, or NULL if it takes nothing. */
void *made_user_arg(int op, int which);
/* The plain gradient of one of them, added to dx. */
void made_user_slope(const struct rt_user_op *op, const double *const *in, const double *dy, double *const *dx,
		     const struct rt_shape *shapes, void *arg);
#endif
