/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the kernel that many workers run into. Where no other source is named it is
 * Documentation/admin-guide/sysctl of Linux (kernel.rst, fs.rst) and inotify(7). */
#include <string.h>
#include "tune/knob/list.h"

/* A file of 16 KiB each would fill memory: more than that cannot be of use. */
static int64_t memory_pages(const struct tn_ctx *c)
{
	return pr_or(c->host->mem.total_bytes, 0) >> 14;
}

/* As tuned: 1024 per CPU. */
static void want_pid_max(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	int64_t cpus = gt_set_count(&c->host->cpu.online);

	tn_want_num(w, GT_MIN(INT64_C(4194304), GT_MAX(INT64_C(65536), 1024 * cpus)),
		    "threads have process ids too: %ld CPUs with loaders, OpenMP and NCCL start many", (long)cpus);
}

const struct tn_knob tn_knob_pid_max = {
	.id = "kernel.pid_max",
	.key = "kernel.pid_max",
	.summary = "processes and threads that may exist at once",
	.why = "Eight ranks with sixteen loader workers each, every one with threads of OpenMP and of its libraries, "
	       "pass the "
	       "kernel's 32768; fork then fails in the middle of a run. Debian sets 4194304 by a file of its own.",
	.hazard = "None known. Raised only.",
	.unit = "ids",
	.mechanism = "",
	.unmoved = "a limit: what runs into it fails, nothing gets faster",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.form = TN_SYSCTL_D,
	.rivals = "tuned",
	.range = { { 32768, 4194304, 0 } },
	.desired = want_pid_max,
};

static void want_inotify_instances(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	tn_want_num(w, 1024,
		    "each TensorBoard, notebook and container runtime of a user takes some; 128 are soon gone");
}

static void want_inotify_watches(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	tn_want_num(w, 524288, "one per directory that is watched: trees of checkpoints and logs have many");
}

#define INOTIFY_WHY                                                                                                    \
	"Watchers such as TensorBoard, notebooks, kubelet and file synchronisers share one allowance per user; when "  \
	"it is "                                                                                                       \
	"used up they fail with \"too many open files\" or \"no space left on device\"."

const struct tn_knob tn_knob_inotify_instances = {
	.id = "fs.inotify.max_user_instances",
	.key = "fs.inotify.max_user_instances",
	.summary = "programs of one user that may watch files",
	.why = INOTIFY_WHY,
	.hazard = "None known. Raised only.",
	.unit = "instances",
	.mechanism = "",
	.unmoved = "a limit: what runs into it fails, nothing gets faster",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.form = TN_SYSCTL_D,
	.rivals = "tuned",
	.range = { { 128, 1048576, 0 } },
	.desired = want_inotify_instances,
};

const struct tn_knob tn_knob_inotify_watches = {
	.id = "fs.inotify.max_user_watches",
	.key = "fs.inotify.max_user_watches",
	.summary = "files and directories that one user may watch",
	.why = INOTIFY_WHY,
	.hazard = "About 1 KiB of kernel memory for each watch that is really set. Raised only.",
	.unit = "watches",
	.mechanism = "",
	.unmoved = "a limit: what runs into it fails, nothing gets faster",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.form = TN_SYSCTL_D,
	.rivals = "tuned",
	.range = { { 8192, INT32_MAX, 1024 } },
	.desired = want_inotify_watches,
};

static void want_aio(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	tn_want_num(w, 1048576,
		    "loaders that read with libaio (DALI, DeepSpeed's NVMe offload) book their queues in advance");
}

const struct tn_knob tn_knob_aio_max_nr = {
	.id = "fs.aio-max-nr",
	.key = "fs.aio-max-nr",
	.summary = "asynchronous reads and writes that may be under way",
	.why = "DeepSpeed's offload to NVMe and loaders with libaio reserve thousands per queue and process; with the "
	       "kernel's "
	       "65536 for the whole host io_setup fails.",
	.hazard = "None known: memory is taken only for queues that exist. Raised only.",
	.unit = "requests",
	.mechanism = "",
	.unmoved = "a limit: what runs into it fails, nothing gets faster",
	.tag = 'A',
	.takes_effect = TN_NEW_PROCESS,
	.op = TN_RAISE,
	.form = TN_SYSCTL_D,
	.rivals = "tuned",
	.range = { { 65536, INT32_MAX, 128 } },
	.desired = want_aio,
};

