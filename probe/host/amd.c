/* SPDX-License-Identifier: Apache-2.0 */
/* Reads GPUs of AMD from the PCI device's directory and from KFD's topology. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/text.h"
#include "probe/host/reading.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define PCI   "/sys/bus/pci/devices"
#define AMD   0x1002
#define XGMI  11 /* type of a link, HSA_IOLINKTYPE_XGMI */
#define MOST_NODES 1024

/* One node of KFD's topology: a processor, a GPU, or a partition of a GPU. */
struct node {
	struct pr_amd_gpu *gpu; /* NULL: a processor, or a GPU that is not on this bus */
	unsigned id;
};

/* Returns the text after "KEY " on its line of a file of KFD; NULL if there is none. */
static const char *find_value(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = text; at; at = gt_next_line(at))
		if (!strncmp(at, key, n) && at[n] == ' ')
			return at + n + 1;
	return NULL;
}

static uint64_t number_of(const char *text, const char *key)
{
	const char *at = find_value(text, key);
	gt_autofree char *word = at ? gt_xstrndup(at, strcspn(at, "\n ")) : NULL;
	uint64_t v;

	return word && !gt_parse_u64(word, &v) ? v : 0;
}

/* Returns the GPU at a node's PCI location. The function number of a partition is its index, so it does not count. */
static struct pr_amd_gpu *find_gpu(struct pr_host *h, const char *properties)
{
	uint64_t location = number_of(properties, "location_id");
	char slot[32];

	snprintf(slot, sizeof(slot), "%04x:%02x:%02x.", (unsigned)number_of(properties, "domain") & 0xffffffff,
		 (unsigned)(location >> 8 & 0xff), (unsigned)(location >> 3 & 0x1f));
	for (size_t i = 0; i < h->amd.n; i++)
		if (gt_starts_with(h->amd.gpu[i].pci->address, slot))
			return &h->amd.gpu[i];
	return NULL;
}

/* Formats gfx_target_version: 90402 is gfx942 and 90010 is gfx90a. */
static struct pr_str gfx_of(struct pr_host *h, uint64_t v)
{
	unsigned major = (unsigned)(v / 10000 % 100), minor = (unsigned)(v / 100 % 100), step = (unsigned)(v % 100);

	return (struct pr_str){ PR_PRESENT, pr_own(h, gt_xasprintf("gfx%u%x%x", major, minor, step)) };
}

static struct pr_num access_of(struct gt_fsroot *fs, const char *path)
{
	int r = gt_fs_access(fs, path, R_OK);

	return r < 0 ? (struct pr_num){ pr_state_of(r), 0 } : pr_value(1);
}

static void add_node(struct gt_fsroot *fs, struct pr_host *h, unsigned id, struct node *ret)
{
	gt_autofree char *path = gt_xasprintf(NODES "/%u/properties", id), *text = NULL;
	int r = gt_fs_read_max(fs, path, 16384, &text, NULL);
	gt_autofree char *render = NULL;
	const char *hive;
	struct pr_amd_gpu *g;
	struct pr_num gpu_id;

	*ret = (struct node){ .id = id };
	h->amd.hidden += r < 0 && pr_state_of(r) == PR_UNREADABLE;
	if (r < 0 || !number_of(text, "gfx_target_version"))
		return;
	g = ret->gpu = find_gpu(h, text);
	if (!g)
		return;
	g->nodes = pr_value(pr_or(g->nodes, 0) + 1);
	gpu_id = pr_read_num(fs, NODES "/%u/gpu_id", id);
	h->amd.kfd = gt_xrealloc(h->amd.kfd, (h->amd.n_kfd + 1) * sizeof(*h->amd.kfd));
	if (pr_has(gpu_id))
		h->amd.kfd[h->amd.n_kfd++] = (struct pr_kfd_node){ gpu_id.v, g };
	g->gfx = gfx_of(h, number_of(text, "gfx_target_version"));
	render = gt_xasprintf("/dev/dri/renderD%u", (unsigned)number_of(text, "drm_render_minor"));
	g->render_access = access_of(fs, render);
	hive = find_value(text, "hive_id");
	g->hive = hive ? (struct pr_str){ PR_PRESENT, pr_own(h, gt_xstrndup(hive, strcspn(hive, "\n "))) } :
			 (struct pr_str){ PR_ABSENT, NULL };
}

static const struct node *node_with(const struct node *node, size_t n, uint64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (node[i].id == id)
			return &node[i];
	return NULL;
}

