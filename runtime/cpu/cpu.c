/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <malloc.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "runtime/cpu/cpu.h"

#define AT(ID, name) [RT_OP_##ID] = &rt_cpu_##name,
#define ENTRY(ID, name, kernels) RT_CPU_##kernels(AT, ID, name)
const struct rt_cpu_kernel *const rt_cpu_kernels[RT_N_OPS] = { RT_OPS(ENTRY) };

static atomic_bool heap_kept;

/* The product library allocates packing buffers in every call. If malloc returns them to the kernel, each step takes
 * page faults. Other allocators ignore this setting. */
void rt_keep_heap(void)
{
	if (atomic_exchange(&heap_kept, true))
		return;
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_ARENA_MAX, 1);
}

/* Allocates and frees as many blocks of each size as glibc's per-thread cache holds. Later free() calls of these sizes
 * then reach the heap, where neighbouring blocks coalesce. */
static void fill_cache(void)
{
	enum { SIZES = 64, EACH = 7, LEAST = 24, STEP = 16 };
	void *blocks[SIZES * EACH];

	for (int i = 0; i < SIZES * EACH; i++)
		blocks[i] = malloc((size_t)(LEAST + i / EACH * STEP));
	for (int i = 0; i < SIZES * EACH; i++)
		free(blocks[i]);
}

/*
 * The library's buffers are aligned. Fragments of glibc's memalign() below 1 KiB go to the calling thread's cache and
 * prevent their neighbours from coalescing until that cache is full. For hundreds of steps, single allocations then
 * find less space than before, and the heap grows. Therefore the caches of all threads are filled at once.
 *
 * The order of the threads' buffers in the heap also varies between steps. Therefore the free space at the end of the
 * heap after the first steps is touched once, and three times as much after it.
 */
void rt_cpu_make_room(const struct rt_cpu *cpu)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	enum { PAGE = 4096, BLOCK = 8 * PAGE, MOST = 64 << 20 };
	static _Atomic size_t made; /* bytes touched by this function so far */
	size_t room, before = made, need;
	char **blocks = NULL, **block;

	if (!heap_kept)
		return;
#pragma omp parallel num_threads(cpu->threads)
	fill_cache();
	room = mallinfo2().fordblks;
	need = 3 * GT_MIN(room - GT_MIN(room, before), (size_t)MOST);
	if (need <= before)
		return;
	made = need;
	for (size_t got = 0; got < room + need - before && (block = malloc(BLOCK)); got += BLOCK) {
		for (size_t i = PAGE; i < BLOCK; i += PAGE)
			((volatile char *)block)[i] = 0;
		*block = (char *)blocks;
		blocks = block;
	}
	while (blocks) {
		block = blocks;
		blocks = (char **)(void *)*block;
		free(block);
	}
#endif
}

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
