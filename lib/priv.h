/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_PRIV_H
#define GT_PRIV_H
/* Privileges: what whoever started us does not have we do not want, and what we do not need we give away. */
#include <stdbool.h>
#include <stdint.h>

#define GT_CAP(cap) (UINT64_C(1) << (cap)) /* of <linux/capability.h> */

/* Was this program given more than whoever started it has: setuid, setgid, or capabilities of its file? */
bool gt_priv_borrowed(void);
/* For the rest of this process and all that it starts: none but these capabilities, and no program that it starts gets
 * any back. 0 or a negative errno; what is held already is never more than before. */
int gt_priv_keep(uint64_t caps);
#endif
