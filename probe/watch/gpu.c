/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cards are doing, by NVML, in a child process that stays: starting NVML for each look would cost more than
 * the look. A call that a card does not know leaves its member out.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/dl.h"
#include "probe/reading.h"
#include "probe/watch/watch.h"

typedef void *nvml_device;
struct pci_info {
	char legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char address[32];
};
struct memory {
	unsigned long long total, free, used;
};
struct utilization {
	unsigned gpu, memory;
};
/* nvmlFieldValue_t */
struct field {
	unsigned id, scope;
	long long timestamp_us, latency_us;
	int type, code;
	union {
		unsigned u;
		unsigned long long ull;
	} value;
};
enum { FIELD_PCIE_TX_BYTES = 197, FIELD_PCIE_RX_BYTES = 198, TYPE_UNSIGNED_INT = 1 };

struct load {
	int (*init)(void);
	int (*count)(unsigned *);
	int (*handle)(unsigned, nvml_device *);
	const char *(*text)(int);
	int (*name)(nvml_device, char *, unsigned);
	int (*pci)(nvml_device, struct pci_info *);
	int (*memory)(nvml_device, struct memory *);
	int (*utilization)(nvml_device, struct utilization *);
	int (*fields)(nvml_device, int, struct field *);
	int (*throughput)(nvml_device, int, unsigned *);
	int (*link_gen)(nvml_device, unsigned *);
	int (*link_width)(nvml_device, unsigned *);
	int (*max_link_gen)(nvml_device, unsigned *);
	int (*max_link_width)(nvml_device, unsigned *);
	int (*clock)(nvml_device, int, unsigned *);
	int (*max_clock)(nvml_device, int, unsigned *);
	int (*power)(nvml_device, unsigned *);
	int (*power_limit)(nvml_device, unsigned *);
	int (*temperature)(nvml_device, int, unsigned *);
	int (*reasons)(nvml_device, unsigned long long *);
};
static const struct gt_dlsym syms[] = {
	GT_DLSYM(load, init, nvmlInit_v2),
	GT_DLSYM(load, count, nvmlDeviceGetCount_v2),
	GT_DLSYM(load, handle, nvmlDeviceGetHandleByIndex_v2),
	GT_DLSYM(load, text, nvmlErrorString),
	GT_DLSYM_OPT(load, name, nvmlDeviceGetName),
	GT_DLSYM_OPT(load, pci, nvmlDeviceGetPciInfo_v3),
	GT_DLSYM_OPT(load, memory, nvmlDeviceGetMemoryInfo),
	GT_DLSYM_OPT(load, utilization, nvmlDeviceGetUtilizationRates),
	GT_DLSYM_OPT(load, fields, nvmlDeviceGetFieldValues),
	GT_DLSYM_OPT(load, throughput, nvmlDeviceGetPcieThroughput),
	GT_DLSYM_OPT(load, link_gen, nvmlDeviceGetCurrPcieLinkGeneration),
	GT_DLSYM_OPT(load, link_width, nvmlDeviceGetCurrPcieLinkWidth),
	GT_DLSYM_OPT(load, max_link_gen, nvmlDeviceGetMaxPcieLinkGeneration),
	GT_DLSYM_OPT(load, max_link_width, nvmlDeviceGetMaxPcieLinkWidth),
	GT_DLSYM_OPT(load, clock, nvmlDeviceGetClockInfo),
	GT_DLSYM_OPT(load, max_clock, nvmlDeviceGetMaxClockInfo),
	GT_DLSYM_OPT(load, power, nvmlDeviceGetPowerUsage),
	GT_DLSYM_OPT(load, power_limit, nvmlDeviceGetEnforcedPowerLimit),
	GT_DLSYM_OPT(load, temperature, nvmlDeviceGetTemperature),
	GT_DLSYM_OPT(load, reasons, nvmlDeviceGetCurrentClocksThrottleReasons),
};

#define GPUS_MAX 256
struct state {
	bool opened, started;
	struct load n;
	char why[256]; /* the library did not open */
	struct counter {
		unsigned long long bytes;
		double at_s;   /* 0: not read yet */
	} before[GPUS_MAX][2]; /* sent, received */
};

void *pr_watch_serve_state(void)
{
	return gt_xcalloc(1, sizeof(struct state));
}

static void put(json_t *d, const char *key, long long v)
{
	json_object_set_new(d, key, json_integer(v));
}

/* What NVML calls throttle, and later event, reasons. */
static json_t *reason_names(unsigned long long mask)
{
	static const char *const name[] = {
		"idle",          "application clocks", "software power cap", "hardware slowdown",
		"sync boost",    "software thermal",   "hardware thermal",   "power brake",
		"display clocks"};
	json_t *list = json_array();

	for (size_t i = 0; i < GT_ARRAY_SIZE(name); i++)
		if (mask >> i & 1)
			json_array_append_new(list, json_string(name[i]));
	if (mask >> GT_ARRAY_SIZE(name)) {
		gt_autofree char *rest = gt_xasprintf("0x%llx", mask & ~((1ull << GT_ARRAY_SIZE(name)) - 1));

		json_array_append_new(list, json_string(rest));
	}
	return list;
}

/* Counters of bytes since R550 and Hopper, with the time at which they were read; a counter of 32 bits runs over
 * several times a second and is of no use. */
