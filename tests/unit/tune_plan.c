/* SPDX-License-Identifier: Apache-2.0 */
/* The plan as a document, invalid plans, profiles. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/tune_stage.h"
#include "tune/plan/check_plan.h"
#include "tune/profiles/profile.h"
#include "tune/model/value.h"

START_TEST(a_plan_survives_its_document)
{
	gt_auto(tn_plan) *plan = box_plan(&b), *again = NULL;
	gt_auto_json *doc = tn_plan_to_json(plan), *doc2 = NULL;
	gt_autofree char *text = gt_json_text(doc), *text2 = NULL;

	ck_assert_msg(tn_plan_from_json(doc, &again, &err) == 0, "%s", err.msg);
	doc2 = tn_plan_to_json(again);
	text2 = gt_json_text(doc2);
	ck_assert_str_eq(text, text2);
	ck_assert_int_eq(tn_plan_check_host(b.fs, NULL, again, &err), 0);
	ck_assert_int_eq(tn_apply(b.fs, again, NULL, NULL, &err), 0);
}
END_TEST

/* Texts inserted into the first change of a valid plan, and the expected refusals. */
static const struct {
	const char *key, *value, *says;
} hostile[] = {
	{ "knob", "\"vm.drop_caches\"", "no knob" },
	{ "knob", "\"run.affinity\"", "no knob" },
	{ "knob", "\"vm.overcommit_memory\"", "never written" },
	{ "knob", "7", "knob" },
	{ "wanted", "\"101\"", "0 to 100" },
	{ "wanted", "\"-1\"", "0 to 100" },
	{ "wanted", "\"5\\nvm.x\"", "control" },
	{ "knob", "\"\\u001b[2J\"", "control" },
	{ "reason", "\"\\u009b2J\"", "control" },
	{ "conflict", "\"a\\u007f\"", "control" },
	{ "precondition", "[{\"what\": \"a\\nFAKE LINE\", \"holds\": true}]", "control" },
	{ "at_boot", "{\"may\": \"\\r\"}", "control" },
	{ "wanted", "null", "no current or no desired" },
	{ "wanted", "10", "not a string" },
	{ "wanted", "\"30\"", "would not lower" },
	{ "instance", "\"../../etc\"", "not a valid device" },
	{ "status", "\"done\"", "unknown status" },
	{ "counterpart", "null", "no value of its counterpart" },
};

static json_t *first_change(json_t *doc)
{
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(doc, "items"), i, o)
		if (!strcmp(gt_json_get_str(o, "status", ""), "change"))
			return o;
	return NULL;
}

START_TEST(a_hostile_plan_is_refused_with_a_sentence)
{
	gt_auto(tn_plan) *plan = box_plan(&b), *bad = NULL;
	gt_auto_json *doc = tn_plan_to_json(plan);

	json_object_set_new(first_change(doc), hostile[_i].key, json_loads(hostile[_i].value, JSON_DECODE_ANY, NULL));
	ck_assert_int_lt(tn_plan_from_json(doc, &bad, &err), 0);
	ck_assert_int_eq(err.exit_status, GT_EXIT_USAGE);
	ck_assert_msg(strstr(err.msg, hostile[_i].says) != NULL, "%s", err.msg);
	ck_assert_ptr_null(bad);
}
END_TEST

START_TEST(control_characters_are_refused_where_no_change_is_too)
{
	static const char *const keys[] = { "host", "profile", "boot_id", "kernel" };
	gt_auto(tn_plan) *plan = box_plan(&b), *bad = NULL;

	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++) {
		gt_auto_json *doc = tn_plan_to_json(plan);

		json_object_set_new(doc, keys[i], json_string("train\033[31m\nFAKE LINE"));
		ck_assert_int_lt(tn_plan_from_json(doc, &bad, &err), 0);
		ck_assert_int_eq(err.exit_status, GT_EXIT_USAGE);
		ck_assert_ptr_nonnull(strstr(err.msg, "control"));
	}
}
END_TEST

START_TEST(an_item_twice_and_devices_with_paths_are_refused)
{
	gt_auto(tn_plan) *plan = box_plan(&b), *bad = NULL;
	gt_auto_json *doc = tn_plan_to_json(plan), *other = tn_plan_to_json(plan), *schema = tn_plan_to_json(plan);
	json_t *o;
	size_t i;

	json_array_append(json_object_get(doc, "items"), first_change(doc));
	ck_assert_int_lt(tn_plan_from_json(doc, &bad, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "twice"));
	json_array_foreach(json_object_get(other, "items"), i, o)
		if (!strcmp(gt_json_get_str(o, "knob", ""), "block.read_ahead"))
			json_object_set_new(o, "instance", json_string("../../../etc"));
	ck_assert_int_lt(tn_plan_from_json(other, &bad, &err), 0);
	json_object_set_new(schema, "schema", json_string("gputune-plan/2"));
	ck_assert_int_lt(tn_plan_from_json(schema, &bad, &err), 0);
}
END_TEST

