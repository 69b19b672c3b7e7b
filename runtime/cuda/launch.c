/* SPDX-License-Identifier: Apache-2.0 */
/* One launcher per op: converts shapes to grids. */
#include <errno.h>
#include "runtime/cuda/launch.h"
#include "runtime/cuda/timing.h"
#include "runtime/graph/cross_entropy.h"

#define NORM_BLOCKS    1056 /* blocks of layernorm_bwd, each with one row of partial sums; half as many for few rows */

void rt_launch_result(struct rt_engine *e, int r, const struct gt_err *err)
{
	if (!r || e->r)
		return;
	e->r = r;
	e->err = *err;
}

static void launch(struct rt_engine *e, cu_stream stream, int kernel, const unsigned grid[2], const unsigned block[2],
		   size_t shared, void **args)
{
	struct gt_err err = { 0 };
	double moves = e->moves;
	int r;

	e->moves = 0;
	if (e->r)
		return;
	if (e->timing && moves > 0)
		rt_timing_moves(e->timing, rt_cuda_kernel_name((enum rt_kernel_id)kernel), moves);
	r = rt_cuda_allow_shared(e->dev, (enum rt_kernel_id)kernel, shared, &err);
	if (!r) {
		r = rt_cuda_check(e->dev,
				  e->dev->d.launch(e->dev->fn[kernel], grid[0], grid[1], 1, block[0], block[1], 1, (unsigned)shared,
						   stream, args, NULL),
				  "cuLaunchKernel", &err);
		if (r)
			gt_fail_prefix(&err, "%s", rt_cuda_kernel_name((enum rt_kernel_id)kernel));
	}
	rt_launch_result(e, r, &err);
}

void rt_launch(struct rt_engine *e, int kernel, unsigned gx, unsigned gy, unsigned bx, unsigned by, size_t shared, void **args)
{
	launch(e, e->stream, kernel, (const unsigned[]){ gx, gy }, (const unsigned[]){ bx, by }, shared, args);
}

void rt_launch_on(struct rt_engine *e, cu_stream stream, int kernel, unsigned gx, unsigned bx, void **args)
{
	launch(e, stream, kernel, (const unsigned[]){ gx, 1 }, (const unsigned[]){ bx, 1 }, 0, args);
}

/* ---- embedding ---- */
static void embedding(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *y = c->out[0];
	int64_t rows = rt_rows(y);
	int len = (int)c->in[0]->shape.d[1], cols = (int)rt_cols(y);
	int first = (int)c->attr.first_row, v = (int)c->in[1]->shape.d[0];
	cu_ptr out = rt_at(y), ids = rt_at(c->in[0]), table = rt_at(c->in[1]), pos = first ? 0 : rt_at(c->in[2]);

	RT_LAUNCH(e, typed(RT_K_embedding, y), grid(e, rows * cols / 4), 1, RT_THREADS, 1, 0, &out, &ids, &table, &pos, &rows,
		  &len, &cols, &first, &v);
}

const struct rt_cuda_kernel rt_cuda_embedding = { .run = embedding };

/* Sorts the positions of each of the v ids from `first` on. Scratch memory: count, start (V+1), place, sorted positions. */
static void sort_ids(struct rt_engine *e, cu_ptr ids, int64_t n, int first, int v, cu_ptr count, cu_ptr start, cu_ptr place,
		     cu_ptr sorted)
{
	struct gt_err err = { 0 };

	if (!e->r)
		rt_launch_result(e,
				 rt_cuda_check(e->dev, e->dev->d.fill_async(count, 0, (size_t)v * 4, e->stream),
					       "cuMemsetD8Async", &err),
				 &err);
	RT_LAUNCH(e, RT_K_ids_count, grid(e, n), 1, RT_THREADS, 1, 0, &count, &ids, &n, &first, &v);
	RT_LAUNCH(e, RT_K_ids_start, 1, 1, 1024, 1, 0, &start, &count, &v);
	RT_LAUNCH(e, RT_K_ids_fill, grid(e, n), 1, RT_THREADS, 1, 0, &place, &count, &ids, &n, &first, &v);
	RT_LAUNCH(e, RT_K_ids_rank, grid(e, n), 1, RT_THREADS, 1, 0, &sorted, &place, &start, &ids, &first, &v);
}

