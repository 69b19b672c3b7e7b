/* SPDX-License-Identifier: Apache-2.0 */
/* The desired value of each tunable for a given host. */
#include <stdio.h>
#include <string.h>
#include "tests/unit/tune_stage.h"

#define GIB (INT64_C(1) << 30)

struct facts {
	int64_t memory, swap, mbit;
	int nodes;
	bool zram, vms, rt;
	int ports, cpus, gpus, rdma; /* ports: number of ports with mbit */
	int64_t dropped, squeezed, memlock, shm, limit;
	const char *cmdline, *container, *arch, *thp;
	bool grouped; /* the GPUs are behind an IOMMU */
	struct pr_num persistence; /* as NVML reports it */
	struct pr_num identity; /* 1: the IOMMU does not translate for them, by their group */
	enum { UNKNOWN, APART, ONE } rails; /* subnets of the ports */
};

/* Plans one tunable that a check of gpuprobe judges. */
static void plan_of(const struct pr_host *h, const char *id, struct tn_desired *w)
{
	gt_auto_strv only = { 0 };
	gt_auto(tn_plan) *plan = NULL;

	gt_strv_add(&only, id);
	ck_assert_int_eq(tn_plan_make(b.fs, h, &(struct tn_plan_opts){ .only = &only }, &plan, &err), 0);
	ck_assert_int_eq((int)plan->n_item, 1);
	w->status = plan->item[0].status;
	snprintf(w->reason, sizeof(w->reason), "%s\n%s", plan->item[0].reason, plan->item[0].remedy ? plan->item[0].remedy : "");
}

static struct tn_desired desired_of(const char *id, const struct facts *f, const char *current, const char *pair)
{
	struct pr_net port = { .name = "eth0", .speed_mbit = { f->mbit ? PR_PRESENT : PR_UNKNOWN, f->mbit } };
	struct pr_net net[2] = { port, { .name = "eth1", .speed_mbit = port.speed_mbit } };
	struct pr_node nodes[4] = { 0 };
	struct pr_pci pci = { .address = "0000:17:00.0", .iommu_group = { f->grouped ? PR_PRESENT : PR_ABSENT, 1 } };
	struct pr_gpu gpu = { .pci = &pci, .persistence = f->persistence };
	struct pr_host h = { .node = nodes, .n_node = (size_t)f->nodes, .net = net, .n_net = f->ports ? (size_t)f->ports : 1 };
	struct tn_facts facts = { .swap_is_zram = f->zram, .virtual_machines = f->vms,
				  .dropped = f->dropped, .squeezed = f->squeezed, .routes = f->rails };
	struct tn_ctx c = { .host = &h, .facts = &facts };
	struct tn_now now = { .current = current, .pair = pair };
	struct pr_setting setting = { id, { current ? PR_PRESENT : PR_ABSENT, current }, { PR_ABSENT, NULL }, NULL };
	struct tn_desired w = { 0 };

	if (f->rails) {
		gt_strv_add(&facts.subnets, "0001000A/00FFFFFF eth0");
		gt_strv_add(&facts.subnets, f->rails == ONE ? "0001000A/00FFFFFF eth1" : "0001000A/0000FFFF eth1");
		gt_strv_add(&facts.subnets, "0002000A/00FFFFFF eth10");
		gt_strv_add(&facts.subnets, "0002000A/00FFFFFF eth1");
	}
	for (int i = 0; i < f->nodes; i++)
		gt_set_add(&nodes[i].cpus, (unsigned)i);
	h.mem.total_bytes = (struct pr_num){ PR_PRESENT, f->memory };
	h.mem.swap_total_bytes = (struct pr_num){ PR_PRESENT, f->swap };
	h.mem.limit_bytes = (struct pr_num){ f->limit ? PR_PRESENT : PR_ABSENT, f->limit };
	h.mem.memlock_bytes = (struct pr_num){ f->memlock ? PR_PRESENT : PR_ABSENT, f->memlock };
	h.mem.shm_bytes = (struct pr_num){ f->shm ? PR_PRESENT : PR_ABSENT, f->shm };
	h.mem.thp_enabled = (struct pr_str){ f->thp ? PR_PRESENT : PR_ABSENT, f->thp };
	h.kernel.cmdline = (struct pr_str){ f->cmdline ? PR_PRESENT : PR_ABSENT, f->cmdline };
	h.kernel.arch = (struct pr_str){ PR_PRESENT, f->arch ? f->arch : "x86_64" };
	h.kernel.release = (struct pr_str){ PR_PRESENT, "6.1.0" };
	h.kernel.version = (struct pr_str){ PR_PRESENT, "#1 SMP" };
	h.kernel.preempt_rt = f->rt;
	h.iommu.on = (struct pr_num){ PR_PRESENT, f->grouped };
	h.iommu.passthrough = f->identity;
	h.container = (struct pr_str){ f->container ? PR_PRESENT : PR_ABSENT, f->container };
	h.driver.module_version = (struct pr_str){ f->gpus ? PR_PRESENT : PR_ABSENT, f->gpus ? "550.163.01" : NULL };
	h.nvml.answer = f->persistence.state == PR_PRESENT ? PR_NVML_OK : PR_NVML_NOT_ASKED;
	h.gpu = &gpu;
	h.n_gpu = f->gpus ? 1 : 0;
	for (int i = 0; i < f->cpus; i++)
		gt_set_add(&h.cpu.online, (unsigned)i);
	if (f->rdma)
		gt_strv_add(&h.rdma, "mlx5_0");
	h.identity = "0123456789abcdef";
	h.distro.id = (struct pr_str){ PR_PRESENT, "debian" };
	h.setting = &setting;
	h.n_setting = 1;
	if (tn_tunable_find(id)->check) {
		plan_of(&h, id, &w);
	} else {
		tn_tunable_desired(tn_tunable_find(id), &c, &now, &w);
	}
	gt_set_clear(&h.cpu.online);
	gt_strv_clear(&h.rdma);
	tn_facts_clear(&facts);
	for (int i = 0; i < f->nodes; i++)
		gt_set_clear(&nodes[i].cpus);
	return w;
}

