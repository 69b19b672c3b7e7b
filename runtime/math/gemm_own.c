/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f32 products with the runtime's own tiles (math/simd_gemm.h). The team packs all of a first. Then threads claim strips
 * of c's columns dynamically, so a thread on a shared core computes fewer strips. The claiming thread packs the strip's
 * part of b, which stays in that core's L2 cache. Each element is one sum in the order of k, so the bits do not depend
 * on the thread.
 */
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/math/gemm.h"

/* Block of b that a thread packs at once: 256 KiB, a quarter of an L2 cache. */
#define K_BLOCK		INT64_C(1024)
#define B_FLOATS	(64 * K_BLOCK)
/* Floats of packed a: 16 MiB. Larger products are done in parts. */
#define A_FLOATS	(INT64_C(4) << 20)
/* Smallest number of tasks per thread. Several tasks per thread shorten the wait for the last one. */
#define TASKS		4
/* Smallest number of rows that justifies packing a part of b. */
#define ROWS_ALONE	128
#define LINE		16 /* floats */

struct product {
	const struct rt_tiles *t;
	bool add;
	int64_t m, n, k, lda, ldb, ldc, panels, k_blocks;
	int64_t strips, strip, parts; /* a task is a strip of at most `strip` columns and one of `parts` parts of the panels */
	int64_t row;	      /* first row in c, if these m rows are a part of c */
	const float *a, *b;
	float *c, *packed_a, *packed_b;
	const struct rt_gemm_end *end;
};

struct task {
	int64_t col, cols, next; /* next: columns of the thread's likely next task */
	int64_t first, end;	 /* panels */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static float *buffer;
static size_t buffer_bytes;

/* Returns a buffer of at least `bytes`, kept between products. The first step makes it as large as any later step needs. */
static float *packing_memory(size_t bytes)
{
	const size_t huge = (size_t)2 << 20;
	void *p;

	if (bytes <= buffer_bytes)
		return buffer;
	bytes = (bytes + huge - 1) / huge * huge;
	p = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (buffer)
		munmap(buffer, buffer_bytes);
	buffer = (float *)(((uintptr_t)p + huge - 1) / huge * huge);
	buffer_bytes = bytes;
	madvise(buffer, bytes, MADV_HUGEPAGE);
	return buffer;
}

/* Returns the first row or inner element of part i of n. */
static int64_t part(int64_t count, int64_t n, int64_t i)
{
	return count * i / n;
}

/* Panels that a thread packs at once. */
#define PANELS	INT64_C(8)

static int64_t row_of(const struct product *p, int64_t panel)
{
	return part(p->m, p->panels, panel);
}

/* Packs panels first..end of rows. Panels have nearly equal size; the blocks of k follow each other. */
static void pack_panels(const struct product *p, int64_t first, int64_t end)
{
	for (int64_t j = 0; j < p->k_blocks; j++) {
		int64_t k = part(p->k, p->k_blocks, j), count = part(p->k, p->k_blocks, j + 1) - k;

		for (int64_t i = first; i < end; i++) {
			int64_t row = row_of(p, i), rows = row_of(p, i + 1) - row;

			p->t->pack_a(p->packed_a + row * p->k + k * rows, p->a + row * p->lda + k, p->lda, rows, count);
		}
	}
}

/* Packs columns col..col+cols, rows k..k+count. */
static void pack_strip(const struct product *p, float *packed, int64_t col, int64_t cols, int64_t k, int64_t count)
{
	for (int64_t q = 0; q < cols; q += p->t->cols)
		p->t->pack_b(packed + q * count, p->b + (col + q) * p->ldb + k, p->ldb, count, GT_MIN(p->t->cols, cols - q));
}

/*
 * Addresses of b that the thread will probably pack next. They are prefetched into its L2 cache, one line per step of
 * the inner loop.
 */
struct ahead {
	const float *at;
	int64_t pass; /* distance in floats between passes over k */
	int passes;
};

static struct ahead ahead_of(const struct product *p, int64_t col, int64_t k, int64_t count)
{
	struct ahead a = { .passes = 0 };

