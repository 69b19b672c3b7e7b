/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel settings that tuning guides change and that gputune never writes. Source unless stated otherwise:
 * Documentation/admin-guide/sysctl of Linux.
 */
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

/* Returns the value. If there is none, sets the result and returns NULL. */
static const char *value_of(const struct pr_context *c, const char *name, struct pr_finding *f)
{
	const struct pr_setting *s = pr_find_setting(c->host, name);
	enum pr_state state = s ? s->now.state : PR_UNKNOWN;

	if (state == PR_ABSENT)
		pr_set(f, PR_SKIP, "this kernel has no %s", name);
	else if (state != PR_PRESENT)
		pr_set(f, PR_NOT_KNOWN, "the value of %s is %s", name, pr_state_name(state));
	return state == PR_PRESENT ? s->now.v : NULL;
}

/* Sets a remedy that changes the setting: the risk, then the lines. */
static void set_instead(const struct pr_context *c, struct pr_finding *f, const char *name, const char *value, const char *risk)
{
	gt_autofree char *lines = pr_setting_lines(pr_find_setting(c->host, name), value);

	pr_remedy(f, "%s%s%s", risk, *risk ? "\n" : "", lines);
}

/* A setting with one bad value. */
struct rule {
	const char *setting, *bad;
	const char *pass;  /* finding with any other value */
	const char *cost;  /* what the bad value costs */
	const char *value; /* value that the remedy sets */
	const char *risk;  /* risk of the remedy, its first line; "": none */
};

