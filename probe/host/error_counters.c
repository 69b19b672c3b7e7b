/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the kernel's counters of memory errors (EDAC) and PCIe errors (AER). */
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/host/reading.h"

#define EDAC "/sys/devices/system/edac/mc"
#define PCI  "/sys/bus/pci/devices"
#define MOST 64 /* maximum number of memory modules, and of devices, with errors */

static bool is_not_zero(struct pr_num n)
{
	return pr_or(n, 0) > 0;
}

static void add_memory(struct gt_fsroot *fs, struct pr_host *h, const char *dir, const char *label, const char *prefix)
{
	struct pr_error_counters *c = &h->errors;
	struct pr_memory_errors m = {.label = label,
				     .corrected = pr_read_num(fs, "%s/%sce_count", dir, prefix),
				     .uncorrected = pr_read_num(fs, "%s/%sue_count", dir, prefix)};

	if (c->n_memory < MOST && (is_not_zero(m.corrected) || is_not_zero(m.uncorrected)))
		c->memory[c->n_memory++] = m;
}

/* Reads the modules of a controller whose own counters are not zero. */
static void read_controller(struct gt_fsroot *fs, struct pr_host *h, const char *name)
{
	gt_autofree char *dir = gt_xasprintf(EDAC "/%s", name);
	gt_auto_strv names = {0};
	size_t before = h->errors.n_memory;
	struct pr_num age = pr_read_num(fs, "%s/seconds_since_reset", dir);

	if (pr_has(age))
		h->errors.memory_s = pr_value(GT_MAX(age.v, pr_or(h->errors.memory_s, 0)));
	if (!is_not_zero(pr_read_num(fs, "%s/ce_count", dir)) && !is_not_zero(pr_read_num(fs, "%s/ue_count", dir)))
		return;
	gt_fs_list(fs, dir, &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *module = gt_xasprintf("%s/%s", dir, names.v[i]);
		struct pr_str label;

		if (!gt_starts_with(names.v[i], "dimm") && !gt_starts_with(names.v[i], "rank"))
			continue;
		label = pr_read_str(h, fs, "%s/dimm_label", module);
		if (!label.v || !*label.v)
			label.v = pr_own(h, gt_xasprintf("%s/%s", name, names.v[i]));
		add_memory(fs, h, module, label.v, "dimm_");
	}
	if (h->errors.n_memory == before)
		add_memory(fs, h, dir, pr_keep(h, name), "");
}

static void read_memory(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_strv names = {0};

	h->errors.memory_s.state = PR_ABSENT;
	h->errors.memory = gt_xcalloc(MOST, sizeof(*h->errors.memory));
	gt_fs_list(fs, EDAC, &names);
	for (size_t i = 0; i < names.n; i++)
		if (gt_starts_with(names.v[i], "mc"))
			read_controller(fs, h, names.v[i]);
}

/* Reads the last line of a counter file: "TOTAL_ERR_COR 3". */
static struct pr_num read_total(struct gt_fsroot *fs, const char *dir, const char *kind)
{
	gt_autofree char *path = gt_xasprintf("%s/aer_dev_%s", dir, kind), *text = NULL;
	int r = gt_fs_read_max(fs, path, 4096, &text, NULL);
	const char *total = r < 0 ? NULL : strstr(text, "TOTAL_ERR_");
	unsigned long long n;

	if (r < 0)
		return (struct pr_num){pr_state_of(r), 0};
	return total && sscanf(total, "%*s %llu", &n) == 1 && n < INT64_MAX ? pr_value((int64_t)n) : (struct pr_num){PR_BROKEN, 0};
}

static void add_device(struct gt_fsroot *fs, struct pr_host *h, const char *dir, const char *address)
{
	struct pr_error_counters *c = &h->errors;
	struct pr_pcie_errors e = {.address = address, .corrected = read_total(fs, dir, "correctable")};

	for (size_t i = 0; i < c->n_pcie; i++)
		if (!strcmp(c->pcie[i].address, address))
			return;
	if (e.corrected.state == PR_ABSENT) /* no AER */
		return;
	e.nonfatal = read_total(fs, dir, "nonfatal");
	e.fatal = read_total(fs, dir, "fatal");
	if (c->n_pcie < MOST && (is_not_zero(e.corrected) || is_not_zero(e.nonfatal) || is_not_zero(e.fatal)))
		c->pcie[c->n_pcie++] = e;
}

/* GPUs, accelerators, network adapters and NVMe disks. */
static bool matters(const struct pr_pci *d)
{
	unsigned base = d->class_code >> 16;

	return !d->virtual_function && (base == 3 || base == 0x12 || base == 2 || d->class_code >> 8 == 0x0108);
}

static void read_pcie(struct gt_fsroot *fs, struct pr_host *h)
{
	h->errors.pcie = gt_xcalloc(MOST, sizeof(*h->errors.pcie));
	for (size_t i = 0; i < h->n_pci; i++) {
		const struct pr_pci *d = &h->pci[i];
		gt_autofree char *dir = gt_xasprintf(PCI "/%s", d->address), *above = gt_dirname(d->path);
		const char *port = gt_basename(above);

		if (!matters(d))
			continue;
		add_device(fs, h, dir, d->address);
		if (strlen(port) == strlen(d->address) && strchr(port, '.')) /* not the root "pci0000:16" */
			add_device(fs, h, above, pr_keep(h, port));
	}
}

void pr_discover_error_counters(struct gt_fsroot *fs, struct pr_host *h)
{
	struct pr_str uptime = pr_read_str(h, fs, "/proc/uptime");
	double seconds;

	h->errors.uptime_s.state = uptime.state;
	if (uptime.v && sscanf(uptime.v, "%lf", &seconds) == 1 && seconds >= 0 && seconds < 1e12)
		h->errors.uptime_s = pr_value((int64_t)seconds);
	read_memory(fs, h);
	read_pcie(fs, h);
}

void pr_error_counters_clear(struct pr_error_counters *c)
{
	free(c->memory);
	free(c->pcie);
}

json_t *pr_error_counters_json(const struct pr_error_counters *c)
{
	json_t *memory = json_array(), *pcie = json_array();

	for (size_t i = 0; i < c->n_memory; i++)
		json_array_append_new(memory, json_pack("{s:o, s:o, s:o}", "label", gt_json_str(c->memory[i].label), "corrected",
							pr_num_json(c->memory[i].corrected), "uncorrected",
							pr_num_json(c->memory[i].uncorrected)));
	for (size_t i = 0; i < c->n_pcie; i++)
		json_array_append_new(pcie, json_pack("{s:s, s:o, s:o, s:o}", "address", c->pcie[i].address, "corrected",
						      pr_num_json(c->pcie[i].corrected), "nonfatal",
						      pr_num_json(c->pcie[i].nonfatal), "fatal", pr_num_json(c->pcie[i].fatal)));
	return json_pack("{s:o, s:o}", "memory", memory, "pcie", pcie);
}