static size_t embedding_bwd_scratch(struct rt_engine *e, const struct rt_call *c)
{
	return c->out[0] ? (size_t)(2 * c->out[0]->shape.d[0] + 1 + 2 * rt_shape_elements(&c->in[1]->shape)) * 4 : 0;
}

static void embedding_bwd(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *dy = c->in[0], *ids = c->in[1];
	int64_t n = rt_shape_elements(&ids->shape);
	int cols = (int)rt_cols(dy), len = (int)ids->shape.d[1], batch = (int)ids->shape.d[0], w = width(dy), add;
	cu_ptr g = rt_at(dy), table = rt_at(c->out[0]), pos = rt_at(c->out[1]), id = rt_at(ids);

	if (table) {
		int v = (int)c->out[0]->shape.d[0], bx, by;
		cu_ptr count = scratch(c), start = count + 4 * (cu_ptr)v, place = start + 4 * (cu_ptr)(v + 1);
		cu_ptr sorted = place + 4 * (cu_ptr)n;

		w = cols % w ? 1 : w;
		bx = GT_MIN(256, (cols / w + 31) / 32 * 32);
		bx = GT_MAX(bx, 32);
		by = 512 / bx;
		add = accumulates(c, 0);
		sort_ids(e, id, n, (int)c->attr.first_row, v, count, start, place, sorted);
		rt_moves(e, dy, 1);
		rt_moves(e, c->out[0], 1 + add);
		RT_LAUNCH(e, typed(RT_K_embedding_bwd, dy), v, 1, bx, by, (size_t)(bx * by * w) * 4, &table, &g, &start, &sorted,
			  &cols, &add);
	}
	if (pos) {
		int64_t rows = c->out[1]->shape.d[0];

		add = accumulates(c, 1);
		rt_moves(e, dy, 1);
		rt_moves(e, c->out[1], 1 + add);
		RT_LAUNCH(e, typed(RT_K_positions_bwd, dy), grid(e, rows * cols), 1, RT_THREADS, 1, 0, &pos, &g, &batch, &len,
			  &rows, &cols, &add);
	}
}

const struct rt_cuda_kernel rt_cuda_embedding_bwd = { .run = embedding_bwd, .scratch = embedding_bwd_scratch };

/* ---- norms ---- */
static void norm(struct rt_engine *e, const struct rt_call *c, const struct rt_node *b, struct rt_node *const *gain,
		 const struct rt_node *sum, struct rt_node *const *out)
{
	const struct rt_node *a = c->in[0];
	int64_t rows = rt_rows(a);
	int cols = (int)rt_cols(a);
	float eps = c->attr.eps;
	cu_ptr x = rt_at(sum), y = rt_at(out[0]), mean = rt_at(out[1]), rstd = rt_at(out[2]), pa = rt_at(a), pb = rt_at(b);
	cu_ptr pg = rt_at(gain[0]), bias = rt_at(gain[1]);

	RT_LAUNCH(e, typed(RT_K_norm, a), (rows + 3) / 4, 1, 128, 1, 0, &x, &y, &mean, &rstd, &pa, &pb, &pg, &bias, &eps,
		  &rows, &cols);
}

static void layernorm(struct rt_engine *e, const struct rt_call *c)
{
	norm(e, c, NULL, c->in + 1, NULL, c->out);
}

const struct rt_cuda_kernel rt_cuda_layernorm = { .run = layernorm };

static void add_layernorm(struct rt_engine *e, const struct rt_call *c)
{
	norm(e, c, c->in[1], c->in + 2, c->out[0], c->out + 1);
}

const struct rt_cuda_kernel rt_cuda_add_layernorm = { .run = add_layernorm };

static int norm_blocks(const struct rt_node *x)
{
	return (int)GT_MIN(rt_rows(x), rt_rows(x) < 16 * NORM_BLOCKS ? NORM_BLOCKS / 2 : NORM_BLOCKS);
}

