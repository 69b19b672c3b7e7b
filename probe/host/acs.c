/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access Control Services (ACS) of the PCIe switch ports above GPUs and network cards. The control word determines
 * whether packets between the devices go through the root complex. It is in the extended configuration space, which
 * only root can read; other users get the same information from the IOMMU groups (fabric.c). A captured host has the
 * words as the fact "acs", one "ADDRESS WORD" per line, because the configuration space also contains serial numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/host/reading.h"

#define CONFIG_SIZE    4096
#define FIRST_EXTENDED 0x100
#define ACS_ID         0x000d
#define MOST_CAPS      96
/* P2P request redirect, P2P completion redirect, upstream forwarding (PCIe base specification, 7.7.11) */
#define REDIRECTS 0x001c

static unsigned word(const unsigned char *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

/* Returns the control word; -ENOENT: the port has no such capability; -EACCES: only the first part of the space is readable. */
static int control_of(const unsigned char *config, size_t n)
{
	size_t at = FIRST_EXTENDED;

	if (n <= FIRST_EXTENDED)
		return -EACCES;
	for (unsigned i = 0; i < MOST_CAPS && at >= FIRST_EXTENDED && at + 8 <= n; i++) {
		if (word(config + at) == ACS_ID)
			return (int)word(config + at + 6);
		at = word(config + at + 2) >> 4;
	}
	return -ENOENT;
}

static int read_control(struct gt_fsroot *fs, const char *address)
{
	gt_autofree char *path = gt_xasprintf("/sys/bus/pci/devices/%s/config", address);
	gt_autofree unsigned char *config = gt_xcalloc(1, CONFIG_SIZE);
	gt_autoclose int fd = gt_fs_open_part(fs, path);
	ssize_t n = fd < 0 ? -1 : pread(fd, config, CONFIG_SIZE, 0);

	return fd < 0 ? fd : n < 0 ? -errno : control_of(config, (size_t)n);
}

static bool is_below(const struct pr_pci *d, const char *path, size_t n)
{
	return !strncmp(d->path, path, n) && d->path[n] == '/';
}

/* Returns true for a bridge below a bridge that has two peers below it: a switch port between which packets can go directly. */
static bool is_switch_port(const struct pr_host *h, const struct pr_pci *d)
{
	const char *last = strrchr(d->path, '/'), *up = last;
	size_t here = 0, all = 0;

	if (d->class_code >> 8 != 0x0604 || !last || !gt_starts_with(d->path, "/sys/devices/pci"))
		return false;
	while (up > d->path && up[-1] != '/')
		up--;
	if (gt_starts_with(up, "pci")) /* a root port: traffic between root ports always goes through the root complex */
		return false;
	for (size_t i = 0; i < h->n_pci; i++) {
		here += pr_is_peer(&h->pci[i]) && is_below(&h->pci[i], d->path, strlen(d->path));
		all += pr_is_peer(&h->pci[i]) && is_below(&h->pci[i], d->path, (size_t)(last - d->path));
	}
	return here && all > here;
}

static void take(struct pr_host *h, const char *address, unsigned control)
{
	h->iommu.acs_ports = pr_value(pr_or(h->iommu.acs_ports, 0) + 1);
	gt_strv_take(&h->iommu.acs_words, gt_xasprintf("%s %04x", address, control));
	if (control & REDIRECTS)
		gt_strv_add(&h->iommu.acs_redirect, address);
}

static void take_fact(struct pr_host *h, const char *text)
{
	char address[32], digits[5];
	int used;

	/* reads only digits: %x would accept a sign and return more than 16 bits */
	for (; sscanf(text, "%31s %4[0-9a-f]%n", address, digits, &used) == 2; text += used)
		if (!address[strspn(address, "0123456789abcdef:.")])
			take(h, address, (unsigned)strtoul(digits, NULL, 16));
}

void pr_discover_acs(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *fact = NULL;

	h->iommu.acs_ports.state = PR_ABSENT;
	if (gt_fs_fact(fs, "acs", &fact, NULL) >= 0) {
		take_fact(h, fact);
		return;
	}
	for (size_t i = 0; i < h->n_pci; i++) {
		int control = is_switch_port(h, &h->pci[i]) ? read_control(fs, h->pci[i].address) : -ENOENT;

		if (control >= 0)
			take(h, h->pci[i].address, (unsigned)control);
		else if (control != -ENOENT && !pr_has(h->iommu.acs_ports))
			h->iommu.acs_ports.state = pr_state_of(control);
	}
}

char *pr_acs_fact(const struct pr_host *h)
{
	struct gt_buf b = {0};

	for (size_t i = 0; i < h->iommu.acs_words.n; i++)
		gt_buf_printf(&b, "%s\n", h->iommu.acs_words.v[i]);
	return b.len ? gt_buf_take(&b) : NULL;
}
