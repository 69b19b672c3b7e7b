/* SPDX-License-Identifier: Apache-2.0 */
/* The list of promises, and what their checks share. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tests/graphs/ways.h"

const struct way ways[] = {
	{ "alike", "2 and 4 ranks with the same batch train as one, to the bit", way_ranks_alike, true },
	{ "apart", "2 and 4 ranks with batches of their own train by the weighted mean of all", way_ranks_apart, true },
	{ "coded", "2 and 4 ranks whose gradients travel coded stay alike, and near; again the same bits",
	  way_ranks_coded, true },
	{ "values", "values, losses, gradients and running statistics are those of the plain definitions", way_values, false },
	{ "low", "mixed precision is as near as its type", way_low_values, false },
	{ "pixels", "inputs as bytes are the numbers that they stand for", way_pixels, false },
	{ "inference", "a program without a backward pass gives the loss of the plain definitions", way_inference, false },
	{ "trained", "updates are the plain optimizers', with weights, clipping and a loss scale that skips some", way_trained,
	  false },
	{ "bits", "memory reuse, early updates, checkpointing, budgets and debug aids change no bit", way_same_bits, false },
	{ "resumed", "a checkpoint between updates changes no bit", way_resumed, false },
	{ "shapes", "a program of several batch shapes gives the bits of programs of one", way_shapes, false },
	{ "accumulated", "batches of an update are averaged by their weights", way_accumulated, false },
	{ "mixed", "batches of several shapes are averaged in one update", way_mixed, false },
	{ "refused", "what does not fit is refused by a sentence", way_refused, false },
};
const int n_ways = GT_ARRAY_SIZE(ways);

bool broken(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->said, sizeof(t->said), fmt, ap);
	va_end(ap);
	t->kind = fmt;
	return false;
}

bool pass_over(struct trial *t)
{
	t->passed_over = true;
	return true;
}

struct rt_program *trial_program(struct trial *t, const struct made *m, const struct made_graph *mg, const struct rt_options *opt)
{
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	if (rt_compile(mg->g, mg->loss, opt, &p, &err) < 0) {
		broken(t, "compiling: %s", err.msg);
		return NULL;
	}
	made_load(m, mg, p);
	return p;
}

bool trial_has(const struct made *m, enum made_op op)
{
	for (int i = 0; i < m->n; i++)
		if (m->step[i].op == op)
			return true;
	return false;
}

struct rt_options trial_options(const struct made *m)
{
	static const struct rt_optimizer optimizers[] = {
		{ .kind = RT_SGD, .lr = 0.05 },
		{ .kind = RT_SGD, .lr = 0.02, .momentum = 0.9, .weight_decay = 0.01 },
		{ .kind = RT_ADAM, .lr = 1e-3, .weight_decay = 0.01 },
		{ .kind = RT_ADAMW, .lr = 1e-3, .weight_decay = 0.1 },
		{ .kind = RT_ADAMW8, .lr = 1e-3 },
	};
	const uint8_t *how = m->how;
	struct rt_options o = {
		.optimizer = optimizers[how[0] % 5],
		.accum = 1 + how[1] % 3,
		.clip_norm = how[2] % 3 == 0 ? 0.5 : 0,
		.amp = how[3] % 6 == 4 ? RT_BF16 : how[3] % 6 == 5 ? RT_F16 : RT_F32,
		.no_fuse = how[4] % 4 == 0,
		.zero_gradients = how[5] % 5 == 0,
		.threads = 1 + how[6] % 3,
		.logits_slice_bytes = how[7] % 3 ? 256u << how[7] % 3 : 0,
		.no_winograd = how[8] % 2,
		.scaler = { .use = how[9] % 4 == 0 ? RT_SCALER_ON : RT_SCALER_AUTO, .init = 1024 },
		.seed = 5,
	};

	return o;
}
