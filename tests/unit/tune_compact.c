/* SPDX-License-Identifier: Apache-2.0 */
/* The journal stays small, a missing record is noticed, and journals of older versions and large ones are read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "tests/unit/tune_stage.h"
#include "tune/txn/journal.h"
#include "tune/txn/session.h"
#include "tune/model/value.h"

#define BOOT "11111111-2222-3333-4444-555555555555"

static char *journal_text(void)
{
	char *text = NULL;

	ck_assert_int_eq(gt_fs_read_max(b.fs, TN_JOURNAL_PATH, TN_JOURNAL_MAX_BYTES, &text, NULL), 0);
	return text;
}

static void put(struct gt_buf *j, const char *rec)
{
	gt_buf_printf(j, "%08x %s\n", gt_crc32c(rec, strlen(rec)), rec);
}

/* A transaction as a version before format 2 has written it: no numbers. */
static void put_old_tx(struct gt_buf *j, unsigned id, const char *old, const char *new)
{
	gt_autofree char *begin = gt_xasprintf("{\"rec\":\"begin\",\"tx\":%u,\"pid\":1,\"start\":0,\"by\":\"gputune\","
					       "\"temporary\":false,\"boot\":\"" BOOT "\",\"time\":1,\"profile\":\"x\"}", id),
			 *write = gt_xasprintf("{\"rec\":\"write\",\"tx\":%u,\"knob\":\"vm.swappiness\",\"instance\":null,"
					       "\"pair\":null,\"pair_old\":null,\"path\":\"" SWAPPINESS "\",\"old\":\"%s\","
					       "\"new\":\"%s\"}", id, old, new),
			 *commit = gt_xasprintf("{\"rec\":\"commit\",\"tx\":%u}", id);

	put(j, begin);
	put(j, write);
	put(j, commit);
}

static void apply_swappiness(void)
{
	gt_auto_strv only = { 0 };

	gt_strv_add(&only, "vm.swappiness");
	apply(&(struct tn_plan_opts){ .only = &only }, false);
}

static void flip(unsigned value)
{
	gt_autofree char *text = gt_xasprintf("%u", value);

	ck_assert_int_eq(tn_kernel_write(b.fs, SWAPPINESS, text), 0);
}

START_TEST(a_rival_does_not_make_the_journal_grow)
{
	gt_auto_json *report = NULL;
	size_t small = 0;

	for (unsigned i = 0; i < 100; i++) {
		gt_autofree char *text = NULL;

		apply_swappiness();
		text = journal_text();
		small = i == 1 ? strlen(text) : small;
		ck_assert_msg(i < 2 || strlen(text) < small + 16, "%zu bytes after %u calls, %zu after two", strlen(text), i,
			      small);
		flip(61 + i % 100);
	}
	apply_swappiness();
	ck_assert_int_eq(verify(), 0);
	ck_assert_int_eq(tn_revert(b.fs, &report, &status, &err), 0);
	ck_assert_int_eq(status, TN_EXIT_DRIFT); /* another program changed the first setting and restored its value */
	ck_assert_uint_eq(json_array_size(json_object_get(report, "values")), 2);
	expect(SWAPPINESS, "160");
	ck_assert(!box_has_journal(&b));
}
END_TEST

/* Two profiles in turn: each apply continues the previous one. One write with the first old value is left. */
START_TEST(applies_that_continue_each_other_become_one)
{
	gt_auto_strv only = { 0 };

	gt_strv_add(&only, "vm.swappiness");
	for (unsigned i = 0; i < 20; i++) {
		gt_auto(tn_plan) *plan = NULL;
		gt_autofree char *text = NULL;

		ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &only }, &plan, &err), 0);
		free(plan->item[0].wanted);
		plan->item[0].wanted = gt_xasprintf("%u", 10 + i % 2);
		plan->item[0].status = TN_CHANGE;
		ck_assert_msg(tn_apply(b.fs, plan, NULL, NULL, &err) == 0, "%s", err.msg);
		text = journal_text();
		ck_assert_msg(strstr(text, "\"old\":\"60\"") && strlen(text) < 700, "%s", text);
	}
	revert(0);
	expect_before();
}
END_TEST