START_TEST(a_plan_of_another_host_or_of_earlier_is_refused)
{
	gt_auto(tn_plan) *plan = box_plan(&b);

	free(plan->host);
	plan->host = gt_xstrdup("0000000000000000");
	ck_assert_int_lt(tn_apply(b.fs, plan, NULL, NULL, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.msg, "another host"));
	tn_plan_free(gt_take(plan));
	plan = box_plan(&b);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/swappiness", "59"), 0);
	ck_assert_int_lt(tn_apply(b.fs, plan, NULL, NULL, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "vm.swappiness is 59 now, but was 60"));
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/swappiness", "60"), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/dirty_bytes", "8192"), 0);
	ck_assert_int_lt(tn_apply(b.fs, plan, NULL, NULL, &err), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/dirty_ratio", "20"), 0);
	box_remove(&b, "/proc/sys/vm/max_map_count");
	ck_assert_int_lt(tn_apply(b.fs, plan, NULL, NULL, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "no longer exists"));
	ck_assert(!box_has_journal(&b));
}
END_TEST

/* After a reboot, a disk's name or an interrupt's number may belong to another device. The name of a sysctl stays. */
START_TEST(a_plan_from_before_the_reboot_touches_no_device_that_may_have_moved)
{
	static const char *const names[][2] = { { "block.", "block.scheduler:nvme0n1: the host was restarted" }, { "vm.", NULL } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++) {
		gt_auto(tn_plan) *plan = NULL;
		gt_auto_strv only = { 0 };

		gt_err_clear(&err);
		gt_strv_add(&only, names[i][0]);
		ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .only = &only }, &plan, &err), 0);
		ck_assert_uint_gt(tn_plan_changes(plan), 0);
		ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/kernel/random/boot_id", i ? "third" : "second"), 0);
		ck_assert_int_eq(tn_apply(b.fs, plan, NULL, NULL, &err) < 0, !!names[i][1]);
		ck_assert(!names[i][1] || (err.exit_status == TN_EXIT_REFUSED && strstr(err.msg, names[i][1])));
	}
}
END_TEST

START_TEST(opt_in_knobs_must_be_selected)
{
	gt_auto(tn_plan) *plan = NULL, *named = NULL, *profile = NULL;
	gt_auto_strv only = { 0 }, skip = { 0 };

	gt_strv_add(&only, "block.");
	gt_strv_add(&only, "block.read_ahead"); /* selecting a family does not select its optional tunables */
	gt_strv_add(&only, "kernel.");
	gt_strv_add(&skip, "block.scheduler");
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, NULL, &plan, &err), 0);
	ck_assert_int_eq(box_item(plan, "kernel.numa_balancing", NULL)->status, TN_SKIPPED);
	ck_assert_int_eq(box_item(plan, "block.read_ahead", "sda")->status, TN_SKIPPED);
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){.only = &only, .skip = &skip}, &named, &err),
			 0);
	ck_assert_int_eq(box_item(named, "kernel.numa_balancing", NULL)->status, TN_SKIPPED);
	ck_assert_int_eq(box_item(named, "block.scheduler", "sda")->status, TN_SKIPPED);
	ck_assert_int_eq(box_item(named, "block.read_ahead", "sda")->status, TN_CHANGE);
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .profile = "dataload" }, &profile, &err), 0);
	ck_assert_int_eq(box_item(profile, "block.read_ahead", "nvme0n1")->status, TN_CHANGE);
	ck_assert_int_eq(box_item(profile, "kernel.numa_balancing", NULL)->status, TN_SKIPPED);
}
END_TEST

START_TEST(a_later_file_is_a_conflict_and_an_earlier_one_decides_the_boot)
{
	gt_auto(tn_plan) *plan = NULL;

	box_put(&b, "/etc/sysctl.conf", "vm.swappiness=50\n");
	box_put(&b, "/etc/sysctl.d/50-site.conf", "\nvm.max_map_count=70000\n");
	box_put(&b, "/run/tuned/tuned.pid", "1\n");
	box_put(&b, "/run/ksmtune.pid", "1\n");
	box_put(&b, "/sys/fs/cgroup/system.slice/power-profiles-daemon.service/cgroup.procs", "77\n"); /* no option selects it */
	plan = box_plan(&b);
	ck_assert_ptr_nonnull(strstr(box_item(plan, "ksm.run", NULL)->conflict, "ksmtuned (running)"));
	ck_assert_ptr_nonnull(strstr(box_item(plan, "cpu.governor", NULL)->conflict, "power-profiles-daemon (running)"));
	ck_assert_ptr_nonnull(strstr(box_item(plan, "vm.swappiness", NULL)->conflict,
					  "/etc/sysctl.d/99-sysctl.conf:1 sets it to 50"));
	ck_assert_ptr_nonnull(strstr(box_item(plan, "vm.swappiness", NULL)->conflict, "tuned (running)"));
	ck_assert_str_eq(box_item(plan, "vm.max_map_count", NULL)->at_boot_by, "/etc/sysctl.d/50-site.conf:2");
	ck_assert_str_eq(box_item(plan, "vm.max_map_count", NULL)->at_boot, "70000");
}
END_TEST