static const struct {
	const char *id;
	struct facts f;
	const char *current, *pair;
	enum tn_status status;
	const char *value;
} cases[] = {
	{ "vm.dirty_ratio", { 64 * GIB, .nodes = 1 }, "20", "0", TN_CHANGE, "10" },
	{ "vm.dirty_ratio", { 128 * GIB, .nodes = 1 }, "20", "0", TN_NOT_APPLICABLE, "" },
	{ "vm.dirty_ratio", { 64 * GIB, .nodes = 1 }, "0", "8388608", TN_SKIPPED, "" },
	{ "vm.dirty_ratio", { 64 * GIB, .nodes = 1 }, "0", "0", TN_BLOCKED, "" },
	{ "vm.dirty_bytes", { 64 * GIB, .nodes = 1 }, "0", "20", TN_NOT_APPLICABLE, "" },
	{ "vm.dirty_bytes", { 128 * GIB, .nodes = 1 }, "0", "20", TN_CHANGE, "8589934592" },
	{ "vm.dirty_bytes", { 2048 * GIB, .nodes = 1 }, "0", "20", TN_CHANGE, "17179869184" },
	{ "vm.dirty_bytes", { 512 * GIB, .nodes = 1 }, "0", "2", TN_ALREADY, "" }, /* at most 10 GiB: not raised */
	{ "vm.dirty_bytes", { 512 * GIB, .nodes = 1 }, "0", "4", TN_CHANGE, "17179869184" },
	{ "vm.dirty_background_bytes", { 256 * GIB, .nodes = 1 }, "0", "1", TN_ALREADY, "" },
	{ "vm.dirty_background_bytes", { 2048 * GIB, .nodes = 1 }, "0", "10", TN_CHANGE, "4294967296" },
	{ "vm.swappiness", { GIB, .nodes = 1 }, "60", NULL, TN_NOT_APPLICABLE, "" },
	{ "vm.swappiness", { GIB, GIB, .nodes = 1 }, "60", NULL, TN_CHANGE, "10" },
	{ "vm.swappiness", { GIB, GIB, .nodes = 1, .zram = true }, "60", NULL, TN_SKIPPED, "" },
	{ "vm.zone_reclaim_mode", { GIB, .nodes = 1 }, "1", NULL, TN_NOT_APPLICABLE, "" },
	{ "vm.zone_reclaim_mode", { GIB, .nodes = 2 }, "1", NULL, TN_CHANGE, "0" },
	{ "vm.max_map_count", { 4 * GIB, .nodes = 1 }, "65530", NULL, TN_CHANGE, "262144" },
	{ "vm.max_map_count", { 1024 * GIB, .nodes = 1 }, "65530", NULL, TN_CHANGE, "1048576" },
	{ "vm.max_map_count", { 65536 * GIB, .nodes = 1 }, "65530", NULL, TN_CHANGE, "4194304" },
	{ "kernel.numa_balancing", { GIB, .nodes = 1 }, "1", NULL, TN_NOT_APPLICABLE, "" },
	{ "kernel.numa_balancing", { GIB, .nodes = 2 }, "1", NULL, TN_CHANGE, "0" },
	{ "kernel.numa_balancing", { GIB, .nodes = 2 }, "2", NULL, TN_SKIPPED, "" },
	{ "kernel.numa_balancing", { GIB, .nodes = 2 }, "3", NULL, TN_SKIPPED, "" },
	{ "net.core.rmem_max", { GIB, .nodes = 1 }, "212992", NULL, TN_NOT_APPLICABLE, "" },
	{ "net.core.rmem_max", { GIB, .nodes = 1, .mbit = 10000 }, "212992", NULL, TN_NOT_APPLICABLE, "" },
	{ "net.core.rmem_max", { GIB, .nodes = 1, .mbit = 25000 }, "212992", NULL, TN_CHANGE, "16777216" },
	{ "net.core.wmem_max", { GIB, .nodes = 1, .mbit = 200000 }, "212992", NULL, TN_CHANGE, "134217728" },
	{ "net.core.wmem_max", { GIB, .nodes = 1, .mbit = 800000 }, "212992", NULL, TN_CHANGE, "134217728" },
	{ "vm.compaction_proactiveness", { GIB, .nodes = 1, .thp = "never" }, "0", NULL, TN_NOT_APPLICABLE, "" },
	{ "vm.compaction_proactiveness", { GIB, .nodes = 1, .thp = "madvise" }, "0", NULL, TN_CHANGE, "20" },
	{ "vm.overcommit_memory", { GIB, .nodes = 1 }, "2", NULL, TN_ADVICE, "vm.overcommit_memory=0" },
	{ "vm.overcommit_memory", { GIB, .nodes = 1 }, "1", NULL, TN_ALREADY, "" },
	{ "thp.enabled", { GIB, .nodes = 1 }, "never", NULL, TN_CHANGE, "madvise" },
	{ "thp.enabled", { GIB, .nodes = 1 }, "always", NULL, TN_ALREADY, "" },
	{ "thp.defrag", { GIB, .nodes = 1 }, "always", NULL, TN_CHANGE, "madvise" },
	{ "thp.shmem", { GIB, .nodes = 1 }, "never", NULL, TN_ALREADY, "" },
	{ "thp.shmem", { GIB, .nodes = 1 }, "force", NULL, TN_ADVICE, "" },
	{ "thp.shmem", { GIB, .nodes = 1 }, "always", NULL, TN_ALREADY, "" }, /* not for /dev/shm */
	{ "ksm.run", { GIB, .nodes = 1 }, "1", NULL, TN_CHANGE, "0" },
	{ "ksm.run", { GIB, .nodes = 1, .vms = true }, "1", NULL, TN_NOT_APPLICABLE, "" },
	{ "ksm.run", { GIB, .nodes = 1 }, "0", NULL, TN_ALREADY, "" },
	{ "vm.min_free_kbytes", { 16 * GIB, .nodes = 1 }, "67584", NULL, TN_NOT_APPLICABLE, "" },
	{ "vm.min_free_kbytes", { 64 * GIB, .nodes = 1 }, "67584", NULL, TN_CHANGE, "135168" },
	{ "vm.nr_hugepages", { GIB, .nodes = 1 }, "0", NULL, TN_ALREADY, "" },
	{ "vm.nr_hugepages", { GIB, .nodes = 1 }, "8192", NULL, TN_ADVICE, "vm.nr_hugepages=0" },
	{ "kernel.pid_max", { GIB, .nodes = 1, .cpus = 8 }, "32768", NULL, TN_CHANGE, "65536" },
	{ "kernel.pid_max", { GIB, .nodes = 1, .cpus = 256 }, "32768", NULL, TN_CHANGE, "262144" },
	{ "kernel.shmmax", { 8 * GIB, .nodes = 1 }, "18446744073692774399", NULL, TN_ALREADY, "" },
	{ "kernel.shmmax", { 8 * GIB, .nodes = 1 }, "1073741824", NULL, TN_ADVICE,
	  "kernel.shmmax=18446744073692774399" },
	{ "kernel.sched_rt_runtime_us", { GIB, .nodes = 1 }, "-1", NULL, TN_ADVICE, "kernel.sched_rt_runtime_us=950000" },
	{ "kernel.sched_rt_runtime_us", { GIB, .nodes = 1 }, "950000", NULL, TN_ALREADY, "" },
	{ "net.ipv4.tcp_rmem", { GIB, .nodes = 1 }, "4096 131072 6291456", NULL, TN_NOT_APPLICABLE, "" },
	{ "net.ipv4.tcp_rmem", { GIB, .nodes = 1, .mbit = 25000 }, "4096 131072 6291456", NULL, TN_CHANGE, "4096 131072 16777216" },
	{ "net.ipv4.tcp_rmem", { GIB, .nodes = 1, .mbit = 25000 }, "1 2 33554432", NULL, TN_CHANGE, "1 2 16777216" },
	{ "net.ipv4.tcp_wmem", { GIB, .nodes = 1, .mbit = 25000 }, "what", NULL, TN_BLOCKED, "" }, /* not three numbers */
	{ "net.core.netdev_max_backlog", { GIB, .nodes = 1 }, "1000", NULL, TN_NOT_APPLICABLE, "" },
	{ "net.core.netdev_max_backlog", { GIB, .nodes = 1, .dropped = 3 }, "1000", NULL, TN_CHANGE, "10000" },
	{ "net.core.netdev_max_backlog", { GIB, .nodes = 1, .dropped = 3 }, "10000", NULL, TN_CHANGE, "10000" }, /* not doubled */
	{ "net.ipv4.arp_announce", { GIB, .nodes = 1, .mbit = 100000, .rails = ONE }, "0", NULL, TN_NOT_APPLICABLE, "" },
	{ "net.ipv4.arp_announce", { GIB, .nodes = 1, .mbit = 100000, .ports = 2 }, "0", NULL, TN_SKIPPED, "" },
	{ "net.ipv4.arp_ignore", { GIB, .nodes = 1, .mbit = 25000, .ports = 2, .rails = APART }, "0", NULL, TN_NOT_APPLICABLE, "" },
	{ "net.ipv4.arp_announce", { GIB, .nodes = 1, .mbit = 100000, .ports = 2, .rails = ONE }, "0", NULL, TN_CHANGE, "2" },
	{ "net.ipv4.arp_ignore", { GIB, .nodes = 1, .mbit = 100000, .ports = 2, .rails = ONE }, "0", NULL, TN_CHANGE, "1" },
	{ "net.ipv4.arp_ignore", { GIB, .nodes = 1, .mbit = 1000, .ports = 2, .rails = ONE }, "0", NULL, TN_NOT_APPLICABLE, "" },
	{ "net.core.netdev_budget", { GIB, .nodes = 1 }, "300", NULL, TN_NOT_APPLICABLE, "" },
	{ "net.core.netdev_budget", { GIB, .nodes = 1, .squeezed = 2 }, "300", NULL, TN_CHANGE, "600" },
	{ "net.core.netdev_budget", { GIB, .nodes = 1, .squeezed = 2 }, "600", NULL, TN_CHANGE, "600" }, /* not doubled */
	{ "net.core.rmem_default", { GIB, .nodes = 1 }, "4194304", NULL, TN_ALREADY, "" },
	{ "net.core.rmem_default", { GIB, .nodes = 1 }, "4194305", NULL, TN_ADVICE, "net.core.rmem_default=212992" },
	{ "net.core.busy_read", { GIB, .nodes = 1 }, "0", NULL, TN_ALREADY, "" },
	{ "net.core.busy_read", { GIB, .nodes = 1 }, "50", NULL, TN_ADVICE, "net.core.busy_read=0" },
	{ "net.ipv4.tcp_timestamps", { GIB, .nodes = 1 }, "0", NULL, TN_ADVICE, "net.ipv4.tcp_timestamps=1" },
	{ "net.ipv4.tcp_timestamps", { GIB, .nodes = 1 }, "2", NULL, TN_ALREADY, "" },
	{ "fs.file-max", { GIB, .nodes = 1 }, "100000", NULL, TN_CHANGE, "1048576" },
	{ "fs.file-max", { 1024 * GIB, .nodes = 1 }, "1048576", NULL, TN_CHANGE, "67108864" },
	{ "boot.preempt", { GIB, .nodes = 1, .cmdline = "quiet preempt=full" }, NULL, NULL, TN_ADVICE, "" },
	{ "boot.preempt", { GIB, .nodes = 1, .cmdline = "quiet preempt=none" }, NULL, NULL, TN_ALREADY, "" },
	{ "pcie.aspm", { GIB, .nodes = 1 }, "powersave", NULL, TN_NOT_APPLICABLE, "" },
	{ "pcie.aspm", { GIB, .nodes = 1, .gpus = 1 }, "powersave", NULL, TN_CHANGE, "performance" },
	{ "pcie.aspm", { GIB, .nodes = 1, .gpus = 1 }, "default", NULL, TN_ALREADY, "" },
	{ "mem.shm", { 64 * GIB, .nodes = 1, .shm = 32 * GIB }, NULL, NULL, TN_ALREADY, "" },
	{ "mem.shm", { 64 * GIB, .nodes = 1, .shm = 64 << 20 }, NULL, NULL, TN_ADVICE, "" },
	{ "mem.shm", { 64 * GIB, .nodes = 1, .shm = 64 << 20, .container = "docker" }, NULL, NULL, TN_ADVICE, "" },
	{ "mem.shm", { 64 * GIB, .nodes = 1, .shm = 4 * GIB, .container = "docker", .limit = 16 * GIB }, NULL, NULL,
	  TN_ALREADY, "" },
	{ "limits.memlock", { GIB, .nodes = 1, .memlock = 8388608 }, NULL, NULL, TN_NOT_APPLICABLE, "" },
	{ "limits.memlock", { GIB, .nodes = 1, .memlock = 8388608, .rdma = 1 }, NULL, NULL, TN_ADVICE, "" },
	{ "limits.memlock", { GIB, .nodes = 1, .memlock = INT64_MAX, .rdma = 1 }, NULL, NULL, TN_ALREADY, "" },
	{ "gpu.node", { GIB, .nodes = 2 }, NULL, NULL, TN_NOT_APPLICABLE, "" },
	{ "gpu.node", { GIB, .nodes = 2, .gpus = 1 }, NULL, NULL, TN_ADVICE, "" },
	{ "gpu.persistence", { GIB, .nodes = 1 }, NULL, NULL, TN_NOT_APPLICABLE, "" },
	{ "gpu.persistence", { GIB, .nodes = 1, .gpus = 1 }, NULL, NULL, TN_NOT_APPLICABLE, "" }, /* unknown */
	{ "gpu.persistence", { GIB, .nodes = 1, .gpus = 1, .persistence = { PR_PRESENT, 0 } }, NULL, NULL, TN_ADVICE, "" },
	{ "gpu.persistence",
	  { GIB, .nodes = 1, .gpus = 1, .persistence = { PR_PRESENT, 0 }, .container = "docker" }, NULL, NULL, TN_ADVICE, "" },
	{ "gpu.persistence", { GIB, .nodes = 1, .gpus = 1, .persistence = { PR_PRESENT, 1 } }, NULL, NULL, TN_ALREADY, "" },
	{ "boot.kernel", { GIB, .nodes = 1 }, NULL, NULL, TN_ALREADY, "" },
	{ "boot.kernel", { GIB, .nodes = 1, .rt = true }, NULL, NULL, TN_ADVICE, "" },
	{ "boot.isolcpus", { GIB, .nodes = 1, .cmdline = "quiet isolcpus=2-31" }, NULL, NULL, TN_ADVICE, "" },
	{ "boot.isolcpus", { GIB, .nodes = 1, .cmdline = "quiet noisolcpus=1" }, NULL, NULL, TN_ALREADY, "" },
	{ "boot.idle", { GIB, .nodes = 1, .cmdline = "idle=poll quiet" }, NULL, NULL, TN_ADVICE, "" },
	{ "boot.idle", { GIB, .nodes = 1, .cmdline = "quiet" }, NULL, NULL, TN_ALREADY, "" },
	{ "boot.iommu", { GIB, .nodes = 1, .cmdline = "quiet" }, NULL, NULL, TN_NOT_APPLICABLE, "" },
	{ "boot.iommu", { GIB, .nodes = 1, .cmdline = "quiet", .gpus = 1 }, NULL, NULL, TN_ALREADY, "" },
	/* harmless on a host with one GPU */
	{ "boot.iommu", { GIB, .nodes = 1, .cmdline = "quiet", .gpus = 1, .grouped = true }, NULL, NULL, TN_ALREADY, "" },
	{ "boot.iommu", { GIB, .nodes = 1, .cmdline = "quiet", .gpus = 1, .rdma = 1, .grouped = true }, NULL, NULL, TN_ADVICE, "" },
	/* the kernel translates in spite of the argument */
	{ "boot.iommu", { GIB, .nodes = 1, .cmdline = "iommu=pt", .gpus = 1, .rdma = 1, .grouped = true }, NULL, NULL,
	  TN_ADVICE, "" },
	{ "boot.iommu",
	  { GIB, .nodes = 1, .cmdline = "quiet", .gpus = 1, .rdma = 1, .grouped = true, .identity = { PR_PRESENT, 1 } }, NULL, NULL,
	  TN_ALREADY, "" }, /* because of iommu.passthrough=1 or the kernel's configuration */
	{ "boot.iommu",
	  { GIB, .nodes = 1, .cmdline = "quiet", .gpus = 1, .rdma = 1, .grouped = true, .identity = { PR_PRESENT, 0 } }, NULL, NULL,
	  TN_ADVICE, "" },
	{ "boot.iommu", { GIB, .nodes = 1, .cmdline = "quiet", .gpus = 1, .grouped = true, .arch = "aarch64" }, NULL, NULL,
	  TN_NOT_APPLICABLE, "" },
};

