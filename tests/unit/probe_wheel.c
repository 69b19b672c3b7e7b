/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata of a distribution, parsed as pip does; tests/peers/wheels.py compares it with pip's own parser. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include "probe/wheel/fatbin.h"
#include "probe/wheel/metadata.h"

static const struct {
	const char *tag;
	int python, platform;
} tags[] = {
	{"py3-none-any", 1, 1},
	{"py2.py3-none-any", 1, 1},
	{"py312-none-any", 0, 1},
	{"cp311-cp311-manylinux_2_28_x86_64", 1, 1},
	{"cp310-cp310-manylinux_2_28_x86_64", 0, 1},
	{"cp38-abi3-manylinux2014_x86_64", 1, 1},
	{"cp312-abi3-linux_x86_64", 0, 1},
	{"cp311-cp311-manylinux_2_37_x86_64", 1, 0},
	{"cp311-cp311-manylinux_2_37_x86_64.manylinux_2_17_x86_64", 1, 1},
	{"cp311-cp311-manylinux2014_aarch64", 1, 0},
	{"cp311-cp311-musllinux_1_2_x86_64", 1, 0},
	{"cp311-cp311-win_amd64", 1, 0},
	{"cp311-cp311t-manylinux1_x86_64", 0, 1},
	{"pp310-pypy310_pp73-manylinux2010_x86_64", 0, 1},
};

START_TEST(tags_fit_as_pip_has_it)
{
	struct pr_tag_answer a;

	ck_assert(pr_tag_judge(tags[_i].tag, "3.11", "2.36", "x86_64", &a));
	ck_assert_msg(a.python == tags[_i].python && a.platform == tags[_i].platform, "%s: %d (%s) %d (%s)",
		      tags[_i].tag, a.python, a.python_why, a.platform, a.platform_why);
}
END_TEST

START_TEST(missing_facts_are_unknown)
{
	struct pr_tag_answer a;

	ck_assert(pr_tag_judge("cp311-cp311-manylinux_2_28_x86_64", NULL, NULL, "x86_64", &a));
	ck_assert_int_eq(a.python, -1);
	ck_assert_int_eq(a.platform, -1);
	ck_assert(pr_tag_judge("py3-none-any", NULL, NULL, NULL, &a) && a.python == 1 && a.platform == 1);
	ck_assert(!pr_tag_judge("nonsense", "3.11", "2.36", "x86_64", &a));
	ck_assert(!pr_tag_judge("a-b-c-d", "3.11", "2.36", "x86_64", &a));
}
END_TEST

static const struct {
	const char *text, *name, *spec;
	bool counts;
} requirements[] = {
	{"nvidia-cudnn-cu12==9.1.0.70; platform_system == \"Linux\" and platform_machine == \"x86_64\"",
	 "nvidia-cudnn-cu12", "==9.1.0.70", true},
	{"cuda-toolkit[nvrtc,cudart]==13.2.*; platform_system == 'Linux'", "cuda-toolkit", "==13.2.*", true},
	{"nvidia_nccl.cu12 (<3,>=2.20)", "nvidia-nccl-cu12", "<3,>=2.20", true},
	{"triton", "triton", "", true},
	{"colorama>=0.4; sys_platform == \"win32\"", "colorama", ">=0.4", false},
	{"pytest; extra == 'test'", "pytest", "", false},
	{"nvidia-nccl-cu12==2; platform_machine == 'aarch64'", "nvidia-nccl-cu12", "==2", false},
};

START_TEST(requirements_are_parsed)
{
	struct pr_requirement r;

	ck_assert(pr_requirement_parse(requirements[_i].text, &r));
	ck_assert_str_eq(r.name, requirements[_i].name);
	ck_assert_str_eq(r.spec, requirements[_i].spec);
	ck_assert_int_eq(pr_requirement_counts(&r, "x86_64"), requirements[_i].counts);
}
END_TEST

