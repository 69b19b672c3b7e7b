/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PowerSGD: a gradient matrix M (n,m) plus its error feedback is sent as P (n,r) and Q (m,r):
 *   P = M Q; mean over ranks; orthonormalise the columns of P; Q = M^T P; mean over ranks; M' = P Q^T; error = M - M'
 * Q of one step is the initial Q of the next, if the step updated the parameters; otherwise the initial Q stays the same. Vectors,
 * and matrices for which compression does not pay, are sent uncompressed together with P.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/ddp/ddp.h"
#include "runtime/math/gemm.h"

#define MIN_RATE	2 /* compress only if the factors have less than 1/MIN_RATE of the matrix's elements: torch's default */

struct matrix {
	int64_t n, m, r; /* r 0: sent uncompressed, n floats */
	int64_t at;	 /* offset in the bucket */
	int64_t p, q;	 /* offsets in the areas of P and Q, in floats */
	float *residual, *whole; /* (n,m) */
	float *last;	     /* initial Q (m,r) of the step */
};
struct rt_powersgd {
	const struct rt_cpu *cpu;
	uint64_t seed;
	struct matrix *list;
	int count, stage;
	bool open; /* it is not yet known whether the last step updated the parameters */
	float *gradient, *p, *q;
	struct rt_coll reduce_p, reduce_q;
};

void rt_powersgd_shape(const struct rt_node *gradient, int rank, int64_t *ret_n, int64_t *ret_m, int64_t *ret_r)
{
	int64_t all = rt_shape_elements(&gradient->shape), rows = gradient->shape.d[0];
	int64_t cols = gradient->shape.n > 1 ? all / rows : 1, r = GT_MIN(GT_MIN(rows, cols), rank);
	bool pays = gradient->shape.n > 1 && (rows + cols) * r * MIN_RATE < rows * cols;

	*ret_n = pays ? rows : all;
	*ret_m = pays ? cols : 0;
	*ret_r = pays ? r : 0;
}

float rt_powersgd_first_q(uint64_t seed, int64_t at, int64_t i)
{
	return rt_random_normal(seed, 4000 + (uint64_t)at, (uint64_t)i);
}

static struct matrix shape_of(const struct rt_node *n, int rank)
{
	struct matrix x = { 0 };

	rt_powersgd_shape(n, rank, &x.n, &x.m, &x.r);
	return x;
}

static void sizes(const struct rt_bucket *b, int rank, int64_t *ret_p, int64_t *ret_q)
{
	*ret_p = *ret_q = 0;
	for (int i = 0; i < b->n; i++) {
		struct matrix x = shape_of(b->gradient[i], rank);

		*ret_p += x.n * GT_MAX(x.r, 1);
		*ret_q += x.m * x.r;
	}
}

static int64_t lines(int64_t floats)
{
	return (floats + 15) / 16 * 16;
}

int64_t rt_powersgd_floats(const struct rt_bucket *b, int rank)
{
	int64_t p, q;

	sizes(b, rank, &p, &q);
	return lines(p) + lines(GT_MAX(q, 1));
}

int64_t rt_powersgd_private_floats(const struct rt_bucket *b, int rank)
{
	int64_t floats = 0;

	for (int i = 0; i < b->n; i++) {
		struct matrix x = shape_of(b->gradient[i], rank);

		if (x.r)
			floats += 2 * x.n * x.m + x.m * x.r;
	}
	return floats;
}

static void begin(struct rt_powersgd *s, const struct matrix *x)
{
	for (int64_t i = 0; i < x->m * x->r; i++)
		s->q[x->q + i] = rt_powersgd_first_q(s->seed, x->at, i);
}

static int add_matrix(struct rt_powersgd *s, struct matrix *x, struct gt_err *err)
{
	if (!x->r)
		return 0;
	x->residual = calloc((size_t)(x->n * x->m), sizeof(float));
	x->whole = calloc((size_t)(x->n * x->m), sizeof(float));
	x->last = calloc((size_t)(x->m * x->r), sizeof(float));
	if (!x->residual || !x->whole || !x->last)
		return gt_fail(err, ENOMEM, "no memory for the feedback of a gradient of %lld floats", (long long)(x->n * x->m));
	begin(s, x);
	return 0;
}

int rt_powersgd_new(const struct rt_bucket *b, int rank, struct rt_window *w, uint64_t offset, uint64_t seed,
		    const struct rt_cpu *cpu, struct rt_powersgd **ret, struct gt_err *err)
{
	struct rt_powersgd *s = gt_xcalloc(1, sizeof(*s));
	int64_t p = 0, q = 0;
	int r = 0;

	s->cpu = cpu;
	s->seed = seed;
	s->list = gt_xcalloc((size_t)b->n, sizeof(*s->list));
	s->count = b->n;
	sizes(b, rank, &p, &q);
	s->p = (float *)(void *)(w->base + offset);
	s->q = s->p + lines(p);
	s->reduce_p = (struct rt_coll){ .kind = RT_ALLREDUCE, .window = w, .offset = offset, .n = p };
	s->reduce_q = (struct rt_coll){ .kind = RT_ALLREDUCE, .window = w, .offset = offset + (size_t)lines(p) * 4,
					.n = GT_MAX(q, 1) };
	p = q = 0;
	for (int i = 0; !r && i < b->n; i++) {
		s->list[i] = shape_of(b->gradient[i], rank);
		s->list[i].at = b->at[i];
		s->list[i].p = p;
		s->list[i].q = q;
		p += s->list[i].n * GT_MAX(s->list[i].r, 1);
		q += s->list[i].m * s->list[i].r;
		r = add_matrix(s, &s->list[i], err);
	}
	if (!r)
		r = rt_coll_init(&s->reduce_p, err);
	if (!r)
		r = rt_coll_init(&s->reduce_q, err);
	if (r)
		rt_powersgd_free(s);
	else
		*ret = s;
	return r;
}

