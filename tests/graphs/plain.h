/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPHS_PLAIN_H
#define TESTS_GRAPHS_PLAIN_H
/*
 * The oracle: values of a graph by each op's reference in double, and gradients by the references of gradients.c. The error
 * bound of float arithmetic comes from the same computation with random relative errors. All values that an op reads and writes
 * have such errors (discrete stochastic arithmetic). A tensor of a program is wrong if its error is many times as large.
 */
#include "runtime/graph/ir.h"

struct plain_how {
	uint64_t pattern; /* seed of the random errors; 0: no errors */
	double level;	  /* size of the relative errors */
	double low;	  /* the same for inputs in reduced precision; 0: as level */
	double least;	  /* least absolute error: subnormal numbers have fewer digits */
	double input;	  /* absolute error of inputs converted from bytes, the same for all their readers */
	bool back_only;	  /* no errors in the forward pass */
	bool eval;	  /* batchnorms use their running statistics */
	double *const *masks; /* factor of each element, by node id of a dropout's result; NULL: no dropout */
};
struct plain {
	double **value;	  /* values by node id; the caller owns those of leaves */
	double **slope;	  /* gradient by node id; NULL: the loss does not depend on the node */
	int n_nodes;
	uint64_t choices; /* hash of the branches of all relus and maxima; two runs differ if a kink is between them */
};
void plain_run(const struct rt_graph *g, double *const *leaves, const struct plain_how *how, struct plain *ret);
void plain_run_back(const struct rt_graph *g, const struct rt_node *loss, const struct plain_how *how, struct plain *p);
void plain_clear(const struct rt_graph *g, struct plain *p);

/* Returns the random sign of an element; all signs together are the direction of the directional derivative. */
double plain_sign(const struct rt_node *n, uint64_t i);
/* The directional derivative of the loss by differences of fourth order with step h. Returns false if a kink is near. */
bool plain_difference(const struct rt_graph *g, const struct rt_node *loss, double **leaves, const struct rt_node *param,
		      const struct plain_how *how, double h, double *ret);

/* ---- for gradients.c ---- */
enum plain_type { PLAIN_F32, PLAIN_LOW, PLAIN_LOW_SLOPE };
double plain_noise(uint64_t stream, uint64_t i);
uint64_t plain_stream(const struct plain_how *how, int at);
/* Returns a copy of x, the values or the gradient of n, with the errors that a reader sees. */
double *plain_read(const double *x, const struct rt_node *n, uint64_t stream, const struct plain_how *how, enum plain_type type);
#endif
