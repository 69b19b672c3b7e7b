/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe topo: shows NUMA nodes, devices and the paths between devices. */
#include <stdio.h>
#include <string.h>
#include "lib/file.h"
#include "lib/table.h"
#include "probe/cmd/gpuprobe.h"
#include "probe/host/reading.h"
#include "probe/topo/topo.h"

static void print_nodes(const struct pr_host *h, const json_t *doc, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();

	gt_table_column(t, "NODE", GT_RIGHT);
	gt_table_column(t, "CPUS", GT_WRAP);
	gt_table_column(t, "MEMORY", GT_RIGHT);
	for (size_t i = 0; i < h->n_node; i++) {
		gt_autofree char *head = gt_xasprintf("TO %d", h->node[i].id);

		gt_table_column(t, head, GT_RIGHT);
	}
	for (size_t i = 0; i < h->n_node; i++) {
		const struct pr_node *n = &h->node[i];
		gt_autofree char *cpus = gt_set_format(&n->cpus);
		const char *gpu = pr_topo_memory_of(doc, n->id);
		char mem[32] = "?";

		if (pr_has(n->mem_bytes))
			gt_format_bytes(mem, sizeof(mem), (uint64_t)n->mem_bytes.v);
		gt_table_row(t);
		gt_table_cell(t, "%d", n->id);
		if (gpu && !*cpus)
			gt_table_cell(t, "(memory of %s)", gpu);
		else
			gt_table_cell(t, "%s", *cpus ? cpus : "(none)");
		gt_table_cell(t, "%s", mem);
		for (size_t k = 0; k < h->n_node; k++) {
			if (n->distance)
				gt_table_cell(t, "%d", n->distance[k]);
			else
				gt_table_cell(t, "%s", h->n_node == 1 ? "10" : "?");
		}
	}
	gt_table_print(t, stdout, color);
}

/* Formats a PCIe link: "x16 32 GT/s", with the maximum if that is higher. */
static void link_text(const json_t *link, char *buf, size_t size)
{
	int width = (int)gt_json_get_int(link, "width", 0), max = (int)gt_json_get_int(link, "max_width", 0);
	double speed = gt_json_get_real(link, "gt_per_s", 0), max_speed = gt_json_get_real(link, "max_gt_per_s", 0);
	const char *state = gt_json_get_str(link, "state", "unknown");

	if (!strcmp(state, "unknown"))
		snprintf(buf, size, "?");
	else if (!strcmp(state, "narrow"))
		snprintf(buf, size, "x%d of x%d !", width, max);
	else if (!strcmp(state, "full") || speed <= 0)
		snprintf(buf, size, "x%d %g GT/s", width, speed);
	else
		snprintf(buf, size, "x%d %g of %g GT/s%s", width, speed, max_speed, strcmp(state, "slow") ? "" : " !");
}

static void print_devices(const json_t *list, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	const json_t *d, *n;
	size_t i, k;

	gt_table_column(t, "NAME", GT_LEFT);
	gt_table_column(t, "DEVICE", GT_LEFT);
	gt_table_column(t, "NODE", GT_RIGHT);
	gt_table_column(t, "NEAR CPUS", GT_WRAP);
	gt_table_column(t, "LINK", GT_LEFT);
	gt_table_column(t, "CALLED", GT_WRAP);
	json_array_foreach(list, i, d)
	{
		const json_t *node = json_object_get(d, "numa_node"), *names = json_object_get(d, "system_names");
		const char *model = gt_json_get_str(d, "model", NULL);
		gt_auto_buf called = {0};
		char link[64];

		link_text(json_object_get(d, "link"), link, sizeof(link));
		gt_buf_puts(&called, model ? model : "");
		json_array_foreach(names, k, n)
			gt_buf_printf(&called, "%s%s", called.len ? " " : "", json_string_value(n));
		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(d, "name", ""));
		gt_table_cell(t, "%s", gt_json_get_str(d, "pci", ""));
		if (json_is_integer(node))
			gt_table_cell(t, "%d%s", (int)json_integer_value(node),
				      !strcmp(gt_json_get_str(d, "numa_node_from", ""), "nvml") ? " (NVML)" : "");
		else
			gt_table_cell(t, "?");
		gt_table_cell(t, "%s", gt_json_get_str(d, "local_cpulist", "?"));
		gt_table_cell(t, "%s", link);
		if (strchr(link, '!'))
			gt_table_color(t, "red");
		gt_table_cell(t, "%s", called.s ? called.s : "");
	}
	gt_table_print(t, stdout, color);
}

static void print_c2c(const json_t *list)
{
	char text[64];
	const json_t *d;
	size_t i;

	json_array_foreach(list, i, d)
		if (*pr_topo_c2c_text(d, text, sizeof(text)))
			printf("%s: %s to the processor of its node\n", gt_json_get_str(d, "name", ""), text);
}

