/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupts of network ports, on a captured host with such a port added. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "tests/unit/check_tune.h"

static struct box b;

static void set_up(void)
{
	box_open(&b, "server-8gpu");
}

static void tear_down(void)
{
	box_close(&b);
}

START_TEST(interrupts_go_to_the_ports_node_unless_irqbalance_moves_them)
{
	gt_auto(tn_plan) *plan = NULL, *with = NULL, *bad = NULL;
	gt_autofree char *before = NULL, *after = NULL, *there = NULL;
	gt_auto_json *doc = NULL;
	struct gt_err err = { 0 };
	json_t *o;
	size_t i;

	box_add_port(&b);
	before = box_picture(&b);
	plan = box_plan(&b);
	ck_assert_int_eq(box_item(plan, "irq.affinity", "200")->status, TN_CHANGE);
	ck_assert_str_eq(box_item(plan, "irq.affinity", "201")->wanted, "16-31,48-63");
	ck_assert_int_eq(box_item(plan, "irq.balance", NULL)->status, TN_ALREADY);
	ck_assert_msg(tn_apply(b.fs, plan, NULL, NULL, &err) == 0, "%s", err.msg);
	there = box_get(&b, "/proc/irq/200/smp_affinity_list");
	ck_assert_str_eq(there, "16-31,48-63");
	ck_assert_int_eq(tn_revert(b.fs, NULL, NULL, &err), 0);
	after = box_picture(&b);
	ck_assert_str_eq(before, after);
	/* a plan edited by hand */
	doc = tn_plan_to_json(plan);
	json_array_foreach(json_object_get(doc, "items"), i, o)
		if (!strcmp(gt_json_get_str(o, "knob", ""), "irq.affinity"))
			json_object_set_new(o, "wanted", json_string("0-3; reboot"));
	ck_assert_int_lt(tn_plan_from_json(doc, &bad, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "list of CPUs"));
	box_link(&b, "/etc/systemd/system/multi-user.target.wants/irqbalance.service", "/lib/systemd/system/irqbalance.service");
	with = box_plan(&b);
	ck_assert_int_eq(box_item(with, "irq.affinity", "200")->status, TN_SKIPPED);
	ck_assert_int_eq(box_item(with, "irq.balance", NULL)->status, TN_ADVICE);
}
END_TEST

START_TEST(a_program_that_moves_interrupts_is_named)
{
	gt_auto(tn_plan) *plan = NULL;
	gt_auto_json *report = NULL;
	gt_autofree char *text = NULL;
	struct gt_err err = { 0 };
	int status = 0;

	box_add_port(&b);
	plan = box_plan(&b);
	ck_assert_msg(tn_apply(b.fs, plan, NULL, NULL, &err) == 0, "%s", err.msg);
	box_put(&b, "/run/irqbalance/irqbalance1.sock", "");
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/irq/200/smp_affinity_list", "3"), 0);
	ck_assert_int_eq(tn_verify(b.fs, &report, &status, &err), 0);
	ck_assert_int_eq(status, TN_EXIT_DRIFT);
	text = gt_json_text(report);
	ck_assert_msg(strstr(text, "irqbalance (running) sets it too") != NULL, "%s", text);
	ck_assert_int_eq(tn_revert(b.fs, NULL, &status, &err), 0);
	ck_assert_int_eq(status, TN_EXIT_DRIFT);
}
END_TEST

/*
 * The file mode shows interrupts that the kernel does not allow to be moved. On older kernels the write fails instead.
 * All other interrupts are moved.
 */
START_TEST(an_interrupt_that_the_kernel_keeps_is_left_out)
{
	gt_autofree char *file = NULL, *before = NULL;
	gt_auto(tn_plan) *plan = NULL, *all = NULL;
	unsigned left_out = 0;

	box_add_port(&b);
	file = gt_xasprintf("%s/proc/irq/200/smp_affinity_list", b.dir);
	ck_assert_int_eq(chmod(file, 0444), 0);
	plan = box_plan(&b);
	ck_assert_int_eq(box_item(plan, "irq.affinity", "200")->status, TN_NOT_APPLICABLE);
	ck_assert_int_eq(box_item(plan, "irq.affinity", "201")->status, TN_CHANGE);
	ck_assert_int_eq(chmod(file, 0644), 0);
	all = box_plan(&b);
	before = box_picture(&b);
	box_put(&b, "/var/lib/gputune/history", ""); /* makes these steps come first */
	for (unsigned n = 1; n < 12; n++) {
		gt_autofree char *one = NULL, *two = NULL, *swap = NULL, *after = NULL, *text = NULL;
		gt_auto_json *report = NULL;
		struct gt_err err = { 0 };

		gt_fs_fault(b.fs, n, EIO, false);
		if (tn_apply(b.fs, all, NULL, &report, &err) == 0) {
			box_reopen(&b);
			one = box_get(&b, "/proc/irq/200/smp_affinity_list");
			two = box_get(&b, "/proc/irq/201/smp_affinity_list");
			swap = box_get(&b, "/proc/sys/vm/zone_reclaim_mode");
			text = gt_json_text(report);
			left_out++;
			ck_assert_str_eq(strcmp(one, "0-63") ? one : two, "16-31,48-63");
			ck_assert_str_eq(strcmp(one, "0-63") ? two : one, "0-63");
			ck_assert_str_eq(swap, "0");
			ck_assert_ptr_nonnull(strstr(text, "left out: requires an interrupt that programs can move"));
			ck_assert_int_eq(tn_revert(b.fs, NULL, NULL, &err), 0);
		}
		box_reopen(&b);
		after = box_picture(&b);
		ck_assert_msg(!strcmp(after, before), "step %u", n);
	}
	ck_assert_uint_eq(left_out, 2);
}
END_TEST

START_TEST(interrupts_of_a_port_with_unknown_node_stay)
{
	gt_auto(tn_plan) *plan = NULL;

	box_add_port(&b);
	box_put(&b, BOX_PORT "/numa_node", "-1\n");
	plan = box_plan(&b);
	ck_assert_int_eq(box_item(plan, "irq.affinity", "200")->status, TN_SKIPPED);
}
END_TEST

TCase *tune_interrupts_case(void)
{
	TCase *tc = tcase_create("interrupts");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, interrupts_go_to_the_ports_node_unless_irqbalance_moves_them);
	tcase_add_test(tc, a_program_that_moves_interrupts_is_named);
	tcase_add_test(tc, an_interrupt_that_the_kernel_keeps_is_left_out);
	tcase_add_test(tc, interrupts_of_a_port_with_unknown_node_stay);
	return tc;
}
