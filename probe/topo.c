/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe topo: nodes with their CPUs and memory, and what hangs on which. */
#include <stdio.h>
#include <string.h>
#include "lib/table.h"
#include "probe/gpuprobe.h"
#include "probe/reading.h"

static size_t count_slashes(const char *s)
{
	size_t n = 0;

	for (; (s = strchr(s, '/')); s++)
		n++;
	return n;
}

/*
 * How the way between two devices is called, in nvidia-smi's words. Where the two paths in /sys/devices part tells how many
 * bridges lie between them; only between different root complexes the node has to be known.
 */
static const char *way(const struct pr_host *h, const struct pr_pci *a, const struct pr_pci *b)
{
	static const char top[] = "/sys/devices/";
	size_t same = 0, root;

	if (a == b)
		return "X";
	if (!gt_starts_with(a->path, top) || !gt_starts_with(b->path, top))
		return "?";
	for (size_t i = 0; a->path[i] && a->path[i] == b->path[i]; i++)
		if (a->path[i] == '/')
			same = i;
	root = strlen(top) + strcspn(a->path + strlen(top), "/"); /* where the root complex's name ends */
	if (same > root)
		return GT_MAX(count_slashes(a->path + same), count_slashes(b->path + same)) <= 2 ? "PIX" : "PXB";
	if (same == root)
		return "PHB";
	if (h->n_node > 1 && (!pr_has(a->numa_node) || !pr_has(b->numa_node)))
		return "?"; /* never guessed */
	return h->n_node > 1 && a->numa_node.v != b->numa_node.v ? "SYS" : "NODE";
}

/* Display and 3D controllers, network and InfiniBand, NVMe. */
static const char *kind_of(const struct pr_pci *d)
{
	switch (d->class_code >> 8) {
	case 0x0108:
		return "NVMe";
	case 0x0200:
		return "NIC";
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

static json_t *devices(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_pci; i++) {
		const struct pr_pci *d = &h->pci[i];
		json_t *to;

		if (!kind_of(d))
			continue;
		to = json_object();
		for (size_t k = 0; k < h->n_pci; k++)
			if (kind_of(&h->pci[k]))
				json_object_set_new(to, h->pci[k].address, json_string(way(h, d, &h->pci[k])));
		json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o, s:o}", "pci", d->address, "kind", kind_of(d),
						      "numa_node", pr_num_json(d->numa_node), "local_cpulist",
						      pr_str_json(d->local_cpulist), "ways", to));
	}
	return list;
}

static void print_nodes(const struct pr_host *h, bool color)
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
		char mem[32] = "?";

		if (pr_has(n->mem_bytes))
			gt_format_bytes(mem, sizeof(mem), (uint64_t)n->mem_bytes.v);
		gt_table_row(t);
		gt_table_cell(t, "%d", n->id);
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

static void print_devices(const json_t *list, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	const json_t *d, *to;
	size_t i, k;

	if (!json_array_size(list)) {
		puts("\nno GPU, NIC or NVMe on the PCI bus");
		return;
	}
	gt_table_column(t, "DEVICE", GT_LEFT);
	gt_table_column(t, "KIND", GT_LEFT);
	gt_table_column(t, "NODE", GT_RIGHT);
	gt_table_column(t, "NEAR CPUS", GT_WRAP);
	json_array_foreach(list, i, d)
		gt_table_column(t, strchr(gt_json_get_str(d, "pci", ":"), ':') + 1, GT_LEFT);
	json_array_foreach(list, i, d) {
		const json_t *node = json_object_get(d, "numa_node");

		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(d, "pci", ""));
		gt_table_cell(t, "%s", gt_json_get_str(d, "kind", ""));
		if (json_is_integer(node))
			gt_table_cell(t, "%d", (int)json_integer_value(node));
		else
			gt_table_cell(t, "?");
		gt_table_cell(t, "%s", gt_json_get_str(d, "local_cpulist", "?"));
		json_array_foreach(list, k, to)
			gt_table_cell(t, "%s", gt_json_get_str(json_object_get(d, "ways"), gt_json_get_str(to, "pci", ""), ""));
	}
	putchar('\n');
	gt_table_print(t, stdout, color);
	puts("X itself, PIX one bridge, PXB several bridges, PHB the host bridge, NODE within the node, SYS between nodes, ? not "
	     "known");
}

static int run_topo(struct gt_cli *cli, int argc, char **argv)
{
	static const struct pr_discover_opts opts = { .no_nvml = true };
	gt_auto(pr_host) *h = NULL;
	gt_auto_json *list = NULL;
	int r = pr_host_discover(cli->fs, &opts, &h, &cli->err);

	if (r < 0)
		return r;
	list = devices(h);
	if (cli->json) {
		gt_auto_json *host = pr_host_to_json(h), *doc = NULL;

		doc = json_pack("{s:s, s:O, s:O}", "schema", "gpuprobe-topo/1", "nodes", json_object_get(host, "nodes"),
				"devices", list);
		gt_json_print(stdout, doc);
		return 0;
	}
	print_nodes(h, cli->color);
	print_devices(list, cli->color);
	return 0;
}

const struct gt_cmd pr_cmd_topo = {
	.name = "topo", .args = "", .summary = "show nodes, CPUs, memory and the way between devices", .run = run_topo
};
