/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of a disk stays unchanged if the disk is missing, appears late or has another name after a boot. Nothing is reported
 * about the disk that now has its former name.
 */
#include <stdio.h>
#include <string.h>
#include "tests/unit/tune_stage.h"

#define RULES "/etc/udev/rules.d/90-gputune.rules"
#define SMALL "KERNEL==\"sda\", ATTR{size}==\"1000000000\", ATTR{queue/read_ahead_kb}=\"8192\"\n"
#define LARGE "KERNEL==\"nvme0n1\", ATTR{size}==\"3750748848\", ATTR{queue/read_ahead_kb}=\"4096\"\n"

static void put_ahead(const char *disk, const char *kib)
{
	gt_autofree char *path = gt_xasprintf("/sys/block/%s/queue/read_ahead_kb", disk);

	ck_assert_int_eq(tn_kernel_write(b.fs, path, kib), 0);
}

static void rename_disk(const char *from, const char *to)
{
	gt_autofree char *here = gt_xasprintf("%s/sys/block/%s", b.dir, from), *there = gt_xasprintf("%s/sys/block/%s", b.dir, to);

	ck_assert_int_eq(rename(here, there), 0);
}

static void hide(const char *disk, bool away)
{
	gt_autofree char *place = gt_xasprintf("%s/sys/block/%s", b.dir, disk), *other = gt_xasprintf("%s/away", b.dir);

	ck_assert_int_eq(away ? rename(place, other) : rename(other, place), 0);
}

static void apply_only(const char *knob, bool persist)
{
	struct gt_strv only = { 0 };

	gt_strv_add(&only, knob);
	apply(&(struct tn_plan_opts){ .only = &only }, persist);
	gt_strv_clear(&only);
}

static void set_up_disks(void)
{
	set_up();
	box_put(&b, "/sys/block/sda/size", "1000000000\n");
	box_put(&b, "/etc/sysctl.d/README", "");
	box_put(&b, "/etc/udev/rules.d/README", "");
	apply_only("block.read_ahead", true);
}

/* State after a boot: the rules have set the devices that they match, and all others have the kernel's defaults. */
static void next_boot(void)
{
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/kernel/random/boot_id", "another-boot"), 0);
}

static char *rules(void)
{
	char *text = NULL;

	ck_assert_int_eq(gt_fs_read(b.fs, RULES, &text, NULL), 0);
	return text;
}

static void expect_rule(const char *rule, bool there)
{
	gt_autofree char *text = rules();

	ck_assert_msg(!strstr(text, rule) == !there, "%s", text);
}

/*
 * Returns what verify (or revert) reports about the disk with this name. Disks that had the name before are reported as
 * missing.
 */
static void expect_said(const json_t *report, const char *disk, const char *result)
{
	const json_t *o;
	size_t i, n = 0;

	json_array_foreach(json_object_get(report, "values"), i, o) {
		const char *said = gt_json_get_str(o, "result", "");

		if (!gt_streq(gt_json_get_str(o, "instance", NULL), disk))
			continue;
		ck_assert_msg(!strcmp(said, result) || !strcmp(said, "n/a"), "%s", said);
		ck_assert_ptr_null(gt_json_get_str(o, "overridden", NULL));
		n += !strcmp(said, result);
	}
	ck_assert_uint_eq(n, 1);
}