void rt_powersgd_free(struct rt_powersgd *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->count; i++) {
		free(s->list[i].residual);
		free(s->list[i].whole);
		free(s->list[i].last);
	}
	rt_coll_clear(&s->reduce_p);
	rt_coll_clear(&s->reduce_q);
	free(s->list);
	free(s);
}

/* Gram-Schmidt over the columns of p (n,r). A column that becomes zero stays zero. */
static void orthonormal(float *p, int64_t n, int64_t r)
{
	for (int64_t c = 0; c < r; c++) {
		double norm = 0;

		for (int64_t d = 0; d < c; d++) {
			double dot = 0;

			for (int64_t i = 0; i < n; i++)
				dot += (double)p[i * r + c] * (double)p[i * r + d];
			for (int64_t i = 0; i < n; i++)
				p[i * r + c] -= (float)dot * p[i * r + d];
		}
		for (int64_t i = 0; i < n; i++)
			norm += (double)p[i * r + c] * (double)p[i * r + c];
		norm = sqrt(norm);
		for (int64_t i = 0; i < n; i++)
			p[i * r + c] = norm > 0 ? (float)((double)p[i * r + c] / norm) : 0;
	}
}

void rt_powersgd_settle(struct rt_powersgd *s, bool updated)
{
	if (!s->open)
		return;
	s->open = false;
	for (int k = 0; k < s->count; k++) {
		struct matrix *x = &s->list[k];

		if (updated)
			rt_swap(&x->residual, &x->whole);
		else if (x->r)
			memcpy(s->q + x->q, x->last, (size_t)(x->m * x->r) * sizeof(float));
	}
}

void rt_powersgd_clear_residual(struct rt_powersgd *s)
{
	s->open = false;
	for (int k = 0; k < s->count; k++) {
		struct matrix *x = &s->list[k];

		if (!x->r)
			continue;
		memset(x->residual, 0, (size_t)(x->n * x->m) * sizeof(float));
		begin(s, x);
	}
}

int rt_powersgd_start(struct rt_powersgd *s, float *gradient, float residual_factor, struct gt_err *err)
{
	rt_powersgd_settle(s, false);
	s->gradient = gradient;
	s->stage = 1;
	for (int k = 0; k < s->count; k++) {
		struct matrix *x = &s->list[k];
		const float *g = gradient + x->at;

		if (!x->r) {
			memcpy(s->p + x->p, g, (size_t)x->n * sizeof(float));
			continue;
		}
		for (int64_t i = 0; i < x->n * x->m; i++)
			x->whole[i] = x->residual[i] * residual_factor + g[i];
		memcpy(x->last, s->q + x->q, (size_t)(x->m * x->r) * sizeof(float));
		rt_gemm(s->cpu, false, false, x->n, x->r, x->m, 1, x->whole, x->m, s->q + x->q, x->r, 0, s->p + x->p, x->r);
	}
	s->open = true;
	return rt_coll_start(&s->reduce_p, err);
}

static int finish_p(struct rt_powersgd *s, struct gt_err *err)
{
	for (int k = 0; k < s->count; k++) {
		struct matrix *x = &s->list[k];

		if (!x->r) {
			memcpy(s->gradient + x->at, s->p + x->p, (size_t)x->n * sizeof(float));
			continue;
		}
		orthonormal(s->p + x->p, x->n, x->r);
		rt_gemm(s->cpu, true, false, x->m, x->r, x->n, 1, x->whole, x->m, s->p + x->p, x->r, 0, s->q + x->q, x->r);
	}
	s->stage = 2;
	return rt_coll_start(&s->reduce_q, err);
}

/* The error of this step overwrites the input of the compression. rt_powersgd_settle() selects which of the two stays. */
static void finish_q(struct rt_powersgd *s)
{
	for (int k = 0; k < s->count; k++) {
		struct matrix *x = &s->list[k];
		float *g = s->gradient + x->at;

		if (!x->r)
			continue;
		rt_gemm(s->cpu, false, true, x->n, x->m, x->r, 1, s->p + x->p, x->r, s->q + x->q, x->r, 0, g, x->m);
		for (int64_t i = 0; i < x->n * x->m; i++)
			x->whole[i] -= g[i];
	}
	s->stage = 0;
}

int rt_powersgd_poll(struct rt_powersgd *s, bool wait, struct gt_err *err)
{
	if (s->stage == 1) {
		int r = wait ? rt_coll_wait(&s->reduce_p, err) : rt_coll_poll(&s->reduce_p, err);

		if (r < 0 || (!wait && r == 0))
			return r;
		r = finish_p(s, err);
		if (r < 0)
			return r;
	}
	if (s->stage == 2) {
		int r = wait ? rt_coll_wait(&s->reduce_q, err) : rt_coll_poll(&s->reduce_q, err);

		if (r < 0 || (!wait && r == 0))
			return r;
		finish_q(s);
	}
	return 1;
}

int64_t rt_powersgd_sent_floats(const struct rt_powersgd *s)
{
	return s->reduce_p.n + s->reduce_q.n;
}
