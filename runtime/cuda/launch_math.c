/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of small ops: elementwise and matrix products of two tensors, dropout, softmax, reductions. */
#include <math.h>
#include "runtime/cuda/kernel/rows.h"
#include "runtime/cuda/launch.h"
#include "runtime/graph/reduce.h"

static int64_t elements(const struct rt_node *n)
{
	return rt_shape_elements(&n->shape);
}

static unsigned elements_grid(const struct rt_engine *e, const struct rt_node *n)
{
	return grid(e, elements(n) / width(n));
}

static void run_mul(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = elements(c->in[0]);
	cu_ptr a = rt_at(c->in[0]), b = rt_at(c->in[1]), y = rt_at(c->out[0]);
	int add = accumulates(c, 0);

	RT_LAUNCH(e, typed(RT_K_mul, c->in[0]), elements_grid(e, c->in[0]), 1, RT_THREADS, 1, 0, &n, &a, &b, &y, &add);
}

const struct rt_cuda_kernel rt_cuda_mul = { .run = run_mul };

static void run_affine(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = elements(c->in[0]);
	cu_ptr x = rt_at(c->in[0]), y = rt_at(c->out[0]);
	float factor = c->attr.scale, offset = c->attr.offset;
	int add = accumulates(c, 0);

	RT_LAUNCH(e, typed(RT_K_affine, c->in[0]), elements_grid(e, c->in[0]), 1, RT_THREADS, 1, 0, &n, &factor, &offset, &x, &y,
		  &add);
}

const struct rt_cuda_kernel rt_cuda_affine = { .run = run_affine };

/*
 * The dropped elements depend on the batch number, which the kernel reads. Each replay of a captured step therefore
 * drops other elements.
 */
static void run_dropout(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = elements(c->in[0]), first = c->attr.first_row * rt_cols(c->in[0]);
	uint64_t stream = RT_DROPOUT_STREAM + (uint64_t)c->attr.stream;
	double rate = e->eval ? 0 : (double)c->attr.rate;
	uint32_t limit = (uint32_t)(rate * 4294967296.0);
	float factor = (float)(1 / (1 - rate));
	cu_ptr x = rt_at(c->in[0]), y = rt_at(c->out[0]), step = e->step;
	int add = accumulates(c, 0), ahead = e->stages ? c->microbatch - e->batch : 0;

	RT_LAUNCH(e, typed(RT_K_dropout, c->in[0]), elements_grid(e, c->in[0]), 1, RT_THREADS, 1, 0, &n, &first, &stream, &limit,
		  &factor, &x, &y, &add, &ahead, &step);
}

const struct rt_cuda_kernel rt_cuda_dropout = { .run = run_dropout };

struct rope { /* struct rt_rope of kernel/rope.cuh */
	int len, cols, heads, depth;
	float base_log2, turn;
};

static void run_rope(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0];
	int64_t rows = rt_rows(x), cols = rt_cols(x), rotated = (int64_t)c->attr.heads * c->attr.depth;
	struct rope s = { .len = (int)x->shape.d[1], .cols = (int)cols, .heads = c->attr.heads, .depth = c->attr.depth,
			  .base_log2 = log2f(c->attr.base), .turn = c->attr.scale };
	cu_ptr px = rt_at(x), y = rt_at(c->out[0]);
	int add = accumulates(c, 0);

	RT_LAUNCH(e, typed(RT_K_rope, x), grid(e, rows * (cols - rotated / 2)), 1, RT_THREADS, 1, 0, &y, &px, &rows, &s, &add);
}

const struct rt_cuda_kernel rt_cuda_rope = { .run = run_rope };

/* in: x (rows,2 cols). out: y (rows,cols) */
static void run_swiglu(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = elements(c->out[0]), cols = rt_cols(c->out[0]);
	cu_ptr x = rt_at(c->in[0]), y = rt_at(c->out[0]);

	RT_LAUNCH(e, typed(RT_K_swiglu, c->in[0]), grid(e, n), 1, RT_THREADS, 1, 0, &y, &x, &n, &cols);
}

const struct rt_cuda_kernel rt_cuda_swiglu = { .run = run_swiglu };

/* in: dy (rows,cols), x (rows,2 cols). out: dx (rows,2 cols) */
static void run_swiglu_bwd(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = elements(c->in[0]), cols = rt_cols(c->in[0]);
	cu_ptr dy = rt_at(c->in[0]), x = rt_at(c->in[1]), dx = rt_at(c->out[0]);

	RT_LAUNCH(e, typed(RT_K_swiglu_bwd, c->in[1]), grid(e, n), 1, RT_THREADS, 1, 0, &dx, &dy, &x, &n, &cols);
}

const struct rt_cuda_kernel rt_cuda_swiglu_bwd = { .run = run_swiglu_bwd };

