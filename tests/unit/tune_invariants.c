/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for the ranks of a job on every captured host, whatever its shape. */
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

/* GPU of a rank as CUDA counts them: those not set aside for virtual machines, in order of the bus, each in turn. */
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
	if (!gt_set_count(&r->cpus)) { /* a guess was refused: memory is not bound either */
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
	/* with at least a core for each rank at each node nobody shares one */
	if (bound == n && n * (h->n_node ? h->n_node : 1) <= gt_set_count(&cores) && !gt_set_count(&h->cpu.isolated))
		ck_assert_msg(sum == gt_set_count(&taken), "%s: %u ranks share CPUs", name, n);
}

START_TEST(ranks_of_every_captured_host_are_apart_and_near)
{
	static const unsigned counts[] = { 1, 2, 3, 4, 8, 16 };
	gt_auto_strv names = box_fixtures();
	int64_t highest = 0;
	bool uneven = false, bare = false;

	for (size_t i = 0; i < names.n; i++) {
		gt_auto(pr_host) *h = NULL;
		struct box b;

		box_open(&b, names.v[i]);
		ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .no_nvml = true }, &h, NULL), 0);
		for (size_t k = 0; k < GT_ARRAY_SIZE(counts); k++)
			check_ranks(names.v[i], b.fs, h, counts[k]);
		for (size_t k = 0; k < h->n_node; k++) {
			highest = GT_MAX(highest, h->node[k].id);
			bare |= !gt_set_count(&h->node[k].cpus);
			uneven |= k && gt_set_count(&h->node[k].cpus) &&
				  gt_set_count(&h->node[0].cpus) != gt_set_count(&h->node[k].cpus);
		}
		box_close(&b);
	}
	/* the shapes on which other launchers go wrong are among them */
	ck_assert_int_ge(highest, 10);
	ck_assert(uneven);
	ck_assert(bare);
}
END_TEST

TCase *tune_invariant_case(void)
{
	TCase *t = tcase_create("invariants");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, ranks_of_every_captured_host_are_apart_and_near);
	return t;
}
