/* SPDX-License-Identifier: Apache-2.0 */
/* NUMA nodes by hwloc, on the same root as everything else: live, its own reading of a tree (HWLOC_FSROOT), or the export
 * that a capture keeps. */
#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include "probe/reading.h"

#define NODE "/sys/devices/system/node"

/* We read PCI ourselves, and vendor plug-ins would open the very libraries whose state is to be diagnosed. */
static const struct {
	const char *name, *value;
} calm[] = {
	{ "HWLOC_COMPONENTS", "-opencl,-gl,-cuda,-nvml,-rsmi,-levelzero,-pci,-xml_libxml" },
	{ "HWLOC_HIDE_ERRORS", "2" },
	{ "HWLOC_PLUGINS_BLACKLIST",
	  "hwloc_opencl,hwloc_gl,hwloc_cuda,hwloc_nvml,hwloc_rsmi,hwloc_levelzero,hwloc_pci,hwloc_xml_libxml" },
};

/* Returns which of them are ours: what we start later must not find them in its environment. */
static unsigned calm_hwloc(void)
{
	unsigned ours = 0;

	for (size_t i = 0; i < GT_ARRAY_SIZE(calm); i++)
		if (!getenv(calm[i].name) && setenv(calm[i].name, calm[i].value, 0) == 0)
			ours |= 1u << i;
	return ours;
}

static void wake_hwloc(unsigned ours)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(calm); i++)
		if (ours & 1u << i)
			unsetenv(calm[i].name);
}

static int load_calm(struct gt_fsroot *fs, hwloc_topology_t *ret)
{
	const char *dir = gt_fs_dir(fs);
	gt_autofree char *xml = NULL;
	size_t len = 0;
	hwloc_topology_t t;
	bool live = gt_fs_is_live(fs);
	int r;

	if (hwloc_topology_init(&t) < 0)
		return -1;
	/* the whole machine, also what our cpuset does not allow */
	hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (!live && gt_fs_fact(fs, "hwloc.xml", &xml, &len) >= 0)
		r = hwloc_topology_set_xmlbuffer(t, xml, (int)len + 1);
	else
		r = live ? 0 : dir ? setenv("HWLOC_FSROOT", dir, 1) : -1;
	if (!r)
		r = hwloc_topology_load(t);
	if (!live)
		unsetenv("HWLOC_FSROOT");
	if (r < 0) {
		hwloc_topology_destroy(t);
		return r;
	}
	*ret = t;
	return 0;
}

static int load(struct gt_fsroot *fs, hwloc_topology_t *ret)
{
	unsigned ours = calm_hwloc();
	int r = load_calm(fs, ret);

	wake_hwloc(ours);
	return r;
}

static void copy_cpus(const struct pr_host *h, hwloc_const_cpuset_t from, struct gt_set *to)
{
	gt_set_for_each(cpu, &h->cpu.online)
		if (hwloc_bitmap_isset(from, (unsigned)cpu))
			gt_set_add(to, (unsigned)cpu);
}

static void add_distances(hwloc_topology_t t, struct pr_host *h)
{
	struct hwloc_distances_s *d;
	unsigned nr = 1;

	if (hwloc_distances_get_by_type(t, HWLOC_OBJ_NUMANODE, &nr, &d, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 || !nr)
		return;
	if (d->nbobjs == h->n_node)
		for (unsigned i = 0; i < d->nbobjs; i++) {
			h->node[i].distance = gt_xcalloc(d->nbobjs, sizeof(int));
			for (unsigned j = 0; j < d->nbobjs; j++)
				h->node[i].distance[j] = (int)d->values[i * d->nbobjs + j];
		}
	hwloc_distances_release(t, d);
}

static int add_nodes(struct gt_fsroot *fs, struct pr_host *h)
{
	hwloc_topology_t t;
	hwloc_obj_t obj = NULL;
	int n;

	if (load(fs, &t) < 0)
		return -1;
	n = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
	h->node = gt_xcalloc((size_t)GT_MAX(n, 1), sizeof(*h->node));
	while ((obj = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, obj)) && h->n_node < (size_t)n) {
		struct pr_node *node = &h->node[h->n_node++];

		node->id = (int)obj->os_index;
		node->mem_bytes = obj->attr->numanode.local_memory ?
					  pr_value((int64_t)obj->attr->numanode.local_memory) :
					  (struct pr_num){ PR_UNKNOWN, 0 };
		copy_cpus(h, obj->cpuset, &node->cpus);
	}
	add_distances(t, h);
	hwloc_topology_destroy(t);
	return h->n_node ? 0 : -1;
}

