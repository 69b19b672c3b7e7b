/* SPDX-License-Identifier: Apache-2.0 */
/* Structured pruning: a model without units computes what the model with zeroed units computes, and trains on as it would. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/backend/program.h"
#include "runtime/math/map8.h"
#include "tests/unit/check_runtime.h"

#define TOLERANCE	1e-6 /* of the largest logit */

/* ---- models ---- */

/* Neurons and heads of these layers are removed: weight that computes the units, weight that reads them. */
struct layer {
	const char *weight, *reader;
	int halves; /* 2: a unit has two columns, as in swiglu */
};
struct model {
	const char *name;
	struct rt_node *(*declare)(struct rt_graph *g);
	double remove[RT_UNIT_KINDS];
	struct layer layer[4];
	int limit; /* of ids */
};

static struct rt_node *declare_gpt(struct rt_graph *g)
{
	return rt_model_gpt(g, &(struct rt_gpt_config){ .batch = 2, .seq = 6, .layers = 2, .width = 24, .heads = 4, .vocab = 11 });
}

static struct rt_node *declare_bert(struct rt_graph *g)
{
	return rt_model_bert(g, &(struct rt_gpt_config){ .batch = 2, .seq = 6, .layers = 1, .width = 24, .heads = 3, .vocab = 11 });
}

static struct rt_node *declare_vit(struct rt_graph *g)
{
	return rt_model_vit(g, &(struct rt_vit_config){ .batch = 2, .size = 16, .patch = 8, .layers = 2, .width = 16, .heads = 4,
							.classes = 11 });
}

static const struct rt_llama_config llama_size = { .batch = 2, .seq = 6, .layers = 2, .width = 24, .heads = 6, .kv_heads = 3,
						   .ffn = 20, .vocab = 11, .rope_base = 10000, .eps = 1e-5f };

static struct rt_node *declare_llama(struct rt_graph *g)
{
	return rt_model_llama(g, &llama_size);
}

static struct rt_node *declare_mlp(struct rt_graph *g)
{
	return rt_model_mlp(g, 4, (int64_t[]){ 8, 12, 10, 11 }, 4);
}

static struct rt_node *declare_resnet20(struct rt_graph *g)
{
	return rt_model_resnet_small(g, 3, 8, 20, 11);
}

static struct rt_node *conv(struct rt_graph *g, int n, struct rt_node *x, int64_t out, int kernel)
{
	struct rt_shape c = RT_SHAPE(out);
	gt_autofree char *w = gt_xasprintf("conv%d.weight", n), *gain = gt_xasprintf("bn%d.weight", n);
	gt_autofree char *bias = gt_xasprintf("bn%d.bias", n), *mean = gt_xasprintf("bn%d.mean", n);
	gt_autofree char *var = gt_xasprintf("bn%d.var", n);

	x = rt_conv2d(g, x, rt_param(g, w, RT_SHAPE(out, rt_node_shape(x)->d[3], kernel, kernel), RT_INIT_NORMAL(0.2f)), NULL,
		      (struct rt_conv2d){ .pad = kernel / 2 });
	return rt_batchnorm(g, x, rt_param(g, gain, c, RT_INIT_ONES), rt_param(g, bias, c, RT_INIT_ZEROS),
			    rt_buffer(g, mean, c, RT_INIT_ZEROS), rt_buffer(g, var, c, RT_INIT_ONES), 1e-5f, 0.1f);
}

/* A bottleneck as in ResNet-50, with pooling between its convolutions. */
static struct rt_node *declare_bottleneck(struct rt_graph *g)
{
	struct rt_node *image = rt_input(g, "x", RT_F32, RT_SHAPE(3, 6, 6, 4)), *x;

	x = rt_max_pool(g, rt_relu(g, conv(g, 1, image, 6, 1)), 3, 1, 1);
	x = rt_avg_pool(g, rt_relu(g, conv(g, 2, x, 8, 3)), 3, 1, 1);
	x = rt_relu(g, rt_add(g, conv(g, 3, x, 4, 1), image));
	x = rt_reduce(g, rt_reshape(g, x, RT_SHAPE(3, 36, 4)), RT_MEAN, 1);
	x = rt_linear(g, x, rt_param(g, "fc.weight", RT_SHAPE(11, 4), RT_INIT_NORMAL(1)), NULL);
	return rt_cross_entropy(g, x, rt_input(g, "y", RT_I32, RT_SHAPE(3)));
}

