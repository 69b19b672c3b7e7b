/* SPDX-License-Identifier: Apache-2.0 */
/* The compatibility tables and the order of versions. */
#include <stdio.h>
#include <string.h>
#include "probe/compat/compat.h"
#include "probe/host/reading.h"
#include "tests/unit/check_probe.h"

START_TEST(compatibility_tables_are_strict_and_newer_is_unknown)
{
	char *driver = NULL;
	struct gt_err err = { 0 };

	ck_assert_int_eq(pr_compat_lookup(pr_cuda_driver.text, "t", "12", &driver, &err), 1);
	ck_assert_str_eq(driver, "525.60.13");
	free(driver);
	driver = NULL;
	ck_assert_int_eq(pr_compat_lookup(pr_cuda_driver.text, "t", "99", &driver, &err), 0);
	ck_assert_ptr_null(driver);
	ck_assert_int_lt(pr_compat_lookup("12\t1.2\nx\ty\n", "t", "12", &driver, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "t:2:"));
	ck_assert_int_lt(pr_compat_lookup("12 1.2\n", "t", "12", &driver, &err), 0);
}
END_TEST

START_TEST(a_wheel_is_chosen_by_driver_and_card)
{
	static const struct {
		const char *driver;
		int arch;
		const char *torch, *cuda, *machine, *python; /* torch NULL: none */
		bool other;
	} t[] = {
		{ "580.95.05", 90, "2.15", "13.2" },  /* pip's default works */
		{ "550.163.01", 90, "2.14", "12.6" }, /* Debian 13 ships CUDA 12 */
		{ "550.163.01", 0, "2.14", "12.6" },
		{ "580.95.05", 70, "2.14", "12.6" },   /* CUDA 13 does not compile for Volta */
		{ "570.124.06", 120, "2.11", "12.8" }, /* Blackwell needs 12.8; later wheels exist for 13 and 12.6 only */
		{ "470.256.02", 80, "2.7", "11.8" },
		{ "390.157", 61, NULL, NULL },
		{ "580.95.05", 90, "2.15", "13.2", "aarch64" },	  /* Grace Hopper */
		{ "580.95.05", 121, "2.15", "13.2", "aarch64" },  /* DGX Spark: code of 12.0 runs on 12.1 */
		{ "580.95.05", 110, "2.15", "13.2", "aarch64" },  /* Thor */
		{ "570.124.06", 110, NULL, NULL, "aarch64" },	  /* no wheel with CUDA 12 contains its code */
		{ "570.124.06", 103, "2.11", "12.8", "aarch64" }, /* GB300 */
		{ "580.95.05", 75, NULL, NULL, "aarch64" },	  /* T4G: no wheel contains code below 8.0 */
		{ "580.95.05", 90, NULL, NULL, "ppc64le" },
		{ "580.95.05", 90, "2.14", "13.0", NULL, "3.10" }, /* Ubuntu 22.04: 2.15 has no wheel for its Python */
		{ "580.95.05", 90, "2.8", "12.8", NULL, "3.9" },   /* Debian 11 */
		{ "580.95.05", 90, "2.15", "13.2", NULL, "3.16", true }, /* with another Python */
		{ "390.157", 61, NULL, NULL, NULL, "3.16" },
	};
	gt_auto(gt_fsroot) *fs = open_text("");

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		struct gt_err err = { 0 };
		struct pr_wheel w;
		struct pr_wheel_query q = { .machine = t[i].machine, .driver = t[i].driver, .python = t[i].python,
					    .arch = t[i].arch };
		int r = pr_compat_wheel(fs, &q, &w, &err);

		ck_assert_msg(r == (t[i].torch != NULL), "%s: %d %s", t[i].driver, r, err.msg);
		ck_assert_msg(!r || w.other_python == t[i].other, "%s %d", t[i].driver, t[i].arch);
		if (r)
			ck_assert_msg(!strcmp(w.torch, t[i].torch) && !strcmp(w.cuda, t[i].cuda), "%s %d: %s with %s", t[i].driver,
				      t[i].arch, w.torch, w.cuda);
	}
}
END_TEST

START_TEST(every_table_is_well_formed)
{
	const struct pr_table *const t[] = { &pr_cuda_driver, &pr_driver_cuda, &pr_forward_compat, &pr_torch_wheel, &pr_gpu_arch,
					      &pr_torch_rocm, &pr_torch_rocm_arch,
					      &pr_gpu_pci,     &pr_torch_arch,	&pr_nvcc_gcc,
					      &pr_tensorflow_cuda, &pr_jax_cuda, &pr_debian_driver, &pr_debian_legacy,
					      &pr_debian_toolkit, &pr_debian_gcc, &pr_extension,
					      &pr_framework_python };

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_autofree char *value = NULL;
		struct gt_err err = { 0 };

		ck_assert_msg(!pr_compat_lookup(t[i]->text, t[i]->name, "0", &value, &err), "%s", err.msg);
		ck_assert_msg(strstr(t[i]->text, "# source: ") && strstr(t[i]->text, "# as_of: 20"), "%s", t[i]->name);
	}
}
END_TEST

/* Expected results are dpkg's (dpkg --compare-versions). */
START_TEST(package_versions_are_ordered_as_dpkg_has_it)
{
	static const struct {
		const char *a, *b;
		int r;
	} t[] = {{"1.0", "1.0", 0},		   {"1.0~rc1", "1.0", -1},	     {"1.0-1", "1.0-1+deb12u1", -1},
		 {"1:0.1", "9.9", 1},		   {"550.163.01-2", "550.163.01-10", -1}, {"1.0-1~bpo12+1", "1.0-1", -1},
		 {"2.0a", "2.0", 1},		   {"2.0+b", "2.0a", 1},	     {"0:1.0", "1.0-0", 0},
		 {"580.65.06-1", "580.105.08-1", -1}, {"1.2-3-1", "1.2-3-2", -1}, {"1.0-", "1.0", 0}};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		int r = pr_deb_version_cmp(t[i].a, t[i].b), back = pr_deb_version_cmp(t[i].b, t[i].a);

		ck_assert_msg((r > 0) - (r < 0) == t[i].r && (back > 0) - (back < 0) == -t[i].r, "%s and %s: %d", t[i].a,
			      t[i].b, r);
	}
}
END_TEST

TCase *case_tables(void)
{
	TCase *tc = tcase_create("tables");

	tcase_add_test(tc, compatibility_tables_are_strict_and_newer_is_unknown);
	tcase_add_test(tc, a_wheel_is_chosen_by_driver_and_card);
	tcase_add_test(tc, every_table_is_well_formed);
	tcase_add_test(tc, package_versions_are_ordered_as_dpkg_has_it);
	tcase_set_timeout(tc, 120);
	return tc;
}
