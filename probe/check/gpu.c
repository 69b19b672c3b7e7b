/* SPDX-License-Identifier: Apache-2.0 */
/* Location of the GPUs in the machine: NUMA node and PCIe link. */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"
#include "probe/check/driver_need.h"

static void numa_node(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (pr_without_gpu(c, f))
		return;
	if (h->n_node < 2) {
		pr_set(f, PR_PASS, "one NUMA node: every GPU is near");
		return;
	}
	for (size_t i = 0; i < h->n_gpu; i++)
		if (!pr_has(h->gpu[i].pci->numa_node)) {
			pr_set(f, PR_WARN, "the kernel does not know which of the %zu NUMA nodes GPU %s is next to "
					   "(numa_node is -1)", h->n_node, h->gpu[i].pci->address);
			pr_remedy(f, "Update the firmware, or correct the VM's topology (in libvirt: a pcie-expander-bus with "
				     "<node>). Until then bind no process to a node for this GPU.");
			return;
		}
	pr_set(f, PR_PASS, "the node of every GPU is known");
}
const struct pr_check pr_check_gpu_node = {
	.id = "gpu.numa-node",
	.title = "the NUMA node of a GPU is unknown",
	.story = "Copies between host and GPU are fastest from the NUMA node of the GPU's root port. numa_node is -1 "
		 "if the firmware does not report the node. Some frameworks use node 0 then, which is wrong for half of the "
		 "GPUs of a two-socket host. gpuprobe does not guess the node.",
	.messages = "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node",
	.run = numa_node,
};

static void topology(const struct pr_context *c, struct pr_finding *f)
{
	const struct gt_strv *contradictions = &c->host->contradictions;

	if (!contradictions->n) {
		pr_set(f, PR_PASS, "NUMA nodes, CPUs and devices are consistent");
		return;
	}
	pr_set(f, PR_WARN, "%s%s", contradictions->v[0], contradictions->n > 1 ? " (and more: gpuprobe --json)" : "");
	pr_remedy(f, "Compare both, then update the firmware or correct the VM's topology. Until then bind no process to a "
		     "node:\n  lstopo --no-io; numactl -H");
}
const struct pr_check pr_check_topology = {
	.id = "host.topology",
	.title = "the sources of the topology contradict each other",
	.story = "Several sysfs files list the CPUs and devices of a NUMA node. MPI and Slurm use hwloc for binding, and "
		 "hwloc interprets these files differently. The firmware can contradict itself, and a VM can have an "
		 "incomplete topology. Then processes run on one node while their memory is on another, and no log reports "
		 "it.",
	.run = topology,
};

/*
 * Returns the device whose PCIe link leads to the slot. Some GPUs of AMD are behind a switch on their own board. The
 * link between that switch and the GPU always has its full width.
 */
static const struct pr_pci *slot_device(const struct pr_host *h, const struct pr_pci *gpu)
{
	const struct pr_pci *top = gpu;

	for (size_t i = 0; i < h->n_pci && gpu->vendor == 0x1002; i++) {
		const struct pr_pci *d = &h->pci[i];

		if (d->vendor == 0x1002 && d->class_code >> 8 == 0x0604 && *d->path && gt_starts_with(top->path, d->path) &&
		    top->path[strlen(d->path)] == '/')
			top = d;
	}
	return top;
}

/* Reports a link that has fewer lanes than both ends support. Returns true if there is a problem. *n_checked counts the
 * links with a known width. */
static bool narrow_link(const struct pr_host *h, const struct pr_pci *gpu, struct pr_finding *f, size_t *n_checked)
{
	const struct pr_pci *d = slot_device(h, gpu);
	int64_t can = pr_or(d->max_link_width, 0);

	if (pr_has(d->parent_max_width) && d->parent_max_width.v > 0)
		can = GT_MIN(can, d->parent_max_width.v);
	if (!pr_has(d->link_width) || d->link_width.v <= 0 || d->link_width.v > 32 || can <= 0)
		return false; /* virtual functions report 0 or 255 */
	++*n_checked;
	if (d->link_width.v >= can)
		return false;
	pr_set(f, PR_WARN, "GPU %s runs at PCIe x%d although GPU and slot support x%d", gpu->address,
	       (int)d->link_width.v, (int)can);
	pr_remedy(f, "Reseat the GPU or its riser, and check the slot's bifurcation in the firmware");
	return true;
}

