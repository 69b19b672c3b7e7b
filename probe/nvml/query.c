/* SPDX-License-Identifier: Apache-2.0 */
/* Calls NVML for everything that discovery needs. A call fails on GPUs without the feature; its key is then omitted. */
#include <string.h>
#include <unistd.h>
#include "lib/dl.h"
#include "lib/parse.h"
#include "lib/util.h"
#include "probe/holder/nvml_use.h"
#include "probe/nvml/query.h"

typedef void *nvml_device;
struct nvml_pci_info {
	char legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char address[32];
};
struct nvml_memory {
	unsigned long long total, free, used;
};
struct nvml_bar1 {
	unsigned long long total, free, used;
};
struct nvml_fabric {
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state;
};
struct nvml_addressing {
	unsigned version, mode;
};
#define ADDRESSING_VERSION (sizeof(struct nvml_addressing) | 1 << 24)
/* nvmlFieldValue_t; value: the integer types of a little-endian machine all have their low bits here */
struct nvml_field {
	unsigned id, scope;
	long long timestamp, latency;
	int type, code;
	union {
		unsigned low;
		unsigned long long whole;
	} value;
};
/* fields about NVLink-C2C, the connection of a GPU and a Grace processor; the scope is the number of a link */
enum { C2C_COUNT = 170, C2C_STATUS = 171, C2C_BANDWIDTH = 172, C2C_MOST = 64 };

struct nvml {
	int (*init)(void);
	int (*count)(unsigned *);
	int (*handle)(unsigned, nvml_device *);
	int (*name)(nvml_device, char *, unsigned);
	int (*pci)(nvml_device, struct nvml_pci_info *);
	int (*memory)(nvml_device, struct nvml_memory *);
	int (*persistence)(nvml_device, int *);
	int (*capability)(nvml_device, int *, int *);
	int (*mig)(nvml_device, unsigned *, unsigned *);
	int (*mig_max)(nvml_device, unsigned *);
	int (*mig_handle)(nvml_device, unsigned, nvml_device *);
	int (*ecc)(nvml_device, int *, int *);
	int (*compute_mode)(nvml_device, int *);
	int (*bar1)(nvml_device, struct nvml_bar1 *);
	int (*clock_reasons)(nvml_device, unsigned long long *);
	int (*remapped)(nvml_device, unsigned *, unsigned *, unsigned *, unsigned *);
	int (*retired)(nvml_device, int *);
	int (*fabric)(nvml_device, struct nvml_fabric *);
	int (*nvlink)(nvml_device, unsigned, int *);
	int (*nvlink_kind)(nvml_device, unsigned, int *);
	int (*nvlink_to)(nvml_device, unsigned, struct nvml_pci_info *);
	int (*ancestor)(nvml_device, nvml_device, int *);
	int (*cpu_affinity)(nvml_device, unsigned, unsigned long *);
	int (*memory_affinity)(nvml_device, unsigned, unsigned long *, int);
	int (*own_node)(nvml_device, unsigned *);
	int (*fields)(nvml_device, int, struct nvml_field *);
	int (*addressing)(nvml_device, struct nvml_addressing *);
	int (*p2p)(nvml_device, nvml_device, int, int *);
	int (*driver)(char *, unsigned);
	int (*cuda)(int *);
	const char *(*text)(int);
	struct pr_nvml_use use;
};
static const struct gt_dlsym syms[] = {
	GT_DLSYM(nvml, init, nvmlInit_v2),
	GT_DLSYM(nvml, count, nvmlDeviceGetCount_v2),
	GT_DLSYM(nvml, handle, nvmlDeviceGetHandleByIndex_v2),
	GT_DLSYM(nvml, name, nvmlDeviceGetName),
	GT_DLSYM_OPT(nvml, pci, nvmlDeviceGetPciInfo_v3),
	GT_DLSYM(nvml, memory, nvmlDeviceGetMemoryInfo),
	GT_DLSYM(nvml, persistence, nvmlDeviceGetPersistenceMode),
	GT_DLSYM(nvml, capability, nvmlDeviceGetCudaComputeCapability),
	GT_DLSYM_OPT(nvml, mig, nvmlDeviceGetMigMode),
	GT_DLSYM_OPT(nvml, mig_max, nvmlDeviceGetMaxMigDeviceCount),
	GT_DLSYM_OPT(nvml, mig_handle, nvmlDeviceGetMigDeviceHandleByIndex),
	GT_DLSYM_OPT(nvml, ecc, nvmlDeviceGetEccMode),
	GT_DLSYM_OPT(nvml, compute_mode, nvmlDeviceGetComputeMode),
	GT_DLSYM_OPT(nvml, bar1, nvmlDeviceGetBAR1MemoryInfo),
	GT_DLSYM_OPT(nvml, clock_reasons, nvmlDeviceGetCurrentClocksThrottleReasons),
	GT_DLSYM_OPT(nvml, remapped, nvmlDeviceGetRemappedRows),
	GT_DLSYM_OPT(nvml, retired, nvmlDeviceGetRetiredPagesPendingStatus),
	GT_DLSYM_OPT(nvml, fabric, nvmlDeviceGetGpuFabricInfo),
	GT_DLSYM_OPT(nvml, nvlink, nvmlDeviceGetNvLinkState),
	GT_DLSYM_OPT(nvml, nvlink_kind, nvmlDeviceGetNvLinkRemoteDeviceType),
	GT_DLSYM_OPT(nvml, nvlink_to, nvmlDeviceGetNvLinkRemotePciInfo_v2),
	GT_DLSYM_OPT(nvml, ancestor, nvmlDeviceGetTopologyCommonAncestor),
	GT_DLSYM_OPT(nvml, cpu_affinity, nvmlDeviceGetCpuAffinity),
	GT_DLSYM_OPT(nvml, memory_affinity, nvmlDeviceGetMemoryAffinity),
	GT_DLSYM_OPT(nvml, own_node, nvmlDeviceGetNumaNodeId),
	GT_DLSYM_OPT(nvml, fields, nvmlDeviceGetFieldValues),
	GT_DLSYM_OPT(nvml, addressing, nvmlDeviceGetAddressingMode),
	GT_DLSYM_OPT(nvml, p2p, nvmlDeviceGetP2PStatus),
	GT_DLSYM(nvml, driver, nvmlSystemGetDriverVersion),
	GT_DLSYM_OPT(nvml, cuda, nvmlSystemGetCudaDriverVersion_v2),
	GT_DLSYM(nvml, text, nvmlErrorString),
	PR_NVML_USE_SYMS(nvml, use),
};

