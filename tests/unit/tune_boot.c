/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predictions of values after a boot where udev rules set them: in plan, explain and verify. tests/peers/udevadm.py
 * compares the rule reader with the real udevd.
 */
#include <stdio.h>
#include <string.h>
#include "tests/unit/tune_stage.h"
#include "tune/boot/udev.h"

#define RULES      "/etc/udev/rules.d/60-site.rules"
#define LATE       "/etc/udev/rules.d/95-site.rules"
#define READ_AHEAD "/sys/block/nvme0n1/queue/read_ahead_kb"
#define GOVERNOR   "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"

static struct tn_udev_answer ask(const char *path, const char *ours)
{
	struct tn_udev_answer a;
	struct tn_udev u;

	tn_udev_load(b.fs, SC_NEXT_BOOT, &u);
	tn_udev_ask(&u, path, ours, &a);
	tn_udev_clear(&u);
	return a;
}

/* Expected answer for a file; NULL: none. may: a part of the text. */
static const struct {
	const char *rules, *path, *value, *by, *may;
} cases[] = {
	{"ACTION==\"add|change\", KERNEL==\"nvme*\", ATTR{queue/read_ahead_kb}=\"256\"\n", READ_AHEAD, "256",
	 RULES ":1", NULL},
	{"# one\nSUBSYSTEM==\"block\", \\\n ATTR{queue/read_ahead_kb}=\"256\"\n", READ_AHEAD, "256", RULES ":2", NULL},
	{"KERNEL==\"sd*\", ATTR{queue/read_ahead_kb}=\"256\"\n", READ_AHEAD, NULL, NULL, NULL},
	{"ATTR{queue/read_ahead_kb}=\"1\"\nATTR{queue/read_ahead_kb}=\"2\"\n", READ_AHEAD, "2", RULES ":2", NULL},
	{"ATTR{queue/rotational}!=\"0\", ATTR{queue/read_ahead_kb}=\"1\"\n", READ_AHEAD, NULL, NULL, NULL},
	{"ACTION==\"change\", ATTR{queue/read_ahead_kb}=\"512\"\n", READ_AHEAD, NULL, NULL,
	 "512 each time that the disk was open for writing"},
	{"PROGRAM==\"/bin/true\", ATTR{queue/read_ahead_kb}=\"1\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 1, depending on PROGRAM"},
	{"ATTR{queue/read_ahead_kb}=\"7\"\nENV{ID_X}==\"y\", ATTR{queue/read_ahead_kb}=\"8\"\n", READ_AHEAD, "7",
	 RULES ":1", RULES ":2 may set it to 8, depending on ENV{ID_X}"},
	{"ENV{ID_X}==\"y\", ATTR{queue/read_ahead_kb}=\"8\"\nATTR{queue/read_ahead_kb}=\"7\"\n", READ_AHEAD, "7",
	 RULES ":2", NULL},
	{"PROGRAM==\"x\", GOTO=\"e\"\nATTR{queue/read_ahead_kb}=\"1\"\nLABEL=\"e\"\n", READ_AHEAD, NULL, NULL,
	 "depending on PROGRAM"},
	{"GOTO=\"e\"\nATTR{queue/read_ahead_kb}=\"1\"\nLABEL=\"e\"\n", READ_AHEAD, NULL, NULL, NULL},
	{"ACTION!=\"add|change\", GOTO=\"e\"\nATTR{queue/read_ahead_kb}=\"1\"\nLABEL=\"e\"\n", READ_AHEAD, "1", RULES ":2", NULL},
	{"GOTO=\"e\"\nATTR{queue/read_ahead_kb}=\"1\"\nLABEL=e\"\\x65\"\n", READ_AHEAD, NULL, NULL, /* target of the link */
	 RULES ":2 may set it to 1, depending on GOTO"},
	{"GOTO=\"e\"\nATTR{queue/read_ahead_kb}=\"1\"\nLABEL=\"e\", OWNER=\"nobody-here\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":2 may set it to 1, depending on GOTO"},
	{"PROGRAM==\"x\", GOTO=\"a\"\nGOTO=\"b\"\nLABEL=\"a\"\nATTR{queue/read_ahead_kb}=\"1\"\nLABEL=\"b\"\n"
	 "ATTR{queue/read_ahead_kb}=\"2\"\n", READ_AHEAD, "2", RULES ":6", NULL},
	{"KERNEL==\"nvme0n1\", RUN+=\"/bin/sh -c 'echo 9 > /sys/block/%k/queue/read_ahead_kb'\"\n", READ_AHEAD, NULL,
	 NULL, RULES ":1 may set it: it runs a program"},
	{"KERNEL==\"nvme0n1\", RUN+=\"/sbin/blockdev --setra 8192 /dev/%k\"\n", READ_AHEAD, NULL, NULL,
	 "runs a program"},
	{"KERNEL==\"nvme0n1\", RUN+=\"/sbin/blockdev --setra 8192 /dev/%k\"\nATTR{queue/read_ahead_kb}=\"7\"\n", READ_AHEAD, "7",
	 RULES ":2", RULES ":1 may set it: it runs a program"}, /* after all lines */
	{"ATTR{queue/read_ahead_kb}=\"$attr{queue/rotational}\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it, depending on its substitutions"},
	{"ATTR{[block/nvme0n1]queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on the event"},
	{"KERNEL==\"eth0\", ATTR{[block/nvme0n1]queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on the event"},
	{"FOO==\"x\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL, NULL},
	{"ENV{DEVTYPE}==\"disk\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on ENV{DEVTYPE}"},
	{"TEST==\"queue/rotational\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on TEST"},
	{"IMPORT{cmdline}=\"quiet\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on IMPORT{cmdline}"},
	{"ATTRS{serial}!=\"x\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on ATTRS{serial}"},
	{"KERNELS==\"nvme0n1\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on KERNELS"},
	{"DRIVERS==\"nvme\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on DRIVERS"},
	{"SUBSYSTEMS==\"block\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on SUBSYSTEMS"},
	{"DEVPATH==\"*/nvme0n1\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on DEVPATH"},
	{"TAG==\"x\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on TAG"},
	{"ATTR{[block/sda]ro}==\"0\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on ATTR{[block/sda]ro}"},
	{"KERNEL==i\"NVME*\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on KERNEL"},
	{"KERNEL==e\"nvme\\x30n1\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on KERNEL"},
	{"OWNER=\"nobody-here\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on OWNER"},
	{"ENV{MINOR}=\"3\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on ENV{MINOR}"},
	{"RUN{elf}=\"/bin/x\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on RUN{elf}"},
	{"ATTR{queue/scheduler}==\"none\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":1 may set it to 3, depending on ATTR{queue/scheduler}"},
	{"ATTR{ro}=\"0\"\nATTR{ro}==\"0\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL,
	 RULES ":2 may set it to 3, depending on ATTR{ro}"},
	{"KERNEL==\"sd*\", ENV{DEVTYPE}==\"disk\", ATTR{queue/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL, NULL},
	{"ATTR{queue/$kernel/read_ahead_kb}=\"3\"\n", READ_AHEAD, NULL, NULL, RULES ":1 may set it to 3, depending on the event"},
	{"SUBSYSTEM==\"cpu\", ACTION==\"add\", ATTR{cpufreq/scaling_governor}=\"powersave\"\n", GOVERNOR, "powersave",
	 RULES ":1", NULL},
	{"KERNEL==\"cpu7\", ATTR{cpufreq/scaling_governor}=\"powersave\"\n", GOVERNOR, NULL, NULL, NULL},
	{"SUBSYSTEM==\"net\", SYSCTL{vm.swappiness}=\"5\"\n", "/proc/sys/vm/swappiness", NULL, NULL,
	 RULES ":1 may set it to 5, depending on the event"},
};

START_TEST(a_udev_rule_decides)
{
	struct tn_udev_answer a;

	box_put(&b, RULES, cases[_i].rules);
	a = ask(cases[_i].path, NULL);
	ck_assert_msg(gt_streq(a.value, cases[_i].value), "value %s", a.value ? a.value : "none");
	ck_assert_msg(gt_streq(a.by, cases[_i].by), "by %s", a.by ? a.by : "nobody");
	ck_assert_msg(!a.may == !cases[_i].may && (!a.may || strstr(a.may, cases[_i].may)), "may: %s",
		      a.may ? a.may : "nobody");
	tn_udev_answer_clear(&a);
}
END_TEST

/* gputune's file is sorted by its name. A file with the same value is no conflict. */
START_TEST(a_rule_overrides_gputune_only_if_it_is_later)
{
	static const struct {
		const char *file, *value;
		bool counts;
	} rules[] = {{RULES, "64", false},
		     {LATE, "64", true},
		     {"/usr/lib/udev/rules.d/90-gputune.ruler.rules", "64", false},
		     {"/usr/lib/udev/rules.d/99-z.rules", "64", true},
		     {"/run/udev/rules.d/99-z.rules", "64", false}};

	for (size_t i = 0; i < GT_ARRAY_SIZE(rules); i++) {
		gt_autofree char *text =
			gt_xasprintf("KERNEL==\"nvme*\", ATTR{queue/read_ahead_kb}=\"%s\"\n", rules[i].value);
		struct tn_udev_answer a;

		box_put(&b, rules[i].file, text);
		a = ask(READ_AHEAD, "4096");
		ck_assert_msg(gt_streq(a.value, rules[i].counts ? "64" : NULL), "case %zu: %s", i,
			      a.value ? a.value : "none");
		tn_udev_answer_clear(&a);
		box_remove(&b, rules[i].file);
	}
}
END_TEST

START_TEST(a_masked_file_of_rules_sets_nothing)
{
	struct tn_udev_answer a;

	box_put(&b, "/usr/lib/udev/rules.d/60-site.rules", "ATTR{queue/read_ahead_kb}=\"64\"\n");
	box_put(&b, RULES, "");
	a = ask(READ_AHEAD, NULL);
	ck_assert(!a.value && !a.may);
	box_remove(&b, RULES);
	a = ask(READ_AHEAD, NULL);
	ck_assert_str_eq(a.value, "64");
	tn_udev_answer_clear(&a);
}
END_TEST

static struct tn_plan *plan_of(const char *only)
{
	struct gt_strv list = {0};
	struct tn_plan *plan = NULL;

	gt_strv_add(&list, only);
	ck_assert_msg(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){.only = &list}, &plan, &err) == 0, "%s", err.msg);
	gt_strv_clear(&list);
	return plan;
}

static const struct tn_item *nvme(const struct tn_plan *p)
{
	for (size_t i = 0; i < p->n_item; i++)
		if (gt_streq(p->item[i].instance, "nvme0n1"))
			return &p->item[i];
	ck_abort_msg("no nvme0n1");
	return NULL;
}

START_TEST(the_plan_names_the_rule_that_decides_the_boot)
{
	gt_auto(tn_plan) *plan = NULL;

	box_put(&b, RULES, "KERNEL==\"nvme*\", ATTR{queue/read_ahead_kb}=\"256\"\n");
	plan = plan_of("block.read_ahead");
	ck_assert_str_eq(nvme(plan)->at_boot, "256");
	ck_assert_str_eq(nvme(plan)->at_boot_by, RULES ":1");
	ck_assert_ptr_null(nvme(plan)->conflict); /* gputune's file comes later */
	tn_plan_free(gt_take(plan));
	box_put(&b, LATE, "KERNEL==\"nvme*\", ATTR{queue/read_ahead_kb}=\"64\"\n");
	plan = plan_of("block.read_ahead");
	ck_assert_msg(strstr(nvme(plan)->conflict, LATE ":1 sets it to 64 at boot") != NULL, "%s",
		      nvme(plan)->conflict);
	box_remove(&b, LATE);
}
END_TEST

/* systemd-tmpfiles writes when the devices of the boot exist. */
START_TEST(tmpfiles_count_before_rules)
{
	gt_auto(tn_plan) *plan = NULL;

	box_put(&b, RULES, "KERNEL==\"nvme*\", ATTR{queue/read_ahead_kb}=\"256\"\n");
	box_put(&b, "/etc/tmpfiles.d/site.conf", "w " READ_AHEAD " - - - - 32\n");
	plan = plan_of("block.read_ahead");
	ck_assert_str_eq(nvme(plan)->at_boot, "32");
	ck_assert_str_eq(nvme(plan)->at_boot_by, "/etc/tmpfiles.d/site.conf:1");
	ck_assert_ptr_nonnull(strstr(nvme(plan)->at_boot_may, RULES ":1 sets it to 256 when its device appears"));
	ck_assert_ptr_nonnull(strstr(nvme(plan)->conflict, "site.conf:1 sets it to 32 at boot and has priority over"));
}
END_TEST

static int report_of(json_t **ret)
{
	ck_assert_msg(tn_verify(b.fs, ret, &status, &err) == 0, "%s", err.msg);
	return status;
}

static const char *said(const json_t *report, const char *key)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "values"), i,
			   o) if (!strcmp(gt_json_get_str(o, "instance", ""), "nvme0n1")) return gt_json_get_str(o, key,
														 "");
	return "";
}

