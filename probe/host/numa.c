/* SPDX-License-Identifier: Apache-2.0 */
/* NUMA nodes by hwloc, on the same root as everything else: live, its own reading of a tree (HWLOC_FSROOT), or the export
 * that a capture keeps. */
#include <hwloc.h>
#include <string.h>
#include "probe/reading.h"

/* We read PCI ourselves, and vendor plug-ins would open the very libraries whose state is to be diagnosed. */
static void calm_hwloc(void)
{
	setenv("HWLOC_COMPONENTS", "-opencl,-gl,-cuda,-nvml,-rsmi,-levelzero,-pci,-xml_libxml", 0);
	setenv("HWLOC_HIDE_ERRORS", "2", 0);
	setenv("HWLOC_PLUGINS_BLACKLIST", "hwloc_opencl,hwloc_gl,hwloc_cuda,hwloc_nvml,hwloc_rsmi,hwloc_levelzero", 0);
}

static int load(struct gt_fsroot *fs, hwloc_topology_t *ret)
{
	gt_autofree char *xml = NULL;
	size_t len = 0;
	hwloc_topology_t t;
	bool live = gt_fs_is_live(fs);
	int r;

	calm_hwloc();
	if (hwloc_topology_init(&t) < 0)
		return -1;
	/* the whole machine, also what our cpuset does not allow */
	hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (!live && gt_fs_fact(fs, "hwloc.xml", &xml, &len) >= 0)
		r = hwloc_topology_set_xmlbuffer(t, xml, (int)len + 1);
	else
		r = live ? 0 : setenv("HWLOC_FSROOT", gt_fs_dir(fs), 1);
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

void pr_discover_numa(struct gt_fsroot *fs, struct pr_host *h)
{
	if (add_nodes(fs, h) < 0) { /* a kernel without NUMA: all memory is one node */
		free(h->node);
		h->node = gt_xcalloc(1, sizeof(*h->node));
		h->n_node = 1;
		h->node[0].mem_bytes = h->mem.total_bytes;
		gt_set_copy(&h->node[0].cpus, &h->cpu.online);
	}
	for (size_t i = 0; i < h->cpu.n_cpu; i++)
		for (size_t k = 0; k < h->n_node; k++)
			if (gt_set_has(&h->node[k].cpus, (unsigned)h->cpu.cpu[i].id))
				h->cpu.cpu[i].node = h->node[k].id;
	h->numa_balancing = pr_read_num(fs, "/proc/sys/kernel/numa_balancing");
}
