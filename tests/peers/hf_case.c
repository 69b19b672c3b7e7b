/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hf_case DIR ROWS LENGTH TOKENS LOGITS: loads the model in DIR (Hugging Face layout), reads ROWS x LENGTH ids (i32) from
 * TOKENS and writes the logits (f32) to LOGITS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/file.h"
#include "runtime/runtime.h"

static struct rt_node *declare(struct rt_graph *g, const struct rt_hf_config *c, int64_t rows, int64_t length)
{
	struct rt_llama_config k = c->size;

	k.batch = rows;
	k.seq = length;
	if (c->family == RT_HF_LLAMA)
		return rt_logits(rt_model_llama(g, &k));
	return rt_logits(rt_model_gpt(g, &(struct rt_gpt_config){ .batch = rows, .seq = length, .layers = k.layers,
								  .width = k.width, .heads = k.heads, .ffn = k.ffn,
								  .vocab = k.vocab, .positions = k.context }));
}

static int run(char **argv, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_autofree char *tokens = NULL;
	gt_autofree float *logits = NULL;
	struct rt_hf_config c;
	struct rt_node *out;
	size_t len, bytes;
	int r = rt_hf_read_config(argv[1], &c, err);

	if (r)
		return r;
	out = declare(g, &c, atoi(argv[2]), atoi(argv[3]));
	r = rt_compile_outputs(g, &out, 1, &(struct rt_options){ 0 }, &p, err);
	if (r)
		return r;
	r = rt_hf_load(p, &c, argv[1], err);
	if (r)
		return r;
	r = gt_file_read(argv[4], (size_t)1 << 30, &tokens, &len, err);
	if (r)
		return r;
	bytes = (size_t)rt_shape_elements(rt_program_output_shape(p, 0)) * sizeof(float);
	logits = malloc(bytes);
	r = rt_run(p, (const void *[]){ tokens, NULL }, &logits, err);
	return r ? r : gt_file_write(argv[5], (const char *)logits, bytes, 0644, err);
}

int main(int argc, char **argv)
{
	struct gt_err err = { 0 };

	if (argc != 6)
		return 64;
	if (run(argv, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	return 0;
}
