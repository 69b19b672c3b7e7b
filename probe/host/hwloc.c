/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the NUMA nodes from hwloc: on the live host for a comparison with sysfs (numa.c), and as an export for captures.
 * hwloc opens files itself, outside lib/fsroot. It therefore never gets a directory as root: if the directory contained
 * a FIFO instead of a file, hwloc would block for ever.
 */
#include <errno.h>
#include <hwloc.h>
#include <string.h>
#include "probe/host/reading.h"

/*
 * Environment variables that are set while hwloc is loaded. PCI is read in pci.c, and hwloc's vendor plug-ins would open
 * the libraries that gpuprobe diagnoses. NULL: unset the variable, because it would replace the live host by another
 * topology.
 */
static const struct {
	const char *name, *value;
} variables[] = {
	{ "HWLOC_COMPONENTS", "-opencl,-gl,-cuda,-nvml,-rsmi,-levelzero,-pci,-xml_libxml" },
	{ "HWLOC_HIDE_ERRORS", "2" },
	{ "HWLOC_PLUGINS_BLACKLIST",
	  "hwloc_opencl,hwloc_gl,hwloc_cuda,hwloc_nvml,hwloc_rsmi,hwloc_levelzero,hwloc_pci,hwloc_xml_libxml" },
	{ "HWLOC_FSROOT", NULL },
	{ "HWLOC_XMLFILE", NULL },
	{ "HWLOC_SYNTHETIC", NULL },
};
#define N_VARIABLES GT_ARRAY_SIZE(variables)

static void set_variable(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static int load_topology(struct gt_fsroot *fs, hwloc_topology_t *ret)
{
	gt_autofree char *xml = NULL;
	size_t len = 0;
	hwloc_topology_t t;
	int r = 0;

	if (!gt_fs_is_live(fs)) {
		r = gt_fs_fact(fs, "hwloc.xml", &xml, &len);
		if (r < 0)
			return r;
	}
	if (hwloc_topology_init(&t) < 0)
		return -ENOMEM;
	/* include the CPUs outside the cpuset */
	hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (xml)
		r = hwloc_topology_set_xmlbuffer(t, xml, (int)len + 1);
	if (r < 0 || hwloc_topology_load(t) < 0) {
		hwloc_topology_destroy(t);
		return -EINVAL;
	}
	*ret = t;
	return 0;
}

/* Restores the variables, so that programs started later do not inherit them. */
static int load(struct gt_fsroot *fs, hwloc_topology_t *ret)
{
	char *saved[N_VARIABLES];
	int r;

	for (size_t i = 0; i < N_VARIABLES; i++) {
		const char *old = getenv(variables[i].name);

		saved[i] = old ? gt_xstrdup(old) : NULL;
		set_variable(variables[i].name, variables[i].value);
	}
	r = load_topology(fs, ret);
	for (size_t i = 0; i < N_VARIABLES; i++) {
		set_variable(variables[i].name, saved[i]);
		free(saved[i]);
	}
	return r;
}

static void copy_cpus(hwloc_const_cpuset_t from, struct gt_set *to)
{
	for (int cpu = hwloc_bitmap_first(from); cpu >= 0 && cpu < GT_SET_MAX; cpu = hwloc_bitmap_next(from, cpu))
		gt_set_add(to, (unsigned)cpu);
}

/* Returns the index of a node in the list, n if it is missing. */
static size_t index_of(const struct pr_node *node, size_t n, const struct hwloc_obj *obj)
{
	size_t i = 0;

	while (i < n && (!obj || node[i].id != (int)obj->os_index))
		i++;
	return i;
}

/* The matrix has its own order, which may differ from the order of the node numbers. */
static void add_distances(hwloc_topology_t t, struct pr_node *node, size_t n)
{
	struct hwloc_distances_s *d;
	unsigned nr = 1;

	if (hwloc_distances_get_by_type(t, HWLOC_OBJ_NUMANODE, &nr, &d, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 || !nr)
		return;
	for (unsigned i = 0; d->nbobjs == n && i < n; i++) {
		size_t from = index_of(node, n, d->objs[i]);

		if (from == n || node[from].distance)
			break;
		node[from].distance = gt_xcalloc(n, sizeof(int));
		for (unsigned k = 0; k < n; k++) {
			size_t to = index_of(node, n, d->objs[k]);

			if (to < n)
				node[from].distance[to] = (int)d->values[i * n + k];
		}
	}
	hwloc_distances_release(t, d);
}

static int by_id(const void *a, const void *b)
{
	const struct pr_node *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

int pr_hwloc_nodes(struct gt_fsroot *fs, struct pr_node **ret, size_t *ret_n)
{
	hwloc_topology_t t;
	hwloc_obj_t obj = NULL;
	struct pr_node *node;
	size_t n = 0;
	int count, r = load(fs, &t);

	if (r < 0)
		return r;
	count = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
	node = gt_xcalloc((size_t)GT_MAX(count, 1), sizeof(*node));
	while ((obj = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, obj)) && n < (size_t)GT_MAX(count, 0)) {
		node[n].id = (int)obj->os_index;
		node[n].mem_bytes = obj->attr->numanode.local_memory ?
					    pr_value((int64_t)obj->attr->numanode.local_memory) :
					    (struct pr_num){ PR_UNKNOWN, 0 };
		copy_cpus(obj->cpuset, &node[n++].cpus);
	}
	qsort(node, n, sizeof(*node), by_id);
	add_distances(t, node, n);
	hwloc_topology_destroy(t);
	*ret = node;
	*ret_n = n;
	return 0;
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
