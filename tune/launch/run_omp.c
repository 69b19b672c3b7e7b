/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMP: number of threads, binding, and spinning while they wait. */
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "tune/launch/cpu_affinity.h"
#include "tune/launch/settings.h"
#include "tune/launch/launcher.h"
#include "tune/launch/program.h"
#include "tune/launch/rank.h"

static const struct gt_set *cpus_of(const struct tn_launch *c, const struct tn_run *r)
{
	return gt_set_count(&r->cpus) ? &r->cpus : &c->host->cpu.allowed;
}

/*
 * Returns whether torchrun, accelerate or deepspeed set the value. They set 1 if the user set nothing. The environment
 * that the launcher was started with shows whether the user did, because /proc does not show variables that a program
 * sets later.
 */
static bool set_by_launcher(const struct tn_launch *c)
{
	const char *mark = tn_run_user(c, "TORCHELASTIC_RUN_ID") ? "TORCHELASTIC_RUN_ID" : "LOCAL_RANK";
	gt_autofree char *value = NULL, *command = NULL;
	bool known;

	if (!gt_streq(tn_run_user(c, "OMP_NUM_THREADS"), "1") || !tn_run_user(c, mark) ||
	    !tn_launcher_had(c, mark, "OMP_NUM_THREADS", &value) || value)
		return false;
	command = tn_launcher_command(c, mark);
	known = !strcmp(mark, "TORCHELASTIC_RUN_ID") || (command && strstr(command, "deepspeed"));
	return known && !(command && (strstr(command, "num_cpu_threads_per_process") ||
				      strstr(command, "num-cpu-threads-per-process")));
}

/*
 * Returns the number of threads that the CPU quota allows per rank. If more threads run, the kernel stops all of them
 * together. All ranks share one quota.
 */
static unsigned threads_paid(const struct tn_launch *c, unsigned ranks)
{
	struct pr_num quota = c->host->cpu.quota_millicpu;

	return pr_has(quota) ? (unsigned)GT_MIN(GT_MAX(quota.v / 1000 / ranks, 1), UINT32_MAX) : UINT32_MAX;
}

/* Returns the reason for n threads of so many cores; the caller frees it. */
static char *why_threads(const struct tn_launch *c, unsigned cores, unsigned sharers, bool by_quota)
{
	struct tn_processes p = tn_processes_of(c);
	unsigned own = GT_MAX(1u, cores / sharers), here = tn_processes_here(c), paid = threads_paid(c, here);

	if (by_quota && here > 1)
		return gt_xasprintf("the cgroup's quota, shared by %u ranks, allows %u of %u cores each", here, paid, own);
	if (by_quota)
		return gt_xasprintf("the cgroup's quota allows %u of %u cores", paid, own);
	if (p.kind == TN_LAUNCHER && p.n > 1 && !p.one_task)
		return gt_xasprintf("%u cores divided by the %u ranks that it starts", cores, sharers);
	if (p.n > 1)
		return gt_xasprintf("%u cores for %d visible GPUs: the command may start a process for each", cores, p.n);
	if (sharers > 1)
		return gt_xasprintf("%u cores divided by %u ranks", cores, sharers);
	return gt_xstrdup("one per physical core");
}

/*
 * Returns why a number of threads, which all descendants inherit, could be multiplied by processes of this command.
 * NULL: this cannot happen, one GPU is visible, or the number is already divided by the visible GPUs because the rank
 * library is not preloaded.
 */
static char *why_multiplied(const struct tn_launch *c)
{
	struct tn_processes p = tn_processes_of(c);
	const char *name = c->argv && c->argv[0] ? gt_basename(c->argv[0]) : "the command";
	const char *pool = tn_rank_of(c).variable || c->rank ? NULL : tn_program_pool(c);

	if (pool)
		return gt_xasprintf("the script imports %s, which divides the cores among its processes if no number is set", pool);
	if (!p.may_start_more || (tn_rank_visible(c) && (p.n < 2 || !c->rank_library)))
		return NULL;
	return gt_xasprintf("%.60s may start several processes, and each would inherit it%s", p.launcher ? p.launcher : name,
			    c->rank_library ? ": each rank gets its own number when it starts" : "");
}

