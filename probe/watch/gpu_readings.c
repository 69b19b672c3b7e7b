/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include "lib/dl.h"
#include "probe/host/reading.h"
#include "probe/nvml/query.h"
#include "probe/watch/gpu_readings.h"

static const struct gt_dlsym syms[] = {
	GT_DLSYM(pr_nvml_load, init, nvmlInit_v2),
	GT_DLSYM(pr_nvml_load, count, nvmlDeviceGetCount_v2),
	GT_DLSYM(pr_nvml_load, handle, nvmlDeviceGetHandleByIndex_v2),
	GT_DLSYM(pr_nvml_load, text, nvmlErrorString),
	GT_DLSYM_OPT(pr_nvml_load, name, nvmlDeviceGetName),
	GT_DLSYM_OPT(pr_nvml_load, pci, nvmlDeviceGetPciInfo_v3),
	GT_DLSYM_OPT(pr_nvml_load, memory, nvmlDeviceGetMemoryInfo),
	GT_DLSYM_OPT(pr_nvml_load, utilization, nvmlDeviceGetUtilizationRates),
	GT_DLSYM_OPT(pr_nvml_load, fields, nvmlDeviceGetFieldValues),
	GT_DLSYM_OPT(pr_nvml_load, throughput, nvmlDeviceGetPcieThroughput),
	GT_DLSYM_OPT(pr_nvml_load, link_gen, nvmlDeviceGetCurrPcieLinkGeneration),
	GT_DLSYM_OPT(pr_nvml_load, link_width, nvmlDeviceGetCurrPcieLinkWidth),
	GT_DLSYM_OPT(pr_nvml_load, max_link_gen, nvmlDeviceGetMaxPcieLinkGeneration),
	GT_DLSYM_OPT(pr_nvml_load, max_link_width, nvmlDeviceGetMaxPcieLinkWidth),
	GT_DLSYM_OPT(pr_nvml_load, clock, nvmlDeviceGetClockInfo),
	GT_DLSYM_OPT(pr_nvml_load, max_clock, nvmlDeviceGetMaxClockInfo),
	GT_DLSYM_OPT(pr_nvml_load, power, nvmlDeviceGetPowerUsage),
	GT_DLSYM_OPT(pr_nvml_load, power_limit, nvmlDeviceGetEnforcedPowerLimit),
	GT_DLSYM_OPT(pr_nvml_load, temperature, nvmlDeviceGetTemperature),
	GT_DLSYM_OPT(pr_nvml_load, reasons, nvmlDeviceGetCurrentClocksThrottleReasons),
	GT_DLSYM_OPT(pr_nvml_load, energy, nvmlDeviceGetTotalEnergyConsumption),
	PR_NVML_USE_SYMS(pr_nvml_load, use),
};

/* Names of NVML's throttle reasons, which newer versions call event reasons. */
const char *const pr_gpu_reason[PR_GPU_REASONS] = {
	"idle",          "application clocks", "software power cap", "hardware slowdown",
	"sync boost",    "software thermal",   "hardware thermal",   "power brake",
	"display clocks"};

unsigned pr_gpu_readings_count(struct pr_gpu_readings *s, json_t *doc)
{
	static const char *const names[] = {"libnvidia-ml.so.1", NULL};
	struct gt_err err = {0};
	unsigned count = 0;
	void *handle;
	int r = 0;

	if (!s->opened && !*s->why) {
		s->opened = gt_dl_open(names, syms, GT_ARRAY_SIZE(syms), &s->n, &handle, &err) >= 0;
		if (!s->opened)
			snprintf(s->why, sizeof(s->why), "%.255s", err.msg);
	}
	if (!s->opened) {
		json_object_set_new(doc, "no_library", json_true());
		json_object_set_new(doc, "error", gt_json_str(s->why));
		return 0;
	}
	if (!s->started)
		r = s->n.init();
	s->started = !r;
	if (!r)
		r = s->n.count(&count);
	json_object_set_new(doc, "code", json_integer(r));
	if (r)
		json_object_set_new(doc, "error", gt_json_str(s->n.text(r)));
	return r ? 0 : count;
}

void pr_gpu_clocks(const struct pr_gpu_readings *s, pr_gpu_handle dev, struct pr_gpu_clocks *ret)
{
	enum { SM = 1, MEM = 2, DIE = 0 };
	const struct pr_nvml_load *n = &s->n;
	unsigned v;

	*ret = (struct pr_gpu_clocks){.sm_mhz = NAN, .memory_mhz = NAN, .power_w = NAN, .temperature_c = NAN};
	if (n->clock && !n->clock(dev, SM, &v))
		ret->sm_mhz = v;
	if (n->clock && !n->clock(dev, MEM, &v))
		ret->memory_mhz = v;
	if (n->power && !n->power(dev, &v))
		ret->power_w = v / 1000.0;
	if (n->temperature && !n->temperature(dev, DIE, &v))
		ret->temperature_c = v;
	ret->reasons_known = n->reasons && !n->reasons(dev, &ret->reasons);
}

double pr_gpu_max_sm_mhz(const struct pr_gpu_readings *s, pr_gpu_handle dev)
{
	unsigned v;

	return s->n.max_clock && !s->n.max_clock(dev, 1, &v) ? v : NAN;
}

double pr_gpu_power_limit_w(const struct pr_gpu_readings *s, pr_gpu_handle dev)
{
	unsigned v;

	return s->n.power_limit && !s->n.power_limit(dev, &v) ? v / 1000.0 : NAN;
}

double pr_gpu_energy_j(const struct pr_gpu_readings *s, pr_gpu_handle dev)
{
	unsigned long long mj;

	return s->n.energy && !s->n.energy(dev, &mj) ? (double)mj / 1000.0 : NAN;
}

void pr_gpu_names(const struct pr_gpu_readings *s, unsigned index, pr_gpu_handle dev, json_t *d)
{
	struct pr_nvml_pci pci = {0};
	char name[96] = "";

	json_object_set_new(d, "index", json_integer(index));
	if (s->n.pci && !s->n.pci(dev, &pci)) {
		pr_sysfs_address(pci.address, sizeof(pci.address));
		json_object_set_new(d, "pci", gt_json_str(pci.address));
	}
	if (s->n.name && !s->n.name(dev, name, sizeof(name)))
		json_object_set_new(d, "name", gt_json_str(name));
}
