/* SPDX-License-Identifier: Apache-2.0 */
/* Settings in /sys: huge pages, disks, CPU frequency. */
#include <string.h>
#include "lib/buf.h"
#include "tune/knob/list.h"
#include "tune/model/value.h"

/* ---- transparent huge pages (Documentation/admin-guide/mm/transhuge.rst) ---------------------------------------- */

static bool on_cmdline(const struct tn_ctx *c, const char *word)
{
	return c->host->kernel.cmdline.v && strstr(c->host->kernel.cmdline.v, word);
}

static bool is_not_on_cmdline(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return !on_cmdline(c, "transparent_hugepage=");
}

static const struct tn_precondition not_on_cmdline = { "a kernel command line that does not set it", is_not_on_cmdline,
						       TN_SKIPPED };

/* Uses the profile's value. Without one, changes only "never", because the benefit of "always" must be measured first. */
static void want_thp_enabled(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	if (c->asked)
		tn_set(w, c->asked, "set by the profile%s",
			strcmp(c->asked, "always") ? "" : ": fewer page faults and TLB misses on large tensors");
	else if (now->current && !strcmp(now->current, "never"))
		tn_set(w, "madvise", "programs that request huge pages get them");
	else
		tn_leave(w, TN_ALREADY, "programs that request huge pages get them");
}

static const char *const thp_enabled_choices[] = { "always", "madvise", "never", NULL };
const struct tn_tunable tn_tunable_thp_enabled = {
	.id = "thp.enabled",
	.path = "/sys/kernel/mm/transparent_hugepage/enabled",
	.summary = "use of huge pages: always, on request or never",
	.why = "A huge page of 2 MiB needs one page fault and one TLB entry instead of 512. Programs with large arrays gain "
	       "most. With \"madvise\", a program gets huge pages if it requests them (PyTorch with THP_MEM_ALLOC_ENABLE=1, "
	       "glibc with glibc.malloc.hugetlb=1). With \"always\", all programs get them; measure the benefit first.",
	.hazard = "\"always\" increases the resident memory of programs with jemalloc or TCMalloc (jemalloc issue 1127: by "
		  "half). Only new mappings are affected: restart the program.",
	.unit = "choice",
	.mechanism = "mem.fault",
	.tag = 'B',
	.takes_effect = TN_NEW_PROCESS,
	.op = TN_SET,
	.rivals = "tuned",
	.choices = thp_enabled_choices,
	.preconditions = { &not_on_cmdline },
	.desired = want_thp_enabled,
};

static void want_thp_defrag(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	if (c->asked)
		tn_set(w, c->asked, "set by the profile");
	else if (now->current && !strcmp(now->current, "always"))
		tn_set(w, "madvise",
			"programs that do not request huge pages should not wait for memory to be compacted");
	else if (gt_streq(now->current, "never") || gt_streq(now->current, "defer"))
		tn_leave(w, TN_ALREADY, "no program waits for memory to be compacted, not even those that request huge pages");
	else
		tn_leave(w, TN_ALREADY, "only programs that request huge pages wait for memory to be compacted");
}

static const char *const thp_defrag_choices[] = { "always", "defer", "defer+madvise", "madvise", "never", NULL };
const struct tn_tunable tn_tunable_thp_defrag = {
	.id = "thp.defrag",
	.path = "/sys/kernel/mm/transparent_hugepage/defrag",
	.summary = "which programs wait for memory compaction",
	.why = "With \"always\" every page fault may compact memory, which stalls a step for milliseconds. With "
	       "\"defer+madvise\", only programs that request huge pages wait. For the others, the kernel compacts memory "
	       "in the background.",
	.hazard = "With less compaction, fewer huge pages are available once memory is fragmented.",
	.unit = "choice",
	.mechanism = "mem.fault",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
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
	for (size_t i = 0; i < h->n_volume; i++)
		if (gt_streq(h->volume[i].name, name))
			return &h->volume[i];
	return NULL;
}

