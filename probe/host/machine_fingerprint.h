/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_MARKS_H
#define PR_MARKS_H
/*
 * What tells a machine from another one that is built and installed alike: a cloned node, or a container without a machine id.
 * The identity (struct pr_host) is of what everybody may read and is one word; marks are of what some may not read, or not
 * always, so that they are compared one by one, and what only one side knows says nothing. All are hashes with the machine id
 * as salt. They are no part of discovery: a capture, which anybody may be given, must not hold what they are made of.
 */
#include "lib/buf.h"
#include "probe/host/host.h"

/*
 * {machine_id, system, memory, gpus{address}, ports{address}}, each only where it is known: /etc/machine-id; the system's UUID
 * and what memory sits in which slot (both for root alone); the GPUs' UUIDs once a driver knows them; the network ports' own
 * addresses. The caller frees it.
 */
json_t *pr_fingerprint(struct gt_fsroot *fs, const struct pr_host *h);
/* Marks that both know and that are not the same are added to what, separated by commas. Anything may stand in a and b, NULL
 * included: they come from files. */
void pr_fingerprint_difference(const json_t *a, const json_t *b, struct gt_buf *what);
/* Do both know a mark that no two machines should share, and is it the same? Then they are one machine if none differs. */
bool pr_fingerprint_shared(const json_t *a, const json_t *b);
/* The UUID of a GPU as its driver has it: "GPU-5ba7…"; NULL: none, or not known before something uses the GPU. To be freed. */
char *pr_gpu_uuid(struct gt_fsroot *fs, const struct pr_gpu *gpu);
/* Slot, size, type and speed of each memory module in an SMBIOS table, as text; "" if it names none. */
void pr_memory_modules(const unsigned char *table, size_t len, struct gt_buf *ret);
#endif