static void prepare_omp_threads(const struct tn_launch *c, struct tn_run *r)
{
	unsigned cores, own, paid, n, sharers = tn_processes_sharing_cpus(c, r);
	gt_autofree char *why = NULL, *less = NULL, *multiplied = why_multiplied(c);
	gt_auto_set first = {0};
	char text[16];

	if (r->processes == 0) {
		tn_run_leave(c, r, "OMP_NUM_THREADS", TN_PROCESSES_WHY);
		return;
	}
	if (multiplied) {
		tn_run_leave(c, r, "OMP_NUM_THREADS", multiplied);
		return;
	}
	if (c->host->cpu.unknown) {
		tn_run_leave(c, r, "OMP_NUM_THREADS", "the number of CPUs is unknown");
		return;
	}
	pr_first_threads(c->host, cpus_of(c, r), &first);
	cores = GT_MAX(1u, gt_set_count(&first));
	own = GT_MAX(1u, cores / sharers);
	paid = threads_paid(c, tn_processes_here(c));
	n = GT_MIN(own, paid);
	if (c->workers) {
		n = n > c->workers ? n - c->workers : 1;
		less = gt_xasprintf(", less %u for its loader workers", c->workers);
	}
	why = why_threads(c, cores, sharers, paid < own);
	snprintf(text, sizeof(text), "%u", n);
	if (set_by_launcher(c))
		tn_run_replace(r, "OMP_NUM_THREADS", text,
			       "the launcher's default of 1 is replaced by one per physical core of this rank%s",
			       less ? less : "");
	else
		tn_run_set(c, r, "OMP_NUM_THREADS", text, "%s%s", why, less ? less : "");
}

const struct tn_launch_setting tn_launch_omp_threads = {
	.id = "omp.threads",
	.summary = "OMP_NUM_THREADS: one per usable physical core",
	.why = "The two hardware threads of a core share its arithmetic units. Matrix products do not become faster with "
		"both, and barriers wait for the slower one. OpenMP ignores the CPU quota of a cgroup. It starts a thread "
		"on every CPU, and the kernel then stops all of them for a while. torchrun's default of 1 is replaced. An "
	       "unknown command may start a process for each visible GPU, and each process uses the same number of threads. "
	       "Therefore gputune divides the cores by the number of visible GPUs for an unknown command. Lightning, Ray, "
	       "joblib and Dask divide the cores among their processes if the variable is not set. gputune does not set it "
	       "for a script that imports one of them.",
	.hazard = "Programs that wait for memory or the network may gain from the second thread of a core. If loader "
		  "workers keep cores busy, give their number with --workers, because gputune does not know it in advance.",
	.unit = "threads",
	.mechanism = "train.gpt",
	.prepare = prepare_omp_threads,
};

static size_t nodes_of(const struct pr_host *h, const struct gt_set *cpus)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_node; i++) {
		gt_auto_set both = {0};

		gt_set_copy(&both, &h->node[i].cpus);
		gt_set_and(&both, cpus);
		n += gt_set_count(&both) > 0;
	}
	return n;
}

static void prepare_omp_bind(const struct tn_launch *c, struct tn_run *r)
{
	gt_autofree char *why = NULL;
	bool spread = nodes_of(c->host, cpus_of(c, r)) > 1;

	if (!tn_program_may_bind(c, &why)) {
		tn_run_skip(r, "OMP_PROC_BIND", "%s", why);
		return;
	}
	if (tn_run_value(c, "GOMP_CPU_AFFINITY") || tn_run_value(c, "KMP_AFFINITY")) {
		tn_run_skip(r, "OMP_PROC_BIND",
			    "GOMP_CPU_AFFINITY or KMP_AFFINITY is set: the user binds the threads");
		return;
	}
	tn_run_set(c, r, "OMP_PLACES", "cores", "one place per physical core");
	tn_run_set(c, r, "OMP_PROC_BIND", spread ? "spread" : "close",
		   spread ? "uses the memory of all nodes from the start"
			  : "threads stay near their caches and first-touched memory");
}

