/* SPDX-License-Identifier: Apache-2.0 */
/* Tunables of devices: disks, network cards and idle states, on a captured host with such devices added. */
#include <string.h>
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

START_TEST(the_watchdog_is_not_switched_off)
{
	static const struct {
		const char *host, *value;
		enum tn_status status;
	} cases[] = {
		{ "server-8gpu", "1", TN_ALREADY },
		{ "server-8gpu", "0", TN_ADVICE },
		{ "arm-gh200", "1", TN_ALREADY },
		{ "arm-gh200", "0", TN_NOT_APPLICABLE },
		{ "vm-2cpu", "0", TN_NOT_APPLICABLE },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(tn_plan) *plan = NULL;
		const struct tn_item *it;
		struct box one;

		box_open(&one, cases[i].host);
		box_put(&one, "/proc/sys/kernel/nmi_watchdog", cases[i].value);
		plan = box_plan(&one); /* plan with all optional tunables */
		it = box_item(plan, "kernel.nmi_watchdog", NULL);
		ck_assert_msg(it->status == cases[i].status, "%s with %s: %s", cases[i].host, cases[i].value, it->reason);
		box_close(&one);
	}
}
END_TEST

/* The same number has another meaning on another device. */
START_TEST(dirty_limits_are_explained_in_seconds_of_disk_time)
{
	static const struct {
		const char *name, *current, *says; /* name: of all disks */
		int64_t rotational;
	} cases[] = {
		{ "nvme0n1", "0", "6 s, 20 percent of memory up to 37 s (NVMe disk; assuming 3 GB/s)", 0 },
		{ "sda", "0", "34 s, 20 percent of memory up to 220 s (SATA SSD; assuming 500 MB/s)", 0 },
		{ "sda", "0", "86 s, 20 percent of memory up to 550 s (spinning disk; assuming 200 MB/s)", 1 },
		/* the kernel reports a virtual disk as rotational, whatever its backing store */
		{ "vda", "0", "34 s, 20 percent of memory up to 220 s (disk type unknown; assuming 500 MB/s)", 1 },
		{ NULL, "0", "34 s, 20 percent of memory up to 220 s (disk type unknown; assuming 500 MB/s)", 1 },
		{ "sda", "99999999999", "86 s (spinning disk; assuming 200 MB/s)", 1 },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(pr_host) *h = NULL;
		gt_auto(tn_plan) *plan = NULL;
		const char *said;
		struct box big;

		box_open(&big, "cpu-server-512g");
		box_put(&big, "/proc/sys/vm/dirty_bytes", cases[i].current);
		if (strcmp(cases[i].current, "0"))
			box_put(&big, "/proc/sys/vm/dirty_ratio", "0");
		ck_assert_int_eq(pr_host_discover(big.fs, &(struct pr_discover_opts){ .no_nvml = true }, &h, NULL), 0);
		ck_assert_uint_gt(h->n_block, 0);
		h->n_block = cases[i].name ? h->n_block : 0;
		for (size_t k = 0; k < h->n_block; k++) {
			h->block[k].name = cases[i].name;
			h->block[k].rotational = (struct pr_num){ PR_PRESENT, cases[i].rotational };
		}
		ck_assert_int_eq(tn_plan_make(big.fs, h, NULL, &plan, NULL), 0);
		ck_assert_str_eq(box_item(plan, "vm.dirty_bytes", NULL)->wanted, "17179869184");
		said = box_item(plan, "vm.dirty_bytes", NULL)->reason;
		ck_assert_msg(gt_starts_with(said, "writing 16 GiB takes ") && !strcmp(said + 21, cases[i].says), "%s", said);
		box_close(&big);
	}
}
END_TEST

/*
 * A file system on LVM or RAID reads through the volume, so the volume is set. A disk that is completely part of it is not set.
 */
