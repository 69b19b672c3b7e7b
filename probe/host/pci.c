/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/host/reading.h"

#define PCI	"/sys/bus/pci/devices"
#define AMD	0x1002
#define AMD_CPU 0x1022
#define INTEL	0x8086
#define HABANA	0x1da3

static unsigned read_hex(struct gt_fsroot *fs, const char *address, const char *what)
{
	gt_autofree char *path = gt_xasprintf(PCI "/%s/%s", address, what), *line = NULL;
	uint64_t v;

	return gt_fs_read_line(fs, path, &line) >= 0 && !gt_parse_hex(line, &v) && v <= UINT32_MAX ? (unsigned)v : 0;
}

/* Returns whether this user lacks permission to read the device. */
static bool is_hidden(struct gt_fsroot *fs, const char *address)
{
	gt_autofree char *path = gt_xasprintf(PCI "/%s/vendor", address), *line = NULL;
	int r = gt_fs_read_line(fs, path, &line);

	return r < 0 && pr_state_of(r) == PR_UNREADABLE;
}

/* Returns the name of the bound driver; absent if there is none. */
static struct pr_str read_driver(struct gt_fsroot *fs, struct pr_host *h, const char *address)
{
	gt_autofree char *path = gt_xasprintf(PCI "/%s/driver", address), *target = NULL;
	int r = gt_fs_readlink(fs, path, &target);

	if (r < 0)
		return (struct pr_str){ pr_state_of(r), NULL };
	return pr_text(h, gt_basename(target));
}

static struct pr_num read_group(struct gt_fsroot *fs, const char *address)
{
	gt_autofree char *path = gt_xasprintf(PCI "/%s/iommu_group", address), *target = NULL;
	int r = gt_fs_readlink(fs, path, &target);
	int64_t v;

	if (r < 0)
		return (struct pr_num){ pr_state_of(r), 0 };
	return gt_parse_i64(gt_basename(target), &v) < 0 ? (struct pr_num){ PR_BROKEN, 0 } : pr_value(v);
}

/*
 * Reads the size of the window (BAR1) that maps the GPU's memory: line 2 of "resource", "START END FLAGS" in
 * hexadecimal.
 */
static struct pr_num read_bar1(struct gt_fsroot *fs, const char *address)
{
	gt_autofree char *path = gt_xasprintf(PCI "/%s/resource", address), *text = NULL;
	unsigned long long start = 0, end = 0;
	int r = gt_fs_read_prefix(fs, path, 8192, &text, NULL);
	const char *line = r < 0 ? NULL : strchr(text, '\n');

	if (r < 0)
		return (struct pr_num){ pr_state_of(r), 0 };
	if (!line || sscanf(line + 1, "0x%llx 0x%llx", &start, &end) != 2)
		return (struct pr_num){ PR_BROKEN, 0 };
	return end > start && end - start < INT64_MAX ? pr_value((int64_t)(end - start) + 1) : (struct pr_num){ PR_ABSENT, 0 };
}

/* Reads the CPUs next to a device: a list, or before Linux 2.6.28 a mask. */
static struct pr_str read_local_cpus(struct gt_fsroot *fs, struct pr_host *h, const char *address)
{
	struct pr_str list = pr_read_str(h, fs, PCI "/%s/local_cpulist", address), mask;
	gt_auto_set cpus = { 0 };

	if (list.state != PR_ABSENT)
		return list;
	mask = pr_read_str(h, fs, PCI "/%s/local_cpus", address);
	if (mask.v && gt_parse_cpumask(mask.v, &cpus) >= 0)
		return (struct pr_str){ PR_PRESENT, pr_own(h, gt_set_format(&cpus)) };
	return mask.v ? list : mask;
}

static void read_device(struct gt_fsroot *fs, struct pr_host *h, struct pr_pci *d)
{
	gt_autofree char *link = gt_xasprintf(PCI "/%s", d->address), *physical = gt_xasprintf("%s/physfn", link);
	char *real = NULL;

	d->device = read_hex(fs, d->address, "device");
	d->driver = read_driver(fs, h, d->address);
	d->numa_node = pr_read_node(fs, PCI "/%s/numa_node", d->address);
	d->local_cpulist = read_local_cpus(fs, h, d->address);
	d->link_speed = pr_read_str(h, fs, PCI "/%s/current_link_speed", d->address);
	d->max_link_speed = pr_read_str(h, fs, PCI "/%s/max_link_speed", d->address);
	d->link_width = pr_read_num(fs, PCI "/%s/current_link_width", d->address);
	d->max_link_width = pr_read_num(fs, PCI "/%s/max_link_width", d->address);
	d->virtual_function = gt_fs_exists(fs, physical);
	d->iommu_group = read_group(fs, d->address);
	d->bar1_bytes.state = PR_ABSENT;
	if (d->vendor == 0x10de && d->class_code >> 16 == 3)
		d->bar1_bytes = read_bar1(fs, d->address);
	if (gt_fs_realpath(fs, link, &real) >= 0) {
		gt_autofree char *parent = gt_dirname(real);

		d->path = pr_own(h, real);
		d->parent_max_width = pr_read_num(fs, "%s/max_link_width", parent);
		d->parent_max_speed = pr_read_str(h, fs, "%s/max_link_speed", parent);
	} else {
		d->path = "";
	}
}