static const struct {
	const char *version, *spec;
	int r;
} specs[] = {
	{"13.2.86", "==13.2.*", 1},    {"13.20.1", "==13.2.*", 0},    {"13.2", "==13.2.*", 1},
	{"9.1.0.70", "==9.1.0.70", 1}, {"2.5.1+cu124", "==2.5.1", 1}, {"2.27", "<3,>=2.20", 1},
	{"3.0", "<3,>=2.20", 0},       {"2.3.5", "~=2.3", 1},         {"3.0", "~=2.3", 0},
	{"1.5", "!=1.5", 0},           {"3.11", ">=3.9,!=3.11.*", 0}, {"1", "@ file:///x", -22},
};

START_TEST(versions_satisfy_as_pip_has_it)
{
	ck_assert_msg(pr_version_satisfies(specs[_i].version, specs[_i].spec) == specs[_i].r, "%s %s: %d",
		      specs[_i].version, specs[_i].spec, pr_version_satisfies(specs[_i].version, specs[_i].spec));
}
END_TEST

static const struct {
	const char *text, *cuda;
} releases[] = {
	{"Name: torch\nVersion: 2.14.0+cu126\n", "12.6"},
	{"Name: torch\nVersion: 2.15.0\nRequires-Dist: cuda-toolkit[cudart]==13.2.2; platform_system == \"Linux\"\n",
	 "13.2"},
	{"Name: torch\nVersion: 2.6\nRequires-Dist: nvidia-cublas-cu12==12.4.5\n"
	 "Requires-Dist: nvidia-cuda-runtime-cu12==12.4.127\n",
	 "12.4"},
	{"Name: tensorflow\nVersion: 2.20\nRequires-Dist: nvidia-cuda-runtime-cu12<13.0,>=12.5.82; extra == "
	 "'and-cuda'\n",
	 "13.0"},
	{"Name: cupy-cuda12x\nVersion: 13.4\nRequires-Dist: numpy\n", "12.0"},
	{"Name: nvidia_cuda_runtime_cu11\nVersion: 11.8.89\n", "11.8"},
	{"Name: nvidia-nccl-cu13\nVersion: 2.30.7\n", "13.0"},
	{"Name: numpy\nVersion: 2.4\n", NULL},
};

START_TEST(the_cuda_release_is_found_in_the_metadata)
{
	pr_auto_metadata m = {0};
	gt_autofree char *from = NULL, *cuda = NULL;

	ck_assert_int_eq(pr_metadata_parse(releases[_i].text, "t", &m, NULL), 0);
	cuda = pr_metadata_cuda(&m, &from);
	ck_assert_msg(gt_streq(cuda, releases[_i].cuda), "%s: %s (%s)", releases[_i].text, cuda ? cuda : "none",
		      from ? from : "");
}
END_TEST

START_TEST(special_kernels_are_not_taken_for_support)
{
	struct pr_fatbin f = {.containers = 100,
			      .code = {{90, false, 100}, {80, false, 60}, {103, false, 20}, {75, true, 50}},
			      .n_code = 4};
	gt_autofree char *list = pr_fatbin_list(&f);

	ck_assert_str_eq(list, "75+PTX,80,90");
	ck_assert(pr_fatbin_runs(&f, 86) && pr_fatbin_runs(&f, 90) && pr_fatbin_runs(&f, 103)); /* the last one by PTX */
	ck_assert(!pr_fatbin_runs(&f, 70));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probe_wheel");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, tags_fit_as_pip_has_it, 0, (int)GT_ARRAY_SIZE(tags));
	tcase_add_test(tc, missing_facts_are_unknown);
	tcase_add_loop_test(tc, requirements_are_parsed, 0, (int)GT_ARRAY_SIZE(requirements));
	tcase_add_loop_test(tc, versions_satisfy_as_pip_has_it, 0, (int)GT_ARRAY_SIZE(specs));
	tcase_add_loop_test(tc, the_cuda_release_is_found_in_the_metadata, 0, (int)GT_ARRAY_SIZE(releases));
	tcase_add_test(tc, special_kernels_are_not_taken_for_support);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
