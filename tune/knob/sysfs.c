/* SPDX-License-Identifier: Apache-2.0 */
/* Settings in /sys: huge pages, disks, CPU frequency. */
#include <string.h>
#include "tune/knob/list.h"

/* ---- transparent huge pages (Documentation/admin-guide/mm/transhuge.rst) ---------------------------------------- */

static bool on_cmdline(const struct tn_ctx *c, const char *word)
{
	return c->host->kernel.cmdline.v && strstr(c->host->kernel.cmdline.v, word);
}

/* What a profile asks for is taken; by itself only "never" is changed, since "always" has to be measured first. */
static void want_thp_enabled(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (on_cmdline(c, "transparent_hugepage="))
		tn_leave(w, TN_SKIPPED, "the kernel command line sets it");
	else if (c->asked)
		tn_want(w, c->asked, "asked for by the profile: fewer page faults and TLB misses on large tensors");
	else if (now->current && !strcmp(now->current, "never"))
		tn_want(w, "madvise", "so that programs which ask for huge pages get them");
	else
		tn_leave(w, TN_ALREADY, "programs that ask for huge pages get them");
}

static const char *const thp_enabled_choices[] = { "always", "madvise", "never", NULL };
const struct tn_knob tn_knob_thp_enabled = {
	.id = "thp.enabled",
	.path = "/sys/kernel/mm/transparent_hugepage/enabled",
	.summary = "huge pages without being asked, on request, or never",
	.why = "A page of 2 MiB costs one fault and one TLB entry instead of 512. Large arrays gain most. \"madvise\" "
	       "gives them to programs that ask (PyTorch with THP_MEM_ALLOC_ENABLE=1, glibc with "
	       "glibc.malloc.hugetlb=1); \"always\" is for programs that do not, and is to be measured.",
	.hazard = "\"always\" swells resident memory under jemalloc and TCMalloc (jemalloc issue 1127: half as much "
		  "again). Only new mappings are affected: restart the program.",
	.unit = "choice",
	.mechanism = "alloc",
	.tag = 'B',
	.takes_effect = TN_NEW_PROCESS,
	.op = TN_SET,
	.form = TN_TMPFILES_D,
	.rivals = "tuned",
	.choices = thp_enabled_choices,
	.desired = want_thp_enabled,
};

static void want_thp_defrag(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (c->asked)
		tn_want(w, c->asked, "asked for by the profile");
	else if (now->current && !strcmp(now->current, "always"))
		tn_want(w, "madvise",
			"no program should wait for memory to be compacted that did not ask for huge pages");
	else
		tn_leave(w, TN_ALREADY, "only programs that ask wait for memory to be compacted");
}

static const char *const thp_defrag_choices[] = { "always", "defer", "defer+madvise", "madvise", "never", NULL };
const struct tn_knob tn_knob_thp_defrag = {
	.id = "thp.defrag",
	.path = "/sys/kernel/mm/transparent_hugepage/defrag",
	.summary = "who waits for memory to be compacted into huge pages",
	.why = "With \"always\" every page fault may stop to compact memory: stalls of milliseconds in the middle of a "
	       "step. With \"defer+madvise\" those who ask wait, and the kernel compacts in the background for the "
	       "others.",
	.hazard = "With less compaction fewer huge pages are found once memory is fragmented.",
	.unit = "choice",
	.mechanism = "alloc",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.form = TN_TMPFILES_D,
	.rivals = "tuned",
	.choices = thp_defrag_choices,
	.desired = want_thp_defrag,
};

/* ---- disks ------------------------------------------------------------------------------------------------------- */

static const struct pr_block *find_block(const struct pr_host *h, const char *name)
{
	for (size_t i = 0; i < h->n_block; i++)
		if (gt_streq(h->block[i].name, name))
			return &h->block[i];
	return NULL;
}

static void all_blocks(const struct pr_host *h, struct gt_strv *ret)
{
	for (size_t i = 0; i < h->n_block; i++)
		gt_strv_add(ret, h->block[i].name);
}

/* A disk's name may be another one's after the next boot; its size goes with it. */
static char *udev_line(const struct pr_host *h, const char *disk, const char *attribute, const char *value)
{
	const struct pr_block *b = find_block(h, disk);

	if (!b || !pr_has(b->size_bytes))
		return NULL;
	return gt_xasprintf("ACTION==\"add\", SUBSYSTEM==\"block\", KERNEL==\"%s\", ATTR{size}==\"%ld\", "
			    "ATTR{queue/%s}=\"%s\"", disk, b->size_bytes.v / 512, attribute, value);
}

static void want_read_ahead(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	const struct pr_block *b = find_block(c->host, now->instance);
	bool spinning = b && pr_or(b->rotational, 0) == 1;

	tn_want_num(w, spinning ? 8192 : 4096,
		    "%s; shards that are read in order keep the disk busy while the step computes",
		    spinning ? "a spinning disk: fewer seeks between readers" : "no seeks here");
}

