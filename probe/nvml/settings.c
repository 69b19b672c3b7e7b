/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include "lib/buf.h"
#include "lib/dl.h"
#include "lib/parse.h"
#include "lib/spawn.h"
#include "probe/nvml/query.h"
#include "probe/nvml/settings.h"

enum { LIBRARY_NOT_FOUND = 12 }; /* nvmlReturn_t */

typedef void *nvml_device;
struct pci_info {
	char legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char address[32];
};
enum { CLOCK_GRAPHICS = 0, CLOCK_MEMORY = 2 }; /* nvmlClockType_t */
struct nvml {
	int (*init)(void);
	int (*count)(unsigned *);
	int (*handle)(unsigned, nvml_device *);
	int (*pci)(nvml_device, struct pci_info *);
	int (*persistence)(nvml_device, int *);
	int (*limit)(nvml_device, unsigned *);
	int (*default_limit)(nvml_device, unsigned *);
	int (*limits)(nvml_device, unsigned *, unsigned *);
	int (*max_clock)(nvml_device, int, unsigned *);
	int (*memory_clocks)(nvml_device, unsigned *, unsigned *);
	int (*graphics_clocks)(nvml_device, unsigned, unsigned *, unsigned *);
	int (*application_clock)(nvml_device, int, unsigned *);
	int (*lock_graphics)(nvml_device, unsigned, unsigned);
	int (*lock_memory)(nvml_device, unsigned, unsigned);
};
static const struct gt_dlsym syms[] = {
	GT_DLSYM(nvml, init, nvmlInit_v2),
	GT_DLSYM(nvml, count, nvmlDeviceGetCount_v2),
	GT_DLSYM(nvml, handle, nvmlDeviceGetHandleByIndex_v2),
	GT_DLSYM(nvml, pci, nvmlDeviceGetPciInfo_v3),
	GT_DLSYM_OPT(nvml, persistence, nvmlDeviceGetPersistenceMode),
	GT_DLSYM_OPT(nvml, limit, nvmlDeviceGetPowerManagementLimit),
	GT_DLSYM_OPT(nvml, default_limit, nvmlDeviceGetPowerManagementDefaultLimit),
	GT_DLSYM_OPT(nvml, limits, nvmlDeviceGetPowerManagementLimitConstraints),
	GT_DLSYM_OPT(nvml, max_clock, nvmlDeviceGetMaxClockInfo),
	GT_DLSYM_OPT(nvml, memory_clocks, nvmlDeviceGetSupportedMemoryClocks),
	GT_DLSYM_OPT(nvml, graphics_clocks, nvmlDeviceGetSupportedGraphicsClocks),
	GT_DLSYM_OPT(nvml, application_clock, nvmlDeviceGetApplicationsClock),
	GT_DLSYM_OPT(nvml, lock_graphics, nvmlDeviceSetGpuLockedClocks),
	GT_DLSYM_OPT(nvml, lock_memory, nvmlDeviceSetMemoryLockedClocks),
};

/* ---- in the child ------------------------------------------------------------------------------------------------- */

#define CLOCKS_MAX 256 /* supported clocks of one kind; a GPU has about 100 */

struct clocks {
	unsigned mhz[CLOCKS_MAX], n;
};

static void put(json_t *d, const char *name, char *text)
{
	json_object_set_new(d, name, gt_json_str(text));
	free(text);
}

static char *watts(unsigned mw)
{
	return mw % 1000 ? gt_xasprintf("%u.%03u", mw / 1000, mw % 1000) : gt_xasprintf("%u", mw / 1000);
}

static void query_power(const struct nvml *n, nvml_device dev, int persistence, json_t *d)
{
	gt_autofree char *low = NULL, *high = NULL, *usual = NULL;
	unsigned mw, least, most, normal;

	if (!n->limit || n->limit(dev, &mw) || !n->limits || n->limits(dev, &least, &most))
		return;
	low = watts(least);
	high = watts(most);
	usual = watts(n->default_limit && !n->default_limit(dev, &normal) ? normal : most);
	put(d, "power_limit", watts(mw));
	put(d, "power_limit.range", gt_xasprintf("min=%s max=%s default=%s persistence=%d", low, high, usual, persistence));
}

