/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCI data of devices: configuration space of a switch port ('c'), its control words as the fact of a captured host
 * ('a'), and sysfs attributes ('s'), with two GPUs below one switch. Each control word has 16 bits and an address. An
 * accepted fact is equal after writing and reading again.
 */
#include <string.h>
#include "lib/buf.h"
#include "lib/capture_write.h"
#include "probe/host/reading.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_root.h"

const unsigned fuzz_rounds = 200;

#define BUS "/sys/bus/pci/devices/"
#define UP  "pci0000:00/0000:00:01.0/0000:01:00.0/"

static const struct {
	const char *address, *above, *vendor, *class_code;
} devices[] = {
	{"0000:00:01.0", "pci0000:00/", "0x8086\n", "0x060400\n"},
	{"0000:01:00.0", "pci0000:00/0000:00:01.0/", "0x1000\n", "0x060400\n"},
	{"0000:02:00.0", UP, "0x1000\n", "0x060400\n"},
	{"0000:02:01.0", UP, "0x1000\n", "0x060400\n"},
	{"0000:03:00.0", UP "0000:02:00.0/", "0x10de\n", "0x030200\n"},
	{"0000:04:00.0", UP "0000:02:01.0/", "0x10de\n", "0x030200\n"},
};

static void attribute(struct gt_buf *b, size_t i, const char *name, const void *data, size_t size)
{
	gt_autofree char *path = gt_xasprintf("/sys/devices/%s%s/%s", devices[i].above, devices[i].address, name);

	gt_capture_file(b, path, data, size);
}

static struct gt_fsroot *host_of(char what, const void *data, size_t size)
{
	static const char *const of_kernel[] = {"device", "resource", "numa_node", "current_link_speed", "max_link_width"};
	gt_auto_buf b = {0};

	gt_buf_puts(&b, "gpuprobe-capture/1\n");
	for (size_t i = 0; i < GT_ARRAY_SIZE(devices); i++) {
		gt_buf_printf(&b, "link " BUS "%s ../../../devices/%s%s\n", devices[i].address, devices[i].above,
			      devices[i].address);
		attribute(&b, i, "vendor", devices[i].vendor, strlen(devices[i].vendor));
		attribute(&b, i, "class", devices[i].class_code, strlen(devices[i].class_code));
		if (what == 'c')
			attribute(&b, i, "config", data, size);
		for (size_t k = 0; what == 's' && k < GT_ARRAY_SIZE(of_kernel); k++)
			attribute(&b, i, of_kernel[k], data, size);
	}
	if (what == 'a')
		gt_capture_file(&b, "/.facts/acs", data, size);
	return fuzz_root(b.s, b.len);
}

/* Control words as a fact; NULL if there are none. */
static char *words_of(char what, const void *data, size_t size)
{
	gt_auto(gt_fsroot) *fs = host_of(what, data, size);
	gt_auto(pr_host) *h = gt_xcalloc(1, sizeof(*h));

	FUZZ_ASSERT(fs);
	pr_discover_pci(fs, h);
	FUZZ_ASSERT(h->n_pci == GT_ARRAY_SIZE(devices));
	pr_discover_acs(fs, h);
	FUZZ_ASSERT((int64_t)h->iommu.acs_words.n == pr_or(h->iommu.acs_ports, 0));
	FUZZ_ASSERT(h->iommu.acs_redirect.n <= h->iommu.acs_words.n);
	FUZZ_ASSERT(what != 'c' || h->iommu.acs_words.n == 0 || h->iommu.acs_words.n == 2); /* both ports or none */
	for (size_t i = 0; i < h->iommu.acs_words.n; i++) {
		const char *blank = strchr(h->iommu.acs_words.v[i], ' ');

		FUZZ_ASSERT(blank && strlen(blank + 1) == 4 && blank[1 + strspn(blank + 1, "0123456789abcdef")] == '\0');
	}
	return pr_acs_fact(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_autofree char *once = NULL, *twice = NULL;

	if (!size || !strchr("acs", data[0]) || !data[0])
		return 0;
	once = words_of((char)data[0], data + 1, size - 1);
	if (!once)
		return 0;
	twice = words_of('a', once, strlen(once));
	FUZZ_ASSERT(twice && !strcmp(once, twice));
	return 0;
}