/* The kernel sets the energy preference again with the governor, to a value between the first and the last one. */
START_TEST(a_value_that_an_older_write_had_made_is_put_back_too)
{
	gt_auto_strv only = { 0 };
	gt_auto(tn_plan) *plan = NULL;

	gt_strv_add(&only, "cpu.epp");
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &only, .optional = true }, &plan, &err), 0);
	ck_assert_uint_gt(plan->n_item, 0);
	for (size_t i = 0; i < plan->n_item; i++) {
		free(plan->item[i].wanted);
		plan->item[i].wanted = gt_xstrdup("balance_power");
		plan->item[i].status = TN_CHANGE;
	}
	ck_assert_msg(tn_apply(b.fs, plan, NULL, NULL, &err) == 0, "%s", err.msg);
	apply(&(struct tn_plan_opts){ .optional = true }, false);
	revert(0);
	expect_before();
}
END_TEST

/* A value that a file persists is not merged with one that a later apply sets for this boot only. */
START_TEST(a_persisted_value_is_not_merged_with_one_of_this_boot_only)
{
	apply(NULL, true);
	flip(61);
	apply_swappiness();
	flip(62);
	apply_swappiness();
	ck_assert_int_eq(verify(), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/kernel/random/boot_id", "another"), 0);
	ck_assert_int_eq(verify(), 0);
	revert(TN_EXIT_PENDING);
	ck_assert(!gt_fs_exists(b.fs, TN_SYSCTL_D_PATH));
	expect(SWAPPINESS, "10");
}
END_TEST

START_TEST(revert_of_a_file_that_was_rewritten_restores_its_first_text)
{
	gt_auto_strv first = { 0 };

	gt_strv_add(&first, "vm.");
	apply(&(struct tn_plan_opts){ .only = &first }, true);
	apply(NULL, true);
	apply(&(struct tn_plan_opts){ .optional = true }, true);
	ck_assert_int_eq(verify(), 0);
	revert(0);
	expect_before();
}
END_TEST

/* Returns line n of text with its newline; *ret_end is the text after it. */
static const char *line_at(const char *text, unsigned n, const char **ret_end)
{
	while (n--)
		text = strchr(text, '\n') + 1;
	*ret_end = strchr(text, '\n') + 1;
	return text;
}

static void expect_refusal(const char *text, size_t len, const char *says)
{
	gt_autofree char *applied = NULL, *now = NULL;

	gt_err_clear(&err);
	ck_assert_int_eq(gt_fs_write_atomic(b.fs, TN_JOURNAL_PATH, text, len, 0600), 0);
	applied = box_picture(&b);
	ck_assert_int_lt(tn_revert(b.fs, NULL, &status, &err), 0);
	ck_assert_msg(err.exit_status == TN_EXIT_REFUSED && strstr(err.msg, says), "%s", err.msg);
	now = box_picture(&b);
	ck_assert_str_eq(applied, now);
}

START_TEST(a_record_that_was_removed_or_moved_is_noticed)
{
	gt_autofree char *text = NULL;
	unsigned n = 0;

	apply(NULL, true);
	text = journal_text();
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	ck_assert_uint_gt(n, 10);
	for (unsigned i = 0; i + 1 < n; i++) {
		gt_auto_buf less = { 0 }, moved = { 0 };
		const char *end, *next, *line = line_at(text, i, &end);

		line_at(text, i + 1, &next);
		gt_buf_add(&less, text, (size_t)(line - text));
		gt_buf_puts(&less, end);
		expect_refusal(less.s, less.len, "is out of sequence");
		gt_buf_add(&moved, text, (size_t)(line - text));
		gt_buf_add(&moved, end, (size_t)(next - end));
		gt_buf_add(&moved, line, (size_t)(end - line));
		gt_buf_puts(&moved, next);
		expect_refusal(moved.s, moved.len, "is out of sequence");
	}
	ck_assert_int_eq(gt_fs_write_atomic(b.fs, TN_JOURNAL_PATH, text, strlen(text), 0600), 0);
	gt_err_clear(&err);
	revert(0);
	expect_before();
}
END_TEST

START_TEST(a_journal_without_numbers_is_read_and_gets_them)
{
	gt_auto_buf j = { 0 };
	gt_autofree char *text = NULL, *both = NULL;

	put_old_tx(&j, 1, "60", "10");
	box_put(&b, TN_JOURNAL_PATH, j.s);
	flip(10);
	ck_assert_int_eq(verify(), 0);
	apply(NULL, false);
	text = journal_text();
	ck_assert_ptr_nonnull(strstr(text, "\"path\":\"" SWAPPINESS "\",\"old\":\"60\",\"new\":\"10\",\"seq\":2}"));
	/* an older version has appended to it since */
	gt_buf_clear(&j);
	put_old_tx(&j, 7, "10", "9");
	both = gt_xasprintf("%s%s", text, j.s);
	box_put(&b, TN_JOURNAL_PATH, both);
	flip(9);
	ck_assert_int_eq(verify(), 0);
	revert(0);
	expect_before();
}
END_TEST

START_TEST(numbers_after_records_without_are_refused)
{
	gt_auto_buf j = { 0 };

	put_old_tx(&j, 1, "60", "10");
	put(&j, "{\"rec\":\"commit\",\"tx\":1,\"seq\":1}");
	put(&j, "{\"rec\":\"commit\",\"tx\":1,\"seq\":2}");
	box_put(&b, TN_JOURNAL_PATH, j.s);
	expect_refusal(j.s, j.len, "record 4 of the journal /var/lib/gputune/journal is out of sequence");
}
END_TEST

START_TEST(the_format_of_a_newer_version_is_named)
{
	gt_auto_buf j = { 0 };

	put(&j, "{\"rec\":\"begin\",\"tx\":1,\"pid\":1,\"start\":0,\"by\":\"gputune\",\"format\":3,\"seq\":1}");
	put(&j, "{\"rec\":\"commit\",\"tx\":1,\"seq\":2}");
	box_put(&b, TN_JOURNAL_PATH, j.s);
	expect_refusal(j.s, j.len, "a newer gputune");
}
END_TEST

/* Versions before format 2 added 742 bytes at each call. */
START_TEST(a_journal_beyond_16_mib_is_read_and_compacted)
{
	gt_auto_buf j = { 0 };
	gt_autofree char *text = NULL;

	for (unsigned i = 1; j.len <= (17u << 20); i++)
		put_old_tx(&j, i, i % 2 ? "60" : "61", "10");
	box_put(&b, TN_JOURNAL_PATH, j.s);
	flip(10);
	ck_assert_int_eq(verify(), 0);
	apply(NULL, false);
	text = journal_text();
	ck_assert_msg(strlen(text) < 8192, "%zu bytes", strlen(text));
	ck_assert_int_eq(tn_revert(b.fs, NULL, &status, &err), 0);
	ck_assert(!box_has_journal(&b));
}
END_TEST

START_TEST(a_full_journal_takes_no_more_and_can_be_reverted)
{
	gt_autofree char *long_name = gt_xcalloc(60001, 1), *before_it = NULL, *now = NULL;
	gt_auto(tn_plan) *plan = box_plan(&b);
	gt_auto_buf j = { 0 };

	memset(long_name, '9', 60000);
	for (unsigned i = 1; j.len < TN_JOURNAL_FULL_BYTES; i++) {
		gt_autofree char *begin = gt_xasprintf("{\"rec\":\"begin\",\"tx\":%u,\"pid\":1,\"start\":0,\"by\":\"g\","
						       "\"boot\":\"" BOOT "\",\"time\":1,\"profile\":\"x\"}", i),
				 *write = gt_xasprintf("{\"rec\":\"write\",\"tx\":%u,\"knob\":\"block.read_ahead\",\"instance\":"
						       "\"d%u\",\"path\":\"/sys/block/d%u/queue/read_ahead_kb\",\"old\":\"1\","
						       "\"new\":\"%s\"}", i, i, i, long_name),
				 *commit = gt_xasprintf("{\"rec\":\"commit\",\"tx\":%u}", i);

		put(&j, begin);
		put(&j, write);
		put(&j, commit);
	}
	box_put(&b, TN_JOURNAL_PATH, j.s);
	before_it = box_picture(&b);
	ck_assert_int_lt(tn_apply(b.fs, plan, NULL, NULL, &err), 0);
	ck_assert_msg(err.exit_status == TN_EXIT_REFUSED && strstr(err.msg, "the journal /var/lib/gputune/journal is full"), "%s",
		      err.msg);
	now = box_picture(&b);
	ck_assert_str_eq(now, before_it);
	gt_err_clear(&err);
	revert(0);
	ck_assert(!box_has_journal(&b));
	ck_assert_int_eq(tn_apply(b.fs, plan, NULL, NULL, &err), 0);
}
END_TEST

/* ---- a compacted journal is equivalent -------------------------------------------------------------------------------- */

static unsigned draw(unsigned *state, unsigned n)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 16) % n;
}

