/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the graph that the text of a case describes. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "lib/err.h"
#include "lib/util.h"
#include "runtime/cases/cases.h"

#define MAX_NAMES	24
#define MAX_NUMBERS	8

struct parser {
	const char *text, *at;
	struct rt_graph *g;
	struct gt_err *err;
	struct {
		char name[16];
		struct rt_node *node;
	} names[MAX_NAMES]; /* declared tensors and named results */
	int n_names;
	bool loss; /* the last op is a loss */
	struct rt_case_range range[MAX_NAMES];
	int n_ranges;
};

/* The arguments of an op. */
struct args {
	struct rt_node *in[5];
	double num[MAX_NUMBERS];
	int n_in, n_num;
};

static int whole(const struct args *a, int i)
{
	return (int)a->num[i];
}

/* Reads the numbers from number `from` on as a shape. */
static struct rt_shape shape_from(const struct args *a, int from)
{
	struct rt_shape s = { 0 };

	for (int i = from; i < a->n_num && s.n < RT_MAX_DIMS; i++)
		s.d[s.n++] = (int64_t)a->num[i];
	return s;
}

static struct rt_gpt_config transformer(const struct args *a)
{
	return (struct rt_gpt_config){ .batch = whole(a, 0), .seq = whole(a, 1), .layers = whole(a, 2), .width = whole(a, 3),
				       .heads = whole(a, 4), .vocab = whole(a, 5), .positions = whole(a, 6),
				       .dropout = (float)a->num[7] };
}

/* A model that shares key/value heads also uses tied weights, so that the cases contain both. */
static struct rt_llama_config llama(const struct args *a)
{
	return (struct rt_llama_config){ .batch = whole(a, 0), .seq = whole(a, 1), .layers = whole(a, 2), .width = whole(a, 3),
					 .heads = whole(a, 4), .kv_heads = whole(a, 5), .ffn = whole(a, 6), .vocab = whole(a, 7),
					 .rope_base = 10000, .eps = 1e-5f, .tied = a->num[4] > a->num[5] };
}

