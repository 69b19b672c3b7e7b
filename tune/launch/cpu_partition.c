/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUs shared out among ranks. Nodes are dealt out first, for a rank that straddles two has half of its memory far away: each
 * gets ranks in proportion to its cores, which share its cores out. Where that would give some rank much less than the others
 * (four ranks on three nodes) the cores are cut evenly instead: a rank's slowest thread waits half as long again for a far
 * node's memory, so that whole nodes are worth up to a third of the cores.
 */
#include "tune/launch/cpu_partition.h"

/* The cores of a pool, by their first thread, node by node: in this order neighbours are near each other. */
struct cores {
	int *cpu;
	unsigned n;
	struct part {
		unsigned from, n; /* cores of one node */
		unsigned ranks;
	} *part;
	unsigned n_part;
	bool nodeless; /* some cores, the last ones, are of no node that is known */
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

/* Share `index` of `count` of the cores from `from` on; these replace them. */
static void cut(unsigned *from, unsigned *n, unsigned index, unsigned count)
{
	unsigned begin = count > *n ? index % *n : index * *n / count,
		 end = count > *n ? begin + 1 : (index + 1) * *n / count;

	*from += begin;
	*n = end - begin;
}

/* Is the smallest share by whole nodes worth more than an even one? */
static bool worth_it(unsigned smallest, const struct cores *c, unsigned count)
{
	return smallest * 3 >= c->n / count * 2;
}

/* At least as many ranks as nodes: one for each, and each further one where the smallest share stays largest. */
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

/* Fewer ranks than nodes, with the same number of nodes for each: *ret_n cores from *ret_from on. */
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

void tn_share(const struct pr_host *h, unsigned index, unsigned count, struct gt_set *pool)
{
	gt_auto_set mine = {0};
	struct cores c = {0};
	unsigned from = 0, n = 0;

	list_cores(h, pool, &c);
	if (c.n)
		choose(&c, index, count, &from, &n);
	for (unsigned i = from; i < from + n; i++)
		gt_set_or(&mine, &h->cpu.cpu[c.cpu[i]].siblings);
	gt_set_and(&mine, pool);
	gt_set_copy(pool, &mine);
	free(c.cpu);
	free(c.part);
}
