/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_DESIGN_H
#define BN_DESIGN_H
/*
 * Two-level designs: which factors are on in which block. A block is a fold-over pair. One launch group has a row of
 * the design and the other the mirror image of that row. Drift and all interactions of two factors cancel in the
 * difference, and each block measures each factor.
 */
#include "bench/stats/rng.h"
#include "bench/stats/stats.h"

struct bn_design {
	size_t factors, rows;
	signed char *sign; /* rows x factors, +1 or -1; +1: the factor is on in the changed arm and off in the other */
};
/* Fills ret with rows of a Hadamard matrix in random order with random signs. Rows are repeated until at least `spare`
 * rows remain for the error. At most BN_DESIGN_MAX factors. */
#define BN_DESIGN_MAX 63
#define BN_DESIGN_SPARE 10 /* rows that gpubench prove leaves for the error */
void bn_design_make(size_t factors, size_t spare, struct bn_rng *rng, struct bn_design *ret);
void bn_design_clear(struct bn_design *d);
#define bn_auto_design	__attribute__((cleanup(bn_design_clear))) struct bn_design

/* Fits y (n values) on the rows `row[i]` of the design by least squares. Fills ret with the effect of each factor, its
 * t interval at 1 - alpha and its p value, with n - factors degrees of freedom. Returns false, with all values NaN, if
 * the fit cannot be computed. */
bool bn_design_fit(const struct bn_design *d, const double *y, const size_t *row, size_t n, double alpha,
		   struct bn_effect *ret);
#endif