/*
 * A generated history of two tunables and the file that persists them. Values set by another program differ from those
 * of gputune.
 */
struct past {
	struct gt_buf j;
	unsigned seed, tx, seq, value[2];
	char *kept; /* text of the file */
	bool number, rebooted;
};

static const char *const past_path[] = { SWAPPINESS, "/proc/sys/vm/max_map_count" };
static const char *const past_knob[] = { "vm.swappiness", "vm.max_map_count" };

static void past_put(struct past *p, const char *what)
{
	gt_autofree char *number = p->number ? gt_xasprintf(",\"seq\":%u", ++p->seq) : gt_xstrdup(""),
			 *rec = gt_xasprintf("{%s,\"tx\":%u%s}", what, p->tx, number);

	put(&p->j, rec);
}

static void past_write(struct past *p, unsigned k)
{
	unsigned new = 1000 + draw(&p->seed, 3);
	gt_autofree char *write = gt_xasprintf("\"rec\":\"write\",\"knob\":\"%s\",\"path\":\"%s\",\"old\":\"%u\",\"new\":\"%u\"",
					       past_knob[k], past_path[k], p->value[k], new);

	past_put(p, write);
	p->value[k] = new;
}

static void past_file(struct past *p)
{
	gt_autofree char *text = gt_xasprintf("%u %u", p->value[0], p->value[1]),
			 *old = p->kept ? gt_xasprintf("\"%s\"", p->kept) : gt_xstrdup("null"),
			 *file = gt_xasprintf("\"rec\":\"file\",\"path\":\"" TN_SYSCTL_D_PATH "\",\"old\":%s,\"new\":\"%s\"", old,
					      text);

	if (gt_streq(text, p->kept))
		return;
	past_put(p, file);
	free(p->kept);
	p->kept = gt_take(text);
}