/* ---- profiles ----------------------------------------------------------------------------------------------------- */

static const struct {
	const char *text, *says;
} bad_profiles[] = {
	{ "vm.swappiness = 1\n", ":1: text before the first section; a profile begins with" },
	{ "[profile]\nauthor = me\n", ":2: unknown key 'author'" },
	{ "[knobs]\n\nvm.swapiness = 1\n", ":3: there is no knob 'vm.swapiness'" },
	{ "[knobs]\nvm.swappiness = 900\n", ":2: vm.swappiness takes 0 to 200" },
	{ "[knobs]\nvm.swappiness\n", ":2: 'vm.swappiness' has no '='" },
	{ "[knobs]\nvm.swappiness =\n", ":2: 'vm.swappiness' has no value" },
	{ "[knobs]\nthp.enabled = sometimes\n", ":2: thp.enabled takes always, madvise, never; not 'sometimes'" },
	{ "[knobs]\ncpu.epp = default\n",
	  ":2: cpu.epp takes performance, balance_performance, balance_power, power; not 'default'" },
	{ "[knobs]\nvm.overcommit_memory = 1\n", ":2: vm.overcommit_memory is reported only" },
	{ "[knobs]\nrun.allocator = ptmalloc\n", ":2: run.allocator takes on, off, tcmalloc, jemalloc, mimalloc; not 'ptmalloc'" },
	{ "[knobs]\nomp.threads = 4\n", ":2: omp.threads takes on or off, not '4'" },
	{ "[tuning]\n", ":1: unknown section; known are" },
	{ "[knobs]\n[tuning]\n", ":2: unknown section [tuning]" },
	{ "[profile]\ninherit = site\n", "inherit each other" },
	{ "[profile]\ninherit = nowhere\n", "unknown profile 'nowhere'" },
	{ "[profile]\ninherit = ../../etc/passwd\n", "'../../etc/passwd' is not a valid name of a profile" },
	{ "[profile]\ninherit = /etc/passwd\n", "'/etc/passwd' is not a valid name of a profile" },
	{ "[profile]\ninherit = ./default\n", "'./default' is not a valid name of a profile" },
	{ "[profile]\ninherit = ..\n", "'..' is not a valid name of a profile" },
};

START_TEST(a_bad_profile_is_refused_with_file_and_line)
{
	gt_auto(tn_plan) *plan = NULL;

	box_put(&b, "/etc/gputune/profiles/site.conf", bad_profiles[_i].text);
	ck_assert_int_lt(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .profile = "site" }, &plan, &err), 0);
	ck_assert_int_eq(err.exit_status, GT_EXIT_USAGE);
	ck_assert_msg(strstr(err.msg, bad_profiles[_i].says) != NULL, "%s", err.msg);
}
END_TEST