#define LLAMA	"model.layers.1."
static const struct model models[] = {
	{ "gpt", declare_gpt, { 0.5, 0.25 }, { { "h0.qkv.weight", "h0.proj.weight" }, { "h1.fc.weight", "h1.fcproj.weight" } },
	  11 },
	{ "bert", declare_bert, { 1, 7 }, { { "h0.qkv.weight", "h0.proj.weight" }, { "h0.fc.weight", "h0.fcproj.weight" } }, 11 },
	{ "vit", declare_vit, { 3, 0.5 }, { { "h1.qkv.weight", "h1.proj.weight" }, { "h0.fc.weight", "h0.fcproj.weight" } }, 11 },
	{ "llama", declare_llama, { 2, 0.3 }, { { LLAMA "self_attn.qkv_proj.weight", LLAMA "self_attn.o_proj.weight" },
						{ LLAMA "mlp.gate_up_proj.weight", LLAMA "mlp.down_proj.weight", 2 } }, 11 },
	{ "mlp", declare_mlp, { 0, 4 }, { { "fc0.weight", "fc1.weight" }, { "fc1.weight", "fc2.weight" } }, 11 },
	{ "resnet20", declare_resnet20, { 0, 0, 0.5 }, { { "layer1.0.conv1.weight", "layer1.0.conv2.weight" },
							 { "layer3.2.conv1.weight", "layer3.2.conv2.weight" } }, 11 },
	{ "bottleneck", declare_bottleneck, { 0, 0, 2 }, { { "conv1.weight", "conv2.weight" }, { "conv2.weight", "conv3.weight" } },
	  11 },
};

/* ---- a model in training ---- */

struct net {
	struct rt_graph *g;
	struct rt_node *loss;
	struct rt_program *p;
};

static void compile(struct net *n)
{
	struct rt_options opt = { .threads = 1, .seed = 3, .optimizer = { .kind = RT_ADAMW, .lr = 1e-3, .weight_decay = 0.01 } };
	struct gt_err err = { 0 };

	ck_assert_msg(!rt_compile(n->g, n->loss, &opt, &n->p, &err), "%s", err.msg);
}

static void net_open(struct net *n, const struct model *m)
{
	*n = (struct net){ .g = rt_graph_new() };
	n->loss = m->declare(n->g);
	compile(n);
}

static void net_close(struct net *n)
{
	rt_program_free(n->p);
	rt_graph_free(n->g);
}

static double train(struct net *n, const struct leaves *data, int steps)
{
	struct gt_err err = { 0 };
	struct rt_metrics m = { 0 };

	for (int i = 0; i < steps; i++)
		ck_assert_msg(!rt_step(n->p, data->input, &m, &err), "%s", err.msg);
	return m.loss;
}

/* Returns the logits of the parameters that src has. */
static float *logits_of(const struct net *src, const struct leaves *data, int64_t *ret_n)
{
	struct rt_node *logits = rt_logits(src->loss);
	gt_auto(rt_program) *p = NULL;
	struct gt_err err = { 0 };
	float *out;

	ck_assert_msg(!rt_compile_outputs(src->g, &logits, 1, &(struct rt_options){ .threads = 1 }, &p, &err), "%s", err.msg);
	for (int i = 0; i < rt_graph_leaves(src->g); i++) {
		const struct rt_node *n = rt_graph_leaf(src->g, i);

		if (rt_node_is_param(n) || rt_node_is_buffer(n))
			memcpy(rt_value(p, n), rt_value(src->p, n), (size_t)rt_shape_elements(rt_node_shape(n)) * sizeof(float));
	}
	*ret_n = rt_shape_elements(rt_node_shape(logits));
	out = gt_xcalloc((size_t)*ret_n, sizeof(*out));
	ck_assert_msg(!rt_run(p, data->input, &out, &err), "%s", err.msg);
	return out;
}

