/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the document of gpuprobe topo, with the source of each path and the contradictions between sources. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/host/reading.h"
#include "probe/topo/topo.h"

/* Returns the kind of display and 3D controllers, network and InfiniBand devices and NVMe; else NULL. */
static const char *kind_of(const struct pr_pci *d)
{
	if (pr_is_network(d))
		return "NIC";
	switch (d->class_code >> 8) {
	case 0x0108:
		return "NVMe";
	case 0x0207:
		return "IB";
	case 0x0300:
	case 0x0302:
		return d->vendor == 0x10de ? "GPU" : NULL;
	case 0x1200:
		return "accelerator";
	default:
		return NULL;
	}
}

/* A PCI device and its NVML data. */
struct device {
	const struct pr_pci *pci;
	const struct pr_gpu *gpu; /* NULL: none */
	const char *kind;
	char name[24]; /* "GPU0" */
	struct pr_num node;
	const char *node_from; /* "sysfs" or "nvml"; NULL: unknown */
};

struct topo {
	const struct pr_host *h;
	struct device *device;
	size_t n;
	json_t *contradictions;
};

static void GT_PRINTF(2, 3) contradict(struct topo *t, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (json_array_size(t->contradictions) < 64)
		json_array_append_new(t->contradictions, gt_json_str(text));
}

/* ---- devices ---- */

/* Prefers sysfs. Uses NVML if the firmware gave the kernel no node. */
static void find_node(struct topo *t, struct device *d)
{
	gt_auto_set near = {0};
	int only;

	d->node = d->pci->numa_node;
	d->node_from = pr_has(d->node) ? "sysfs" : NULL;
	if (!d->gpu || !d->gpu->memory_affinity.v || gt_parse_cpulist(d->gpu->memory_affinity.v, &near) < 0 ||
	    gt_set_count(&near) != 1)
		return;
	only = gt_set_next(&near, -1);
	if (!pr_has(d->node)) {
		d->node = pr_value(only);
		d->node_from = "nvml";
	} else if (d->node.v != only && t->h->n_node > 1) {
		contradict(t, "%s (%s) is on node %d by sysfs, but near node %d by NVML", d->name, d->pci->address,
			   (int)d->node.v, only);
	}
}

static void compare_cpus(struct topo *t, const struct device *d)
{
	gt_auto_set sysfs = {0}, nvml = {0};
	gt_autofree char *one = NULL, *two = NULL;

	if (!d->gpu || !d->gpu->cpu_affinity.v || !d->pci->local_cpulist.v || !pr_has(d->pci->numa_node) ||
	    gt_parse_cpulist(d->gpu->cpu_affinity.v, &nvml) < 0 ||
	    gt_parse_cpulist(d->pci->local_cpulist.v, &sysfs) < 0)
		return;
	gt_set_and(&sysfs, &t->h->cpu.online);
	gt_set_and(&nvml, &t->h->cpu.online);
	if (!gt_set_count(&nvml) || !gt_set_count(&sysfs) || gt_set_equal(&sysfs, &nvml))
		return;
	one = gt_set_format(&sysfs);
	two = gt_set_format(&nvml);
	contradict(t, "%s (%s) is near CPUs %s by sysfs, but %s by NVML", d->name, d->pci->address, one, two);
}

/* Names the devices. GPUs get the index of NVML, which programs use, if every GPU has one. Other devices are numbered in order. */
static void name_devices(struct topo *t)
{
	bool numbered = true;
	int count[5] = {0};
	static const char *const kinds[] = {"GPU", "NIC", "IB", "NVMe", "accelerator"};

	for (size_t i = 0; i < t->n; i++)
		if (t->device[i].gpu && !pr_has(t->device[i].gpu->index))
			numbered = false;
	for (size_t i = 0; i < t->n; i++) {
		struct device *d = &t->device[i];
		size_t k = 0;

		while (strcmp(kinds[k], d->kind))
			k++;
		snprintf(d->name, sizeof(d->name), "%s%d", k == 4 ? "ACC" : d->kind,
			 k == 0 && numbered && d->gpu ? (int)d->gpu->index.v : count[k]);
		count[k]++;
	}
}

