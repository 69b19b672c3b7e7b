/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of every captured host: a second apply, and the ranks of a job. */
#include <stdio.h>
#include <string.h>
#include "tests/unit/check_tune.h"

static char *python[] = { "/usr/bin/python3", "train.py", NULL };

static const struct pr_node *node_by_id(const struct pr_host *h, int64_t id)
{
	for (size_t i = 0; i < h->n_node; i++)
		if (h->node[i].id == id)
			return &h->node[i];
	return NULL;
}

/*
 * Returns the GPU of a rank as CUDA numbers them: in bus order, without those reserved for virtual machines, round
 * robin.
 */
static const struct pr_gpu *gpu_of(const struct pr_host *h, unsigned rank)
{
	size_t n = pr_usable_gpus(h), nth = n ? rank % n : 0;

	for (size_t i = 0; n && i < h->n_gpu; i++)
		if (!gt_streq(h->gpu[i].pci->driver.v, "vfio-pci") && nth-- == 0)
			return &h->gpu[i];
	return NULL;
}

static bool inside(const struct gt_set *a, const struct gt_set *of)
{
	gt_auto_set both = { 0 };

	gt_set_copy(&both, a);
	gt_set_and(&both, of);
	return gt_set_equal(&both, a);
}

static void check_rank(const char *name, const struct pr_host *h, const struct tn_run *r, unsigned rank, unsigned n)
{
	const struct pr_gpu *gpu = gpu_of(h, rank);
	const struct pr_node *node = gpu && pr_has(gpu->pci->numa_node) ? node_by_id(h, gpu->pci->numa_node.v) : NULL;

	ck_assert_msg(inside(&r->cpus, &h->cpu.allowed), "%s: rank %u of %u has CPUs that are not allowed", name, rank, n);
	ck_assert_msg(inside(&r->cpus, &h->cpu.online), "%s: rank %u of %u has CPUs that are off", name, rank, n);
	ck_assert_ptr_nonnull(r->cpus_reason);
	if (!gt_set_count(&r->cpus)) { /* the CPUs were not guessed: memory is not bound either */
		ck_assert_uint_eq(gt_set_count(&r->mem_nodes), 0);
		return;
	}
	if (gpu && h->n_node > 1) {
		ck_assert_msg(node != NULL, "%s: rank %u of %u is bound although the node of its GPU is not known", name, rank, n);
		ck_assert_msg(inside(&r->cpus, &node->cpus), "%s: rank %u of %u is not at its GPU's node", name, rank, n);
	}
	gt_set_for_each(id, &r->mem_nodes) {
		const struct pr_node *m = node_by_id(h, id);

		ck_assert_msg(m && inside(&r->cpus, &m->cpus), "%s: rank %u of %u prefers memory of node %d, away from its CPUs",
			      name, rank, n, id);
	}
}

static void check_ranks(const char *name, struct gt_fsroot *fs, const struct pr_host *h, unsigned n)
{
	gt_auto_set cores = { 0 }, taken = { 0 };
	unsigned sum = 0, bound = 0;

	pr_first_threads(h, &h->cpu.allowed, &cores);
	gt_set_for_each(cpu, &h->cpu.efficiency)
		gt_set_del(&cores, (unsigned)cpu);
	for (unsigned rank = 0; rank < n; rank++) {
		gt_autofree char *index = gt_xasprintf("LOCAL_RANK=%u", rank), *count = gt_xasprintf("LOCAL_WORLD_SIZE=%u", n);
		char *env[] = { index, count, NULL };
		gt_auto(tn_run) *r = NULL;

		ck_assert_int_eq(tn_run_make(fs, h, &(struct tn_run_opts){ .argv = python, .envp = env }, &r, NULL), 0);
		check_rank(name, h, r, rank, n);
		bound += gt_set_count(&r->cpus) > 0;
		sum += gt_set_count(&r->cpus);
		gt_set_or(&taken, &r->cpus);
	}
	/* if each node has a core for each of its ranks, no core is shared */
	if (bound == n && n * (h->n_node ? h->n_node : 1) <= gt_set_count(&cores) && !gt_set_count(&h->cpu.isolated))
		ck_assert_msg(sum == gt_set_count(&taken), "%s: %u ranks share CPUs", name, n);
}

/* ---- without GPUs: whole nodes first ------------------------------------------------------------------------------ */

