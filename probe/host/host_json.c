/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the host model to JSON. */
#include <stdio.h>
#include "probe/host/python.h"
#include "probe/loader/loader.h"
#include "probe/host/reading.h"
#include "probe/scrub/scrub.h"

static json_t *set_json(const struct gt_set *s)
{
	gt_autofree char *text = gt_set_format(s);

	return json_string(text);
}

/* Lists only the CPU flags that a framework uses to select its kernels. */
static json_t *features_json(const struct pr_host *h)
{
	static const char *const relevant[] = { "sse4_2",	    "avx",	   "avx2",     "fma",	   "f16c",     "avx512f",
					     "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_bf16", "amx_int8", "asimd",
					     "sve",	    "sve2",	   "bf16",     "i8mm" };
	json_t *list = json_array();

	for (size_t i = 0; i < GT_ARRAY_SIZE(relevant); i++)
		if (pr_cpu_flag(h, relevant[i]))
			json_array_append_new(list, json_string(relevant[i]));
	return list;
}

static json_t *cpufreq_json(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_cpufreq; i++)
		json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "policy", h->cpufreq[i].policy, "governor",
						      pr_str_json(h->cpufreq[i].governor), "available",
						      pr_str_json(h->cpufreq[i].available)));
	return list;
}

static json_t *strv_json(const struct gt_strv *sv)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sv->n; i++)
		json_array_append_new(list, gt_json_str(sv->v[i]));
	return list;
}

static json_t *cpu_count(const struct pr_host *h, int64_t n)
{
	return h->cpu.unknown ? json_string(pr_state_name(PR_UNKNOWN)) : json_integer(n);
}

static json_t *cpu_json(const struct pr_host *h)
{
	return json_pack("{s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "vendor",
			 pr_str_json(h->cpu.vendor), "model_name", pr_str_json(h->cpu.model_name), "codename",
			 pr_str_json(h->cpu.codename), "family", h->cpu.family, "model", h->cpu.model, "stepping",
			 h->cpu.stepping, "cpus", cpu_count(h, (int64_t)h->cpu.n_cpu), "cores",
			 cpu_count(h, h->cpu.n_cores), "packages", h->cpu.n_packages,
			 "online", set_json(&h->cpu.online), "allowed", set_json(&h->cpu.allowed),
			 "isolated", set_json(&h->cpu.isolated), "quota_millicpu", pr_num_json(h->cpu.quota_millicpu),
			 "efficiency_cores", set_json(&h->cpu.efficiency), "features", features_json(h), "l1d_bytes",
			 pr_num_json(h->cpu.l1d_bytes), "l2_bytes", pr_num_json(h->cpu.l2_bytes), "l3_bytes",
			 pr_num_json(h->cpu.l3_bytes), "frequency_policies", cpufreq_json(h));
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
		json_t *o;

		o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pci", g->pci->address, "device",
			      pci_id(g->pci->device), "driver", pr_str_json(g->pci->driver), "numa_node",
			      pr_num_json(g->pci->numa_node), "local_cpulist", pr_str_json(g->pci->local_cpulist), "link_width",
			      pr_num_json(g->pci->link_width), "link_speed", pr_str_json(g->pci->link_speed), "max_link_width",
			      pr_num_json(g->pci->max_link_width), "iommu_group", pr_num_json(g->pci->iommu_group), "name",
			      pr_str_json(g->name));
		for (size_t k = 0; k < pr_n_gpu_numbers; k++)
			json_object_set_new(o, pr_gpu_numbers[k].key, pr_num_json(*pr_gpu_number(g, k)));
		if (!pr_has(g->bar1_bytes))
			json_object_set_new(o, "bar1_bytes", pr_num_json(g->pci->bar1_bytes));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *nodes_of_driver_json(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->device_nodes.n_node; i++) {
		const struct pr_devnode *n = &h->device_nodes.node[i];

		json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:s, s:o}", "path", n->path, "major", (int)n->major, "minor",
						      (int)n->minor, "kind", n->kind, "major_now", pr_num_json(n->now)));
	}
	return list;
}

static json_t *keys_json(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->secure_boot.n_key; i++)
		json_array_append_new(list, json_pack("{s:s, s:o}", "where", h->secure_boot.key[i].where, "name",
						      gt_json_str(h->secure_boot.key[i].key.name)));
	return list;
}

