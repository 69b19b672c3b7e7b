/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a sample to Prometheus metrics in base units. Uses gauges only, which both OpenMetrics and the older text
 * format support. */
#include "probe/watch/watch.h"

struct metric {
	const char *key, *name, *help;
	double scale;
};
static const struct metric of_gpu[] = {
	{"compute_percent", "compute_ratio", "share of the time with a kernel running", 0.01},
	{"memory_busy_percent", "memory_busy_ratio", "share of the time with memory being read or written", 0.01},
	{"memory_used_bytes", "memory_used_bytes", "memory in use", 1},
	{"memory_total_bytes", "memory_size_bytes", "memory of the GPU", 1},
	{"pcie_rx_bytes_per_s", "pcie_receive_bytes_per_second", "traffic from the host over PCIe", 1},
	{"pcie_tx_bytes_per_s", "pcie_transmit_bytes_per_second", "traffic to the host over PCIe", 1},
	{"pcie_gen", "pcie_generation", "current generation of the link", 1},
	{"pcie_width", "pcie_lanes", "current lanes of the link", 1},
	{"sm_mhz", "sm_clock_hertz", "clock of the multiprocessors", 1e6},
	{"memory_mhz", "memory_clock_hertz", "clock of the memory", 1e6},
	{"power_w", "power_watts", "power draw", 1},
	{"power_limit_w", "power_limit_watts", "power limit", 1},
	{"temperature_c", "temperature_celsius", "GPU temperature", 1},
};
static const struct metric of_node[] = {
	{"cpu_percent", "cpu_busy_ratio", "busy share of its CPUs", 0.01},
	{"busiest_cpu_percent", "busiest_cpu_ratio", "busy share of the busiest CPU", 0.01},
	{"iowait_percent", "iowait_ratio", "share of the time of its CPUs spent waiting for a disk", 0.01},
	{"memory_total_bytes", "memory_size_bytes", "memory of the node", 1},
	{"memory_free_bytes", "memory_free_bytes", "unused", 1},
	{"memory_cache_bytes", "memory_cache_bytes", "files", 1},
	{"remote_pages_percent", "remote_pages_ratio", "share of new pages allocated for processes of other nodes", 0.01},
};
static const struct metric of_host[] = {
	{"cpu_some_percent", "cpu_stalled_ratio", "share of the time with a task waiting for a CPU", 0.01},
	{"memory_some_percent", "memory_stalled_ratio", "share of the time with a task waiting for memory", 0.01},
	{"io_some_percent", "io_stalled_ratio", "share of the time with a task waiting for a disk", 0.01},
};

static void head(struct gt_buf *out, const char *of, const struct metric *m)
{
	gt_buf_printf(out, "# HELP gpuprobe_watch_%s%s %s\n# TYPE gpuprobe_watch_%s%s gauge\n", of, m->name, m->help,
		      of, m->name);
}

static void put_labels(struct gt_buf *out, const json_t *d, bool card)
{
	gt_buf_puts(out, "{");
	if (card) {
		gt_buf_printf(out, "gpu=\"%d\",", (int)gt_json_get_int(d, "index", -1));
		gt_buf_label(out, "pci", gt_json_get_str(d, "pci", "unknown"));
	} else {
		gt_buf_printf(out, "node=\"%d\"", (int)gt_json_get_int(d, "id", -1));
	}
	gt_buf_puts(out, "}");
}

static void put_metric(struct gt_buf *out, const json_t *list, const char *of, const struct metric *m, bool card)
{
	const json_t *d;
	bool any = false;
	size_t i;

	json_array_foreach(list, i, d)
	{
		const json_t *v = json_object_get(d, m->key);

		if (!json_is_number(v))
			continue;
		if (!any)
			head(out, of, m);
		any = true;
		gt_buf_printf(out, "gpuprobe_watch_%s%s", of, m->name);
		put_labels(out, d, card);
		gt_buf_printf(out, " %.12g\n", json_number_value(v) * m->scale);
	}
}

static void put_reasons(struct gt_buf *out, const json_t *gpus)
{
	static const struct metric m = {NULL, "clock_held", "1 for each reason that limits the clocks", 1};
	const json_t *g, *r;
	bool any = false;
	size_t i, k;

	json_array_foreach(gpus, i, g) json_array_foreach(json_object_get(g, "clock_reasons"), k, r)
	{
		if (!json_is_string(r))
			continue;
		if (!any)
			head(out, "gpu_", &m);
		any = true;
		gt_buf_printf(out, "gpuprobe_watch_gpu_clock_held{gpu=\"%d\",", (int)gt_json_get_int(g, "index", -1));
		gt_buf_label(out, "reason", json_string_value(r));
		gt_buf_puts(out, "} 1\n");
	}
}

void pr_watch_metrics(const json_t *sample, struct gt_buf *out)
{
	static const struct metric seen = {NULL, "pattern", "1 for each active pattern", 1},
				   up = {NULL, "nvml_up", "1 if NVML responds, 0 if it fails", 1};
	const json_t *gpus = json_object_get(sample, "gpus"), *nodes = json_object_get(sample, "nodes"),
		     *pressure = json_object_get(sample, "pressure"), *patterns = json_object_get(sample, "patterns"),
		     *p;
	const char *state = gt_json_get_str(sample, "gpu_state", "none");
	size_t i;

	if (!gt_streq(state, "none")) {
		head(out, "", &up);
		gt_buf_printf(out, "gpuprobe_watch_nvml_up %d\n", gt_streq(state, "ok"));
	}
	for (i = 0; i < GT_ARRAY_SIZE(of_gpu); i++)
		put_metric(out, gpus, "gpu_", &of_gpu[i], true);
	put_reasons(out, gpus);
	pr_holder_metrics(out, "gpuprobe_watch", gpus);
	for (i = 0; i < GT_ARRAY_SIZE(of_node); i++)
		put_metric(out, nodes, "node_", &of_node[i], false);
	for (i = 0; i < GT_ARRAY_SIZE(of_host); i++)
		if (json_is_number(json_object_get(pressure, of_host[i].key))) {
			head(out, "", &of_host[i]);
			gt_buf_printf(out, "gpuprobe_watch_%s %.12g\n", of_host[i].name,
				      json_number_value(json_object_get(pressure, of_host[i].key)) * of_host[i].scale);
		}
	if (json_array_size(patterns))
		head(out, "", &seen);
	json_array_foreach(patterns, i, p)
	{
		gt_buf_puts(out, "gpuprobe_watch_pattern{");
		gt_buf_label(out, "pattern", gt_json_get_str(p, "id", ""));
		gt_buf_puts(out, ",");
		gt_buf_label(out, "subject", gt_json_get_str(p, "subject", ""));
		gt_buf_puts(out, "} 1\n");
	}
	gt_buf_puts(out, "# EOF\n");
}