/* Lists the cores of each node that a rank may get; returns their number. */
static unsigned usable_cores(const struct pr_host *h, struct gt_set *cores, unsigned *per_node)
{
	gt_auto_set pool = { 0 };

	gt_set_copy(&pool, &h->cpu.allowed);
	gt_set_for_each(cpu, &h->cpu.efficiency)
		gt_set_del(&pool, (unsigned)cpu);
	gt_set_for_each(cpu, &h->cpu.isolated)
		gt_set_del(&pool, (unsigned)cpu);
	if (!gt_set_count(&pool)) /* no other cores */
		gt_set_copy(&pool, &h->cpu.allowed);
	pr_first_threads(h, &pool, cores);
	for (size_t i = 0; i < h->n_node; i++) {
		gt_auto_set both = { 0 };

		gt_set_copy(&both, &h->node[i].cpus);
		gt_set_and(&both, cores);
		per_node[i] = gt_set_count(&both);
	}
	return gt_set_count(cores);
}

/*
 * Returns the largest number of cores that every rank can have if none of the n ranks spans two nodes and every node has
 * a rank. 0: impossible. Tries each number, unlike the code under test.
 */
static unsigned best_by_whole_nodes(const struct pr_host *h, const unsigned *per_node, unsigned n)
{
	for (unsigned size = (unsigned)h->cpu.n_cpu; size; size--) {
		unsigned room = 0;
		bool all = true;

		for (size_t i = 0; i < h->n_node; i++) {
			room += per_node[i] / size;
			all &= !per_node[i] || per_node[i] >= size;
		}
		if (all && room >= n)
			return size;
	}
	return 0;
}

static int64_t node_around(const struct pr_host *h, const struct gt_set *cpus)
{
	for (size_t i = 0; i < h->n_node; i++)
		if (inside(cpus, &h->node[i].cpus))
			return h->node[i].id;
	return -1;
}

static unsigned cores_in(const struct pr_host *h, const struct gt_set *cpus)
{
	gt_auto_set first = { 0 };

	pr_first_threads(h, cpus, &first);
	return gt_set_count(&first);
}

static void check_shares(const char *name, struct gt_fsroot *fs, const struct pr_host *h, unsigned n)
{
	unsigned per_node[64] = { 0 }, smallest = GT_SET_MAX, sum = 0, cores, best, nodes = 0;
	gt_auto_set all = { 0 }, taken = { 0 };

	ck_assert_uint_le(h->n_node, GT_ARRAY_SIZE(per_node));
	cores = usable_cores(h, &all, per_node);
	best = best_by_whole_nodes(h, per_node, n);
	for (size_t i = 0; i < h->n_node; i++)
		nodes += per_node[i] > 0;
	for (unsigned rank = 0; rank < n; rank++) {
		struct tn_run_opts o = { .argv = python, .envp = (char *[]){ NULL }, .rank = rank, .ranks = n };
		gt_auto(tn_run) *r = NULL;
		int64_t node;

		ck_assert_int_eq(tn_run_make(fs, h, &o, &r, NULL), 0);
		node = node_around(h, &r->cpus);
		smallest = GT_MIN(smallest, cores_in(h, &r->cpus));
		sum += cores_in(h, &r->cpus);
		for (size_t i = 0; n <= cores && i < h->cpu.n_cpu; i++) { /* a core with all its threads belongs to one rank */
			gt_auto_set threads = { 0 };

			if (!gt_set_has(&r->cpus, (unsigned)h->cpu.cpu[i].id))
				continue;
			gt_set_copy(&threads, &h->cpu.cpu[i].siblings);
			gt_set_and(&threads, &h->cpu.allowed);
			ck_assert_msg(inside(&threads, &r->cpus), "%s: rank %u of %u has half of a core", name, rank, n);
		}
		if (n >= nodes && best * 3 >= cores / n * 2)
			ck_assert_msg(node >= 0, "%s: rank %u of %u straddles nodes", name, rank, n);
		if (h->n_node > 1 && node >= 0 && pr_or(node_by_id(h, node)->mem_bytes, 1) > 0)
			ck_assert_msg(gt_set_count(&r->mem_nodes) == 1 && gt_set_has(&r->mem_nodes, (unsigned)node),
				      "%s: the memory of rank %u of %u is not its CPUs'", name, rank, n);
		gt_set_or(&taken, &r->cpus);
	}
	gt_set_and(&taken, &all); /* compares by first threads */
	if (n <= cores) {
		ck_assert_msg(sum == gt_set_count(&taken), "%s: %u ranks share cores", name, n);
		ck_assert_msg(gt_set_equal(&taken, &all), "%s: %u ranks leave cores unused", name, n);
		ck_assert_msg(smallest * 3 >= cores / n * 2, "%s: one of %u ranks has %u of %u cores", name, n, smallest, cores);
	}
	if (n >= nodes && best * 3 >= cores / n * 2)
		ck_assert_msg(smallest >= best, "%s: %u ranks could have %u cores each, one has %u", name, n, best, smallest);
}

