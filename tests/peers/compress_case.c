/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compress_case int8 M K N (dynamic | LO HI): reads x (M,K), w (N,K) and b (N) as f32 from the standard input. Writes the INT8
 * product y (M,N) = x w^T + b, with the range of x found in the run, per row, or given.
 * compress_case qat M K N: reads x (M,K), w (N,K) and dy (M,N). Writes dw (N,K) and db (N) of quantisation-aware training, and the
 * sum of y dy.
 * compress_case prune N K (FRACTION | 2:4): reads w (N,K). Writes w after rt_prune().
 * compress_case units (heads | neurons | channels) N K AMOUNT: reads the weight of a layer with N units and K inputs: (3 N 8,K) of
 * heads, (N,K) of neurons, (N,K,3,3) of channels. Writes 1 for each unit that rt_choose_units() removes, 0 for the others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/err.h"
#include "runtime/runtime.h"

static float *read_floats(int64_t n)
{
	float *v = gt_xcalloc((size_t)n, sizeof(*v));

	if (fread(v, sizeof(*v), (size_t)n, stdin) != (size_t)n) {
		fprintf(stderr, "the input ends too early\n");
		exit(1);
	}
	return v;
}

static int multiply(int64_t m, int64_t k, int64_t n, struct rt_range *range, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(m, k)), *w = rt_param(g, "w", RT_SHAPE(n, k), RT_INIT_ZEROS);
	struct rt_node *b = rt_param(g, "b", RT_SHAPE(n), RT_INIT_ZEROS), *y = rt_linear(g, x, w, b);
	struct rt_ranges ranges = { range, 1 };
	struct rt_options opt = { .threads = 2, .precision = { .int8 = range ? RT_INT8_STATIC : RT_INT8_DYNAMIC,
							       .ranges = range ? &ranges : NULL } };
	gt_autofree float *input = read_floats(m * k), *weight = read_floats(n * k), *bias = read_floats(n);
	gt_autofree float *out = gt_xcalloc((size_t)(m * n), sizeof(*out));
	gt_auto(rt_program) *p = NULL;
	int r = rt_compile_outputs(g, &y, 1, &opt, &p, err);

	if (r)
		return r;
	r = rt_write_param(p, w, weight, err);
	if (r)
		return r;
	r = rt_write_param(p, b, bias, err);
	if (r)
		return r;
	r = rt_run(p, (const void *[]){ input }, (float *[]){ out }, err);
	if (r)
		return r;
	return fwrite(out, sizeof(*out), (size_t)(m * n), stdout) == (size_t)(m * n) ? 0 : gt_fail(err, EIO, "cannot write y");
}

static int prune(int64_t n, int64_t k, enum rt_sparsity how, double fraction, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(1, k)), *w = rt_param(g, "w", RT_SHAPE(n, k), RT_INIT_ZEROS);
	struct rt_node *loss = rt_dot(g, rt_linear(g, x, w, NULL), rt_input(g, "dy", RT_F32, RT_SHAPE(1, n)));
	struct rt_options opt = { .threads = 1, .sparse = true, .optimizer.kind = RT_SGD };
	gt_autofree float *weight = read_floats(n * k);
	gt_auto(rt_program) *p = NULL;
	int r = rt_compile(g, loss, &opt, &p, err);

	if (r)
		return r;
	r = rt_write_param(p, w, weight, err);
	if (r)
		return r;
	r = rt_prune(p, how, fraction, err);
	if (r)
		return r;
	r = rt_read_value(p, w, weight, err);
	if (r)
		return r;
	if (fwrite(weight, sizeof(*weight), (size_t)(n * k), stdout) != (size_t)(n * k))
		return gt_fail(err, EIO, "cannot write w");
	return 0;
}

#define DEPTH	8 /* columns of a head */

/* Declares a layer with n units and k inputs, and a layer that reads it. Returns the loss. */
static struct rt_node *declare_units(struct rt_graph *g, enum rt_unit_kind kind, int64_t n, int64_t k, struct rt_node **ret_w)
{
	struct rt_node *x, *w, *y;

	if (kind == RT_UNIT_CHANNELS) {
		x = rt_input(g, "x", RT_F32, RT_SHAPE(1, 4, 4, k));
		w = rt_param(g, "w", RT_SHAPE(n, k, 3, 3), RT_INIT_ZEROS);
		y = rt_relu(g, rt_conv2d(g, x, w, NULL, (struct rt_conv2d){ .pad = 1 }));
		y = rt_conv2d(g, y, rt_param(g, "w2", RT_SHAPE(4, n, 1, 1), RT_INIT_ONES), NULL, (struct rt_conv2d){ 0 });
		*ret_w = w;
		return rt_dot(g, y, rt_input(g, "dy", RT_F32, RT_SHAPE(1, 4, 4, 4)));
	}
	x = rt_input(g, "x", RT_F32, RT_SHAPE(1, 2, k));
	w = rt_param(g, "w", RT_SHAPE(kind == RT_UNIT_HEADS ? 3 * n * DEPTH : n, k), RT_INIT_ZEROS);
	y = rt_linear(g, x, w, NULL);
	y = kind == RT_UNIT_HEADS ? rt_attention(g, y, (int)n) : rt_gelu(g, y);
	y = rt_linear(g, y, rt_param(g, "w2", RT_SHAPE(4, kind == RT_UNIT_HEADS ? n * DEPTH : n), RT_INIT_ONES), NULL);
	*ret_w = w;
	return rt_dot(g, y, rt_input(g, "dy", RT_F32, RT_SHAPE(1, 2, 4)));
}

