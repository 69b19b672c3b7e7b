/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partitions CPUs among ranks. Nodes are assigned first, because a rank on two nodes has half of its memory on a remote
 * node. Each node gets ranks in proportion to its cores, and these ranks divide its cores. If some rank would get far
 * fewer cores than the others (four ranks on three nodes), the cores are divided evenly instead. Memory access to
 * another node takes about half as long again, and the slowest thread determines a rank's speed. Assigning whole nodes
 * is therefore worth up to a third of the cores.
 */
#include "tune/launch/cpu_partition.h"

/*
 * Cores of a pool, each given by its first thread, ordered by node. Neighbours in this order are on the same or a near
 * node.
 */
struct cores {
	int *cpu;
	unsigned n;
	struct part {
		unsigned from, n; /* cores of one node */
		unsigned ranks;
	} *part;
	unsigned n_part;
	bool nodeless; /* the last cores belong to no known node */
};

static void add_cores(const struct pr_host *h, const struct gt_set *of, struct gt_set *left, struct cores *ret)
{
	for (size_t i = 0; i < h->cpu.n_cpu; i++) {
		unsigned id = (unsigned)h->cpu.cpu[i].id;

		if (!gt_set_has(left, id) || (of && !gt_set_has(of, id)))
			continue;
		gt_set_del(left, id);
		ret->cpu[ret->n++] = (int)i;
	}
}

static void list_cores(const struct pr_host *h, const struct gt_set *pool, struct cores *ret)
{
	gt_auto_set left = {0};

	pr_first_threads(h, pool, &left);
	ret->cpu = gt_xcalloc(h->cpu.n_cpu + 1, sizeof(*ret->cpu));
	ret->part = gt_xcalloc(h->n_node + 1, sizeof(*ret->part));
	for (size_t i = 0; i < h->n_node; i++) {
		struct part *p = &ret->part[ret->n_part];

		p->from = ret->n;
		add_cores(h, &h->node[i].cpus, &left, ret);
		p->n = ret->n - p->from;
		ret->n_part += p->n > 0;
	}
	ret->nodeless = gt_set_count(&left) > 0;
	add_cores(h, NULL, &left, ret);
}

/* Reduces the range of cores to part `index` of `count`. */
static void cut(unsigned *from, unsigned *n, unsigned index, unsigned count)
{
	unsigned begin = count > *n ? index % *n : index * *n / count,
		 end = count > *n ? begin + 1 : (index + 1) * *n / count;

	*from += begin;
	*n = end - begin;
}

/* Returns whether assigning whole nodes is better than dividing the cores evenly, by the smallest part of each. */
static bool worth_it(unsigned smallest, const struct cores *c, unsigned count)
{
	return smallest * 3 >= c->n / count * 2;
}

/*
 * For at least as many ranks as nodes: assigns one rank to each node. Then assigns each further rank to the node where the
 * smallest part stays largest.
 */
static bool ranks_to_nodes(struct cores *c, unsigned count)
{
	unsigned smallest = c->n;

	for (unsigned i = 0; i < c->n_part; i++)
		c->part[i].ranks = 1;
	for (unsigned dealt = c->n_part; dealt < count; dealt++) {
		struct part *to = &c->part[0];

		for (struct part *p = to; p < c->part + c->n_part; p++)
			if (p->n * (to->ranks + 1) > to->n * (p->ranks + 1))
				to = p;
		to->ranks++;
	}
	for (unsigned i = 0; i < c->n_part; i++)
		smallest = GT_MIN(smallest, c->part[i].n / c->part[i].ranks);
	return worth_it(smallest, c, count);
}

/* For fewer ranks than nodes, with equally many nodes per rank: returns *ret_n cores from *ret_from on. */
static bool nodes_to_ranks(const struct cores *c, unsigned index, unsigned count, unsigned *ret_from, unsigned *ret_n)
{
	unsigned each = c->n_part / count, smallest = c->n;

	if (c->n_part % count)
		return false;
	for (unsigned r = 0; r < count; r++) {
		unsigned n = 0;

		for (unsigned i = r * each; i < (r + 1) * each; i++)
			n += c->part[i].n;
		smallest = GT_MIN(smallest, n);
		if (r == index) {
			*ret_from = c->part[r * each].from;
			*ret_n = n;
		}
	}
	return worth_it(smallest, c, count);
}

static void choose(struct cores *c, unsigned index, unsigned count, unsigned *ret_from, unsigned *ret_n)
{
	if (!c->nodeless && count < c->n_part && nodes_to_ranks(c, index, count, ret_from, ret_n))
		return;
	if (!c->nodeless && count >= c->n_part && ranks_to_nodes(c, count)) {
		struct part *p = c->part;

		for (; index >= p->ranks; p++)
			index -= p->ranks;
		*ret_from = p->from;
		*ret_n = p->n;
		count = p->ranks;
	} else {
		*ret_from = 0;
		*ret_n = c->n;
	}
	cut(ret_from, ret_n, index, count);
}

void tn_cpu_partition(const struct pr_host *h, unsigned index, unsigned count, struct gt_set *pool)
{
	gt_auto_set own = {0};
	struct cores c = {0};
	unsigned from = 0, n = 0;

	list_cores(h, pool, &c);
	if (c.n)
		choose(&c, index, count, &from, &n);
	for (unsigned i = from; i < from + n; i++)
		gt_set_or(&own, &h->cpu.cpu[c.cpu[i]].siblings);
	gt_set_and(&own, pool);
	gt_set_copy(pool, &own);
	free(c.cpu);
	free(c.part);
}
