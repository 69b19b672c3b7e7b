/* SPDX-License-Identifier: Apache-2.0 */
/* A drawn program as a graph, with its values. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tests/graphs/generated.h"

static const char *const op_names[MADE_N] = {
	[MADE_INPUT] = "input", [MADE_IDS] = "ids", [MADE_PARAM] = "param", [MADE_BUFFER] = "buffer",
	[MADE_VARIANCE] = "variance", [MADE_LINEAR] = "linear", [MADE_MATMUL] = "matmul", [MADE_CONV] = "conv",
	[MADE_BATCHNORM] = "batchnorm", [MADE_LAYERNORM] = "layernorm", [MADE_RMSNORM] = "rmsnorm",
	[MADE_EMBEDDING] = "embedding", [MADE_ATTENTION] = "attention", [MADE_ACT] = "act", [MADE_ADD] = "add",
	[MADE_MUL] = "mul", [MADE_AFFINE] = "affine", [MADE_DROPOUT] = "dropout", [MADE_SOFTMAX] = "softmax",
	[MADE_REDUCE] = "reduce", [MADE_RESHAPE] = "reshape", [MADE_MAX_POOL] = "max_pool", [MADE_AVG_POOL] = "avg_pool",
	[MADE_PAD] = "pad", [MADE_USER] = "user", [MADE_CROSS_ENTROPY] = "cross_entropy", [MADE_DOT] = "dot",
};

const char *made_op_name(enum made_op op)
{
	return op_names[op];
}

bool made_is_leaf(enum made_op op)
{
	return op <= MADE_VARIANCE;
}

static struct rt_shape of_rows(struct rt_shape s, int64_t rows)
{
	for (int i = 0; i < GT_MIN(s.n, 2); i++)
		s.d[i] = s.d[i] == MADE_ROWS ? rows : s.d[i];
	return s;
}

static struct rt_node *leaf(struct rt_graph *g, const struct made *m, const struct made_step *s, int64_t rows)
{
	struct rt_shape shape = s->shape;
	char name[16];

	/* the step's number, or the next one while it is drawn */
	snprintf(name, sizeof(name), "v%d", s >= m->step && s < m->step + MADE_STEPS ? (int)(s - m->step) : m->n);
	if (s->op == MADE_INPUT || s->op == MADE_IDS)
		shape = of_rows(shape, rows);
	switch (s->op) {
	case MADE_INPUT:
		return rt_input(g, name, RT_F32, shape);
	case MADE_IDS:
		return rt_input(g, name, RT_I32, shape);
	case MADE_PARAM:
		return rt_param(g, name, shape, RT_INIT_NORMAL(0.5f));
	default:
		return rt_buffer(g, name, shape, RT_INIT_ONES);
	}
}

static struct rt_node *act(struct rt_graph *g, struct rt_node *x, int which)
{
	static struct rt_node *(*const acts[])(struct rt_graph *, struct rt_node *) = {
		rt_gelu, rt_gelu_erf, rt_relu, rt_silu, rt_tanh, rt_sigmoid,
	};

	return acts[which % 6](g, x);
}

static struct rt_node *reshape(struct rt_graph *g, struct rt_node *x, const struct made_step *s, int64_t rows)
{
	return rt_reshape(g, x, of_rows(s->shape, rows));
}

struct rt_node *made_apply(struct made_graph *mg, const struct made *m, const struct made_step *s, int64_t rows)
{
	static const float eps[] = { 1e-5f, 1e-3f, 1e-6f, 0.1f };
	struct rt_node *in[MADE_INPUTS];
	struct rt_graph *g = mg->g;

