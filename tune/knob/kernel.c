/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel limits that jobs with many workers reach. Source unless stated otherwise: Documentation/admin-guide/sysctl of
 * Linux (kernel.rst, fs.rst) and inotify(7).
 */
#include <string.h>
#include "tune/knob/list.h"

/* Returns how many files of 16 KiB fill memory. A larger limit is useless. */
static int64_t memory_pages(const struct tn_ctx *c)
{
	return pr_or(c->host->mem.total_bytes, 0) >> 14;
}

/* 1024 per CPU, like tuned. */
static void want_pid_max(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	int64_t cpus = gt_set_count(&c->host->cpu.online);

	tn_set_num(w, GT_MIN(INT64_C(4194304), GT_MAX(INT64_C(65536), 1024 * cpus)),
		    "each thread has a process id: loaders, OpenMP and NCCL start many on %ld CPUs", (long)cpus);
}

const struct tn_tunable tn_tunable_pid_max = {
	.id = "kernel.pid_max",
	.summary = "maximum number of processes and threads",
	.why = "Each thread needs a process id. Eight ranks with sixteen loader workers each can exceed the kernel's "
	       "default of 32768 with their OpenMP and library threads. fork then fails in the middle of a run. Debian's "
	       "systemd sets 4194304.",
	.hazard = "None known. gputune only raises the value.",
	.unit = "ids",
	.mechanism = "",
	.unmoved = "a limit: programs that reach it fail, but nothing becomes faster",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned",
	.range = { { 32768, 4194304, 0 } },
	.desired = want_pid_max,
};

static void want_inotify_instances(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 1024,
		    "each TensorBoard, notebook and container runtime of a user needs some; 128 are too few");
}

static void want_inotify_watches(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 524288, "one per watched directory; trees of checkpoints and logs have many");
}

#define INOTIFY_WHY                                                                                                    \
	"TensorBoard, notebooks, kubelet and file synchronisers of a user share one limit. When it is reached, they " \
	"fail with \"too many open files\" or \"no space left on device\"."

const struct tn_tunable tn_tunable_inotify_instances = {
	.id = "fs.inotify.max_user_instances",
	.summary = "maximum inotify instances of one user",
	.why = INOTIFY_WHY,
	.hazard = "None known. gputune only raises the value.",
	.unit = "instances",
	.mechanism = "",
	.unmoved = "a limit: programs that reach it fail, but nothing becomes faster",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned",
	.range = { { 128, 1048576, 0 } },
	.desired = want_inotify_instances,
};

const struct tn_tunable tn_tunable_inotify_watches = {
	.id = "fs.inotify.max_user_watches",
	.summary = "maximum inotify watches of one user",
	.why = INOTIFY_WHY,
	.hazard = "About 1 KiB of kernel memory for each watch in use. gputune only raises the value.",
	.unit = "watches",
	.mechanism = "",
	.unmoved = "a limit: programs that reach it fail, but nothing becomes faster",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned",
	.range = { { 8192, INT32_MAX, 1024 } },
	.desired = want_inotify_watches,
};

static void want_aio(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 1048576,
		    "loaders that read with libaio (DALI, DeepSpeed's NVMe offload) reserve their queues in advance");
}

const struct tn_tunable tn_tunable_aio_max_nr = {
	.id = "fs.aio-max-nr",
	.summary = "maximum pending asynchronous reads and writes",
	.why = "DeepSpeed's NVMe offload and loaders with libaio reserve thousands of requests per queue and process. The "
	       "kernel's default of 65536 for the whole host is then too low, and io_setup fails.",
	.hazard = "None known: memory is used only for existing queues. gputune only raises the value.",
	.unit = "requests",
	.mechanism = "",
	.unmoved = "a limit: programs that reach it fail, but nothing becomes faster",
	.tag = 'A',
	.takes_effect = TN_NEW_PROCESS,
	.op = TN_RAISE,
	.rivals = "tuned",
	.range = { { 65536, INT32_MAX, 128 } },
	.desired = want_aio,
};

static void want_file_max(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, GT_MAX(INT64_C(1048576), memory_pages(c)),
		    "for ranks, loader workers and memory-mapped shards of all users");
}

const struct tn_tunable tn_tunable_file_max = {
	.id = "fs.file-max",
	.summary = "maximum open files of all programs together",
	.why = "systemd removes this limit at boot, but guides that set a constant lower it again. On hosts without systemd "
	       "it is a tenth of memory. When it is reached, every program on the host fails with \"too many open files in "
	       "system\".",
	.hazard = "None known: memory is used only for open files. gputune only raises the value.",
	.unit = "files",
	.mechanism = "",
	.unmoved = "a limit: programs that reach it fail, but nothing becomes faster",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned",
	.range = { { 65536, INT64_MAX, 0 } },
	.desired = want_file_max,
};
