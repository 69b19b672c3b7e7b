/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPHS_PLAIN_H
#define TESTS_GRAPHS_PLAIN_H
/*
 * What a graph means: each op's plain definition in double, one after the other. And how much of it float arithmetic may lose,
 * counted for this very graph and these values: the same once more with everything that an op reads and writes off by as much
 * as rounding, at random, makes a spread (discrete stochastic arithmetic). A step of a program is wrong when it is off by
 * many times as much.
 */
#include "runtime/graph/ir.h"

struct plain_how {
	uint64_t pattern; /* which random errors; 0: none */
	double level;	  /* theirs, relative */
	double low;	  /* of what an op reads in a low type; 0: as level */
	bool eval;	  /* batchnorms take their running statistics */
};
struct plain {
	double **value;	  /* by node id; those of leaves are the caller's */
	int n_nodes;
	uint64_t choices; /* hash of all that relus and maxima chose: equal, unless there is a kink between two runs */
};
void plain_run(const struct rt_graph *g, double *const *leaves, const struct plain_how *how, struct plain *ret);
void plain_clear(const struct rt_graph *g, struct plain *p);
double plain_loss(const struct rt_graph *g, const struct rt_node *loss, double *const *leaves, const struct plain_how *how,
		  uint64_t *ret_choices);

/* One sign for each element of a parameter: the direction in which a gradient is looked at. */
double plain_sign(const struct rt_node *n, uint64_t i);
/* The loss's slope in that direction, by differences of fourth order. False if there is a kink near. */
bool plain_slope(const struct rt_graph *g, const struct rt_node *loss, double **leaves, const struct rt_node *param,
		 const struct plain_how *how, double *ret);
/* Gradients behind a norm are 1 / deviation times those before it, made of sums that cancel by as much as the mean is larger: the
 * most of that in any norm of the graph, 1 at least. */
double plain_sharpest(const struct rt_graph *g, const struct plain *p);
#endif