START_TEST(an_admins_profile_inherits_and_overrides)
{
	gt_auto(tn_plan) *plan = NULL;
	gt_auto_strv only = { 0 };

	box_put(&b, "/etc/gputune/profiles/site.conf",
		"# ours\n[profile]\nsummary = site\ninherit = dataload\n[knobs]\nvm.swappiness = 1\nvm.dirty_ratio = "
		"off\nthp.enabled = madvise\nkernel.numa_balancing = on\n");
	ck_assert_msg(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){.profile = "site"}, &plan, &err) == 0, "%s",
		      err.msg);
	ck_assert_str_eq(box_item(plan, "vm.swappiness", NULL)->wanted, "1");
	ck_assert_int_eq(box_item(plan, "vm.dirty_ratio", NULL)->status, TN_SKIPPED);
	ck_assert_int_eq(box_item(plan, "thp.enabled", NULL)->status, TN_CHANGE);
	ck_assert_int_eq(box_item(plan, "kernel.numa_balancing", NULL)->status, TN_CHANGE);
	ck_assert_int_eq(box_item(plan, "block.read_ahead", "sda")->status, TN_CHANGE);
	/* a profile's own lines override inherited ones, wherever they are */
	box_put(&b, "/etc/gputune/profiles/first.conf",
		"[knobs]\nblock.read_ahead = off\nvm.swappiness = 7\n[profile]\nsummary = ours\ninherit = site\n");
	tn_plan_free(gt_take(plan));
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .profile = "first" }, &plan, &err), 0);
	ck_assert_int_eq(box_item(plan, "block.read_ahead", "sda")->status, TN_SKIPPED);
	ck_assert_str_eq(box_item(plan, "vm.swappiness", NULL)->wanted, "7");
	ck_assert_int_eq(box_item(plan, "vm.dirty_ratio", NULL)->status, TN_SKIPPED); /* the profile two levels up too */
	tn_plan_free(gt_take(plan));
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .profile = "site" }, &plan, &err), 0);
	/* naming a family does not select a setting that the profile excludes; naming the setting does */
	gt_strv_add(&only, "vm.");
	tn_plan_free(gt_take(plan));
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .profile = "site", .only = &only }, &plan, &err), 0);
	ck_assert_int_eq(box_item(plan, "vm.dirty_ratio", NULL)->status, TN_SKIPPED);
	gt_strv_add(&only, "vm.dirty_ratio");
	tn_plan_free(gt_take(plan));
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .profile = "site", .only = &only }, &plan, &err), 0);
	ck_assert_int_eq(box_item(plan, "vm.dirty_ratio", NULL)->status, TN_CHANGE);
	/* the same name as a built-in profile: the local one is used */
	box_put(&b, "/etc/gputune/profiles/default.conf", "[knobs]\nvm.dirty_background_ratio = off\n");
	tn_plan_free(gt_take(plan));
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, NULL, &plan, &err), 0);
	ck_assert_int_eq(box_item(plan, "vm.dirty_background_ratio", NULL)->status, TN_SKIPPED);
}
END_TEST

START_TEST(every_built_in_profile_is_well_formed)
{
	for (const struct tn_builtin_profile *p = tn_builtin_profiles; p->name; p++) {
		gt_auto(tn_plan) *plan = NULL;
		struct tn_plan_opts o = { .profile = p->name };

		ck_assert_msg(tn_plan_make(b.fs, NULL, &o, &plan, &err) == 0, "%s", err.msg);
	}
}
END_TEST

/* Sizes are printed without loss of digits, and the unit once. */
START_TEST(a_change_is_printed_with_its_unit)
{
	static const struct {
		const char *id, *from, *to, *change, *value;
	} cases[] = {
		{ "vm.dirty_bytes", "0", "17179869184", "0 → 16 GiB", "16 GiB" },
		{ "net.core.rmem_max", "212992", "67108865", "208 KiB → 67108865 bytes", "67108865 bytes" },
		{ "net.ipv4.tcp_rmem", "4096 131072 6291456", "4096 131072 67108864",
		  "4 KiB, 128 KiB, 6 MiB → 4 KiB, 128 KiB, 64 MiB", "4 KiB, 128 KiB, 64 MiB" },
		{ "vm.min_free_kbytes", "67584", "135168", "67584 → 135168 KiB", "135168 KiB" },
		{ "vm.max_map_count", "65530", "262144", "65530 → 262144 mappings", "262144" },
		{ "vm.dirty_ratio", "20", "10", "20 → 10 %", "10 %" },
		{ "vm.swappiness", "60", "10", "60 → 10", "10" },
		{ "cpu.governor", "powersave", "performance", "powersave → performance", "performance" },
		{ "no.such.knob", "1", "2", "1 → 2", "2" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		const struct tn_tunable *k = tn_tunable_find(cases[i].id);
		gt_autofree char *change = tn_tunable_change_text(k, cases[i].from, cases[i].to);
		gt_autofree char *value = tn_tunable_value_text(k, cases[i].to);

		ck_assert_str_eq(change, cases[i].change);
		ck_assert_str_eq(value, cases[i].value);
	}
}
END_TEST

TCase *tune_plan_case(void)
{
	TCase *tc = tcase_create("plan");
	const TTest *const tests[] = {
		a_plan_survives_its_document,
		control_characters_are_refused_where_no_change_is_too,
		an_item_twice_and_devices_with_paths_are_refused,
		a_plan_of_another_host_or_of_earlier_is_refused,
		a_plan_from_before_the_reboot_touches_no_device_that_may_have_moved,
		opt_in_knobs_must_be_selected,
		a_later_file_is_a_conflict_and_an_earlier_one_decides_the_boot,
		an_admins_profile_inherits_and_overrides,
		every_built_in_profile_is_well_formed,
		a_change_is_printed_with_its_unit,
	};

	tcase_add_checked_fixture(tc, set_up, tear_down);
	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_add_loop_test(tc, a_hostile_plan_is_refused_with_a_sentence, 0, GT_ARRAY_SIZE(hostile));
	tcase_add_loop_test(tc, a_bad_profile_is_refused_with_file_and_line, 0, GT_ARRAY_SIZE(bad_profiles));
	return tc;
}
