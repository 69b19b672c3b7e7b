/* SPDX-License-Identifier: Apache-2.0 */
/* Advice: for each check a host with the problem, one without it, and one whose source is unreadable. */
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "tests/unit/check_probe.h"

#define MEMORY	"file /proc/meminfo\n\tMemTotal:       16777216 kB\n\tHugepagesize:       2048 kB\n"
#define X86_64	"file /proc/sys/kernel/arch\n\tx86_64\nfile /etc/os-release\n\tID=debian\n"
#define PORT	"dir /sys/class/net/eth9/device\nfile /sys/class/net/eth9/speed\n\t100000\n"
#define MISSED	"/sys/class/net/eth9/statistics/rx_missed_errors"
#define VENDOR	"/sys/class/dmi/id/sys_vendor"
#define CLOUD_PORTS(FIRST, SECOND) PORT "link /sys/class/net/eth9/device/driver /sys/bus/virtio/drivers/" FIRST "\n" \
		"dir /sys/class/net/eth8/device\nlink /sys/class/net/eth8/device/driver /sys/bus/pci/drivers/" SECOND "\n"
#define EC2	"file /sys/class/dmi/id/sys_vendor\n\tAmazon EC2\n"
#define LIMIT	"Max open files            1024                 "
#define AMD	"/sys/bus/pci/devices/0000:11:00.0"
#define MI300X	"file " AMD "/vendor\n\t0x1002\nfile " AMD "/device\n\t0x74a1\nfile " AMD "/class\n\t0x120000\n" \
		"link " AMD "/driver /sys/bus/pci/drivers/amdgpu\n"
#define KFD	"file /sys/class/kfd/kfd/topology/nodes/2/properties\n\tgfx_target_version 90402\n\tlocation_id 4352\n\tdomain 0\n"
#define NODES	"file /sys/devices/system/node/node0/cpulist\n\t0\nfile /sys/devices/system/node/node1/cpulist\n\t1\n" \
		"file /sys/devices/system/node/online\n\t0-1\n"
#define THP	"/sys/kernel/mm/transparent_hugepage/shmem_enabled"