/* Counts the other GPUs at the end of the node's XGMI links. */
static void count_links(struct gt_fsroot *fs, const struct node *of, const struct node *node, size_t n)
{
	gt_autofree char *dir = gt_xasprintf(NODES "/%u/io_links", of->id);
	gt_auto_set ends = { 0 };
	gt_auto_strv names = { 0 };
	int r = gt_fs_list(fs, dir, &names);

	for (size_t i = 0; i < names.n && i < MOST_NODES; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s/properties", dir, names.v[i]), *text = NULL;
		const struct node *to;

		if (gt_fs_read_max(fs, path, 4096, &text, NULL) < 0 || number_of(text, "type") != XGMI)
			continue;
		to = node_with(node, n, number_of(text, "node_to"));
		if (to && to->gpu && to->gpu != of->gpu)
			gt_set_add(&ends, to->id);
	}
	of->gpu->xgmi_links = r < 0 ? (struct pr_num){ pr_state_of(r), 0 } : pr_value((int64_t)gt_set_count(&ends));
}

static void read_topology(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_strv names = { 0 };
	int r = gt_fs_list(fs, NODES, &names);
	gt_autofree struct node *node = gt_xcalloc(names.n + 1, sizeof(*node));
	size_t n = 0;
	uint64_t id;

	h->amd.topology = pr_state_of(r < 0 ? r : 0);
	for (size_t i = 0; i < names.n && n < MOST_NODES; i++)
		if (!gt_parse_u64(names.v[i], &id) && id < GT_SET_MAX)
			add_node(fs, h, (unsigned)id, &node[n++]);
	for (size_t i = 0; i < n; i++)
		if (node[i].gpu && node[i].gpu->xgmi_links.state == PR_ABSENT) /* one node of each GPU is enough */
			count_links(fs, &node[i], node, n);
}

/* Adds the counters of one block: lines "ue: 0" and "ce: 0". */
static void add_errors(struct gt_fsroot *fs, struct pr_amd_gpu *g, const char *path)
{
	gt_autofree char *text = NULL;
	int r = gt_fs_read_max(fs, path, 4096, &text, NULL);
	const char *ue = r < 0 ? NULL : strstr(text, "ue: "), *ce = r < 0 ? NULL : strstr(text, "ce: ");
	unsigned long long n;

	if (r < 0) {
		g->uncorrected = pr_has(g->uncorrected) ? g->uncorrected : (struct pr_num){ pr_state_of(r), 0 };
		return;
	}
	if (!ue || sscanf(ue, "ue: %llu", &n) != 1 || n > INT32_MAX) {
		g->uncorrected = pr_or(g->uncorrected, 0) ? g->uncorrected : (struct pr_num){ PR_BROKEN, 0 };
		return;
	}
	if (g->uncorrected.state == PR_ABSENT || pr_has(g->uncorrected))
		g->uncorrected = pr_value(pr_or(g->uncorrected, 0) + (int64_t)n);
	if (ce && sscanf(ce, "ce: %llu", &n) == 1 && n <= INT32_MAX)
		g->corrected = pr_value(pr_or(g->corrected, 0) + (int64_t)n);
}

/* Counts the lines "PAGE : SIZE : FLAG" by their flag: R retired, P pending, F failed. */
static void read_bad_pages(struct gt_fsroot *fs, struct pr_amd_gpu *g, const char *path)
{
	gt_autofree char *text = NULL;
	int r = gt_fs_read_prefix(fs, path, 1 << 20, &text, NULL);
	int64_t count[3] = { 0 };

	for (const char *at = r < 0 ? NULL : text; at && *at; at = gt_next_line(at)) {
		char flag = '\0';

		if (sscanf(at, "0x%*x : 0x%*x : %c", &flag) == 1)
			count[flag == 'R' ? 0 : flag == 'P' ? 1 : 2]++;
	}
	g->bad_pages = r < 0 ? (struct pr_num){ pr_state_of(r), 0 } : pr_value(count[0]);
	g->pending_pages = r < 0 ? g->bad_pages : pr_value(count[1]);
	g->failed_pages = r < 0 ? g->bad_pages : pr_value(count[2]);
}

static void read_ras(struct gt_fsroot *fs, struct pr_amd_gpu *g)
{
	gt_autofree char *dir = gt_xasprintf(PCI "/%s/ras", g->pci->address);
	gt_auto_strv names = { 0 };
	int r = gt_fs_list(fs, dir, &names);

	g->uncorrected.state = g->corrected.state = r < 0 ? pr_state_of(r) : PR_ABSENT;
	g->bad_pages.state = g->pending_pages.state = g->failed_pages.state = g->uncorrected.state;
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dir, names.v[i]);
		size_t len = strlen(names.v[i]), tail = strlen("_err_count");

		if (len > tail && !strcmp(names.v[i] + len - tail, "_err_count"))
			add_errors(fs, g, path);
		else if (!strcmp(names.v[i], "gpu_vram_bad_pages"))
			read_bad_pages(fs, g, path);
	}
}