START_TEST(desired_values_follow_from_the_host)
{
	struct tn_desired w = desired_of(cases[_i].id, &cases[_i].f, cases[_i].current, cases[_i].pair);

	ck_assert_msg(w.status == cases[_i].status, "%s: %s (%s)", cases[_i].id, tn_status_name(w.status), w.reason);
	if (tn_tunable_find(cases[_i].id)->check) /* text in the remedy */
		ck_assert_msg(strstr(w.reason, cases[_i].value), "%s: %s", cases[_i].id, w.reason);
	else
		ck_assert_str_eq(w.value, cases[_i].value);
	ck_assert_str_ne(w.reason, "");
}
END_TEST

/*
 * The advice names the line to remove. A line of a package is overridden. If no file sets the value there is nothing to
 * remove.
 */
START_TEST(advice_names_the_line_that_sets_it)
{
	static const struct {
		const char *file, *text, *how;
	} cases[] = {
		{ "/etc/sysctl.d/00-none.conf", "", "  sysctl -w vm.overcommit_memory=0\nNo file sets it at boot." },
		{ "/usr/lib/sysctl.d/40-v.conf", "#\nvm.overcommit_memory=2\n",
		  "  sysctl -w vm.overcommit_memory=0\n  echo 'vm.overcommit_memory = 0' >> /etc/sysctl.d/zz-local.conf\n"
		  "The new line comes after /usr/lib/sysctl.d/40-v.conf:2, which sets it at boot." },
		{ "/etc/sysctl.d/50-a.conf", "vm.swappiness = 1\nvm.overcommit_memory = 0x2\n",
		  "  sysctl -w vm.overcommit_memory=0\nRemove the line that sets it at boot: /etc/sysctl.d/50-a.conf:2" },
		{ "/etc/sysctl.d/60-b.conf", "vm.overcommit_memory = 1\n",
		  "  sysctl -w vm.overcommit_memory=0\nAt boot /etc/sysctl.d/60-b.conf:1 sets it to 1." },
	};

	box_put(&b, "/proc/sys/vm/overcommit_memory", "2\n");
	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(tn_plan) *plan = NULL;
		const struct tn_item *it;

		box_put(&b, cases[i].file, cases[i].text);
		plan = box_plan(&b);
		it = box_item(plan, "vm.overcommit_memory", NULL);
		ck_assert_int_eq(it->status, TN_ADVICE);
		ck_assert_msg(gt_ends_with(it->remedy, cases[i].how), "%s", it->remedy);
		ck_assert_ptr_null(it->wanted);
	}
}
END_TEST

