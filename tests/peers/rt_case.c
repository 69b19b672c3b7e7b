/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_case --list: prints the op cases for the comparison with another framework as JSON.
 * rt_case DIR: runs the graph that DIR/case.json describes and writes the results to DIR. Tensors are raw little-endian files
 * named after their node.
 *
 *   { "graph": "gelu(linear(x[5,9], w[19,9], b[19]))" (runtime/cases/cases.h), "steps": 1, "watch": ["y"],
 *     "options": { "no_fuse": false, "threads": 2, "logits_slice_bytes": 0, "amp": "bf16", "accum": 1, "clip_norm": 0,
 *                  "loss_scale": 0 (not 0: enables the scaler, with this start value), "scale_interval": 0 },
 *     "eval": 0 (batches),
 *     "optimizer": { "kind": "adamw", "lr": 0.001, "weight_decay": 0.01, "momentum": 0, "beta1": 0.9, "beta2": 0.999,
 *                    "eps": 1e-8 } }
 *
 * "y" is the result of the outermost op. Reads NAME.bin for every parameter and buffer, and for every input one tensor per step, in
 * the order of steps. Writes losses.bin and scales.bin, the loss scale (f64, one per step), and after the last step NAME.grad.bin
 * and NAME.out.bin for every parameter, NAME.out.bin for every buffer and every node in "watch".
 * With "eval", that many batches of every input are read from NAME.eval.bin after the last step, rt_eval runs each, and
 * WATCH.eval.out.bin receives the first watched node of all of them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/file.h"
#include "lib/json.h"
#include "runtime/cases/cases.h"
#include "runtime/runtime.h"

#define FILE_MAX	((size_t)1 << 32)

struct test {
	const char *dir;
	json_t *doc;
	struct rt_graph *graph;
	struct rt_program *program;
	char *input[16];
	size_t input_bytes[16]; /* sizes of the inputs of one step */
	int n_inputs;
};

static enum rt_optimizer_kind optimizer_of(const char *kind)
{
	static const char *const names[] = { [RT_SGD] = "sgd", [RT_ADAM] = "adam", [RT_ADAMW] = "adamw", [RT_ADAMW8] = "adamw8" };

	for (size_t i = RT_SGD; i < GT_ARRAY_SIZE(names); i++)
		if (gt_streq(kind, names[i]))
			return (enum rt_optimizer_kind)i;
	return RT_NO_OPTIMIZER;
}

static enum rt_dtype amp_of(const char *name)
{
	return gt_streq(name, "bf16") ? RT_BF16 : gt_streq(name, "f16") ? RT_F16 : RT_F32;
}

static int build(struct test *t, struct gt_err *err)
{
	const json_t *o = json_object_get(t->doc, "optimizer"), *options = json_object_get(t->doc, "options");
	const char *kind = gt_json_get_str(o, "kind", "");
	struct rt_options opt = {
		.device = gt_streq(gt_json_get_str(options, "device", "cpu"), "cuda") ? RT_CUDA : RT_CPU,
		.threads = (int)gt_json_get_int(options, "threads", 0),
		.debug = { .no_fuse = gt_json_get_bool(options, "no_fuse", false), .keep_gradients = true, .no_reuse = true },
		.memory.logits_slice_bytes = (uint64_t)gt_json_get_int(options, "logits_slice_bytes", 0),
		.precision = { .amp = amp_of(gt_json_get_str(options, "amp", "")),
			       .scaler = { .use = gt_json_get_real(options, "loss_scale", 0) > 0 ? RT_SCALER_ON : RT_SCALER_AUTO,
					   .init = gt_json_get_real(options, "loss_scale", 0),
					   .interval = gt_json_get_int(options, "scale_interval", 0) } },
		.accum = (int)gt_json_get_int(options, "accum", 1),
		.clip_norm = gt_json_get_real(options, "clip_norm", 0),
		.optimizer = { .kind = optimizer_of(kind), .lr = gt_json_get_real(o, "lr", 0),
			       .weight_decay = gt_json_get_real(o, "weight_decay", 0),
			       .momentum = gt_json_get_real(o, "momentum", 0),
			       .beta1 = gt_json_get_real(o, "beta1", 0), .beta2 = gt_json_get_real(o, "beta2", 0),
			       .eps = gt_json_get_real(o, "eps", 0) },
	};
	struct rt_case_graph built = { 0 };
	int r = rt_case_parse(gt_json_get_str(t->doc, "graph", ""), t->graph, &built, err);

	if (r < 0)
		return r;
	if (built.out && !rt_node_is_param(built.out))
		rt_name(built.out, "y");
	rt_case_clear(&built);
	return rt_compile(t->graph, built.loss, &opt, &t->program, err);
}

