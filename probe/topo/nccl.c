/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the file for NCCL_TOPO_FILE. NCCL's parser (src/graph/xml.cc) accepts limited XML: no declaration, one blank
 * between attributes, no entities, values below 255 characters, at most 256 elements. Its tree has only the upstream
 * port of each PCIe switch and no root ports. NCCL detects values that the file omits. An unknown node is "-1".
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "probe/topo/topo.h"

#define NCCL_NODES_MAX 256
#define NCCL_VALUE_MAX 254
#define DEPTH_MAX      16

struct writer {
	const json_t *doc;
	struct gt_buf *out;
	size_t elements;
	const char *open[DEPTH_MAX]; /* open switches, outermost first */
	size_t depth;
};

/* Writes an attribute. Characters that would end the value, or that need entities, become '_'. */
static void attr(struct writer *w, const char *key, const char *value)
{
	size_t n = 0;

	gt_buf_printf(w->out, " %s=\"", key);
	for (; *value && n < NCCL_VALUE_MAX - 1; value++, n++) {
		char c = *value < ' ' || strchr("\"'<>&", *value) || *value == 127 ? '_' : *value;

		gt_buf_add(w->out, &c, 1);
	}
	gt_buf_puts(w->out, "\"");
}

static void begin(struct writer *w, size_t level, const char *name)
{
	w->elements++;
	gt_buf_printf(w->out, "%*s<%s", (int)level * 2, "", name);
}

static void attr_int(struct writer *w, const char *key, const json_t *o, const char *from)
{
	if (json_is_integer(json_object_get(o, from)))
		gt_buf_printf(w->out, " %s=\"%d\"", key, (int)gt_json_get_int(o, from, 0));
}

/* Writes speed and width. NCCL expects the format of newer kernels. For a GPU that saves power the full speed is written. */
static void attr_link(struct writer *w, const json_t *link)
{
	const char *state = gt_json_get_str(link, "state", "unknown");
	double speed = gt_json_get_real(link, strcmp(state, "resting") ? "gt_per_s" : "max_gt_per_s", 0);

	if (!strcmp(state, "unknown"))
		return;
	if (speed > 0)
		gt_buf_printf(w->out, " link_speed=\"%.1f GT/s PCIe\"", speed);
	attr_int(w, "link_width", link, "width");
}

static const json_t *find(const json_t *list, const char *pci)
{
	const json_t *d;
	size_t i;

	json_array_foreach(list, i, d) if (!strcmp(gt_json_get_str(d, "pci", ""), pci)) return d;
	return NULL;
}

static void attr_pci(struct writer *w, const char *pci, const json_t *d)
{
	attr(w, "busid", pci);
	attr(w, "class", gt_json_get_str(d, "class", "0x060400"));
	if (json_object_get(d, "vendor"))
		attr(w, "vendor", gt_json_get_str(d, "vendor", ""));
	if (json_object_get(d, "device"))
		attr(w, "device", gt_json_get_str(d, "device", ""));
	attr_link(w, json_object_get(d, "link"));
}

static void close_to(struct writer *w, size_t depth)
{
	while (w->depth > depth)
		gt_buf_printf(w->out, "%*s</pci>\n", (int)(--w->depth + 2) * 2, "");
}

/* Closes the open switches that are not above the device and opens its own. Only every second path element, counted
 * from the device, is an upstream port. */
static void open_path(struct writer *w, const json_t *device)
{
	const json_t *under = json_object_get(device, "under");
	size_t n = json_array_size(under), depth = 0;

	for (size_t i = n % 2; i + 1 < n; i += 2) {
		const char *pci = json_string_value(json_array_get(under, i));

		if (depth == DEPTH_MAX || !pci)
			return;
		if (depth < w->depth && !strcmp(w->open[depth], pci)) {
			depth++;
			continue;
		}
		close_to(w, depth);
		begin(w, depth + 2, "pci");
		attr_pci(w, pci, find(json_object_get(w->doc, "bridges"), pci));
		gt_buf_puts(w->out, ">\n");
		w->open[w->depth++] = pci;
		depth++;
	}
	close_to(w, depth);
}

static void put_gpu(struct writer *w, const json_t *d, size_t level)
{
	const json_t *links = json_object_get(d, "nvlinks"), *c2c = json_object_get(d, "c2c"), *l;
	int64_t active = gt_json_get_int(c2c, "links", 0) - gt_json_get_int(c2c, "links_down", 0);
	int64_t bandwidth = active > 0 ? gt_json_get_int(c2c, "mb_per_s", 0) / active : 0;
	bool empty = !json_array_size(links) && bandwidth <= 0;
	size_t i;

	begin(w, level, "gpu");
	attr_int(w, "dev", d, "nvml_index");
	attr_int(w, "sm", d, "arch");
	gt_buf_puts(w->out, empty ? "/>\n" : ">\n");
	json_array_foreach(links, i, l)
	{
		const char *kind = gt_json_get_str(l, "kind", ""), *to = gt_json_get_str(l, "to", "");
		const json_t *other = find(json_object_get(w->doc, "devices"), to);

		begin(w, level + 1, "nvlink");
		attr(w, "target", *to ? to : "fffffff:ffff:ff"); /* NCCL's address for a device that is not visible */
		gt_buf_printf(w->out, " count=\"%d\"", (int)gt_json_get_int(l, "links", 0));
		attr(w, "tclass",
		     !strcmp(kind, "gpu")   ? gt_json_get_str(other, "class", "0x030200")
		     : !strcmp(kind, "npu") ? "0x068001"
					    : "0x068000");
		gt_buf_puts(w->out, "/>\n");
	}
	if (bandwidth > 0) { /* MB/s of one link */
		begin(w, level + 1, "c2c");
		gt_buf_printf(w->out, " bw=\"%d\" count=\"%d\"/>\n", (int)bandwidth, (int)active);
	}
	if (!empty)
		gt_buf_printf(w->out, "%*s</gpu>\n", (int)level * 2, "");
}

