/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PROGRAM_H
#define RT_PROGRAM_H
#include "runtime/cpu/cpu.h"
#include "runtime/exec/arena.h"
#include "runtime/pass/pass.h"

struct rt_program {
	struct rt_options opt;
	struct rt_plan plan;
	struct rt_arena arena;
	struct rt_cpu cpu;
	int64_t step;
	int64_t steps_profiled;
	json_t *passes;
};
void rt_program_init_params(struct rt_program *p);
/* First node that is not finite when the forward pass is run again call by call; NULL if all are. */
const struct rt_node *rt_program_find_nonfinite(struct rt_program *p);
#endif
