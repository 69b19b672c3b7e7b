/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains a small network to tell points inside a circle from points outside, saves it, loads it into a second program and predicts.
 *   cc -O2 circle.c $(pkg-config --cflags --libs gputune-runtime) -o circle && ./circle weights.safetensors
 */
#include <stdio.h>
#include "runtime/runtime.h"

#define N 64 /* rows of a batch */

static struct rt_node *declare(struct rt_graph *g, struct rt_node **ret_logits)
{
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(N, 2)), *y = rt_input(g, "y", RT_I32, RT_SHAPE(N));
	struct rt_node *w1 = rt_param(g, "w1", RT_SHAPE(32, 2), RT_INIT_NORMAL(1));
	struct rt_node *b1 = rt_param(g, "b1", RT_SHAPE(32), RT_INIT_ZEROS);
	struct rt_node *w2 = rt_param(g, "w2", RT_SHAPE(2, 32), RT_INIT_NORMAL(0.2f));

	*ret_logits = rt_linear(g, rt_tanh(g, rt_linear(g, x, w1, b1)), w2, NULL);
	return rt_cross_entropy(g, *ret_logits, y);
}

static void draw(uint64_t batch, float x[N][2], int32_t y[N])
{
	for (uint64_t i = 0; i < N; i++) {
		for (uint64_t k = 0; k < 2; k++)
			x[i][k] = 2 * rt_random_uniform(7, batch, 2 * i + k) - 1;
		y[i] = x[i][0] * x[i][0] + x[i][1] * x[i][1] < 0.6f;
	}
}

int main(int argc, char **argv)
{
	const struct rt_options train = { .seed = 1, .optimizer = { .kind = RT_ADAMW, .lr = 0.02 } }, predict = { 0 };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *trained = NULL, *loaded = NULL;
	struct rt_node *logits, *loss = declare(g, &logits);
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };
	float x[N][2], out[N][2], out_loss;
	int right = 0, r;
	int32_t y[N];

	r = argc == 2 ? rt_compile(g, loss, &train, &trained, &err) : rt_fail(&err, 1, "usage: circle FILE");
	for (uint64_t step = 0; !r && step < 500; step++) {
		draw(step, x, y);
		r = rt_step(trained, (const void *[]){ x, y }, &m, &err);
	}
	draw(1000, x, y); /* points that are not in the training data */
	if (r || rt_save(trained, argv[1], 0, &err) ||
	    rt_compile_outputs(g, (struct rt_node *[]){ loss, logits }, 2, &predict, &loaded, &err) ||
	    rt_load(loaded, argv[1], &(uint64_t){ 0 }, &err) ||
	    rt_run(loaded, (const void *[]){ x, y }, (float *[]){ &out_loss, &out[0][0] }, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	for (int i = 0; i < N; i++)
		right += (out[i][1] > out[i][0]) == y[i];
	printf("%d of %d points are classified correctly, loss %.3f\n", right, N, out_loss);
	return right < N * 9 / 10;
}