START_TEST(advice_names_the_line_of_the_boot_loader)
{
	gt_auto(tn_plan) *unknown = NULL, *known = NULL;

	box_put(&b, "/proc/cmdline", "BOOT_IMAGE=/vmlinuz quiet idle=poll preempt=full\n");
	unknown = box_plan(&b);
	ck_assert_ptr_nonnull(strstr(box_item(unknown, "boot.idle", NULL)->remedy, "Remove idle=poll from /etc/default/grub or"));
	box_put(&b, "/etc/default/grub", "GRUB_TIMEOUT=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet idle=poll\"\n");
	box_put(&b, "/etc/default/grub.d/50-a.cfg", "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX preempt=full\"\n");
	known = box_plan(&b);
	ck_assert_ptr_nonnull(strstr(box_item(known, "boot.idle", NULL)->remedy,
				     "Remove idle=poll from /etc/default/grub:2. Then:"));
	ck_assert_ptr_nonnull(strstr(box_item(known, "boot.preempt", NULL)->remedy, "from /etc/default/grub.d/50-a.cfg:1. Then:"));
}
END_TEST

/* gputune's file must not undo at boot a local value that goes further in the same direction. */
START_TEST(the_admins_file_is_not_outdone)
{
	gt_auto(tn_plan) *plan = NULL;

	box_put(&b, "/etc/sysctl.d/10-site.conf", "vm.max_map_count = 2000000\nvm.swappiness = 1\nvm.dirty_ratio = 0\n"
						    "net.core.rmem_max = 1000000\n");
	plan = box_plan(&b);
	ck_assert_str_eq(box_item(plan, "vm.max_map_count", NULL)->wanted, "2000000");
	ck_assert_str_eq(box_item(plan, "vm.swappiness", NULL)->wanted, "1");
	ck_assert_str_eq(box_item(plan, "vm.dirty_ratio", NULL)->wanted, "10"); /* 0 only means that the other form is in force */
	ck_assert_str_eq(box_item(plan, "net.core.rmem_max", NULL)->wanted, "67108864");
}
END_TEST