START_TEST(verify_names_the_overriding_rule)
{
	gt_auto(tn_plan) *plan = NULL;
	gt_auto_json *good = NULL, *lost = NULL, *gone = NULL;
	const json_t *boot;

	box_put(&b, RULES, "KERNEL==\"nvme*\", ATTR{queue/read_ahead_kb}=\"256\"\n");
	plan = plan_of("block.read_ahead");
	ck_assert_msg(tn_apply(b.fs, plan, &(struct tn_apply_opts){.persist = true}, NULL, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(report_of(&good), 0);
	boot = json_object_get(json_array_get(json_object_get(good, "values"), 0), "at_boot");
	ck_assert_str_eq(gt_json_get_str(boot, "value", ""), "4096");
	ck_assert(gt_starts_with(gt_json_get_str(boot, "decided_by", ""), "/etc/udev/rules.d/90-gputune.rules:"));
	box_put(&b, LATE, "KERNEL==\"nvme*\", ATTR{queue/read_ahead_kb}=\"64\"\n");
	ck_assert_int_eq(report_of(&lost), TN_EXIT_DRIFT);
	ck_assert_str_eq(said(lost, "result"), "lost at boot");
	ck_assert_ptr_nonnull(strstr(said(lost, "overridden"), LATE ":1 sets it to 64"));
	box_remove(&b, LATE);
	/* written by another program */
	ck_assert_int_eq(tn_kernel_write(b.fs, READ_AHEAD, "256"), 0);
	ck_assert_int_eq(report_of(&gone), TN_EXIT_DRIFT);
	ck_assert_str_eq(said(gone, "result"), "drift");
}
END_TEST

/* A rule was added later and its file sorts before gputune's, as with lines of sysctl.d. */
START_TEST(a_rule_of_gputune_does_not_lower_a_higher_value)
{
	gt_auto(tn_plan) *plan = plan_of("block.read_ahead"), *next = NULL;
	gt_auto_json *report = NULL;

	ck_assert_int_eq(tn_apply(b.fs, plan, &(struct tn_apply_opts){.persist = true}, NULL, &err), 0);
	box_put(&b, RULES, "KERNEL==\"nvme*\", ATTR{queue/read_ahead_kb}=\"16384\"\n");
	ck_assert_int_eq(report_of(&report), TN_EXIT_DRIFT);
	ck_assert_str_eq(said(report, "result"), "lost at boot");
	ck_assert_ptr_nonnull(strstr(said(report, "overridden"), RULES ":1 sets 16384, but /etc/udev/rules.d/90-gputune.rules"));
	next = plan_of("block.read_ahead");
	ck_assert_str_eq(nvme(next)->wanted, "16384");
	ck_assert_int_eq(tn_apply(b.fs, next, &(struct tn_apply_opts){.persist = true}, NULL, &err), 0);
	expect(READ_AHEAD, "16384");
	ck_assert_int_eq(verify(), 0);
}
END_TEST

/* Another disk has the same name now: the size in gputune's rule does not apply to it. */
START_TEST(a_rule_for_a_replaced_disk_has_no_effect_at_boot)
{
	gt_auto(tn_plan) *plan = plan_of("block.read_ahead");
	gt_auto_json *report = NULL;

	ck_assert_int_eq(tn_apply(b.fs, plan, &(struct tn_apply_opts){.persist = true}, NULL, &err), 0);
	box_put(&b, "/sys/block/nvme0n1/size", "1000\n");
	ck_assert_int_eq(report_of(&report), TN_EXIT_DRIFT);
	ck_assert_str_eq(said(report, "result"), "lost at boot");
	ck_assert_ptr_nonnull(
		strstr(said(report, "overridden"), "no line in /etc/udev/rules.d/90-gputune.rules sets it any more"));
}
END_TEST

/* A file was added later and sorts before gputune's: gputune's file must not lower the value of a raise-only setting. */
START_TEST(a_file_of_gputune_does_not_lower_a_higher_value)
{
	static const struct {
		const char *key, *path, *ours, *theirs, *both;
		bool back; /* the other value is restored in one place */
	} further[] = {
		{"vm.max_map_count", "/proc/sys/vm/max_map_count", "262144", "1048576", "1048576"},
		{"vm.swappiness", SWAPPINESS, "10", "1", "1"},
		{"net.ipv4.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem", "4096 131072 67108864", "8192 131072 134217728",
		 "8192 131072 134217728"},
		{"net.ipv4.tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem", "4096 16384 67108864", "4096 65536 4194304",
		 "4096 65536 67108864", true},
	};

	for (size_t i = 0; i < 2 * GT_ARRAY_SIZE(further); i++) {
		const char *key = further[i / 2].key, *theirs = further[i / 2].theirs, *both = further[i / 2].both;
		gt_autofree char *line = gt_xasprintf("%s = %s\n", key, theirs), *ours = gt_xasprintf("%s = %s\n", key, both);
		gt_autofree char *said = gt_xasprintf("/usr/lib/sysctl.d/50-default.conf:1 sets %s, but", theirs);
		gt_autofree char *text = NULL, *kept = NULL;
		gt_auto_json *report = NULL;
		struct gt_strv only = {0};

		gt_strv_add(&only, key);
		apply(&(struct tn_plan_opts){.only = &only}, true);
		expect(further[i / 2].path, further[i / 2].ours);
		box_put(&b, "/usr/lib/sysctl.d/50-default.conf", line);
		if (i % 2) /* applied by the program that added it, or by the boot */
			ck_assert_int_eq(tn_kernel_write(b.fs, further[i / 2].path, theirs), 0);
		else
			ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/kernel/random/boot_id", "another-boot"), 0);
		ck_assert_int_eq(report_of(&report), TN_EXIT_DRIFT);
		ck_assert_str_eq(gt_json_get_str(report, "result", ""), i % 2 && further[i / 2].back ? "drift" : "lost at boot");
		text = gt_json_text(report);
		ck_assert_msg(strstr(text, said), "%s", text);
		apply(&(struct tn_plan_opts){.only = &only}, true);
		expect(further[i / 2].path, both);
		ck_assert_int_eq(gt_fs_read(b.fs, "/etc/sysctl.d/90-gputune.conf", &kept, NULL), 0);
		ck_assert_msg(strstr(kept, ours), "%s", kept);
		ck_assert_int_eq(verify(), 0);
		gt_strv_clear(&only);
		tear_down();
		set_up();
	}
}
END_TEST

/* The later nonzero value of a pair is in force and sets the other to 0. */
START_TEST(the_other_form_of_a_pair_decides_too)
{
	static const struct {
		const char *first, *then, *value, *by;
	} pairs[] = {
		{ "vm.dirty_ratio = 15\n", "vm.dirty_bytes = 1000000000\n", "0", "/etc/sysctl.d/20-b.conf:1" },
		{ "vm.dirty_bytes = 1000000000\n", "vm.dirty_ratio = 15\n", "15", "/etc/sysctl.d/20-b.conf:1" },
		{ "vm.dirty_bytes = 1000000000\n", "\n", "0", "/etc/sysctl.d/10-a.conf:1" },
		{ "vm.dirty_ratio = 15\n", "vm.dirty_bytes = 0\n", "15", "/etc/sysctl.d/10-a.conf:1" },
		{ "vm.dirty_bytes = 1000000000\n", "vm.dirty_ratio = 0\n", "0", "/etc/sysctl.d/10-a.conf:1" },
		{ "vm.dirty_bytes = 0\n", "\n", NULL, NULL },
		{ "vm.dirty_ratio = 15\nvm.dirty_bytes = 1000000000\n", "vm.dirty_ratio = 15\n", "0",
		  "/etc/sysctl.d/10-a.conf:2" }, /* the same value again: the first line keeps its place */
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(pairs); i++) {
		gt_auto(tn_plan) *plan = NULL;

		box_put(&b, "/etc/sysctl.d/10-a.conf", pairs[i].first);
		box_put(&b, "/etc/sysctl.d/20-b.conf", pairs[i].then);
		plan = plan_of("vm.dirty_ratio");
		ck_assert_msg(gt_streq(plan->item[0].at_boot, pairs[i].value) &&
				      gt_streq(plan->item[0].at_boot_by, pairs[i].by),
			      "case %zu: %s by %s", i, plan->item[0].at_boot ? plan->item[0].at_boot : "nothing",
			      plan->item[0].at_boot_by ? plan->item[0].at_boot_by : "nobody");
	}
}
END_TEST

/* A module's file may not exist yet when systemd-sysctl and systemd-tmpfiles write. */
START_TEST(files_of_late_modules_are_uncertain)
{
	gt_auto(tn_plan) *plan = plan_of("cpu.governor");

	ck_assert_ptr_null(plan->item[0].conflict);
	box_put(&b, "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "acpi-cpufreq\n");
	tn_plan_free(gt_take(plan));
	plan = plan_of("cpu.governor");
	ck_assert_ptr_null(plan->item[0].conflict); /* built into the kernel */
	box_put(&b, "/sys/module/acpi_cpufreq/initstate", "live\n");
	box_put(&b, "/etc/tmpfiles.d/site.conf", "w " GOVERNOR " - - - - ondemand\n");
	tn_plan_free(gt_take(plan));
	plan = plan_of("cpu.governor");
	ck_assert_ptr_nonnull(strstr(plan->item[0].conflict, "only after the module acpi_cpufreq is loaded"));
	ck_assert_str_eq(plan->item[0].at_boot, "ondemand");
	ck_assert_ptr_nonnull(strstr(plan->item[0].at_boot_may, "only after the module acpi_cpufreq is loaded"));
	box_put(&b, "/proc/sys/sunrpc/tcp_max_slot_table_entries", "64\n");
	box_put(&b, "/sys/module/sunrpc/initstate", "live\n");
	tn_plan_free(gt_take(plan));
	plan = plan_of("nfs.slots");
	ck_assert_ptr_nonnull(strstr(plan->item[0].conflict, "only after the module sunrpc is loaded"));
	box_put(&b, "/etc/modules-load.d/nfs.conf", "# early\n sunrpc \n");
	tn_plan_free(gt_take(plan));
	plan = plan_of("nfs.slots");
	ck_assert_ptr_null(plan->item[0].conflict);
}
END_TEST

TCase *tune_boot_case(void)
{
	TCase *tc = tcase_create("boot");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, a_udev_rule_decides, 0, (int)GT_ARRAY_SIZE(cases));
	tcase_add_test(tc, a_rule_overrides_gputune_only_if_it_is_later);
	tcase_add_test(tc, a_masked_file_of_rules_sets_nothing);
	tcase_add_test(tc, the_plan_names_the_rule_that_decides_the_boot);
	tcase_add_test(tc, tmpfiles_count_before_rules);
	tcase_add_test(tc, the_other_form_of_a_pair_decides_too);
	tcase_add_test(tc, files_of_late_modules_are_uncertain);
	tcase_add_test(tc, verify_names_the_overriding_rule);
	tcase_add_test(tc, a_rule_for_a_replaced_disk_has_no_effect_at_boot);
	tcase_add_test(tc, a_rule_of_gputune_does_not_lower_a_higher_value);
	tcase_add_test(tc, a_file_of_gputune_does_not_lower_a_higher_value);
	return tc;
}
