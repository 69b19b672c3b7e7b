/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include "tests/unit/tune_stage.h"

struct box b;
char *before;
struct gt_err err;
int status;

void set_up(void)
{
	box_open(&b, "cpu-server");
	before = box_picture(&b);
	gt_err_clear(&err);
	status = -1;
}

void tear_down(void)
{
	box_close(&b);
	free(before);
}

void apply(const struct tn_plan_opts *choice, bool persist)
{
	gt_auto(tn_plan) *plan = NULL;

	ck_assert_msg(tn_plan_make(b.fs, NULL, choice, &plan, &err) == 0, "%s", err.msg);
	ck_assert_msg(tn_apply(b.fs, plan, &(struct tn_apply_opts){.persist = persist}, NULL, &err) == 0, "%s",
		      err.msg);
}

void revert(int want)
{
	ck_assert_msg(tn_revert(b.fs, NULL, &status, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(status, want);
}

int verify(void)
{
	json_t *report = NULL;

	ck_assert_msg(tn_verify(b.fs, &report, &status, &err) == 0, "%s", err.msg);
	json_decref(report);
	return status;
}

void expect_before(void)
{
	gt_autofree char *now = box_picture(&b);

	ck_assert_str_eq(now, before);
	ck_assert(!box_has_journal(&b));
}

void expect(const char *path, const char *value)
{
	gt_autofree char *now = box_get(&b, path);

	ck_assert_str_eq(now, value);
}
