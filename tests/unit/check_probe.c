/* SPDX-License-Identifier: Apache-2.0 */
/* Promises of probe/: readings keep absent, unreadable and broken apart; every made-up host is judged with the cause that
 * was built into it; hostile content of kernel files never crashes and never makes a wrong "ok". */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/capture.h"
#include "lib/file.h"
#include "probe/check/check.h"
#include "probe/compat/compat.h"
#include "probe/host.h"

static struct gt_fsroot *open_fixture(const char *name)
{
	const char *dir = getenv("TESTDIR");
	gt_autofree char *path = gt_xasprintf("%s/fixtures/%s.host", dir ? dir : TESTS_DIR, name);
	struct gt_fsroot *fs = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(!gt_fs_open(path, &fs, &err), "%s", err.msg);
	return fs;
}

static struct gt_fsroot *open_text(const char *text)
{
	char path[] = "/tmp/check_probe.XXXXXX";
	int fd = mkstemp(path);
	struct gt_fsroot *fs = NULL;
	struct gt_err err = { 0 };
	gt_autofree char *all = gt_xasprintf("gpuprobe-capture/1\ndir /proc\n%s", text);

	ck_assert(fd >= 0 && write(fd, all, strlen(all)) == (ssize_t)strlen(all));
	close(fd);
	ck_assert_msg(!gt_fs_open(path, &fs, &err), "%s", err.msg);
	unlink(path);
	return fs;
}

static struct pr_host *discover(struct gt_fsroot *fs)
{
	struct pr_host *h = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(!pr_host_discover(fs, NULL, &h, &err), "%s", err.msg);
	return h;
}

START_TEST(a_server_is_read_whole)
{
	gt_auto(gt_fsroot) *fs = open_fixture("server-8gpu");
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_uint_eq(h->cpu.n_cpu, 64);
	ck_assert_int_eq(h->cpu.n_cores, 32);
	ck_assert_int_eq(h->cpu.n_packages, 2);
	ck_assert_uint_eq(h->n_node, 2);
	ck_assert_uint_eq(gt_set_count(&h->node[1].cpus), 32);
	ck_assert_int_eq(h->node[0].distance[1], 21);
	ck_assert_int_eq(h->node[1].mem_bytes.v, INT64_C(256) << 30);
	ck_assert_uint_eq(h->n_gpu, 8);
	ck_assert_str_eq(h->gpu[0].pci->address, "0000:17:00.0");
	ck_assert_str_eq(h->gpu[7].name.v, "NVIDIA H100 80GB HBM3");
	ck_assert_int_eq(h->gpu[7].pci->numa_node.v, 1);
	ck_assert_str_eq(h->nvidia.module_version.v, "550.163.01");
	ck_assert_str_eq(pr_find_lib(h, "libcuda.so.1", 0)->version, "550.163.01");
	ck_assert_int_eq(h->net[0].speed_mbit.v, 100000);
	ck_assert_int_eq(h->cpu.cpu[63].node, 1);
	ck_assert(gt_set_has(&h->cpu.cpu[0].siblings, 32));
}
END_TEST

START_TEST(minus_one_is_never_node_0)
{
	gt_auto(gt_fsroot) *fs = open_fixture("gpu-lost-and-narrow");
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_int_eq(h->gpu[0].pci->numa_node.state, PR_ABSENT);
	ck_assert_int_eq(pr_or(h->gpu[0].pci->numa_node, -1), -1);
}
END_TEST

START_TEST(a_container_sees_its_cpuset_and_quota)
{
	gt_auto(gt_fsroot) *fs = open_fixture("container-cpuset");
	gt_auto(pr_host) *h = discover(fs);
	gt_auto_set first = { 0 };
	gt_autofree char *list = NULL;

	ck_assert_uint_eq(gt_set_count(&h->cpu.allowed), 8);
	ck_assert_int_eq(h->cpu.quota_millicpu.v, 4000);
	pr_first_threads(h, &h->cpu.allowed, &first);
	list = gt_set_format(&first);
	ck_assert_str_eq(list, "16-19");
	ck_assert_str_eq(h->container.v, "docker");
}
END_TEST