static void expect_verified(const char *disk, const char *result)
{
	gt_auto_json *report = NULL;

	ck_assert_msg(tn_verify(b.fs, &report, &status, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(status, 0);
	expect_said(report, disk, result);
}

START_TEST(a_disk_that_is_away_keeps_its_rule)
{
	for (int boot = 0; boot < 2; boot++) {
		hide("sda", true);
		if (boot)
			next_boot();
		apply_only(boot ? "vm.swappiness" : "vm.max_map_count", true);
		expect_rule(SMALL, true);
		expect_rule(LARGE, true);
		expect_verified("sda", "n/a");
		expect_verified("nvme0n1", "ok");
		hide("sda", false);
		expect_verified("sda", "ok");
	}
}
END_TEST

START_TEST(names_that_moved_leave_the_rules_as_they_were)
{
	gt_auto_json *report = NULL;

	next_boot();
	rename_disk("sda", "sdb");
	rename_disk("nvme0n1", "sda");
	rename_disk("sdb", "nvme0n1");
	put_ahead("sda", "128");
	put_ahead("nvme0n1", "128");
	expect_verified("sda", "n/a");
	expect_verified("nvme0n1", "n/a");
	apply_only("vm.swappiness", true);
	expect_rule(SMALL, true);
	expect_rule(LARGE, true);
	ck_assert_int_eq(tn_revert(b.fs, &report, &status, &err), 0);
	ck_assert_int_eq(status, 0);
	expect_said(report, "sda", "no longer exists");
}
END_TEST

/* Each value is applied again to its device under the present name. */
START_TEST(names_that_moved_get_rules_of_their_own)
{
	next_boot();
	rename_disk("sda", "sdb");
	rename_disk("nvme0n1", "sda");
	put_ahead("sda", "128");
	put_ahead("sdb", "128");
	apply_only("block.read_ahead", true);
	expect_rule("KERNEL==\"sda\", ATTR{size}==\"3750748848\", ATTR{queue/read_ahead_kb}=\"4096\"\n", true);
	expect_rule("KERNEL==\"sdb\", ATTR{size}==\"1000000000\", ATTR{queue/read_ahead_kb}=\"8192\"\n", true);
	expect_rule(SMALL, true); /* for the way back to the old name */
	expect_verified("sda", "ok");
	expect_verified("sdb", "ok");
	revert(0);
	expect("/sys/block/sda/queue/read_ahead_kb", "128");
}
END_TEST

/* Another program set this value on the disk that now has the name; no rule exists for that disk yet. */
START_TEST(a_disk_with_another_disks_name_stays_persisted)
{
	next_boot();
	hide("sda", true);
	rename_disk("nvme0n1", "sda");
	apply_only("block.read_ahead", true);
	expect_rule("KERNEL==\"sda\", ATTR{size}==\"3750748848\", ATTR{queue/read_ahead_kb}=\"4096\"\n", true);
}
END_TEST

START_TEST(a_disk_that_has_grown_gets_a_new_rule)
{
	box_put(&b, "/sys/block/sda/size", "2000000000\n");
	apply_only("block.read_ahead", true);
	expect_rule("KERNEL==\"sda\", ATTR{size}==\"2000000000\", ATTR{queue/read_ahead_kb}=\"8192\"\n", true);
	expect_rule(SMALL, false);
	revert(0);
	expect("/sys/block/sda/queue/read_ahead_kb", "128");
}
END_TEST

static void put_volume(const char *name, const char *uuid)
{
	static const char *const file[] = { "size", "dm/uuid", "queue/read_ahead_kb" };
	const char *const text[] = { "1000000", uuid, "128" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(file); i++) {
		gt_autofree char *path = gt_xasprintf("/sys/block/%s/%s", name, file[i]), *line = gt_xasprintf("%s\n", text[i]);

		box_put(&b, path, line);
	}
}

static size_t times(const char *text, const char *word)
{
	size_t n = 0;

	while ((text = strstr(text, word))) {
		text++;
		n++;
	}
	return n;
}

/* A volume has a persistent name and is found under any device number. */
START_TEST(volumes_are_found_by_their_own_names)
{
	gt_autofree char *text = NULL;

	put_volume("dm-0", "LVM-one");
	put_volume("dm-1", "LVM-two");
	apply_only("block.read_ahead", true);
	next_boot();
	rename_disk("dm-0", "dm-2");
	rename_disk("dm-1", "dm-0");
	rename_disk("dm-2", "dm-1");
	expect_verified("dm-0", "ok");
	expect_verified("dm-1", "ok");
	put_ahead("dm-1", "128"); /* LVM-one */
	apply_only("block.read_ahead", true);
	text = rules();
	ck_assert_uint_eq(times(text, "LVM-one"), 1);
	ck_assert_uint_eq(times(text, "LVM-two"), 1);
	expect_verified("dm-0", "ok");
	expect_verified("dm-1", "ok");
}
END_TEST

TCase *tune_moved_case(void)
{
	TCase *tc = tcase_create("moved");

	tcase_add_checked_fixture(tc, set_up_disks, tear_down);
	tcase_add_test(tc, a_disk_that_is_away_keeps_its_rule);
	tcase_add_test(tc, names_that_moved_leave_the_rules_as_they_were);
	tcase_add_test(tc, names_that_moved_get_rules_of_their_own);
	tcase_add_test(tc, a_disk_with_another_disks_name_stays_persisted);
	tcase_add_test(tc, a_disk_that_has_grown_gets_a_new_rule);
	tcase_add_test(tc, volumes_are_found_by_their_own_names);
	return tc;
}