/* The same if the file sets the other form of the pair: gputune's file would replace it at boot. */
START_TEST(the_admins_other_form_is_not_outdone)
{
	gt_auto(tn_plan) *plan = NULL;
	struct box big;

	box_put(&b, "/etc/sysctl.d/10-site.conf", "vm.dirty_bytes = 100000000\n");
	plan = box_plan(&b);
	ck_assert_int_eq(box_item(plan, "vm.dirty_ratio", NULL)->status, TN_SKIPPED);
	ck_assert_ptr_nonnull(strstr(box_item(plan, "vm.dirty_ratio", NULL)->reason, "10-site.conf:1"));
	ck_assert_int_eq(box_item(plan, "vm.dirty_background_ratio", NULL)->status, TN_CHANGE);
	tn_plan_free(gt_take(plan));
	box_put(&b, "/etc/sysctl.d/20-site.conf", "vm.dirty_ratio = 15\n"); /* later, so it is in force */
	plan = box_plan(&b);
	ck_assert_int_eq(box_item(plan, "vm.dirty_ratio", NULL)->status, TN_CHANGE);
	tn_plan_free(gt_take(plan));

	box_open(&big, "cpu-server-512g");
	box_put(&big, "/etc/sysctl.d/10-site.conf", "vm.dirty_ratio = 2\nvm.dirty_background_ratio = 30\n");
	plan = box_plan(&big);
	ck_assert_int_eq(box_item(plan, "vm.dirty_bytes", NULL)->status, TN_SKIPPED);
	ck_assert_int_eq(box_item(plan, "vm.dirty_background_bytes", NULL)->status, TN_CHANGE);
	box_close(&big);
}
END_TEST

