/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: whatever is missing between this program and a GPU, one sentence names it. Each case opens the device in a
 * process of its own whose libcuda.so.1 is the stand-in. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/spawn.h"
#include "runtime/cuda/cuda.h"

static const char *self;

struct result {
	int status;
	char out[2048];
};

/* Run this program again with one more variable and the stand-in's directory first on the library path. */
static struct result open_with(const char *var, const char *dir)
{
	gt_autofree char *path = gt_xasprintf("LD_LIBRARY_PATH=%s", dir);
	char *argv[] = { (char *)self, "open", NULL }, *envp[] = { path, (char *)var, NULL };
	struct gt_spawn s = { .argv = argv, .envp = envp, .timeout_s = 60 };
	struct result res = { -1, "" };
	struct gt_err err = { 0 };

	ck_assert_msg(!gt_spawn(&s, &err), "%s", err.msg);
	res.status = s.status;
	snprintf(res.out, sizeof(res.out), "%s", s.out);
	gt_spawn_clear(&s);
	return res;
}

static int open_and_tell(void)
{
	gt_auto(rt_cuda) *c = NULL;
	struct gt_err err = { 0 };

	if (rt_cuda_open(&c, &err) < 0) {
		puts(err.msg);
		return 1;
	}
	printf("%s sm_%d CUDA %d\n", rt_cuda_name(c), rt_cuda_arch(c), rt_cuda_driver_version(c));
	return 0;
}

static bool built(void)
{
	return *rt_cuda_built_archs();
}

START_TEST(a_build_without_kernels_says_so)
{
	struct result r = open_with(NULL, STANDIN_DIR);

	ck_assert_int_eq(r.status, built() ? 0 : 1);
	ck_assert_msg(strstr(r.out, built() ? "Stand-in GPU 0 sm_90 CUDA 12040" : "built without CUDA kernels") != NULL, "%s",
		      r.out);
}
END_TEST

START_TEST(each_documented_failure_has_its_sentence)
{
	static const struct {
		const char *var, *says;
	} t[] = {
		{ "STANDIN_FAIL=cuInit:100", "cuInit failed with CUDA error 100, CUDA_ERROR_NO_DEVICE" },
		{ "STANDIN_FAIL=cuInit:803", "reload the module or reboot" },
		{ "STANDIN_FAIL=cuInit:804", "cuda-compat" },
		{ "STANDIN_DEVICES=0", "no GPU is visible" },
		{ "STANDIN_FAIL=cuDevicePrimaryCtxRetain:2", "cuDevicePrimaryCtxRetain failed with CUDA error 2" },
		{ "STANDIN_FAIL=cuModuleLoadData:209", "no kernels for the card" },
		{ "STANDIN_FAIL=cuMemAlloc:2", "cuMemAlloc failed" },
		{ "STANDIN_FAIL=cuLaunchKernel:719", "cuLaunchKernel failed with CUDA error 719" },
		{ "STANDIN_FAIL=cuCtxSynchronize:700", "cuCtxSynchronize failed" },
		{ "STANDIN_WRONG=1", "wrong result in the self-test (element 4098" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		struct result r = open_with(t[i].var, STANDIN_DIR);

		ck_assert_int_eq(r.status, 1);
		ck_assert_msg(strstr(r.out, t[i].says) != NULL, "%s: %s", t[i].var, r.out);
	}
}
END_TEST

START_TEST(no_driver_library_is_its_own_answer)
{
	struct result r = open_with(NULL, "/nonexistent");

	/* a host that has a driver may well open its card */
	if (r.status)
		ck_assert_msg(strstr(r.out, "libcuda.so.1") || strstr(r.out, "CUDA error"), "%s", r.out);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s;
	TCase *tc;
	SRunner *sr;
	int failed;

	if (argc > 1)
		return open_and_tell();
	self = argv[0];
	s = suite_create("cuda");
	tc = tcase_create("all");
	tcase_add_test(tc, a_build_without_kernels_says_so);
	if (built()) { /* without kernels the first missing link is always the same */
		tcase_add_test(tc, each_documented_failure_has_its_sentence);
		tcase_add_test(tc, no_driver_library_is_its_own_answer);
	}
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