static void check_equal(const float *a, const float *b, int64_t n, const char *what)
{
	double largest = 0, off = 0;

	for (int64_t i = 0; i < n; i++) {
		largest = fmax(largest, fabs((double)a[i]));
		off = fmax(off, fabs((double)a[i] - (double)b[i]));
	}
	ck_assert(largest > 0);
	ck_assert_msg(off <= TOLERANCE * fmax(largest, 1), "%s: the logits differ by %g, the largest is %g", what, off, largest);
}

/* ---- zeroed units ---- */

static const struct rt_layer_units *find(const struct rt_units *u, const char *weight)
{
	for (int i = 0; i < u->n; i++)
		if (!strcmp(u->layer[i].weight, weight))
			return &u->layer[i];
	ck_abort_msg("%s is not a layer that can lose units", weight);
}

/* Zeroes rows [from, from + n) of a parameter with this name, if the model has it. */
static void zero_rows(struct net *net, const char *name, int64_t from, int64_t n)
{
	const struct rt_node *w = rt_graph_node(net->g, name);
	int64_t row;

	if (!w)
		return;
	row = rt_shape_elements(rt_node_shape(w)) / rt_node_shape(w)->d[0];
	memset(rt_value(net->p, w) + from * row, 0, (size_t)(n * row) * sizeof(float));
}

/* Zeroes inputs [from, from + n) of a weight (O,K) or (O,C,KH,KW). */
static void zero_inputs(struct net *net, const char *name, int64_t from, int64_t n)
{
	const struct rt_node *w = rt_graph_node(net->g, name);
	const struct rt_shape *s = rt_node_shape(w);
	int64_t taps = rt_shape_elements(s) / s->d[0] / s->d[1];

	for (int64_t o = 0; o < s->d[0]; o++)
		memset(rt_value(net->p, w) + (o * s->d[1] + from) * taps, 0, (size_t)(n * taps) * sizeof(float));
}

/* Zeroes all weights of a unit, and its bias, or gain and bias of the batchnorm. */
static void zero_unit(struct net *net, const struct layer *layer, const struct rt_layer_units *l, int64_t unit)
{
	int64_t cols = rt_node_shape(rt_graph_node(net->g, layer->reader))->d[1] / l->units, depth = cols / l->size;
	int64_t heads = l->units * l->size;
	gt_autofree char *bias = gt_xstrdup(layer->weight), *norm = gt_xstrdup(layer->weight);
	char *conv = strstr(norm, "conv"), *end = strstr(bias, "weight");

	strcpy(end, "bias");
	zero_inputs(net, layer->reader, unit * cols, cols);
	zero_rows(net, layer->weight, unit * cols, cols);
	zero_rows(net, bias, unit * cols, cols);
	if (layer->halves == 2)
		zero_rows(net, layer->weight, l->units + unit, 1);
	for (int kv = 0; l->kind == RT_UNIT_HEADS && kv < 2; kv++) {
		zero_rows(net, layer->weight, (heads + kv * l->units + unit) * depth, depth);
		zero_rows(net, bias, (heads + kv * l->units + unit) * depth, depth);
	}
	if (conv) { /* layer1.0.conv1.weight: layer1.0.bn1.weight, layer1.0.bn1.bias */
		memcpy(conv, "bn", 2);
		memmove(conv + 2, conv + 4, strlen(conv + 4) + 1);
		zero_rows(net, norm, unit, 1);
		strcpy(strstr(norm, "weight"), "bias");
		zero_rows(net, norm, unit, 1);
	}
}

static int64_t removed_of(const struct model *m, const struct rt_layer_units *l)
{
	double amount = m->remove[l->kind];

	return amount < 1 ? (int64_t)nearbyint(amount * (double)l->units) : (int64_t)amount / l->size;
}

/* Zeroes as many units of the model's layers as are removed later: every second one, then from the first on. */
static void zero_units(struct net *net, const struct model *m, const struct rt_units *u)
{
	for (const struct layer *layer = m->layer; layer->weight; layer++) {
		const struct rt_layer_units *l = find(u, layer->weight);
		int64_t n = removed_of(m, l), unit = l->units - 1;

		for (int64_t i = 0; i < n; i++, unit = unit >= 2 ? unit - 2 : l->units - 2)
			zero_unit(net, layer, l, unit);
	}
}