static json_t *nvidia_json(const struct pr_host *h)
{
	static const char *const nvml[] = { [PR_NVML_NOT_ASKED] = "not asked",
					    [PR_NVML_OK] = "ok",
					    [PR_NVML_NO_LIBRARY] = "no library",
					    [PR_NVML_ERROR] = "error",
					    [PR_NVML_TIMEOUT] = "timeout" };
	json_t *libs = json_array(), *doc;

	for (size_t i = 0; i < h->libs.n_lib; i++)
		json_array_append_new(libs, json_pack("{s:s, s:o, s:o, s:o}", "soname", h->libs.lib[i].soname, "path",
						      gt_json_str(h->libs.lib[i].path), "version",
						      gt_json_str(h->libs.lib[i].version), "rule",
						      gt_json_str(h->libs.lib[i].rule)));
	doc = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "module_version",
			 pr_str_json(h->driver.module_version), "module_file", pr_num_json(h->driver.module_file), "headers",
			 pr_num_json(h->driver.headers), "dkms_source", pr_str_json(h->driver.dkms_source), "secure_boot",
			 pr_num_json(h->secure_boot.on), "device_node", pr_num_json(h->driver.device_node), "uvm_node",
			 pr_num_json(h->driver.uvm_node), "libraries", libs, "toolkits", strv_json(&h->driver.toolkits), "nvml",
			 nvml[h->nvml.answer], "nvml_text", gt_json_str(h->nvml.text), "nvml_count",
			 pr_num_json(h->nvml.count), "cuda_version", pr_num_json(h->nvml.cuda_version));
	json_object_set_new(doc, "device_nodes", nodes_of_driver_json(h));
	json_object_set_new(doc, "open_module", json_boolean(h->driver.open_module));
	json_object_set_new(doc, "module_path", gt_json_str(h->driver.module_path));
	json_object_set_new(doc, "module_signed", pr_num_json(h->secure_boot.signature));
	json_object_set_new(doc, "module_signer", gt_json_str(*h->secure_boot.signer.name ? h->secure_boot.signer.name : NULL));
	json_object_set_new(doc, "keys", keys_json(h));
	json_object_set_new(doc, "tegra", pr_str_json(h->tegra.board));
	json_object_set_new(doc, "tegra_release", gt_json_str(h->tegra.release));
	json_object_set_new(doc, "driver_root", json_boolean(h->platform.driver_root));
	json_object_set_new(doc, "gsp_firmware", pr_num_json(h->gsp.firmware));
	json_object_set_new(doc, "next_kernel", gt_json_str(h->driver.next_kernel));
	json_object_set_new(doc, "next_kernel_module", pr_num_json(h->driver.next_module));
	json_object_set_new(doc, "hmm", pr_num_json(h->fabric.hmm));
	json_object_set_new(doc, "p2p_status", pr_num_json(h->nvml.p2p_status));
	json_object_set_new(doc, "cuda_init", pr_num_json(h->cuda.init));
	json_object_set_new(doc, "cuda_text", gt_json_str(h->cuda.text));
	return doc;
}

static json_t *devices_json(const struct pr_host *h)
{
	json_t *block = json_array(), *net = json_array();

	for (size_t i = 0; i < h->n_block; i++) {
		const struct pr_block *b = &h->block[i];

		json_array_append_new(block,
				      json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "name", b->name, "model",
						pr_str_json(b->model), "rotational", pr_num_json(b->rotational),
						"read_ahead_kb", pr_num_json(b->read_ahead_kb), "size_bytes",
						pr_num_json(b->size_bytes), "numa_node", pr_num_json(b->numa_node)));
	}
	for (size_t i = 0; i < h->n_net; i++) {
		const struct pr_net *n = &h->net[i];

		json_array_append_new(net, json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", n->shown, "driver",
						     pr_str_json(n->driver), "speed_mbit", pr_num_json(n->speed_mbit),
						     "numa_node", pr_num_json(n->numa_node), "pfc", pr_num_json(n->pfc)));
	}
	return json_pack("{s:o, s:o, s:o, s:o}", "block", block, "net", net, "rdma", strv_json(&h->rdma), "rdma_ports",
			 pr_rdma_json(&h->rdma_ports));
}

