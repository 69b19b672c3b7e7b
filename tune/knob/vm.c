/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and write-back. Source unless stated otherwise: Documentation/admin-guide/sysctl/{vm,kernel}.rst of Linux. */
#include <string.h>
#include "lib/buf.h"
#include "tune/knob/list.h"

#define GIB		(INT64_C(1) << 30)
#define BIG_HOST_BYTES	(128 * GIB) /* memory size above which a percentage of memory takes minutes to write */

static int64_t memory(const struct tn_ctx *c)
{
	return pr_or(c->host->mem.total_bytes, 0);
}

/* ---- write-back ------------------------------------------------------------------------------------------------ */

#define DIRTY_WHY                                                                                                      \
	"Programs write files to memory first. At the background limit, the kernel starts to write this data to " \
	"disk. At the other limit, it makes the program wait. A checkpoint above that limit stalls the step that " \
	"saves it. The percentage is of available memory: with 1 TB, the default of 20 is 200 GB, which takes " \
	"minutes to write."
#define DIRTY_HAZARD                                                                                                   \
	"If it is too low, each checkpoint is limited to the speed of the disk. Other tools disagree: tuned uses 40 " \
	"for throughput and 10 for latency. gputune only lowers the value. To compare a percentage with bytes, it " \
	"takes the percentage of all memory."

static bool is_small(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return memory(c) < BIG_HOST_BYTES;
}

static bool is_big(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return memory(c) >= BIG_HOST_BYTES;
}

static bool has_no_bytes(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	if (!gt_streq(now->current, "0") || !now->pair || !strcmp(now->pair, "0"))
		return true;
	gt_buf_printf(found, "the host has %s", now->pair);
	return false;
}

/* If both forms are 0, there is no old value that revert could restore. */
static bool has_one_form(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return !gt_streq(now->current, "0") || !gt_streq(now->pair, "0");
}

static const struct tn_precondition small_host = { "less than 128 GiB of memory (larger hosts use the knob in bytes)", is_small };
static const struct tn_precondition big_host = { "128 GiB of memory or more (smaller hosts use the knob in percent)", is_big };
static const struct tn_precondition no_bytes = { "no value in bytes", has_no_bytes, TN_SKIPPED };
static const struct tn_precondition one_form = { "a value other than 0, in percent or in bytes", has_one_form, TN_BLOCKED };

static void ratio(struct tn_desired *w, int64_t percent)
{
	tn_set_num(w, percent, "half of the kernel's default: writing starts earlier, and the stall at the end is shorter");
}

static void want_dirty_ratio(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	ratio(w, 10);
}

static void want_dirty_background_ratio(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	ratio(w, 5);
}

const struct tn_tunable tn_tunable_dirty_ratio = {
	.id = "vm.dirty_ratio",
	.summary = "unwritten data (%) at which programs wait",
	.why = DIRTY_WHY,
	.hazard = DIRTY_HAZARD,
	.unit = "percent",
	.mechanism = "file.writeback",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_LOWER,
	.rivals = "tuned",
	.preconditions = { &small_host, &no_bytes, &one_form },
	.range = { { 1, 60, 0 } },
	.desired = want_dirty_ratio,
};
const struct tn_tunable tn_tunable_dirty_background_ratio = {
	.id = "vm.dirty_background_ratio",
	.summary = "unwritten data (%) at which writing starts",
	.why = DIRTY_WHY,
	.hazard = DIRTY_HAZARD,
	.unit = "percent",
	.mechanism = "file.writeback",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_LOWER,
	.rivals = "tuned",
	.preconditions = { &small_host, &no_bytes, &one_form },
	.range = { { 1, 50, 0 } },
	.desired = want_dirty_background_ratio,
};

/*
 * The hard limit is a 16th of memory, but between 8 and 16 GiB, which NVMe disks write within seconds. The background
 * limit is a quarter of it. Hosts with slower disks get the same limits: with lower ones, checkpoints that fit into
 * memory now would have to wait for the disk.
 */