static void choose(struct net *net, const struct model *m, struct rt_units *u)
{
	struct gt_err err = { 0 };

	for (int k = 0; k < RT_UNIT_KINDS; k++)
		if (m->remove[k] > 0)
			ck_assert_msg(!rt_choose_units(net->p, net->g, u, k, m->remove[k], &err), "%s: %s", m->name, err.msg);
}

/* Rebuilds the program without the units. */
static void rebuild(struct net *net, const struct rt_units *u)
{
	gt_auto(rt_values) *values = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(!rt_take_values(net->p, net->g, u, &values, &err), "%s", err.msg);
	rt_program_free(net->p);
	ck_assert_msg(!rt_graph_remove_units(net->g, u, &err), "%s", err.msg);
	compile(net);
	ck_assert_msg(!rt_put_values(net->p, values, &err), "%s", err.msg);
}

/* Marks the zeroed units of the model's own layers only, so that the other layers stay whole. */
static void keep_other_layers(const struct model *m, struct rt_units *u)
{
	for (int i = 0; i < u->n; i++) {
		bool own = false;

		for (const struct layer *layer = m->layer; layer->weight; layer++)
			own |= !strcmp(layer->weight, u->layer[i].weight);
		if (!own)
			memset(u->layer[i].removed, 0, (size_t)u->layer[i].units * sizeof(bool));
	}
}

/* Zeroed units have the smallest norms, no gradient and empty moments, so both models train to the same values. */
START_TEST(a_smaller_model_computes_and_trains_like_one_with_zeros)
{
	const struct model *m = &models[_i];
	gt_auto(rt_units) *u = NULL;
	struct net full, small;
	struct leaves data;
	struct gt_err err = { 0 };
	gt_autofree float *a = NULL, *b = NULL, *c = NULL, *d = NULL;
	int64_t n, n2, parameters;
	double flops;

	net_open(&full, m);
	net_open(&small, m);
	leaves_make(&data, full.g, m->limit, 7);
	ck_assert(!rt_graph_units(full.g, &u, &err));
	zero_units(&full, m, u);
	zero_units(&small, m, u);
	train(&full, &data, 3);
	train(&small, &data, 3);
	choose(&small, m, u);
	keep_other_layers(m, u);
	parameters = rt_program_parameters(small.p);
	flops = rt_program_flops(small.p);
	rebuild(&small, u);
	ck_assert_int_lt(rt_program_parameters(small.p), parameters);
	ck_assert(rt_program_flops(small.p) < flops);
	a = logits_of(&full, &data, &n);
	b = logits_of(&small, &data, &n2);
	ck_assert_int_eq(n, n2);
	check_equal(a, b, n, m->name);
	ck_assert_double_eq_tol(train(&full, &data, 3), train(&small, &data, 3), 1e-5);
	c = logits_of(&full, &data, &n);
	d = logits_of(&small, &data, &n2);
	check_equal(c, d, n, m->name);
	leaves_free(&data);
	net_close(&full);
	net_close(&small);
}
END_TEST

/* Without removed units, a rebuilt program continues to the bit. */
START_TEST(values_carry_the_whole_state)
{
	const struct model *m = &models[_i];
	gt_auto(rt_units) *u = NULL;
	struct net a, b;
	struct leaves data;
	struct gt_err err = { 0 };

	net_open(&a, m);
	net_open(&b, m);
	leaves_make(&data, a.g, m->limit, 7);
	train(&a, &data, 2);
	train(&b, &data, 2);
	ck_assert(!rt_graph_units(b.g, &u, &err));
	rebuild(&b, u);
	ck_assert_double_eq(train(&a, &data, 2), train(&b, &data, 2));
	leaves_free(&data);
	net_close(&a);
	net_close(&b);
}
END_TEST