static bool ask_counters(struct state *s, unsigned i, nvml_device dev, json_t *d)
{
	static const char *const way[] = {"pcie_tx_bytes_per_s", "pcie_rx_bytes_per_s"};
	struct field f[2] = {{.id = FIELD_PCIE_TX_BYTES}, {.id = FIELD_PCIE_RX_BYTES}};

	if (!s->n.fields || s->n.fields(dev, 2, f) || f[0].code || f[1].code || f[0].type == TYPE_UNSIGNED_INT ||
	    f[1].type == TYPE_UNSIGNED_INT)
		return false;
	for (int k = 0; k < 2; k++) {
		struct counter *before = &s->before[i][k],
			       now = {.bytes = f[k].value.ull,
				      .at_s = f[k].timestamp_us > 0 ? (double)f[k].timestamp_us / 1e6 : gt_now_s()};

		if (before->at_s > 0 && now.at_s > before->at_s && now.bytes >= before->bytes)
			put(d, way[k], (long long)((double)(now.bytes - before->bytes) / (now.at_s - before->at_s)));
		*before = now;
	}
	return true;
}

/* Transmit and receive are the card's: what it receives comes from the host. */
static void ask_pcie(struct state *s, unsigned i, nvml_device dev, json_t *d)
{
	static const char *const way[] = {"pcie_tx_bytes_per_s", "pcie_rx_bytes_per_s"};
	unsigned v;

	if (!ask_counters(s, i, dev, d))
		for (int k = 0; k < 2; k++) /* measures for 20 ms by itself, in KB/s */
			if (s->n.throughput && !s->n.throughput(dev, k, &v))
				put(d, way[k], v * 1000ll);
	if (s->n.link_gen && !s->n.link_gen(dev, &v))
		put(d, "pcie_gen", v);
	if (s->n.link_width && !s->n.link_width(dev, &v))
		put(d, "pcie_width", v);
	if (s->n.max_link_gen && !s->n.max_link_gen(dev, &v))
		put(d, "pcie_max_gen", v);
	if (s->n.max_link_width && !s->n.max_link_width(dev, &v))
		put(d, "pcie_max_width", v);
}

static void ask_clocks(const struct load *n, nvml_device dev, json_t *d)
{
	enum { SM = 1, MEM = 2, DIE = 0 };
	unsigned long long reasons;
	unsigned v;

	if (n->clock && !n->clock(dev, SM, &v))
		put(d, "sm_mhz", v);
	if (n->max_clock && !n->max_clock(dev, SM, &v))
		put(d, "sm_max_mhz", v);
	if (n->clock && !n->clock(dev, MEM, &v))
		put(d, "memory_mhz", v);
	if (n->power && !n->power(dev, &v))
		json_object_set_new(d, "power_w", gt_json_real(v / 1000.0));
	if (n->power_limit && !n->power_limit(dev, &v))
		json_object_set_new(d, "power_limit_w", gt_json_real(v / 1000.0));
	if (n->temperature && !n->temperature(dev, DIE, &v))
		put(d, "temperature_c", v);
	if (n->reasons && !n->reasons(dev, &reasons))
		json_object_set_new(d, "clock_reasons", reason_names(reasons));
}

static json_t *ask_gpu(struct state *s, unsigned i)
{
	const struct load *n = &s->n;
	struct pci_info pci = {0};
	struct utilization use;
	json_t *d = json_object();
	char name[96] = "";
	struct memory mem;
	nvml_device dev;
	int r = n->handle(i, &dev);

	put(d, "index", i);
	if (r) {
		json_object_set_new(d, "error", gt_json_str(n->text(r)));
		return d;
	}
	if (n->pci && !n->pci(dev, &pci)) {
		pr_sysfs_address(pci.address, sizeof(pci.address));
		json_object_set_new(d, "pci", gt_json_str(pci.address));
	}
	if (n->name && !n->name(dev, name, sizeof(name)))
		json_object_set_new(d, "name", gt_json_str(name));
	if (n->utilization) {
		r = n->utilization(dev, &use);
		if (!r) {
			put(d, "compute_percent", use.gpu);
			put(d, "memory_busy_percent", use.memory);
		} else if (r == 15 || r == 16) { /* lost, or to be reset: the rest would say so too */
			json_object_set_new(d, "error", gt_json_str(n->text(r)));
			return d;
		}
	}
	if (n->memory && !n->memory(dev, &mem)) {
		put(d, "memory_used_bytes", (long long)mem.used);
		put(d, "memory_total_bytes", (long long)mem.total);
	}
	ask_pcie(s, i, dev, d);
	ask_clocks(n, dev, d);
	return d;
}

static json_t *look(struct state *s)
{
	static const char *const names[] = {"libnvidia-ml.so.1", NULL};
	json_t *doc = json_object(), *gpus = json_array();
	struct gt_err err = {0};
	unsigned count = 0;
	void *handle;
	int r = 0;

	json_object_set_new(doc, "gpus", gpus);
	if (!s->opened && !*s->why) {
		s->opened = gt_dl_open(names, syms, GT_ARRAY_SIZE(syms), &s->n, &handle, &err) >= 0;
		if (!s->opened)
			snprintf(s->why, sizeof(s->why), "%.255s", err.msg);
	}
	if (!s->opened) {
		json_object_set_new(doc, "no_library", json_true());
		json_object_set_new(doc, "error", gt_json_str(s->why));
		return doc;
	}
	if (!s->started)
		r = s->n.init();
	s->started = !r;
	if (!r)
		r = s->n.count(&count);
	put(doc, "code", r);
	if (r)
		json_object_set_new(doc, "error", gt_json_str(s->n.text(r)));
	for (unsigned i = 0; !r && i < count && i < GPUS_MAX; i++)
		json_array_append_new(gpus, ask_gpu(s, i));
	return doc;
}

int pr_watch_serve(void *state)
{
	gt_auto_json *doc = look(state);
	gt_autofree char *text = json_dumps(doc, JSON_COMPACT);

	if (!text || printf("%s\n", text) < 0 || fflush(stdout))
		return -EPIPE;
	return 0;
}
