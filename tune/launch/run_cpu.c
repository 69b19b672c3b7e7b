/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUs, memory policy and open-file limit of a command. They follow from the host and from the CPUs that this process
 * may use.
 */
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tune/launch/cpu_affinity.h"
#include "tune/launch/settings.h"
#include "tune/launch/launcher.h"
#include "tune/launch/cpu_partition.h"
#include "tune/model/tunable.h"
#include "tune/launch/rank.h"

/* ---- CPUs ---------------------------------------------------------------------------------------------------------
 */

static const struct pr_node *find_node(const struct pr_host *h, int64_t id)
{
	for (size_t i = 0; i < h->n_node; i++)
		if (h->node[i].id == id)
			return &h->node[i];
	return NULL;
}

/*
 * Tasks on isolated CPUs are not balanced, so threads without an affinity would all run on one of them. Efficiency cores
 * determine the speed of a parallel loop. Both kinds are excluded if other CPUs remain.
 */
static void usable_cpus(const struct pr_host *h, struct gt_set *ret)
{
	const struct gt_set *unwanted[] = {&h->cpu.isolated, &h->cpu.efficiency};

	gt_set_copy(ret, &h->cpu.allowed);
	for (size_t i = 0; i < GT_ARRAY_SIZE(unwanted); i++) {
		gt_auto_set less = {0};

		gt_set_copy(&less, ret);
		gt_set_for_each(cpu, unwanted[i]) gt_set_del(&less, (unsigned)cpu);
		if (gt_set_count(&less))
			gt_set_copy(ret, &less);
	}
}

static const char *all_of(const struct tn_launch *c, const struct gt_set *pool)
{
	return gt_set_equal(pool, &c->host->cpu.allowed) ? "all allowed CPUs"
							 : "the allowed CPUs without isolated and efficiency cores";
}

/* A launcher is not a rank, even if variables of a surrounding job give it a rank number. */
static bool leave_launcher(const struct tn_launch *c, const struct gt_set *pool, char **reason)
{
	if (c->host->n_node < 2) {
		*reason = gt_xasprintf("%s, for the ranks that it starts", all_of(c, pool));
		return true;
	}
	*reason = gt_xstrdup("it starts the ranks itself, so nothing is bound here; to bind each rank to its GPU, let it start "
			     "gputune run (torchrun --no-python … gputune run -- python3 …)");
	return false;
}

/*
 * Finds the pool that this rank shares with other ranks: the CPUs next to its GPU, or all CPUs. Returns false with a
 * reason if the pool is uncertain.
 */
static bool choose_pool(const struct tn_launch *c, struct tn_rank rank, struct gt_set *pool, struct tn_rank *in_pool,
			char **reason)
{
	const struct pr_host *h = c->host;
	const struct pr_gpu *gpu = h->n_node < 2 ? NULL : tn_rank_gpu(c, rank, reason);
	gt_auto_set near = {0};
	const struct pr_node *node;

	*in_pool = rank;
	if (*reason)
		return false;
	if (!gpu) {
		*reason = gt_xstrdup(all_of(c, pool));
		return true;
	}
	node = pr_has(gpu->pci->numa_node) ? find_node(h, gpu->pci->numa_node.v) : NULL;
	if (!node) {
		*reason = gt_xasprintf("the node of GPU %s is unknown: nothing is bound, to avoid a wrong one",
				       gpu->pci->address);
		return false;
	}
	gt_set_copy(&near, &node->cpus);
	gt_set_and(&near, pool);
	if (!gt_set_count(&near)) {
		*reason = gt_xasprintf("none of the CPUs of node %d, next to GPU %s, is allowed here: nothing is bound",
				       node->id, gpu->pci->address);
		return false;
	}
	gt_set_copy(pool, &near);
	*in_pool = tn_rank_at_node(c, rank, gpu);
	*reason = gt_xasprintf("node %d, next to GPU %s", node->id, gpu->pci->address);
	return true;
}

static void take_share(const struct tn_launch *c, struct tn_rank rank, struct gt_set *pool, struct tn_run *r)
{
	gt_autofree char *of = NULL;
	struct tn_rank in_pool;

	if (!choose_pool(c, rank, pool, &in_pool, &of)) {
		r->cpus_reason = gt_take(of);
		return;
	}
	if (in_pool.count > 1)
		tn_cpu_partition(c->host, in_pool.index, in_pool.count, pool);
	r->cpus_reason = rank.count > 1 ? gt_xasprintf("rank %u of %u: a share of %s", rank.index, rank.count, of) : gt_take(of);
	r->cpus_ranks = 1;
	gt_set_copy(&r->cpus, pool);
}