START_TEST(sizes_survive_a_checkpoint)
{
	const struct model *m = &models[_i];
	gt_autofree char *path = gt_xasprintf("units-%d-%d.st", (int)getpid(), _i);
	gt_auto(rt_units) *u = NULL, *again = NULL;
	struct net a, b;
	struct leaves data;
	struct gt_err err = { 0 };
	uint64_t ticket;

	net_open(&a, m);
	leaves_make(&data, a.g, m->limit, 7);
	ck_assert(!rt_graph_units(a.g, &u, &err));
	choose(&a, m, u);
	rebuild(&a, u);
	train(&a, &data, 2);
	ck_assert_msg(!rt_save(a.p, path, 9, &err), "%s", err.msg);

	b = (struct net){ .g = rt_graph_new() };
	b.loss = m->declare(b.g);
	ck_assert_msg(!rt_graph_match_checkpoint(b.g, path, &err), "%s", err.msg);
	ck_assert_msg(!rt_graph_match_checkpoint(b.g, path, &err), "%s", err.msg); /* nothing is left to remove */
	compile(&b);
	ck_assert_msg(!rt_load(b.p, path, &ticket, &err), "%s", err.msg);
	ck_assert_int_eq(ticket, 9);
	ck_assert_double_eq(train(&a, &data, 2), train(&b, &data, 2));
	ck_assert(!rt_graph_units(b.g, &again, &err));
	for (int i = 0; i < u->n; i++) {
		ck_assert_int_eq(again->layer[i].original, u->layer[i].units);
		ck_assert_int_eq(again->layer[i].units, u->layer[i].units - rt_units_removed(&u->layer[i]));
	}
	unlink(path);
	leaves_free(&data);
	net_close(&a);
	net_close(&b);
}
END_TEST

/* The prompt of a model with a cache has the same logits without the heads whose values are zero. */
START_TEST(generation_works_with_fewer_heads)
{
	struct rt_llama_config size = llama_size;
	gt_auto(rt_graph) *whole = rt_graph_new();
	gt_auto(rt_program) *full = NULL, *small = NULL;
	gt_auto(rt_units) *u = NULL;
	gt_auto(rt_values) *values = NULL;
	struct gt_err err = { 0 };
	int32_t tokens[12], positions[12], last[2] = { 5, 3 };
	float a[22], b[22], *out = a;
	struct rt_node *logits;

	size.cache = 8;
	logits = rt_model_llama(whole, &size);
	ck_assert_msg(!rt_compile_outputs(whole, &logits, 1, &(struct rt_options){ .threads = 1, .seed = 4 }, &full, &err), "%s",
		      err.msg);
	for (int i = 0; i < 12; i++) {
		tokens[i] = i % 11;
		positions[i] = i % 6;
	}
	ck_assert(!rt_graph_units(whole, &u, &err));
	ck_assert_msg(!rt_choose_units(full, whole, u, RT_UNIT_HEADS, 2, &err), "%s", err.msg);
	for (int i = 0; i < u->n; i++) {
		float *v = u->layer[i].kind == RT_UNIT_HEADS ? rt_value(full, rt_graph_node(whole, u->layer[i].weight)) : NULL;

		for (int64_t k = 0; v && k < 3; k++) /* the values of the removed heads: 4 rows of 24 from row 36 on */
			if (u->layer[i].removed[k])
				memset(v + (36 + 4 * k) * 24, 0, 4 * 24 * sizeof(*v));
	}
	ck_assert(!rt_run(full, (const void *[]){ tokens, positions, last }, &out, &err));
	ck_assert(!rt_take_values(full, whole, u, &values, &err));
	ck_assert(!rt_graph_remove_units(whole, u, &err));
	ck_assert_msg(!rt_compile_outputs(whole, &logits, 1, &(struct rt_options){ .threads = 1 }, &small, &err), "%s", err.msg);
	ck_assert_msg(!rt_put_values(small, values, &err), "%s", err.msg);
	out = b;
	ck_assert(!rt_run(small, (const void *[]){ tokens, positions, last }, &out, &err));
	check_equal(a, b, 22, "llama with a cache");
	ck_assert_int_lt(rt_program_cache_bytes(small), rt_program_cache_bytes(full));
}
END_TEST

/* ---- layers that cannot lose units ---- */

/* x -> w1 -> the tested op -> w2 -> loss */
static int layers_with(struct rt_node *(*between)(struct rt_graph *g, struct rt_node *x))
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_units) *u = NULL;
	struct gt_err err = { 0 };
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(2, 6)), *w1 = rt_param(g, "w1", RT_SHAPE(8, 6), RT_INIT_NORMAL(1));
	struct rt_node *w2 = rt_param(g, "w2", RT_SHAPE(3, 8), RT_INIT_NORMAL(1)), *y = between(g, rt_linear(g, x, w1, NULL));

	rt_cross_entropy(g, rt_linear(g, y, w2, NULL), rt_input(g, "y", RT_I32, RT_SHAPE(2)));
	ck_assert_msg(!rt_graph_units(g, &u, &err), "%s", err.msg);
	return u->n;
}