static void pcie_width(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_pci *other;
	size_t n_checked = 0;

	if (!pr_other_gpu(h, 0) && pr_without_gpu(c, f))
		return;
	for (size_t i = 0; i < h->n_gpu; i++)
		if (narrow_link(h, h->gpu[i].pci, f, &n_checked))
			return;
	for (size_t i = 0; (other = pr_other_gpu(h, i)); i++)
		if (narrow_link(h, other, f, &n_checked))
			return;
	pr_set(f, n_checked ? PR_PASS : PR_SKIP, n_checked ? "every GPU has the PCIe width that GPU and slot support" :
						   "no link width can be read");
}
const struct pr_check pr_check_pcie_width = {
	.id = "gpu.pcie-width",
	.title = "a PCIe link has fewer lanes than it could",
	.story = "The speed of an idle link may drop to save power, but its width does not. A link with half the "
		 "lanes halves the bandwidth of every copy between host and GPU.",
	.messages = "available PCIe bandwidth, limited by",
	.run = pcie_width,
};

static void persistence(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	char branch[PR_BRANCH_SUFFIX];

	if (pr_without_gpu(c, f))
		return;
	pr_branch_suffix(h, branch);
	for (size_t i = 0; i < h->n_gpu; i++)
		if (pr_has(h->gpu[i].persistence) && !h->gpu[i].persistence.v) {
			pr_set(f, PR_WARN, "persistence mode is off: the driver initialises the GPU for each job (1-3 s "
					   "each) and forgets its settings");
			pr_remedy(f, "%s  @{persistenced%s} && systemctl enable --now nvidia-persistenced",
				  h->container.state == PR_PRESENT ? "On the machine that runs this container:\n" : "", branch);
			return;
		}
	pr_set(f, h->nvml.answer == PR_NVML_OK ? PR_PASS : PR_SKIP,
	       h->nvml.answer == PR_NVML_OK ? "persistence mode is on" : "NVML did not respond");
}
static const char *const after_nvml[] = { "nvml.answers", NULL };
const struct pr_check pr_check_persistence = {
	.id = "gpu.persistence",
	.title = "persistence mode is off",
	.after = after_nvml,
	.story = "If no program uses the GPU, the driver shuts it down, and the next job waits until it has started again. "
		 "nvidia-persistenced keeps it initialised.",
	.messages = "Persistence mode for GPU is disabled.",
	.run = persistence,
};

static void compute_mode(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (pr_without_gpu(c, f))
		return;
	for (size_t i = 0; i < h->n_gpu; i++) {
		int64_t mode = pr_or(h->gpu[i].compute_mode, 0);

		if (!mode)
			continue;
		pr_set(f, mode == 2 ? PR_FAIL : PR_WARN, "GPU %s %s", h->gpu[i].pci->address,
		       mode == 2 ? "is in compute mode Prohibited: no program may use it" :
				   "is in an exclusive compute mode: it runs one process at a time, and a second one fails");
		pr_remedy(f, "  nvidia-smi -i %s -c 0", h->gpu[i].pci->address);
		return;
	}
	pr_set(f, h->nvml.answer == PR_NVML_OK ? PR_PASS : PR_SKIP,
	       h->nvml.answer == PR_NVML_OK ? "every GPU accepts any number of programs" : "NVML did not respond");
}
const struct pr_check pr_check_compute_mode = {
	.id = "gpu.compute-mode",
	.title = "the compute mode excludes programs",
	.after = after_nvml,
	.story = "In an exclusive compute mode a second process fails instead of waiting, which looks like a broken "
		 "GPU. In mode Prohibited every process fails.",
	.messages = "CUDA error 46: all CUDA-capable devices are busy or unavailable\nCUDA-capable device(s) is/are busy or "
		    "unavailable",
	.run = compute_mode,
};