static int choose(enum rt_unit_kind kind, int64_t n, int64_t k, double amount, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_options opt = { .threads = 1, .optimizer.kind = RT_SGD };
	struct rt_node *w, *loss = declare_units(g, kind, n, k, &w);
	gt_autofree float *weight = read_floats(rt_shape_elements(rt_node_shape(w)));
	gt_auto(rt_program) *p = NULL;
	gt_auto(rt_units) *u = NULL;
	int r = rt_compile(g, loss, &opt, &p, err);

	if (r)
		return r;
	r = rt_write_param(p, w, weight, err);
	if (r)
		return r;
	r = rt_graph_units(g, &u, err);
	if (r)
		return r;
	r = rt_choose_units(p, g, u, kind, amount, err);
	if (r)
		return r;
	for (int64_t i = 0; i < n; i++) {
		float removed = u->layer[0].removed[i];

		if (fwrite(&removed, sizeof(removed), 1, stdout) != 1)
			return gt_fail(err, EIO, "cannot write the units");
	}
	return 0;
}

static int write_floats(const float *v, int64_t n, struct gt_err *err)
{
	return fwrite(v, sizeof(*v), (size_t)n, stdout) == (size_t)n ? 0 : gt_fail(err, EIO, "cannot write the result");
}

static int train(int64_t m, int64_t k, int64_t n, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(m, k)), *w = rt_param(g, "w", RT_SHAPE(n, k), RT_INIT_ZEROS);
	struct rt_node *b = rt_param(g, "b", RT_SHAPE(n), RT_INIT_ZEROS);
	struct rt_node *loss = rt_dot(g, rt_linear(g, x, w, b), rt_input(g, "dy", RT_F32, RT_SHAPE(m, n)));
	struct rt_options opt = { .threads = 2, .precision.qat = true, .debug.keep_gradients = true };
	gt_autofree float *input = read_floats(m * k), *weight = read_floats(n * k), *dy = read_floats(m * n);
	gt_auto(rt_program) *p = NULL;
	struct rt_metrics metrics;
	float sum;
	int r = rt_compile(g, loss, &opt, &p, err);

	if (r)
		return r;
	r = rt_write_param(p, w, weight, err);
	if (r)
		return r;
	r = rt_step(p, (const void *[]){ input, dy }, &metrics, err);
	if (r)
		return r;
	sum = (float)metrics.loss;
	r = write_floats(rt_gradient(p, w), n * k, err);
	if (r)
		return r;
	r = write_floats(rt_gradient(p, b), n, err);
	return r ? r : write_floats(&sum, 1, err);
}

static int finish(int r, const struct gt_err *err)
{
	if (r)
		fprintf(stderr, "%s\n", err->msg);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct gt_err err = { 0 };
	char name[] = "input of w";
	struct rt_range range = { .name = name };
	bool dynamic = argc == 6 && !strcmp(argv[5], "dynamic");

	if (argc == 5 && !strcmp(argv[1], "prune"))
		return finish(prune(atoll(argv[2]), atoll(argv[3]), strcmp(argv[4], "2:4") ? RT_UNSTRUCTURED : RT_2_OF_4,
				    strtod(argv[4], NULL), &err), &err);
	if (argc == 6 && !strcmp(argv[1], "units"))
		return finish(choose(!strcmp(argv[2], "heads") ? RT_UNIT_HEADS : !strcmp(argv[2], "neurons") ? RT_UNIT_NEURONS :
				     RT_UNIT_CHANNELS, atoll(argv[3]), atoll(argv[4]), strtod(argv[5], NULL), &err), &err);
	if (argc == 5 && !strcmp(argv[1], "qat"))
		return finish(train(atoll(argv[2]), atoll(argv[3]), atoll(argv[4]), &err), &err);
	if (argc < 6 || strcmp(argv[1], "int8") || (!dynamic && argc != 7)) {
		fprintf(stderr, "usage: compress_case int8 M K N (dynamic | LO HI)\n"
				"       compress_case qat M K N\n"
				"       compress_case prune N K (FRACTION | 2:4)\n"
				"       compress_case units (heads | neurons | channels) N K AMOUNT\n");
		return 2;
	}
	if (!dynamic) {
		range.lo = strtof(argv[5], NULL);
		range.hi = strtof(argv[6], NULL);
	}
	return finish(multiply(atoll(argv[2]), atoll(argv[3]), atoll(argv[4]), dynamic ? NULL : &range, &err), &err);
}
