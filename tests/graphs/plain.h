/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPHS_PLAIN_H
#define TESTS_GRAPHS_PLAIN_H
/*
 * The values of a graph by each op's definition in double, and the gradients by each op's definition (gradients.c). Also a bound
 * on the error of float arithmetic for this graph and these values: the same computation with random relative errors on all
 * that an op reads and writes (discrete stochastic arithmetic). A tensor of a program is wrong if it differs by many times as
 * much.
 */
#include "runtime/graph/ir.h"

struct plain_how {
	uint64_t pattern; /* which random errors; 0: none */
	double level;	  /* theirs, relative */
	double low;	  /* of what an op reads in a low type; 0: as level */
	double least;	  /* and at least this much, absolute: below its least normal number a type has fewer digits */
	double input;	  /* and that of inputs, absolute, the same for all who read them: of bytes made into numbers */
	bool back_only;	  /* no errors on the way forward */
	bool eval;	  /* batchnorms take their running statistics */
	double *const *masks; /* by id of what a dropout makes: what each element is multiplied by; NULL: nothing is dropped */
};
struct plain {
	double **value;	  /* by node id; those of leaves are the caller's */
	double **slope;	  /* by node id: of the loss; NULL where it does not depend on the node */
	int n_nodes;
	uint64_t choices; /* hash of all that relus and maxima chose: equal, unless there is a kink between two runs */
};
void plain_run(const struct rt_graph *g, double *const *leaves, const struct plain_how *how, struct plain *ret);
void plain_run_back(const struct rt_graph *g, const struct rt_node *loss, const struct plain_how *how, struct plain *p);
void plain_clear(const struct rt_graph *g, struct plain *p);

/* One sign for each element of a parameter: the direction in which a slope is looked at. */
double plain_sign(const struct rt_node *n, uint64_t i);
/* The loss's slope in that direction, by differences of fourth order and width h. False if there is a kink near. */
bool plain_difference(const struct rt_graph *g, const struct rt_node *loss, double **leaves, const struct rt_node *param,
		      const struct plain_how *how, double h, double *ret);

/* ---- for gradients.c ---- */
enum plain_type { PLAIN_F32, PLAIN_LOW, PLAIN_LOW_SLOPE };
double plain_noise(uint64_t stream, uint64_t i);
uint64_t plain_stream(const struct plain_how *how, int at);
/* A copy of x, values or the slope of n, as who reads it has it. */
double *plain_read(const double *x, const struct rt_node *n, uint64_t stream, const struct plain_how *how, enum plain_type type);
#endif