/* One product per index of the leading dimensions. */
static void run_matmul(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *a = c->in[0], *b = c->in[1], *y = c->out[0];
	int64_t m = y->shape.d[y->shape.n - 2], n = rt_cols(y), k = a->shape.d[a->shape.n - (c->attr.ta ? 2 : 1)];
	struct rt_gemm g = { .ta = c->attr.ta, .tb = c->attr.tb, .m = m, .n = n, .k = k, .lda = c->attr.ta ? m : k,
			     .ldb = c->attr.tb ? k : n, .ldc = n, .batch = elements(y) / (m * n), .ab = a->dtype, .c = y->dtype,
			     .beta = accumulates(c, 0) };

	rt_launch_gemm(e, &g, &(struct rt_gemm_args){ .a = rt_at(a), .b = rt_at(b), .c = rt_at(y) });
}

const struct rt_cuda_kernel rt_cuda_matmul = { .run = run_matmul };

/* ---- rows: kernel/softmax.cuh ---- */
struct rows {
	int64_t n;
	int cols, whole;
	unsigned grid, threads;
};

static struct rows rows_of(int64_t n, int64_t cols)
{
	bool whole = cols > RT_WARP_ROW;

	return (struct rows){ n, (int)cols, whole, (unsigned)(whole ? n : (n + 3) / 4), whole ? cols > 8192 ? 1024 : 256 : 128 };
}

static void run_softmax(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0];
	struct rows r = rows_of(rt_rows(x), rt_cols(x));
	cu_ptr px = rt_at(x), y = rt_at(c->out[0]);

	RT_LAUNCH(e, typed(RT_K_softmax, x), r.grid, 1, r.threads, 1, 0, &y, &px, &r.n, &r.cols, &r.whole);
}

const struct rt_cuda_kernel rt_cuda_softmax = { .run = run_softmax };

/* in: dy, y. out: dx */
static void run_softmax_bwd(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *y = c->in[1];
	struct rows r = rows_of(rt_rows(y), rt_cols(y));
	cu_ptr dy = rt_at(c->in[0]), py = rt_at(y), dx = rt_at(c->out[0]);

	RT_LAUNCH(e, typed(RT_K_softmax_bwd, y), r.grid, 1, r.threads, 1, 0, &dx, &dy, &py, &r.n, &r.cols, &r.whole);
}

const struct rt_cuda_kernel rt_cuda_softmax_bwd = { .run = run_softmax_bwd };

static float share_of(const struct rt_call *c, const struct rt_extents *s)
{
	return c->attr.reduction == RT_MEAN ? 1.0f / (float)s->n : 1;
}

/* Returns the grid for reductions over the middle dimension of x: one thread per 16 bytes, or element, of the result. */
static unsigned middle_grid(const struct rt_engine *e, const struct rt_node *x, int64_t items, int64_t inner)
{
	return grid(e, items / (inner % width(x) ? 1 : width(x)));
}

static void run_reduce(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0], *y = c->out[0];
	struct rt_extents s = rt_reduce_extents(x, y, &c->attr);
	struct rows r = rows_of(s.outer, s.n);
	cu_ptr px = rt_at(x), py = rt_at(y);
	float share = share_of(c, &s);
	int add = accumulates(c, 0), max = c->attr.reduction == RT_MAX;

	if (s.inner == 1)
		RT_LAUNCH(e, typed(RT_K_rows_reduce, x), r.grid, 1, r.threads, 1, 0, &py, &px, &r.n, &r.cols, &share, &max, &add,
			  &r.whole);
	else if (max)
		RT_LAUNCH(e, typed(RT_K_middle_max, x), middle_grid(e, x, s.outer * s.inner, s.inner), 1, RT_THREADS, 1, 0, &py,
			  &px, &s.outer, &s.n, &s.inner, &add);
	else
		RT_LAUNCH(e, typed(RT_K_middle_sum, x), middle_grid(e, x, s.outer * s.inner, s.inner), 1, RT_THREADS, 1, 0, &py,
			  &px, &s.outer, &s.n, &s.inner, &share, &add);
}

const struct rt_cuda_kernel rt_cuda_reduce = { .run = run_reduce };

/* in: dy; for a maximum also x, y. out: dx */
static void run_reduce_bwd(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *dy = c->in[0], *dx = c->out[0];
	struct rt_extents s = rt_reduce_extents(dx, dy, &c->attr);
	struct rows r = rows_of(s.outer, s.n);
	cu_ptr px = rt_at(dx), py = rt_at(dy), x = rt_at(c->in[1]), y = rt_at(c->in[2]);
	float share = share_of(c, &s);
	int add = accumulates(c, 0);

	if (c->attr.reduction != RT_MAX)
		RT_LAUNCH(e, typed(RT_K_middle_spread, dx), middle_grid(e, dx, elements(dx), s.inner), 1, RT_THREADS, 1, 0, &px,
			  &py, &s.outer, &s.n, &s.inner, &share, &add);
	else if (s.inner == 1)
		RT_LAUNCH(e, typed(RT_K_rows_max_bwd, dx), r.grid, 1, r.threads, 1, 0, &px, &py, &x, &y, &r.n, &r.cols, &add,
			  &r.whole);
	else
		RT_LAUNCH(e, typed(RT_K_middle_max_bwd, dx), middle_grid(e, dx, s.outer * s.inner, s.inner), 1, RT_THREADS, 1, 0,
			  &px, &py, &x, &y, &s.outer, &s.n, &s.inner, &add);
}

const struct rt_cuda_kernel rt_cuda_reduce_bwd = { .run = run_reduce_bwd };