/*
 * The launcher's mask already restricts this process to the CPUs of its rank. Other ranks may have the same mask, for
 * example if mpirun binds to nodes.
 */
static void keep_affinity(const struct tn_launch *c, struct tn_rank rank, const char *by, struct tn_run *r)
{
	const struct gt_set *own = &c->host->cpu.allowed;
	unsigned all = gt_set_count(tn_possible_cpus(c->host));
	gt_autofree char *why = NULL;
	const struct pr_gpu *gpu = c->host->n_node < 2 ? NULL : tn_rank_gpu(c, rank, &why);
	const struct pr_node *node = gpu && pr_has(gpu->pci->numa_node) ? find_node(c->host, gpu->pci->numa_node.v) : NULL;
	gt_auto_set near = {0};

	gt_set_copy(&r->cpus, own);
	r->cpus_ranks = GT_MAX(1u, (rank.count * gt_set_count(own) + all / 2) / all);
	r->cpus_reason = gt_xasprintf("rank %u of %u: bound by %s, not changed", rank.index, rank.count, by);
	if (!node)
		return;
	gt_set_copy(&near, &node->cpus);
	gt_set_and(&near, own);
	if (!gt_set_count(&near)) {
		char *far = gt_xasprintf("%s, although GPU %s is at node %d", r->cpus_reason, gpu->pci->address, node->id);

		free(r->cpus_reason);
		r->cpus_reason = far;
	}
}

static void prepare_affinity(const struct tn_launch *c, struct tn_run *r)
{
	struct tn_rank rank = tn_rank_of(c);
	const char *by = rank.count > 1 ? tn_affinity_launcher(c, rank.variable) : NULL;
	gt_auto_set pool = {0};

	if (c->host->cpu.unknown) {
		r->cpus_reason = gt_xstrdup("the CPUs of this host are unknown: nothing is bound");
		return;
	}
	usable_cpus(c->host, &pool);
	if (!gt_set_count(&pool))
		return;
	if (by)
		keep_affinity(c, rank, by, r);
	else if (tn_processes_of(c).kind != TN_LAUNCHER)
		take_share(c, rank, &pool, r);
	else if (leave_launcher(c, &pool, &r->cpus_reason))
		gt_set_copy(&r->cpus, &pool);
}

const struct tn_launch_setting tn_launch_affinity = {
	.id = "run.affinity",
	.summary = "binds the command to the CPUs next to its GPU",
	.why = "Threads on another NUMA node or on efficiency cores are slower, and all other threads wait for them. Ranks "
	       "on one host that use the same cores disturb each other. Each rank gets whole NUMA nodes if there are enough "
	       "of them, otherwise whole cores. A binding by srun or mpirun is not changed.",
	.hazard =
		"A command that needs more CPUs than its GPU's node has becomes slower. Child processes inherit the "
		"binding.",
	.unit = "CPU list",
	.mechanism = "train.gpt",
	.prepare = prepare_affinity,
};

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

#define NODES_MAX 1024 /* the maximum of any kernel configuration */

/* Returns the memory policy that this process inherited from numactl, srun --mem-bind or systemd's NUMAPolicy, such as
 * "bind:0-1". NULL: none; pages are allocated at first touch. The caller frees it. */
static char *users_policy(const struct tn_launch *c)
{
	static const char *const names[] = {NULL,    "preferred",      "bind", "interleave",
					    "local", "preferred many", "weighted interleave"};
	unsigned long mask[NODES_MAX / 64] = {0};
	gt_autofree char *list = NULL;
	gt_auto_set nodes = {0};
	int mode = 0;

	if (!c->host->live || syscall(SYS_get_mempolicy, &mode, mask, (unsigned long)NODES_MAX, NULL, 0ul) < 0)
		return NULL;
	mode &= ~MPOL_MODE_FLAGS;
	if (mode <= MPOL_DEFAULT || mode >= (int)GT_ARRAY_SIZE(names))
		return mode > MPOL_DEFAULT ? gt_xasprintf("policy %d", mode) : NULL;
	for (unsigned i = 0; i < NODES_MAX; i++)
		if (mask[i / 64] >> i % 64 & 1)
			gt_set_add(&nodes, i);
	list = gt_set_format(&nodes);
	return *list ? gt_xasprintf("%s:%s", names[mode], list) : gt_xstrdup(names[mode]);
}

