/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_MACHINE_FINGERPRINT_H
#define PR_MACHINE_FINGERPRINT_H
/*
 * A fingerprint that distinguishes a machine from another one with the same hardware and software. Examples are a cloned node
 * and a container without a machine id. The identity (struct pr_host) is one value computed from data that every user can read.
 * The fingerprint has several marks, whose data need privileges or a loaded driver. Marks are compared one by one; a mark that
 * only one side has is ignored. All marks are hashes, salted with the machine id. Discovery does not read them, because a
 * capture may be published and must not contain their sources.
 */
#include "lib/buf.h"
#include "probe/host/host.h"

/*
 * Returns {machine_id, system, memory, gpus{address}, ports{address}}, each member only if it is known. Sources:
 * /etc/machine-id; the system's UUID and the memory modules by slot (both need root); the GPUs' UUIDs, known after a
 * driver initialised the GPU; the permanent addresses of network ports. The caller frees it.
 */
json_t *pr_fingerprint(struct gt_fsroot *fs, const struct pr_host *h);
/* Appends to `what` the names of the marks that both sides have and that differ, separated by commas. a and b come from
 * files: they may be NULL or have any content. */
void pr_fingerprint_difference(const json_t *a, const json_t *b, struct gt_buf *what);
/*
 * Returns whether both sides have an equal mark that is unique to a machine. If also no mark differs, both are the same
 * machine.
 */
bool pr_fingerprint_shared(const json_t *a, const json_t *b);
/* Returns the UUID of a GPU from its driver: "GPU-5ba7…". NULL: none, or unknown until a program uses the GPU. The
 * caller frees it. */
char *pr_gpu_uuid(struct gt_fsroot *fs, const struct pr_gpu *gpu);
/* Formats slot, size, type and speed of each memory module in an SMBIOS table; "" if it lists none. */
void pr_memory_modules(const unsigned char *table, size_t len, struct gt_buf *ret);
#endif