static void collect(struct topo *t)
{
	t->device = gt_xcalloc(t->h->n_pci + 1, sizeof(*t->device));
	for (size_t i = 0; i < t->h->n_pci; i++) {
		struct device *d = &t->device[t->n];

		d->pci = &t->h->pci[i];
		d->kind = kind_of(d->pci);
		if (!d->kind || d->pci->virtual_function) /* one device may have a hundred virtual functions */
			continue;
		for (size_t k = 0; k < t->h->n_gpu; k++)
			if (t->h->gpu[k].pci == d->pci)
				d->gpu = &t->h->gpu[k];
		t->n++;
	}
	name_devices(t);
	for (size_t i = 0; i < t->n; i++) {
		find_node(t, &t->device[i]);
		compare_cpus(t, &t->device[i]);
	}
}

static json_t *link_json(const struct pr_pci *d, bool gpu)
{
	struct pr_link l = pr_link_of(d);

	return json_pack("{s:o, s:o, s:o, s:o, s:s}", "width", l.width ? json_integer(l.width) : json_null(),
			 "max_width", l.max_width ? json_integer(l.max_width) : json_null(), "gt_per_s",
			 l.speed > 0 ? gt_json_real(l.speed) : json_null(), "max_gt_per_s",
			 l.max_speed > 0 ? gt_json_real(l.max_speed) : json_null(), "state", pr_link_state(&l, gpu));
}

/* Returns the system's names of the device: "mlx5_0", "eth0", "nvme0n1". */
static json_t *names_json(const struct pr_host *h, const struct pr_pci *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->rdma.n; i++)
		if (!strcmp(h->rdma_pci.v[i], d->address))
			json_array_append_new(list, gt_json_str(h->rdma.v[i]));
	for (size_t i = 0; i < h->n_net; i++)
		if (gt_streq(h->net[i].pci, d->address))
			json_array_append_new(list, gt_json_str(h->net[i].shown));
	for (size_t i = 0; i < h->n_block; i++)
		if (gt_streq(h->block[i].pci, d->address))
			json_array_append_new(list, gt_json_str(h->block[i].name));
	return list;
}

static json_t *speed_json(const struct pr_host *h, const struct pr_pci *d)
{
	for (size_t i = 0; i < h->n_net; i++)
		if (gt_streq(h->net[i].pci, d->address) && pr_has(h->net[i].speed_mbit))
			return json_integer(h->net[i].speed_mbit.v);
	return json_null();
}

/* Returns the bridges above the device, from the root complex down: the addresses in its sysfs path. */
static json_t *under_json(const struct pr_pci *d)
{
	static const char top[] = "/sys/devices/";
	json_t *list = json_array();
	bool first = true;

	gt_each_word(w, gt_starts_with(d->path, top) ? d->path + strlen(top) : "", "/") {
		if (!first && strcmp(w, d->address))
			json_array_append_new(list, gt_json_str(w));
		first = false;
	}
	return list;
}

/* Returns the root complex of the device, "pci0000:16"; null if sysfs has no path. */
static json_t *root_json(const struct pr_pci *d)
{
	static const char top[] = "/sys/devices/";
	gt_autofree char *root = NULL;

	if (!gt_starts_with(d->path, top))
		return json_null();
	root = gt_xstrndup(d->path + strlen(top), strcspn(d->path + strlen(top), "/"));
	return gt_json_str(root);
}

static json_t *hex(unsigned v, int digits)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%0*x", digits, v);
	return json_string(text);
}

static json_t *links_json(const struct device *d)
{
	json_t *list = json_array();

	for (size_t i = 0; d->gpu && i < d->gpu->n_nvlink; i++)
		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:i}", "to", gt_json_str(d->gpu->nvlink[i].to), "kind",
						gt_json_str(d->gpu->nvlink[i].kind), "links", d->gpu->nvlink[i].links));
	return list;
}

/* Returns the NVLink-C2C links to the processor of the GPU's node; null: none, or unknown. */
static json_t *c2c_json(const struct pr_gpu *g)
{
	if (!pr_has(g->c2c_links))
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "links", pr_num_json(g->c2c_links), "links_down", pr_num_json(g->c2c_links_down),
			 "mb_per_s", pr_num_json(g->c2c_mb_per_s));
}

/* ---- paths ---- */

static bool direct(const struct pr_nvlink *l)
{
	return !strcmp(l->kind, "gpu");
}

static int links_to_switch(const struct pr_gpu *g)
{
	int n = 0;

	for (size_t i = 0; i < g->n_nvlink; i++)
		n += !strcmp(g->nvlink[i].kind, "switch") ? g->nvlink[i].links : 0;
	return n;
}

