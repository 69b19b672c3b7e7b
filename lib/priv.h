/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_PRIV_H
#define GT_PRIV_H
/* Detects execution with borrowed privileges (setuid, setgid, file capabilities), and drops capabilities that the
 * process does not need. */
#include <stdbool.h>
#include <stdint.h>

#define GT_CAP(cap) (UINT64_C(1) << (cap)) /* bit of a capability of <linux/capability.h> */

/* Returns true if the program has more privileges than its caller: setuid, setgid, or file capabilities. */
bool gt_priv_borrowed(void);
/* Restricts this process and its children to these capabilities and sets no_new_privs. Never adds a capability. Returns
 * 0 or a negative errno. */
int gt_priv_keep(uint64_t caps);
#endif