static void print_ways(const json_t *list, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	const json_t *d, *to;
	size_t i, k;

	gt_table_column(t, "", GT_LEFT);
	json_array_foreach(list, i, d) gt_table_column(t, gt_json_get_str(d, "name", ""), GT_LEFT);
	json_array_foreach(list, i, d)
	{
		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(d, "name", ""));
		json_array_foreach(list, k, to) gt_table_cell(
			t, "%s", gt_json_get_str(json_object_get(d, "ways"), gt_json_get_str(to, "pci", ""), ""));
	}
	gt_table_print(t, stdout, color);
	gt_print_wrapped(stdout,
			 "X: the device itself, NV#: number of NVLinks, PIX: at most one PCIe switch, PXB: several "
			 "switches, PHB: the host bridge, NODE: host bridges of one node, SYS: several nodes, ?: unknown",
			 0, gt_term_width(stdout));
}

static void print_doubts(const json_t *doc)
{
	const json_t *list = json_object_get(doc, "contradictions"), *nvml = json_object_get(doc, "nvml"), *c, *d;
	const char *state = gt_json_get_str(nvml, "state", "ok");
	bool cards = false;
	size_t i;

	json_array_foreach(json_object_get(doc, "devices"), i, d)
		cards |= !strcmp(gt_json_get_str(d, "kind", ""), "GPU");
	if (cards && strcmp(state, "ok")) {
		gt_autofree char *why = gt_xasprintf("NVML: %s%s%s: NVLinks are not known", state,
						     gt_json_get_str(nvml, "text", NULL) ? ", " : "",
						     gt_json_get_str(nvml, "text", ""));

		putchar('\n');
		gt_print_wrapped(stdout, why, 0, gt_term_width(stdout));
	}

	if (json_array_size(list))
		puts("\nSources that disagree:");
	json_array_foreach(list, i, c) gt_print_wrapped(stdout, json_string_value(c), 2, gt_term_width(stdout));
}

#define MATRIX_MOST (GT_TABLE_COLUMNS - 1)

static void print_text(const struct pr_host *h, const json_t *doc, bool color)
{
	const json_t *devices = json_object_get(doc, "devices");

	print_nodes(h, doc, color);
	putchar('\n');
	if (!json_array_size(devices)) {
		puts("no GPU, NIC or NVMe on the PCI bus");
	} else {
		print_devices(devices, color);
		print_c2c(devices);
		putchar('\n');
		if (json_array_size(devices) <= MATRIX_MOST)
			print_ways(devices, color);
		else
			printf("%zu devices are too many for a table of ways: see --json or --svg\n",
			       json_array_size(devices));
	}
	print_doubts(doc);
}

static const char *svg_file, *nccl_file;

static int write_files(struct gt_cli *cli, const json_t *doc)
{
	gt_auto_buf svg = {0}, nccl = {0};
	int r = 0;

	if (nccl_file)
		r = pr_topo_nccl(doc, &nccl, &cli->err);
	if (nccl_file && r >= 0)
		r = gt_file_write(nccl_file, nccl.s, nccl.len, 0644, &cli->err);
	if (svg_file && r >= 0) {
		pr_topo_svg(doc, &svg);
		r = gt_file_write(svg_file, svg.s, svg.len, 0644, &cli->err);
	}
	return r;
}

static int run_topo(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto(pr_host) *h = NULL;
	gt_auto_json *doc = NULL;
	int r = gt_file_try(svg_file, &cli->err);

	if (r >= 0)
		r = gt_file_try(nccl_file, &cli->err);
	if (r >= 0)
		r = pr_discover_as_asked(cli, &h);
	if (r < 0)
		return r;
	doc = pr_topo_json(h);
	if (svg_file || nccl_file)
		return write_files(cli, doc);
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print_text(h, doc, cli->color);
	return 0;
}

static const struct gt_opt topo_opts[] = {
	{0, "svg", "FILE", "draw the topology to FILE instead (-: standard output)", GT_OPT_STR, &svg_file},
	{0, "nccl-xml", "FILE", "write a topology file for NCCL_TOPO_FILE instead", GT_OPT_STR, &nccl_file},
	PR_OPT_NO_NVML,
	PR_OPT_NVML_TIMEOUT,
	{0},
};
const struct gt_cmd pr_cmd_topo = {
	.name = "topo",
	.args = "",
	.group = "Inspect",
	.summary = "Show NUMA nodes, CPUs, devices and the paths between them",
	.help = "Shows NUMA nodes with their distances. Shows GPUs, network adapters and NVMe disks with node, nearby "
		"CPUs and PCIe link. Shows the path between each two devices in the notation of nvidia-smi topo -m. A ! "
		"marks a link that is narrower or slower than both ends support. A ? marks a value that no source "
		"provides. --json names the source of each path.",
	.opts = topo_opts,
	.only_reads = true,
	.run = run_topo,
};
