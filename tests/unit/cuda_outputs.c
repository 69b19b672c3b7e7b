/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with outputs on the device: the outputs of each model equal their definition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/check_cuda.h"
#include "lib/util.h"
#include "tests/unit/outputs_case.h"

START_TEST(outputs_of_models_follow_their_definition)
{
	gt_autofree char *f32 = gt_xasprintf("outputs%d", _i), *bf16 = gt_xasprintf("outputs-bf16-%d", _i);
	struct result r = run_with(f32, "STANDIN_SMS=1", STANDIN_DIR);

	ck_assert_str_eq(r.out, "as defined\n");
	r = run_with(bf16, "STANDIN_SMS=1", STANDIN_DIR);
	ck_assert_str_eq(r.out, "as defined\n");
}
END_TEST

void add_outputs_tests(TCase *tc)
{
	tcase_add_loop_test(tc, outputs_of_models_follow_their_definition, 0, OUTPUTS_MODELS);
}

int child_outputs(const char *what)
{
	bool low = !strncmp(what, "outputs-bf16-", 13);
	const char *bad;

	if (strncmp(what, "outputs", 7) != 0)
		return -1;
	bad = low ? outputs_case(atoi(what + 13), RT_CUDA, RT_BF16, 0.05) : outputs_case(atoi(what + 7), RT_CUDA, RT_F32, 1e-4);
	puts(bad ? bad : "as defined");
	return bad ? 1 : 0;
}