static char *read_ahead_line(const struct pr_host *h, const char *instance, const char *value)
{
	return udev_line(h, instance, "read_ahead_kb", value);
}

const struct tn_knob tn_knob_read_ahead = {
	.id = "block.read_ahead",
	.path = "/sys/block/%s/queue/read_ahead_kb",
	.instances = all_blocks,
	.summary = "how far ahead of a sequential reader a disk is read",
	.why = "Shards (tar, TFRecord, memory-mapped token files) are read in order; the default of 128 KiB makes many "
	       "small requests. tuned's throughput, accelerator and hpc profiles raise it to 4096.",
	.hazard = "Data sets of small files in random order read more than they use. No effect on O_DIRECT and "
		  "GPUDirect Storage.",
	.unit = "KiB",
	.mechanism = "",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.form = TN_UDEV_RULE,
	.rivals = "tuned",
	.desired = want_read_ahead,
	.boot_line = read_ahead_line,
};

static bool offers(const char *line, const char *word)
{
	for (const char *p = line; p && *p;) {
		size_t n = strcspn(p, " []");

		if (n == strlen(word) && !strncmp(p, word, n))
			return true;
		p += n ? n : 1;
	}
	return false;
}

static void want_scheduler(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	const struct pr_block *b = find_block(c->host, now->instance);
	const char *line = b ? b->scheduler.v : NULL, *want;

	if (!line || !strchr(line, '[')) {
		tn_not_applicable(w, "this disk has no choice of schedulers");
		return;
	}
	if (gt_starts_with(now->instance, "vd") || gt_starts_with(now->instance, "xvd")) {
		tn_not_applicable(w, "a virtual disk: the host beneath orders the requests");
		return;
	}
	want = c->asked ? c->asked : gt_starts_with(now->instance, "nvme") ? "none" : "mq-deadline";
	if (!offers(line, want))
		tn_not_applicable(w, "this kernel does not offer %s for this disk", want);
	else if (!strcmp(want, "none"))
		tn_want(w, want, "NVMe has its own deep queues; ordering requests in the kernel only costs");
	else
		tn_want(w, want, "readers are served before a checkpoint's writes");
}

static char *scheduler_line(const struct pr_host *h, const char *instance, const char *value)
{
	return udev_line(h, instance, "scheduler", value);
}

static const char *const scheduler_choices[] = { "none", "mq-deadline", "kyber", "bfq", NULL };
const struct tn_knob tn_knob_scheduler = {
	.id = "block.scheduler",
	.path = "/sys/block/%s/queue/scheduler",
	.instances = all_blocks,
	.summary = "the order in which a disk's requests are served",
	.why = "none for NVMe, which has queues of its own; mq-deadline for SATA and spinning disks, where a "
	       "checkpoint's writes otherwise starve the data loader's reads.",
	.hazard = "Changing it resets the queue's nr_requests. Desktops with many interactive users may want bfq.",
	.unit = "choice",
	.mechanism = "",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.form = TN_UDEV_RULE,
	.rivals = "tuned",
	.choices = scheduler_choices,
	.desired = want_scheduler,
	.boot_line = scheduler_line,
};

/* ---- CPU frequency ------------------------------------------------------------------------------------------------
 */

static void all_policies(const struct pr_host *h, struct gt_strv *ret)
{
	for (size_t i = 0; i < h->n_cpufreq; i++)
		gt_strv_add(ret, h->cpufreq[i].policy);
}

static void want_governor(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	const char *want = c->asked ? c->asked : "performance", *available = NULL;

	for (size_t i = 0; i < c->host->n_cpufreq; i++)
		if (!strcmp(c->host->cpufreq[i].policy, now->instance))
			available = c->host->cpufreq[i].available.v;
	if (available && !offers(available, want))
		tn_not_applicable(w, "this policy does not offer %s", want);
	else
		tn_want(w, want, "no ramp-up at the start of each burst of work");
}

static const char *const governor_choices[] = { "performance", "powersave", "ondemand", "conservative", "schedutil",
						"userspace", NULL };
const struct tn_knob tn_knob_governor = {
	.id = "cpu.governor",
	.path = "/sys/devices/system/cpu/cpufreq/%s/scaling_governor",
	.instances = all_policies,
	.summary = "how CPU frequency follows the load",
	.why = "A governor that follows the load is late by milliseconds at the start of each burst; short steps and "
	       "the launching of GPU kernels feel it. NVIDIA's DGX and tuned's throughput profiles use performance.",
	.hazard = "Power. On laptops and hosts at their power limit the busy cores lose turbo. With intel_pstate or "
		  "amd_pstate in active mode the energy preference matters more.",
	.unit = "choice",
	.mechanism = "train.gpt",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.form = TN_TMPFILES_D,
	.rivals = "tuned power-profiles-daemon tlp cpufrequtils",
	.choices = governor_choices,
	.desired = want_governor,
};
