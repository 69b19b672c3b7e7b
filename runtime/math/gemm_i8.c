/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INT8 products: packing of the weight, and the loops around the tiles of math/int8_body.h. A task is a block of rows and a
 * strip of columns. The thread that claims it quantises the rows into memory of its own, which stays in its L2 cache. With
 * many rows, a task has all columns, so each row is quantised once. The results do not depend on the thread.
 */
#include <math.h>
#include <omp.h>
#include <string.h>
#include "runtime/math/int8.h"

/* Bytes of the quantised rows of a task: a quarter of an L2 cache. */
#define BLOCK_BYTES	(INT64_C(256) << 10)
/* Largest number of tiles in a task, one below the other. */
#define BLOCK_TILES	INT64_C(16)
/* Smallest number of tasks per thread. */
#define TASKS		4
/* Work below this, in multiplications, runs on one thread: about 50 us. */
#define TEAM_PRODUCTS	8e6
#define LINE		INT64_C(64)

/* Quantises output j. */
static void pack_output(const struct rt_i8_weight *to, const float *w, int64_t j, int64_t channels, int64_t taps)
{
	int64_t groups = rt_i8_groups(to->k);
	int8_t *panel = to->packed + j / RT_I8_COLS * groups * RT_I8_COLS * RT_I8_GROUP + j % RT_I8_COLS * RT_I8_GROUP;
	float most = 0, bad = 0, inverse;
	int32_t sum = 0;

	for (int64_t i = 0; i < to->k; i++) {
		most = fmaxf(most, fabsf(w[i]));
		bad += w[i] * 0;
	}
	inverse = most > 0 && bad == 0 ? 127 / most : 0;
	for (int64_t k = 0; k < to->k; k++) {
		int8_t v = (int8_t)lrintf(w[k % channels * taps + k / channels] * inverse);

		panel[k / RT_I8_GROUP * RT_I8_COLS * RT_I8_GROUP + k % RT_I8_GROUP] = v;
		sum += v;
	}
	to->scale[j] = most > 0 ? most / 127 + bad : 1 + bad;
	to->sum[j] = sum;
}

void rt_i8_pack(const struct rt_cpu *cpu, const struct rt_i8_weight *to, const float *w, int64_t channels, int64_t taps)
{
	int64_t padded = rt_i8_padded(to->n);
	int team = rt_cpu_team(cpu, 4.0 * (double)to->n * (double)to->k);

	memset(to->packed, 0, (size_t)(padded * rt_i8_groups(to->k) * RT_I8_GROUP));
	memset(to->scale, 0, (size_t)padded * sizeof(float));
	memset(to->sum, 0, (size_t)padded * sizeof(int32_t));
#pragma omp parallel for num_threads(team) if (team > 1)
	for (int64_t j = 0; j < to->n; j++)
		pack_output(to, w + j * to->k, j, channels, taps);
}

/* Memory of one thread. */
struct block {
	int64_t row;	   /* first row of the quantised block; -1: none */
	uint32_t *packed;  /* tiles of (groups,rows), one after the other */
	uint8_t *rows;	   /* the rows of one tile */
	float *scale;    /* scales of all rows of the block */
	int32_t *zero;
};

struct loops {
	const struct rt_i8_product *p;
	const struct rt_i8 *kernels;
	const struct rt_tiles *tiles; /* for the transposition of activations; may be NULL */
	int64_t groups, ld, row_tiles, blocks, panels, strips;
};

static int64_t rows_stride(int64_t k)
{
	return (rt_i8_groups(k) * RT_I8_GROUP + LINE - 1) / LINE * LINE + LINE; /* not a multiple of a page */
}

static int64_t block_rows(int64_t k, int64_t tile_rows)
{
	return GT_MIN(GT_MAX(BLOCK_BYTES / k / tile_rows, 1), BLOCK_TILES) * tile_rows;
}

static size_t block_bytes(int64_t k)
{
	int64_t rows = BLOCK_TILES * RT_I8_TILE_ROWS, packed = GT_MAX(BLOCK_BYTES + 4 * rows, RT_I8_TILE_ROWS * rows_stride(k));

	return (size_t)((packed + RT_I8_TILE_ROWS * rows_stride(k) + rows * 8 + LINE - 1) / LINE * LINE + LINE);
}

size_t rt_i8_scratch_bytes(int64_t k, int threads)
{
	return block_bytes(k) * (size_t)threads;
}

static struct block block_of(void *scratch, int64_t k, int thread)
{
	int64_t rows = BLOCK_TILES * RT_I8_TILE_ROWS;
	char *at = (char *)scratch + block_bytes(k) * (size_t)thread;
	struct block b = { .row = -1, .rows = (uint8_t *)at };

	at += RT_I8_TILE_ROWS * rows_stride(k);
	b.scale = (float *)at;
	b.zero = (int32_t *)(at + rows * 4);
	b.packed = (uint32_t *)(at + rows * 8);
	return b;
}

/* to (groups,rows) = the transpose of rows of 4 bytes each. */
static void pack_rows(const struct loops *l, uint32_t *to, const uint8_t *from, int64_t rows)
{
	if (l->tiles && rows <= l->tiles->rows) { /* moves elements of 4 bytes of any type */
		l->tiles->pack_a((float *)to, (const float *)from, l->ld / RT_I8_GROUP, rows, l->groups);
		return;
	}
	for (int64_t g = 0; g < l->groups; g++)
		for (int64_t i = 0; i < rows; i++)
			memcpy(&to[g * rows + i], from + i * l->ld + g * RT_I8_GROUP, RT_I8_GROUP);
}

