/* SPDX-License-Identifier: Apache-2.0 */
/* Advice: a host where the check fires, one where it passes, and one whose source cannot be read. */
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "tests/unit/check_probe.h"

#define MEMORY	"file /proc/meminfo\n\tMemTotal:       16777216 kB\n\tHugepagesize:       2048 kB\n"
#define X86_64	"file /proc/sys/kernel/arch\n\tx86_64\nfile /etc/os-release\n\tID=debian\n"
#define THP	"/sys/kernel/mm/transparent_hugepage/shmem_enabled"

static const struct row {
	const char *check, *rest;  /* rest: further entries of the host */
	const char *path;	   /* the source */
	const char *fires, *fine;  /* its text where the check fires, and where it passes */
	const char *what, *remedy; /* parts of the finding */
} rows[] = {
	{ "vm.overcommit-memory", X86_64, "/proc/sys/vm/overcommit_memory", "2", "1", "CUDA", "sysctl -w vm.overcommit_memory=0" },
	{ "vm.nr-hugepages", X86_64 MEMORY, "/proc/sys/vm/nr_hugepages", "512", "0", "512 pages of 2.0 MiB (1.0 GiB)",
	  "sysctl -w vm.nr_hugepages=0" },
	{ "thp.shmem", X86_64, THP, "always within_size advise never deny [force]", "always within_size advise [never] deny force",
	  "2 MiB of /dev/shm", "echo never > " THP },
	{ "thp.shmem", X86_64 "file /.facts/shm_huge\n\talways\n", THP, "[always] within_size advise never deny force",
	  "always within_size advise never [deny] force", "huge=always", "remount,huge=never" },
	{ "kernel.shmmax", X86_64 MEMORY, "/proc/sys/kernel/shmmax", "1073741824", "18446744073692774399", "less than half",
	  "sysctl -w kernel.shmmax=18446744073692774399" },
	{ "kernel.rt-runtime", X86_64, "/proc/sys/kernel/sched_rt_runtime_us", "-1", "950000", "stops the whole host",
	  "sysctl -w kernel.sched_rt_runtime_us=950000" },
	{ "kernel.nmi-watchdog", X86_64, "/proc/sys/kernel/nmi_watchdog", "0", "1", "is not reported",
	  "sysctl -w kernel.nmi_watchdog=1" },
	{ "net.rmem-default", X86_64, "/proc/sys/net/core/rmem_default", "4194305", "4194304", "4194305 bytes",
	  "sysctl -w net.core.rmem_default=212992" },
	{ "net.busy-read", X86_64, "/proc/sys/net/core/busy_read", "50", "0", "50 us", "sysctl -w net.core.busy_read=0" },
	{ "net.tcp-timestamps", X86_64, "/proc/sys/net/ipv4/tcp_timestamps", "0", "1", "old packets",
	  "sysctl -w net.ipv4.tcp_timestamps=1" },
};

/* The host of a row with this entry for the source; NULL: none. */
static struct gt_fsroot *host_of(const struct row *r, const char *kind, const char *text)
{
	gt_auto_buf b = { 0 };

	gt_buf_puts(&b, r->rest);
	if (kind)
		gt_buf_printf(&b, "%s %s%s\n", kind, r->path, strcmp(kind, "deny") ? "" : " EACCES");
	gt_each_word(line, text ? text : "", "\n")
		gt_buf_printf(&b, "\t%s\n", line);
	return open_text(b.s);
}

static struct pr_finding judge(struct gt_fsroot *fs, const char *check, int *ret_exit)
{
	gt_auto(pr_host) *h = discover(fs);
	gt_autofree struct pr_judged *j = NULL;
	size_t n = pr_judge(&(struct pr_context){ .host = h, .fs = fs }, &j), at = 0;

	while (at < n && strcmp(j[at].check->id, check))
		at++;
	ck_assert_msg(at < n, "there is no check %s", check);
	*ret_exit = pr_exit_code(j, n);
	return j[at].f;
}

START_TEST(advice_is_given_where_it_applies)
{
	const struct row *r = &rows[_i];
	gt_auto(gt_fsroot) *fires = host_of(r, "file", r->fires), *fine = host_of(r, "file", r->fine),
			   *denied = host_of(r, "deny", NULL), *absent = host_of(r, NULL, NULL);
	int with, without, unread, ignored;
	struct pr_finding f = judge(fires, r->check, &with), good = judge(fine, r->check, &without),
			  unknown = judge(denied, r->check, &unread), skip = judge(absent, r->check, &ignored);

	ck_assert_msg(f.result == PR_ADVICE && strstr(f.what, r->what) && strstr(f.remedy, r->remedy), "%s: %s: %s\n%s", r->check,
		      pr_result_name(f.result), f.what, f.remedy);
	ck_assert_msg(good.result == PR_PASS, "%s: %s: %s", r->check, pr_result_name(good.result), good.what);
	ck_assert_msg(unknown.result == PR_NOT_KNOWN, "%s: %s: %s", r->check, pr_result_name(unknown.result), unknown.what);
	ck_assert_msg(skip.result == PR_SKIP, "%s: %s: %s", r->check, pr_result_name(skip.result), skip.what);
	ck_assert_int_eq(with, without); /* advice changes no verdict */
}
END_TEST

/* A value that the kernel cannot have shown. */
START_TEST(a_broken_setting_is_not_known)
{
	const struct row *r = &rows[_i];
	gt_auto(gt_fsroot) *fs = host_of(r, "file", "what");
	int ignored;

	ck_assert_int_eq(judge(fs, r->check, &ignored).result, PR_NOT_KNOWN);
}
END_TEST

TCase *case_advice(void)
{
	TCase *tc = tcase_create("advice");

	tcase_add_loop_test(tc, advice_is_given_where_it_applies, 0, GT_ARRAY_SIZE(rows));
	tcase_add_loop_test(tc, a_broken_setting_is_not_known, 0, GT_ARRAY_SIZE(rows));
	return tc;
}