/* One thread per 16 bytes of a row, with the sums in registers. For long rows there are fewer threads, and the sums are
 * in shared memory. */
static int norm_threads(const struct rt_node *x)
{
	int64_t cols = rt_cols(x), each = GT_MAX(1, (cols % width(x) ? cols : cols / width(x)));

	return each > 512 ? 256 : (int)((each + 31) / 32 * 32);
}

static size_t norm_shared(const struct rt_node *x)
{
	int64_t cols = rt_cols(x), w = cols % width(x) ? 1 : width(x);

	return (cols <= norm_threads(x) * w ? 256 : 2 * (size_t)cols + 32) * 4;
}

/* stats: mean or NULL, rstd. out: dx, dgain, dbias or NULL. */
static void norm_bwd(struct rt_engine *e, const struct rt_call *c, struct rt_node *const *stats, const struct rt_node *bias)
{
	const struct rt_node *x = c->in[1];
	int64_t rows = rt_rows(x);
	int cols = (int)rt_cols(x), add = accumulates(c, 0), stride = 2 * cols, blocks = norm_blocks(x);
	cu_ptr dy = rt_at(c->in[0]), px = rt_at(x), gain = rt_at(c->in[2]), mean = rt_at(stats[0]), rstd = rt_at(stats[1]);
	cu_ptr dx = rt_at(c->out[0]), dgain = rt_at(c->out[1]), dbias = rt_at(bias), part = scratch(c);
	cu_ptr bias_part = part + 4 * (cu_ptr)cols;

	rt_moves(e, x, 2);
	rt_moves(e, c->out[0], 1 + add);
	e->moves += 4.0 * blocks * stride;
	RT_LAUNCH(e, typed(RT_K_norm_bwd, x), blocks, 1, norm_threads(x), 1, norm_shared(x), &dx, &part, &dy, &px, &gain, &mean,
		  &rstd, &rows, &cols, &add);
	add = accumulates(c, 1);
	if (dgain)
		RT_LAUNCH(e, RT_K_fold, (cols + 31) / 32, 1, 32, 32, 0, &dgain, &part, &blocks, &stride, &cols, &add);
	add = accumulates(c, 2);
	if (dbias)
		RT_LAUNCH(e, RT_K_fold, (cols + 31) / 32, 1, 32, 32, 0, &dbias, &bias_part, &blocks, &stride, &cols, &add);
}

static size_t norm_bwd_scratch(struct rt_engine *e, const struct rt_call *c)
{
	return (size_t)norm_blocks(c->in[1]) * 2 * (size_t)rt_cols(c->in[1]) * 4;
}

static const char *norm_bwd_refuses(const struct rt_engine *e, const struct rt_call *c)
{
	return norm_shared(c->in[1]) > (size_t)e->dev->max_shared ? "a row does not fit into the GPU's shared memory" : NULL;
}

static void layernorm_bwd(struct rt_engine *e, const struct rt_call *c)
{
	norm_bwd(e, c, c->in + 3, c->out[2]);
}

const struct rt_cuda_kernel rt_cuda_layernorm_bwd = {
	.run = layernorm_bwd,
	.scratch = norm_bwd_scratch,
	.refuses = norm_bwd_refuses,
};

/* in: x, gain. out: y, rstd */
static void rmsnorm(struct rt_engine *e, const struct rt_call *c)
{
	norm(e, c, NULL, (struct rt_node *[]){ c->in[1], NULL }, NULL, (struct rt_node *[]){ c->out[0], NULL, c->out[1] });
}

const struct rt_cuda_kernel rt_cuda_rmsnorm = { .run = rmsnorm };

/* in: dy, x, gain, rstd. out: dx, dgain */
static void rmsnorm_bwd(struct rt_engine *e, const struct rt_call *c)
{
	norm_bwd(e, c, (struct rt_node *[]){ NULL, c->in[3] }, NULL);
}

const struct rt_cuda_kernel rt_cuda_rmsnorm_bwd = { .run = rmsnorm_bwd, .scratch = norm_bwd_scratch, .refuses = norm_bwd_refuses };