/* Returns the number of NVLinks between two GPUs: direct ones, else through switches the smaller count of the two. */
static int nvlinks(const struct pr_gpu *a, const struct pr_gpu *b, const char **ret_from)
{
	int n = 0;

	*ret_from = "nvml nvlink";
	for (size_t i = 0; i < a->n_nvlink; i++)
		if (direct(&a->nvlink[i]) && !strcmp(a->nvlink[i].to, b->pci->address))
			n += a->nvlink[i].links;
	if (n)
		return n;
	*ret_from = "nvml nvswitch";
	return GT_MIN(links_to_switch(a), links_to_switch(b));
}

static const char *ancestor(const struct pr_gpu *a, const struct pr_gpu *b)
{
	static const struct {
		int level;
		const char *way;
	} levels[] = {{0, "PIX"}, {10, "PIX"}, {20, "PXB"}, {30, "PHB"}, {40, "NODE"}, {50, "SYS"}};

	for (size_t i = 0; i < a->n_ancestor; i++)
		for (size_t k = 0; !strcmp(a->ancestor[i].to, b->pci->address) && k < GT_ARRAY_SIZE(levels); k++)
			if (levels[k].level == a->ancestor[i].level)
				return levels[k].way;
	return NULL;
}

/* Returns one edge: the path with its source, and the path over PCIe alone. */
static json_t *edge(struct topo *t, const struct device *a, const struct device *b)
{
	const char *from, *nv_from, *pcie = pr_pcie_path(t->h, a->pci, b->pci, &from),
				    *nvml = a->gpu && b->gpu ? ancestor(a->gpu, b->gpu) : NULL;
	int links = a->gpu && b->gpu ? nvlinks(a->gpu, b->gpu, &nv_from) : 0;
	gt_autofree char *nv = NULL;

	if (!strcmp(pcie, "?") && !nvml && gt_starts_with(a->pci->path, "/sys/") &&
	    gt_starts_with(b->pci->path, "/sys/") && pr_has(a->node) && pr_has(b->node)) {
		pcie = a->node.v == b->node.v ? "NODE" : "SYS"; /* different root complexes, with nodes known from NVML */
		from = "nvml";
	}
	if (!strcmp(pcie, "?") && nvml) {
		pcie = nvml;
		from = "nvml";
	} else if (nvml && strcmp(nvml, pcie)) {
		contradict(t, "%s to %s is %s by the %s, but %s by NVML", a->name, b->name, pcie, from, nvml);
	}
	if (links)
		nv = gt_xasprintf("NV%d", links);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "a", a->pci->address, "b", b->pci->address, "way",
			 nv ? nv : pcie, "from", nv ? nv_from : from, "pcie", pcie, "pcie_from", from);
}

/* Returns the edge between the i-th and the k-th device. Edges are stored in the order of the pairs. */
static const char *path_of(const struct topo *t, const json_t *edges, size_t i, size_t k)
{
	size_t a = GT_MIN(i, k), b = GT_MAX(i, k);

	return a == b ? "X"
		      : gt_json_get_str(json_array_get(edges, a * t->n - a * (a + 1) / 2 + b - a - 1), "way", "?");
}

static json_t *device_json(const struct topo *t, const struct device *d, const json_t *edges)
{
	json_t *ways = json_object(), *o;

	for (size_t k = 0; k < t->n; k++)
		json_object_set_new(ways, t->device[k].pci->address,
				    json_string(path_of(t, edges, (size_t)(d - t->device), k)));
	o = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", d->name, "pci",
		      d->pci->address, "kind", d->kind, "numa_node", pr_num_json(d->node), "numa_node_from",
		      gt_json_str(d->node_from), "local_cpulist", pr_str_json(d->pci->local_cpulist), "system_names",
		      names_json(t->h, d->pci), "root", root_json(d->pci), "under", under_json(d->pci), "link",
		      link_json(d->pci, d->gpu != NULL), "ways", ways);
	json_object_set_new(o, "vendor", hex(d->pci->vendor, 4));
	json_object_set_new(o, "device", hex(d->pci->device, 4));
	json_object_set_new(o, "class", hex(d->pci->class_code, 6));
	if (d->gpu) {
		json_object_set_new(o, "model", pr_str_json(d->gpu->name));
		json_object_set_new(o, "nvml_index", pr_num_json(d->gpu->index));
		json_object_set_new(o, "arch", pr_num_json(d->gpu->arch));
		json_object_set_new(o, "nvml_cpus", pr_str_json(d->gpu->cpu_affinity));
		json_object_set_new(o, "nvml_nodes", pr_str_json(d->gpu->memory_affinity));
		json_object_set_new(o, "nvlinks", links_json(d));
		json_object_set_new(o, "nvlinks_down", pr_num_json(d->gpu->nvlinks_down));
		json_object_set_new(o, "c2c", c2c_json(d->gpu));
		json_object_set_new(o, "memory_node", pr_num_json(d->gpu->memory_node));
	} else {
		json_object_set_new(o, "speed_mbit", speed_json(t->h, d->pci));
	}
	return o;
}