static int load(const struct test *t, const char *name, size_t want, char **ret, size_t *ret_len, struct gt_err *err)
{
	gt_autofree char *path = gt_xasprintf("%s/%s.bin", t->dir, name);
	int r = gt_file_read(path, FILE_MAX, ret, ret_len, err);

	if (!r && (*ret_len < want || *ret_len % want))
		return gt_fail(err, EINVAL, "%s has %zu bytes, not a multiple of %zu", path, *ret_len, want);
	return r;
}

static int load_leaves(struct test *t, int64_t steps, struct gt_err *err)
{
	for (int i = 0; i < rt_graph_leaves(t->graph); i++) {
		const struct rt_node *n = rt_graph_leaf(t->graph, i);
		size_t bytes = (size_t)rt_shape_elements(rt_node_shape(n)) * 4, len = 0;
		char *data = NULL;
		int r = load(t, rt_node_name(n), bytes, &data, &len, err);

		if (r)
			return r;
		if (rt_node_is_param(n) || rt_node_is_buffer(n)) {
			r = rt_write_param(t->program, n, (const float *)(const void *)data, err);
			free(data);
			if (r)
				return r;
		} else if (len != bytes * (size_t)steps || t->n_inputs == (int)GT_ARRAY_SIZE(t->input)) {
			free(data);
			return gt_fail(err, EINVAL, "%s: %zu bytes for %lld steps", rt_node_name(n), len, (long long)steps);
		} else {
			t->input_bytes[t->n_inputs] = bytes;
			t->input[t->n_inputs++] = data;
		}
	}
	return 0;
}

static int save(const struct test *t, const char *name, const char *kind, const void *data, size_t bytes, struct gt_err *err)
{
	gt_autofree char *path = gt_xasprintf("%s/%s.%s.bin", t->dir, name, kind);

	return data ? gt_file_write(path, data, bytes, 0644, err) : 0;
}

static int save_results(const struct test *t, struct gt_err *err)
{
	const json_t *options = json_object_get(t->doc, "options");
	int r = 0;

	if (gt_streq(gt_json_get_str(options, "device", "cpu"), "cuda"))
		return 0; /* a device's copies are not in host memory */
	for (int i = 0; !r && i < rt_graph_leaves(t->graph); i++) {
		const struct rt_node *n = rt_graph_leaf(t->graph, i);
		size_t bytes = (size_t)rt_shape_elements(rt_node_shape(n)) * 4;

		if (!rt_node_is_param(n) && !rt_node_is_buffer(n))
			continue;
		r = save(t, rt_node_name(n), "grad", rt_gradient(t->program, n), bytes, err);
		if (!r)
			r = save(t, rt_node_name(n), "out", rt_value(t->program, n), bytes, err);
	}
	return r;
}

static int save_watched(const struct test *t, struct gt_err *err)
{
	const json_t *watch = json_object_get(t->doc, "watch");
	int r = 0;

	for (size_t i = 0; !r && i < json_array_size(watch); i++) {
		const char *name = json_string_value(json_array_get(watch, i));
		const struct rt_node *n = rt_graph_node(t->graph, name);

		if (!n)
			return gt_fail(err, EINVAL, "no node %s to watch", name);
		r = save(t, name, "out", rt_value(t->program, n), (size_t)rt_shape_elements(rt_node_shape(n)) * 4, err);
	}
	return r;
}

