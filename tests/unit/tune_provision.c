/* SPDX-License-Identifier: Apache-2.0 */
/* Provisioning: version order of dpkg, output of apt, and packages that must stay because others use them. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/spawn.h"
#include "tests/unit/check_tune.h"
#include "tune/provision/remove.h"

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

/* Versions in rising order by dpkg --compare-versions; each pair is compared. */
static const char *const rising[] = {
	"0~~", "0~", "0", "0.0~rc1-1", "0.9", "1.0~rc1-1", "1.0~rc1-1+b1", "1.0-1~bpo12+1", "1.0-1", "1.0-1+b1", "1.0-1+deb12u1",
	"1.0-1.1", "1.0-2", "1.0-10", "1.0+dfsg-1", "1.0.1-1", "1.9-1", "1.10-1", "535.216.03-2~bpo12+1", "535.261.03-1",
	"535.309.01-0+deb12u1", "550.163.01-2", "1:0.1", "1:14.0-55.7~deb12u1", "1:19.0-63", "2:0~",
};

START_TEST(versions_are_in_dpkgs_order)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(rising); i++)
		for (size_t k = 0; k < GT_ARRAY_SIZE(rising); k++)
			ck_assert_msg(sign(pr_deb_version_cmp(rising[i], rising[k])) == sign((int)i - (int)k), "%s and %s",
				      rising[i], rising[k]);
	ck_assert_int_eq(pr_deb_version_cmp("1.0-0", "1.0"), 0);
	ck_assert_int_eq(pr_deb_version_cmp("0:1.00", "1.0"), 0);
}
END_TEST

/* Compares the table with dpkg itself, if it is installed. */
START_TEST(dpkg_agrees)
{
	if (access("/usr/bin/dpkg", X_OK))
		return;
	for (size_t i = 1; i < GT_ARRAY_SIZE(rising); i++) {
		char *argv[] = {"/usr/bin/dpkg", "--compare-versions", (char *)rising[i - 1], "lt", (char *)rising[i], NULL};
		struct gt_spawn s = {.argv = argv};

		ck_assert_int_eq(gt_spawn(&s, NULL), 0);
		ck_assert_msg(s.status == 0, "%s is not before %s", rising[i - 1], rising[i]);
		gt_spawn_clear(&s);
	}
}
END_TEST

START_TEST(the_output_of_a_simulation_is_parsed_completely)
{
	char text[] = "Reading package lists...\n"
		      "Inst libc6 [2.36-9] (2.36-10 Debian:12.1/stable, Debian-Security:12/stable-security [amd64]) []\n"
		      "Inst numactl (2.0.16-1 Debian:12.1/stable [amd64])\n"
		      "Inst a=b (1 Debian [all])\nInst cut [1\nInst (2)\n"
		      "Remv perl [5.36.0-7] [a:amd64 ]\nPurg bash:amd64 [1]\nConf numactl (2.0.16-1 Debian:12.1/stable [amd64])\n";
	struct tn_apt_result r;

	tn_apt_parse(text, &r);
	ck_assert_uint_eq(r.n_move, 2);
	ck_assert_str_eq(r.move[0].name, "libc6");
	ck_assert_str_eq(r.move[0].old, "2.36-9");
	ck_assert_str_eq(r.move[0].version, "2.36-10");
	ck_assert_str_eq(r.move[0].arch, "amd64");
	ck_assert_str_eq(r.move[1].name, "numactl");
	ck_assert_ptr_null(r.move[1].old);
	ck_assert_uint_eq(r.removals.n, 2);
	ck_assert_str_eq(r.removals.v[0], "perl");
	ck_assert_str_eq(r.removals.v[1], "bash");
	tn_apt_result_clear(&r);
}
END_TEST

START_TEST(the_pinned_version_is_requested_if_not_installed)
{
	static const char text[] = "numactl:\n  Installed: (none)\n  Candidate: 2.0.16-1\n  Version table:\n     2.0.18-1 100\n"
				   "hwloc:\n  Installed: 2.9.0-1\n  Candidate: 2.9.0-1\n  Version table:\n *** 2.9.0-1 500\n"
				   "dkms:\n  Installed: 3.0.9-1\n  Candidate: 3.0.10-8+deb12u1\n"
				   "gone:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\nlast:\n";
	static const char *const want[] = {"dkms=3.0.10-8+deb12u1", "gone", "last", "numactl=2.0.16-1", "unheard-of"};
	gt_auto_strv names = {0}, got = {0};

	gt_strv_add(&names, "dkms");
	gt_strv_add(&names, "gone");
	gt_strv_add(&names, "hwloc");
	gt_strv_add(&names, "last");
	gt_strv_add(&names, "numactl");
	gt_strv_add(&names, "unheard-of");
	tn_apt_parse_policy(text, &names, &got);
	ck_assert_uint_eq(got.n, GT_ARRAY_SIZE(want));
	for (size_t i = 0; i < got.n; i++)
		ck_assert_str_eq(got.v[i], want[i]);
}
END_TEST

