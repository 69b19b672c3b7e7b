/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_TOPO_H
#define PR_TOPO_H
/*
 * gpuprobe topo: one document (gpuprobe-topo/1) generated from the host model, and its renderings: tables
 * (probe/cmd/topo.c), a drawing, and NCCL's topology file. Unknown values are null in the document and "?" in the
 * renderings. A NUMA node is never guessed.
 */
#include "lib/buf.h"
#include "lib/json.h"
#include "probe/host/host.h"

/* Returns the document as a new reference. */
json_t *pr_topo_json(const struct pr_host *h);

/* PCIe link of one device. */
struct pr_link {
	int width, max_width;    /* lanes; max: supported by both ends; 0: unknown */
	double speed, max_speed; /* GT/s; max: supported by both ends; 0: unknown */
};
/* Returns the capability of both ends and the current state of the link. */
struct pr_link pr_link_of(const struct pr_pci *d);
/* Returns "full", "narrow", "slow", "resting" (a GPU that may be saving power) or "unknown". */
const char *pr_link_state(const struct pr_link *l, bool gpu);

/* Returns the path over PCIe between two devices in nvidia-smi's terms, and its source. *ret_from: "itself", "pci
 * tree", "numa nodes", "one node" or "unknown" (the result is then "?"). */
const char *pr_pcie_path(const struct pr_host *h, const struct pr_pci *a, const struct pr_pci *b, const char **ret_from);

/* Returns the name of the GPU whose memory is this node: "GPU0"; NULL: none. */
const char *pr_topo_memory_of(const json_t *doc, int64_t node);
/* Formats the NVLink-C2C links of a device: "10 C2C links, 447 GB/s", or with the links that are down; "" if there are none. */
const char *pr_topo_c2c_text(const json_t *device, char *buf, size_t size);

/* Draws an SVG with light and dark colours, and with a title and a description for screen readers. */
void pr_topo_svg(const json_t *doc, struct gt_buf *out);

/* Writes the file for NCCL_TOPO_FILE. Returns -E2BIG with a sentence if the host exceeds NCCL's limits. */
int pr_topo_nccl(const json_t *doc, struct gt_buf *out, struct gt_err *err);
#endif
