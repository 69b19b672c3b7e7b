/* SPDX-License-Identifier: Apache-2.0 */
/* NUMA nodes from sysfs, in the order of their numbers. */
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/host/reading.h"

#define NODE "/sys/devices/system/node"

/* Lists the nodes from the file "online", or before Linux 2.6.26 from their directories. */
static int list_nodes(struct gt_fsroot *fs, struct gt_set *ret)
{
	gt_autofree char *line = NULL;

	if (gt_fs_read_line(fs, NODE "/online", &line) >= 0 && gt_parse_cpulist(line, ret) >= 0 && gt_set_count(ret))
		return 0;
	return pr_list_numbered(fs, NODE, "node", ret);
}

/* Parses "Node 0 MemTotal:  16777216 kB". */
static struct pr_num node_memory(struct gt_fsroot *fs, int id)
{
	gt_autofree char *path = gt_xasprintf(NODE "/node%d/meminfo", id), *text = NULL;
	const char *at = gt_fs_read_prefix(fs, path, 4096, &text, NULL) < 0 ? NULL : strstr(text, "MemTotal:");
	long long kib;

	return at && sscanf(at, "MemTotal: %lld", &kib) == 1 && kib >= 0 && kib <= INT64_MAX / 1024 ?
		       pr_value(kib * 1024) :
		       (struct pr_num){ PR_UNKNOWN, 0 };
}

/* Reads a row of the distance table. The kernel writes one word per online node, in the order of the node numbers. */
static void read_distance(struct gt_fsroot *fs, struct pr_node *node, size_t n)
{
	gt_autofree char *path = gt_xasprintf(NODE "/node%d/distance", node->id), *line = NULL;
	size_t at = 0;

	if (gt_fs_read_line(fs, path, &line) < 0)
		return;
	node->distance = gt_xcalloc(n, sizeof(int));
	gt_each_word(w, line, " ") {
		int64_t v;

		if (at == n || gt_parse_i64(w, &v) < 0 || v <= 0 || v > 65535)
			break;
		node->distance[at++] = (int)v;
	}
	if (at == n)
		return;
	free(node->distance);
	node->distance = NULL;
}

static int add_nodes(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_set nodes = { 0 };

	if (list_nodes(fs, &nodes) < 0)
		return -1;
	h->node = gt_xcalloc(gt_set_count(&nodes), sizeof(*h->node));
	gt_set_for_each(id, &nodes) {
		gt_autofree char *dir = gt_xasprintf(NODE "/node%d", id);
		struct pr_node *node = &h->node[h->n_node++];

		*node = (struct pr_node){ .id = id, .mem_bytes = node_memory(fs, id) };
		pr_read_cpus(fs, dir, "cpulist", "cpumap", &node->cpus);
		gt_set_and(&node->cpus, &h->cpu.online);
		read_distance(fs, node, gt_set_count(&nodes));
	}
	return 0;
}

static const struct pr_node *find_node(const struct pr_node *node, size_t n, int id)
{
	for (size_t i = 0; i < n; i++)
		if (node[i].id == id)
			return &node[i];
	return NULL;
}

/* Returns the row in the order of the host's nodes, NULL if one of them is missing. */
static int *reorder_row(const struct pr_host *h, const struct pr_node *from, const struct pr_node *all, size_t n)
{
	gt_autofree int *row = gt_xcalloc(h->n_node, sizeof(int));

	for (size_t i = 0; i < h->n_node; i++) {
		const struct pr_node *to = find_node(all, n, h->node[i].id);

		if (!from->distance || !to || from->distance[to - all] <= 0)
			return NULL;
		row[i] = from->distance[to - all];
	}
	return gt_take(row);
}

/* Captures by older versions have the memory and the distances of nodes only in hwloc's export. */
static void complete_from_export(struct gt_fsroot *fs, struct pr_host *h)
{
	bool complete = true;
	struct pr_node *all;
	size_t n;

	for (size_t i = 0; i < h->n_node; i++)
		complete &= pr_has(h->node[i].mem_bytes) && h->node[i].distance;
	if (complete || h->live || pr_hwloc_nodes(fs, &all, &n) < 0)
		return;
	for (size_t i = 0; i < h->n_node; i++) {
		const struct pr_node *same = find_node(all, n, h->node[i].id);

		if (same && !pr_has(h->node[i].mem_bytes))
			h->node[i].mem_bytes = same->mem_bytes;
		if (same && !h->node[i].distance)
			h->node[i].distance = reorder_row(h, same, all, n);
	}
	pr_free_nodes(all, n);
}

/* Creates one node with all memory, for a kernel without NUMA. */
static void one_node(struct pr_host *h)
{
	free(h->node);
	h->node = gt_xcalloc(1, sizeof(*h->node));
	h->n_node = 1;
	h->node[0].mem_bytes = h->mem.total_bytes;
	gt_set_copy(&h->node[0].cpus, &h->cpu.online);
}

static void read_nodes(struct gt_fsroot *fs, struct pr_host *h)
{
	if (add_nodes(fs, h) < 0)
		one_node(h);
	else
		complete_from_export(fs, h);
}

static void read_balancing(struct gt_fsroot *fs, struct pr_host *h)
{
	h->numa_balancing = pr_read_num(fs, "/proc/sys/kernel/numa_balancing");
}

void pr_launch_numa(struct gt_fsroot *fs, struct pr_host *h)
{
	read_nodes(fs, h);
	if (h->n_node > 1)
		read_balancing(fs, h);
}

void pr_discover_numa(struct gt_fsroot *fs, struct pr_host *h)
{
	read_nodes(fs, h);
	for (size_t i = 0; i < h->cpu.n_cpu; i++)
		for (size_t k = 0; k < h->n_node; k++)
			if (gt_set_has(&h->node[k].cpus, (unsigned)h->cpu.cpu[i].id))
				h->cpu.cpu[i].node = h->node[k].id;
	read_balancing(fs, h);
}