/*
 * ---- packages that stay ----------------------------------------------------------------------------------------------
 */

#define PACKAGE(name, more) "Package: " name "\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n" more "\n\n"
static const char *const kept[][4] = {
	/* other packages, recorded packages, the requested one, the reason; NULL: it may be removed */
	{PACKAGE("app", "Depends: libx (>= 1), libc"), PACKAGE("libx", ""), "libx", "app depends on it"},
	{PACKAGE("app", "Pre-Depends: libx:any"), PACKAGE("libx", ""), "libx", "app depends on it"},
	{PACKAGE("app", "Depends: liby | libx"), PACKAGE("libx", ""), "libx", "app depends on it"},
	{PACKAGE("app", "Depends: liby | libx") PACKAGE("liby", ""), PACKAGE("libx", ""), "libx", NULL},
	{PACKAGE("app", "Depends: blas"), PACKAGE("libx", "Provides: lapack, blas (= 3)"), "libx", "app depends on it"},
	{PACKAGE("app", "Depends: blas") PACKAGE("liby", "Provides: blas"), PACKAGE("libx", "Provides: blas"), "libx", NULL},
	{PACKAGE("app", "Recommends: libx\nSuggests: libx"), PACKAGE("libx", ""), "libx", NULL},
	{PACKAGE("app", "Depends: libxx"), PACKAGE("libx", ""), "libx", NULL},
	{PACKAGE("app", "Depends: libx"), PACKAGE("libx", "Depends: libdeep") PACKAGE("libdeep", ""), "libdeep",
	 "libx depends on it"},
	{"", PACKAGE("libx", "Depends: libdeep") PACKAGE("libdeep", ""), "libdeep", NULL},
	{"", "Package: libx\nStatus: hold ok installed\nArchitecture: amd64\nVersion: 1\n\n", "libx",
	 "it was put on hold since"},
};

static struct box b;

static int add_name(void *arg, char *paragraph)
{
	gt_autofree char *name = tn_deb_field(paragraph, "Package");

	tn_record_add(arg, name, "1")->requested = true;
	return 0;
}

START_TEST(packages_used_by_others_stay)
{
	gt_autofree char *status = gt_xasprintf("%s%s", kept[_i][0], kept[_i][1]), *ours = gt_xstrdup(kept[_i][1]);
	struct tn_record record = {.state = TN_RECORD_DONE};
	struct tn_dpkg dpkg;
	char **reason;

	box_open(&b, "cpu-server");
	box_put(&b, "/var/lib/dpkg/status", status);
	tn_dpkg_load(b.fs, NULL, &dpkg);
	tn_deb_paragraphs_text(ours, add_name, &record);
	reason = tn_remove_reasons(b.fs, &dpkg, &record);
	for (size_t i = 0; i < record.n; i++) {
		if (!strcmp(record.package[i].name, kept[_i][2]))
			ck_assert_msg(gt_streq(reason[i], kept[_i][3]), "%s: %s", kept[_i][2], reason[i] ? reason[i] : "goes");
		free(reason[i]);
	}
	free(reason);
	tn_record_clear(&record);
	tn_dpkg_clear(&dpkg);
	box_close(&b);
}
END_TEST

/* The packages of an interrupted installation were not requested: only those that other packages depend on stay. */
START_TEST(an_unfinished_record_needs_no_marks)
{
	struct tn_record record = {.state = TN_RECORD_OPEN};
	struct tn_dpkg dpkg;
	char **reason;

	box_open(&b, "cpu-server");
	box_put(&b, "/var/lib/dpkg/status", PACKAGE("libx", ""));
	tn_dpkg_load(b.fs, NULL, &dpkg);
	tn_record_add(&record, "libx", "1");
	reason = tn_remove_reasons(b.fs, &dpkg, &record);
	ck_assert_ptr_null(reason[0]);
	free(reason);
	record.state = TN_RECORD_DONE;
	reason = tn_remove_reasons(b.fs, &dpkg, &record);
	ck_assert_ptr_nonnull(reason[0]);
	free(reason[0]);
	free(reason);
	tn_record_clear(&record);
	tn_dpkg_clear(&dpkg);
	box_close(&b);
}
END_TEST