	for (int i = 0; i < MADE_INPUTS; i++)
		in[i] = s->in[i] >= 0 ? mg->node[s->in[i]] : NULL;
	if (made_is_leaf(s->op))
		return leaf(g, m, s, rows);
	switch (s->op) {
	case MADE_LINEAR:
		return rt_linear(g, in[0], in[1], in[2]);
	case MADE_MATMUL:
		return rt_matmul(g, in[0], s->a[0], in[1], s->a[1]);
	case MADE_CONV:
		return rt_conv2d(g, in[0], in[1], in[2],
				 (struct rt_conv2d){ .stride = s->a[0], .pad = s->a[1], .groups = s->a[2] });
	case MADE_BATCHNORM:
		return rt_batchnorm(g, in[0], in[1], in[2], in[3], in[4], eps[s->a[0]], 0.1f * (float)(1 + s->a[0]));
	case MADE_LAYERNORM:
		return rt_layernorm(g, in[0], in[1], in[2], eps[s->a[0]]);
	case MADE_RMSNORM:
		return rt_rmsnorm(g, in[0], in[1], eps[s->a[0]]);
	case MADE_EMBEDDING:
		return rt_embedding(g, in[0], in[1], in[2]);
	case MADE_ATTENTION:
		return s->a[1] ? rt_attention(g, in[0], s->a[0]) : rt_attention_full(g, in[0], s->a[0]);
	case MADE_ACT:
		return act(g, in[0], s->a[0]);
	case MADE_ADD:
		return rt_add(g, in[0], in[1]);
	case MADE_MUL:
		return rt_mul(g, in[0], in[1]);
	case MADE_AFFINE:
		return rt_affine(g, in[0], (float)(s->a[0] - 10) / 8, (float)s->a[1] / 4);
	case MADE_DROPOUT:
		return rt_dropout(g, in[0], m->dropout ? (float)s->a[0] / 40 : 0);
	case MADE_SOFTMAX:
		return rt_softmax(g, in[0]);
	case MADE_REDUCE:
		return rt_reduce(g, in[0], (enum rt_reduction)s->a[0], s->a[1]);
	case MADE_RESHAPE:
		return reshape(g, in[0], s, rows);
	case MADE_MAX_POOL:
		return rt_max_pool(g, in[0], s->a[0], s->a[1], s->a[2]);
	case MADE_AVG_POOL:
		return rt_avg_pool(g, in[0], s->a[0], s->a[1], s->a[2]);
	case MADE_PAD:
		return rt_pad(g, in[0], s->a[0], s->a[1]);
	case MADE_USER:
		return rt_user(g, &made_user_ops[s->a[0]], in, made_user_arg(s->a[0], s->a[1]));
	case MADE_CROSS_ENTROPY:
		return rt_cross_entropy(g, in[0], in[1]);
	default:
		return rt_dot(g, in[0], in[1]);
	}
}

int made_build(const struct made *m, int64_t rows, struct made_graph *ret, struct gt_err *err)
{
	*ret = (struct made_graph){ .g = rt_graph_new() };
	for (int i = 0; i < m->n; i++) {
		ret->node[i] = made_apply(ret, m, &m->step[i], rows);
		if (!ret->node[i])
			break;
	}
	ret->loss = m->n ? ret->node[m->n - 1] : NULL;
	return rt_graph_error(ret->g, err);
}

void made_graph_free(struct made_graph *mg)
{
	rt_graph_free(mg->g);
	*mg = (struct made_graph){ 0 };
}

static void print_step(const struct made *m, const struct made_graph *mg, int i, FILE *to)
{
	static const char *const acts[] = { "gelu", "gelu_erf", "relu", "silu", "tanh", "sigmoid" };
	static const char *const kinds[] = { "sum", "mean", "max" };
	const struct made_step *s = &m->step[i];
	char shape[96] = "?";

	if (mg->node[i])
		rt_shape_format(&mg->node[i]->shape, shape, sizeof(shape));
	fprintf(to, "#   v%-2d = %s(", i, s->op == MADE_ACT ? acts[s->a[0] % 6] : op_names[s->op]);
	for (int k = 0, first = 1; k < MADE_INPUTS; k++)
		if (s->in[k] >= 0)
			fprintf(to, "%sv%d", first ? "" : ", ", s->in[k]), first = 0;
	fprintf(to, ") -> %s", shape);
	switch (s->op) {
	case MADE_IDS:
		fprintf(to, " below %d%s", s->a[0], s->a[1] ? ", some ignored" : "");
		break;
	case MADE_MATMUL:
		fprintf(to, "%s%s", s->a[0] ? " ta" : "", s->a[1] ? " tb" : "");
		break;
	case MADE_CONV:
		fprintf(to, " stride %d pad %d groups %d", s->a[0], s->a[1], s->a[2]);
		break;
	case MADE_ATTENTION:
		fprintf(to, " heads %d%s", s->a[0], s->a[1] ? " causal" : "");
		break;
	case MADE_REDUCE:
		fprintf(to, " %s over %d", kinds[s->a[0]], s->a[1]);
		break;
	case MADE_USER:
		fprintf(to, " %s with %d", made_user_ops[s->a[0]].name, s->a[1]);
		break;
	default:
		if (!made_is_leaf(s->op) && (s->a[0] || s->a[1] || s->a[2]))
			fprintf(to, " with %d %d %d", s->a[0], s->a[1], s->a[2]);
	}
	fputc('\n', to);
}

void made_print(const struct made *m, FILE *to)
{
	struct made_graph mg;

	made_build(m, MADE_ROWS, &mg, NULL);
	for (int i = 0; i < m->n; i++)
		print_step(m, &mg, i, to);
	fprintf(to, "#   options");
	for (size_t i = 0; i < sizeof(m->how); i++)
		fprintf(to, " %d", m->how[i]);
	fprintf(to, ", values of %llx\n", (unsigned long long)m->seed);
	made_graph_free(&mg);
}

