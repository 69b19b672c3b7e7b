/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPHS_KNOWN_H
#define TESTS_GRAPHS_KNOWN_H
/* A program and one batch whose values are not near a kink; what they come to plainly, and how far float may be off. What is
 * dropped is what the first batch of a program of seed 0 drops. */
#include "tests/graphs/plain.h"
#include "tests/graphs/variants.h"

#define KNOWN_PATTERNS	6

struct known {
	struct gen_program m;
	struct gen_graph mg;
	void **inputs;
	double **leaves, **masks; /* by node id */
	struct plain_how how;
	double relative; /* what is granted beside the spread: more where long sums are made */
	struct plain exact, shaken[KNOWN_PATTERNS];
};
/* how: its type, what batchnorms take, and a level if it is more than float's; the pattern is set here. false: there is a kink
 * wherever one looks, and nothing to clear. */
bool know(struct known *k, const struct gen_program *m, struct plain_how how);
/* This batch of these very values, kinks or not, and nothing dropped: how far a backward pass may be off that begins with what
 * another had forward. */
void know_back(struct known *k, const struct gen_program *m, uint64_t batch, int64_t rows);
void known_clear(struct known *k);
/* Is a value or a slope, as it may be rounded, beyond what a type can hold? */
bool known_exceeds(const struct known *k, double most);

/* How far float may be off in this tensor; in its slope. */
double known_off(const struct known *k, const struct rt_node *n);
double known_slope_off(const struct known *k, const struct rt_node *n);
bool known_loss(struct trial *t, const struct known *k, double got, const char *how);
bool known_value(struct trial *t, const struct known *k, const struct rt_node *n, const float *got, const char *how);
/* got: NULL stands for zeros; it is `scale` times what it should be. */
bool known_slope(struct trial *t, const struct known *k, const struct rt_node *n, const float *got, double scale, const char *how);
/* Do the plain gradients agree with differences of the plain values? */
bool known_agrees(struct trial *t, const struct known *k);
/* Counts the slopes of parameters in t, and those whose rounding may hide more than a part in 50. */
void known_count(struct trial *t, const struct known *k);
#endif