static void quantize_block(const struct loops *l, struct block *b, int64_t row, int64_t rows)
{
	int64_t k = l->p->w.k, tail = l->groups * RT_I8_GROUP - k;

	for (int64_t i = 0; i < rows; i += l->kernels->rows) {
		int64_t n = GT_MIN(l->kernels->rows, rows - i);

		l->p->rows(l->p, row + i, n, b->rows, l->ld, b->scale + i, b->zero + i);
		for (int64_t r = 0; tail && r < n; r++)
			memset(b->rows + r * l->ld + k, 0, (size_t)tail);
		pack_rows(l, b->packed + i * l->groups, b->rows, n);
	}
	b->row = row;
}

/* Computes one panel of columns for a block of rows. y: the first row of the block. */
static void multiply_panel(const struct loops *l, const struct block *b, int64_t rows, int64_t panel, float *y)
{
	const struct rt_i8_product *p = l->p;
	int64_t col = panel * RT_I8_COLS, cols = GT_MIN(RT_I8_COLS, p->w.n - col);

	for (int64_t i = 0; i < rows; i += l->kernels->rows) {
		const struct rt_i8_tile t = {
			.a = b->packed + i * l->groups,
			.b = p->w.packed + panel * l->groups * RT_I8_COLS * RT_I8_GROUP,
			.rows = GT_MIN(l->kernels->rows, rows - i),
			.cols = cols,
			.groups = l->groups,
			.row_scale = b->scale + i,
			.row_zero = b->zero + i,
			.col_scale = p->w.scale + col,
			.col_sum = p->w.sum + col,
			.bias = p->bias ? p->bias + col : NULL,
			.act = p->act,
			.y = y + i * p->w.n + col,
			.residual = p->residual ? p->residual + (b->row + i) * p->w.n + col : NULL,
			.ldy = p->w.n,
		};

		l->kernels->tile(&t);
	}
}

/* Returns the first row of block i. */
static int64_t row_of(const struct loops *l, int64_t i)
{
	return GT_MIN(l->row_tiles * i / l->blocks * l->kernels->rows, l->p->m);
}

static void run_task(const struct loops *l, struct block *b, int64_t task)
{
	int64_t at = task / l->strips, row = row_of(l, at), rows = row_of(l, at + 1) - row, strip = task % l->strips;

	if (b->row != row)
		quantize_block(l, b, row, rows);
	for (int64_t panel = l->panels * strip / l->strips; panel < l->panels * (strip + 1) / l->strips; panel++)
		multiply_panel(l, b, rows, panel, l->p->y + row * l->p->w.n);
}

/* Divides the rows into blocks that differ by at most one tile, and the columns if there are too few blocks. */
static void set_tasks(struct loops *l, int team)
{
	int64_t tile = l->kernels->rows, most = block_rows(l->p->w.k, tile), wanted = team > 1 ? TASKS * team : 1;

	l->row_tiles = (l->p->m + tile - 1) / tile;
	l->blocks = (l->p->m + most - 1) / most;
	if (l->blocks < wanted && (l->blocks > 1 || l->p->rows_once))
		l->blocks = GT_MIN(wanted, l->row_tiles);
	l->strips = l->p->rows_once ? 1 : GT_MIN((wanted + l->blocks - 1) / l->blocks, l->panels);
}

static struct loops loops_of(const struct rt_cpu *cpu, const struct rt_i8_product *p)
{
	return (struct loops){ .p = p, .kernels = p->kernels ? p->kernels : rt_i8_best(), .tiles = cpu->simd->tiles,
			       .groups = rt_i8_groups(p->w.k), .ld = rows_stride(p->w.k),
			       .panels = rt_i8_padded(p->w.n) / RT_I8_COLS };
}

void rt_i8_multiply(const struct rt_cpu *cpu, const struct rt_i8_product *p, void *scratch)
{
	int team = (double)p->m * (double)p->w.n * (double)p->w.k < TEAM_PRODUCTS ? 1 : cpu->threads;
	struct loops l = loops_of(cpu, p);
	struct rt_tasks tasks;

	set_tasks(&l, team);
	rt_tasks_init(&tasks, l.blocks * l.strips, team);
#pragma omp parallel num_threads(team) if (team > 1)
	{
		int thread = omp_get_thread_num();
		struct block b = block_of(scratch, p->w.k, thread);

		for (int64_t i; (i = rt_tasks_next(&tasks, thread)) >= 0;)
			run_task(&l, &b, i);
	}
}

size_t rt_i8_tile_scratch_bytes(int64_t k)
{
	return (size_t)(2 * RT_I8_TILE_ROWS * rows_stride(k) + LINE * RT_I8_TILE_ROWS);
}

void rt_i8_multiply_tile(const struct rt_cpu *cpu, const struct rt_i8_product *p, int64_t row, int64_t rows, float *y,
			 void *scratch)
{
	struct loops l = loops_of(cpu, p);
	int64_t bytes = RT_I8_TILE_ROWS * rows_stride(p->w.k);
	char *packed = (char *)scratch + bytes, *scales = packed + bytes;
	struct block b = { .rows = scratch, .packed = (uint32_t *)(void *)packed, .scale = (float *)(void *)scales,
			   .zero = (int32_t *)(void *)(scales + RT_I8_TILE_ROWS * 4) };

	quantize_block(&l, &b, row, rows);
	for (int64_t panel = 0; panel < l.panels; panel++)
		multiply_panel(&l, &b, rows, panel, y);
}
