/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <malloc.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "runtime/cpu/cpu.h"

static rt_kernel *const kernels[RT_N_OPS] = {
	[RT_OP_LINEAR] = rt_cpu_linear,
	[RT_OP_LINEAR_BWD_X] = rt_cpu_linear_bwd_x,
	[RT_OP_LINEAR_BWD_W] = rt_cpu_linear_bwd_w,
	[RT_OP_EMBEDDING] = rt_cpu_embedding,
	[RT_OP_EMBEDDING_BWD] = rt_cpu_embedding_bwd,
	[RT_OP_LAYERNORM] = rt_cpu_layernorm,
	[RT_OP_ADD_LAYERNORM] = rt_cpu_add_layernorm,
	[RT_OP_LAYERNORM_BWD] = rt_cpu_layernorm_bwd,
	[RT_OP_ATTENTION] = rt_cpu_attention,
	[RT_OP_ATTENTION_BWD] = rt_cpu_attention_bwd,
	[RT_OP_ACT] = rt_cpu_act,
	[RT_OP_ACT_BWD] = rt_cpu_act_bwd,
	[RT_OP_ADD] = rt_cpu_add,
	[RT_OP_CONV] = rt_cpu_conv,
	[RT_OP_CONV_BWD_X] = rt_cpu_conv_bwd_x,
	[RT_OP_CONV_BWD_W] = rt_cpu_conv_bwd_w,
	[RT_OP_BATCHNORM] = rt_cpu_batchnorm,
	[RT_OP_BATCHNORM_BWD] = rt_cpu_batchnorm_bwd,
	[RT_OP_MAX_POOL] = rt_cpu_max_pool,
	[RT_OP_MAX_POOL_BWD] = rt_cpu_max_pool_bwd,
	[RT_OP_AVG_POOL] = rt_cpu_avg_pool,
	[RT_OP_AVG_POOL_BWD] = rt_cpu_avg_pool_bwd,
	[RT_OP_PAD] = rt_cpu_pad,
	[RT_OP_PAD_BWD] = rt_cpu_pad_bwd,
	[RT_OP_RESHAPE] = rt_cpu_reshape,
	[RT_OP_REDUCE] = rt_cpu_reduce,
	[RT_OP_REDUCE_BWD] = rt_cpu_reduce_bwd,
	[RT_OP_SOFTMAX] = rt_cpu_softmax,
	[RT_OP_SOFTMAX_BWD] = rt_cpu_softmax_bwd,
	[RT_OP_RMSNORM] = rt_cpu_rmsnorm,
	[RT_OP_RMSNORM_BWD] = rt_cpu_rmsnorm_bwd,
	[RT_OP_MUL] = rt_cpu_mul,
	[RT_OP_AFFINE] = rt_cpu_affine,
	[RT_OP_DROPOUT] = rt_cpu_dropout,
	[RT_OP_MATMUL] = rt_cpu_matmul,
	[RT_OP_USER] = rt_cpu_user,
	[RT_OP_USER_BWD] = rt_cpu_user_bwd,
	[RT_OP_FOLD] = rt_cpu_fold,
	[RT_OP_PIXELS] = rt_cpu_pixels,
	[RT_OP_CROSS_ENTROPY] = rt_cpu_cross_entropy,
	[RT_OP_LINEAR_CROSS_ENTROPY] = rt_cpu_linear_cross_entropy,
	[RT_OP_DOT] = rt_cpu_dot,
	[RT_OP_CAST] = rt_cpu_cast,
	[RT_OP_SCALE] = rt_cpu_scale,
	[RT_OP_SUM_UP] = rt_cpu_sum_up,
	[RT_OP_GRAD_NORM] = rt_cpu_grad_norm,
	[RT_OP_SGD] = rt_cpu_sgd,
	[RT_OP_ADAMW] = rt_cpu_adamw,
	[RT_OP_ADAMW8] = rt_cpu_adamw8,
};

static atomic_bool heap_kept;

/* The product library allocates packing buffers in every call. If malloc returns them to the kernel, each step takes page faults.
 * Other allocators ignore this. */
void rt_keep_heap(void)
{
	if (atomic_exchange(&heap_kept, true))
		return;
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_ARENA_MAX, 1);
}

/* As many blocks of each size as glibc keeps for a thread, taken and given back: those of others go to the heap then, and there
 * they grow together. */
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
 * The library's buffers are aligned. Splinters of glibc's memalign() below 1 KiB go to the cache of the thread that asked and
 * keep the rest from growing together, until that cache is full of them: for hundreds of steps one or the other finds less
 * room than those before, and the heap grows. So all threads' caches are filled at once. And how threads' buffers lie beside
 * each other is a matter of who came first: what is free behind the first steps is touched once, and three times as much
 * behind it.
 */
void rt_cpu_make_room(const struct rt_cpu *cpu)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	enum { PAGE = 4096, BLOCK = 8 * PAGE, MOST = 64 << 20 };
	static _Atomic size_t made; /* of it by us */
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
		/* OMP_THREAD_LIMIT gives a team no more, whatever is asked for: libraries divide their work by what they ask for */
		.threads = GT_MIN(threads > 0 ? threads : omp_get_max_threads(), omp_get_thread_limit()),
		.simd = rt_simd_best(),
		.kernels = kernels,
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