static int64_t hard_limit(const struct tn_ctx *c)
{
	return GT_MIN(16 * GIB, GT_MAX(8 * GIB, memory(c) / 16 / GIB * GIB));
}

/* Returns an upper bound: the kernel applies the percentage to available memory, which is at most all memory. */
static int64_t percent_bytes(const struct pr_host *h, int64_t percent)
{
	return pr_or(h->mem.total_bytes, 0) / 100 * percent;
}

static const struct {
	double bytes; /* bytes per second */
	const char *text;
} speeds[] = {
	{ 200e6, "spinning disk; assuming 200 MB/s" },
	{ 500e6, "disk type unknown; assuming 500 MB/s" },
	{ 500e6, "SATA SSD; assuming 500 MB/s" },
	{ 3e9, "NVMe disk; assuming 3 GB/s" },
};

/* Returns an index into speeds. The rotational flag of a virtual disk does not describe the physical disk. */
static size_t speed_of(const struct pr_host *h, const struct pr_block *disk)
{
	if (gt_starts_with(disk->name, "nvme"))
		return 3;
	if (pr_is_virtual_disk(h, disk->name) || !pr_has(disk->rotational))
		return 1;
	return pr_or(disk->rotational, 0) == 1 ? 0 : 2;
}

/* Describes how long the fastest disk of the host needs to write the new limit, and the present limit. */
static void want_by_disk_speed(const struct pr_host *h, int64_t want, int64_t percent, struct tn_desired *w)
{
	double now = (double)percent_bytes(h, percent), rate;
	size_t k = h->n_block ? 0 : 1;

	for (size_t i = 0; i < h->n_block; i++)
		k = GT_MAX(k, speed_of(h, &h->block[i]));
	rate = speeds[k].bytes;
	if (percent)
		tn_set_num(w, want, "writing %ld GiB takes %.0f s, %ld percent of memory up to %.0f s (%s)", want / GIB,
			    (double)want / rate, percent, now / rate, speeds[k].text);
	else
		tn_set_num(w, want, "writing %ld GiB takes %.0f s (%s)", want / GIB, (double)want / rate, speeds[k].text);
}

static void bytes(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w, int64_t want)
{
	int64_t percent = 0, limit = want;

	if (c->asked && gt_parse_i64(c->asked, &limit) < 0)
		limit = want;
	if (gt_streq(now->current, "0") && now->pair && !gt_parse_i64(now->pair, &percent) &&
	    percent_bytes(c->host, percent) <= limit)
		tn_leave(w, TN_ALREADY, "%ld percent of memory is in force, which is less; never raised", percent);
	else
		want_by_disk_speed(c->host, want, percent, w);
}

static void want_dirty_bytes(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	bytes(c, now, w, hard_limit(c));
}

static void want_dirty_background_bytes(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	bytes(c, now, w, hard_limit(c) / 4);
}

const struct tn_tunable tn_tunable_dirty_bytes = {
	.id = "vm.dirty_bytes",
	.summary = "unwritten bytes at which programs wait",
	.why = DIRTY_WHY,
	.hazard = DIRTY_HAZARD,
	.unit = "bytes",
	.mechanism = "file.writeback",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_LOWER,
	.rivals = "tuned",
	.from_pair = percent_bytes,
	.preconditions = { &big_host, &one_form },
	.range = { { 16 << 20, INT64_MAX, 2 } },
	.desired = want_dirty_bytes,
};
const struct tn_tunable tn_tunable_dirty_background_bytes = {
	.id = "vm.dirty_background_bytes",
	.summary = "unwritten bytes at which writing starts",
	.why = DIRTY_WHY,
	.hazard = DIRTY_HAZARD,
	.unit = "bytes",
	.mechanism = "file.writeback",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_LOWER,
	.rivals = "tuned",
	.from_pair = percent_bytes,
	.preconditions = { &big_host, &one_form },
	.range = { { 4 << 20, INT64_MAX, 4 } },
	.desired = want_dirty_background_bytes,
};

