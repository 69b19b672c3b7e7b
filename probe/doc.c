/* SPDX-License-Identifier: Apache-2.0 */
/* The host as plain values. */
#include "probe/reading.h"

static json_t *set_json(const struct gt_set *s)
{
	gt_autofree char *text = gt_set_format(s);

	return json_string(text);
}

static json_t *cpu_json(const struct pr_host *h)
{
	return json_pack("{s:o, s:o, s:o, s:i, s:i, s:i, s:I, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "vendor",
			 pr_str_json(h->cpu.vendor), "model_name", pr_str_json(h->cpu.model_name), "codename",
			 pr_str_json(h->cpu.codename), "family", h->cpu.family, "model", h->cpu.model, "stepping",
			 h->cpu.stepping, "cpus", (json_int_t)h->cpu.n_cpu, "cores", h->cpu.n_cores, "packages",
			 h->cpu.n_packages, "online", set_json(&h->cpu.online), "allowed", set_json(&h->cpu.allowed),
			 "isolated", set_json(&h->cpu.isolated), "quota_millicpu", pr_num_json(h->cpu.quota_millicpu),
			 "l2_bytes", pr_num_json(h->cpu.l2_bytes), "l3_bytes", pr_num_json(h->cpu.l3_bytes));
}

static json_t *nodes_json(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_node; i++) {
		const struct pr_node *n = &h->node[i];
		json_t *d = json_array();

		for (size_t k = 0; n->distance && k < h->n_node; k++)
			json_array_append_new(d, json_integer(n->distance[k]));
		json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:o}", "id", n->id, "cpus", set_json(&n->cpus),
						      "mem_bytes", pr_num_json(n->mem_bytes), "distances", d));
	}
	return list;
}

static json_t *pci_id(unsigned v)
{
	char text[16];

	snprintf(text, sizeof(text), "%04x", v);
	return json_string(text);
}

static json_t *gpus_json(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_gpu; i++) {
		const struct pr_gpu *g = &h->gpu[i];

		json_array_append_new(
			list, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pci", g->pci->address,
					"device", pci_id(g->pci->device), "driver", pr_str_json(g->pci->driver), "numa_node",
					pr_num_json(g->pci->numa_node), "local_cpulist", pr_str_json(g->pci->local_cpulist),
					"link_width", pr_num_json(g->pci->link_width), "link_speed",
					pr_str_json(g->pci->link_speed), "name", pr_str_json(g->name), "memory_bytes",
					pr_num_json(g->memory_bytes), "arch", pr_num_json(g->arch), "persistence",
					pr_num_json(g->persistence)));
	}
	return list;
}

static json_t *nvidia_json(const struct pr_host *h)
{
	static const char *const nvml[] = { [PR_NVML_NOT_ASKED] = "not asked",
					    [PR_NVML_OK] = "ok",
					    [PR_NVML_NO_LIBRARY] = "no library",
					    [PR_NVML_ERROR] = "error",
					    [PR_NVML_TIMEOUT] = "timeout" };
	json_t *libs = json_array(), *toolkits = json_array();

	for (size_t i = 0; i < h->nvidia.n_lib; i++)
		json_array_append_new(libs, json_pack("{s:s, s:s, s:o}", "soname", h->nvidia.lib[i].soname, "path",
						      h->nvidia.lib[i].path, "version", gt_json_str(h->nvidia.lib[i].version)));
	for (size_t i = 0; i < h->nvidia.toolkits.n; i++)
		json_array_append_new(toolkits, json_string(h->nvidia.toolkits.v[i]));
	return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "module_version", pr_str_json(h->nvidia.module_version),
			 "libraries", libs, "toolkits", toolkits, "nvml", nvml[h->nvidia.nvml], "nvml_text",
			 gt_json_str(h->nvidia.nvml_text), "nvml_count", pr_num_json(h->nvidia.nvml_count), "cuda_version",
			 pr_num_json(h->nvidia.cuda_version));
}

static json_t *devices_json(const struct pr_host *h)
{
	json_t *block = json_array(), *net = json_array();

	for (size_t i = 0; i < h->n_block; i++) {
		const struct pr_block *b = &h->block[i];

		json_array_append_new(block, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "name", b->name, "model",
						       pr_str_json(b->model), "rotational", pr_num_json(b->rotational),
						       "read_ahead_kb", pr_num_json(b->read_ahead_kb), "size_bytes",
						       pr_num_json(b->size_bytes), "numa_node", pr_num_json(b->numa_node)));
	}
	for (size_t i = 0; i < h->n_net; i++) {
		const struct pr_net *n = &h->net[i];

		json_array_append_new(net, json_pack("{s:s, s:o, s:o, s:o}", "name", n->name, "driver",
						     pr_str_json(n->driver), "speed_mbit", pr_num_json(n->speed_mbit),
						     "numa_node", pr_num_json(n->numa_node)));
	}
	return json_pack("{s:o, s:o}", "block", block, "net", net);
}

json_t *pr_host_to_json(const struct pr_host *h)
{
	json_t *doc = json_object();

	json_object_set_new(doc, "identity", json_string(h->identity));
	json_object_set_new(doc, "identity_parts", json_deep_copy(h->identity_parts));
	json_object_set_new(doc, "kernel",
			    json_pack("{s:o, s:o, s:o, s:o, s:b, s:o}", "release", pr_str_json(h->kernel.release), "version",
				      pr_str_json(h->kernel.version), "arch", pr_str_json(h->kernel.arch), "cmdline",
				      pr_str_json(h->kernel.cmdline), "preempt_rt", h->kernel.preempt_rt, "lockdown",
				      pr_str_json(h->kernel.lockdown)));
	json_object_set_new(doc, "distribution",
			    json_pack("{s:o, s:o, s:o}", "id", pr_str_json(h->distro.id), "version_id",
				      pr_str_json(h->distro.version_id), "pretty", pr_str_json(h->distro.pretty)));
	json_object_set_new(doc, "virtual", pr_str_json(h->virt));
	json_object_set_new(doc, "container", pr_str_json(h->container));
	json_object_set_new(doc, "cpu", cpu_json(h));
	json_object_set_new(doc, "memory",
			    json_pack("{s:o, s:o, s:o, s:o, s:o}", "total_bytes", pr_num_json(h->mem.total_bytes),
				      "swap_total_bytes", pr_num_json(h->mem.swap_total_bytes), "shm_bytes",
				      pr_num_json(h->mem.shm_bytes), "thp_enabled", pr_str_json(h->mem.thp_enabled),
				      "thp_defrag", pr_str_json(h->mem.thp_defrag)));
	json_object_set_new(doc, "nodes", nodes_json(h));
	json_object_set_new(doc, "gpus", gpus_json(h));
	json_object_set_new(doc, "nvidia", nvidia_json(h));
	json_object_set_new(doc, "devices", devices_json(h));
	json_object_set_new(doc, "blas", pr_str_json(h->blas));
	return doc;
}