#define EPS	1e-5f
#define N(i)	whole(a, i)
#define F(i)	((float)a->num[i])
/* name, whether it is a loss, minimum and maximum number of tensors and of numbers (missing numbers are 0), function */
#define OPS(OP)                                                                                                                    \
	OP(linear, false, 2, 3, 0, 0, rt_linear(g, x, y, z))                                                                       \
	OP(matmul, false, 2, 2, 0, 2, rt_matmul(g, x, N(0), y, N(1)))                                                              \
	OP(conv, false, 2, 3, 0, 3, rt_conv2d(g, x, y, z, (struct rt_conv2d){ N(0), N(1), N(2) }))                                 \
	OP(embedding, false, 2, 3, 0, 0, rt_embedding(g, x, y, z))                                                                 \
	OP(layernorm, false, 3, 3, 0, 0, rt_layernorm(g, x, y, z, EPS))                                                            \
	OP(rmsnorm, false, 2, 2, 0, 0, rt_rmsnorm(g, x, y, EPS))                                                                   \
	OP(batchnorm, false, 5, 5, 0, 0, rt_batchnorm(g, x, y, z, a->in[3], a->in[4], EPS, 0.1f))                                  \
	OP(attention, false, 1, 1, 1, 1, rt_attention(g, x, N(0)))                                                                 \
	OP(attention_full, false, 1, 1, 1, 1, rt_attention_full(g, x, N(0)))                                                       \
	OP(attention_gqa, false, 1, 1, 2, 2, rt_attention_grouped(g, x, N(0), N(1)))                                               \
	OP(swiglu, false, 1, 1, 0, 0, rt_swiglu(g, x))                                                                             \
	OP(rope, false, 1, 1, 3, 3, rt_rope(g, x, N(0), N(1), F(2)))                                                               \
	OP(gelu, false, 1, 1, 0, 0, rt_gelu(g, x))                                                                                 \
	OP(gelu_erf, false, 1, 1, 0, 0, rt_gelu_erf(g, x))                                                                         \
	OP(relu, false, 1, 1, 0, 0, rt_relu(g, x))                                                                                 \
	OP(silu, false, 1, 1, 0, 0, rt_silu(g, x))                                                                                 \
	OP(tanh, false, 1, 1, 0, 0, rt_tanh(g, x))                                                                                 \
	OP(sigmoid, false, 1, 1, 0, 0, rt_sigmoid(g, x))                                                                           \
	OP(softmax, false, 1, 1, 0, 0, rt_softmax(g, x))                                                                           \
	OP(add, false, 2, 2, 0, 0, rt_add(g, x, y))                                                                                \
	OP(mul, false, 2, 2, 0, 0, rt_mul(g, x, y))                                                                                \
	OP(affine, false, 1, 1, 2, 2, rt_affine(g, x, F(0), F(1)))                                                                 \
	OP(sum, false, 1, 1, 1, 1, rt_reduce(g, x, RT_SUM, N(0)))                                                                  \
	OP(mean, false, 1, 1, 1, 1, rt_reduce(g, x, RT_MEAN, N(0)))                                                                \
	OP(max, false, 1, 1, 1, 1, rt_reduce(g, x, RT_MAX, N(0)))                                                                  \
	OP(max_pool, false, 1, 1, 3, 3, rt_max_pool(g, x, N(0), N(1), N(2)))                                                       \
	OP(avg_pool, false, 1, 1, 3, 3, rt_avg_pool(g, x, N(0), N(1), N(2)))                                                       \
	OP(pad, false, 1, 1, 2, 2, rt_pad(g, x, N(0), N(1)))                                                                       \
	OP(reshape, false, 1, 1, 1, RT_MAX_DIMS, rt_reshape(g, x, shape_from(a, 0)))                                               \
	OP(dropout, false, 1, 1, 1, 1, rt_dropout(g, x, F(0)))                                                                     \
	OP(dot, true, 2, 2, 0, 0, rt_dot(g, x, y))                                                                                 \
	OP(cross_entropy, true, 2, 2, 0, 0, rt_cross_entropy(g, x, y))                                                             \
	OP(mlp, true, 0, 0, 3, 5, rt_model_mlp(g, N(0), shape_from(a, 1).d, a->n_num - 1))                                         \
	OP(resnet, true, 0, 0, 4, 4, rt_model_resnet_small(g, N(0), N(1), N(2), N(3)))                                             \
	OP(gpt, true, 0, 0, 6, 8, rt_model_gpt(g, &(struct rt_gpt_config[]){ transformer(a) }[0]))                                 \
	OP(bert, true, 0, 0, 6, 6, rt_model_bert(g, &(struct rt_gpt_config[]){ transformer(a) }[0]))                               \
	OP(llama, true, 0, 0, 8, 8, rt_model_llama(g, &(struct rt_llama_config[]){ llama(a) }[0]))                                 \
	OP(vit, true, 0, 0, 7, 7,                                                                                                  \
	   rt_model_vit(g, &(struct rt_vit_config){ .batch = N(0), .size = N(1), .patch = N(2), .layers = N(3), .width = N(4),     \
						    .heads = N(5), .classes = N(6) }))

#define BUILD(name, loss, t0, t1, n0, n1, call)                                                                                    \
	static struct rt_node *build_##name(struct rt_graph *g, const struct args *a)                                              \
	{                                                                                                                          \
		struct rt_node *x = a->in[0], *y = a->in[1], *z = a->in[2];                                                        \
                                                                                                                                   \
		(void)x;                                                                                                           \
		(void)y;                                                                                                           \
		(void)z;                                                                                                           \
		return call;                                                                                                       \
	}
OPS(BUILD)