static json_t *packages_json(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_package; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:o}", "name", h->package[i].name, "version",
						      h->package[i].version, "held", h->package[i].held, "candidate",
						      gt_json_str(h->package[i].candidate)));
	return list;
}

static json_t *kernels_json(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_kernels; i++) {
		const struct pr_kernel *k = &h->kernels[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", k->release, "module",
						      pr_num_json(k->module), "headers", pr_num_json(k->headers), "dkms",
						      pr_num_json(k->dkms), "build_log", gt_json_str(k->build_log)));
	}
	return list;
}

static json_t *log_json(const struct pr_host *h)
{
	json_t *lines = json_array(), *xids = json_array();

	for (size_t i = 0; i < h->n_log; i++) {
		const struct pr_log_line *l = &h->log[i];

		json_array_append_new(lines, gt_json_str(l->text));
		if (l->xid.number && !l->xid.nvswitch)
			json_array_append_new(xids, json_pack("{s:i, s:o}", "number", l->xid.number, "line", gt_json_str(l->text)));
	}
	return json_pack("{s:s, s:o, s:b, s:o, s:o, s:o}", "state", pr_state_name(h->kernel_log), "source",
			 gt_json_str(h->log_source.name), "start_lost", h->log_source.start_lost, "crashes",
			 pr_num_json(h->log_source.crashes), "lines", lines, "xids", xids);
}

static json_t *imports_json(const struct pr_host *h, size_t env)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_imported; i++) {
		const struct pr_imported *im = &h->imported[i];
		json_t *missing = json_array();

		for (size_t k = 0; k < im->loaded->n; k++)
			if (!im->loaded->obj[k].elf && !im->loaded->obj[k].opened)
				json_array_append_new(missing, gt_json_str(im->loaded->obj[k].name));
		if (im->env == env)
			json_array_append_new(list, json_pack("{s:s, s:i, s:O}", "module", im->import->module,
							      "objects", (int)im->loaded->n, "missing", missing));
		json_decref(missing);
	}
	return list;
}

static json_t *python_json(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_pyenv; i++) {
		const struct pr_pyenv *e = &h->pyenv[i];
		json_t *dists = json_array();

		for (size_t k = 0; k < e->n_dist; k++)
			json_array_append_new(
				dists, json_pack("{s:s, s:s}", "name", e->dist[k].name, "version", e->dist[k].version));
		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "prefix", gt_json_str(e->prefix),
						"python", gt_json_str(e->python), "version", e->version,
						"distributions", dists, "torch_cuda", gt_json_str(e->torch_cuda),
						"torch_tag", gt_json_str(e->torch_tag), "imports", imports_json(h, i)));
	}
	return list;
}

static json_t *ways_json(const struct pr_host *h)
{
	return json_pack("{s:o, s:o, s:i, s:o, s:o, s:i, s:o, s:o, s:o}", "iommu", pr_num_json(h->iommu.on), "iommu_passthrough",
			 pr_num_json(h->iommu.passthrough), "split_groups", (int)h->iommu.split, "peermem",
			 pr_num_json(h->fabric.peermem), "fabricmanager", pr_num_json(h->fabric.manager),
			 "switches", (int)h->fabric.n_switch, "acs_ports", pr_num_json(h->iommu.acs_ports), "acs_redirect",
			 strv_json(&h->iommu.acs_redirect), "gpudirect", pr_gpudirect_json(&h->fabric.gpudirect));
}

static json_t *runtime_json(const struct pr_host *h)
{
	return json_pack("{s:o, s:o, s:o}", "docker", pr_num_json(h->container_runtime.docker), "toolkit",
			 pr_num_json(h->container_runtime.toolkit), "configured",
			 pr_num_json(h->container_runtime.configured));
}

static json_t *other_gpus_json(const struct pr_host *h)
{
	json_t *list = json_array();
	const struct pr_pci *d;

	for (size_t i = 0; (d = pr_other_gpu(h, i)); i++) {
		json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:o}", "pci", d->address, "maker", pr_gpu_maker(d), "vendor",
				      (int)d->vendor, "device", (int)d->device, "driver", pr_str_json(d->driver));

		if (pr_amd_gpu_at(h, d))
			pr_amd_gpu_json(pr_amd_gpu_at(h, d), o);
		json_array_append_new(list, o);
	}
	return list;
}

