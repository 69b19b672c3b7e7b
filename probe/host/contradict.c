/* SPDX-License-Identifier: Apache-2.0 */
/* Finds contradictions about the topology: between two files of sysfs, and between sysfs and hwloc. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "probe/host/reading.h"

#define MOST	8 /* further ones of the same kind add no information */

static void GT_PRINTF(2, 3) note(struct pr_host *h, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (h->contradictions.n >= MOST)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_strv_add(&h->contradictions, text);
}

static const struct pr_node *find_node(const struct pr_node *node, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (node[i].id == id)
			return &node[i];
	return NULL;
}

/* Reports CPUs that the firmware assigns to two nodes. Their node is then uncertain. */
static void compare_nodes(struct pr_host *h)
{
	for (size_t i = 0; i < h->n_node; i++)
		for (size_t k = 0; k < i; k++) {
			gt_autofree char *list = NULL;
			gt_auto_set both = { 0 };

			gt_set_copy(&both, &h->node[i].cpus);
			gt_set_and(&both, &h->node[k].cpus);
			if (!gt_set_count(&both))
				continue;
			list = gt_set_format(&both);
			note(h, "nodes %d and %d overlap: both contain the CPUs %s", h->node[k].id, h->node[i].id, list);
			break;
		}
}

/*
 * Skips nodes without CPUs in the comparison. hwloc omits those that are GPU memory, and gives the others the CPUs of
 * neighbouring nodes.
 */
static void compare_with_hwloc(struct gt_fsroot *fs, struct pr_host *h)
{
	struct pr_node *all;
	size_t n;

	if (pr_hwloc_nodes(fs, &all, &n) < 0)
		return;
	for (size_t i = 0; i < h->n_node; i++) {
		const struct pr_node *node = &h->node[i], *same = find_node(all, n, node->id);
		gt_autofree char *one = NULL, *two = NULL;
		gt_auto_set cpus = { 0 };

		if (!gt_set_count(&node->cpus))
			continue;
		if (!same) {
			note(h, "node %d is in sysfs but not in hwloc", node->id);
			continue;
		}
		gt_set_copy(&cpus, &same->cpus);
		gt_set_and(&cpus, &h->cpu.online);
		if (gt_set_equal(&cpus, &node->cpus))
			continue;
		one = gt_set_format(&node->cpus);
		two = gt_set_format(&cpus);
		note(h, "node %d has CPUs %s in sysfs, but %s in hwloc", node->id, one, *two ? two : "none");
	}
	pr_free_nodes(all, n);
}

/* Returns true for storage, network, display and accelerator devices. */
static bool location_matters(const struct pr_pci *d)
{
	unsigned base = d->class_code >> 16;

	return base == 1 || base == 2 || base == 3 || base == 0x12;
}

static void compare_device(struct pr_host *h, const struct pr_pci *d)
{
	const struct pr_node *n = pr_has(d->numa_node) ? find_node(h->node, h->n_node, d->numa_node.v) : NULL;
	gt_autofree char *node = NULL;
	gt_auto_set near = { 0 };

	if (pr_has(d->numa_node) && !n) {
		note(h, "%s is on node %d, which does not exist", d->address, (int)d->numa_node.v);
		return;
	}
	if (!n || !gt_set_count(&n->cpus) || !d->local_cpulist.v || gt_parse_cpulist(d->local_cpulist.v, &near) < 0)
		return;
	gt_set_and(&near, &h->cpu.online);
	if (gt_set_equal(&near, &n->cpus))
		return;
	node = gt_set_format(&n->cpus);
	note(h, "%s is on node %d (CPUs %s), but its local_cpulist is %s", d->address, n->id, node,
	     *d->local_cpulist.v ? d->local_cpulist.v : "empty");
}

void pr_find_contradictions(struct gt_fsroot *fs, struct pr_host *h)
{
	compare_nodes(h);
	compare_with_hwloc(fs, h);
	for (size_t i = 0; i < h->n_pci; i++)
		if (location_matters(&h->pci[i]))
			compare_device(h, &h->pci[i]);
}