static const struct op {
	const char *name;
	bool loss;
	int min_in, max_in, min_num, max_num;
	struct rt_node *(*build)(struct rt_graph *g, const struct args *a);
} ops[] = {
#define ROW(name, loss, t0, t1, n0, n1, call) { #name, loss, t0, t1, n0, n1, build_##name },
	OPS(ROW)
};

static int fail(struct parser *p, const char *what)
{
	return gt_fail(p->err, EINVAL, "%s at '%s' of '%s'", what, p->at, p->text);
}

static bool skip(struct parser *p, char c)
{
	p->at += strspn(p->at, " ");
	if (*p->at != c)
		return false;
	p->at++;
	p->at += strspn(p->at, " ");
	return true;
}

static int parse_number(struct parser *p, double *ret)
{
	char *end;

	*ret = strtod(p->at, &end);
	if (end == p->at)
		return fail(p, "no number");
	p->at = end;
	return 0;
}

static int parse_name(struct parser *p, char name[16])
{
	size_t n = 0;

	while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_')
		n++;
	if (n < 1 || n > 15 || isdigit((unsigned char)*p->at))
		return fail(p, "no name");
	memcpy(name, p->at, n);
	name[n] = '\0';
	p->at += n;
	p->at += strspn(p->at, " ");
	return 0;
}

static int bind(struct parser *p, const char *name, struct rt_node *n)
{
	if (p->n_names == MAX_NAMES)
		return fail(p, "too many names");
	strcpy(p->names[p->n_names].name, name);
	p->names[p->n_names++].node = n;
	return 0;
}

/* Returns whether the name without trailing digits is this word. */
static bool is(const char *name, const char *word)
{
	size_t n = strcspn(name, "0123456789");

	return n == strlen(word) && !strncmp(name, word, n);
}

static struct rt_node *declare(struct rt_graph *g, const char *name, struct rt_shape s, const struct rt_case_range *r)
{
	if (is(name, "ids"))
		return rt_input(g, name, RT_I32, s);
	if (is(name, "mask") || is(name, "weights"))
		return rt_input(g, name, RT_F32, s);
	if (is(name, "mean"))
		return rt_buffer(g, name, s, RT_INIT_ZEROS);
	if (is(name, "var"))
		return rt_buffer(g, name, s, RT_INIT_ONES);
	return rt_param(g, name, s, r->deviation > 0 ? RT_INIT_NORMAL(r->deviation) : RT_INIT_ONES);
}

/* Parses name[5,9:0.3:1] from the bracket on. */
static int parse_leaf(struct parser *p, const char *name, struct rt_node **ret)
{
	struct rt_case_range range = { 1, 0 };
	struct rt_shape s = { 0 };
	double v = 0;

	do {
		if (s.n == RT_MAX_DIMS || parse_number(p, &v) < 0)
			return fail(p, "no dimension");
		s.d[s.n++] = (int64_t)v;
	} while (skip(p, ','));
	for (int i = 0; i < 2 && skip(p, ':'); i++) {
		if (parse_number(p, &v) < 0)
			return -EINVAL;
		*(i ? &range.mean : &range.deviation) = (float)v;
	}
	if (!skip(p, ']'))
		return fail(p, "no ']'");
	*ret = declare(p->g, name, s, &range);
	if (bind(p, name, *ret) < 0)
		return -EINVAL;
	p->range[p->n_ranges++] = range;
	return 0;
}

static int parse_tensor(struct parser *p, struct rt_node **ret);

/* Parses the arguments of an op from the bracket on. */
static int parse_args(struct parser *p, struct args *a)
{
	do {
		if (isalpha((unsigned char)*p->at)) {
			if (a->n_in == (int)GT_ARRAY_SIZE(a->in) || a->n_num || parse_tensor(p, &a->in[a->n_in]) < 0)
				return fail(p, "no such tensor");
			a->n_in++;
		} else if (a->n_num == MAX_NUMBERS || parse_number(p, &a->num[a->n_num++]) < 0) {
			return fail(p, "no number");
		}
	} while (skip(p, ','));
	return skip(p, ')') ? 0 : fail(p, "no ')'");
}