static struct rt_node *same(struct rt_graph *g, struct rt_node *x)
{
	(void)g;
	return x;
}

static struct rt_node *halve(struct rt_graph *g, struct rt_node *x)
{
	return rt_affine(g, rt_dropout(g, rt_tanh(g, x), 0.1f), 0.5f, 0);
}

static struct rt_node *shift(struct rt_graph *g, struct rt_node *x)
{
	return rt_affine(g, x, 1, 1);
}

static struct rt_node *read_twice(struct rt_graph *g, struct rt_node *x)
{
	return rt_mul(g, x, rt_relu(g, x));
}

static struct rt_node *mix(struct rt_graph *g, struct rt_node *x)
{
	return rt_softmax(g, x);
}

static struct rt_node *norm(struct rt_graph *g, struct rt_node *x)
{
	return rt_rmsnorm(g, x, rt_param(g, "gain", RT_SHAPE(8), RT_INIT_ONES), 1e-5f);
}

START_TEST(units_that_other_ops_mix_are_kept)
{
	ck_assert_int_eq(layers_with(same), 1);
	ck_assert_int_eq(layers_with(halve), 1);
	ck_assert_int_eq(layers_with(rt_relu), 1);
	ck_assert_int_eq(layers_with(rt_sigmoid), 0); /* of 0 it is 0.5 */
	ck_assert_int_eq(layers_with(shift), 0);
	ck_assert_int_eq(layers_with(read_twice), 0);
	ck_assert_int_eq(layers_with(mix), 0);
	ck_assert_int_eq(layers_with(norm), 0);
}
END_TEST

START_TEST(impossible_removals_are_refused)
{
	static const struct {
		enum rt_unit_kind kind;
		double amount;
		const char *message;
	} bad[] = {
		{ RT_UNIT_HEADS, 6, "has 6 heads: 6 of them cannot be removed" },
		{ RT_UNIT_HEADS, 100, "has 6 heads: 100 of them cannot be removed" },
		{ RT_UNIT_HEADS, 3, "2 heads share keys and values, so 3 heads cannot be removed: choose a multiple of 2" },
		{ RT_UNIT_NEURONS, 20, "has 20 neurons: 20 of them cannot be removed" },
		{ RT_UNIT_NEURONS, 0.01, "a fraction of 0.01 of the neurons is less than one in each layer" },
		{ RT_UNIT_NEURONS, 1.5, "1.5 neurons: it must be a whole number, or a fraction above 0 and below 1" },
		{ RT_UNIT_NEURONS, 0, "0 neurons: it must be" },
		{ RT_UNIT_NEURONS, NAN, "nan neurons: it must be" },
		{ RT_UNIT_CHANNELS, 1, "the model has no channels that can be removed" },
	};
	gt_auto(rt_units) *u = NULL, *of_gpt = NULL;
	gt_auto(rt_graph) *gpt = rt_graph_new();
	struct gt_err err = { 0 };
	struct net n;

	net_open(&n, &models[3]);
	ck_assert(!rt_graph_units(n.g, &u, &err));
	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(rt_choose_units(n.p, n.g, u, bad[i].kind, bad[i].amount, &err), -EINVAL);
		ck_assert_msg(strstr(err.msg, bad[i].message), "%s", err.msg);
	}
	declare_gpt(gpt);
	ck_assert(!rt_graph_units(gpt, &of_gpt, &err));
	ck_assert_int_eq(rt_graph_remove_units(n.g, of_gpt, &err), -EINVAL);
	memset(u->layer[0].removed, 1, (size_t)u->layer[0].units * sizeof(bool));
	ck_assert_int_eq(rt_graph_remove_units(n.g, u, &err), -EINVAL);
	ck_assert_msg(strstr(err.msg, "all 3 units of the layer are removed"), "%s", err.msg);
	net_close(&n);
}
END_TEST

#define IN	300 /* a block of 256 elements ends within a row */