START_TEST(a_volume_is_read_ahead_and_not_the_disks_under_it)
{
	gt_auto(tn_plan) *plan = NULL;
	gt_autofree char *text = NULL, *before = NULL, *after = NULL;
	gt_auto_json *report = NULL;
	struct gt_err err = { 0 };
	int status;

	box_put(&b, "/etc/sysctl.d/README", "");
	box_put(&b, "/etc/tmpfiles.d/README", "");
	box_put(&b, "/etc/udev/rules.d/README", "");
	box_put(&b, "/sys/block/nvme0n1/nvme0n1p1/partition", "1\n");
	box_put(&b, "/sys/block/nvme0n1/nvme0n1p1/holders/dm-0", "");
	box_put(&b, "/sys/block/nvme0n1/nvme0n1p2/partition", "2\n"); /* read directly */
	box_put(&b, "/sys/block/dm-0/size", "1000000\n");
	box_put(&b, "/sys/block/dm-0/dm/uuid", "LVM-one\n");
	box_put(&b, "/sys/block/dm-0/queue/rotational", "0\n");
	box_put(&b, "/sys/block/dm-0/queue/read_ahead_kb", "128\n");
	box_put(&b, "/sys/block/dm-0/uevent", "DEVTYPE=disk\n");
	box_link(&b, "/sys/block/dm-0/subsystem", "../../class/block");
	box_put(&b, "/sys/block/dm-1/size", "1000000\n");
	box_put(&b, "/sys/block/dm-1/queue/read_ahead_kb", "128\n");
	box_put(&b, "/sys/block/dm-1/holders/md0", "");
	box_put(&b, "/sys/block/md0/size", "4000\n");
	box_put(&b, "/sys/block/md0/queue/rotational", "1\n");
	box_put(&b, "/sys/block/md0/queue/read_ahead_kb", "128\n");
	box_link(&b, "/sys/block/md0/subsystem", "../../class/block");
	plan = box_plan(&b);
	ck_assert_int_eq(box_item(plan, "block.read_ahead", "nvme0n1")->status, TN_CHANGE);
	ck_assert_str_eq(box_item(plan, "block.read_ahead", "dm-0")->wanted, "4096");
	ck_assert_str_eq(box_item(plan, "block.read_ahead", "md0")->wanted, "8192");
	for (size_t i = 0; i < plan->n_item; i++)
		ck_assert(!gt_streq(plan->item[i].instance, "dm-1"));
	tn_plan_free(gt_take(plan));
	box_put(&b, "/sys/block/nvme0n1/nvme0n1p2/holders/dm-0", "");
	plan = box_plan(&b);
	ck_assert_int_eq(box_item(plan, "block.read_ahead", "nvme0n1")->status, TN_NOT_APPLICABLE);
	ck_assert_ptr_nonnull(strstr(box_item(plan, "block.read_ahead", "nvme0n1")->reason, "dm-0"));
	box_remove(&b, "/sys/block/nvme0n1/nvme0n1p2/holders/dm-0");
	before = box_picture(&b);
	tn_plan_free(gt_take(plan));
	plan = box_plan(&b);
	ck_assert_msg(tn_apply(b.fs, plan, &(struct tn_apply_opts){ .persist = true }, NULL, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(gt_fs_read(b.fs, "/etc/udev/rules.d/90-gputune.rules", &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "KERNEL==\"dm-*\", ATTR{dm/uuid}==\"LVM-one\", ATTR{queue/read_ahead_kb}=\"4096\"\n"));
	ck_assert_ptr_nonnull(strstr(text, "KERNEL==\"md0\", ATTR{size}==\"4000\", ATTR{queue/read_ahead_kb}=\"8192\"\n"));
	ck_assert_int_eq(tn_verify(b.fs, &report, &status, &err), 0);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(tn_revert(b.fs, NULL, &status, &err), 0);
	after = box_picture(&b);
	ck_assert_str_eq(after, before);
}
END_TEST

/*
 * After a boot, interrupts have new numbers. Entries with the old numbers end, even if a file persists the other values.
 */
START_TEST(values_that_no_file_can_persist_end_with_the_boot)
{
	gt_auto(tn_plan) *plan = NULL;
	gt_auto_json *report = NULL, *reverted = NULL;
	gt_autofree char *text = NULL;
	struct gt_err err = { 0 };
	int status;

	box_add_port(&b);
	box_put(&b, "/etc/sysctl.d/README", "");
	box_put(&b, "/etc/tmpfiles.d/README", "");
	box_put(&b, "/etc/udev/rules.d/README", "");
	plan = box_plan(&b);
	ck_assert_msg(tn_apply(b.fs, plan, &(struct tn_apply_opts){ .persist = true }, NULL, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/kernel/random/boot_id", "another-boot"), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/irq/200/smp_affinity_list", "0-15"), 0);
	box_remove(&b, "/proc/irq/201/smp_affinity_list");
	ck_assert_int_eq(tn_verify(b.fs, &report, &status, &err), 0);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(tn_revert(b.fs, &reverted, &status, &err), 0);
	ck_assert_int_eq(status, TN_EXIT_PENDING);
	text = gt_json_text(reverted);
	ck_assert_ptr_null(strstr(text, "irq.affinity"));
}
END_TEST

START_TEST(buffers_queues_and_frames_are_reported_where_they_fall_short)
{
	gt_auto(tn_plan) *plan = NULL, *fine = NULL;

	box_add_port(&b);
	plan = box_plan(&b);
	ck_assert_ptr_nonnull(strstr(box_item(plan, "nic.rings", NULL)->reason, "1024 of 8192"));
	ck_assert_ptr_nonnull(strstr(box_item(plan, "nic.rings", NULL)->remedy, "ethtool -G eth9 rx 8192"));
	ck_assert_ptr_nonnull(strstr(box_item(plan, "nic.queues", NULL)->remedy, "ethtool -L eth9 combined 16")); /* of 16 cores */
	ck_assert_int_eq(box_item(plan, "nic.mtu", NULL)->status, TN_ADVICE);
	box_put(&b, "/sys/class/net/eth9/statistics/rx_missed_errors", "0\n");
	box_put(&b, "/sys/class/net/eth9/mtu", "9000\n");
	box_put(&b, "/.facts/ethtool", "eth9 ring 1024 of 8192 queues 16 of 63\n");
	fine = box_plan(&b);
	ck_assert_int_eq(box_item(fine, "nic.rings", NULL)->status, TN_ALREADY);
	ck_assert_int_eq(box_item(fine, "nic.queues", NULL)->status, TN_ALREADY);
	ck_assert_int_eq(box_item(fine, "nic.mtu", NULL)->status, TN_ALREADY);
}
END_TEST

START_TEST(options_of_the_driver_that_do_harm_are_reported)
{
	static const struct {
		const char *params, *says;
	} cases[] = {
		{ "EnablePCIERelaxedOrderingMode: 0\nRegistryDwords: \"\"\nEnableStreamMemOPs: 0\n", NULL },
		{ "ResmanDebugLevel: 4294967295\nEnablePCIERelaxedOrderingMode: 1\n", "relaxed ordering" },
		{ "RegistryDwords: \"ForceP2P=17;Other=1\"\n", "can corrupt data" },
		{ "RegistryDwords: \"Other=1\"\n", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(tn_plan) *plan = NULL;
		const struct tn_item *it;

		box_put(&b, "/proc/driver/nvidia/params", cases[i].params);
		plan = box_plan(&b);
		it = box_item(plan, "gpu.driver_options", NULL);
		ck_assert_int_eq(it->status, cases[i].says ? TN_ADVICE : TN_ALREADY);
		ck_assert(!cases[i].says || strstr(it->reason, cases[i].says));
	}
}
END_TEST

/* ---- idle states ---------------------------------------------------------------------------------------------------- */

START_TEST(idle_states_that_take_long_to_leave_are_the_only_ones_closed)
{
	static const struct {
		int us[5]; /* ends with -1 */
		const char *now;
		enum tn_status status;
		const char *want;
	} cases[] = {
		{ { 0, 2, 10, 133, -1 }, "0", TN_CHANGE, "10" },
		{ { 0, 1, -1 }, "0", TN_NOT_APPLICABLE, NULL },
		{ { 0, 800, -1 }, "0", TN_NOT_APPLICABLE, NULL }, /* would only spin */
		{ { 0, 2, 10, 133, -1 }, "n/a", TN_ALREADY, NULL },
		{ { 0, 2, 10, 133, -1 }, "5", TN_ALREADY, NULL },
		{ { 0, 2, 10, 133, -1 }, "99", TN_CHANGE, "10" },
		{ { -1 }, "0", TN_NOT_APPLICABLE, NULL },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(tn_plan) *plan = NULL;
		const struct tn_item *it;

		tear_down();
		set_up();
		for (int cpu = 0; cpu < 64; cpu++) {
			gt_autofree char *path = gt_xasprintf("/sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us", cpu);

			box_put(&b, path, cases[i].now);
		}
		for (int s = 0; cases[i].us[s] >= 0; s++) {
			gt_autofree char *path = gt_xasprintf("/sys/devices/system/cpu/cpu0/cpuidle/state%d/latency", s),
					 *us = gt_xasprintf("%d\n", cases[i].us[s]);

			box_put(&b, path, us);
		}
		plan = box_plan(&b);
		it = box_item(plan, "cpu.idle_latency", "cpu63");
		ck_assert_msg(it->status == cases[i].status, "%zu: %s", i, it->reason);
		ck_assert(!cases[i].want || gt_streq(it->wanted, cases[i].want));
	}
}
END_TEST

START_TEST(huge_pages_in_dev_shm_follow_from_its_own_mount)
{
	static const struct {
		const char *mounts, *policy;
		enum tn_status status;
	} cases[] = {
		{ "tmpfs /dev/shm tmpfs rw,nosuid,huge=always 0 0\n", "always within_size advise [never] deny force\n", TN_ADVICE },
		{ "tmpfs /dev/shm tmpfs rw,huge=always 0 0\n", "always within_size advise never [deny] force\n", TN_ALREADY },
		{ "tmpfs /dev/shm tmpfs rw,huge=within_size 0 0\n", "[always] within_size advise never deny force\n", TN_ALREADY },
		{ "tmpfs /run/x tmpfs rw,huge=always 0 0\n", "always within_size advise [never] deny force\n", TN_ALREADY },
		{ "tmpfs /dev/shm tmpfs huge=always 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n",
		  "always within_size advise [never] deny force\n", TN_ALREADY },
		{ "tmpfs /dev/shm\n", "always within_size advise never deny [force]\n", TN_ADVICE },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(tn_plan) *plan = NULL;

		box_put(&b, "/proc/self/mounts", cases[i].mounts);
		box_put(&b, "/sys/kernel/mm/transparent_hugepage/shmem_enabled", cases[i].policy);
		plan = box_plan(&b);
		ck_assert_msg(box_item(plan, "thp.shmem", NULL)->status == cases[i].status, "%zu: %s", i,
			      box_item(plan, "thp.shmem", NULL)->reason);
	}
}
END_TEST

/*
 * ---- values that a profile names, and values that the kernel would refuse --------------------------------------------
 */

/* A value of the profile is applied even if gputune would not change the setting by itself. */
START_TEST(a_profile_sets_a_value_that_has_no_desired_one)
{
	static const struct {
		const char *knob, *instance, *value, *path, *current;
	} cases[] = {
		{ "ksm.run", NULL, "1", "/sys/kernel/mm/ksm/run", "0\n" },
		{ "ksm.run", NULL, "2", "/sys/kernel/mm/ksm/run", "0\n" },
		{ "pcie.aspm", NULL, "powersave", "/sys/module/pcie_aspm/parameters/policy", "[default] performance powersave\n" },
		{ "cpu.platform_profile", NULL, "quiet", "/sys/firmware/acpi/platform_profile", "balanced\n" },
		{ "cpu.idle_latency", "cpu0", "20", "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us", "5\n" },
		{ "cpu.boost", NULL, "0", "/sys/devices/system/cpu/cpufreq/boost", "1\n" },
		{ "thp.enabled", NULL, "never", "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n" },
		{ "vm.dirty_bytes", NULL, "1073741824", "/proc/sys/vm/dirty_ratio", "1\n" }, /* 1 %: 10 GiB */
	};

	box_put(&b, "/sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "10\n");
	box_put(&b, "/sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "133\n");
	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_autofree char *text = gt_xasprintf("[knobs]\n%s = %s\n", cases[i].knob, cases[i].value);
		gt_auto(tn_plan) *plan = NULL;
		const struct tn_item *it;

		box_put(&b, "/etc/gputune/profiles/site.conf", text);
		box_put(&b, cases[i].path, cases[i].current);
		ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .profile = "site" }, &plan, NULL), 0);
		it = box_item(plan, cases[i].knob, cases[i].instance);
		ck_assert_msg(it->status == TN_CHANGE && gt_streq(it->wanted, cases[i].value) &&
				      gt_starts_with(it->reason, "set by the profile"),
			      "%s: %s", cases[i].knob, it->reason);
	}
}
END_TEST

/*
 * The kernel refuses one value and limits the other. Without a test before the transaction, all of it would be rolled
 * back.
 */
START_TEST(unavailable_values_are_not_desired)
{
	static const struct {
		const char *knob, *path, *current, *beside, *text, *asked;
		enum tn_status status;
		const char *wanted;
	} cases[] = {
		{ "cpu.platform_profile", "/sys/firmware/acpi/platform_profile", "balanced\n",
		  "/sys/firmware/acpi/platform_profile_choices", "low-power balanced\n", NULL, TN_NOT_APPLICABLE, NULL },
		{ "cpu.platform_profile", "/sys/firmware/acpi/platform_profile", "balanced\n",
		  "/sys/firmware/acpi/platform_profile_choices", "low-power balanced\n", "low-power", TN_CHANGE, "low-power" },
		{ "cpu.platform_profile", "/sys/firmware/acpi/platform_profile", "balanced\n",
		  "/sys/firmware/acpi/platform_profile_choices", "balanced performance\n", NULL, TN_CHANGE, "performance" },
		{ "cpu.epp", "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference", "balance_performance\n",
		  "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_available_preferences", "default power\n", NULL,
		  TN_NOT_APPLICABLE, NULL },
		{ "cpu.min_perf", "/sys/devices/system/cpu/intel_pstate/min_perf_pct", "20\n",
		  "/sys/devices/system/cpu/intel_pstate/max_perf_pct", "60\n", NULL, TN_CHANGE, "60" },
		{ "cpu.min_perf", "/sys/devices/system/cpu/intel_pstate/min_perf_pct", "20\n",
		  "/sys/devices/system/cpu/intel_pstate/max_perf_pct", "60\n", "80", TN_BLOCKED, NULL },
		{ "cpu.min_perf", "/sys/devices/system/cpu/intel_pstate/min_perf_pct", "20\n",
		  "/sys/devices/system/cpu/intel_pstate/max_perf_pct", "100\n", NULL, TN_CHANGE, "100" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_autofree char *text = gt_xasprintf("[knobs]\n%s = %s\n", cases[i].knob, cases[i].asked ? cases[i].asked : "on");
		gt_auto(tn_plan) *plan = NULL;
		const struct tn_item *it;

		box_put(&b, "/etc/gputune/profiles/site.conf", text);
		box_put(&b, cases[i].path, cases[i].current);
		box_put(&b, cases[i].beside, cases[i].text);
		ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .profile = "site" }, &plan, NULL), 0);
		it = box_item(plan, cases[i].knob, NULL);
		ck_assert_msg(it->status == cases[i].status && gt_streq(it->wanted, cases[i].wanted), "%zu: %s", i, it->reason);
	}
}
END_TEST

