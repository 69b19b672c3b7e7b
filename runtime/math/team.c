/* SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include "runtime/math/team.h"
#include "runtime/runtime.h"

int rt_cpu_open(struct rt_cpu *cpu, int threads, struct gt_err *err)
{
	*cpu = (struct rt_cpu){
		/* A team cannot exceed OMP_THREAD_LIMIT, and libraries divide work by the requested size. */
		.threads = GT_MIN(threads > 0 ? threads : omp_get_max_threads(), omp_get_thread_limit()),
		.simd = rt_simd_best(),
	};
	return 0;
}

struct rt_omp rt_cpu_enter(const struct rt_cpu *cpu)
{
	struct rt_omp before = { .dynamic = omp_get_dynamic(), .threads = omp_get_max_threads() };

	omp_set_dynamic(0);
	omp_set_num_threads(cpu->threads);
	return before;
}

void rt_cpu_leave(const struct rt_omp *before)
{
	omp_set_dynamic(before->dynamic);
	omp_set_num_threads(before->threads);
}

int rt_cpu_team(const struct rt_cpu *cpu, double bytes)
{
	return bytes < 1 << 20 ? 1 : cpu->threads;
}

const char *rt_cpu_isa(void)
{
	return rt_simd_best()->name;
}