/* ---- elementwise ---- */
static void act(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	int kind = (int)c->attr.act;
	cu_ptr x = rt_at(c->in[0]), y = rt_at(c->out[0]);

	RT_LAUNCH(e, typed(RT_K_act, c->in[0]), grid(e, n / 4), 1, RT_THREADS, 1, 0, &n, &kind, &x, &y);
}

const struct rt_cuda_kernel rt_cuda_act = { .run = act };

static void act_bwd(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	int kind = (int)c->attr.act, add = accumulates(c, 0);
	cu_ptr dy = rt_at(c->in[0]), seen = rt_at(c->in[1]), dx = rt_at(c->out[0]);

	RT_LAUNCH(e, typed(RT_K_act_bwd, c->in[0]), grid(e, n / 4), 1, RT_THREADS, 1, 0, &n, &kind, &dy, &seen, &dx, &add);
}

const struct rt_cuda_kernel rt_cuda_act_bwd = { .run = act_bwd };

static void add(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape), part = rt_shape_elements(&c->in[1]->shape);
	cu_ptr a = rt_at(c->in[0]), b = rt_at(c->in[1]), y = rt_at(c->out[0]);

	RT_LAUNCH(e, typed(RT_K_add, c->in[0]), grid(e, n / 4), 1, RT_THREADS, 1, 0, &n, &part, &a, &b, &y);
}

const struct rt_cuda_kernel rt_cuda_add = { .run = add };

static void cast(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	cu_ptr x = rt_at(c->in[0]), y = rt_at(c->out[0]);

	RT_LAUNCH(e, narrow(c->out[0]) ? narrowing(c->out[0]->dtype) : widening(c->in[0]->dtype), grid(e, n / 8), 1, RT_THREADS,
		  1, 0, &n, &x, &y);
}

const struct rt_cuda_kernel rt_cuda_cast = { .run = cast };

static void scale(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	cu_ptr x = rt_at(c->in[0]), y = rt_at(c->out[0]), step = e->step;
	int add = accumulates(c, 0);

	RT_LAUNCH(e, typed(RT_K_scale, c->in[0]), grid(e, n / 4), 1, RT_THREADS, 1, 0, &n, &x, &y, &step, &add);
}

const struct rt_cuda_kernel rt_cuda_scale = { .run = scale };

static void sum_up(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	cu_ptr x = rt_at(c->in[0]), y = rt_at(c->out[0]);
	int add = accumulates(c, 0);

	RT_LAUNCH(e, typed(RT_K_sum_up, c->in[0]), grid(e, n / 8), 1, RT_THREADS, 1, 0, &n, &x, &y, &add);
}

const struct rt_cuda_kernel rt_cuda_sum_up = { .run = sum_up };

/* ---- losses ---- */
static void dot(struct rt_engine *e, const struct rt_call *c)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	cu_ptr a = rt_at(c->in[0]), b = rt_at(c->in[1]), y = rt_at(c->out[0]);

	RT_LAUNCH(e, typed(RT_K_dot, c->in[0]), 1, 1, 1024, 1, 0, &y, &a, &b, &n);
}

const struct rt_cuda_kernel rt_cuda_dot = { .run = dot };

static unsigned row_threads(int64_t cols)
{
	return cols > 8192 ? 512 : cols > 1024 ? 256 : 128;
}

static void rows_loss(struct rt_engine *e, const struct rt_node *type, cu_ptr logits, int64_t ld, cu_ptr bias, cu_ptr grad,
		      int64_t ldg, cu_ptr targets, cu_ptr losses, int64_t rows, int cols, int fill, cu_ptr count)
{
	unsigned threads = row_threads(cols);
	size_t size = rt_dtype_bytes(type->dtype), row = ((size_t)cols * size + 15) / 16 * 16;
	/* if two blocks still fit on a multiprocessor, which also need 1 KiB each and their static memory */
	int keep = grad && row + 2048 <= (size_t)e->dev->max_shared / 2;
	cu_ptr step = e->step;

	e->moves += (double)(rows * (cols + (grad ? fill : 0))) * (double)size;
	RT_LAUNCH(e, typed(RT_K_cross_entropy, type), rows, 1, threads, 1, keep ? row : 0, &logits, &ld, &bias, &grad, &ldg,
		  &targets, &losses, &rows, &cols, &fill, &count, &step, &keep);
}

