/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "lib/util.h"
#include "runtime/memory/heap.h"
#include "runtime/runtime.h"

static atomic_bool heap_configured;

/* The product library allocates packing buffers in every call. If malloc returns them to the kernel, each step takes
 * page faults. Other allocators ignore this setting. */
void rt_keep_heap(void)
{
	if (atomic_exchange(&heap_configured, true))
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
 * The library's buffers are aligned. glibc's memalign() leaves fragments; those below 1 KiB go to the calling thread's
 * cache. Their neighbours cannot coalesce until that cache is full. For hundreds of steps, single allocations then find
 * less space than before, and the heap grows. Therefore the caches of all threads are filled at once.
 * The order of the threads' buffers in the heap also varies between steps. After the first steps, the free space at the
 * end of the heap is therefore touched once, and three times as much after it.
 */
void rt_heap_reserve(int threads)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	enum { PAGE = 4096, BLOCK = 8 * PAGE, MOST = 64 << 20 };
	static _Atomic size_t touched; /* bytes touched by this function so far */
	size_t room, before = touched, need;
	char **blocks = NULL, **block;

	if (!heap_configured)
		return;
#pragma omp parallel num_threads(threads)
	fill_cache();
	room = mallinfo2().fordblks;
	need = 3 * GT_MIN(room - GT_MIN(room, before), (size_t)MOST);
	if (need <= before)
		return;
	touched = need;
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