static void put(json_t *d, const char *key, long long v)
{
	json_object_set_new(d, key, json_integer(v));
}

void pr_sysfs_address(char *address, size_t size)
{
	size_t len = strnlen(address, size - 1);

	address[len] = '\0';
	for (char *p = address; *p; p++)
		*p = *p >= 'A' && *p <= 'F' ? (char)(*p + 'a' - 'A') : *p;
	if (len == 16 && !strncmp(address, "0000", 4))
		memmove(address, address + 4, 13);
}

static unsigned count_instances(const struct nvml *n, nvml_device dev)
{
	unsigned most = 0, found = 0;
	nvml_device instance;

	if (!n->mig_max || !n->mig_handle || n->mig_max(dev, &most))
		return 0;
	for (unsigned i = 0; i < most; i++)
		found += !n->mig_handle(dev, i, &instance);
	return found;
}

/* Adds a link to its destination's count. */
static void count_link(const struct nvml *n, nvml_device dev, unsigned i, json_t *list)
{
	static const char *const kinds[] = { "gpu", "npu", "switch" };
	struct nvml_pci_info pci = { 0 };
	const char *kind = "unknown";
	json_t *l;
	size_t k;
	int type;

	if (n->nvlink_kind && !n->nvlink_kind(dev, i, &type) && type >= 0 && type < (int)GT_ARRAY_SIZE(kinds))
		kind = kinds[type];
	if (n->nvlink_to && !n->nvlink_to(dev, i, &pci))
		pr_sysfs_address(pci.address, sizeof(pci.address));
	json_array_foreach(list, k, l)
		if (!strcmp(gt_json_get_str(l, "to", ""), pci.address) && !strcmp(gt_json_get_str(l, "kind", ""), kind)) {
			put(l, "links", gt_json_get_int(l, "links", 0) + 1);
			return;
		}
	json_array_append_new(list, json_pack("{s:o, s:s, s:i}", "to", gt_json_str(pci.address), "kind", kind, "links", 1));
}

static void query_links(const struct nvml *n, nvml_device dev, json_t *d)
{
	json_t *list = json_array();
	int links = 0, down = 0, on;

	for (unsigned i = 0; n->nvlink && i < 18; i++)
		if (!n->nvlink(dev, i, &on)) {
			links++;
			down += !on;
			if (on)
				count_link(n, dev, i, list);
		}
	if (links) {
		put(d, "nvlinks", links);
		put(d, "nvlinks_down", down);
		json_object_set(d, "nvlink", list);
	}
	json_decref(list);
}

