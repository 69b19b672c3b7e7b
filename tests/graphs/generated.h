/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPHS_GENERATED_H
#define TESTS_GRAPHS_GENERATED_H
/*
 * A program of the runtime's public ops, drawn from bytes: random ones, or those that libFuzzer thinks of. It is kept as a list of
 * steps, so that it can be built again, with other sizes or without some of its steps, and be printed.
 */
#include "lib/err.h"
#include "runtime/graph/ir.h"

#define GEN_STEPS  96
#define GEN_INPUTS 5
#define GEN_BYTES  512 /* that one program is drawn from at most */

enum gen_op {
	/* leaves */
	GEN_INPUT, GEN_IDS, GEN_PARAM, GEN_BUFFER, GEN_VARIANCE,
	GEN_LINEAR, GEN_MATMUL, GEN_CONV, GEN_BATCHNORM, GEN_LAYERNORM, GEN_RMSNORM, GEN_EMBEDDING, GEN_ATTENTION, GEN_ROPE,
	GEN_ACT, GEN_ADD, GEN_MUL, GEN_AFFINE, GEN_DROPOUT, GEN_SOFTMAX, GEN_REDUCE, GEN_RESHAPE, GEN_MAX_POOL,
	GEN_AVG_POOL, GEN_PAD, GEN_USER,
	/* losses */
	GEN_CROSS_ENTROPY, GEN_DOT,
	GEN_N,
};
/* How the values of a leaf are spread: about 0, about 1, or as weights of so many inputs. */
enum gen_spread { GEN_ZERO, GEN_ONE, GEN_WEIGHT };
struct gen_step {
	enum gen_op op;
	int in[GEN_INPUTS];   /* other steps, or -1 */
	int a[4];	       /* what the op wants beside them, see gen_apply(); of a leaf: its spread; of ids: their
				* limit, and whether some of them are ignored */
	struct rt_shape shape; /* of a leaf, of a reshape */
};
struct gen_program {
	struct gen_step step[GEN_STEPS]; /* the last one is the loss */
	int n;
	struct gen_step refused; /* a step that the library refused while the program was drawn */
	int refused_at;		  /* the number of steps before it; 0: none was */
	uint64_t seed;		  /* of all values */
	uint8_t how[16];	  /* what the checks draw their options from */
	bool dropout;		  /* dropouts drop */
	bool pixels;		  /* inputs are bytes v, which stand for (v / 255 - mean) / std */
};
#define GEN_PIXEL_MEAN 0.45f
#define GEN_PIXEL_STD	0.25f
/* Batches that may have another number of rows, or sequences of another length, have this many; the others are between the two. No
 * other size is drawn as this number. */
#define GEN_ROWS      6
#define GEN_MOST_ROWS 10
#define GEN_LEAST_ROWS 4

/* Sizes for a device, whose kernels take rows in pieces of 16 bytes and tensor cores multiples of 16. */
extern const bool gen_for_device;
/* The program that these bytes are; any bytes are one. */
void gen_draw(struct gen_program *m, const uint8_t *bytes, size_t n);

struct gen_graph {
	struct rt_graph *g;
	struct rt_node *node[GEN_STEPS]; /* of each step */
	struct rt_node *loss;
};
/* 0, or what the library refused. ret is valid, and to be freed, in both cases. rows: instead of GEN_ROWS. */
int gen_build(const struct gen_program *m, int64_t rows, struct gen_graph *ret, struct gt_err *err);
void gen_graph_free(struct gen_graph *mg);
struct rt_node *gen_apply(struct gen_graph *mg, const struct gen_program *m, const struct gen_step *s, int64_t rows);
bool gen_is_leaf(enum gen_op op);
const char *gen_op_name(enum gen_op op);
/* One line per step. */
void gen_print(const struct gen_program *m, FILE *to);

/* Element i of a leaf; t: batch, of inputs alone. */
double gen_value(const struct gen_program *m, int step, uint64_t t, uint64_t i, int64_t fan_in);
/* Inputs of batch t, in order of declaration, for a graph; to be freed with gen_inputs_free(). */
void **gen_inputs(const struct gen_program *m, const struct gen_graph *mg, uint64_t t);
void gen_inputs_free(void **inputs);
/* All leaves as doubles, inputs those of batch t, by node id; NULL for others. */
double **gen_leaves(const struct gen_program *m, const struct gen_graph *mg, uint64_t t);
void gen_values_free(double **values, int n);
/* Parameters and buffers of p take their values. */
void gen_load(const struct gen_program *m, const struct gen_graph *mg, struct rt_program *p);

/* Smaller programs made from m: change number k of them, or false if there are no more. */
bool gen_smaller(const struct gen_program *m, int k, struct gen_program *ret);

enum { GEN_BUMP, GEN_TIMES, GEN_FMA, GEN_USER_OPS };
#define GEN_USER_ARGS 2
extern const struct rt_user_op gen_user_ops[GEN_USER_OPS];
/* What the op is made with: one of GEN_USER_ARGS, or NULL if it takes nothing. */
void *gen_user_arg(int op, int which);
/* The plain gradient of one of them, added to dx. */
void gen_user_gradient(const struct rt_user_op *op, const double *const *in, const double *dy, double *const *dx,
		       const struct rt_shape *shapes, void *arg);
#endif