static void all_blocks(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	for (size_t i = 0; i < h->n_block; i++)
		gt_strv_add(ret, h->block[i].name);
}

static void all_that_is_read(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	all_blocks(fs, h, ret);
	for (size_t i = 0; i < h->n_volume; i++)
		gt_strv_add(ret, h->volume[i].name);
}

/*
 * Returns whether a device-mapper volume has a name that a udev rule can match, that is, one without pattern characters.
 */
static bool is_named(const struct pr_block *b)
{
	return gt_starts_with(b->name, "dm-") && b->uuid.v && *b->uuid.v && !strpbrk(b->uuid.v, "\"\\*?[]|$%");
}

/*
 * A disk may have another name after the next boot, so the rule compares its size too. The rule also matches "change"
 * events. They occur each time a disk that was open for writing is closed, and rules of other programs match them. A
 * rule for "add" alone would be overridden by the first of these events.
 */
static char *udev_line(const struct pr_host *h, const char *disk, const char *attribute, const char *value)
{
	const struct pr_block *b = find_block(h, disk);

	if (!b || !pr_has(b->size_bytes))
		return NULL;
	if (is_named(b))
		return gt_xasprintf("ACTION==\"add|change\", SUBSYSTEM==\"block\", KERNEL==\"dm-*\", ATTR{dm/uuid}==\"%s\", "
				    "ATTR{queue/%s}=\"%s\"", b->uuid.v, attribute, value);
	return gt_xasprintf("ACTION==\"add|change\", SUBSYSTEM==\"block\", KERNEL==\"%s\", ATTR{size}==\"%ld\", "
			    "ATTR{queue/%s}=\"%s\"", disk, b->size_bytes.v / 512, attribute, value);
}

static bool is_read_itself(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	const struct pr_block *b = find_block(c->host, now->instance);

	if (!b || !b->holder)
		return true;
	gt_buf_printf(found, "all of it is read through %s", b->holder);
	return false;
}

static const struct tn_precondition read_itself = { "a device that programs read directly, not through a volume of LVM or RAID",
						    is_read_itself };

static void want_read_ahead(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	const struct pr_block *b = find_block(c->host, now->instance);
	bool is_virtual = pr_is_virtual_disk(c->host, now->instance), spinning = b && !is_virtual && pr_or(b->rotational, 0) == 1;

	tn_set_num(w, spinning ? 8192 : 4096,
		    "%s; shards that are read in order keep the disk busy during the computation",
		    spinning   ? "a spinning disk: fewer seeks between readers" :
		    is_virtual ? "a virtual disk of unknown type" :
				 "no seeks");
}

static char *read_ahead_line(const struct pr_host *h, const char *instance, const char *value)
{
	return udev_line(h, instance, "read_ahead_kb", value);
}

const struct tn_tunable tn_tunable_read_ahead = {
	.id = "block.read_ahead",
	.path = "/sys/block/%s/queue/read_ahead_kb",
	.instances = all_that_is_read,
	.preconditions = { &read_itself },
	.names_change = true,
	.summary = "read-ahead of a disk for sequential readers",
	.why = "Shards (tar, TFRecord, memory-mapped token files) are read in order. The default of 128 KiB makes many "
	       "small requests. tuned's throughput, accelerator and hpc profiles raise it to 4096. For an LVM or RAID "
	       "volume, gputune sets the value of the volume, because that of its disks has no effect.",
	.hazard = "If small files are read in random order, more data is read than used. There is no effect on O_DIRECT and "
		  "GPUDirect Storage.",
	.unit = "KiB",
	.mechanism = "file.read",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned",
	.range = { { 16, 131072, 0 } },
	.desired = want_read_ahead,
	.boot_line = read_ahead_line,
};