static int run(struct test *t, struct gt_err *err)
{
	int64_t steps = gt_json_get_int(t->doc, "steps", 1);
	gt_autofree double *losses = gt_xcalloc((size_t)steps + 1, sizeof(*losses));
	gt_autofree double *scales = gt_xcalloc((size_t)steps + 1, sizeof(*scales));
	gt_autofree char *path = gt_xasprintf("%s/losses.bin", t->dir), *scales_path = gt_xasprintf("%s/scales.bin", t->dir);
	int r = load_leaves(t, steps, err);

	for (int64_t s = 0; !r && s < steps; s++) {
		const void *in[GT_ARRAY_SIZE(t->input)];
		struct rt_metrics m = { 0 };

		for (int i = 0; i < t->n_inputs; i++)
			in[i] = t->input[i] + (size_t)s * t->input_bytes[i];
		r = rt_step(t->program, in, &m, err);
		losses[s] = m.loss;
		scales[s] = m.loss_scale;
	}
	if (!r)
		r = save_results(t, err);
	if (!r)
		r = save_watched(t, err);
	if (!r)
		r = gt_file_write(scales_path, (const char *)scales, (size_t)steps * sizeof(double), 0644, err);
	return r ? r : gt_file_write(path, (const char *)losses, (size_t)steps * sizeof(double), 0644, err);
}

/* The first watched node for held-out batches. */
static int evaluate(const struct test *t, struct gt_err *err)
{
	const char *name = json_string_value(json_array_get(json_object_get(t->doc, "watch"), 0));
	size_t batches = (size_t)gt_json_get_int(t->doc, "eval", 0), bytes;
	const struct rt_node *watched = name ? rt_graph_node(t->graph, name) : NULL;
	gt_autofree char *out = NULL;
	char *input[GT_ARRAY_SIZE(t->input)] = { NULL };
	int r = 0, k = 0;

	if (!batches)
		return 0;
	if (!watched || !rt_value(t->program, watched))
		return gt_fail(err, EINVAL, "eval wants a node to watch that the program keeps");
	bytes = (size_t)rt_shape_elements(rt_node_shape(watched)) * 4;
	out = gt_xcalloc(batches, bytes);
	for (int i = 0; !r && i < rt_graph_leaves(t->graph); i++) {
		const struct rt_node *n = rt_graph_leaf(t->graph, i);
		gt_autofree char *file = gt_xasprintf("%s.eval", rt_node_name(n));
		size_t len = 0;

		if (rt_node_is_param(n) || rt_node_is_buffer(n))
			continue;
		r = load(t, file, t->input_bytes[k], &input[k], &len, err);
		if (!r && len != batches * t->input_bytes[k])
			r = gt_fail(err, EINVAL, "%s: %zu bytes for %zu batches", file, len, batches);
		k++;
	}
	for (size_t b = 0; !r && b < batches; b++) {
		const void *in[GT_ARRAY_SIZE(input)];
		double loss;

		for (int i = 0; i < k; i++)
			in[i] = input[i] + b * t->input_bytes[i];
		r = rt_eval(t->program, in, &loss, err);
		memcpy(out + b * bytes, rt_value(t->program, watched), bytes);
	}
	for (int i = 0; i < k; i++)
		free(input[i]);
	return r ? r : save(t, name, "eval.out", out, batches * bytes, err);
}

static void list(void)
{
	gt_auto_json *rows = json_array();

	for (int i = 0; i < rt_n_cases; i++) {
		const struct rt_case *c = &rt_cases[i];

		if (rt_case_applies(c, RT_CASE_TORCH))
			json_array_append_new(rows, json_pack("{s:s, s:s, s:i, s:b, s:I}", "name", c->name, "graph", c->graph,
							      "ids", c->ids, "ignore", c->ignore, "logits_slice_bytes",
							      (json_int_t)c->slice_bytes));
	}
	gt_json_print(stdout, rows);
}

int main(int argc, char **argv)
{
	struct test t = { .dir = argv[1], .graph = rt_graph_new() };
	gt_autofree char *text = NULL, *path = NULL;
	struct gt_err err = { 0 };
	size_t len;
	int r;

	if (argc != 2) {
		fprintf(stderr, "usage: rt_case --list | DIR\n");
		return 64;
	}
	if (gt_streq(argv[1], "--list")) {
		list();
		return 0;
	}
	path = gt_xasprintf("%s/case.json", t.dir);
	r = gt_file_read(path, FILE_MAX, &text, &len, &err);
	if (!r)
		r = gt_json_parse(text, len, path, &t.doc, &err);
	if (!r)
		r = build(&t, &err);
	if (!r)
		r = run(&t, &err);
	if (!r)
		r = evaluate(&t, &err);
	if (r)
		fprintf(stderr, "rt_case: %s\n", err.msg);
	rt_program_free(t.program);
	rt_graph_free(t.graph);
	json_decref(t.doc);
	for (int i = 0; i < t.n_inputs; i++)
		free(t.input[i]);
	return r ? 1 : 0;
}