START_TEST(ranks_without_a_gpu_have_whole_cores_of_one_node)
{
	gt_auto_strv names = box_fixtures();
	unsigned hosts = 0, several = 0;

	for (size_t i = 0; i < names.n; i++) {
		gt_auto(pr_host) *h = NULL;
		struct box b;

		box_open(&b, names.v[i]);
		ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .no_nvml = true }, &h, NULL), 0);
		for (unsigned n = 1; !pr_usable_gpus(h) && n <= 16; n++)
			check_shares(names.v[i], b.fs, h, n);
		hosts += !pr_usable_gpus(h);
		several += !pr_usable_gpus(h) && h->n_node > 1;
		box_close(&b);
	}
	ck_assert_uint_ge(hosts, 8);
	ck_assert_uint_ge(several, 5);
}
END_TEST

/* ---- with GPUs: on the GPU's node --------------------------------------------------------------------------------- */

START_TEST(ranks_of_every_captured_host_are_apart_and_near)
{
	gt_auto_strv names = box_fixtures();
	int64_t highest = 0;
	bool uneven = false, bare = false;

	for (size_t i = 0; i < names.n; i++) {
		gt_auto(pr_host) *h = NULL;
		struct box b;

		box_open(&b, names.v[i]);
		ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .no_nvml = true }, &h, NULL), 0);
		for (unsigned n = 1; n <= 16; n++)
			check_ranks(names.v[i], b.fs, h, n);
		for (size_t k = 0; k < h->n_node; k++) {
			highest = GT_MAX(highest, h->node[k].id);
			bare |= !gt_set_count(&h->node[k].cpus);
			uneven |= k && gt_set_count(&h->node[k].cpus) &&
				  gt_set_count(&h->node[0].cpus) != gt_set_count(&h->node[k].cpus);
		}
		box_close(&b);
	}
	/* includes shapes that other launchers handle wrongly */
	ck_assert_int_ge(highest, 10);
	ck_assert(uneven);
	ck_assert(bare);
}
END_TEST

/*
 * ---- a fleet's recipe is applied again and again --------------------------------------------------------------------
 */

START_TEST(a_second_apply_changes_nothing_on_every_captured_host)
{
	gt_auto_strv names = box_fixtures();
	static const char *const of[] = { NULL, "multi-node", "huge-pages" };

	for (size_t i = 0; i < names.n * GT_ARRAY_SIZE(of) * 2; i++) {
		const char *name = names.v[i / 2 / GT_ARRAY_SIZE(of)];
		struct tn_plan_opts o = { .profile = of[i / 2 % GT_ARRAY_SIZE(of)], .optional = true };
		struct tn_apply_opts how = { .persist = i % 2 };
		gt_autofree char *once = NULL, *twice = NULL;
		struct gt_err err = { 0 };
		struct box one;

		box_open(&one, name);
		box_put(&one, "/etc/sysctl.d/README", "");
		box_put(&one, "/etc/tmpfiles.d/README", "");
		box_put(&one, "/etc/udev/rules.d/README", "");
		for (int turn = 0; turn < 2; turn++) {
			gt_auto(tn_plan) *plan = NULL;

			ck_assert_msg(tn_plan_make(one.fs, NULL, &o, &plan, &err) == 0, "%s: %s", name, err.msg);
			for (size_t k = 0; turn && k < plan->n_item; k++)
				ck_assert_msg(plan->item[k].status != TN_CHANGE, "%s: %s to %s once more, %s", name,
					      plan->item[k].knob->id, plan->item[k].wanted, plan->item[k].reason);
			ck_assert_msg(tn_apply(one.fs, plan, &how, NULL, &err) == 0, "%s: %s", name, err.msg);
			*(turn ? &twice : &once) = box_picture(&one);
		}
		ck_assert_msg(!strcmp(once, twice), "%s: a second apply has written", name);
		box_close(&one);
	}
}
END_TEST

TCase *tune_invariant_case(void)
{
	TCase *t = tcase_create("invariants");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, a_second_apply_changes_nothing_on_every_captured_host);
	tcase_add_test(t, ranks_of_every_captured_host_are_apart_and_near);
	tcase_add_test(t, ranks_without_a_gpu_have_whole_cores_of_one_node);
	return t;
}