	if (col >= p->n)
		return a;
	a.at = p->b + col * p->ldb + k;
	a.passes = (int)((p->strip + LINE - 1) / LINE);
	a.pass = count * LINE;
	return a;
}

/* Computes rows of panels first..end and columns col..col+cols for one block of k. */
static void strip_block(const struct product *p, float *packed, const struct task *t, int64_t j)
{
	int64_t k = part(p->k, p->k_blocks, j), count = part(p->k, p->k_blocks, j + 1) - k;
	bool last = j + 1 == p->k_blocks;
	struct ahead next = last ? ahead_of(p, t->next, 0, part(p->k, p->k_blocks, 1)) :
				   ahead_of(p, t->col, k + count, part(p->k, p->k_blocks, j + 2) - k - count);

	pack_strip(p, packed, t->col, t->cols, k, count);
	for (int64_t i = t->first; i < t->end; i++) {
		int64_t row = row_of(p, i), rows = row_of(p, i + 1) - row;
		const float *a = p->packed_a + row * p->k + k * rows;

		for (int64_t q = 0; q < t->cols; q += p->t->cols) {
			p->t->tile(p->c + row * p->ldc + t->col + q, p->ldc, a, packed + q * count, rows,
				   GT_MIN(p->t->cols, t->cols - q), count, p->add || j, next.passes > 0 ? next.at : NULL,
				   LINE);
			if (next.passes-- > 0)
				next.at += next.pass;
		}
		if (last && p->end)
			p->end->run(p->end, p->row + row, rows, t->col, t->cols);
	}
}

/* Returns the first column of strip i. If strips cannot be equal, the first ones are a tile wider, so that the last
 * task is short. */
static int64_t col_of(const struct product *p, int64_t i)
{
	int64_t unit = p->t->cols, units = (p->n + unit - 1) / unit;

	return GT_MIN((units / p->strips * i + GT_MIN(units % p->strips, i)) * unit, p->n);
}

static void multiply(const struct product *p, int team)
{
#pragma omp parallel num_threads(team) if (team > 1)
	{
		float *packed = p->packed_b + p->strip * GT_MIN(p->k, K_BLOCK) * omp_get_thread_num();

#pragma omp for schedule(dynamic)
		for (int64_t i = 0; i < p->panels; i += PANELS)
			pack_panels(p, i, GT_MIN(i + PANELS, p->panels));
#pragma omp for schedule(dynamic)
		for (int64_t i = 0; i < p->strips * p->parts; i++) {
			int64_t strip = i / p->parts, at = i % p->parts, col = col_of(p, strip);
			struct task t = { .col = col, .cols = col_of(p, strip + 1) - col,
					  .next = col_of(p, GT_MIN((i + team) / p->parts, p->strips)),
					  .first = part(p->panels, p->parts, at), .end = part(p->panels, p->parts, at + 1) };

			for (int64_t j = 0; j < p->k_blocks; j++)
				strip_block(p, packed, &t, j);
		}
	}
}

/* Returns the number of rows that are packed at once. */
static int64_t rows_at_once(const struct product *p)
{
	int64_t rows = GT_MAX(A_FLOATS / p->k, p->t->rows), parts = (p->m + rows - 1) / rows;

	return (p->m + parts - 1) / parts;
}

/* Sets the strips: narrow enough for the L2 cache, and a multiple of the team size. */
static void set_strips(struct product *p, int team)
{
	int64_t unit = p->t->cols, units = (p->n + unit - 1) / unit;
	int64_t most = GT_MAX(B_FLOATS / GT_MIN(p->k, K_BLOCK) / unit, 1), strips = (units + most - 1) / most;

	if (p->m < ROWS_ALONE * TASKS * team) /* the rows do not give enough tasks */
		strips = GT_MAX(strips, TASKS * team);
	p->strips = GT_MIN((strips + team - 1) / team * team, units);
	p->strip = (units + p->strips - 1) / p->strips * unit;
}

static int64_t parts_of(const struct product *p, int team)
{
	int64_t parts = (TASKS * team + p->strips - 1) / p->strips;

	return GT_MIN(GT_MAX(p->m / ROWS_ALONE, 1), parts);
}

bool rt_gemm_own(const struct rt_cpu *cpu, int team, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
		 const float *b, int64_t ldb, bool add, float *c, int64_t ldc, const struct rt_gemm_end *end)
{
	struct product p = { .t = cpu->simd->tiles, .add = add, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc,
			     .a = a, .b = b, .c = c, .end = end };
	int64_t rows, strip_floats;

	if (!p.t || m < 1 || n < 1 || k < 1)
		return false;
	p.k_blocks = (k + K_BLOCK - 1) / K_BLOCK;
	set_strips(&p, team);
	rows = rows_at_once(&p);
	strip_floats = p.strip * GT_MIN(k, K_BLOCK);
	pthread_mutex_lock(&lock);
	p.packed_b = packing_memory((size_t)(strip_floats * team + rows * k + 64) * sizeof(float));
	if (!p.packed_b) {
		pthread_mutex_unlock(&lock);
		return false;
	}
	p.packed_a = p.packed_b + (strip_floats * team + 15) / 16 * 16;
	for (int64_t row = 0; row < m; row += rows) {
		p.m = GT_MIN(rows, m - row);
		p.a = a + row * lda;
		p.c = c + row * ldc;
		p.row = row;
		p.panels = (p.m + p.t->rows - 1) / p.t->rows;
		p.parts = parts_of(&p, team);
		multiply(&p, team);
	}
	pthread_mutex_unlock(&lock);
	return true;
}