static bool read_field(const struct nvml *n, nvml_device dev, unsigned id, unsigned link, unsigned *ret)
{
	struct nvml_field f = { .id = id, .scope = link };

	if (!n->fields || n->fields(dev, 1, &f) || f.code)
		return false;
	*ret = f.value.low;
	return true;
}

/* Queries the connection to a Grace processor: its links and their bandwidth, the GPU's memory as a node of the host. */
static void query_coherence(const struct nvml *n, nvml_device dev, json_t *d)
{
	struct nvml_addressing a = { .version = ADDRESSING_VERSION };
	unsigned count, node, v, down = 0, bandwidth = 0;

	if (n->addressing && !n->addressing(dev, &a))
		put(d, "addressing_mode", a.mode);
	if (n->own_node && !n->own_node(dev, &node))
		put(d, "memory_node", node);
	if (!read_field(n, dev, C2C_COUNT, 0, &count) || !count || count > C2C_MOST)
		return;
	put(d, "c2c_links", count);
	for (unsigned i = 0; i < count; i++) {
		if (!read_field(n, dev, C2C_STATUS, i, &v))
			return;
		down += v != 1;
		if (v == 1 && read_field(n, dev, C2C_BANDWIDTH, i, &v))
			bandwidth += v;
	}
	put(d, "c2c_links_down", down);
	put(d, "c2c_mb_per_s", bandwidth);
}

/* Converts an NVML mask to a list: "0-15,32-47". */
static json_t *list_of(const unsigned long *mask, size_t n)
{
	gt_auto_set set = { 0 };
	gt_autofree char *text = NULL;

	for (size_t i = 0; i < n * 8 * sizeof(*mask); i++)
		if (mask[i / (8 * sizeof(*mask))] >> i % (8 * sizeof(*mask)) & 1)
			gt_set_add(&set, (unsigned)i);
	text = gt_set_format(&set);
	return gt_json_str(text);
}

/* Queries the location of the GPU: its CPUs, its node, and the distance to the other GPUs. */
static void query_location(const struct nvml *n, nvml_device dev, unsigned i, unsigned count, json_t *d)
{
	unsigned long cpus[64] = { 0 }, nodes[16] = { 0 };
	json_t *ancestors = json_array();

	put(d, "index", i);
	if (n->cpu_affinity && !n->cpu_affinity(dev, GT_ARRAY_SIZE(cpus), cpus))
		json_object_set_new(d, "cpu_affinity", list_of(cpus, GT_ARRAY_SIZE(cpus)));
	if (n->memory_affinity && !n->memory_affinity(dev, GT_ARRAY_SIZE(nodes), nodes, 0))
		json_object_set_new(d, "memory_affinity", list_of(nodes, GT_ARRAY_SIZE(nodes)));
	for (unsigned k = 0; n->ancestor && n->pci && k < count; k++) {
		struct nvml_pci_info pci = { 0 };
		nvml_device other;
		int level;

		if (k == i || n->handle(k, &other) || n->pci(other, &pci) || n->ancestor(dev, other, &level))
			continue;
		pr_sysfs_address(pci.address, sizeof(pci.address));
		json_array_append_new(ancestors, json_pack("{s:o, s:i}", "to", gt_json_str(pci.address), "level", level));
	}
	if (json_array_size(ancestors))
		json_object_set(d, "ancestors", ancestors);
	json_decref(ancestors);
}

/* Each query fails on GPUs without the feature; its key is then omitted. */
static void query_health(const struct nvml *n, nvml_device dev, json_t *d)
{
	unsigned corrected, uncorrected, pending, failed;
	struct nvml_fabric fabric = { 0 };
	unsigned long long reasons;
	struct nvml_bar1 bar1;
	int v;

	if (n->compute_mode && !n->compute_mode(dev, &v))
		put(d, "compute_mode", v);
	if (n->bar1 && !n->bar1(dev, &bar1))
		put(d, "bar1_bytes", (long long)bar1.total);
	if (n->clock_reasons && !n->clock_reasons(dev, &reasons))
		put(d, "clock_reasons", (long long)reasons);
	if (n->remapped && !n->remapped(dev, &corrected, &uncorrected, &pending, &failed)) {
		put(d, "remap_pending", pending);
		put(d, "remap_failure", failed);
	}
	if (n->retired && !n->retired(dev, &v))
		put(d, "retired_pending", v);
	if (n->fabric && !n->fabric(dev, &fabric))
		put(d, "fabric_state", fabric.state);
	query_links(n, dev, d);
	query_coherence(n, dev, d);
}