static void count_targets(struct rt_engine *e, cu_ptr count, cu_ptr targets, int64_t rows)
{
	RT_LAUNCH(e, RT_K_count_targets, 1, 1, 1024, 1, 0, &count, &targets, &rows);
}

static void mean_loss(struct rt_engine *e, cu_ptr loss, cu_ptr losses, int64_t rows, cu_ptr count)
{
	RT_LAUNCH(e, RT_K_mean, 1, 1, 1024, 1, 0, &loss, &losses, &rows, &count);
}

static size_t cross_entropy_scratch(struct rt_engine *e, const struct rt_call *c)
{
	return sizeof(int32_t);
}

static void cross_entropy(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0];
	int64_t rows = rt_rows(x), cols = rt_cols(x);
	cu_ptr count = scratch(c);

	count_targets(e, count, rt_at(c->in[1]), rows);
	rows_loss(e, x, rt_at(x), cols, 0, e->eval ? 0 : rt_at(c->out[1]), cols, rt_at(c->in[1]), rt_at(c->out[2]), rows,
		  (int)cols, (int)cols, count);
	mean_loss(e, rt_at(c->out[0]), rt_at(c->out[2]), rows, count);
}

const struct rt_cuda_kernel rt_cuda_cross_entropy = { .run = cross_entropy, .scratch = cross_entropy_scratch };

static size_t logits_bytes(const struct rt_call *c)
{
	size_t bytes = (size_t)(rt_cross_entropy_slice(c) * rt_cross_entropy_stride(c)) * rt_dtype_bytes(c->in[0]->dtype);

	return (bytes + 255) / 256 * 256;
}

/* Returns the size of the column sums for the bias gradient. */
static size_t bias_part_bytes(const struct rt_call *c)
{
	return c->out[3] ? (size_t)rt_engine_aligned((uint64_t)c->in[1]->shape.d[0] * RT_COLUMN_PARTS * 4) : 0;
}

static size_t linear_cross_entropy_scratch(struct rt_engine *e, const struct rt_call *c)
{
	return logits_bytes(c) + bias_part_bytes(c) + sizeof(int32_t);
}

/* in: x (M,C), w (V,C), b (V), targets. out: loss, dx, dw, db, rows (M). Scratch: a slice of logits, partial sums, the
 * number of targets that count. */
static void linear_cross_entropy(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0];
	int64_t rows = rt_rows(x), k = rt_cols(x), v = c->in[1]->shape.d[0], ld = rt_cross_entropy_stride(c);
	int64_t slice = rt_cross_entropy_slice(c), n = c->attr.padded_cols ? c->attr.padded_cols : v; /* pass/pad.c */
	size_t size = rt_dtype_bytes(x->dtype);
	cu_ptr logits = scratch(c), part = logits + logits_bytes(c), count = part + bias_part_bytes(c);
	cu_ptr w = rt_at(c->in[1]), losses = rt_at(c->out[4]);
	cu_ptr dx = e->eval ? 0 : rt_at(c->out[1]), dw = e->eval ? 0 : rt_at(c->out[2]), db = e->eval ? 0 : rt_at(c->out[3]);

	count_targets(e, count, rt_at(c->in[3]), rows);
	for (int64_t r = 0; r < rows; r += slice) {
		int64_t m = GT_MIN(slice, rows - r);
		cu_ptr xs = rt_at(x) + (cu_ptr)(r * k) * size, dxs = dx + (cu_ptr)(r * k) * size;
		struct rt_gemm to_logits = { .tb = true, .m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = ld, .ab = x->dtype,
					     .c = x->dtype };
		struct rt_gemm to_dx = { .m = m, .n = k, .k = n, .lda = ld, .ldb = k, .ldc = k, .ab = x->dtype, .c = x->dtype };
		struct rt_gemm to_dw = { .ta = true, .m = n, .n = k, .k = m, .lda = ld, .ldb = k, .ldc = k, .ab = x->dtype,
					 .c = RT_F32, .beta = r > 0 || accumulates(c, 2) };

		rt_launch_gemm(e, &to_logits, &(struct rt_gemm_args){ .a = xs, .b = w, .c = logits });
		rows_loss(e, x, logits, ld, rt_at(c->in[2]), dx || dw || db ? logits : 0, ld, rt_at(c->in[3]) + (cu_ptr)r * 4,
			  losses + (cu_ptr)r * 4, m, (int)v, (int)n, count);
		if (dx)
			rt_launch_gemm(e, &to_dx, &(struct rt_gemm_args){ .a = logits, .b = w, .c = dxs });
		if (dw)
			rt_launch_gemm(e, &to_dw, &(struct rt_gemm_args){ .a = logits, .b = xs, .c = dw });
		if (db)
			rt_column_sums(e, db, logits, x, ld, m, v, r > 0 || accumulates(c, 3), part);
	}
	mean_loss(e, rt_at(c->out[0]), losses, rows, count);
}