json_t *pr_host_to_json(const struct pr_host *h)
{
	json_t *doc = json_object();
	struct pr_str cmdline = h->kernel.cmdline;
	gt_autofree char *clean = cmdline.v ? pr_scrub_cmdline(cmdline.v) : NULL;

	cmdline.v = clean; /* reports are published in issue trackers */
	json_object_set_new(doc, "identity", json_string(h->identity));
	json_object_set_new(doc, "identity_parts", json_deep_copy(h->identity_parts));
	json_object_set_new(doc, "kernel",
			    json_pack("{s:o, s:o, s:o, s:o, s:b, s:o}", "release", pr_str_json(h->kernel.release),
				      "version", pr_str_json(h->kernel.version), "arch", pr_str_json(h->kernel.arch),
				      "cmdline", pr_str_json(cmdline), "preempt_rt", h->kernel.preempt_rt, "lockdown",
				      pr_str_json(h->kernel.lockdown)));
	json_object_set_new(doc, "distribution",
			    json_pack("{s:o, s:o, s:o, s:o, s:o}", "id", pr_str_json(h->distro.id), "id_like",
				      pr_str_json(h->distro.id_like), "version_id", pr_str_json(h->distro.version_id), "variant_id",
				      pr_str_json(h->distro.variant), "pretty", pr_str_json(h->distro.pretty)));
	json_object_set_new(doc, "virtual", pr_str_json(h->virt));
	json_object_set_new(doc, "container", pr_str_json(h->container));
	json_object_set_new(doc, "cpu", cpu_json(h));
	json_object_set_new(
		doc, "memory",
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "total_bytes", pr_num_json(h->mem.total_bytes),
			  "swap_total_bytes", pr_num_json(h->mem.swap_total_bytes), "shm_bytes",
			  pr_num_json(h->mem.shm_bytes), "thp_enabled", pr_str_json(h->mem.thp_enabled), "thp_defrag",
			  pr_str_json(h->mem.thp_defrag), "thp_bytes", pr_num_json(h->mem.thp_bytes), "hugepages",
			  pr_num_json(h->mem.hugepages), "memlock_bytes",
			  pr_or(h->mem.memlock_bytes, 0) == INT64_MAX ? json_string("unlimited")
								      : pr_num_json(h->mem.memlock_bytes)));
	json_object_set_new(doc, "nodes", nodes_json(h));
	json_object_set_new(doc, "contradictions", strv_json(&h->contradictions));
	json_object_set_new(doc, "gpus", gpus_json(h));
	json_object_set_new(doc, "other_gpus", other_gpus_json(h));
	json_object_set_new(doc, "amd", h->amd.n ? pr_amd_json(&h->amd) : json_null());
	json_object_set_new(doc, "gpu_holders", pr_holders_json(&h->holders));
	json_object_set_new(doc, "nvidia", nvidia_json(h));
	json_object_set_new(doc, "devices", devices_json(h));
	json_object_set_new(doc, "blas", pr_str_json(h->blas));
	json_object_set_new(doc, "openblas", pr_openblas_json(h));
	json_object_set_new(doc, "glibc", pr_str_json(h->glibc));
	json_object_set_new(doc, "gcc", pr_str_json(h->gcc));
	json_object_set_new(doc, "environment", strv_json(&h->environment));
	json_object_set_new(doc, "pci_unreadable", json_integer((json_int_t)h->pci_unreadable));
	json_object_set_new(doc, "kernels", kernels_json(h));
	json_object_set_new(doc, "packages", packages_json(h));
	json_object_set_new(doc, "kernel_log", log_json(h));
	json_object_set_new(doc, "error_counters", pr_error_counters_json(&h->errors));
	json_object_set_new(doc, "ways", ways_json(h));
	json_object_set_new(doc, "data",
			    json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "path", gt_json_str(h->data.path), "mount",
				      gt_json_str(h->data.mount), "fstype", gt_json_str(h->data.fstype), "source",
				      gt_json_str(h->data.source), "disk",
				      h->data.disk ? json_string(h->data.disk->name) : json_null(), "free_bytes",
				      pr_num_json(h->data.free_bytes)));
	json_object_set_new(doc, "container_runtime", runtime_json(h));
	json_object_set_new(doc, "python", python_json(h));
	return doc;
}
