/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the graph of a generated program, with its values. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tests/graphs/generated.h"

static const char *const op_names[GEN_N] = {
	[GEN_INPUT] = "input", [GEN_IDS] = "ids", [GEN_PARAM] = "param", [GEN_BUFFER] = "buffer",
	[GEN_VARIANCE] = "variance", [GEN_LINEAR] = "linear", [GEN_MATMUL] = "matmul", [GEN_CONV] = "conv",
	[GEN_BATCHNORM] = "batchnorm", [GEN_LAYERNORM] = "layernorm", [GEN_RMSNORM] = "rmsnorm",
	[GEN_EMBEDDING] = "embedding", [GEN_ATTENTION] = "attention", [GEN_ROPE] = "rope",
	[GEN_SWIGLU] = "swiglu", [GEN_ACT] = "act",
	[GEN_ADD] = "add",
	[GEN_MUL] = "mul", [GEN_AFFINE] = "affine", [GEN_DROPOUT] = "dropout", [GEN_SOFTMAX] = "softmax",
	[GEN_REDUCE] = "reduce", [GEN_RESHAPE] = "reshape", [GEN_MAX_POOL] = "max_pool", [GEN_AVG_POOL] = "avg_pool",
	[GEN_PAD] = "pad", [GEN_USER] = "user", [GEN_CROSS_ENTROPY] = "cross_entropy", [GEN_DOT] = "dot",
};

const char *gen_op_name(enum gen_op op)
{
	return op_names[op];
}

bool gen_is_leaf(enum gen_op op)
{
	return op <= GEN_VARIANCE;
}

static struct rt_shape of_rows(struct rt_shape s, int64_t rows)
{
	for (int i = 0; i < GT_MIN(s.n, 2); i++)
		s.d[i] = s.d[i] == GEN_ROWS ? rows : s.d[i];
	return s;
}

static struct rt_node *leaf(struct rt_graph *g, const struct gen_program *m, const struct gen_step *s, int64_t rows)
{
	struct rt_shape shape = s->shape;
	char name[16];