const struct tn_launch_setting tn_launch_omp_bind = {
	.id = "omp.bind",
	.summary = "binds each OpenMP thread to its core",
	.why = "A thread that moves to another core loses its cached data, and may be far from its memory.",
	.hazard = "Processes that the first thread forks inherit its binding. All data-loader workers of a Python program "
		  "would run on one core (PyTorch issue 101850: ten times slower). Therefore gputune never sets this for "
		  "Python, or for programs that are not linked to an OpenMP runtime.",
	.unit = "environment",
	.mechanism = "mem.bw",
	.prepare = prepare_omp_bind,
};

/* ---- waiting ------------------------------------------------------------------------------------------------------
 */

/*
 * libgomp spins 300 000 times before it sleeps, which takes milliseconds. If a thread loses its core to another process
 * for a moment, the other threads keep their cores busy while they wait. Sleeping and waking takes about 50 us (measured
 * in a virtual machine), as long as about 3000 "pause" instructions. A thread that spins no longer than that takes at
 * most twice the time of the best choice. Four interleaved rounds of PyTorch's MLP on two CPUs with eight other threads
 * running: 3713 samples/s with 3000 spins, 3530 with none, 1572 with 30 000, 1072 with libgomp's own 300 000.
 */
#define SPINS       "3000"
#define SPINS_QUOTA "1000"

static bool all_isolated(const struct tn_launch *c, const struct tn_run *r)
{
	gt_auto_set both = {0};

	gt_set_copy(&both, cpus_of(c, r));
	gt_set_and(&both, &c->host->cpu.isolated);
	return gt_set_count(&both) && gt_set_equal(&both, cpus_of(c, r));
}

static void prepare_omp_spin(const struct tn_launch *c, struct tn_run *r)
{
	const char *policy = tn_run_value(c, "OMP_WAIT_POLICY");
	unsigned n = gt_set_count(cpus_of(c, r));

	if (policy)
		tn_run_skip(r, "GOMP_SPINCOUNT", "the user has set OMP_WAIT_POLICY=%.20s", policy);
	else if (!gt_streq(c->host->kernel.arch.v, "x86_64"))
		tn_run_skip(r, "GOMP_SPINCOUNT", "the duration of a spin is known for x86-64 only");
	else if (all_isolated(c, r))
		tn_run_skip(r, "GOMP_SPINCOUNT", "the CPUs are isolated: no other process uses them");
	else if (pr_has(c->host->cpu.quota_millicpu))
		tn_run_set(c, r, "GOMP_SPINCOUNT", SPINS_QUOTA,
			   "spinning uses up the cgroup's quota of CPU time");
	else if (r->two_pools)
		tn_run_set(
			c, r, "GOMP_SPINCOUNT", SPINS,
			"OpenMP's threads share cores with those of a BLAS: they must release the cores soon");
	else
		tn_run_set(c, r, "GOMP_SPINCOUNT", SPINS,
			   "%u CPU%s that other processes may use too: a thread soon sleeps if the thread that it waits for "
			   "has lost its core",
			   n, n == 1 ? "" : "s");
}

const struct tn_launch_setting tn_launch_omp_spin = {
	.id = "omp.spin",
	.summary = "GOMP_SPINCOUNT: polls before a thread sleeps",
	.why = "A waiting thread of libgomp polls for milliseconds before it sleeps, and takes CPU time from other "
	       "processes. Example: PyTorch trained an MLP on two cores, with another process on one of them. By default it "
	       "reached about 1000 samples/s, with 100 to 3000 polls 5300 to 5900. With a BLAS that has its own threads, "
	       "the rate rose from 5300 to 12400 samples/s. On a host without other processes, 3000 polls had no measurable "
	       "cost.",
	.hazard = "Programs become slower if their parallel regions are 0.1 to 3 ms apart and no other process uses the "
		"cores. Each region then needs a wake-up. Affects libgomp only. The OpenMP libraries of LLVM and Intel "
		  "use KMP_BLOCKTIME.",
	.unit = "environment",
	.mechanism = "train.gpt",
	.prepare = prepare_omp_spin,
};
