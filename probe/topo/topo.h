/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_TOPO_H
#define PR_TOPO_H
/*
 * gpuprobe topo: one document (gpuprobe-topo/1) made of the host, and its renderings: tables (probe/cmd/topo.c), a drawing,
 * and the file that NCCL reads. What no source tells is null in the document and "?" in the renderings; a node is never
 * guessed.
 */
#include "lib/buf.h"
#include "lib/json.h"
#include "probe/host/host.h"

/* The document; a new reference. */
json_t *pr_topo_json(const struct pr_host *h);

/* One device of the document, in the words of the PCI tree. */
struct pr_link {
	int width, max_width;    /* lanes; max: of both ends; 0: not known */
	double speed, max_speed; /* GT/s; 0: not known */
};
/* What both ends could do against what the link does. */
struct pr_link pr_link_of(const struct pr_pci *d);
/* "full", "narrow", "slow", "resting" (a GPU that may save power) or "unknown". */
const char *pr_link_state(const struct pr_link *l, bool gpu);

/* How the way over PCIe between two devices is called, in nvidia-smi's words, and what tells so. ret_from: "itself",
 * "pci tree", "numa nodes", "one node" or "unknown" (then "?" is returned). */
const char *pr_way(const struct pr_host *h, const struct pr_pci *a, const struct pr_pci *b, const char **ret_from);

/* A drawing for people: SVG, light and dark, with a title and a description for those who hear it. */
void pr_topo_svg(const json_t *doc, struct gt_buf *out);

/* What NCCL_TOPO_FILE takes; -E2BIG with a sentence where NCCL's own limits are passed. */
int pr_topo_nccl(const json_t *doc, struct gt_buf *out, struct gt_err *err);
#endif