/* Reports the worst status of reading one GPU's memory from another; 0 if all pairs can. */
static void query_p2p(const struct nvml *n, unsigned count, json_t *doc)
{
	int status, worst = 0;
	bool queried = false;
	nvml_device a, b;

	for (unsigned i = 0; n->p2p && i < count; i++)
		for (unsigned k = i + 1; k < count; k++)
			if (!n->handle(i, &a) && !n->handle(k, &b) && !n->p2p(a, b, 0, &status)) {
				worst = GT_MAX(worst, status);
				queried = true;
			}
	if (queried)
		put(doc, "p2p_status", worst);
}

static json_t *query_device(const struct nvml *n, unsigned i, unsigned count)
{
	json_t *d = json_object();
	struct nvml_pci_info pci = { 0 };
	struct nvml_memory mem;
	char name[96] = "";
	unsigned mig, pending;
	nvml_device dev;
	int major, minor, on, on_later, r = n->handle(i, &dev);

	if (r) {
		json_object_set_new(d, "error", json_integer(r));
		return d;
	}
	if (!n->name(dev, name, sizeof(name)))
		json_object_set_new(d, "name", gt_json_str(name));
	if (n->pci && !n->pci(dev, &pci))
		json_object_set_new(d, "pci", gt_json_str(pci.address));
	if (!n->memory(dev, &mem))
		json_object_set_new(d, "memory_bytes", json_integer((json_int_t)mem.total));
	if (!n->persistence(dev, &on))
		json_object_set_new(d, "persistence", json_integer(on));
	if (!n->capability(dev, &major, &minor))
		json_object_set_new(d, "arch", json_integer(major * 10 + minor));
	if (n->mig && !n->mig(dev, &mig, &pending)) { /* fails on GPUs without the feature */
		put(d, "mig", mig);
		put(d, "mig_pending", pending);
		if (mig)
			put(d, "mig_instances", count_instances(n, dev));
	}
	if (n->ecc && !n->ecc(dev, &on, &on_later)) {
		put(d, "ecc", on);
		put(d, "ecc_pending", on_later);
	}
	query_health(n, dev, d);
	pr_nvml_add_use(&n->use, dev, d);
	query_location(n, dev, i, count, d);
	return d;
}

/* Queries the use of GPUs again for which the first answer may describe the end of a process. */
static void confirm_use(const struct nvml *n, json_t *gpus)
{
	static const char *const keys[] = { "processes", "memory_used_bytes", "compute_percent" };
	bool waited = false;
	nvml_device dev;
	json_t *d;
	size_t i;

	json_array_foreach(gpus, i, d) {
		if (!pr_nvml_use_is_doubtful(d) || n->handle((unsigned)i, &dev))
			continue;
		if (!waited)
			usleep(100000);
		waited = true;
		for (size_t k = 0; k < GT_ARRAY_SIZE(keys); k++) /* they stay unknown if NVML no longer responds */
			json_object_del(d, keys[k]);
		pr_nvml_add_use(&n->use, dev, d);
	}
}

/* see_all: this process sees all processes of the host. */
static json_t *query_all(const struct nvml *n, bool see_all)
{
	json_t *doc = json_object(), *gpus = json_array();
	char driver[96] = "";
	unsigned count = 0;
	int cuda, r = n->init();

	json_object_set_new(doc, "code", json_integer(r));
	json_object_set_new(doc, "gpus", gpus);
	if (r) {
		json_object_set_new(doc, "error", gt_json_str(n->text(r)));
		return doc;
	}
	if (!n->driver(driver, sizeof(driver)))
		json_object_set_new(doc, "driver", gt_json_str(driver));
	if (n->cuda && !n->cuda(&cuda))
		json_object_set_new(doc, "cuda", json_integer(cuda));
	if (!n->count(&count))
		json_object_set_new(doc, "count", json_integer(count));
	for (unsigned i = 0; i < count; i++)
		json_array_append_new(gpus, query_device(n, i, count));
	if (see_all)
		confirm_use(n, gpus);
	query_p2p(n, count, doc);
	return doc;
}

json_t *pr_nvml_query(bool see_all)
{
	static const char *const names[] = { "libnvidia-ml.so.1", NULL };
	struct gt_err why = { 0 };
	struct nvml n = { 0 };
	void *handle;

	if (gt_dl_open(names, syms, GT_ARRAY_SIZE(syms), &n, &handle, &why) < 0)
		return json_pack("{s:b,s:s}", "no_library", 1, "error", why.msg);
	return query_all(&n, see_all);
}
