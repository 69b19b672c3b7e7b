/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at and reported only: it needs a reboot, a decision of the admin, or somebody else's file. Each advice
 * holds the lines that do it by hand on Debian. */
#include <stdio.h>
#include <string.h>
#include "tune/knob/list.h"
#include "tune/rank.h"

#define GIB (INT64_C(1) << 30)

/* The word of the kernel's command line that begins so, NULL if there is none. The caller frees it. */
static char *cmdline_word(const struct tn_ctx *c, const char *begin)
{
	const char *line = c->host->kernel.cmdline.v;

	for (const char *p = line; p && *p;) {
		size_t n = strcspn(p, " ");

		if (gt_starts_with(p, begin))
			return gt_xstrndup(p, n);
		p += n;
		p += strspn(p, " ");
	}
	return NULL;
}

static char *word_or_unset(const struct tn_ctx *c, const char *begin)
{
	char *word = cmdline_word(c, begin);

	if (word || !c->host->kernel.cmdline.v)
		return word;
	return gt_xstrdup("not set");
}

#define GRUB_HOW "edit /etc/default/grub or the file in /etc/default/grub.d that holds it, then update-grub and reboot"

/* ---- command line -------------------------------------------------------------------------------------------------
 */

static char *look_isolcpus(const struct tn_ctx *c)
{
	return word_or_unset(c, "isolcpus=");
}

static void want_isolcpus(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (!strcmp(now->current, "not set"))
		tn_leave(w, TN_ALREADY, "all CPUs are balanced");
	else
		tn_leave(
			w, TN_ADVICE,
			"threads that nobody pins pile up on one isolated CPU, or crowd on the few others; gputune run "
			"leaves isolated CPUs out. To give them back: " GRUB_HOW);
}

const struct tn_knob tn_knob_isolcpus = {
	.id = "boot.isolcpus",
	.look = look_isolcpus,
	.summary = "CPUs that the scheduler leaves out",
	.why = "Recipes for latency isolate all but a few cores. A trainer's loader workers and OpenMP threads then "
	       "share two "
	       "cores while the others are idle, or pile up on one.",
	.hazard = "Programs that pin every thread of theirs want it: reported, never written.",
	.unit = "kernel command line",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.desired = want_isolcpus,
};

static char *look_iommu(const struct tn_ctx *c)
{
	return word_or_unset(c, "iommu=");
}

/* Platform by platform the advice is the opposite (Grace: on and not passed through), so it is given for x86 only. */
static void want_iommu(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	bool grouped = false;

	for (size_t i = 0; i < c->host->n_gpu; i++)
		grouped |= pr_has(c->host->gpu[i].pci->iommu_group);
	if (!pr_usable_gpus(c->host))
		tn_not_applicable(w, "no GPU that CUDA could use");
	else if (!gt_streq(c->host->kernel.arch.v, "x86_64") || c->host->virt.state == PR_PRESENT)
		tn_not_applicable(w, "only for x86-64 without a hypervisor");
	else if (!grouped || !strcmp(now->current, "iommu=pt") || !strcmp(now->current, "iommu=off"))
		tn_leave(w, TN_ALREADY, "the GPUs' transfers are not translated");
	else
		tn_leave(w, TN_ADVICE,
			 "each transfer of a GPU is translated; to pass them through, where devices are not lent to "
			 "virtual machines: echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT "
			 "iommu=pt\"' > /etc/default/grub.d/50-iommu.cfg; update-grub; reboot");
}

const struct tn_knob tn_knob_iommu = {
	.id = "boot.iommu",
	.look = look_iommu,
	.summary = "whether devices' transfers are translated",
	.why = "With translation each transfer between GPUs, network cards and disks goes through the IOMMU's tables. "
	       "NVIDIA's "
	       "profile for H100 hosts says iommu=pt; GPUDirect Storage is fastest with it off.",
	.hazard =
		"It gives up isolation between devices. On Grace the advice is the opposite. Reported, never written.",
	.unit = "kernel command line",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.desired = want_iommu,
};

static char *look_idle(const struct tn_ctx *c)
{
	return word_or_unset(c, "idle=");
}

static void want_idle(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (strcmp(now->current, "idle=poll"))
		tn_leave(w, TN_ALREADY, "idle CPUs rest");
	else
		tn_leave(w, TN_ADVICE,
			 "an idle hardware thread spins and takes half of its core from the other one; " GRUB_HOW);
}

const struct tn_knob tn_knob_idle = {
	.id = "boot.idle",
	.look = look_idle,
	.summary = "what an idle CPU does",
	.why = "idle=poll is for microseconds of latency; with two threads per core it halves the busy one, and it "
	       "takes the "
	       "turbo away from all.",
	.hazard = "It is the admin's choice: reported, never written.",
	.unit = "kernel command line",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.desired = want_idle,
};

static char *look_preempt(const struct tn_ctx *c)
{
	return gt_xstrdup(c->host->kernel.preempt_rt ? "PREEMPT_RT" : "not real-time");
}

static void want_preempt(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (c->host->kernel.preempt_rt)
		tn_leave(w, TN_ADVICE,
			 "NVIDIA's driver does not build for it, and throughput is lower: apt install "
			 "linux-image-amd64, choose it at boot, then remove linux-image-rt-amd64");
	else
		tn_leave(w, TN_ALREADY, "Debian's ordinary kernel");
}

const struct tn_knob tn_knob_preempt = {
	.id = "boot.kernel",
	.look = look_preempt,
	.summary = "the kind of kernel",
	.why = "Some guides recommend a real-time kernel. NVIDIA: \"The NVIDIA driver does not support real-time "
	       "kernels\".",
	.hazard = "Reported, never changed.",
	.unit = "kind",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.desired = want_preempt,
};

