/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_DESIGN_H
#define BN_DESIGN_H
/*
 * Two-level designs: which factors are on in which block. A block is a fold-over pair: one launch group with a row of the
 * design and one with its mirror image, so that drift and every interaction of two factors cancel from the difference, and
 * each block tells something about each factor.
 */
#include "bench/stats/rng.h"
#include "bench/stats/stats.h"

struct bn_design {
	size_t factors, rows;
	signed char *sign; /* rows x factors, +1 or -1; +1: on in the changed arm and off in the other */
};
/* Rows of a Hadamard matrix in random order with random signs, repeated until at least `spare` rows are left over for
 * the error. At most BN_DESIGN_MAX factors. */
#define BN_DESIGN_MAX 63
#define BN_DESIGN_SPARE 10 /* rows that gpubench prove leaves for the error */
void bn_design_make(size_t factors, size_t spare, struct bn_rng *rng, struct bn_design *ret);
void bn_design_clear(struct bn_design *d);
#define bn_auto_design	__attribute__((cleanup(bn_design_clear))) struct bn_design

/* Least squares of y (n values) on the rows `row[i]` of the design: effect of each factor with its t interval at 1 - alpha
 * and its p, n - factors degrees of freedom. false, and everything NaN, when that cannot be computed. */
bool bn_design_fit(const struct bn_design *d, const double *y, const size_t *row, size_t n, double alpha,
		   struct bn_effect *ret);
#endif