START_TEST(the_record_is_loaded_and_removed_when_empty)
{
	struct tn_record record = {.state = TN_RECORD_OPEN}, again;
	struct gt_err err = {0};
	struct tn_recorded *p;

	box_open(&b, "cpu-server");
	ck_assert_int_eq(gt_fs_mkdirs(b.fs, "/var/lib/gputune", 0755), 0);
	p = tn_record_add(&record, "libx", "1:2-3");
	p->held = p->had_config = true;
	ck_assert_int_eq(tn_record_save(b.fs, &record, &err), 0);
	ck_assert_int_eq(tn_record_load(b.fs, &again, &err), 0);
	ck_assert(again.state == TN_RECORD_OPEN && again.n == 1 && again.package[0].held && again.package[0].had_config);
	ck_assert_str_eq(again.package[0].version, "1:2-3");
	tn_record_clear(&again);
	tn_record_clear(&record);
	ck_assert_int_eq(tn_record_save(b.fs, &record, &err), 0);
	ck_assert(!gt_fs_exists(b.fs, "/var/lib/gputune/provision"));
	box_close(&b);
}
END_TEST

/* Writes after its reader has gone, like dpkg, and must terminate. */
START_TEST(an_installation_completes_if_gputune_is_killed)
{
	char dir[] = "/tmp/check-outlive.XXXXXX", end[8] = "";
	gt_autofree char *go = NULL, *done = NULL, *script = NULL;
	pid_t pid;
	int fd_go, fd_done;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	go = gt_xasprintf("%s/go", dir);
	done = gt_xasprintf("%s/done", dir);
	ck_assert(!mkfifo(go, 0600) && !mkfifo(done, 0600));
	script = gt_xasprintf("exec 9>%s; cat %s; echo a; echo b >&2; echo c; echo end >&9", done, go);
	fd_done = open(done, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	pid = fork();
	if (pid == 0) {
		char *argv[] = {"/bin/sh", "-c", script, NULL};
		struct gt_spawn s = {.argv = argv, .outlives = true};

		_exit(gt_spawn(&s, NULL) != 0);
	}
	fd_go = open(go, O_WRONLY | O_CLOEXEC); /* it waits for its reader now */
	ck_assert_int_ge(fd_go, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fcntl(fd_done, F_SETFL, 0);
	close(fd_go);
	ck_assert_msg(read(fd_done, end, sizeof(end) - 1) == 4, "it was ended before its end");
	ck_assert_str_eq(end, "end\n");
	close(fd_done);
	unlink(go);
	unlink(done);
	rmdir(dir);
}
END_TEST

START_TEST(the_output_of_an_installation_is_read)
{
	char *argv[] = {"/bin/sh", "-c", "echo one; echo two >&2; exit 3", NULL};
	struct gt_spawn s = {.argv = argv, .outlives = true, .timeout_s = 60};

	ck_assert_int_eq(gt_spawn(&s, NULL), 0);
	ck_assert_int_eq(s.status, 3);
	ck_assert_str_eq(s.out, "one\n");
	ck_assert_str_eq(s.errout, "two\n");
	gt_spawn_clear(&s);
}
END_TEST

TCase *tune_provision_case(void)
{
	TCase *tc = tcase_create("provision");

	tcase_add_test(tc, versions_are_in_dpkgs_order);
	tcase_add_test(tc, dpkg_agrees);
	tcase_add_test(tc, the_output_of_a_simulation_is_parsed_completely);
	tcase_add_test(tc, the_pinned_version_is_requested_if_not_installed);
	tcase_add_test(tc, an_installation_completes_if_gputune_is_killed);
	tcase_add_test(tc, the_output_of_an_installation_is_read);
	tcase_add_loop_test(tc, packages_used_by_others_stay, 0, GT_ARRAY_SIZE(kept));
	tcase_add_test(tc, an_unfinished_record_needs_no_marks);
	tcase_add_test(tc, the_record_is_loaded_and_removed_when_empty);
	return tc;
}