static void judge_setting(const struct pr_context *c, struct pr_finding *f)
{
	const struct rule *rule = c->check->rule;
	const char *now = value_of(c, rule->setting, f);

	if (!now)
		return;
	if (strcmp(now, rule->bad)) {
		pr_set(f, PR_PASS, "%s", rule->pass);
		return;
	}
	pr_set(f, PR_ADVICE, "%s", rule->cost);
	set_instead(c, f, rule->setting, rule->value, rule->risk);
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

const struct pr_check pr_check_overcommit = {
	.id = "vm.overcommit-memory",
	.title = "strict overcommit counts reservations as used memory",
	.story = "CUDA reserves address space many times larger than it uses. With vm.overcommit_memory 2 (strict) the "
		 "kernel refuses such a reservation. With 0 and 1, programs can reserve more address space than there is "
		 "memory.",
	.run = judge_setting,
	.rule = &(const struct rule){
		.setting = "vm.overcommit_memory",
		.bad = "2",
		.pass = "strict overcommit is off",
		.cost = "strict overcommit (vm.overcommit_memory 2) refuses CUDA's large reservations of address space",
		.value = "0",
		.risk = "With 0 programs may reserve more memory than there is:" },
};

/* Returns whether the kernel command line allocates the pool of this page size, the default one. hugepages= applies to
 * the preceding hugepagesz=, else to the default size (Documentation/admin-guide/mm/hugetlbpage.rst). */
static bool pool_from_boot(const struct pr_host *h, int64_t page)
{
	uint64_t size = (uint64_t)page;

	for (const char *p = h->kernel.cmdline.v; p && *p; p += strspn(p, " ")) {
		gt_autofree char *word = gt_xstrndup(p, strcspn(p, " "));

		if (gt_starts_with(word, "hugepagesz=") && gt_parse_size(word + strlen("hugepagesz="), &size) < 0)
			size = 0;
		if (gt_starts_with(word, "hugepages=") && size == (uint64_t)page)
			return true;
		p += strlen(word);
	}
	return false;
}

static void hugepages(const struct pr_context *c, struct pr_finding *f)
{
	const char *now = value_of(c, "vm.nr_hugepages", f);
	int64_t n = 0, page = pr_or(c->host->mem.hugepage_bytes, 2 << 20);
	gt_autofree char *boot = NULL, *lines = NULL;
	char each[32], all[32];

	if (!now)
		return;
	gt_parse_i64(now, &n); /* probe/host/settings.c has already checked the range */
	if (!n) {
		pr_set(f, PR_PASS, "no memory is reserved for huge pages");
		return;
	}
	gt_format_bytes(each, sizeof(each), (uint64_t)page);
	gt_format_bytes(all, sizeof(all), (uint64_t)page * (uint64_t)n);
	pr_set(f, PR_ADVICE, "%ld pages of %s (%s) are reserved: PyTorch and most trainers never use them, and the page "
			     "cache loses the memory", n, each, all);
	boot = pool_from_boot(c->host, page) ? pr_remove_word_lines(c->host, "hugepages=") : NULL;
	lines = pr_setting_lines(pr_find_setting(c->host, "vm.nr_hugepages"), "0");
	pr_remedy(f, "Only if no DPDK, SPDK or database uses them:\n%s%s%s", lines, boot ? "\n" : "", boot ? boot : "");
}
const struct pr_check pr_check_hugepages = {
	.id = "vm.nr-hugepages",
	.title = "a pool of huge pages reserves memory",
	.story = "Guides set a constant (NVIDIA's inference profile: 16 GiB on any host). Trainers do not use hugetlbfs, "
		 "and transparent huge pages need no pool. Remove the pool only if no program uses it, because such a "
		 "program then fails.",
	.run = hugepages,
};

/* The setting applies to the kernel's internal mount: System V segments, memfd, shared anonymous mappings. A tmpfs such
 * as /dev/shm follows its huge= option. Only force and deny apply to all of them. */
static void shmem(const struct pr_context *c, struct pr_finding *f)
{
	const char *now = value_of(c, "thp.shmem", f);

	if (!now)
		return;
	if (!strcmp(now, "force")) {
		pr_set(f, PR_ADVICE, "shared memory always uses huge pages: each small tensor from a loader worker takes 2 "
				     "MiB of /dev/shm");
		pr_remedy(f, "  echo never > /sys/kernel/mm/transparent_hugepage/shmem_enabled");
	} else if (c->host->mem.shm_huge && strcmp(now, "deny")) {
		pr_set(f, PR_ADVICE, "/dev/shm is mounted with huge=always: each small tensor from a loader worker takes 2 "
				     "MiB of it");
		pr_remedy(f, "  mount -o remount,huge=never /dev/shm\nand write the same option into /etc/fstab.");
	} else {
		pr_set(f, PR_PASS, "a small tensor in /dev/shm takes no huge page");
	}
}
const struct pr_check pr_check_thp_shmem = {
	.id = "thp.shmem",
	.title = "small tensors in shared memory take whole huge pages",
	.story = "Loader workers pass batches through /dev/shm, one file per tensor. The option huge= of the mount controls "
		 "this, unless /sys/kernel/mm/transparent_hugepage/shmem_enabled is force or deny. Large shared segments "
		 "may become faster with huge pages.",
	.run = shmem,
};

static void shmmax(const struct pr_context *c, struct pr_finding *f)
{
	const char *now = value_of(c, "kernel.shmmax", f);
	uint64_t v = 0;

	if (!now)
		return;
	if (!pr_has(c->host->mem.total_bytes)) {
		pr_set(f, PR_NOT_KNOWN, "the amount of memory cannot be read");
		return;
	}
	gt_parse_u64(now, &v); /* the kernel's default exceeds an int64_t */
	if (v >= (uint64_t)c->host->mem.total_bytes.v / 2) {
		pr_set(f, PR_PASS, "a shared memory segment can have half of memory or more");
		return;
	}
	pr_set(f, PR_ADVICE, "a System V shared memory segment must be smaller than half of memory; the kernel's default has "
			     "no limit");
	set_instead(c, f, "kernel.shmmax", "18446744073692774399", "");
}
const struct pr_check pr_check_shmmax = {
	.id = "kernel.shmmax",
	.title = "the limit of shared memory segments is low",
	.story = "Old recipes set kernel.shmmax to a few gigabytes. Since Linux 3.16 there is no limit by default, so "
		 "these recipes lower it.",
	.run = shmmax,
};

/* ---- scheduling ----------------------------------------------------------------------------------------------- */

const struct pr_check pr_check_rt_runtime = {
	.id = "kernel.rt-runtime",
	.title = "real-time threads can take all CPU time",
	.story = "kernel.sched_rt_runtime_us limits the time per second for real-time threads. -1 (no limit) comes "
		 "from recipes for real-time work and has no benefit on a training host.",
	.run = judge_setting,
	.rule = &(const struct rule){
		.setting = "kernel.sched_rt_runtime_us",
		.bad = "-1",
		.pass = "real-time threads leave some time to others",
		.cost = "real-time threads may take all CPU time: one in an endless loop stops the whole host",
		.value = "950000",
		.risk = "" },
};

static void nmi_watchdog(const struct pr_context *c, struct pr_finding *f)
{
	const char *now = value_of(c, "kernel.nmi_watchdog", f);

	if (c->host->virt.state == PR_PRESENT) {
		pr_set(f, PR_SKIP, "a virtual machine has no hardware counter for it");
		return;
	}
	if (!now)
		return;
	if (strcmp(now, "0")) {
		pr_set(f, PR_PASS, "a kernel that hangs with interrupts off is reported");
	} else if (!gt_streq(c->host->kernel.arch.v, "x86_64")) {
		pr_set(f, PR_SKIP, "Debian kernels have this detector on x86_64 only");
	} else {
		pr_set(f, PR_ADVICE, "the watchdog is off: a kernel that hangs with interrupts off is not reported");
		set_instead(c, f, "kernel.nmi_watchdog", "1", "Not while perf, likwid or nsys need the counter:");
	}
}
const struct pr_check pr_check_nmi_watchdog = {
	.id = "kernel.nmi-watchdog",
	.title = "the NMI watchdog is off",
	.story = "The watchdog uses one of the few hardware counters of each CPU, which perf, likwid and nsys need: set "
		 "kernel.nmi_watchdog to 0 while profiling. tuned's latency profiles switch it off permanently, which saves "
		 "one interrupt per busy CPU every ten seconds. If such a host hangs, there is no report of the cause.",
	.run = nmi_watchdog,
};

/* ---- network -------------------------------------------------------------------------------------------------- */

static void rmem_default(const struct pr_context *c, struct pr_finding *f)
{
	const char *now = value_of(c, "net.core.rmem_default", f);
	int64_t bytes = 0;

	if (!now)
		return;
	gt_parse_i64(now, &bytes);
	if (bytes <= 4 << 20) {
		pr_set(f, PR_PASS, "programs that need a larger receive buffer request it");
		return;
	}
	pr_set(f, PR_ADVICE, "every UDP and Unix socket of the host may use a receive buffer of %ld bytes; a program that "
			     "needs more than the default can request it, up to net.core.rmem_max", bytes);
	set_instead(c, f, "net.core.rmem_default", "212992", "The same applies to net.core.wmem_default.");
}
const struct pr_check pr_check_rmem_default = {
	.id = "net.rmem-default",
	.title = "the default receive buffer of sockets is large",
	.story = "Recipes such as NVIDIA's multi-node profile raise net.core.rmem_default to 128 MiB together with "
		 "the maximum. TCP does not use the default; every other socket does.",
	.run = rmem_default,
};

static void busy_read(const struct pr_context *c, struct pr_finding *f)
{
	const char *now = value_of(c, "net.core.busy_read", f);

	if (!now)
		return;
	if (!strcmp(now, "0")) {
		pr_set(f, PR_PASS, "readers of sockets sleep until data arrives");
		return;
	}
	pr_set(f, PR_ADVICE, "each reader of a socket spins for up to %s us, on cores that loader workers need", now);
	set_instead(c, f, "net.core.busy_read", "0", "The same applies to net.core.busy_poll.");
}
const struct pr_check pr_check_busy_read = {
	.id = "net.busy-read",
	.title = "readers of sockets poll the network card",
	.story = "tuned's hpc-compute profile sets net.core.busy_read to 50. Programs that only wait for the network "
		 "get slightly less latency. The polling takes cores that loaders and OpenMP need.",
	.run = busy_read,
};

const struct pr_check pr_check_tcp_window = {
	.id = "net.tcp-window",
	.title = "TCP window scaling is off",
	.story = "Old recipes against broken firewalls set net.ipv4.tcp_window_scaling to 0. A stream then has at most 64 KiB "
		 "in flight, which limits it to 5 Gbit/s at a round-trip time of 100 us (RFC 7323).",
	.run = judge_setting,
	.rule = &(const struct rule){
		.setting = "net.ipv4.tcp_window_scaling",
		.bad = "0",
		.pass = "TCP's windows may be larger than 64 KiB",
		.cost = "TCP sends at most 64 KiB before it waits for an answer: no stream fills a fast link",
		.value = "1",
		.risk = "" },
};

const struct pr_check pr_check_tcp_timestamps = {
	.id = "net.tcp-timestamps",
	.title = "TCP timestamps are off",
	.story = "Recipes of 2006 (mlnx-tools' sysctl_perf_tuning) switch net.ipv4.tcp_timestamps off to save 12 bytes. At 10 "
		 "Gbit/s and more the sequence numbers of a stream repeat within seconds, and only the time distinguishes them.",
	.run = judge_setting,
	.rule = &(const struct rule){
		.setting = "net.ipv4.tcp_timestamps",
		.bad = "0",
		.pass = "TCP measures delays and distinguishes old packets from new ones",
		.cost = "without time stamps TCP cannot distinguish old packets of a fast stream from new ones, and misjudges "
			"delays",
		.value = "1",
		.risk = "" },
};