static void want_shmmax(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	uint64_t v;

	/* the kernel's default does not fit an int64_t */
	if (now->current && !gt_parse_u64(now->current, &v) && v < (uint64_t)pr_or(c->host->mem.total_bytes, 0) / 2)
		tn_advise(w, "18446744073692774399",
			  "somebody has lowered it to less than half of memory; the kernel's default is no limit");
	else
		tn_leave(w, TN_ALREADY, "no limit that matters");
}

const struct tn_knob tn_knob_shmmax = {
	.id = "kernel.shmmax",
	.key = "kernel.shmmax",
	.summary = "largest System V shared memory segment",
	.why = "Old recipes \"raise\" it to a few gigabytes; since Linux 3.16 there is no limit by default, so they "
	       "lower it.",
	.hazard = "It is the admin's choice: reported, never written.",
	.unit = "bytes",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.desired = want_shmmax,
};

static void want_rt_runtime(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (gt_streq(now->current, "-1"))
		tn_advise(w, "950000", "a real-time thread that spins stops the whole host");
	else
		tn_leave(w, TN_ALREADY, "real-time threads leave some time to others");
}

const struct tn_knob tn_knob_rt_runtime = {
	.id = "kernel.sched_rt_runtime_us",
	.key = "kernel.sched_rt_runtime_us",
	.summary = "time per second that real-time threads may take",
	.why = "-1 comes from recipes for real-time work and has no use on a training host.",
	.hazard = "It is the admin's choice: reported, never written.",
	.unit = "us",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.desired = want_rt_runtime,
};

static void want_file_max(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	tn_want_num(w, GT_MAX(INT64_C(1048576), memory_pages(c)),
		    "ranks, loader workers and memory-mapped shards of all users together");
}

const struct tn_knob tn_knob_file_max = {
	.id = "fs.file-max",
	.key = "fs.file-max",
	.summary = "files that all programs together may have open",
	.why = "systemd lifts it at boot; recipes that \"raise\" it to a constant lower it, and hosts without systemd "
	       "have "
	       "a tenth of memory's worth. Beyond it every program on the host fails with \"too many open files in "
	       "system\".",
	.hazard = "None known: memory is taken only for files that are open. Raised only.",
	.unit = "files",
	.mechanism = "",
	.unmoved = "a limit: what runs into it fails, nothing gets faster",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.form = TN_SYSCTL_D,
	.rivals = "tuned",
	.range = { { 65536, INT64_MAX, 0 } },
	.desired = want_file_max,
};

static void need_counter(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (c->host->virt.state == PR_PRESENT)
		tn_not_applicable(w, "a virtual machine: it has no counter of its own to give");
}

static void need_detector(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (gt_streq(now->current, "0") && !gt_streq(c->host->kernel.arch.v, "x86_64"))
		tn_not_applicable(w, "no certain detector: only for x86_64 does each of Debian's kernels have one");
}

static const struct tn_need watchdog_needs[] = {
	{ "no virtual machine", need_counter },
	{ "a kernel that has it", need_detector },
	{ 0 },
};

static void want_nmi_watchdog(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (gt_streq(now->current, "0"))
		tn_advise(w, "1", "a kernel that hangs with interrupts off says nothing; once the profiling is done");
	else
		tn_leave(w, TN_ALREADY, "a kernel that hangs with interrupts off says so");
}

const struct tn_knob tn_knob_nmi_watchdog = {
	.id = "kernel.nmi_watchdog",
	.key = "kernel.nmi_watchdog",
	.summary = "an interrupt per CPU that finds a hanging kernel",
	.why = "It takes one of the few hardware counters of each CPU, which perf, likwid and nsys then lack: sysctl -w "
	       "kernel.nmi_watchdog=0 while profiling. tuned's latency profiles switch it off for good, which saves an "
	       "interrupt per busy CPU every ten seconds, and leaves a host that hangs without a word of why.",
	.hazard = "It is the admin's choice: reported, never written.",
	.unit = "0 or 1",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.needs = watchdog_needs,
	.desired = want_nmi_watchdog,
};