/*
 * For a command on several nodes, automatic NUMA balancing moves pages to the threads that use them. The tunable
 * kernel.numa_balancing is for commands on one node.
 */
static char *where_touched(const struct tn_launch *c, const char *because)
{
	bool off = pr_has(c->host->numa_balancing) && !c->host->numa_balancing.v;

	return gt_xasprintf("%s: memory stays where it is first touched%s", because,
			    off ? "; kernel.numa_balancing is 0, so pages on a wrong node stay there" : "");
}

static void prepare_mempolicy(const struct tn_launch *c, struct tn_run *r)
{
	const struct pr_host *h = c->host;
	gt_autofree char *user = users_policy(c);
	gt_auto_set nodes = {0};

	r->mem_kept = user != NULL;
	if (user)
		r->mem_reason = gt_xasprintf("set by the user: %s", user);
	else if (h->n_node < 2)
		r->mem_reason = gt_xstrdup("one NUMA node");
	else if (!gt_set_count(&r->cpus))
		r->mem_reason = where_touched(c, "nothing is bound");
	if (r->mem_reason)
		return;
	for (size_t i = 0; i < h->n_node; i++) {
		gt_auto_set both = {0};

		gt_set_copy(&both, &h->node[i].cpus);
		gt_set_and(&both, &r->cpus);
		if (gt_set_count(&both) && pr_or(h->node[i].mem_bytes, 1) > 0)
			gt_set_add(&nodes, (unsigned)h->node[i].id);
	}
	if (gt_set_count(&nodes) != 1) {
		r->mem_reason = gt_set_count(&nodes)
					? where_touched(c, "the CPUs span several nodes")
					: gt_xstrdup("the CPUs' node has no memory: pages come from the nearest node with "
						     "memory");
		return;
	}
	gt_set_copy(&r->mem_nodes, &nodes);
	r->mem_reason = gt_xstrdup("preferred, not strict: if the node is full, another one is used");
}

const struct tn_launch_setting tn_launch_mempolicy = {
	.id = "run.mempolicy",
	.summary = "prefers memory of the node of the used CPUs",
	.why = "An access to the memory of another node takes about 1.5 times as long. With a preferred node, the kernel "
	       "uses another node if that one is full. Other launchers bind strictly. With them, the job ends if the page "
	       "cache fills the node. A policy set by numactl, srun or systemd is kept.",
	.hazard = "None known. A container without SYS_NICE may refuse the call; gputune then skips it with a message.",
	.unit = "node list",
	.mechanism = "mem.bw",
	.prepare = prepare_mempolicy,
};

/* ---- open files ----------------------------------------------------------------------------------------------------
 */

/* More than any job needs. Small enough for programs that iterate over every possible descriptor. */
#define FILES_MAX INT64_C(1048576)

static void prepare_files(const struct tn_launch *c, struct tn_run *r)
{
	int64_t soft, hard;

	if (!tn_open_files(c->fs, &soft, &hard))
		r->files_reason = gt_xstrdup("the limit is unknown");
	else if (soft >= hard || soft >= FILES_MAX)
		r->files_reason = gt_xstrdup("at its maximum already");
	else {
		r->files = GT_MIN(hard, FILES_MAX);
		r->files_reason =
			gt_xasprintf("was %ld: loader workers pass tensors as open files", (long)soft);
	}
}

const struct tn_launch_setting tn_launch_files = {
	.id = "run.files",
	.summary = "raises the limit of open files",
	.why = "systemd and Debian start programs with a soft limit of 1024 open files, for old programs that use select(). The "
	       "hard limit is 524288. PyTorch's loader workers pass each tensor as a file descriptor. With batches of many "
	       "tensors they fail with \"too many open files\" or \"received 0 items of ancdata\".",
	.hazard = "A program that calls select() with more than 1024 open files fails. With the old limit, it would fail "
		  "earlier, at opening the files.",
	.unit = "files",
	.unmoved = "a limit: programs that reach it fail, but nothing becomes faster",
	.prepare = prepare_files,
};