/* Returns the moment `name` of fc0.weight in f32; *ret_n: elements. */
static float *moment_of(const struct rt_program *p, bool second, int64_t *ret_n)
{
	for (int i = 0; i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];
		float *x;

		if (c->phase != RT_PHASE_UPDATE || !c->out[0] || strcmp(c->out[0]->name, "fc0.weight"))
			continue;
		*ret_n = rt_shape_elements(rt_node_shape(c->out[1 + second]));
		x = gt_xcalloc((size_t)*ret_n, sizeof(*x));
		if (rt_is(c, RT_OP_ADAMW8))
			rt_map8_decode(rt_map8(!second), x, c->out[1 + second]->data, c->out[3 + second]->data, *ret_n);
		else
			memcpy(x, c->out[1 + second]->data, (size_t)*ret_n * sizeof(*x));
		return x;
	}
	ck_abort_msg("no update of fc0.weight");
}

static void compile8(struct net *n)
{
	struct rt_options opt = { .threads = 1, .seed = 3, .optimizer = { .kind = RT_ADAMW8, .lr = 1e-3 } };
	struct gt_err err = { 0 };

	ck_assert_msg(!rt_compile(n->g, n->loss, &opt, &n->p, &err), "%s", err.msg);
}

/* The codes of the remaining elements belong to new blocks, with other scales. Below 4096 elements, moments are in f32. */
START_TEST(moments_of_8_bits_keep_their_values)
{
	struct net n = { .g = rt_graph_new() };
	gt_auto(rt_units) *u = NULL;
	gt_auto(rt_values) *values = NULL;
	struct leaves data;
	struct gt_err err = { 0 };
	int64_t before, after, removed = _i ? 20 : 13;

	n.loss = rt_model_mlp(n.g, 4, (int64_t[]){ IN, 32, 10 }, 3);
	compile8(&n);
	leaves_make(&data, n.g, 10, 7);
	train(&n, &data, 3);
	ck_assert(!rt_graph_units(n.g, &u, &err));
	ck_assert(!rt_choose_units(n.p, n.g, u, RT_UNIT_NEURONS, (double)removed, &err));
	for (int second = 0; second < 2; second++) {
		gt_autofree float *old = moment_of(n.p, second, &before), *new = NULL;
		struct net small = { .g = rt_graph_new() };
		int64_t row = 0;
		float most = 0;

		small.loss = rt_model_mlp(small.g, 4, (int64_t[]){ IN, 32, 10 }, 3);
		rt_values_free(gt_take(values));
		ck_assert_msg(!rt_take_values(n.p, n.g, u, &values, &err), "%s", err.msg);
		ck_assert(!rt_graph_remove_units(small.g, u, &err));
		compile8(&small);
		ck_assert_msg(!rt_put_values(small.p, values, &err), "%s", err.msg);
		new = moment_of(small.p, second, &after);
		ck_assert_int_eq(after, (32 - removed) * IN);
		for (int64_t i = 0; i < before; i++)
			most = fmaxf(most, fabsf(old[i]));
		ck_assert(most > 0);
		for (int64_t i = 0; i < 32; i++) {
			if (u->layer[0].removed[i])
				continue;
			for (int64_t k = 0; k < IN; k++)
				ck_assert_float_eq_tol(new[row * IN + k], old[i * IN + k], 0.01 * (double)most);
			row++;
		}
		train(&small, &data, 1);
		net_close(&small);
	}
	leaves_free(&data);
	net_close(&n);
}
END_TEST

/* ---- files ---- */

/* Writes a file whose metadata is the given list of pruned layers, with one tensor. */
static void write_file(const char *path, const char *pruned)
{
	gt_auto_json *head = json_pack("{s:{s:s}, s:{s:s, s:[i], s:[i, i]}}", "__metadata__", "pruned", pruned, "t", "dtype", "F32",
				       "shape", 1, "data_offsets", 0, 4);
	gt_autofree char *text = json_dumps(head, JSON_COMPACT);
	uint64_t len = strlen(text);
	FILE *f = fopen(path, "w");

	fwrite(&len, sizeof(len), 1, f);
	fwrite(text, 1, len, f);
	fwrite("\0\0\0\0", 1, 4, f);
	ck_assert_int_eq(fclose(f), 0);
}