/* Returns the PCI bridges with their own links. Bridges that appear only in sysfs paths are omitted. */
static json_t *bridges_json(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_pci; i++)
		if (h->pci[i].class_code >> 8 == 0x0604)
			json_array_append_new(
				list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "pci", h->pci[i].address, "vendor",
						hex(h->pci[i].vendor, 4), "device", hex(h->pci[i].device, 4), "class",
						hex(h->pci[i].class_code, 6), "link", link_json(&h->pci[i], false)));
	return list;
}

static json_t *cpu_json(const struct pr_host *h)
{
	return json_pack("{s:o, s:o, s:o, s:i, s:i, s:i}", "arch", pr_str_json(h->kernel.arch), "vendor",
			 pr_str_json(h->cpu.vendor), "model_name", pr_str_json(h->cpu.model_name), "family",
			 h->cpu.family, "model", h->cpu.model, "online", (int)gt_set_count(&h->cpu.online));
}

/* Without NVML data the NVLinks are unknown, which differs from none. */
static json_t *nvml_json(const struct pr_host *h)
{
	static const char *const state[] = {[PR_NVML_NOT_ASKED] = "not asked",
					    [PR_NVML_OK] = "ok",
					    [PR_NVML_NO_LIBRARY] = "no library",
					    [PR_NVML_ERROR] = "error",
					    [PR_NVML_TIMEOUT] = "timeout"};

	return json_pack("{s:s, s:o}", "state", state[h->nvml.answer], "text", gt_json_str(h->nvml.text));
}

const char *pr_topo_memory_of(const json_t *doc, int64_t node)
{
	const json_t *d;
	size_t i;

	json_array_foreach(json_object_get(doc, "devices"), i, d)
		if (json_is_integer(json_object_get(d, "memory_node")) && gt_json_get_int(d, "memory_node", -1) == node)
			return gt_json_get_str(d, "name", "");
	return NULL;
}

const char *pr_topo_c2c_text(const json_t *device, char *buf, size_t size)
{
	const json_t *c2c = json_object_get(device, "c2c");
	int links = (int)gt_json_get_int(c2c, "links", 0), down = (int)gt_json_get_int(c2c, "links_down", 0);
	double mb_per_s = gt_json_get_real(c2c, "mb_per_s", 0);

	*buf = '\0';
	if (links && down)
		snprintf(buf, size, "! %d of %d C2C links down", down, links);
	else if (links && mb_per_s > 0)
		snprintf(buf, size, "%d C2C links, %.0f GB/s", links, mb_per_s / 1000);
	else if (links)
		snprintf(buf, size, "%d C2C links", links);
	return buf;
}

json_t *pr_topo_json(const struct pr_host *h)
{
	struct topo t = {.h = h, .contradictions = json_array()};
	json_t *edges = json_array(), *devices = json_array(), *doc, *host = pr_host_to_json(h);

	for (size_t i = 0; i < h->contradictions.n; i++)
		json_array_append_new(t.contradictions, gt_json_str(h->contradictions.v[i]));
	collect(&t);
	for (size_t i = 0; i < t.n; i++)
		for (size_t k = i + 1; k < t.n; k++)
			json_array_append_new(edges, edge(&t, &t.device[i], &t.device[k]));
	for (size_t i = 0; i < t.n; i++)
		json_array_append_new(devices, device_json(&t, &t.device[i], edges));
	doc = json_pack("{s:s, s:o, s:O, s:o, s:o, s:o, s:i, s:o}", "schema", "gpuprobe-topo/1", "cpu", cpu_json(h),
			"nodes", json_object_get(host, "nodes"), "devices", devices, "bridges", bridges_json(h),
			"edges", edges, "nvswitches", (int)h->fabric.n_switch, "contradictions", t.contradictions);
	json_object_set_new(doc, "nvml", nvml_json(h));
	json_decref(host);
	free(t.device);
	return doc;
}