static const struct row {
	const char *check, *rest;  /* rest: further entries of the host */
	const char *path;	   /* the source */
	const char *fires, *fine;  /* its text on a host with the problem, and without it */
	const char *what, *remedy; /* parts of the finding */
	enum pr_result denied;	   /* the result if the source is unreadable; 0: unknown */
} rows[] = {
	{ "vm.overcommit-memory", X86_64, "/proc/sys/vm/overcommit_memory", "2", "1", "CUDA", "sysctl -w vm.overcommit_memory=0" },
	{ "vm.nr-hugepages", X86_64 MEMORY, "/proc/sys/vm/nr_hugepages", "512", "0", "512 pages of 2.0 MiB (1.0 GiB)",
	  "sysctl -w vm.nr_hugepages=0" },
	{ "thp.shmem", X86_64, THP, "always within_size advise never deny [force]", "always within_size advise [never] deny force",
	  "2 MiB of /dev/shm", "echo never > " THP },
	{ "thp.shmem", X86_64 "file /.facts/shm_huge\n\talways\n", THP, "[always] within_size advise never deny force",
	  "always within_size advise never [deny] force", "huge=always", "remount,huge=never" },
	{ "kernel.shmmax", X86_64 MEMORY, "/proc/sys/kernel/shmmax", "1073741824", "18446744073692774399", "smaller than half",
	  "sysctl -w kernel.shmmax=18446744073692774399" },
	{ "kernel.rt-runtime", X86_64, "/proc/sys/kernel/sched_rt_runtime_us", "-1", "950000", "stops the whole host",
	  "sysctl -w kernel.sched_rt_runtime_us=950000" },
	{ "kernel.nmi-watchdog", X86_64, "/proc/sys/kernel/nmi_watchdog", "0", "1", "is not reported",
	  "sysctl -w kernel.nmi_watchdog=1" },
	{ "net.rmem-default", X86_64, "/proc/sys/net/core/rmem_default", "4194305", "4194304", "4194305 bytes",
	  "sysctl -w net.core.rmem_default=212992" },
	{ "net.busy-read", X86_64, "/proc/sys/net/core/busy_read", "50", "0", "50 us", "sysctl -w net.core.busy_read=0" },
	{ "net.tcp-window", X86_64, "/proc/sys/net/ipv4/tcp_window_scaling", "0", "1", "64 KiB",
	  "sysctl -w net.ipv4.tcp_window_scaling=1" },
	{ "net.tcp-timestamps", X86_64, "/proc/sys/net/ipv4/tcp_timestamps", "0", "1", "old packets",
	  "sysctl -w net.ipv4.tcp_timestamps=1" },
	{ "limits.nofile", X86_64, "/proc/self/limits", LIMIT "65535 files", LIMIT "65536 files",
	  "1024 files, and raise that to 65535:", "limits.d/90-files.conf" },
	{ "limits.nofile", X86_64, "/proc/self/limits", LIMIT "1024 files", LIMIT "unlimited files", "1024 files:",
	  "limits.d/90-files.conf" },
	{ "nic.rings", X86_64 PORT "file /.facts/ethtool\n\teth9 ring 512 of 4096 queues 1 of 63\n", MISSED, "7", "0",
	  "eth9 dropped 7 frames", "ethtool -G eth9 rx 4096" },
	{ "nic.queues", X86_64 PORT, "/.facts/ethtool", "eth9 ring 512 of 4096 queues 8 of 63",
	  "eth9 ring 512 of 4096 queues 1 of 63", "eth9 has 8 queues", "ethtool -L eth9 combined 1", .denied = PR_SKIP },
	{ "nic.coalescing", X86_64 PORT "link /sys/class/net/eth9/device/driver /sys/bus/pci/drivers/ena\n", "/.facts/ethtool",
	  "eth9 adaptive-rx 0 usecs 0", "eth9 adaptive-rx 1 usecs 0", "adaptive-rx off, rx-usecs 0",
	  "ethtool -C eth9 adaptive-rx on", .denied = PR_SKIP },
	{ "nic.coalescing", X86_64 PORT "link /sys/class/net/eth9/device/driver /sys/bus/pci/drivers/ena\n", "/.facts/ethtool",
	  "eth9 ring 512 of 4096 queues 1 of 63\neth9 adaptive-rx 0 usecs 0", "eth9 adaptive-rx 0 usecs 64", "interrupts a CPU",
	  "90-moderation.rules", .denied = PR_SKIP },
	{ "nic.mtu", X86_64 PORT, "/sys/class/net/eth9/mtu", "1500", "9000", "frames of 1500 bytes", "ip link set eth9 mtu 9000" },
	{ "nic.cloud", X86_64 CLOUD_PORTS("virtio_net", "mlx5_core"), VENDOR, "Google", "Microsoft Corporation",
	  "the driver virtio_net", "nic-type=GVNIC" },
	{ "nic.cloud", X86_64 CLOUD_PORTS("hv_netvsc", "gve"), VENDOR, "Microsoft Corporation", "Google",
	  "no port with accelerated", "--accelerated-networking true" },
	{ "nvme.io-timeout", X86_64 EC2, "/sys/module/nvme_core/parameters/io_timeout", "30", "4294967295", "more than 30 s",
	  "io_timeout=4294967295" },
	{ "gpu.driver-options", X86_64, "/proc/driver/nvidia/params", "EnableStreamMemOPs: 1\nRegistryDwords: \"ForceP2P=1\"",
	  "EnableStreamMemOPs: 0", "unsafe; NVreg_RegistryDwords", "grep -rl NVreg_EnableStreamMemOPs" },
	{ "nccl.conf", X86_64, "/etc/nccl.conf", "# NCCL_DEBUG=INFO\n NCCL_DEBUG = INFO", "NCCL_DEBUG=WARN",
	  "line 2 of /etc/nccl.conf sets NCCL_DEBUG=INFO", "sed -i 2d /etc/nccl.conf" },
	{ "host.numa-balancing", X86_64 MI300X NODES KFD, "/proc/sys/kernel/numa_balancing", "1", "0", "RCCL's speed varies",
	  "sysctl -w kernel.numa_balancing=0" },
	{ "boot.isolcpus", X86_64, "/proc/cmdline", "quiet isolcpus=2-31", "quiet noisolcpus=1", "isolcpus=2-31",
	  "Remove isolcpus=2-31 from" },
	{ "boot.idle", X86_64 "file /etc/default/grub\n\t\n\tGRUB_CMDLINE_LINUX=\"idle=poll\"\n", "/proc/cmdline", "idle=poll",
	  "idle=poll idle=halt", "spins", "Remove idle=poll from /etc/default/grub:2. Then:\n  update-grub; reboot" },
	{ "boot.preempt", X86_64, "/proc/cmdline", "preempt=none preempt=full", "preempt=none", "preempt=full", "preempt=full" },
	{ "boot.init-on-free", X86_64, "/proc/cmdline", "init_on_free=1", "init_on_free=0", "clears every page", "init_on_free=1" },
};

/* Returns the host of a row with this entry as source; NULL: no entry. */
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
	ck_assert_msg(unknown.result == (r->denied ? r->denied : PR_NOT_KNOWN), "%s: %s: %s", r->check,
		      pr_result_name(unknown.result), unknown.what);
	ck_assert_msg(skip.result == PR_SKIP, "%s: %s: %s", r->check, pr_result_name(skip.result), skip.what);
	ck_assert_int_eq(with, without); /* advice does not change the verdict */
}
END_TEST

/* A value that the kernel cannot print. */
START_TEST(a_broken_setting_is_unknown)
{
	const struct row *r = &rows[_i];
	gt_auto(gt_fsroot) *fs = host_of(r, "file", "what");
	int ignored;

	if (gt_starts_with(r->path, "/proc/sys/") || !strcmp(r->check, "thp.shmem"))
		ck_assert_int_eq(judge(fs, r->check, &ignored).result, PR_NOT_KNOWN);
}
END_TEST

TCase *case_advice(void)
{
	TCase *tc = tcase_create("advice");

	tcase_add_loop_test(tc, advice_is_given_where_it_applies, 0, GT_ARRAY_SIZE(rows));
	tcase_add_loop_test(tc, a_broken_setting_is_unknown, 0, GT_ARRAY_SIZE(rows));
	return tc;
}