START_TEST(long_disk_timeouts_are_advised_on_ec2_only)
{
	static const struct {
		const char *vendor, *seconds;
		enum tn_status status;
	} cases[] = { { "QEMU", "30", TN_NOT_APPLICABLE },
		      { "Amazon EC2", "30", TN_ADVICE },
		      { "Amazon EC2", "4294967294", TN_ADVICE },
		      { "Amazon EC2", "4294967295", TN_ALREADY } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(tn_plan) *plan = NULL;

		box_put(&b, "/sys/class/dmi/id/sys_vendor", cases[i].vendor);
		box_put(&b, "/sys/module/nvme_core/parameters/io_timeout", cases[i].seconds);
		plan = box_plan(&b);
		ck_assert_int_eq(box_item(plan, "nvme.io_timeout", NULL)->status, cases[i].status);
	}
}
END_TEST

START_TEST(debugging_lines_of_nccl_conf_are_reported)
{
	gt_auto(tn_plan) *bad = NULL, *good = NULL;

	box_put(&b, "/etc/nccl.conf", "# ours\nNCCL_SOCKET_IFNAME=eth0\n NCCL_DEBUG = TRACE \n");
	bad = box_plan(&b);
	ck_assert_int_eq(box_item(bad, "nccl.conf", NULL)->status, TN_ADVICE);
	ck_assert_ptr_nonnull(strstr(box_item(bad, "nccl.conf", NULL)->reason, "line 3 of /etc/nccl.conf sets NCCL_DEBUG=TRACE"));
	box_put(&b, "/etc/nccl.conf", "#NCCL_DEBUG=TRACE\nNCCL_DEBUG=WARN\n\n=\n");
	good = box_plan(&b);
	ck_assert_int_eq(box_item(good, "nccl.conf", NULL)->status, TN_ALREADY);
}
END_TEST

TCase *tune_device_case(void)
{
	TCase *t = tcase_create("devices");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, the_watchdog_is_not_switched_off);
	tcase_add_test(t, dirty_limits_are_explained_in_seconds_of_disk_time);
	tcase_add_test(t, a_volume_is_read_ahead_and_not_the_disks_under_it);
	tcase_add_test(t, values_that_no_file_can_persist_end_with_the_boot);
	tcase_add_test(t, buffers_queues_and_frames_are_reported_where_they_fall_short);
	tcase_add_test(t, options_of_the_driver_that_do_harm_are_reported);
	tcase_add_test(t, idle_states_that_take_long_to_leave_are_the_only_ones_closed);
	tcase_add_test(t, huge_pages_in_dev_shm_follow_from_its_own_mount);
	tcase_add_test(t, a_profile_sets_a_value_that_has_no_desired_one);
	tcase_add_test(t, unavailable_values_are_not_desired);
	tcase_add_test(t, long_disk_timeouts_are_advised_on_ec2_only);
	tcase_add_test(t, debugging_lines_of_nccl_conf_are_reported);
	return t;
}