START_TEST(a_node_without_cpus_is_a_node)
{
	gt_auto(gt_fsroot) *fs = open_fixture("cpuless-node");
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_uint_eq(h->n_node, 2);
	ck_assert_int_eq(h->node[1].id, 12);
	ck_assert_uint_eq(gt_set_count(&h->node[1].cpus), 0);
	ck_assert_int_eq(h->node[1].mem_bytes.v, INT64_C(96) << 30);
}
END_TEST

START_TEST(absent_unreadable_and_broken_are_different)
{
	gt_auto(gt_fsroot) *fs = open_text("deny /proc/sys/kernel/osrelease EACCES\n"
					   "deny /proc/sys/kernel/version EIO\n");
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_int_eq(h->kernel.release.state, PR_UNREADABLE);
	ck_assert_int_eq(h->kernel.version.state, PR_BROKEN);
	ck_assert_int_eq(h->kernel.cmdline.state, PR_ABSENT);
	ck_assert_int_eq(h->mem.total_bytes.state, PR_UNREADABLE);
	ck_assert_int_eq(h->n_node, 1);
}
END_TEST

START_TEST(each_broken_host_has_its_cause)
{
	static const struct {
		const char *fixture, *cause;
		int exit_code;
	} t[] = {
		{ "laptop-no-gpu", "host.blas", 1 },	       { "server-8gpu", NULL, 0 },
		{ "driver-not-loaded", "driver.loaded", 2 },  { "driver-no-headers", "driver.module-built", 2 },
		{ "driver-mismatch", "driver.lib-mismatch", 2 }, { "nouveau", "driver.nouveau", 2 },
		{ "preempt-rt", "kernel.preempt-rt", 2 },     { "gpu-lost-and-narrow", "gpu.count", 2 },
		{ "container-cpuset", "driver.device-nodes", 2 }, { "cpuless-node", NULL, 0 },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_auto(gt_fsroot) *fs = open_fixture(t[i].fixture);
		gt_auto(pr_host) *h = discover(fs);
		struct pr_context c = { .host = h, .fs = fs };
		gt_autofree struct pr_judged *j = NULL;
		size_t n = pr_judge(&c, &j);
		const char *cause = NULL;

		for (size_t k = 0; k < n && !cause; k++)
			if (j[k].f.result == (t[i].exit_code == 1 ? PR_WARN : PR_FAIL) && j[k].cause < 0)
				cause = j[k].check->id;
		ck_assert_msg(gt_streq(cause, t[i].cause), "%s: cause %s", t[i].fixture, cause ? cause : "(none)");
		ck_assert_int_eq(pr_exit_code(j, n), t[i].exit_code);
	}
}
END_TEST

START_TEST(a_host_without_gpu_is_fine_unless_one_is_required)
{
	gt_auto(gt_fsroot) *fs = open_fixture("cpuless-node");
	gt_auto(pr_host) *h = discover(fs);
	struct pr_context c = { .host = h, .fs = fs, .require_gpu = true };
	gt_autofree struct pr_judged *j = NULL;
	size_t n = pr_judge(&c, &j);

	ck_assert_int_eq(pr_exit_code(j, n), 2);
}
END_TEST

START_TEST(every_check_is_complete_and_names_known_causes)
{
	for (size_t i = 0; pr_checks[i]; i++) {
		const struct pr_check *k = pr_checks[i];

		ck_assert(k->id && k->title && k->story && k->run);
		ck_assert_ptr_eq(pr_check_find(k->id), k);
		for (const char *const *a = k->after; a && *a; a++) {
			const struct pr_check *cause = pr_check_find(*a);
			size_t at = 0;

			ck_assert_msg(cause != NULL, "%s: %s", k->id, *a);
			while (pr_checks[at] != cause)
				at++;
			ck_assert_msg(at < i, "%s stands before its cause %s", k->id, *a);
		}
	}
}
END_TEST