static void mig(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	gt_autofree char *remedy = NULL;

	if (pr_without_gpu(c, f))
		return;
	for (size_t i = 0; i < h->n_gpu; i++) {
		const struct pr_gpu *g = &h->gpu[i];

		if (pr_has(g->mig_pending) && pr_or(g->mig, 0) != g->mig_pending.v) {
			pr_set(f, PR_WARN, "MIG of GPU %s will be switched %s at its next reset", g->pci->address,
			       g->mig_pending.v ? "on" : "off");
			remedy = pr_reset_lines(h, g, NULL);
			pr_remedy(f, "%s", remedy);
			return;
		}
		if (pr_or(g->mig, 0) && pr_has(g->mig_instances) && !g->mig_instances.v) {
			pr_set(f, PR_FAIL, "MIG is on for GPU %s, but it has no instance, so no program can use it",
			       g->pci->address);
			if (h->container.state == PR_PRESENT) {
				pr_remedy(f,
					  "This container was given the GPU without a MIG instance of it. In a pod: "
					  "resources: { limits: { nvidia.com/mig-1g.10gb: 1 } }. With docker: add --gpus device= "
					  "and the UUID of an instance, as the host lists it:\n  nvidia-smi -L");
				return;
			}
			pr_remedy(f, "Cut it, for example in one piece:\n  nvidia-smi mig -i %s -cgi 0 -C\nor switch MIG off:\n"
				     "  nvidia-smi -i %s -mig 0", g->pci->address, g->pci->address);
			return;
		}
	}
	pr_set(f, h->nvml.answer == PR_NVML_OK ? PR_PASS : PR_SKIP,
	       h->nvml.answer == PR_NVML_OK ? "no GPU lacks MIG instances" : "NVML did not respond");
}
const struct pr_check pr_check_mig = {
	.id = "gpu.mig",
	.title = "MIG is on without instances",
	.after = after_nvml,
	.story = "With MIG a GPU is divided into instances, and programs can use only these. With MIG on and no "
		 "instance, CUDA finds no device although nvidia-smi shows the GPU. A change of MIG takes effect at a reset.",
	.messages = "No CUDA GPUs are available\nNo MIG devices found",
	.run = mig,
};

/* nvmlDeviceGetEccMode: a change takes effect at the next reset. */
static void ecc_mode(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	gt_autofree char *remedy = NULL;
	size_t known = 0, on = 0;

	if (pr_without_gpu(c, f))
		return;
	for (size_t i = 0; i < h->n_gpu; i++) {
		const struct pr_gpu *g = &h->gpu[i];

		known += pr_has(g->ecc);
		on += pr_or(g->ecc, 0) == 1;
		if (!pr_has(g->ecc_pending) || pr_or(g->ecc, 0) == g->ecc_pending.v)
			continue;
		pr_set(f, PR_WARN, "ECC of GPU %s will be switched %s at its next reset", g->pci->address,
		       g->ecc_pending.v ? "on" : "off");
		remedy = pr_reset_lines(h, g, NULL);
		pr_remedy(f, "%s", remedy);
		return;
	}
	if (!known)
		pr_set(f, PR_SKIP, h->nvml.answer == PR_NVML_OK ? "no GPU has ECC" : "NVML did not respond");
	else if (on && on < known)
		pr_set(f, PR_PASS, "ECC is on for %zu of %zu GPUs", on, known);
	else
		pr_set(f, PR_PASS, "ECC is %s", on ? "on" : "off");
}
const struct pr_check pr_check_ecc_mode = {
	.id = "gpu.ecc-mode",
	.title = "the ECC mode of a GPU changes at its next reset",
	.after = after_nvml,
	.story = "ECC detects memory errors; without it they become wrong results. nvidia-smi -e changes the mode at the next "
		 "reset of the GPU.",
	.run = ecc_mode,
};