/* ---- values ---- */
static uint8_t byte_at(const struct made *m, uint64_t stream, uint64_t i)
{
	return (uint8_t)(rt_random_u64(m->seed, stream, i) >> 20);
}

static uint64_t stream_of(const struct made *m, int step, uint64_t t)
{
	return (uint64_t)step * 1000 + (m->step[step].op == MADE_INPUT || m->step[step].op == MADE_IDS ? t : 0);
}

double made_value(const struct made *m, int step, uint64_t t, uint64_t i, int64_t fan_in)
{
	const struct made_step *s = &m->step[step];
	uint64_t stream = stream_of(m, step, t);
	float x;

	if (s->op == MADE_IDS) {
		/* classes may be as many as there are rows, of which another batch has fewer */
		uint64_t r = rt_random_u64(m->seed, stream, i),
			 limit = (uint64_t)(s->a[0] == MADE_ROWS ? MADE_LEAST_ROWS : s->a[0]);

		return s->a[1] && i && r >> 40 & 1 ? RT_IGNORE : (double)(r % limit);
	}
	if (s->op == MADE_INPUT && m->pixels)
		return ((double)byte_at(m, stream, i) / 255 - (double)MADE_PIXEL_MEAN) / (double)MADE_PIXEL_STD;
	x = rt_random_normal(m->seed, stream, i);
	if (s->op == MADE_VARIANCE)
		return (double)(0.5f + fabsf(x));
	if (s->a[0] == MADE_ONE)
		return (double)(1 + 0.3f * x);
	if (s->a[0] == MADE_WEIGHT)
		return (double)(x * (float)(1.2 / sqrt((double)fan_in)));
	return (double)(0.8f * x);
}

/* What one element of the result sums up. */
static int64_t fan_in(const struct rt_node *n)
{
	return n->shape.n == 4 ? rt_shape_elements(&n->shape) / n->shape.d[0] : n->shape.d[n->shape.n - 1];
}

static int step_of(const struct made *m, const struct made_graph *mg, const struct rt_node *n)
{
	for (int i = 0; i < m->n; i++)
		if (mg->node[i] == n)
			return i;
	return -1;
}

void **made_inputs(const struct made *m, const struct made_graph *mg, uint64_t t)
{
	void **list = gt_xcalloc(MADE_STEPS + 1, sizeof(*list));
	int n = 0;

	for (int i = 0; i < m->n; i++) {
		const struct rt_node *node = mg->node[i];
		int64_t count;
		float *x;

		if (!node || node->role != RT_ROLE_INPUT)
			continue;
		count = rt_shape_elements(&node->shape);
		list[n++] = x = gt_xcalloc((size_t)count, sizeof(*x));
		for (int64_t k = 0; k < count; k++) {
			double v = made_value(m, i, t, (uint64_t)k, fan_in(node));

			if (node->dtype == RT_I32)
				((int32_t *)(void *)x)[k] = (int32_t)v;
			else if (m->pixels)
				((uint8_t *)x)[k] = byte_at(m, stream_of(m, i, t), (uint64_t)k);
			else
				x[k] = (float)v;
		}
	}
	return list;
}

void made_inputs_free(void **inputs)
{
	for (int i = 0; inputs[i]; i++)
		free(inputs[i]);
	free(inputs);
}

double **made_leaves(const struct made *m, const struct made_graph *mg, uint64_t t)
{
	double **values = gt_xcalloc((size_t)mg->g->ir.n_nodes + 1, sizeof(*values));

	for (int i = 0; i < mg->g->ir.n_nodes; i++) {
		const struct rt_node *n = mg->g->ir.nodes[i];
		int64_t count = rt_shape_elements(&n->shape);
		int step = n->role == RT_ROLE_INPUT || n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER ?
				   step_of(m, mg, n) : -1;

		if (step < 0)
			continue;
		values[i] = gt_xcalloc((size_t)count, sizeof(double));
		for (int64_t k = 0; k < count; k++)
			values[i][k] = made_value(m, step, t, (uint64_t)k, fan_in(n));
	}
	return values;
}

void made_values_free(double **values, int n)
{
	for (int i = 0; i < n; i++)
		free(values[i]);
	free(values);
}

void made_load(const struct made *m, const struct made_graph *mg, struct rt_program *p)
{
	for (int i = 0; i < m->n; i++) {
		const struct rt_node *n = mg->node[i];
		int64_t count = rt_shape_elements(&n->shape);
		gt_autofree float *w = NULL;

		if (n->role != RT_ROLE_PARAM && n->role != RT_ROLE_BUFFER)
			continue;
		w = gt_xcalloc((size_t)count, sizeof(*w));
		for (int64_t k = 0; k < count; k++)
			w[k] = (float)made_value(m, i, 0, (uint64_t)k, fan_in(n));
		(void)rt_write_param(p, n, w, NULL); /* nobody reads it: it has no place */
	}
}