static void past_transaction(struct past *p, const char *boot)
{
	gt_autofree char *begin = gt_xasprintf("\"rec\":\"begin\",\"pid\":1,\"start\":0,\"by\":\"x\",\"boot\":\"%s\",\"time\":1,"
					       "\"profile\":\"x\"", boot);
	unsigned which = 1 + draw(&p->seed, 3);

	p->tx++;
	past_put(p, begin);
	for (unsigned k = 0; k < 2; k++)
		if (which >> k & 1)
			past_write(p, k);
	if (!draw(&p->seed, 3))
		past_file(p);
	past_put(p, "\"rec\":\"commit\"");
}

/* The file sets its values again; all others are the kernel's defaults. */
static void past_reboot(struct past *p)
{
	p->rebooted = true;
	p->value[0] = 60;
	p->value[1] = 65530;
	if (p->kept)
		sscanf(p->kept, "%u %u", &p->value[0], &p->value[1]);
}

static void past_make(struct past *p, struct box *box)
{
	unsigned n = 2 + draw(&p->seed, 12), reboot_at = draw(&p->seed, 2 * n);

	for (unsigned i = 0; i < n; i++) {
		if (i == reboot_at)
			past_reboot(p);
		past_transaction(p, i < reboot_at && reboot_at < n ? "earlier" : BOOT);
		for (unsigned k = 0; k < 2; k++)
			if (!draw(&p->seed, 3))
				p->value[k] = 50 + i;
	}
	box_put(box, TN_JOURNAL_PATH, p->j.s);
	for (unsigned k = 0; k < 2; k++) {
		gt_autofree char *value = gt_xasprintf("%u", p->value[k]);

		ck_assert_int_eq(tn_kernel_write(box->fs, past_path[k], value), 0);
	}
	if (p->kept)
		box_put(box, TN_SYSCTL_D_PATH, p->kept);
	gt_buf_clear(&p->j);
	free(p->kept);
}

