/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "probe/host/dlopen_names.h"
#include "probe/host/grub.h"
#include "probe/host/python.h"
#include "probe/host/reading.h"
#include "probe/host/visible.h"

/*
 * Discovers only the data for a launcher. The user's program waits for it, so few files are read: most are one per two
 * CPUs.
 */
static void discover_launch(struct gt_fsroot *fs, struct pr_host *h)
{
	h->kernel.release = pr_read_str(h, fs, "/proc/sys/kernel/osrelease");
	h->kernel.arch = pr_read_str(h, fs, "/proc/sys/kernel/arch");
	pr_launch_cpu(fs, h);
	pr_discover_distro(fs, h); /* the commands of remedies depend on it */
	pr_launch_memory(fs, h);
	pr_launch_numa(fs, h);
	pr_launch_pci(fs, h);
	pr_find_inaccessible_gpus(fs, h);
	pr_discover_blas(fs, h);
}

static void discover_software(struct gt_fsroot *fs, struct pr_host *h)
{
	pr_discover_libs(fs, h);
	pr_discover_packages(fs, h);
	pr_discover_upgrades(fs, h);
	pr_discover_fabric(fs, h);
	pr_discover_kernel_log(fs, h);
	pr_discover_python(fs, h);
	pr_discover_imports(fs, h);
	pr_discover_openblas(fs, h);
}

int pr_host_discover(struct gt_fsroot *fs, const struct pr_discover_opts *opts, struct pr_host **ret, struct gt_err *err)
{
	static const struct pr_discover_opts defaults = { 0 };
	struct pr_host *h = gt_xcalloc(1, sizeof(*h));

	if (!opts)
		opts = &defaults;
	h->live = gt_fs_is_live(fs);
	h->identity_parts = json_object();
	pr_discover_environment(fs, h);
	if (opts->launch) {
		discover_launch(fs, h);
		*ret = h;
		return 0;
	}
	pr_discover_kernel(fs, h);
	pr_discover_grub(fs, h);
	pr_discover_settings(fs, h);
	pr_discover_cpu(fs, h);
	pr_discover_virt(fs, h);
	pr_discover_memory(fs, h);
	pr_discover_numa(fs, h);
	pr_discover_pci(fs, h);
	pr_discover_iommu(fs, h);
	pr_discover_acs(fs, h);
	pr_discover_amd(fs, h);
	pr_discover_error_counters(fs, h);
	pr_discover_driver(fs, h);
	pr_discover_nodes(fs, h);
	pr_discover_platform(fs, h);
	pr_discover_firmware(fs, h);
	if (!opts->hardware)
		discover_software(fs, h);
	if (!opts->no_nvml)
		pr_discover_nvml(fs, h, opts->nvml_timeout_s > 0 ? opts->nvml_timeout_s : 10);
	if (!opts->hardware)
		pr_discover_holders(fs, h);
	if (!opts->hardware && (opts->cuda || !h->live))
		pr_discover_cuda(fs, h, opts->nvml_timeout_s > 0 ? opts->nvml_timeout_s : 30);
	pr_discover_devices(fs, h);
	pr_discover_rdma_ports(fs, h);
	pr_discover_gpudirect(fs, h);
	if (opts->data)
		pr_discover_data(fs, h, opts->data);
	pr_find_contradictions(fs, h);
	pr_discover_identity(fs, h);
	*ret = h;
	return 0;
}

void pr_free_nodes(struct pr_node *node, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		gt_set_clear(&node[i].cpus);
		free(node[i].distance);
	}
	free(node);
}

void pr_host_free(struct pr_host *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->cpu.n_cpu; i++)
		gt_set_clear(&h->cpu.cpu[i].siblings);
	pr_free_nodes(h->node, h->n_node);
	gt_set_clear(&h->cpu.online);
	gt_set_clear(&h->cpu.allowed);
	gt_set_clear(&h->cpu.isolated);
	gt_set_clear(&h->cpu.efficiency);
	gt_set_clear(&h->cpu.cpuset);
	free(h->cpu.cpu);
	for (size_t i = 0; i < h->n_gpu; i++) {
		free(h->gpu[i].nvlink);
		free(h->gpu[i].ancestor);
	}
	free(h->pci);
	free(h->gpu);
	pr_amd_clear(&h->amd);
	pr_driver_clear(&h->driver);
	pr_device_nodes_clear(&h->device_nodes);
	pr_secure_boot_clear(&h->secure_boot);
	pr_libs_clear(&h->libs);
	gt_strv_clear(&h->contradictions);
	gt_strv_clear(&h->rdma);
	gt_strv_clear(&h->rdma_pci);
	pr_rdma_clear(&h->rdma_ports);
	for (size_t i = 0; i < h->n_pyenv; i++)
		pr_pyenv_clear(&h->pyenv[i]);
	for (size_t i = 0; i < h->n_imported; i++)
		pr_loader_free(h->imported[i].loaded);
	free(h->imported);
	pr_elf_cache_free(h->elf_cache);
	free(h->pyenv);
	gt_strv_clear(&h->environment);
	free(h->openblas);
	free(h->package);
	free(h->kernels);
	gt_strv_clear(&h->iommu.acs_words);
	gt_strv_clear(&h->iommu.acs_redirect);
	free(h->log);
	pr_error_counters_clear(&h->errors);
	pr_holders_clear(&h->holders);
	free(h->setting);
	gt_strv_clear(&h->tuners);
	pr_params_clear(&h->grub);
	free(h->block);
	free(h->volume);
	for (size_t i = 0; i < h->n_net; i++)
		gt_strv_clear(&h->net[i].irqs);
	free(h->net);
	free(h->cpufreq);
	json_decref(h->identity_parts);
	gt_strv_clear(&h->pool);
	free(h);
}

bool pr_on_bus(const struct pr_gpu *g)
{
	return !gt_streq(g->pci->driver.v, "vfio-pci") && !g->pci->virtual_function;
}

size_t pr_bus_gpus(const struct pr_host *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_gpu; i++)
		n += pr_on_bus(&h->gpu[i]);
	return n;
}

bool pr_cpu_flag(const struct pr_host *h, const char *flag)
{
	gt_autofree char *word = gt_xasprintf(" %s ", flag);

	return strstr(h->cpu.flags, word) != NULL;
}

bool pr_windows_gpus(const struct pr_host *h)
{
	return gt_streq(h->virt.v, "wsl") && pr_or(h->nvml.count, 0) > 0;
}

bool pr_trains_on_gpu(const struct pr_host *h)
{
	return pr_usable_gpus(h) || pr_windows_gpus(h) || h->platform.windows_driver || h->tegra.board.v;
}

void pr_first_threads(const struct pr_host *h, const struct gt_set *cpus, struct gt_set *ret)
{
	gt_auto_set taken = { 0 }, first = { 0 };

	for (size_t i = 0; i < h->cpu.n_cpu; i++) {
		const struct pr_cpu *c = &h->cpu.cpu[i];

		if (!gt_set_has(cpus, (unsigned)c->id) || gt_set_has(&taken, (unsigned)c->id))
			continue;
		gt_set_add(&first, (unsigned)c->id);
		gt_set_or(&taken, &c->siblings);
	}
	gt_set_copy(ret, &first);
}