/* Returns true for VGA, 3D and other display controllers of NVIDIA. */
static bool is_nvidia_gpu(const struct pr_pci *d)
{
	return d->vendor == 0x10de && d->class_code >> 16 == 3;
}

bool pr_is_network(const struct pr_pci *d)
{
	unsigned type = d->class_code >> 8;

	return type == 0x0200 || (type == 0x0280 && d->vendor == 0x15b3);
}

bool pr_is_peer(const struct pr_pci *d)
{
	return is_nvidia_gpu(d) || (d->other_gpu && d->vendor == AMD) || d->class_code >> 8 == 0x0207 ||
	       (pr_is_network(d) && d->vendor == 0x15b3);
}

/* A GPU inside an AMD processor shares its slot with other functions of the processor. */
static bool shares_amd_slot(struct gt_fsroot *fs, const char *address)
{
	gt_autofree char *other = gt_xstrdup(address);

	for (char f = '1'; f <= '7'; f++) {
		other[strlen(other) - 1] = f;
		if (read_hex(fs, other, "vendor") == AMD_CPU)
			return true;
	}
	return false;
}

/* Returns true for display controllers and processing accelerators of AMD and Intel. Excludes GPUs inside a processor,
 * graphics of old server boards (driver radeon, or VGA without a driver), FPGAs, and devices reserved for virtual
 * machines. */
static bool is_other_gpu(struct gt_fsroot *fs, const struct pr_pci *d)
{
	unsigned base = d->class_code >> 16;
	bool vga = d->class_code >> 8 == 0x0300, intel_driver = gt_streq(d->driver.v, "i915") || gt_streq(d->driver.v, "xe");

	if ((base != 3 && base != 0x12) || d->virtual_function || gt_streq(d->driver.v, "vfio-pci"))
		return false;
	if (d->vendor == AMD)
		return (gt_streq(d->driver.v, "amdgpu") || (!d->driver.v && !vga)) && !shares_amd_slot(fs, d->address);
	if (d->vendor == INTEL) /* bus 0 belongs to the processor */
		return !gt_starts_with(d->address, "0000:00:") && (intel_driver || (!d->driver.v && base == 3));
	return d->vendor == HABANA && base == 0x12;
}

const struct pr_pci *pr_other_gpu(const struct pr_host *h, size_t nth)
{
	for (size_t i = 0; i < h->n_pci; i++)
		if (h->pci[i].other_gpu && nth-- == 0)
			return &h->pci[i];
	return NULL;
}

const char *pr_gpu_maker(const struct pr_pci *d)
{
	return d->vendor == AMD ? "AMD" : d->vendor == INTEL || d->vendor == HABANA ? "Intel" : "NVIDIA";
}

static void read_all(struct gt_fsroot *fs, struct pr_host *h, bool only_gpus)
{
	gt_auto_strv names = { 0 };

	int r = gt_fs_list(fs, PCI, &names);

	if (r < 0) {
		h->pci_unreadable = pr_state_of(r) == PR_UNREADABLE;
		return;
	}
	gt_strv_sort_bytes(&names); /* addresses are hexadecimal */
	h->pci = gt_xcalloc(names.n, sizeof(*h->pci));
	h->gpu = gt_xcalloc(names.n, sizeof(*h->gpu));
	for (size_t i = 0; i < names.n; i++) {
		struct pr_pci *d = &h->pci[h->n_pci];

		*d = (struct pr_pci){ .address = pr_keep(h, names.v[i]), .vendor = read_hex(fs, names.v[i], "vendor") };
		h->pci_unreadable += !d->vendor && is_hidden(fs, d->address);
		if (only_gpus && d->vendor != 0x10de && d->vendor != AMD && d->vendor != INTEL && d->vendor != HABANA)
			continue;
		d->class_code = read_hex(fs, d->address, "class");
		if (only_gpus && d->class_code >> 16 != 3 && d->class_code >> 16 != 0x12)
			continue;
		h->n_pci++;
		read_device(fs, h, d);
		d->other_gpu = is_other_gpu(fs, d);
		if (is_nvidia_gpu(d))
			h->gpu[h->n_gpu++].pci = d;
	}
}

void pr_discover_pci(struct gt_fsroot *fs, struct pr_host *h)
{
	read_all(fs, h, false);
}

void pr_launch_pci(struct gt_fsroot *fs, struct pr_host *h)
{
	read_all(fs, h, true);
}
