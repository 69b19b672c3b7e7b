/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_RUNTIME_H
#define CHECK_RUNTIME_H
#include <check.h>
#include "lib/json.h"
#include "runtime/cases/cases.h"
#include "runtime/math/simd.h"
#include "runtime/runtime.h"

TCase *case_ops(void);
TCase *case_nn(void);
TCase *case_plan(void);
TCase *case_simd(void);
TCase *case_train(void);
TCase *case_errors(void);
TCase *case_amp(void);
TCase *case_prune(void);
TCase *case_units(void);
TCase *case_update(void);
TCase *case_shapes(void);
TCase *case_winograd(void);
TCase *case_checkpoint(void);
TCase *case_hf(void);
TCase *case_team(void);
TCase *case_alloc(void);
TCase *case_debug(void);
TCase *case_norm(void);
TCase *case_ties(void);
TCase *case_outputs(void);
TCase *case_int8(void);
TCase *case_cache(void);

/* Values for every leaf of a graph: the same numbers as doubles and in the leaf's dtype. */
struct leaves {
	int n;
	double **value;	    /* [leaf][element] */
	const void **input; /* values of the inputs only, in order, for rt_step */
	int n_inputs;
};
/* Normal values times 0.7 around 0.1; ids from 0 to limit - 1. */
void leaves_make(struct leaves *l, const struct rt_graph *g, int limit, uint64_t seed);
/* Returns the values of a case. */
void leaves_of_case(struct leaves *l, const struct rt_case *c, const struct rt_graph *g, const struct rt_case_graph *built,
		    uint64_t seed);
void leaves_free(struct leaves *l);
/* Lists the kernels of every instruction set of this machine; returns their number. */
int simd_tables(const struct rt_simd *ret[3]);
/* Sets the parameters of p to the values of l. */
void leaves_load(const struct leaves *l, const struct rt_graph *g, struct rt_program *p);
#endif