START_TEST(compatibility_tables_are_strict_and_newer_is_unknown)
{
	char *driver = NULL;
	struct gt_err err = { 0 };

	ck_assert_int_eq(pr_compat_lookup(pr_compat_cuda_driver, "t", 12, &driver, &err), 1);
	ck_assert_str_eq(driver, "525.60.13");
	free(driver);
	driver = NULL;
	ck_assert_int_eq(pr_compat_lookup(pr_compat_cuda_driver, "t", 99, &driver, &err), 0);
	ck_assert_ptr_null(driver);
	ck_assert_int_lt(pr_compat_lookup("12\t1.2\nx\ty\n", "t", 12, &driver, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "t:2:"));
	ck_assert_int_lt(pr_compat_lookup("12 1.2\n", "t", 12, &driver, &err), 0);
}
END_TEST

START_TEST(hostile_kernel_files_do_no_harm)
{
	gt_auto_buf b = { 0 };

	gt_buf_puts(&b, "file /proc/cpuinfo\n\tprocessor\t: ");
	for (int i = 0; i < 1 << 20; i++)
		gt_buf_puts(&b, "9");
	gt_buf_puts(&b, "\nfile /sys/devices/system/cpu/online\n\t0-3,99999999999\n"
			"file /proc/meminfo\n\tMemTotal: -5 kB\n\tSwapTotal: 99999999999999999999 kB\n"
			"link /sys/bus/pci/devices/0000:00:00.0 0000:00:00.0\n"
			"file /sys/bus/pci/devices/x/vendor\n\t0xffffffffffff\n"
			"file /etc/os-release\n\t=\n\tID=\n\tPRETTY_NAME=\"\n"
			"file /proc/self/cgroup\n\t::::\n\t0::\n\t1:cpu:/../..\n"
			"hex  /proc/cmdline\n\t00ff0a\n"
			"file /.facts/nvml\n\t{\"gpus\": [1, null, {\"pci\": 7}], \"code\": \"x\"}\n"
			"file /.facts/hwloc.xml\n\t<topology><object type=\"Machine\">\n");
	gt_auto(gt_fsroot) *fs = open_text(b.s);
	gt_auto(pr_host) *h = discover(fs);
	gt_auto_json *doc = pr_host_to_json(h);

	ck_assert_uint_ge(h->cpu.n_cpu, 1);
	ck_assert_uint_ge(h->n_node, 1);
	ck_assert_int_ne(h->mem.total_bytes.state, PR_PRESENT);
	ck_assert_ptr_nonnull(doc);
}
END_TEST

START_TEST(the_identity_stays_and_tells_hosts_apart)
{
	gt_auto(gt_fsroot) *a = open_fixture("server-8gpu"), *b = open_fixture("server-8gpu"), *c = open_fixture("nouveau");
	gt_auto(pr_host) *ha = discover(a), *hb = discover(b), *hc = discover(c);

	ck_assert_str_eq(ha->identity, hb->identity);
	ck_assert_str_ne(ha->identity, hc->identity);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probe");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;
	const TTest *const tests[] = {
		a_server_is_read_whole,
		minus_one_is_never_node_0,
		a_container_sees_its_cpuset_and_quota,
		a_node_without_cpus_is_a_node,
		absent_unreadable_and_broken_are_different,
		each_broken_host_has_its_cause,
		a_host_without_gpu_is_fine_unless_one_is_required,
		every_check_is_complete_and_names_known_causes,
		compatibility_tables_are_strict_and_newer_is_unknown,
		hostile_kernel_files_do_no_harm,
		the_identity_stays_and_tells_hosts_apart,
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
