/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "tests/graphs/plain.h"

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Returns a number from -1 to 1. */
double plain_noise(uint64_t stream, uint64_t i)
{
	return (double)(int64_t)(mixed(stream + i * 0x9e3779b97f4a7c15ull) >> 11) / (double)(1ull << 52) - 1;
}

uint64_t plain_stream(const struct plain_how *how, int at)
{
	return mixed(how->pattern * 1000003 + (uint64_t)at);
}

double *plain_read(const double *x, const struct rt_node *n, uint64_t stream, const struct plain_how *how, enum plain_type type)
{
	int64_t count = rt_shape_elements(&n->shape);
	double *y = gt_xcalloc((size_t)count, sizeof(*y)), level = how->pattern ? how->level : 0, least = 0;
	double input = how->pattern && n->role == RT_ROLE_INPUT ? how->input : 0;
	uint64_t of_input = plain_stream(how, 2000000 + n->id);

	if (how->pattern && type != PLAIN_F32 && how->low > 0) { /* a tensor is rounded once, for all its readers */
		stream = plain_stream(how, 1000000 + 2 * n->id + (type == PLAIN_LOW_SLOPE));
		level = how->low;
		least = how->least;
	}
	for (int64_t i = 0; i < count; i++)
		y[i] = x[i] + (level * fabs(x[i]) + least) * plain_noise(stream, (uint64_t)i) +
		       input * plain_noise(of_input, (uint64_t)i);
	return y;
}

static bool is_leaf(const struct rt_node *n)
{
	return n->role == RT_ROLE_INPUT || n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER;
}

/* Batchnorm with running statistics, which the reference in runtime/graph does not cover. */
static void batchnorm_eval(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t cols = rt_cols(c->in[0]);

	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++) {
		int64_t j = i % cols;

		out[0][i] = (in[0][i] - in[3][j]) / sqrt(in[4][j] + (double)c->attr.eps) * in[1][j] + in[2][j];
	}
}

static void choose(uint64_t *hash, uint64_t what)
{
	*hash = mixed(*hash * 31 + what + 1);
}

/* Hashes the branches of relus and maxima, to detect that two computations took different ones. */
static void note_choices(const struct rt_call *c, const double *const *in, double *const *out, uint64_t *hash)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape), m = rt_shape_elements(&c->out[0]->shape);

	if (c->op->id == RT_OP_ACT && c->attr.act == RT_ACT_RELU)
		for (int64_t i = 0; i < n; i++)
			choose(hash, in[0][i] > 0);
	if (c->op->id == RT_OP_MAX_POOL)
		for (int64_t i = 0; i < m; i++)
			choose(hash, (uint64_t)out[1][i]);
	if (c->op->id == RT_OP_REDUCE && c->attr.reduction == RT_MAX) {
		int64_t inner = 1, len = c->in[0]->shape.d[c->attr.axis];

		for (int i = c->attr.axis + 1; i < c->in[0]->shape.n; i++)
			inner *= c->in[0]->shape.d[i];
		for (int64_t i = 0; i < m; i++) {
			int64_t k = 0;

			while (k < len && in[0][(i / inner * len + k) * inner + i % inner] < out[0][i])
				k++;
			choose(hash, (uint64_t)k);
		}
	}
}

#define LONG_SUM 4096

/* The additional error of a long sum: a float sum of k terms in 16 lanes rounds k / 16 partial sums. Each of them is about as
 * large as the root of the number of its terms. */
static double sum_error(const struct rt_call *c, const double *const *in, int64_t i)
{
	int64_t k = rt_cols(c->in[0]), cols = rt_cols(c->out[0]);
	const double *x = in[0] + i / cols * k, *w = in[1] + i % cols * k;
	double squares = 0;

	for (int64_t j = 0; j < k; j++)
		squares += x[j] * x[j] * w[j] * w[j];
	return sqrt(squares * (double)k) / 64;
}

/*
 * Returns the additional error of an op, relative to how->level. Batchnorm computes x a + b in float, and b may be far
 * larger than the result. The mean of a layernorm is rounded once for a row, and its last digit may be many standard
 * deviations. For negative x, 1 + erf(x) loses all digits below those of 1.
 */
static double moved(const struct rt_call *c, const double *const *in, double *const *out, const struct plain_how *how, int64_t i)
{
	int64_t j = i % rt_cols(c->in[0]), row = i / rt_cols(c->in[0]);

	if (c->op->id == RT_OP_ACT && c->attr.act == RT_ACT_GELU_ERF)
		return fabs(in[0][i]) * 0x1p-24 / how->level;
	if (c->op->id == RT_OP_LINEAR && rt_cols(c->in[0]) >= LONG_SUM)
		return sum_error(c, in, i);
	if (c->op->id == RT_OP_LAYERNORM)
		return fabs(in[1][j] * out[1][row]) * out[2][row] / 4;
	if (c->op->id != RT_OP_BATCHNORM)
		return 0;
	return fabs(in[1][j]) * (how->eval ? fabs(in[3][j]) / sqrt(in[4][j] + (double)c->attr.eps) : fabs(out[1][j]) * out[2][j]);
}