/* ---- reclaim --------------------------------------------------------------------------------------------------- */

static bool has_swap(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return pr_or(c->host->mem.swap_total_bytes, 0) != 0;
}

static bool swaps_to_disk(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return !c->facts->swap_is_zram;
}

static const struct tn_precondition swap = { "swap space", has_swap };
static const struct tn_precondition swap_on_disk = { "swap on a disk (compressed memory, zram, needs a high value)", swaps_to_disk,
						     TN_SKIPPED };

static void want_swappiness(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 10, "a trainer uses all its memory in every step; cached files should be dropped first");
}

const struct tn_tunable tn_tunable_swappiness = {
	.id = "vm.swappiness",
	.summary = "how readily the kernel swaps out memory",
	.why = "A training process uses nearly all its memory in every step, so each page that is swapped out stalls a "
	       "later step. tuned's throughput and accelerator profiles use 10.",
	.hazard = "With 0 the cached data set is dropped first, and memory runs out earlier. Hosts that swap to zram need a "
		  "high value.",
	.unit = "0 to 200",
	.mechanism = "",
	.unmoved = "has an effect only if memory runs short, which no workload causes",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_LOWER,
	.rivals = "tuned",
	.preconditions = { &swap, &swap_on_disk },
	.range = { { 0, 200, 0 } },
	.desired = want_swappiness,
};

static size_t nodes_with_cpus(const struct pr_host *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_node; i++)
		n += gt_set_count(&h->node[i].cpus) > 0;
	return n;
}

/* Bits of kernel.numa_balancing: 1 is balancing, 2 is memory tiering, 3 is both. */
static bool has_no_tiers(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	int64_t mode = 0;

	if (!now->current || gt_parse_i64(now->current, &mode) || !(mode & 2))
		return true;
	gt_buf_printf(found, "it moves pages between memory tiers (%ld)", mode);
	return false;
}

static bool has_two_nodes_with_cpus(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return nodes_with_cpus(c->host) >= 2;
}

static const struct tn_precondition no_tiers = { "no memory tiering (2)", has_no_tiers, TN_SKIPPED };
static const struct tn_precondition two_nodes_with_cpus = { "two or more NUMA nodes with CPUs", has_two_nodes_with_cpus };

static void want_numa_balancing(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 0, "only together with binding: start the job with gputune run or in a cpuset");
}

const struct tn_tunable tn_tunable_numa_balancing = {
	.id = "kernel.numa_balancing",
	.summary = "moving pages to the node that uses them",
	.why = "The kernel unmaps pages for a moment to find out which threads use them. This has no benefit for a job that "
	       "is bound to its node. The kernel's documentation advises to disable it for such jobs.",
	.hazard = "Programs without binding become slower. A loss of up to 20 % was reported when a tuned profile "
		"switched it off for all hosts (tuned pull request 283).",
	.unit = "0 or 1",
	.mechanism = "mem.bw",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_LOWER,
	.rivals = "tuned numad",
	.preconditions = { &no_tiers, &two_nodes_with_cpus },
	.range = { { 0, 4, 0 } },
	.desired = want_numa_balancing,
};

static bool has_two_nodes(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return c->host->n_node >= 2;
}

const struct tn_precondition tn_two_nodes = { "two or more NUMA nodes", has_two_nodes };

static void want_zone_reclaim_mode(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 0, "uses free memory of other nodes before it drops cached data");
}

const struct tn_tunable tn_tunable_zone_reclaim_mode = {
	.id = "vm.zone_reclaim_mode",
	.summary = "dropping cached data before using another node",
	.why = "If it is on, the kernel drops cached data of a node that is full, even if other nodes have free memory. A "
	       "data set that would fit into the page cache of the host is then read from disk again. The kernel's "
	       "documentation advises to leave it disabled for such workloads.",
	.hazard = "tuned's hpc-compute profile switches it on for programs that fit on one node; these may need it.",
	.unit = "bit mask",
	.mechanism = "",
	.unmoved = "has an effect only if the memory of a node is full, which no workload causes",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_LOWER,
	.rivals = "tuned",
	.preconditions = { &tn_two_nodes },
	.range = { { 0, 7, 0 } },
	.desired = want_zone_reclaim_mode,
};

