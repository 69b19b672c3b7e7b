/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPHS_GENERATED_H
#define TESTS_GRAPHS_GENERATED_H
/*
 * The generator: a program of the runtime's public ops, derived from bytes that are random or come from libFuzzer. The program is a
 * list of steps, so that it can be rebuilt with other sizes, shrunk, and printed.
 */
#include "lib/err.h"
#include "runtime/graph/ir.h"

#define GEN_STEPS  96
#define GEN_INPUTS 5
#define GEN_BYTES  512 /* maximum number of bytes that the generator consumes */

enum gen_op {
	/* leaves */
	GEN_INPUT, GEN_IDS, GEN_PARAM, GEN_BUFFER, GEN_VARIANCE,
	GEN_LINEAR, GEN_MATMUL, GEN_CONV, GEN_BATCHNORM, GEN_LAYERNORM, GEN_RMSNORM, GEN_EMBEDDING, GEN_ATTENTION, GEN_ROPE,
	GEN_SWIGLU, GEN_ACT, GEN_ADD, GEN_MUL, GEN_AFFINE, GEN_DROPOUT, GEN_SOFTMAX, GEN_REDUCE, GEN_RESHAPE, GEN_MAX_POOL,
	GEN_AVG_POOL, GEN_PAD, GEN_USER,
	/* losses */
	GEN_CROSS_ENTROPY, GEN_DOT,
	GEN_N,
};
/* Distribution of the values of a leaf: around 0, around 1, or weights scaled by their fan-in. */
enum gen_spread { GEN_ZERO, GEN_ONE, GEN_WEIGHT };
struct gen_step {
	enum gen_op op;
	int in[GEN_INPUTS];   /* other steps, or -1 */
	int a[4];	       /* attributes of the op, see gen_apply(); leaf: its spread; ids: their limit, and whether
				* some are ignored */
	struct rt_shape shape; /* shape of a leaf or a reshape */
};
struct gen_program {
	struct gen_step step[GEN_STEPS]; /* the last one is the loss */
	int n;
	struct gen_step refused; /* the first step that the library rejected during generation */
	int refused_at;		  /* number of steps before it; 0: no step was rejected */
	uint64_t seed;		  /* seed of all values of leaves */
	uint8_t how[16];	  /* bytes from which the properties derive their options */
	bool dropout;		  /* dropouts are active */
	bool pixels;		  /* inputs are bytes v with the value (v / 255 - mean) / std */
};
#define GEN_PIXEL_MEAN 0.45f
#define GEN_PIXEL_STD	0.25f
/* Variable dimension: batches, or sequences, have GEN_ROWS rows by default and between the other two numbers in the shape
 * properties. Other dimensions never have this number. */
#define GEN_ROWS      6
#define GEN_MOST_ROWS 10
#define GEN_LEAST_ROWS 4

/* Selects sizes for CUDA: its kernels read rows in pieces of 16 bytes, tensor cores take multiples of 16. */
extern const bool gen_for_device;
/* Derives a program from the bytes. All byte strings are valid. */
void gen_draw(struct gen_program *m, const uint8_t *bytes, size_t n);

struct gen_graph {
	struct rt_graph *g;
	struct rt_node *node[GEN_STEPS]; /* node of each step */
	struct rt_node *loss;
};
/* Builds the graph. Returns 0 or the error of the library. The caller frees ret in both cases. rows replaces GEN_ROWS. */
int gen_build(const struct gen_program *m, int64_t rows, struct gen_graph *ret, struct gt_err *err);
void gen_graph_free(struct gen_graph *mg);
struct rt_node *gen_apply(struct gen_graph *mg, const struct gen_program *m, const struct gen_step *s, int64_t rows);
bool gen_is_leaf(enum gen_op op);
const char *gen_op_name(enum gen_op op);
/* Prints one line per step. */
void gen_print(const struct gen_program *m, FILE *to);

/* Returns element i of a leaf. t is the batch, for inputs. */
double gen_value(const struct gen_program *m, int step, uint64_t t, uint64_t i, int64_t fan_in);
/* Returns the inputs of batch t in the order of declaration. The caller frees them with gen_inputs_free(). */
void **gen_inputs(const struct gen_program *m, const struct gen_graph *mg, uint64_t t);
void gen_inputs_free(void **inputs);
/* Returns the values of all leaves as doubles, by node id, with the inputs of batch t. Other nodes have NULL. */
double **gen_leaves(const struct gen_program *m, const struct gen_graph *mg, uint64_t t);
void gen_values_free(double **values, int n);
/* Writes the parameters and buffers of p. */
void gen_load(const struct gen_program *m, const struct gen_graph *mg, struct rt_program *p);

/*
 * Returns program m after step k of shrinking. Returns false if there are no more steps. ret->n is 0 if the step does
 * not apply.
 */
bool gen_shrink(const struct gen_program *m, int k, struct gen_program *ret);

enum { GEN_BUMP, GEN_TIMES, GEN_FMA, GEN_USER_OPS };
#define GEN_USER_ARGS 2
extern const struct rt_user_op gen_user_ops[GEN_USER_OPS];
/* The argument of the op: one of GEN_USER_ARGS, or NULL if the op takes none. */
void *gen_user_arg(int op, int which);
/* Adds the reference gradient of a user op to dx. */
void gen_user_gradient(const struct rt_user_op *op, const double *const *in, const double *dy, double *const *dx,
		       const struct rt_shape *shapes, void *arg);
#endif