static int parse_op(struct parser *p, const char *name, struct rt_node **ret)
{
	struct args a = { 0 };

	if (parse_args(p, &a) < 0)
		return -EINVAL;
	for (size_t i = 0; i < GT_ARRAY_SIZE(ops); i++) {
		const struct op *o = &ops[i];

		if (!gt_streq(o->name, name))
			continue;
		if (a.n_in < o->min_in || a.n_in > o->max_in || a.n_num < o->min_num || a.n_num > o->max_num)
			return fail(p, "wrong number of arguments");
		*ret = o->build(p->g, &a);
		p->loss = o->loss;
		return 0;
	}
	return fail(p, "no such op");
}

static int parse_tensor(struct parser *p, struct rt_node **ret)
{
	char name[16];

	p->loss = false;
	if (parse_name(p, name) < 0)
		return -EINVAL;
	if (skip(p, '['))
		return parse_leaf(p, name, ret);
	if (skip(p, '('))
		return parse_op(p, name, ret);
	for (int i = 0; i < p->n_names; i++)
		if (gt_streq(p->names[i].name, name)) {
			*ret = p->names[i].node;
			return 0;
		}
	return fail(p, "no such tensor");
}

/* Parses assignments "NAME = ...;" and then the last expression. */
static int parse_text(struct parser *p, struct rt_node **ret)
{
	for (;;) {
		const char *start = p->at;
		char name[16];

		if (parse_name(p, name) < 0)
			return -EINVAL;
		if (!skip(p, '=')) {
			p->at = start;
			return parse_tensor(p, ret) < 0 ? -EINVAL : *p->at ? fail(p, "text") : 0;
		}
		if (parse_tensor(p, ret) < 0 || bind(p, name, *ret) < 0)
			return -EINVAL;
		if (!skip(p, ';'))
			return fail(p, "no ';'");
	}
}

int rt_case_parse(const char *text, struct rt_graph *g, struct rt_case_graph *ret, struct gt_err *err)
{
	struct parser p = { .text = text, .at = text, .g = g, .err = err };
	struct rt_node *root = NULL;
	int r = parse_text(&p, &root);

	if (r < 0)
		return r;
	if (!root) /* an op rejected its inputs */
		return rt_graph_error(g, err);
	*ret = (struct rt_case_graph){ .out = p.loss ? NULL : root, .loss = root };
	if (!p.loss)
		ret->loss = rt_dot(g, root, rt_input(g, "weights", RT_F32, *rt_node_shape(root)));
	ret->range = gt_xcalloc((size_t)rt_graph_leaves(g), sizeof(*ret->range));
	for (int i = 0; i < rt_graph_leaves(g); i++)
		ret->range[i] = i < p.n_ranges ? p.range[i] : (struct rt_case_range){ 1, 0 };
	return 0;
}

void rt_case_clear(struct rt_case_graph *g)
{
	free(g->range);
	g->range = NULL;
}

void rt_case_values(const struct rt_case *c, const struct rt_graph *g, const struct rt_case_graph *built, int leaf, uint64_t seed,
		    void *out)
{
	const struct rt_node *n = rt_graph_leaf(g, leaf);
	const uint64_t stream = 1000 + (uint64_t)leaf;
	bool ignore = c->ignore && !gt_streq(rt_node_name(n), "tokens");
	const struct rt_case_range *r = &built->range[leaf];
	uint64_t count = (uint64_t)rt_shape_elements(rt_node_shape(n));
	int32_t *ids = out;
	float *x = out;

	for (uint64_t i = 0; i < count; i++)
		if (rt_node_dtype(n) != RT_I32)
			x[i] = rt_random_normal(seed, stream, i) * r->deviation + r->mean;
		else if (ignore && i % 3 == 1)
			ids[i] = RT_IGNORE;
		else
			ids[i] = (int32_t)(rt_random_u64(seed, stream, i) % (uint64_t)c->ids);
}
