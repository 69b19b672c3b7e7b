/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditions of a tunable: listed with the tunable, shown in the plan, checked again by apply. */
#include <string.h>
#include "tests/unit/tune_stage.h"

START_TEST(every_host_knob_lists_its_preconditions)
{
	for (size_t i = 0; tn_tunables[i]; i++) {
		const struct tn_tunable *k = tn_tunables[i];
		gt_autofree char *first = tn_precondition_text(k, NULL, 0);
		size_t n = 0;
		char *what;

		ck_assert_msg(!first == !!k->check, "%s", k->id);
		while ((what = tn_precondition_text(k, NULL, n))) {
			ck_assert_msg(*what && !strstr(what, "%"), "%s: %s", k->id, what);
			free(what);
			n++;
		}
		ck_assert_msg(!first || n > (strchr("AB", k->tag) ? 1 : 0), "%s", k->id);
	}
}
END_TEST

/* Checks the list of preconditions: this many are true, then false if the next one failed, then null. */
static void check_list(const json_t *item)
{
	const char *state = gt_json_get_str(item, "status", ""), *id = gt_json_get_str(item, "knob", "");
	const json_t *list = json_object_get(item, "precondition"), *o;
	bool fails = false, all = true;
	size_t i;

	if (tn_tunable_find(id)->check) {
		ck_assert_msg(json_array_size(list) == 0, "%s: the check has its preconditions", id);
		return;
	}
	ck_assert_msg(json_array_size(list) > 0, "%s", id);
	json_array_foreach(list, i, o)
	{
		const json_t *holds = json_object_get(o, "holds");

		ck_assert_msg(!fails || json_is_null(holds), "%s: after one that does not hold", id);
		ck_assert_msg(all || !json_is_true(holds), "%s: holds after one that does not", id);
		all = all && json_is_true(holds);
		fails |= json_is_false(holds);
	}
	ck_assert_msg(strcmp(state, "change") || all, "%s is to be changed and lacks something", id);
	ck_assert_msg(!fails || !strcmp(state, "n/a") || !strcmp(state, "skipped") || !strcmp(state, "blocked"),
		      "%s: %s", id, state);
	ck_assert_msg(strcmp(state, "n/a") || fails, "%s is not for this host, and nothing is lacking", id);
}

START_TEST(plans_of_captured_hosts_show_the_preconditions)
{
	struct gt_strv names = box_fixtures();

	for (size_t i = 0; i < names.n; i++) {
		gt_auto(tn_plan) *plan = NULL;
		gt_auto_json *doc = NULL;
		const json_t *o;
		struct box one;
		size_t k;

		box_open(&one, names.v[i]);
		plan = box_plan(&one);
		doc = tn_plan_to_json(plan);
		json_array_foreach(json_object_get(doc, "items"), k, o) check_list(o);
		box_close(&one);
	}
	gt_strv_clear(&names);
}
END_TEST

/* The host changes between plan and apply. */
static const struct {
	const char *knob, *before, *before_text, *path, *text, *says;
} moved[] = {
	{"ksm.run", "/sys/kernel/mm/ksm/run", "1\n", "/run/libvirt/qemu/x", "", "a host without virtual machines"},
	{"block.scheduler", "/sys/block/sda/queue/scheduler", "[none] mq-deadline kyber\n",
	 "/sys/block/sda/queue/scheduler", "[none] kyber\n", "it does not offer mq-deadline"},
	{"vm.swappiness", "/proc/sys/vm/swappiness", "60\n", "/proc/swaps",
	 "Filename\tType\tSize\tUsed\tPriority\n/dev/zram0 partition 1000 0 100\n", "swap on a disk"},
	{"thp.enabled", "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n", "/proc/cmdline",
	 "BOOT_IMAGE=/vmlinuz transparent_hugepage=never\n", "a kernel command line that does not set it"},
};

START_TEST(a_failed_precondition_refuses_the_plan)
{
	gt_auto(tn_plan) *plan = NULL;
	struct gt_strv only = {0};
	gt_autofree char *old = NULL, *now = NULL;

	gt_strv_add(&only, moved[_i].knob);
	box_put(&b, moved[_i].before, moved[_i].before_text);
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){.only = &only}, &plan, &err), 0);
	ck_assert_uint_gt(tn_plan_changes(plan), 0);
	box_put(&b, moved[_i].path, moved[_i].text);
	old = box_picture(&b);
	ck_assert_int_lt(tn_apply(b.fs, plan, NULL, NULL, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_REFUSED);
	ck_assert_msg(strstr(err.msg, moved[_i].says) && strstr(err.msg, "make a new plan"), "%s", err.msg);
	now = box_picture(&b);
	ck_assert_str_eq(old, now);
	ck_assert(!box_has_journal(&b));
	gt_strv_clear(&only);
}
END_TEST

TCase *tune_needs_case(void)
{
	TCase *tc = tcase_create("needs");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, every_host_knob_lists_its_preconditions);
	tcase_add_test(tc, plans_of_captured_hosts_show_the_preconditions);
	tcase_add_loop_test(tc, a_failed_precondition_refuses_the_plan, 0, (int)GT_ARRAY_SIZE(moved));
	return tc;
}