/* A value from a file is not used if the kernel would refuse it or if it would exhaust memory. */
START_TEST(a_files_harmful_value_is_not_applied)
{
	gt_auto(tn_plan) *plan = NULL;
	gt_auto_json *doc = NULL;
	json_t *o;
	size_t i;

	box_put(&b, "/etc/sysctl.d/10-site.conf", "net.core.rmem_max = 4294967295\nvm.min_free_kbytes = 400000000\n");
	plan = box_plan(&b);
	ck_assert_str_eq(box_item(plan, "net.core.rmem_max", NULL)->wanted, "67108864");
	ck_assert_int_eq(box_item(plan, "vm.min_free_kbytes", NULL)->status, TN_ADVICE);
	ck_assert_ptr_null(box_item(plan, "vm.min_free_kbytes", NULL)->wanted);
	ck_assert_ptr_nonnull(strstr(box_item(plan, "vm.min_free_kbytes", NULL)->reason, "10-site.conf:2 sets it to 400000000"));
	doc = tn_plan_to_json(plan);
	tn_plan_free(gt_take(plan));
	ck_assert_msg(tn_plan_from_json(doc, &plan, &err) == 0, "%s", err.msg);
	tn_plan_free(gt_take(plan));

	/* a value from a profile, or from a plan edited by hand, neither */
	box_remove(&b, "/etc/sysctl.d/10-site.conf");
	box_put(&b, "/etc/gputune/profiles/site.conf", "[knobs]\nvm.min_free_kbytes = 400000000\n");
	ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .profile = "site" }, &plan, &err), 0);
	ck_assert_int_eq(box_item(plan, "vm.min_free_kbytes", NULL)->status, TN_BLOCKED);
	tn_plan_free(gt_take(plan));
	plan = box_plan(&b);
	json_decref(gt_take(doc));
	doc = tn_plan_to_json(plan);
	tn_plan_free(gt_take(plan));
	json_array_foreach(json_object_get(doc, "items"), i, o)
		if (!strcmp(gt_json_get_str(o, "knob", ""), "vm.min_free_kbytes"))
			json_object_set_new(o, "wanted", json_string("400000000"));
	ck_assert_int_eq(tn_plan_from_json(doc, &plan, &err), 0);
	ck_assert_int_lt(tn_apply(b.fs, plan, NULL, NULL, &err), 0);
	ck_assert_int_eq(err.exit_status, TN_EXIT_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.msg, "vm.min_free_kbytes takes 1024 to "));
}
END_TEST