/* One mapping per MiB of memory, between the minimum for large allocators and a useful maximum. */
static void want_max_map_count(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	int64_t n = GT_MIN(INT64_C(4194304), GT_MAX(INT64_C(262144), memory(c) >> 20));

	tn_set_num(w, n, "memory-mapped shards and allocators with expandable segments use many mappings");
}

const struct tn_tunable tn_tunable_max_map_count = {
	.id = "vm.max_map_count",
	.summary = "maximum memory mappings of one process",
	.why = "Memory-mapped data sets, jemalloc and PyTorch's expandable segments reach the default of 65530. mmap then "
	       "fails with \"cannot allocate memory\" in the middle of a run. NVIDIA raises it on GB200.",
	.hazard = "None known: a mapping costs about 200 bytes of kernel memory while it exists.",
	.unit = "mappings",
	.mechanism = "",
	.unmoved = "a limit: programs that reach it fail, but nothing becomes faster",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned",
	.range = { { 65530, INT32_MAX, 0 } },
	.desired = want_max_map_count,
};

/* ---- reserves ------------------------------------------------------------------------------------------------- */

static bool has_memory(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return memory(c) >= 32 * GIB;
}

static const struct tn_precondition enough_memory = { "32 GiB of memory or more", has_memory };

/* The values of NVIDIA and of tuned's hpc-compute (65536, 135168), but at most half a percent of memory. */
static void want_min_free(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, GT_MIN(INT64_C(135168), memory(c) / 1024 / 200),
		    "network and disk drivers find free memory even if the page cache is full");
}

const struct tn_tunable tn_tunable_min_free_kbytes = {
	.id = "vm.min_free_kbytes",
	.summary = "memory kept free for urgent requests",
	.why = "On a host that reads data sets, the page cache fills all memory. An interrupt of a network card then finds no "
	       "free memory and drops packets, and the kernel reclaims memory in a hurry. NVIDIA and tuned's hpc-compute raise "
	       "the value.",
	.hazard = "A value that is too high makes the host run out of memory at once; gputune sets at most half a percent "
		  "of memory. gputune only raises the value, because the kernel's default on large hosts is higher than the "
		  "value of other tools.",
	.unit = "KiB",
	.mechanism = "",
	.unmoved = "has an effect only if memory runs short, which no workload causes",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned",
	.preconditions = { &enough_memory },
	.range = { { 1024, INT32_MAX, 200 * 1024 } },
	.desired = want_min_free,
};

/* ---- compaction ------------------------------------------------------------------------------------------------ */

static bool has_huge_pages(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return !(gt_streq(c->host->mem.thp_enabled.v, "never") || c->host->mem.thp_enabled.state == PR_ABSENT);
}

static const struct tn_precondition huge_pages = { "transparent huge pages that are not switched off", has_huge_pages };

static void want_compaction(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 20, "the kernel's default: compacts free memory before a program requests a huge page");
}

const struct tn_tunable tn_tunable_compaction_proactiveness = {
	.id = "vm.compaction_proactiveness",
	.summary = "background compaction of free memory",
	.why = "Guides for low latency set 0 (off). Then, in fragmented memory, a large tensor gets small pages, or its "
	       "page faults must compact memory. The kernel's default is 20 (since Linux 5.9).",
	.hazard = "Compaction moves pages of all processes, which can delay other programs for a moment. gputune only "
		  "raises the value to the default, and not on hosts without huge pages.",
	.unit = "percent",
	.mechanism = "",
	.unmoved = "has an effect only if memory is fragmented, which no workload causes",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned",
	.preconditions = { &huge_pages },
	.range = { { 0, 100, 0 } },
	.desired = want_compaction,
};
