/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPHS_KNOWN_H
#define TESTS_GRAPHS_KNOWN_H
/* A generated program with one batch whose values are not near a kink: its exact values and the error bound of float arithmetic.
 * Dropout masks are those of the first batch of a program with seed 0. */
#include "tests/graphs/plain.h"
#include "tests/graphs/variants.h"

#define KNOWN_PATTERNS	6

struct known {
	struct gen_program m;
	struct gen_graph mg;
	void **inputs;
	double **leaves, **masks; /* by node id */
	struct plain_how how;
	double relative; /* tolerance in addition to the spread; larger for long sums */
	struct plain exact, shaken[KNOWN_PATTERNS];
};
/*
 * how has the type, the statistics of batchnorms, and the error level if it is larger than that of float; know() sets
 * the pattern. Returns false if all tried values are near a kink; then there is nothing to clear.
 */
bool know(struct known *k, const struct gen_program *m, struct plain_how how);
/* The same for this batch even near kinks, without dropout: the error bound of a backward pass that starts from the forward values
 * of another program. */
void know_back(struct known *k, const struct gen_program *m, uint64_t batch, int64_t rows);
void known_clear(struct known *k);
/* Returns whether a value or a gradient, with its errors, is larger than the type can represent. */
bool known_exceeds(const struct known *k, double most);

/* The error bounds of a tensor and of its gradient. */
double known_off(const struct known *k, const struct rt_node *n);
double known_slope_off(const struct known *k, const struct rt_node *n);
bool known_loss(struct trial *t, const struct known *k, double got, const char *how);
bool known_value(struct trial *t, const struct known *k, const struct rt_node *n, const float *got, const char *how);
/* Compares `got`, multiplied by `scale`, with the known values; NULL means zeros. */
bool known_slope(struct trial *t, const struct known *k, const struct rt_node *n, const float *got, double scale, const char *how);
/* Compares the reference gradients with differences of the reference values. */
bool known_agrees(struct trial *t, const struct known *k);
/* Counts in t the gradients of parameters, and those whose error bound is more than 2 %. */
void known_count(struct trial *t, const struct known *k);
#endif
