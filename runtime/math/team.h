/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_TEAM_H
#define RT_TEAM_H
/* The OpenMP team and the instruction set for computations on the host. */
#include "lib/err.h"
#include "lib/util.h"
#include "runtime/math/simd.h"

struct rt_cpu {
	int threads;
	const struct rt_simd *simd;
};

/* threads 0: OpenMP's default. */
int rt_cpu_open(struct rt_cpu *cpu, int threads, struct gt_err *err);
/* Sets the calling thread's OpenMP team size, which libraries use for their own regions. Returns the previous settings.
 * `rt_auto_omp` restores them at the end of its scope. */
struct rt_omp {
	int dynamic, threads;
};
struct rt_omp rt_cpu_enter(const struct rt_cpu *cpu);
void rt_cpu_leave(const struct rt_omp *before);
#define rt_auto_omp __attribute__((cleanup(rt_cpu_leave), unused)) const struct rt_omp

/* Returns the number of threads for work that moves `bytes` bytes: 1 below 1 MiB (about 50 us). */
int rt_cpu_team(const struct rt_cpu *cpu, double bytes);
/* Sets lo..hi to part i of n parts of 0..count, in multiples of unit. */
static inline void rt_part(int64_t count, int64_t unit, int n, int i, int64_t *lo, int64_t *hi)
{
	int64_t units = (count + unit - 1) / unit;

	*lo = GT_MIN(units * i / n * unit, count);
	*hi = GT_MIN(units * (i + 1) / n * unit, count);
}

/*
 * Tasks of a parallel loop over rows. A thread first takes the tasks of its own part, as in rt_part(), so that it mostly reads what
 * it wrote in the previous op. Then it takes tasks of other parts, so a thread on a shared core computes fewer.
 */
#define RT_TASK_PARTS	64 /* with more threads, several share a part */
struct rt_tasks {
	int parts;
	struct {
		_Alignas(64) _Atomic int64_t next;
		int64_t end;
	} part[RT_TASK_PARTS];
};
static inline void rt_tasks_init(struct rt_tasks *t, int64_t n, int team)
{
	t->parts = team < RT_TASK_PARTS ? team : RT_TASK_PARTS;
	for (int i = 0; i < t->parts; i++) {
		int64_t first;

		rt_part(n, 1, t->parts, i, &first, &t->part[i].end);
		t->part[i].next = first;
	}
}

/* Returns the next task of a thread, or -1. */
static inline int64_t rt_tasks_next(struct rt_tasks *t, int thread)
{
	for (int i = 0; i < t->parts; i++) {
		int k = (thread + i) % t->parts;
		int64_t task = t->part[k].next < t->part[k].end ? t->part[k].next++ : t->part[k].end;

		if (task < t->part[k].end)
			return task;
	}
	return -1;
}
#endif
