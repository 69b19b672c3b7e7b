/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include "lib/util.h"
#include "tests/unit/outputs_case.h"

#define IDS	7 /* ids and targets are below it */

static struct rt_node *mlp(struct rt_graph *g)
{
	return rt_model_mlp(g, 4, (const int64_t[]){ 12, 16, 8 }, 3);
}

static const struct rt_gpt_config text = { .batch = 2, .seq = 6, .layers = 2, .width = 16, .heads = 2, .vocab = 24 };

static struct rt_node *gpt(struct rt_graph *g)
{
	return rt_model_gpt(g, &text);
}

static struct rt_node *bert(struct rt_graph *g)
{
	return rt_model_bert(g, &text);
}

static struct rt_node *vit(struct rt_graph *g)
{
	return rt_model_vit(g, &(struct rt_vit_config){ .batch = 2, .size = 16, .patch = 4, .layers = 1, .width = 16, .heads = 2,
							.classes = 8 });
}

static struct rt_node *resnet(struct rt_graph *g)
{
	return rt_model_resnet_small(g, 2, 16, 8, 10);
}

static const struct {
	const char *name;
	struct rt_node *(*build)(struct rt_graph *g);
	bool by_definition;
} models[OUTPUTS_MODELS] = {
	{ "mlp", mlp, true }, { "gpt", gpt, true }, { "bert", bert, true }, { "vit", vit, true }, { "resnet", resnet, false },
};

struct values {
	int n;
	double *leaf[256];
	void *input[4];
	int n_inputs;
};

static void add_leaf(struct values *v, struct rt_program *p, const struct rt_node *n, uint64_t stream)
{
	int64_t count = rt_shape_elements(rt_node_shape(n));
	double *x = v->leaf[v->n++] = gt_xcalloc((size_t)count, sizeof(*x));
	float *f = gt_xcalloc((size_t)count, sizeof(*f));
	bool kept = rt_node_is_param(n) || rt_node_is_buffer(n);

	if (kept)
		rt_read_value(p, n, f, NULL);
	for (int64_t i = 0; i < count; i++) {
		int32_t id = (int32_t)(rt_random_u64(3, stream, (uint64_t)i) % IDS);

		if (!kept && rt_node_dtype(n) == RT_I32)
			((int32_t *)(void *)f)[i] = id;
		else if (!kept)
			f[i] = rt_random_normal(3, stream, (uint64_t)i);
		x[i] = rt_node_dtype(n) == RT_I32 ? id : (double)f[i];
	}
	if (kept)
		free(f);
	else
		v->input[v->n_inputs++] = f;
}

static void free_values(struct values *v)
{
	for (int i = 0; i < v->n; i++)
		free(v->leaf[i]);
	for (int i = 0; i < v->n_inputs; i++)
		free(v->input[i]);
}

static double largest(const double *x, int64_t n)
{
	double most = 1e-3;

	for (int64_t i = 0; i < n; i++)
		most = fmax(most, fabs(x[i]));
	return most;
}

static double cross_entropy(const float *logits, const int32_t *targets, int64_t rows, int64_t cols)
{
	double loss = 0;

	for (int64_t i = 0; i < rows; i++) {
		double sum = 0;

		for (int64_t j = 0; j < cols; j++)
			sum += exp((double)logits[i * cols + j]);
		loss += (log(sum) - (double)logits[i * cols + targets[i]]) / (double)rows;
	}
	return loss;
}

static const char *compare(const struct rt_graph *g, struct rt_program *p, const struct rt_node *logits, bool by_definition,
			   double tolerance)
{
	static char why[1024];
	const struct rt_shape *shape = rt_program_output_shape(p, 0);
	int64_t n = rt_shape_elements(shape), cols = shape->d[shape->n - 1];
	gt_autofree double *want = gt_xcalloc((size_t)n, sizeof(*want));
	gt_autofree float *got = gt_xcalloc((size_t)n, sizeof(*got));
	struct values v = { 0 };
	struct gt_err err = { 0 };
	const char *bad = NULL;
	float loss = 0;
	double of_logits;

	for (int i = 0; i < rt_graph_leaves(g); i++)
		add_leaf(&v, p, rt_graph_leaf(g, i), (uint64_t)i);
	for (int again = 0; !bad && again < 3; again++)
		if (rt_run(p, (const void *const *)v.input, (float *const[]){ got, &loss }, &err))
			bad = err.msg;
	if (!bad && by_definition && rt_reference(g, logits, (const double *const *)v.leaf, want, &err))
		bad = err.msg;
	for (int64_t i = 0; !bad && by_definition && i < n; i++)
		if (!(fabs((double)got[i] - want[i]) <= tolerance * largest(want, n)))
			bad = "a logit differs from its definition";
	of_logits = cross_entropy(got, v.input[1], n / cols, cols);
	if (!bad && !(fabs((double)loss - of_logits) <= tolerance * of_logits))
		bad = "the loss is not that of the logits";
	snprintf(why, sizeof(why), "%s", bad ? bad : "");
	free_values(&v);
	return bad ? why : NULL;
}

const char *outputs_case(int which, enum rt_device device, enum rt_dtype amp, double tolerance)
{
	static char why[1100];
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_options opt = { .device = device, .precision.amp = amp, .threads = 2, .seed = 5 };
	struct rt_node *loss = models[which].build(g), *logits = rt_logits(loss);
	struct gt_err err = { 0 };
	const char *bad;

	if (rt_compile_outputs(g, (struct rt_node *[]){ logits, loss }, 2, &opt, &p, &err))
		bad = err.msg;
	else
		bad = compare(g, p, logits, models[which].by_definition, tolerance);
	snprintf(why, sizeof(why), "%s: %s", models[which].name, bad ? bad : "");
	return bad ? why : NULL;
}