const struct rt_cuda_kernel rt_cuda_linear_cross_entropy = { .run = linear_cross_entropy, .scratch = linear_cross_entropy_scratch };

/* ---- losses of logits that ranks split ---- */
static void softmax_part(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0];
	int first = (int)c->attr.first_row, cols = (int)rt_cols(x);
	cu_ptr logits = rt_at(x), probs = rt_at(c->out[0]), stats = rt_at(c->out[1]), targets = rt_at(c->in[1]);

	RT_LAUNCH(e, typed(RT_K_softmax_part, x), rt_rows(x), 1, row_threads(cols), 1, 0, &logits, &probs, &stats, &targets, &first,
		  &cols);
}

const struct rt_cuda_kernel rt_cuda_softmax_part = { .run = softmax_part };

struct logit_parts { /* the same as in kernel/loss.cuh */
	int n, own, first, cols;
};

static void cross_entropy_parts(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0];
	int64_t rows = rt_rows(x);
	struct logit_parts parts = { .n = c->attr.parts, .own = c->attr.part, .first = (int)c->attr.first_row,
				     .cols = (int)rt_cols(x) };
	cu_ptr probs = rt_at(x), grad = e->eval ? 0 : rt_at(c->out[1]), losses = rt_at(c->out[2]), targets = rt_at(c->in[1]);
	cu_ptr stats = rt_at(c->in[2]), count = scratch(c), step = e->step;

	count_targets(e, count, targets, rows);
	RT_LAUNCH(e, typed(RT_K_parts_loss, x), rows, 1, row_threads(parts.cols), 1, 0, &probs, &grad, &losses, &targets, &stats,
		  &rows, &parts, &count, &step);
	mean_loss(e, rt_at(c->out[0]), losses, rows, count);
}

const struct rt_cuda_kernel rt_cuda_cross_entropy_parts = { .run = cross_entropy_parts, .scratch = cross_entropy_scratch };

#define AT(ID, name) [RT_OP_##ID] = &rt_cuda_##name,
#define ENTRY(ID, name, kernels) RT_CUDA_##kernels(AT, ID, name)
const struct rt_cuda_kernel *const rt_cuda_kernels[RT_N_OPS] = { RT_OPS(ENTRY) };

const char *rt_launch_refuses(const struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_cuda_kernel *kernel = rt_cuda_kernels[c->op->id];

	if (!kernel && (!c->op->collective || (c->op->collective == RT_GROUP_CALL && !rt_engine_group(e, c->attr.dim))))
		return "the device has no kernel for it";
	for (int k = 0; k < 2 * RT_MAX_IO; k++) {
		const struct rt_node *n = k < RT_MAX_IO ? c->in[k] : c->out[k - RT_MAX_IO];

		if (n && n->role != RT_ROLE_SCRATCH && (rt_cols(n) > INT32_MAX / 2 || n->shape.d[0] > INT32_MAX / 2))
			return "a dimension exceeds 2^30";
	}
	return kernel && kernel->refuses ? kernel->refuses(e, c) : NULL;
}