char *pr_hwloc_xml(struct gt_fsroot *fs)
{
	hwloc_topology_t t;
	char *buf, *copy = NULL;
	int len;

	if (load(fs, &t) < 0)
		return NULL;
	if (!hwloc_topology_export_xmlbuffer(t, &buf, &len, 0)) {
		copy = gt_xstrndup(buf, (size_t)len);
		hwloc_free_xmlbuffer(t, buf);
	}
	hwloc_topology_destroy(t);
	return copy;
}

/* "Node 0 MemTotal:  16777216 kB" */
static struct pr_num node_memory(struct gt_fsroot *fs, int id)
{
	gt_autofree char *path = gt_xasprintf(NODE "/node%d/meminfo", id), *text = NULL;
	const char *at = gt_fs_read_prefix(fs, path, 4096, &text, NULL) < 0 ? NULL : strstr(text, "MemTotal:");
	long long kib;

	return at && sscanf(at, "MemTotal: %lld", &kib) == 1 && kib > 0 ? pr_value(kib * 1024) :
									  (struct pr_num){ PR_UNKNOWN, 0 };
}

/* The kernel's own row of the distance table. */
static void read_distance(struct gt_fsroot *fs, struct pr_node *node, size_t n)
{
	gt_autofree char *path = gt_xasprintf(NODE "/node%d/distance", node->id), *line = NULL;
	char *save = NULL;
	size_t at = 0;

	if (gt_fs_read_line(fs, path, &line) < 0)
		return;
	node->distance = gt_xcalloc(n, sizeof(int));
	for (char *w = strtok_r(line, " ", &save); w && at < n; w = strtok_r(NULL, " ", &save)) {
		int64_t v;

		if (gt_parse_i64(w, &v) < 0 || v <= 0 || v > 65535)
			break;
		node->distance[at++] = (int)v;
	}
	if (at == n)
		return;
	free(node->distance);
	node->distance = NULL;
}

/* The same from the four files per node that hwloc would read too, without the rest of the machine. Its own export, in
 * a captured host, is preferred where there is one. */
static int add_nodes_fast(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *xml = NULL, *line = NULL;
	gt_auto_set nodes = { 0 };

	if (gt_fs_fact(fs, "hwloc.xml", &xml, NULL) >= 0)
		return add_nodes(fs, h);
	if (gt_fs_read_line(fs, NODE "/online", &line) < 0 || gt_parse_cpulist(line, &nodes) < 0 || !gt_set_count(&nodes))
		return -1;
	h->node = gt_xcalloc(gt_set_count(&nodes), sizeof(*h->node));
	gt_set_for_each(id, &nodes) {
		gt_autofree char *path = gt_xasprintf(NODE "/node%d/cpulist", id), *list = NULL;
		struct pr_node *node = &h->node[h->n_node++];

		*node = (struct pr_node){ .id = id, .mem_bytes = node_memory(fs, id) };
		if (gt_fs_read_line(fs, path, &list) >= 0)
			gt_parse_cpulist(list, &node->cpus);
		gt_set_and(&node->cpus, &h->cpu.online);
		read_distance(fs, node, gt_set_count(&nodes));
	}
	return 0;
}

/* A kernel without NUMA: all memory is one node. */
static void one_node(struct pr_host *h)
{
	free(h->node);
	h->node = gt_xcalloc(1, sizeof(*h->node));
	h->n_node = 1;
	h->node[0].mem_bytes = h->mem.total_bytes;
	gt_set_copy(&h->node[0].cpus, &h->cpu.online);
}

static void read_balancing(struct gt_fsroot *fs, struct pr_host *h)
{
	h->numa_balancing = pr_read_num(fs, "/proc/sys/kernel/numa_balancing");
}

void pr_launch_numa(struct gt_fsroot *fs, struct pr_host *h)
{
	if (add_nodes_fast(fs, h) < 0)
		one_node(h);
	if (h->n_node > 1)
		read_balancing(fs, h);
}

void pr_discover_numa(struct gt_fsroot *fs, struct pr_host *h)
{
	if (gt_fs_dir(fs) ? add_nodes(fs, h) < 0 : add_nodes_fast(fs, h) < 0)
		one_node(h);
	for (size_t i = 0; i < h->cpu.n_cpu; i++)
		for (size_t k = 0; k < h->n_node; k++)
			if (gt_set_has(&h->node[k].cpus, (unsigned)h->cpu.cpu[i].id))
				h->cpu.cpu[i].node = h->node[k].id;
	read_balancing(fs, h);
}