/* The list is in descending order. */
static bool query_clocks(const struct nvml *n, nvml_device dev, bool memory, unsigned at_memory_mhz, struct clocks *ret)
{
	ret->n = GT_ARRAY_SIZE(ret->mhz);
	if (memory)
		return n->memory_clocks && !n->memory_clocks(dev, &ret->n, ret->mhz) && ret->n;
	return n->graphics_clocks && !n->graphics_clocks(dev, at_memory_mhz, &ret->n, ret->mhz) && ret->n;
}

static void query_lock(const struct nvml *n, nvml_device dev, int type, const struct clocks *supported, int persistence, json_t *d)
{
	const char *name = type == CLOCK_MEMORY ? "memory_clocks" : "clocks";
	gt_autofree char *range = gt_xasprintf("%s.range", name);
	unsigned most = 0, least = supported->n ? supported->mhz[supported->n - 1] : 0;

	if ((type == CLOCK_MEMORY ? !n->lock_memory : !n->lock_graphics) || !n->max_clock || n->max_clock(dev, type, &most))
		return;
	put(d, name, gt_xstrdup(PR_NVML_UNLOCKED));
	put(d, range, gt_xasprintf("min=%u max=%u persistence=%d", least, most, persistence));
}

static void query_application_clocks(const struct nvml *n, nvml_device dev, const struct clocks *memory, json_t *d)
{
	gt_auto_buf pairs = { 0 };
	unsigned m, g;

	if (!n->application_clock || n->application_clock(dev, CLOCK_MEMORY, &m) || n->application_clock(dev, CLOCK_GRAPHICS, &g))
		return;
	for (unsigned i = 0; i < memory->n; i++) {
		struct clocks graphics;

		if (!query_clocks(n, dev, false, memory->mhz[i], &graphics))
			continue;
		for (unsigned k = 0; k < graphics.n; k++)
			gt_buf_printf(&pairs, "%s%u/%u", pairs.len ? " " : "", memory->mhz[i], graphics.mhz[k]);
	}
	put(d, "application_clocks", gt_xasprintf("%u/%u", m, g));
	put(d, "application_clocks.range", gt_xstrdup(pairs.len ? pairs.s : ""));
}

static void query_gpu(const struct nvml *n, nvml_device dev, json_t *gpus)
{
	struct pci_info pci = { 0 };
	struct clocks memory = { 0 }, graphics = { 0 };
	json_t *d = json_object();
	int on = 0;

	if (n->pci(dev, &pci)) {
		json_decref(d);
		return;
	}
	pr_sysfs_address(pci.address, sizeof(pci.address));
	json_object_set_new(gpus, pci.address, d);
	if (n->persistence && !n->persistence(dev, &on))
		put(d, "persistence_mode", gt_xasprintf("%d", on));
	query_power(n, dev, on, d);
	if (!query_clocks(n, dev, true, 0, &memory))
		memory.n = 0;
	if (!memory.n || !query_clocks(n, dev, false, memory.mhz[0], &graphics))
		graphics.n = 0;
	query_lock(n, dev, CLOCK_GRAPHICS, &graphics, on, d);
	query_lock(n, dev, CLOCK_MEMORY, &memory, on, d);
	query_application_clocks(n, dev, &memory, d);
}

static int child(void *arg, struct gt_err *err)
{
	static const char *const names[] = { "libnvidia-ml.so.1", NULL };
	gt_auto_json *doc = json_object();
	json_t *gpus = json_object();
	struct nvml n = { 0 };
	unsigned count = 0;
	nvml_device dev;
	void *handle;
	int code = gt_dl_open(names, syms, GT_ARRAY_SIZE(syms), &n, &handle, NULL) < 0 ? LIBRARY_NOT_FOUND : n.init();

	json_object_set_new(doc, "gpus", gpus);
	if (!code)
		code = n.count(&count);
	for (unsigned i = 0; !code && i < count; i++) {
		if (!n.handle(i, &dev))
			query_gpu(&n, dev, gpus);
	}
	json_object_set_new(doc, "code", json_integer(code));
	gt_json_print(stdout, doc);
	fflush(stdout);
	return 0;
}

/* ---- in the parent ------------------------------------------------------------------------------------------------ */

int pr_nvml_settings(double timeout_s, json_t **ret)
{
	gt_auto_spawn s = { .in_child = child, .timeout_s = timeout_s };
	int r = gt_spawn(&s, NULL);

	if (r < 0)
		return r;
	return gt_json_parse(s.out ? s.out : "", s.out_len, "nvml", ret, NULL) < 0 ? -EIO : 0; /* the child crashed */
}
