/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA_VISIBLE_DEVICES is parsed as CUDA does. Sources: GUIDE the CUDA Programming Guide, 5.2.1.1; MIG the MIG User
 * Guide, CUDA device enumeration; TORCH torch/cuda/__init__.py, _parse_visible_devices, which follows the driver.
 */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/visible.h"
#include "tests/unit/check_lib.h"

static const struct gt_gpu_name four[] = { { "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 0 },
					   { "GPU-8932aaaa-d72c-4106-c12f-20bd9faed9f7", 0 },
					   { "GPU-0a11bb22-0000-0000-0000-000000000001", 1 },
					   { "GPU-ffffffff-0000-0000-0000-000000000002", 0 } };
static const struct gt_gpu_name nameless[] = { { NULL, -1 }, { NULL, -1 }, { NULL, -1 }, { NULL, -1 } };
static const struct gt_gpu_name whole[] = { { "GPU-01", 0 }, { "GPU-02", 0 } };
static const struct gt_gpu_name two_cut[] = { { "GPU-01", 1 }, { "GPU-02", 1 } };

/*
 * seen: the devices in order; "?" is an unknown device, the suffix "m" a MIG instance. A '!' is followed by the text at
 * which CUDA stops.
 */
static const struct {
	const char *rule, *list;
	const struct gt_gpu_name *gpus;
	size_t n;
	const char *seen;
} cases[] = {
	{ "GUIDE: indices, from 0", "0,1", four, 4, "0 1" },
	{ "GUIDE: in the order of the list", "2,1", four, 4, "2 1" },
	{ "GUIDE: empty, none is visible", "", four, 4, "" },
	{ "GUIDE: what follows an invalid index is hidden", "0,2,-1,1", four, 4, "0 2 !-1" },
	{ "GUIDE: -1 hides all", "-1", four, 4, "!-1" },
	{ "GUIDE: an index that is none of this host", "1,4,0", four, 4, "1 !4" },
	{ "GUIDE: of a size that fits no number", "99999999999999999999", four, 4, "!99999999999999999999" },
	{ "GUIDE: a UUID as nvidia-smi -L has it", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", four, 4, "0" },
	{ "GUIDE: its beginning, where no other begins so", "GPU-8932a,GPU-f", four, 4, "1 3" },
	{ "GUIDE: its beginning, where another begins so", "GPU-8932", four, 4, "!GPU-8932" },
	{ "GUIDE: a UUID of no GPU here", "GPU-f,GPU-12,GPU-0", four, 4, "3 !GPU-12" },
	{ "GPU- alone names none", "GPU-", four, 4, "!GPU-" },
	{ "digits of a UUID in either case", "GPU-0A11BB", four, 4, "2" },
	{ "where UUIDs are not known they are taken", "GPU-12,GPU-34", nameless, 4, "? ?" },
	{ "MIG: an instance's own UUID, of the one GPU that is cut", "MIG-4c1b1c9e-0000-5555-a8b7-0123456789ab", four, 4, "2m" },
	{ "MIG: the same, of one of two", "MIG-4c1b1c9e", two_cut, 2, "?m" },
	{ "MIG: where no GPU is cut", "MIG-4c1b1c9e", whole, 2, "!MIG-4c1b1c9e" },
	{ "MIG: GPU's UUID, GPU instance, compute instance", "MIG-GPU-0a11bb22-0000-0000-0000-000000000001/1/0", four, 4, "2m" },
	{ "MIG: which must both be there", "MIG-GPU-0a11bb22/1", four, 4, "!MIG-GPU-0a11bb22/1" },
	{ "MIG: of a GPU that is not here", "MIG-GPU-77/1/0", four, 4, "!MIG-GPU-77/1/0" },
	{ "MIG: one instance is all that CUDA sees", "MIG-GPU-01/1/0,MIG-GPU-01/2/0", two_cut, 2, "0m !MIG-GPU-01/2/0" },
	{ "MIG: and no whole GPU beside it", "MIG-GPU-01/1/0,1", two_cut, 2, "0m !1" },
	{ "TORCH: an index twice leaves none", "0,1,0", four, 4, "!0" },
	{ "TORCH: a UUID twice leaves none", "GPU-f,GPU-f", four, 4, "!GPU-f" },
	{ "TORCH: a UUID twice, where UUIDs are not known", "GPU-12,GPU-34,GPU-12", nameless, 4, "!GPU-12" },
	{ "TORCH: a plus before a number does not count", "+1, +2", four, 4, "1 2" },
	{ "TORCH: after numbers another kind ends the list", "0,GPU-ffff", four, 4, "0 !GPU-ffff" },
	{ "TORCH: after UUIDs numbers do", "GPU-ffff,0", four, 4, "3 !0" },
	{ "TORCH: letters after a number do not count", "1gpu2,2ampere", four, 4, "1 2" },
	{ "TORCH: blanks before a number do not count", "0, 1", four, 4, "0 1" },
	{ "TORCH: an entry that is empty ends the list", "0,,1", four, 4, "0 ! " },
	{ "TORCH: a word ends it", "all", four, 4, "!all" },
	{ "how many there are is not known", "0,63,GPU-1", NULL, GT_GPUS_UNKNOWN, "0 63 !GPU-1" },
	{ "nor their UUIDs", "GPU-1,GPU-2", NULL, GT_GPUS_UNKNOWN, "? ?" },
	{ "nor instances", "MIG-1", NULL, GT_GPUS_UNKNOWN, "?m" },
};

START_TEST(the_list_is_read_as_cuda_reads_it)
{
	gt_auto_buf got = { 0 };
	struct gt_visible v;

	gt_visible_parse(cases[_i].list, cases[_i].gpus, cases[_i].n, &v);
	ck_assert(v.set);
	for (size_t i = 0; i < v.n; i++) {
		if (v.v[i].gpu < 0)
			gt_buf_printf(&got, "%s?%s", i ? " " : "", v.v[i].mig ? "m" : "");
		else
			gt_buf_printf(&got, "%s%d%s", i ? " " : "", v.v[i].gpu, v.v[i].mig ? "m" : "");
	}
	if (v.bad[0])
		gt_buf_printf(&got, "%s!%s", v.n ? " " : "", v.bad);
	ck_assert_msg(gt_streq(got.s ? got.s : "", cases[_i].seen), "%s: %s gives \"%s\", not \"%s\"", cases[_i].rule,
		      cases[_i].list, got.s ? got.s : "", cases[_i].seen);
	ck_assert_msg(!v.bad[0] == !v.why, "a reason goes with what is bad, and only with that");
}
END_TEST

START_TEST(not_set_is_not_empty)
{
	struct gt_visible v;

	gt_visible_parse(NULL, four, 4, &v);
	ck_assert(!v.set && !v.bad[0]);
	gt_visible_parse("", four, 4, &v);
	ck_assert(v.set && !v.n && !v.bad[0]);
}
END_TEST

TCase *lib_visible_case(void)
{
	TCase *tc = tcase_create("visible");

	tcase_add_loop_test(tc, the_list_is_read_as_cuda_reads_it, 0, GT_ARRAY_SIZE(cases));
	tcase_add_test(tc, not_set_is_not_empty);
	return tc;
}