	/* number of the step; while the program is generated, the next number */
	snprintf(name, sizeof(name), "v%d", s >= m->step && s < m->step + GEN_STEPS ? (int)(s - m->step) : m->n);
	if (s->op == GEN_INPUT || s->op == GEN_IDS)
		shape = of_rows(shape, rows);
	switch (s->op) {
	case GEN_INPUT:
		return rt_input(g, name, RT_F32, shape);
	case GEN_IDS:
		return rt_input(g, name, RT_I32, shape);
	case GEN_PARAM:
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

static struct rt_node *reshape(struct rt_graph *g, struct rt_node *x, const struct gen_step *s, int64_t rows)
{
	return rt_reshape(g, x, of_rows(s->shape, rows));
}

struct rt_node *gen_apply(struct gen_graph *mg, const struct gen_program *m, const struct gen_step *s, int64_t rows)
{
	static const float eps[] = { 1e-5f, 1e-3f, 1e-6f, 0.1f };
	struct rt_node *in[GEN_INPUTS];
	struct rt_graph *g = mg->g;

	for (int i = 0; i < GEN_INPUTS; i++)
		in[i] = s->in[i] >= 0 ? mg->node[s->in[i]] : NULL;
	if (gen_is_leaf(s->op))
		return leaf(g, m, s, rows);
	switch (s->op) {
	case GEN_LINEAR:
		return rt_linear(g, in[0], in[1], in[2]);
	case GEN_MATMUL:
		return rt_matmul(g, in[0], s->a[0], in[1], s->a[1]);
	case GEN_CONV:
		return rt_conv2d(g, in[0], in[1], in[2],
				 (struct rt_conv2d){ .stride = s->a[0], .pad = s->a[1], .groups = s->a[2] });
	case GEN_BATCHNORM:
		return rt_batchnorm(g, in[0], in[1], in[2], in[3], in[4], eps[s->a[0]], 0.1f * (float)(1 + s->a[0]));
	case GEN_LAYERNORM:
		return rt_layernorm(g, in[0], in[1], in[2], eps[s->a[0]]);
	case GEN_RMSNORM:
		return rt_rmsnorm(g, in[0], in[1], eps[s->a[0]]);
	case GEN_EMBEDDING:
		return rt_embedding(g, in[0], in[1], in[2]);
	case GEN_ATTENTION:
		if (s->a[2])
			return rt_attention_grouped(g, in[0], s->a[0], s->a[2]);
		return s->a[1] ? rt_attention(g, in[0], s->a[0]) : rt_attention_full(g, in[0], s->a[0]);
	case GEN_ROPE:
		return rt_rope(g, in[0], s->a[0], s->a[1], s->a[2] ? 10000 : 20);
	case GEN_SWIGLU:
		return rt_swiglu(g, in[0]);
	case GEN_ACT:
		return act(g, in[0], s->a[0]);
	case GEN_ADD:
		return rt_add(g, in[0], in[1]);
	case GEN_MUL:
		return rt_mul(g, in[0], in[1]);
	case GEN_AFFINE:
		return rt_affine(g, in[0], (float)(s->a[0] - 10) / 8, (float)s->a[1] / 4);
	case GEN_DROPOUT:
		return rt_dropout(g, in[0], m->dropout ? (float)s->a[0] / 40 : 0);
	case GEN_SOFTMAX:
		return rt_softmax(g, in[0]);
	case GEN_REDUCE:
		return rt_reduce(g, in[0], (enum rt_reduction)s->a[0], s->a[1]);
	case GEN_RESHAPE:
		return reshape(g, in[0], s, rows);
	case GEN_MAX_POOL:
		return rt_max_pool(g, in[0], s->a[0], s->a[1], s->a[2]);
	case GEN_AVG_POOL:
		return rt_avg_pool(g, in[0], s->a[0], s->a[1], s->a[2]);
	case GEN_PAD:
		return rt_pad(g, in[0], s->a[0], s->a[1]);
	case GEN_USER:
		return rt_user(g, &gen_user_ops[s->a[0]], in, gen_user_arg(s->a[0], s->a[1]));
	case GEN_CROSS_ENTROPY:
		return rt_cross_entropy(g, in[0], in[1]);
	default:
		return rt_dot(g, in[0], in[1]);
	}
}

int gen_build(const struct gen_program *m, int64_t rows, struct gen_graph *ret, struct gt_err *err)
{
	*ret = (struct gen_graph){ .g = rt_graph_new() };
	for (int i = 0; i < m->n; i++) {
		ret->node[i] = gen_apply(ret, m, &m->step[i], rows);
		if (!ret->node[i])
			break;
	}
	ret->loss = m->n ? ret->node[m->n - 1] : NULL;
	return rt_graph_error(ret->g, err);
}

void gen_graph_free(struct gen_graph *mg)
{
	rt_graph_free(mg->g);
	*mg = (struct gen_graph){ 0 };
}

static void print_step(const struct gen_program *m, const struct gen_graph *mg, int i, FILE *to)
{
	static const char *const acts[] = { "gelu", "gelu_erf", "relu", "silu", "tanh", "sigmoid" };
	static const char *const kinds[] = { "sum", "mean", "max" };
	const struct gen_step *s = &m->step[i];
	char shape[96] = "?";

	if (mg->node[i])
		rt_shape_format(&mg->node[i]->shape, shape, sizeof(shape));
	fprintf(to, "#   v%-2d = %s(", i, s->op == GEN_ACT ? acts[s->a[0] % 6] : op_names[s->op]);
	for (int k = 0, first = 1; k < GEN_INPUTS; k++)
		if (s->in[k] >= 0)
			fprintf(to, "%sv%d", first ? "" : ", ", s->in[k]), first = 0;
	fprintf(to, ") -> %s", shape);
	switch (s->op) {
	case GEN_IDS:
		fprintf(to, " below %d%s", s->a[0], s->a[1] ? ", some ignored" : "");
		break;
	case GEN_MATMUL:
		fprintf(to, "%s%s", s->a[0] ? " ta" : "", s->a[1] ? " tb" : "");
		break;
	case GEN_CONV:
		fprintf(to, " stride %d pad %d groups %d", s->a[0], s->a[1], s->a[2]);
		break;
	case GEN_ATTENTION:
		fprintf(to, " heads %d%s", s->a[0], s->a[1] ? " causal" : "");
		if (s->a[2])
			fprintf(to, " key/value heads %d", s->a[2]);
		break;
	case GEN_REDUCE:
		fprintf(to, " %s over %d", kinds[s->a[0]], s->a[1]);
		break;
	case GEN_USER:
		fprintf(to, " %s with %d", gen_user_ops[s->a[0]].name, s->a[1]);
		break;
	default:
		if (!gen_is_leaf(s->op) && (s->a[0] || s->a[1] || s->a[2]))
			fprintf(to, " with %d %d %d", s->a[0], s->a[1], s->a[2]);
	}
	fputc('\n', to);
}

void gen_print(const struct gen_program *m, FILE *to)
{
	struct gen_graph mg;

	gen_build(m, GEN_ROWS, &mg, NULL);
	for (int i = 0; i < m->n; i++)
		print_step(m, &mg, i, to);
	fprintf(to, "#   options");
	for (size_t i = 0; i < sizeof(m->how); i++)
		fprintf(to, " %d", m->how[i]);
	fprintf(to, ", values of %llx\n", (unsigned long long)m->seed);
	gen_graph_free(&mg);
}

/* ---- values ---- */
static uint8_t byte_at(const struct gen_program *m, uint64_t stream, uint64_t i)
{
	return (uint8_t)(rt_random_u64(m->seed, stream, i) >> 20);
}

static uint64_t stream_of(const struct gen_program *m, int step, uint64_t t)
{
	return (uint64_t)step * 1000 + (m->step[step].op == GEN_INPUT || m->step[step].op == GEN_IDS ? t : 0);
}

double gen_value(const struct gen_program *m, int step, uint64_t t, uint64_t i, int64_t fan_in)
{
	const struct gen_step *s = &m->step[step];
	uint64_t stream = stream_of(m, step, t);
	float x;

	if (s->op == GEN_IDS) {
		/* the number of classes may be that of the rows, which is smaller in another batch */
		uint64_t r = rt_random_u64(m->seed, stream, i),
			 limit = (uint64_t)(s->a[0] == GEN_ROWS ? GEN_LEAST_ROWS : s->a[0]);

		return s->a[1] && i && r >> 40 & 1 ? RT_IGNORE : (double)(r % limit);
	}
	if (s->op == GEN_INPUT && m->pixels)
		return ((double)byte_at(m, stream, i) / 255 - (double)GEN_PIXEL_MEAN) / (double)GEN_PIXEL_STD;
	x = rt_random_normal(m->seed, stream, i);
	if (s->op == GEN_VARIANCE)
		return (double)(0.5f + fabsf(x));
	if (s->a[0] == GEN_ONE)
		return (double)(1 + 0.3f * x);
	if (s->a[0] == GEN_WEIGHT)
		return (double)(x * (float)(1.2 / sqrt((double)fan_in)));
	return (double)(0.8f * x);
}

/* Returns the number of terms in one element of the result. */
static int64_t fan_in(const struct rt_node *n)
{
	return n->shape.n == 4 ? rt_shape_elements(&n->shape) / n->shape.d[0] : n->shape.d[n->shape.n - 1];
}

static int step_of(const struct gen_program *m, const struct gen_graph *mg, const struct rt_node *n)
{
	for (int i = 0; i < m->n; i++)
		if (mg->node[i] == n)
			return i;
	return -1;
}

void **gen_inputs(const struct gen_program *m, const struct gen_graph *mg, uint64_t t)
{
	void **list = gt_xcalloc(GEN_STEPS + 1, sizeof(*list));
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
			double v = gen_value(m, i, t, (uint64_t)k, fan_in(node));

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

void gen_inputs_free(void **inputs)
{
	for (int i = 0; inputs[i]; i++)
		free(inputs[i]);
	free(inputs);
}

double **gen_leaves(const struct gen_program *m, const struct gen_graph *mg, uint64_t t)
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
			values[i][k] = gen_value(m, step, t, (uint64_t)k, fan_in(n));
	}
	return values;
}

void gen_values_free(double **values, int n)
{
	for (int i = 0; i < n; i++)
		free(values[i]);
	free(values);
}

void gen_load(const struct gen_program *m, const struct gen_graph *mg, struct rt_program *p)
{
	for (int i = 0; i < m->n; i++) {
		const struct rt_node *n = mg->node[i];
		int64_t count = rt_shape_elements(&n->shape);
		gt_autofree float *w = NULL;

		if (n->role != RT_ROLE_PARAM && n->role != RT_ROLE_BUFFER)
			continue;
		w = gt_xcalloc((size_t)count, sizeof(*w));
		for (int64_t k = 0; k < count; k++)
			w[k] = (float)gen_value(m, i, 0, (uint64_t)k, fan_in(n));
		(void)rt_write_param(p, n, w, NULL); /* fails if no op reads the parameter: it has no memory */
	}
}
