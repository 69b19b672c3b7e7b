/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sysctl/: precedence of sysctl.d as in systemd, types of keys, lines without effect. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/fsroot.h"
#include "sysctl/sysctl.h"

static char dir[64];
static struct gt_fsroot *fs;

static void put(const char *path, const char *text)
{
	gt_autofree char *parent = gt_xstrndup(path, (size_t)(strrchr(path, '/') - path));

	ck_assert_int_eq(gt_fs_mkdirs(fs, parent, 0755), 0);
	ck_assert_int_eq(gt_fs_write_atomic(fs, path, text, strlen(text), 0644), 0);
}

static void put_link(const char *path, const char *target)
{
	gt_autofree char *real = gt_xasprintf("%s%s", dir, path);

	put(path, "");
	ck_assert_int_eq(unlink(real), 0);
	ck_assert_int_eq(symlink(target, real), 0);
}

static void set_up(void)
{
	gt_autofree char *etc = NULL;

	strcpy(dir, "/tmp/check-sysctl.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	etc = gt_xasprintf("mkdir %s/etc", dir);
	ck_assert_int_eq(system(etc), 0);
	ck_assert_int_eq(gt_fs_open(dir, &fs, NULL), 0);
}

static void tear_down(void)
{
	gt_autofree char *rm = gt_xasprintf("rm -r %s", dir);

	gt_fs_close(fs);
	ck_assert_int_eq(system(rm), 0);
}

/* "VALUE FILE:LINE", or "-" if no file sets the key */
static void expect(const struct sc_overlay *overlay, const char *key, const char *want)
{
	gt_auto(sc_conf) *c = NULL;
	const struct sc_assign *a;
	char have[256] = "-";

	ck_assert_int_eq(sc_conf_load(fs, SC_NOW, overlay, &c, NULL), 0);
	a = sc_boot_value(c, key);
	if (a)
		snprintf(have, sizeof(have), "%s %s:%u", a->value, a->file, a->line);
	ck_assert_str_eq(have, want);
}

START_TEST(file_names_order_whatever_the_directory)
{
	put("/etc/sysctl.d/10-mine.conf", "vm.swappiness = 1\n");
	put("/usr/lib/sysctl.d/90-dist.conf", "# dist\nvm.swappiness=2\n");
	expect(NULL, "vm.swappiness", "2 /usr/lib/sysctl.d/90-dist.conf:2");
	put("/etc/sysctl.d/90-dist.conf", "kernel.pid_max = 4194304\n");
	expect(NULL, "vm.swappiness", "1 /etc/sysctl.d/10-mine.conf:1"); /* the same name in /etc hides it completely */
	put_link("/run/sysctl.d/10-mine.conf", "/dev/null");
	expect(NULL, "vm.swappiness", "1 /etc/sysctl.d/10-mine.conf:1"); /* /run does not hide /etc */
	put_link("/etc/sysctl.d/10-mine.conf", "/dev/null");
	expect(NULL, "vm.swappiness", "-");
	put("/etc/sysctl.d/.hidden.conf", "vm.swappiness = 7\n");
	put("/etc/sysctl.d/zz.conf.bak", "vm.swappiness = 8\n");
	expect(NULL, "vm.swappiness", "-");
}
END_TEST

START_TEST(sysctl_conf_counts_only_through_a_link)
{
	gt_auto(sc_conf) *c = NULL;
	sc_auto_findings l = { 0 };

	put("/etc/sysctl.conf", "\nvm.swappiness=3\n");
	put("/etc/sysctl.d/90-gputune.conf", "vm.swappiness=10\n");
	expect(NULL, "vm.swappiness", "10 /etc/sysctl.d/90-gputune.conf:1");
	ck_assert_int_eq(sc_conf_load(fs, SC_NOW, NULL, &c, NULL), 0);
	sc_lint(fs, c, &l);
	ck_assert_str_eq(l.f[l.n - 1].file, "/etc/sysctl.conf");
	ck_assert_uint_eq(l.f[l.n - 1].line, 2);
	put_link("/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf"); /* Debian 12 */
	expect(NULL, "vm.swappiness", "3 /etc/sysctl.d/99-sysctl.conf:2");
}
END_TEST

START_TEST(files_in_run_apply_until_the_next_boot)
{
	gt_auto(sc_conf) *next = NULL, *now = NULL;
	sc_auto_findings l = { 0 };

	put("/run/sysctl.d/50-cloud.conf", "vm.swappiness = 1\nvm.dirty_ratio = 5\n");
	put("/usr/lib/sysctl.d/50-cloud.conf", "vm.swappiness = 2\n"); /* hidden now */
	expect(NULL, "vm.swappiness", "1 /run/sysctl.d/50-cloud.conf:1");
	ck_assert_int_eq(sc_conf_load(fs, SC_NEXT_BOOT, NULL, &next, NULL), 0);
	ck_assert_str_eq(sc_boot_value(next, "vm.swappiness")->value, "2");
	ck_assert_ptr_null(sc_boot_value(next, "vm.dirty_ratio"));
	ck_assert_int_eq(sc_conf_load(fs, SC_NOW, NULL, &now, NULL), 0);
	sc_lint(fs, now, &l);
	ck_assert_uint_ge(l.n, 1);
	ck_assert_str_eq(l.f[0].file, "/run/sysctl.d/50-cloud.conf");
	ck_assert_ptr_nonnull(strstr(l.f[0].what, "next boot"));
	for (size_t i = 1; i < l.n; i++)
		ck_assert_ptr_null(strstr(l.f[i].what, "next boot")); /* once per file */
}
END_TEST

START_TEST(globs_yield_to_exact_keys_and_to_minus)
{
	put("/etc/sysctl.d/10.conf", "net.ipv4.conf.eth0.rp_filter = 2\n");
	put("/etc/sysctl.d/20.conf", "net.ipv4.conf.*.rp_filter = 1\n-net.ipv4.conf.lo.rp_filter\n");
	expect(NULL, "net.ipv4.conf.eth0.rp_filter", "2 /etc/sysctl.d/10.conf:1");
	expect(NULL, "net/ipv4/conf/eth1/rp_filter", "1 /etc/sysctl.d/20.conf:1");
	expect(NULL, "net.ipv4.conf.lo.rp_filter", "-");
	expect(NULL, "net.ipv4.conf.eth1.deep.rp_filter", "-"); /* * does not match a dot */
	expect(NULL, "net/ipv4/conf/eth0.1/rp_filter", "1 /etc/sysctl.d/20.conf:1");
	put("/etc/sysctl.d/30.conf", "-net/ipv4/conf/lo/rp_filter = 0\n");
	expect(NULL, "net.ipv4.conf.lo.rp_filter", "0 /etc/sysctl.d/30.conf:1"); /* with a value it is an assignment */
}
END_TEST

START_TEST(hypothetical_files_are_not_written)
{
	struct sc_overlay with = { "/etc/sysctl.d/90-gputune.conf", "# ours\nvm.swappiness = 10\n" };
	struct sc_overlay without = { "/etc/sysctl.d/90-gputune.conf", NULL };

	put("/etc/sysctl.d/50-a.conf", "vm.swappiness = 5\n");
	expect(&with, "vm.swappiness", "10 /etc/sysctl.d/90-gputune.conf:2");
	expect(NULL, "vm.swappiness", "5 /etc/sysctl.d/50-a.conf:1");
	put("/etc/sysctl.d/90-gputune.conf", "vm.swappiness = 9\n");
	expect(&with, "vm.swappiness", "10 /etc/sysctl.d/90-gputune.conf:2");
	expect(&without, "vm.swappiness", "5 /etc/sysctl.d/50-a.conf:1");
}
END_TEST

START_TEST(bad_lines_are_problems_with_file_and_line)
{
	gt_auto(sc_conf) *c = NULL;

	put("/etc/sysctl.d/a.conf", "; fine\nnonsense\n = 3\nvm.swappiness =\n");
	ck_assert_int_eq(gt_fs_mkdirs(fs, "/etc/sysctl.d/dir.conf", 0755), 0);
	ck_assert_int_eq(sc_conf_load(fs, SC_NOW, NULL, &c, NULL), 0);
	ck_assert_uint_eq(c->n_problem, 3);
	ck_assert_uint_eq(c->problem[0].line, 2);
	ck_assert_uint_eq(c->problem[1].line, 3);
	ck_assert_str_eq(c->problem[2].file, "/etc/sysctl.d/dir.conf");
	ck_assert_str_eq(sc_boot_value(c, "vm.swappiness")->value, "");
}
END_TEST

START_TEST(keys_are_typed)
{
	static const struct {
		const char *key, *value;
		int r;
	} t[] = {
		{ "vm.dirty_ratio", "10", 0 },	       { "vm.dirty_ratio", "101", -ERANGE },
		{ "vm.dirty_ratio", "-1", -ERANGE },   { "vm.dirty_ratio", "ten", -EINVAL },
		{ "vm/dirty_ratio", "101", -ERANGE },  { "vm.dirty_ratio", "", -EINVAL },
		{ "vm.dirty_ratio", "1 2", -EINVAL },  { "net.ipv4.tcp_rmem", "4096\t131072  6291456", 0 },
		{ "net.ipv4.tcp_rmem", "4096", -EINVAL }, { "net.core.rmem_max", "2147483648", -ERANGE },
		{ "some.unknown", "any text", 0 },     { "some.unknown", "two\nlines", -EINVAL },
		{ "vm.dirty_ratio", "010", -EINVAL },  { "vm.dirty_ratio", "0x10", -EINVAL }, /* printed in another form */
		{ "vm.dirty_ratio", "10 # ten", -EINVAL }, { "kernel.shmmax", "18446744073709551615", 0 },
		{ "vm.dirty_bytes", "0", -ERANGE }, /* only its counterpart sets it */
		{ "kernel.sched_rt_runtime_us", "-1", 0 }, { "kernel.sched_rt_runtime_us", "-2", -ERANGE },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++)
		ck_assert_msg(sc_check_value(t[i].key, t[i].value, NULL) == t[i].r, "%s = %s", t[i].key, t[i].value);
	for (const struct sc_key *k = sc_keys; k->name; k++)
		if (k->counterpart)
			ck_assert_str_eq(sc_key_find(k->counterpart)->counterpart, k->name);
}
END_TEST

/* Each text was written to a similar key on Linux 6.18; tests/peers does this with more texts. */
START_TEST(values_are_read_as_the_kernel_reads_them)
{
	static const struct {
		const char *key, *text, *taken, *rest; /* taken NULL: refused */
	} t[] = {
		{ "vm.max_map_count", "1048576 # expandable segments", "1048576", "# expandable segments" },
		{ "vm.max_map_count", "0x100000", "1048576", "" },
		{ "vm.max_map_count", "0X1F\t7", "31", "7" },
		{ "vm.max_map_count", "010", "8", "" },
		{ "vm.max_map_count", "00", "0", "" },
		{ "vm.max_map_count", "-0", "0", "" },
		{ "vm.max_map_count", " 7 ", "7", "" },
		{ "vm.max_map_count", "\v7", "7", "" },
		{ "vm.max_map_count", "00000000000000000007", "7", "" }, /* 20 characters, and one more: */
		{ "vm.max_map_count", "000000000000000000007", NULL, NULL },
		{ "vm.max_map_count", "7\v8", NULL, NULL },
		{ "vm.max_map_count", "7;8", NULL, NULL },
		{ "vm.max_map_count", "300x", NULL, NULL },
		{ "vm.max_map_count", "08", NULL, NULL },
		{ "vm.max_map_count", "0x", NULL, NULL },
		{ "vm.max_map_count", "0x0x1", NULL, NULL },
		{ "vm.max_map_count", "0b11", NULL, NULL },
		{ "vm.max_map_count", "+5", NULL, NULL },
		{ "vm.max_map_count", "-", NULL, NULL },
		{ "vm.max_map_count", "--1", NULL, NULL },
		{ "vm.max_map_count", "-1", NULL, NULL },
		{ "vm.max_map_count", "# 7", NULL, NULL },
		{ "vm.max_map_count", "", NULL, NULL },
		{ "vm.max_map_count", "2147483648", NULL, NULL },
		{ "vm.max_map_count", "18446744073709551616", NULL, NULL },
		{ "kernel.sched_rt_runtime_us", "-0x1 # off", "-1", "# off" },
		{ "kernel.shmmax", "18446744073692774399", "18446744073692774399", "" }, /* the kernel's own */
		{ "kernel.shmall", "0xffffffffffffffff", "18446744073709551615", "" },
		{ "kernel.shmmax", "0x10000000000000000", NULL, NULL },
		{ "kernel.shmmax", "-0", NULL, NULL },
		{ "net.ipv4.tcp_rmem", "4096\t0x20000  6291456 9", "4096 131072 6291456", "9" },
		{ "net/ipv4/tcp_rmem", "8192 9000", "8192 9000", "" },
		{ "net.ipv4.tcp_rmem", "8192 # x", NULL, NULL },
		{ "net.ipv4.tcp_rmem", "0 1 2", NULL, NULL },
		{ "kernel.core_pattern", "|/bin/x  %p # y", "|/bin/x  %p # y", "" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_autofree char *taken = NULL;
		const char *rest = NULL;
		struct gt_err err = { 0 };
		int r = sc_read_value(t[i].key, t[i].text, &taken, &rest, &err);

		ck_assert_msg(gt_streq(taken, t[i].taken) && gt_streq(rest, t[i].rest), "%s = '%s' is '%s', then '%s'", t[i].key,
			      t[i].text, taken ? taken : "refused", rest ? rest : "");
		ck_assert_int_eq(r < 0, !t[i].taken);
		ck_assert_int_eq(r < 0, *err.msg != '\0');
	}
}
END_TEST

START_TEST(values_are_equal_as_the_kernel_reads_them)
{
	static const struct {
		const char *key, *a, *b;
		bool equal, nonzero; /* nonzero: whether the value of a is not 0 */
	} t[] = {
		{ "vm.max_map_count", "1048576 # x", "0x100000", true, true },
		{ "vm.max_map_count", "010", "10", false, true },
		{ "vm.max_map_count", "10", "0x10", false, true },
		{ "vm.max_map_count", "1 2", "1", true, true }, /* one number is accepted */
		{ "net.core.unknown", "1 2", "1", false, true },
		{ "vm.max_map_count", "0x0 7", "0", true, false },
		{ "vm.max_map_count", "300x", "300", false, false },
		{ "net.ipv4.tcp_rmem", "4096\t131072 6291456\n", "4096 131072 6291456", true, true },
		{ "net.ipv4.tcp_rmem", "1 2", "1", false, true },
		{ "net.core.unknown", "0x10", "16", true, true },
		{ "net.core.unknown", "16 # x", "16", false, true }, /* may be a text */
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		ck_assert_msg(sc_value_equal(t[i].key, t[i].a, t[i].b) == t[i].equal, "%s and %s", t[i].a, t[i].b);
		ck_assert_msg(sc_value_equal(t[i].key, t[i].b, t[i].a) == t[i].equal, "%s and %s", t[i].b, t[i].a);
		ck_assert_msg(sc_takes_nonzero(t[i].key, t[i].a) == t[i].nonzero, "%s", t[i].a);
	}
}
END_TEST

START_TEST(the_linter_finds_dead_and_dangerous_keys)
{
	gt_auto(sc_conf) *c = NULL;
	sc_auto_findings l = { 0 };

	put("/proc/sys/vm/overcommit_memory", "0\n");
	put("/proc/sys/vm/dirty_ratio", "20\n");
	put("/etc/sysctl.d/a.conf", "kernel.sched_min_granularity_ns = 10000000\n"
				    "vm.overcommit_memory = 2\n"
				    "vm.dirty_ratio = 300\n"
				    "vm.no_such_thing = 1\n"
				    "net.ipv4.conf.eth9.rp_filter = 1\n" /* may appear when the device does */
				    "vm.overcommit_memory = 1\n");
	ck_assert_int_eq(sc_conf_load(fs, SC_NOW, NULL, &c, NULL), 0);
	sc_lint(fs, c, &l);
	ck_assert_uint_eq(l.n, 5);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_uint_eq(l.f[i].line, i < 2 ? i + 1 : i);
	ck_assert(strstr(l.f[0].what, "5.13") && l.f[0].severity == SC_WARN && l.f[1].severity == SC_BAD &&
		  strstr(l.f[2].what, "a.conf:6 sets it to 1 later") && l.f[3].severity == SC_BAD && l.f[4].severity == SC_NOTE);
}
END_TEST

/* "LINE SEVERITY" of each finding in a file of these lines, with the first letter of the severity. */
static void expect_found(const char *lines, const char *want)
{
	gt_auto(sc_conf) *c = NULL;
	sc_auto_findings l = { 0 };
	char have[256] = "";

	put("/etc/sysctl.d/a.conf", lines);
	ck_assert_int_eq(sc_conf_load(fs, SC_NOW, NULL, &c, NULL), 0);
	sc_lint(fs, c, &l);
	for (size_t i = 0; i < l.n; i++)
		sprintf(have + strlen(have), "%u%c ", l.f[i].line, *sc_severity_name(l.f[i].severity));
	ck_assert_msg(!strcmp(have, want), "%s: '%s', not '%s'", lines, have, want);
}

START_TEST(harmful_values_are_reported_on_both_sides_of_the_bounds)
{
	static const char *const keys[] = {
		"vm/min_free_kbytes", "vm/nr_hugepages", "kernel/sched_rt_runtime_us", "kernel/shmmax", "kernel/shmall",
		"fs/file-max", "net/core/rmem_default", "net/core/wmem_default", "net/core/busy_read", "net/core/busy_poll",
		"net/ipv4/tcp_timestamps", "net/ipv4/tcp_sack", "net/ipv4/tcp_window_scaling",
		"net/ipv4/tcp_moderate_rcvbuf", "net/ipv4/tcp_fack",
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++) {
		gt_autofree char *path = gt_xasprintf("/proc/sys/%s", keys[i]);

		put(path, "");
	}
	expect_found("vm.min_free_kbytes = 1023\n", "1b ");
	expect_found("vm.min_free_kbytes = 1024\nvm.nr_hugepages = 0\n", "");
	expect_found("vm.nr_hugepages = 0x10\n", "1n ");
	expect_found("kernel.sched_rt_runtime_us = -1\n", "1w ");
	expect_found("kernel.shmmax = 68719476736\nkernel.shmall = 4294967296\n", "1n 2n ");
	expect_found("kernel.shmmax = 18446744073692774399\nkernel.shmall = 18446744073709551615\n", "");
	expect_found("fs.file-max = 1048575\n", "1w ");
	expect_found("fs.file-max = 1048576\nkernel.sched_rt_runtime_us = 950000\n", "");
	expect_found("net.core.rmem_default = 4194305\nnet.core.wmem_default = 134217728\n", "1w 2w ");
	expect_found("net.core.rmem_default = 4194304\nnet.core.wmem_default = 212992\n", "");
	expect_found("net.core.busy_read = 50\nnet.core.busy_poll = 50\n", "1w 2w ");
	expect_found("net.core.busy_read = 0\nnet.core.busy_poll = 0\n", "");
	expect_found("net.ipv4.tcp_timestamps = 0\nnet.ipv4.tcp_sack = 0\nnet.ipv4.tcp_window_scaling = 0\n"
		     "net.ipv4.tcp_moderate_rcvbuf = 00\nnet.ipv4.tcp_fack = 1\n", "1w 2w 3w 4w 5w ");
	expect_found("net.ipv4.tcp_timestamps = 2\nnet.ipv4.tcp_sack = 1\n", "");
}
END_TEST

START_TEST(missing_core_network_keys_are_reported_and_module_keys_are_not)
{
	static const char lines[] = "net.core.rmem_mx = 1\nnet.ipv4.tcp_abc = 1\nnet.ipv4.udp_rmem = 1\nnet.ipv4.ip_x = 1\n"
				    "net.ipv4.vs.tcp_x = 1\nnet.ipv4.neigh.eth9.x = 1\nnet.netfilter.x = 1\nnet.mptcp.x = 1\n";

	expect_found(lines, ""); /* no finding, as in another network namespace */
	put("/proc/sys/net/core/netdev_max_backlog", "1000\n");
	expect_found(lines, "1n 2n 3n 4n ");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sysctl");
	TCase *tc = tcase_create("all");
	const TTest *const tests[] = {
		file_names_order_whatever_the_directory,
		sysctl_conf_counts_only_through_a_link,
		files_in_run_apply_until_the_next_boot,
		globs_yield_to_exact_keys_and_to_minus,
		hypothetical_files_are_not_written,
		bad_lines_are_problems_with_file_and_line,
		keys_are_typed,
		values_are_read_as_the_kernel_reads_them,
		values_are_equal_as_the_kernel_reads_them,
		the_linter_finds_dead_and_dangerous_keys,
		harmful_values_are_reported_on_both_sides_of_the_bounds,
		missing_core_network_keys_are_reported_and_module_keys_are_not,
	};
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