static void drop(const struct rt_call *c, double *out, const struct plain_how *how)
{
	for (int64_t i = 0, n = rt_shape_elements(&c->out[0]->shape); i < n; i++)
		out[i] *= how->masks[c->out[0]->id][i];
}

static void run_call(const struct rt_call *c, int at, double **value, const struct plain_how *how, uint64_t *choices)
{
	const double *in[RT_MAX_IO] = { NULL };
	double *out[RT_MAX_IO] = { NULL }, *mine[RT_MAX_IO] = { NULL };
	uint64_t stream = plain_stream(how, at);
	bool shaken = how->pattern && !how->back_only;

	for (int k = 0; k < RT_MAX_IO; k++) {
		if (c->in[k])
			in[k] = value[c->in[k]->id];
		if (c->in[k] && c->in[k]->dtype == RT_F32 && shaken)
			in[k] = mine[k] = plain_read(in[k], c->in[k], stream + 1 + (uint64_t)k, how,
						     c->op->reduced >> k & 1 ? PLAIN_LOW : PLAIN_F32);
		if (c->out[k])
			out[k] = value[c->out[k]->id] = gt_xcalloc((size_t)rt_shape_elements(&c->out[k]->shape), sizeof(double));
	}
	if (how->eval && c->op->id == RT_OP_BATCHNORM)
		batchnorm_eval(c, in, out);
	else
		c->op->reference(c, in, out);
	if (how->masks && c->op->id == RT_OP_DROPOUT)
		drop(c, out[0], how);
	note_choices(c, in, out, choices);
	for (int64_t i = 0, n = rt_shape_elements(&c->out[0]->shape); shaken && i < n; i++)
		out[0][i] += (fabs(out[0][i]) + moved(c, in, out, how, i)) * how->level *
			     plain_noise(stream + 77, (uint64_t)i);
	for (int k = 0; k < RT_MAX_IO; k++)
		free(mine[k]);
}

void plain_run(const struct rt_graph *g, double *const *leaves, const struct plain_how *how, struct plain *ret)
{
	*ret = (struct plain){ .n_nodes = g->ir.n_nodes };
	ret->value = gt_xcalloc((size_t)g->ir.n_nodes + 1, sizeof(*ret->value));
	for (int i = 0; i < g->ir.n_nodes; i++)
		ret->value[i] = is_leaf(g->ir.nodes[i]) ? leaves[i] : NULL;
	for (int i = 0; i < g->ir.n_calls; i++)
		run_call(g->ir.calls[i], i, ret->value, how, &ret->choices);
}

void plain_clear(const struct rt_graph *g, struct plain *p)
{
	for (int i = 0; i < p->n_nodes; i++) {
		if (!is_leaf(g->ir.nodes[i]))
			free(p->value[i]);
		if (p->slope)
			free(p->slope[i]);
	}
	free(p->value);
	free(p->slope);
	*p = (struct plain){ 0 };
}

static double loss_at(const struct rt_graph *g, const struct rt_node *loss, double *const *leaves, const struct plain_how *how,
		      uint64_t *ret_choices)
{
	struct plain p;
	double v;

	plain_run(g, leaves, how, &p);
	v = p.value[loss->id][0];
	*ret_choices = p.choices;
	plain_clear(g, &p);
	return v;
}

double plain_sign(const struct rt_node *n, uint64_t i)
{
	return mixed((uint64_t)n->id * 1000033 + i) & 1 ? 1 : -1;
}

static void move(double *x, const struct rt_node *n, double by)
{
	for (int64_t i = 0, count = rt_shape_elements(&n->shape); i < count; i++)
		x[i] += by * plain_sign(n, (uint64_t)i);
}

bool plain_difference(const struct rt_graph *g, const struct rt_node *loss, double **leaves, const struct rt_node *param,
		      const struct plain_how *how, double h, double *ret)
{
	static const double weight[] = { 1, -8, 8, -1 }, at[] = { -2, -1, 1, 2 };
	size_t bytes = (size_t)rt_shape_elements(&param->shape) * sizeof(double);
	gt_autofree double *old = gt_xcalloc(1, bytes);
	uint64_t choices, first = 0;
	bool smooth = true;

	memcpy(old, leaves[param->id], bytes);
	*ret = 0;
	for (int i = 0; i < 4; i++) {
		move(leaves[param->id], param, at[i] * h);
		*ret += weight[i] * loss_at(g, loss, leaves, how, &choices) / (12 * h);
		memcpy(leaves[param->id], old, bytes);
		first = i ? first : choices;
		smooth &= choices == first;
	}
	return smooth;
}