/* The results of verify, per path. */
static char *verified(struct box *box)
{
	gt_auto_json *report = NULL;
	gt_auto_buf out = { 0 };
	int code;

	ck_assert_msg(tn_verify(box->fs, &report, &code, &err) == 0, "%s", err.msg);
	gt_buf_printf(&out, "%d", code);
	for (unsigned k = 0; k < 2; k++) {
		const json_t *o;
		size_t i;

		json_array_foreach(json_object_get(report, "values"), i, o)
			if (!strcmp(gt_json_get_str(o, "path", ""), past_path[k]))
				gt_buf_printf(&out, " %s=%s %s %s", past_knob[k], gt_json_get_str(o, "new", "?"),
					      gt_json_get_str(o, "result", "?"), gt_json_get_str(o, "overridden", ""));
	}
	return gt_buf_take(&out);
}

/* Records with numbers are read unchanged. Records without numbers are compacted when the journal is opened. */
START_TEST(a_compacted_journal_verifies_and_reverts_alike)
{
	struct box small;

	box_copy(&small, &b);
	for (unsigned seed = 1; seed <= 400; seed++) {
		struct past p = { .seed = seed, .value = { 60, 65530 }, .number = true };
		struct past q = { .seed = seed, .value = { 60, 65530 } };
		gt_autofree char *want = NULL, *got = NULL, *ended = NULL, *ended_small = NULL;
		gt_auto(tn_journal) *j = NULL;
		int lock, code, code_small;

		past_make(&p, &b);
		past_make(&q, &small);
		ck_assert_msg(tn_txn_open(small.fs, true, &lock, &j, &err) == 0, "%u: %s", seed, err.msg);
		close(lock);
		want = verified(&b);
		got = verified(&small);
		ck_assert_msg(!strcmp(want, got), "seed %u: %s, compacted %s", seed, want, got);
		ck_assert_int_eq(tn_revert(b.fs, NULL, &code, &err), 0);
		ck_assert_int_eq(tn_revert(small.fs, NULL, &code_small, &err), 0);
		ended = box_picture(&b);
		ended_small = box_picture(&small);
		ck_assert_msg(!strcmp(ended, ended_small), "seed %u: revert ends elsewhere", seed);
		/* of an earlier boot only the newest value counts */
		ck_assert_msg(code == code_small || (p.rebooted && code && code_small), "seed %u: exit %d, compacted %d",
			      seed, code, code_small);
		ck_assert(box_has_journal(&b) == box_has_journal(&small));
		if (box_has_journal(&b)) { /* values that stay until the next boot */
			box_remove(&b, TN_JOURNAL_PATH);
			box_remove(&small, TN_JOURNAL_PATH);
		}
		if (gt_fs_exists(b.fs, TN_SYSCTL_D_PATH)) {
			box_remove(&b, TN_SYSCTL_D_PATH);
			box_remove(&small, TN_SYSCTL_D_PATH);
		}
	}
	box_close(&small);
}
END_TEST

TCase *tune_compact_case(void)
{
	TCase *tc = tcase_create("compact");
	const TTest *const tests[] = {
		a_rival_does_not_make_the_journal_grow,
		applies_that_continue_each_other_become_one,
		a_value_that_an_older_write_had_made_is_put_back_too,
		a_persisted_value_is_not_merged_with_one_of_this_boot_only,
		revert_of_a_file_that_was_rewritten_restores_its_first_text,
		a_record_that_was_removed_or_moved_is_noticed,
		a_journal_without_numbers_is_read_and_gets_them,
		numbers_after_records_without_are_refused,
		the_format_of_a_newer_version_is_named,
		a_journal_beyond_16_mib_is_read_and_compacted,
		a_full_journal_takes_no_more_and_can_be_reverted,
		a_compacted_journal_verifies_and_reverts_alike,
	};

	tcase_add_checked_fixture(tc, set_up, tear_down);
	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 300);
	return tc;
}
