/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PROGRAM_H
#define RT_PROGRAM_H
#include "runtime/cpu/cpu.h"
#include "runtime/exec/arena.h"
#include "runtime/pass/pass.h"

/* The loss scaler's state. */
struct rt_scale {
	bool on;
	float scale;
	int64_t tracker; /* updates in a row that were not skipped */
	int skipped;	 /* in a row */
};
struct rt_program {
	struct rt_options opt;
	struct rt_plan plan;
	struct rt_arena arena;
	struct rt_cpu cpu;
	int64_t step;
	int64_t steps_profiled;
	/* the update under way */
	int batches;	     /* of it so far */
	double weight;	     /* of the next batch */
	double weights;	     /* of those so far */
	bool overflow;	     /* a loss was not finite */
	struct rt_scale scale;
	json_t *passes;
};
void rt_program_init_params(struct rt_program *p);
/* First node that is not finite when the forward pass is run again call by call; NULL if all are. */
const struct rt_node *rt_program_find_nonfinite(struct rt_program *p);
#endif
