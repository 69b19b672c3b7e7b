/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include "bench/ladder/commands.h"

static uint64_t cpus(void)
{
	cpu_set_t usable;

	return sched_getaffinity(0, sizeof(usable), &usable) == 0 ? (uint64_t)CPU_COUNT(&usable) : 1;
}

static uint64_t ranks(const struct bn_ladder_request *q)
{
	return q->ranks ? q->ranks : GT_MAX(2, GT_MIN(cpus(), 4));
}

/* Replaces @ranks, @cpus and @share in an argument. */
static char *word_of(const struct bn_ladder_request *q, const struct bn_ladder *l, const char *w)
{
	unsigned long long n = gt_streq(w, "@ranks")  ? ranks(q)
			       : gt_streq(w, "@cpus") ? cpus()
						      : GT_MAX(1, l->batch / ranks(q));

	return w[0] == '@' && !gt_starts_with(w, "@dir/") ? gt_xasprintf("%llu", n) : gt_xstrdup(w);
}

static void add_words(struct gt_strv *argv, const struct bn_ladder_request *q, const struct bn_ladder *l,
		      const char *const *words)
{
	for (size_t i = 0; i < BN_LADDER_WORDS && words[i]; i++) {
		gt_autofree char *w = word_of(q, l, words[i]);

		gt_strv_add(argv, w);
	}
}

static void add_pair(struct gt_strv *argv, const char *option, const char *value)
{
	if (!value)
		return;
	gt_strv_add(argv, option);
	gt_strv_add(argv, value);
}

/* The model with the ladder's sizes, or the model of --model with its own sizes; the device; the data of images. */
static void add_model(struct gt_strv *argv, const struct bn_ladder_request *q, const struct bn_ladder *l)
{
	if (q->model && l->command != BN_LADDER_OP)
		gt_strv_add(argv, q->model);
	else
		add_words(argv, q, l, l->model);
	add_pair(argv, "--device", q->device);
	add_pair(argv, "--data", l->data == BN_LADDER_IMAGES ? q->data : NULL);
}

/* The user's options follow those of the ladder, and the rung's are last. If an option is repeated, the last one applies. */
void bn_ladder_command(struct gt_strv *argv, const struct bn_ladder_request *q, const struct bn_ladder *l,
		       enum bn_ladder_command command, const struct bn_rung *rung)
{
	static const char *const names[BN_LADDER_COMMANDS] = { "train", "data", "infer", "op" };

	gt_strv_add(argv, "gpubench");
	gt_strv_add(argv, names[command]);
	if (command == BN_LADDER_DATA) {
		gt_strv_add(argv, q->data);
		add_words(argv, q, l, l->model);
	} else {
		add_model(argv, q, l);
	}
	add_words(argv, q, l, command == BN_LADDER_INFER ? l->infer : l->train);
	if (command == BN_LADDER_TRAIN || command == BN_LADDER_OP)
		for (size_t i = 0; i < q->train.n; i++)
			gt_strv_add(argv, q->train.v[i]);
	if (rung)
		add_words(argv, q, l, rung->options);
}