/* Raise-only and lower-only tunables accept values that go further. */
/* A current value that goes further than the value of a profile stays. */
START_TEST(of_several_numbers_none_is_lowered)
{
	static const struct {
		const char *asked, *wanted;
		enum tn_status status;
	} cases[] = {
		{ "1024 262144 16777216", "4096 262144 16777216", TN_CHANGE },
		{ "4096 65536 4194304", "4096 65536 4194304", TN_ALREADY },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_autofree char *text = gt_xasprintf("[knobs]\nnet.ipv4.tcp_rmem = %s\n", cases[i].asked);
		gt_auto(tn_plan) *plan = NULL;

		box_put(&b, "/etc/gputune/profiles/site.conf", text);
		ck_assert_int_eq(tn_plan_make(b.fs, NULL, &(struct tn_plan_opts){ .profile = "site" }, &plan, &err), 0);
		ck_assert_int_eq(box_item(plan, "net.ipv4.tcp_rmem", NULL)->status, cases[i].status);
		ck_assert_str_eq(box_item(plan, "net.ipv4.tcp_rmem", NULL)->wanted, cases[i].wanted);
	}
}
END_TEST

START_TEST(good_values_are_left)
{
	gt_auto(tn_plan) *plan = NULL;

	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/max_map_count", "1600000"), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/net/core/rmem_max", "536870912"), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/dirty_ratio", "3"), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/proc/sys/vm/swappiness", "1"), 0);
	ck_assert_int_eq(tn_kernel_write(b.fs, "/sys/block/sda/queue/read_ahead_kb", "16384"), 0);
	plan = box_plan(&b);
	ck_assert_int_eq(box_item(plan, "vm.max_map_count", NULL)->status, TN_ALREADY);
	ck_assert_int_eq(box_item(plan, "net.core.rmem_max", NULL)->status, TN_ALREADY);
	ck_assert_int_eq(box_item(plan, "net.core.wmem_max", NULL)->status, TN_CHANGE);
	ck_assert_int_eq(box_item(plan, "vm.dirty_ratio", NULL)->status, TN_ALREADY);
	ck_assert_int_eq(box_item(plan, "vm.swappiness", NULL)->status, TN_ALREADY);
	ck_assert_int_eq(box_item(plan, "block.read_ahead", "sda")->status, TN_ALREADY);
}
END_TEST