START_TEST(unusable_lists_of_pruned_layers_are_refused)
{
	static const struct {
		const char *pruned;
		int code;
		const char *message;
	} bad[] = {
		{ "{", EBADMSG, "the list of its pruned layers is not a JSON object" },
		{ "[]", EBADMSG, "is not a JSON object" },
		{ "{\"fc0.weight\":[5]}", EBADMSG, "invalid entry for fc0.weight" },
		{ "{\"fc0.weight\":[0,12]}", EBADMSG, "invalid entry for fc0.weight" },
		{ "{\"fc0.weight\":[13,12]}", EBADMSG, "invalid entry for fc0.weight" },
		{ "{\"fc0.weight\":[-3,12]}", EBADMSG, "invalid entry for fc0.weight" },
		{ "{\"fc0.weight\":\"5\"}", EBADMSG, "invalid entry for fc0.weight" },
		{ "{\"fc0.weight\":[5,16]}", EINVAL, "fc0.weight has 5 of 16 units, but the model has 12 of 12" },
		{ "{\"fc9.weight\":[5,12]}", EINVAL, "the model has no layer fc9.weight that can be pruned" },
	};
	gt_autofree char *path = gt_xasprintf("list-%d.st", (int)getpid());
	gt_auto(rt_graph) *g = rt_graph_new();
	struct gt_err err = { 0 };

	declare_mlp(g);
	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++) {
		write_file(path, bad[i].pruned);
		ck_assert_int_eq(rt_graph_match_checkpoint(g, path, &err), -bad[i].code);
		ck_assert_msg(strstr(err.msg, bad[i].message), "%s", err.msg);
		ck_assert_int_eq(rt_node_shape(rt_graph_node(g, "fc0.weight"))->d[0], 12);
	}
	write_file(path, "{\"fc0.weight\":[5,12]}");
	ck_assert_msg(!rt_graph_match_checkpoint(g, path, &err), "%s", err.msg);
	ck_assert_int_eq(rt_node_shape(rt_graph_node(g, "fc0.weight"))->d[0], 5);
	write_file(path, "{\"fc0.weight\":[6,12]}");
	ck_assert_int_eq(rt_graph_match_checkpoint(g, path, &err), -EINVAL);
	ck_assert_msg(strstr(err.msg, "fc0.weight has 6 of 12 units, but the model has 5 of 12"), "%s", err.msg);
	unlink(path);
}
END_TEST

/* A gradient that overflows gives an infinite moment. Its code must be one of the table. */
START_TEST(infinite_moments_have_codes)
{
	float x[RT_MAP8_BLOCK] = { INFINITY, -INFINITY, 1, -1, 0 }, scale;
	uint8_t codes[RT_MAP8_BLOCK];

	for (int is_signed = 0; is_signed < 2; is_signed++) {
		rt_map8_encode(rt_map8(is_signed), codes, &scale, x, RT_MAP8_BLOCK);
		ck_assert(isinf(scale));
		ck_assert_int_eq(codes[4], rt_map8(is_signed)->zero);
		ck_assert_int_eq(codes[0], 0); /* NaN, encoded as -1 */
		ck_assert_int_eq(codes[1], 0);
	}
}
END_TEST

TCase *case_units(void)
{
	TCase *t = tcase_create("units");

	tcase_set_timeout(t, 120); /* under a sanitizer */
	tcase_add_loop_test(t, a_smaller_model_computes_and_trains_like_one_with_zeros, 0, (int)GT_ARRAY_SIZE(models));
	tcase_add_loop_test(t, values_carry_the_whole_state, 0, (int)GT_ARRAY_SIZE(models));
	tcase_add_loop_test(t, sizes_survive_a_checkpoint, 0, (int)GT_ARRAY_SIZE(models));
	tcase_add_test(t, generation_works_with_fewer_heads);
	tcase_add_test(t, units_that_other_ops_mix_are_kept);
	tcase_add_test(t, impossible_removals_are_refused);
	tcase_add_loop_test(t, moments_of_8_bits_keep_their_values, 0, 2);
	tcase_add_test(t, unusable_lists_of_pruned_layers_are_refused);
	tcase_add_test(t, infinite_moments_have_codes);
	return t;
}