static const char *choice_line(const struct tn_ctx *c, const struct tn_now *now)
{
	const struct pr_block *b = find_block(c->host, now->instance);

	return b && b->scheduler.v ? b->scheduler.v : "";
}

static const char *scheduler(const struct tn_now *now)
{
	return gt_starts_with(now->instance, "nvme") ? "none" : "mq-deadline";
}

static bool has_choice(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return strchr(choice_line(c, now), '[');
}

static bool is_real_disk(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return !pr_is_virtual_disk(c->host, now->instance);
}

static bool has_scheduler(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	const char *want = c->asked ? c->asked : scheduler(now);

	if (tn_offers(choice_line(c, now), want))
		return true;
	gt_buf_printf(found, "it does not offer %s", want);
	return false;
}

static const struct tn_precondition a_choice = { "a disk with a choice of schedulers", has_choice };
static const struct tn_precondition real_disk = { "a disk that is not virtual (for a virtual one the host below orders the "
						  "requests)",
						  is_real_disk };
static const struct tn_precondition offered_scheduler = { "a kernel that offers this scheduler for the disk", has_scheduler };

static void want_scheduler(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	const char *want = scheduler(now);

	tn_set(w, want, "%s", strcmp(want, "none") ? "reads have priority over the writes of a checkpoint" :
						      "NVMe has deep queues of its own; ordering in the kernel only costs time");
}

static char *scheduler_line(const struct pr_host *h, const char *instance, const char *value)
{
	return udev_line(h, instance, "scheduler", value);
}

static const char *const scheduler_choices[] = { "none", "mq-deadline", "kyber", "bfq", NULL };
const struct tn_tunable tn_tunable_scheduler = {
	.id = "block.scheduler",
	.path = "/sys/block/%s/queue/scheduler",
	.resets = "/sys/block/%s/queue/nr_requests",
	.instances = all_blocks,
	.names_change = true,
	.summary = "order in which a disk's requests are served",
	.why = "For NVMe disks, which have their own queues, gputune sets none. For SATA and spinning disks it sets "
	       "mq-deadline; otherwise the writes of a checkpoint delay the reads of the data loader.",
	.hazard = "A change resets the queue's nr_requests and iosched/* to the kernel's defaults. Revert restores "
		  "nr_requests, but not iosched/*. Desktops with many interactive users may want bfq.",
	.unit = "choice",
	.mechanism = "file.read",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.rivals = "tuned",
	.choices = scheduler_choices,
	.preconditions = { &a_choice, &real_disk, &offered_scheduler },
	.desired = want_scheduler,
	.boot_line = scheduler_line,
};

/* ---- merging and shared memory ------------------------------------------------------------------------------------ */

static bool has_no_guests(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return !c->facts->virtual_machines;
}

static const struct tn_precondition no_guests = { "a host without virtual machines, which need the memory that it saves",
						  has_no_guests };

static void want_ksm(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	if (!c->asked && !gt_streq(now->current, "1"))
		tn_leave(w, TN_ALREADY, "it does not run");
	else
		tn_set(w, "0", "no virtual machine runs here, and its thread scans memory all the time");
}

/* Opt-in, because it is a single value that can be restored. Not offered if guests benefit from merging. */
static const char *const ksm_choices[] = { "0", "1", "2", NULL };
const struct tn_tunable tn_tunable_ksm = {
	.id = "ksm.run",
	.path = "/sys/kernel/mm/ksm/run",
	.summary = "kernel thread that merges equal pages",
	.why = "The thread is made for hosts of virtual machines. On other hosts it only uses CPU time and memory "
	       "bandwidth.",
	.hazard = "Hosts of virtual machines need the memory that it saves. gputune does not change the setting there.",
	.unit = "choice",
	.mechanism = "",
	.unmoved = "costs time only if programs mark memory for merging, which no workload does",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.rivals = "tuned ksmtuned",
	.choices = ksm_choices,
	.preconditions = { &no_guests },
	.desired = want_ksm,
};
