/* SPDX-License-Identifier: Apache-2.0 */
/* What PCIe devices are configured to, read from their configuration space: for root only, and never written. Offsets
 * are those of the PCI Express Base Specification (linux/pci_regs.h). */
#include <linux/pci_regs.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/knob/list.h"
#include "probe/compat/costly_options.h"

#define CONFIG_MAX 4096
#define CAP_STEPS  96 /* a list that is longer is a loop */
#define MRRS_GOOD  4096

struct config {
	char *data;
	size_t len; /* 64 for those who are not root */
};

static unsigned word(const struct config *c, size_t at)
{
	return at + 2 <= c->len ? (unsigned char)c->data[at] | (unsigned)(unsigned char)c->data[at + 1] << 8 : 0;
}

static bool read_config(struct gt_fsroot *fs, const char *address, struct config *ret)
{
	gt_autofree char *path = gt_xasprintf("/sys/bus/pci/devices/%s/config", address);

	return gt_fs_read_prefix(fs, path, CONFIG_MAX, &ret->data, &ret->len) >= 0;
}

/* Offset of a capability, 0 if the device has none or may not be read that far. */
static size_t find_cap(const struct config *c, unsigned id)
{
	size_t at = word(c, PCI_CAPABILITY_LIST) & 0xfc;

	for (int i = 0; at && i < CAP_STEPS; i++) {
		unsigned head = word(c, at);

		if ((head & 0xff) == id)
			return at;
		at = head >> 8 & 0xfc;
	}
	return 0;
}

/* ---- read requests -------------------------------------------------------------------------------------------------
 */

/* Bytes that the device may ask for at once; 0: not known. */
static unsigned read_request(const struct tn_ctx *c, const char *address)
{
	struct config conf = {0};
	unsigned bytes = 0;
	size_t at;

	if (!address || !read_config(c->fs, address, &conf))
		return 0;
	at = find_cap(&conf, PCI_CAP_ID_EXP);
	if (at && at + PCI_EXP_DEVCTL + 2 <= conf.len)
		bytes = 128u << (word(&conf, at + PCI_EXP_DEVCTL) >> 12 & 7);
	free(conf.data);
	return bytes;
}

static char *look_mrrs(const struct tn_ctx *c)
{
	gt_auto_buf b = {0};

	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];
		unsigned bytes = tn_is_fast(n) || gt_starts_with(n->name, "ib") ? read_request(c, n->pci) : 0;

		if (bytes)
			gt_buf_printf(&b, "%s%s %u", b.len ? ", " : "", n->name, bytes);
	}
	return b.len ? gt_buf_take(&b) : NULL;
}

static void want_mrrs(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];
		unsigned bytes = tn_is_fast(n) || gt_starts_with(n->name, "ib") ? read_request(c, n->pci) : 0;

		if (!bytes || bytes >= MRRS_GOOD)
			continue;
		tn_leave(w, TN_ADVICE,
			 "%s asks for %u bytes at a time: better set in the firmware (PCIe maximum read request 4096); "
			 "until the next "
			 "reset: setpci -s %s CAP_EXP+8.w=5000:7000",
			 n->name, bytes, n->pci);
		return;
	}
	tn_leave(w, TN_ALREADY, "4096 bytes or more at a time");
}

const struct tn_knob tn_knob_mrrs = {
	.id = "pcie.read_request",
	.look = look_mrrs,
	.summary = "how much a fast network card asks for at once",
	.why = "A card that sends reads memory in pieces of this size and waits for each; with 512 bytes 100 Gbit/s "
	       "are hard to "
	       "reach. mlnx_tune reports less than 4096.",
	.hazard = "A wrong bit in the register hangs the device, and a reset undoes it: reported, never written.",
	.unit = "bytes",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.desired = want_mrrs,
};

/* ---- the driver's own options --------------------------------------------------------------------------------------
 */


static char *look_options(const struct tn_ctx *c)
{
	gt_autofree char *text = NULL;
	gt_auto_buf b = {0};

	if (gt_fs_read(c->fs, PR_NVIDIA_PARAMS, &text, NULL) < 0)
		return NULL;
	for (size_t i = 0; pr_driver_option(i); i++) {
		gt_autofree char *v = pr_driver_param(text, pr_driver_option(i));

		if (v && pr_driver_option_cost(pr_driver_option(i), v))
			gt_buf_printf(&b, "%s%s", b.len ? ", " : "", pr_driver_option(i));
	}
	return b.len ? gt_buf_take(&b) : gt_xstrdup("none that matters");
}

static void want_options(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	for (size_t i = 0; pr_driver_option(i); i++)
		if (gt_starts_with(now->current, pr_driver_option(i))) {
			tn_leave(
				w, TN_ADVICE,
				"NVreg_%s %s; take it out of /etc/modprobe.d (grep -rl NVreg_%s /etc/modprobe.d), then "
				"update-initramfs -u and reboot",
				pr_driver_option(i), pr_driver_option_reason(i), pr_driver_option(i));
			return;
		}
	tn_leave(w, TN_ALREADY, "the driver's own defaults, as far as they matter");
}

const struct tn_knob tn_knob_driver_options = {
	.id = "gpu.driver_options",
	.look = look_options,
	.summary = "options of NVIDIA's module that recipes hand on and that do harm",
	.why = "NVreg_EnablePCIERelaxedOrderingMode, NVreg_EnableStreamMemOPs and ForceP2P are found in scripts for "
	       "other "
	       "machines; they stay in /etc/modprobe.d for ever.",
	.hazard = "Somebody may have validated them for this platform: reported, never written.",
	.unit = "options",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.desired = want_options,
};