/* Reads the power cap in microwatts. A suspended GPU would wake up, so it is not read. */
static void read_power(struct gt_fsroot *fs, struct pr_host *h, struct pr_amd_gpu *g)
{
	gt_autofree char *dir = gt_xasprintf(PCI "/%s/hwmon", g->pci->address);
	struct pr_str status = pr_read_str(h, fs, PCI "/%s/power/runtime_status", g->pci->address);
	gt_auto_strv names = { 0 };
	int r = gt_streq(status.v, "suspended") ? 0 : gt_fs_list(fs, dir, &names);

	g->power_cap_uw.state = g->power_default_uw.state = r < 0 ? pr_state_of(r) : PR_UNKNOWN;
	if (!names.n)
		return;
	g->power_cap_uw = pr_read_num(fs, "%s/%s/power1_cap", dir, names.v[0]);
	g->power_default_uw = pr_read_num(fs, "%s/%s/power1_cap_default", dir, names.v[0]);
}

static void read_gpu(struct gt_fsroot *fs, struct pr_host *h, struct pr_amd_gpu *g)
{
	const char *address = g->pci->address;

	g->gfx.state = g->hive.state = g->nodes.state = g->xgmi_links.state = PR_ABSENT;
	g->vram_bytes = pr_read_num(fs, PCI "/%s/mem_info_vram_total", address);
	g->compute_partition = pr_read_str(h, fs, PCI "/%s/current_compute_partition", address);
	g->memory_partition = pr_read_str(h, fs, PCI "/%s/current_memory_partition", address);
	read_ras(fs, g);
	read_power(fs, h, g);
}

void pr_discover_amd(struct gt_fsroot *fs, struct pr_host *h)
{
	const struct pr_pci *d;

	h->amd.gpu = gt_xcalloc(h->n_pci + 1, sizeof(*h->amd.gpu));
	for (size_t i = 0; (d = pr_other_gpu(h, i)); i++)
		if (d->vendor == AMD)
			h->amd.gpu[h->amd.n++].pci = d;
	if (!h->amd.n)
		return;
	for (size_t i = 0; i < h->amd.n; i++)
		read_gpu(fs, h, &h->amd.gpu[i]);
	read_topology(fs, h);
	for (size_t i = 0; i < h->amd.n && h->amd.hidden; i++)
		if (h->amd.gpu[i].gfx.state == PR_ABSENT)
			h->amd.gpu[i].gfx.state = PR_UNREADABLE;
	h->amd.kfd_access = access_of(fs, "/dev/kfd");
	h->amd.driver = pr_read_str(h, fs, "/sys/module/amdgpu/version");
	h->amd.rocm = pr_read_str(h, fs, "/opt/rocm/.info/version");
}

void pr_amd_clear(struct pr_amd *a)
{
	free(a->gpu);
	free(a->kfd);
}

const struct pr_amd_gpu *pr_amd_gpu_at(const struct pr_host *h, const struct pr_pci *d)
{
	for (size_t i = 0; i < h->amd.n; i++)
		if (h->amd.gpu[i].pci == d)
			return &h->amd.gpu[i];
	return NULL;
}

bool pr_amd_usable(const struct pr_host *h)
{
	for (size_t i = 0; i < h->amd.n; i++)
		if (h->amd.gpu[i].gfx.v)
			return true;
	return false;
}

void pr_amd_gpu_json(const struct pr_amd_gpu *g, json_t *entry)
{
	const struct {
		const char *key;
		struct pr_num v;
	} numbers[] = { { "memory_bytes", g->vram_bytes },
			{ "partitions", g->nodes },
			{ "xgmi_links", g->xgmi_links },
			{ "errors_uncorrected", g->uncorrected },
			{ "errors_corrected", g->corrected },
			{ "bad_pages", g->bad_pages },
			{ "bad_pages_pending", g->pending_pages },
			{ "bad_pages_failed", g->failed_pages },
			{ "power_cap_uw", g->power_cap_uw },
			{ "power_default_uw", g->power_default_uw } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(numbers); i++)
		json_object_set_new(entry, numbers[i].key, pr_num_json(numbers[i].v));
	json_object_set_new(entry, "gfx", pr_str_json(g->gfx));
	json_object_set_new(entry, "compute_partition", pr_str_json(g->compute_partition));
	json_object_set_new(entry, "memory_partition", pr_str_json(g->memory_partition));
}

json_t *pr_amd_json(const struct pr_amd *a)
{
	return json_pack("{s:o, s:o, s:o}", "driver", pr_str_json(a->driver), "rocm", pr_str_json(a->rocm), "kfd_access",
			 pr_num_json(a->kfd_access));
}