/* ---- limits -------------------------------------------------------------------------------------------------------
 */

static char *look_memlock(const struct tn_ctx *c)
{
	struct pr_num n = c->host->mem.memlock_bytes;

	if (!pr_has(n))
		return NULL;
	return n.v == INT64_MAX ? gt_xstrdup("unlimited") : gt_xasprintf("%ld", n.v);
}

static void want_memlock(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (!strcmp(now->current, "unlimited"))
		tn_leave(w, TN_ALREADY, "as much as is asked for");
	else if (!c->host->rdma.n)
		tn_not_applicable(w, "no RDMA card: CUDA's pinned memory does not count against it");
	else
		tn_leave(
			w, TN_ADVICE,
			"RDMA locks the memory it sends from and fails beyond this; for a group of users: echo '@gpu - "
			"memlock unlimited' > /etc/security/limits.d/90-gpu.conf (at the next login); for services: "
			"LimitMEMLOCK=infinity in a drop-in");
}

const struct tn_knob tn_knob_memlock = {
	.id = "limits.memlock",
	.look = look_memlock,
	.summary = "memory that a process of this user may lock",
	.why = "ibv_reg_mr locks what an InfiniBand or RoCE card reads from. NCCL's net plug-in then fails with "
	       "\"cannot "
	       "allocate memory\".",
	.hazard = "Unlimited for everybody lets any user take all memory: for a group only. Reported, never written.",
	.unit = "bytes",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NEW_PROCESS,
	.op = TN_SET,
	.desired = want_memlock,
};

static char *look_shm(const struct tn_ctx *c)
{
	struct pr_num n = c->host->mem.shm_bytes;

	return pr_has(n) ? gt_xasprintf("%ld", n.v) : NULL;
}

static void want_shm(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	int64_t have = pr_or(c->host->mem.shm_bytes, 0), total = pr_or(c->host->mem.total_bytes, 0);

	if (have >= GT_MIN(total / 4, 64 * GIB))
		tn_leave(w, TN_ALREADY, "enough for the batches of loader workers");
	else if (c->host->container.state == PR_PRESENT)
		tn_leave(w, TN_ADVICE,
			 "loader workers hand over batches there and die with a bus error when it is full: docker run "
			 "--shm-size=%ldg, or --ipc=host",
			 GT_MAX(INT64_C(1), total / GIB / 2));
	else
		tn_leave(w, TN_ADVICE,
			 "loader workers hand over batches there and die with a bus error when it is full: mount -o "
			 "remount,size=50%% /dev/shm, and the same size in /etc/fstab");
}

const struct tn_knob tn_knob_shm = {
	.id = "mem.shm",
	.look = look_shm,
	.summary = "room for shared memory in /dev/shm",
	.why = "PyTorch's loader workers pass tensors there. Docker gives a container 64 MiB.",
	.hazard = "More than memory and swap hold ends in the out-of-memory killer. Reported, never changed.",
	.unit = "bytes",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.desired = want_shm,
};

/* ---- GPUs ---------------------------------------------------------------------------------------------------------
 */

static char *look_persistence(const struct tn_ctx *c)
{
	if (!c->host->nvidia.module_version.v)
		return NULL;
	return gt_xstrdup(c->facts->persistenced ? "nvidia-persistenced" : "off");
}

static void want_persistence(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (c->facts->persistenced)
		tn_leave(w, TN_ALREADY, "the driver stays initialised");
	else if (c->host->container.state == PR_PRESENT)
		tn_not_applicable(w, "a container: to be looked at on the host beneath");
	else
		tn_leave(
			w, TN_ADVICE,
			"each first use of a GPU waits 1 to 3 s, and its settings are lost after the last: apt install "
			"nvidia-persistenced; systemctl enable --now nvidia-persistenced");
}

const struct tn_knob tn_knob_persistence = {
	.id = "gpu.persistence",
	.look = look_persistence,
	.summary = "the driver stays initialised while nobody uses the GPU",
	.why = "Without a display server the driver lets a GPU go after its last user; the next one pays the "
	       "initialisation, and "
	       "clocks and ECC counters start anew. The daemon is NVIDIA's supported way.",
	.hazard = "Some watts when idle; the driver cannot be replaced while the daemon runs.",
	.unit = "daemon",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.desired = want_persistence,
};

static char *look_gpu_node(const struct tn_ctx *c)
{
	size_t unknown = 0;

	if (!pr_usable_gpus(c->host) || c->host->n_node < 2)
		return NULL;
	for (size_t i = 0; i < c->host->n_gpu; i++)
		unknown += !pr_has(c->host->gpu[i].pci->numa_node);
	return gt_xasprintf("%zu of %zu unknown", unknown, c->host->n_gpu);
}

static void want_gpu_node(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (gt_starts_with(now->current, "0 "))
		tn_leave(w, TN_ALREADY, "the firmware says where each GPU is");
	else
		tn_leave(
			w, TN_ADVICE,
			"the firmware does not say next to which node these GPUs are, so nothing is bound to one: look "
			"for a firmware update, or start jobs with numactl --cpunodebind by hand once gpubench has "
			"shown "
			"which node is near");
}

const struct tn_knob tn_knob_gpu_node = {
	.id = "gpu.node",
	.look = look_gpu_node,
	.summary = "whether it is known next to which CPUs each GPU is",
	.why = "Where the firmware is silent PyTorch takes node 0, and scripts write a number into numa_node in /sys: "
	       "both bind "
	       "jobs to a node that may be the far one.",
	.hazard = "Never written: a wrong node is worse than none.",
	.unit = "GPUs",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.desired = want_gpu_node,
};
