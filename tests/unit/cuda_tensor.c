/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor parallel ranks and stages of a pipeline on devices compute the gradients and losses of one rank. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/util.h"
#include "tests/unit/check_cuda.h"
#include "tests/unit/split_case.h"

#define ON_CUDA		.device = RT_CUDA, .optimizer = SPLIT_ADAM
#define LOW		0.02 /* limit in bf16 and f16 */

static const struct split splits[] = {
	{ GPT, 2, 1, { ON_CUDA }, .updates = 12 },
	{ GPT, 2, 2, { ON_CUDA, .accum = 2, .clip_norm = 0.5 }, .updates = 3 },
	{ VIT, 2, 1, { ON_CUDA }, .updates = 3 },
	{ MLP, 4, 1, { ON_CUDA, .clip_norm = 0.5 }, .updates = 3 },
	{ LLAMA, 2, 1, { ON_CUDA }, .updates = 3 },
	{ DROPOUT, 2, 1, { ON_CUDA }, .updates = 3 },
	{ GPT, 2, 1, { ON_CUDA, .precision.amp = RT_BF16 }, .limit = LOW, .updates = 3 },
	{ GPT, 2, 1, { ON_CUDA, .precision.amp = RT_F16 }, .limit = LOW, .updates = 3 },
	{ GPT, 2, 1, { ON_CUDA, .ranks.sequence = true }, .updates = 3 },
	{ LLAMA, 4, 1, { ON_CUDA, .ranks.sequence = true }, .updates = 3 },
	{ DROPOUT, 2, 1, { ON_CUDA, .ranks.sequence = true }, .updates = 3 },
	{ GPT, 2, 1, { ON_CUDA, .ranks.sequence = true, .precision.amp = RT_BF16 }, .limit = LOW, .updates = 3 },
	{ GPT, 1, 1, { ON_CUDA, .accum = 3 }, .updates = 3, .stages = 2 },
	{ GPT, 1, 1, { ON_CUDA, .accum = 4, .clip_norm = 0.5 }, .updates = 3, .stages = 3 },
	{ GPT, 1, 1, { ON_CUDA, .accum = 4, .pipeline.schedule = RT_GPIPE }, .updates = 3, .stages = 2 },
	{ GPT, 1, 1, { ON_CUDA, .accum = 2, .debug.poison = true }, .updates = 3, .stages = 2 },
	{ DROPOUT, 1, 1, { ON_CUDA, .accum = 3, .memory.checkpoint = 2 }, .updates = 3, .stages = 2 },
	{ GPT, 1, 1, { ON_CUDA, .accum = 2, .precision.amp = RT_BF16 }, .limit = LOW, .updates = 3, .stages = 2 },
	{ GPT, 1, 2, { ON_CUDA, .accum = 2, .clip_norm = 0.5 }, .updates = 3, .stages = 2 },
	{ GPT, 2, 1, { ON_CUDA, .accum = 2, .clip_norm = 0.5 }, .updates = 3, .stages = 2 },
	{ LLAMA, 2, 1, { ON_CUDA, .accum = 2, .ranks.sequence = true }, .updates = 3, .stages = 2 },
};

START_TEST(split_models_train_like_one_rank)
{
	gt_autofree char *name = gt_xasprintf("split%d", _i);
	struct result r = run_with(name, "STANDIN_DEVICES=4 STANDIN_SMS=1", STANDIN_DIR);

	ck_assert_str_eq(r.out, "like one rank\n");
}
END_TEST

void add_tensor_tests(TCase *tc)
{
	tcase_add_loop_test(tc, split_models_train_like_one_rank, 0, GT_ARRAY_SIZE(splits));
}

int child_tensor(const char *what)
{
	struct gt_err err = { 0 };
	int r;

	if (strncmp(what, "split", 5) != 0)
		return -1;
	r = split_trains_like_one_rank(splits[atoi(what + 5)], &err);
	puts(r ? err.msg : "like one rank");
	return r != 0;
}