static void put_nic(struct writer *w, const json_t *d, size_t level)
{
	const char *name =
		json_string_value(json_array_get(json_object_get(d, "system_names"), 0)); /* the RDMA name is the first */

	begin(w, level, "nic");
	gt_buf_puts(w->out, ">\n");
	begin(w, level + 1, "net");
	attr(w, "name", name);
	attr_int(w, "speed", d, "speed_mbit");
	gt_buf_printf(w->out, "/>\n%*s</nic>\n", (int)level * 2, "");
}

/* Returns whether NCCL can use the device: GPUs, and network ports that have a name. */
static bool wanted(const json_t *d)
{
	const char *kind = gt_json_get_str(d, "kind", "");

	return json_is_string(json_object_get(d, "root")) &&
	       (!strcmp(kind, "GPU") || ((!strcmp(kind, "NIC") || !strcmp(kind, "IB")) &&
					 json_is_string(json_array_get(json_object_get(d, "system_names"), 0))));
}

static int64_t node_of(const json_t *d)
{
	return gt_json_get_int(d, "numa_node", -1);
}

static void put_devices(struct writer *w, int64_t node)
{
	const json_t *list = json_object_get(w->doc, "devices"), *d;
	size_t i;

	json_array_foreach(list, i, d)
	{
		size_t level;

		if (!wanted(d) || node_of(d) != node)
			continue;
		open_path(w, d);
		level = w->depth + 2;
		begin(w, level, "pci");
		attr_pci(w, gt_json_get_str(d, "pci", ""), d);
		gt_buf_puts(w->out, ">\n");
		if (!strcmp(gt_json_get_str(d, "kind", ""), "GPU"))
			put_gpu(w, d, level + 1);
		else
			put_nic(w, d, level + 1);
		gt_buf_printf(w->out, "%*s</pci>\n", (int)level * 2, "");
	}
	close_to(w, 0);
}

/* Writes a CPU mask like "0000ffff,00000000", the highest word first. */
static void attr_affinity(struct writer *w, const char *cpulist)
{
	gt_auto_set cpus = {0};
	gt_auto_buf b = {0};
	int last = -1;

	if (gt_parse_cpulist(cpulist, &cpus) < 0)
		return;
	gt_set_for_each(cpu, &cpus) last = cpu;
	for (int word = last < 0 ? 0 : last / 32; word >= 0; word--) {
		uint32_t v = 0;

		for (int bit = 0; bit < 32; bit++)
			v |= (uint32_t)gt_set_has(&cpus, (unsigned)(word * 32 + bit)) << bit;
		gt_buf_printf(&b, "%08x%s", v, word ? "," : "");
	}
	if (b.len < NCCL_VALUE_MAX) /* NCCL detects the affinity if it is omitted */
		attr(w, "affinity", b.s);
}

static void attr_cpu(struct writer *w)
{
	static const char *const archs[][2] = {{"x86_64", "x86_64"}, {"aarch64", "arm64"}, {"ppc64le", "ppc64"}};
	const json_t *cpu = json_object_get(w->doc, "cpu");
	const char *arch = gt_json_get_str(cpu, "arch", ""), *vendor = gt_json_get_str(cpu, "vendor", "");

	for (size_t i = 0; i < GT_ARRAY_SIZE(archs); i++)
		if (!strcmp(arch, archs[i][0]))
			attr(w, "arch", archs[i][1]);
	if (strcmp(arch, "x86_64") || !*vendor)
		return;
	attr(w, "vendor", vendor);
	if (!strcmp(vendor, "GenuineIntel") &&
	    gt_json_get_int(cpu, "family", -1) == 6) { /* NCCL evaluates only these */
		attr_int(w, "familyid", cpu, "family");
		attr_int(w, "modelid", cpu, "model");
	}
}

static void put_node(struct writer *w, int64_t id, const char *cpus)
{
	begin(w, 1, "cpu");
	gt_buf_printf(w->out, " numaid=\"%d\"", (int)id);
	if (cpus)
		attr_affinity(w, cpus);
	attr_cpu(w);
	gt_buf_puts(w->out, ">\n");
	put_devices(w, id);
	gt_buf_puts(w->out, "  </cpu>\n");
}

int pr_topo_nccl(const json_t *doc, struct gt_buf *out, struct gt_err *err)
{
	struct writer w = {.doc = doc, .out = out};
	const json_t *nodes = json_object_get(doc, "nodes"), *devices = json_object_get(doc, "devices"), *n, *d;
	bool no_node = false;
	size_t i;

	begin(&w, 0, "system");
	gt_buf_puts(out, " version=\"1\">\n");
	json_array_foreach(nodes, i, n) put_node(&w, gt_json_get_int(n, "id", -1), gt_json_get_str(n, "cpus", ""));
	json_array_foreach(devices, i, d) no_node |= wanted(d) && node_of(d) < 0;
	if (no_node)
		put_node(&w, -1, NULL);
	gt_buf_puts(out, "</system>\n");
	if (w.elements > NCCL_NODES_MAX)
		return gt_fail_exit(err, GT_EXIT_USAGE, E2BIG, "NCCL reads at most %d elements, but this host has %zu",
				    NCCL_NODES_MAX, w.elements);
	return 0;
}