/* Size of the huge page pool and its origin. */
START_TEST(a_huge_page_pool_is_reported_with_size_and_origin)
{
	static const struct {
		const char *cmdline, *pages;
		int64_t page_bytes;
		const char *says;
		bool grub; /* the kernel argument must be removed */
	} cases[] = {
		{ "quiet", "64", 2 << 20, "64 pages of 2.0 MiB (128 MiB)", false },
		{ "quiet", "64", 0, "64 pages of 2.0 MiB (128 MiB)", false },
		{ "default_hugepagesz=1G hugepages=4", "4", GIB, "4 pages of 1.0 GiB (4.0 GiB)", true },
		{ "hugepages=512 quiet", "512", 2 << 20, "(1.0 GiB)", true },
		{ "hugepagesz=1G hugepages=4", "512", 2 << 20, "(1.0 GiB)", false }, /* another pool */
		{ "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=512", "512", 2 << 20, "(1.0 GiB)", true },
		{ "hugepagesz=what hugepages=4", "512", 2 << 20, "(1.0 GiB)", false },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		struct pr_host h = { .mem.hugepage_bytes = { cases[i].page_bytes ? PR_PRESENT : PR_ABSENT, cases[i].page_bytes },
				     .kernel.cmdline = { PR_PRESENT, cases[i].cmdline },
				     .distro.id = { PR_PRESENT, "debian" } };
		struct pr_setting pages = { "vm.nr_hugepages", { PR_PRESENT, cases[i].pages }, { PR_ABSENT, NULL }, NULL };
		struct pr_finding f;

		h.setting = &pages;
		h.n_setting = 1;
		pr_judge_one(&(struct pr_context){ .host = &h }, tn_tunable_find("vm.nr_hugepages")->check, &f);
		ck_assert_int_eq(f.result, PR_ADVICE);
		ck_assert_ptr_nonnull(strstr(f.remedy, "sysctl -w vm.nr_hugepages=0"));
		ck_assert_msg(strstr(f.what, cases[i].says) && !strstr(f.remedy, "update-grub") == !cases[i].grub, "%zu: %s\n%s", i,
			      f.what, f.remedy);
	}
}
END_TEST

/* Text that depends on the host. */
static const struct {
	const char *id;
	struct facts f;
	const char *current, *says, *not;
} sentences[] = {
	{ "boot.kernel", { GIB, .nodes = 1, .rt = true }, NULL, "linux-image-amd64", "NVIDIA" },
	{ "boot.kernel", { GIB, .nodes = 1, .rt = true, .gpus = 1 }, NULL, "the NVIDIA module", NULL },
	{ "boot.kernel", { GIB, .nodes = 1, .rt = true, .arch = "aarch64" }, NULL, "linux-image-*-rt-arm64", "amd64" },
	{ "boot.kernel", { GIB, .nodes = 1, .rt = true, .arch = "ppc64le" }, NULL, "linux-image-*-rt-ppc64el", "amd64" },
	{ "boot.kernel", { GIB, .nodes = 1 }, NULL, "not a PREEMPT_RT kernel", "Debian" },
	{ "thp.defrag", { GIB, .nodes = 1 }, "never", "no program waits", NULL },
	{ "thp.defrag", { GIB, .nodes = 1 }, "defer", "no program waits", NULL },
	{ "thp.defrag", { GIB, .nodes = 1 }, "defer+madvise", "only programs that request huge pages wait", NULL },
	{ "net.core.rmem_max", { GIB, .nodes = 1, .mbit = 2500 }, "212992", "has 2.5 Gbit/s", NULL },
	{ "net.core.rmem_max", { GIB, .nodes = 1, .mbit = 100 }, "212992", "has 100 Mbit/s", NULL },
	{ "net.core.rmem_max", { GIB, .nodes = 1, .mbit = 400000 }, "212992", "at 400 Gbit/s", NULL },
};

START_TEST(each_sentence_is_true_for_its_host)
{
	struct tn_desired w = desired_of(sentences[_i].id, &sentences[_i].f, sentences[_i].current, NULL);

	ck_assert_msg(strstr(w.reason, sentences[_i].says) && !(sentences[_i].not && strstr(w.reason, sentences[_i].not)), "%s: %s",
		      sentences[_i].id, w.reason);
}
END_TEST

TCase *tune_knob_case(void)
{
	TCase *tc = tcase_create("knob");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, desired_values_follow_from_the_host, 0, GT_ARRAY_SIZE(cases));
	tcase_add_loop_test(tc, each_sentence_is_true_for_its_host, 0, GT_ARRAY_SIZE(sentences));
	tcase_add_test(tc, good_values_are_left);
	tcase_add_test(tc, of_several_numbers_none_is_lowered);
	tcase_add_test(tc, advice_names_the_line_that_sets_it);
	tcase_add_test(tc, advice_names_the_line_of_the_boot_loader);
	tcase_add_test(tc, the_admins_file_is_not_outdone);
	tcase_add_test(tc, the_admins_other_form_is_not_outdone);
	tcase_add_test(tc, a_files_harmful_value_is_not_applied);
	tcase_add_test(tc, a_huge_page_pool_is_reported_with_size_and_origin);
	tcase_set_timeout(tc, 120);
	return tc;
}
