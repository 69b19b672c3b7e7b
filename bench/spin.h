/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SPIN_H
#define BN_SPIN_H
#include "lib/util.h"

/* Unless the user has said how OpenMP is to wait, start this program again with its spinning bounded. Returns if there is
 * nothing to do. To be called first in main. */
void bn_spin_bound(char **argv);
/* For the report: what holds and who said so; to be freed. */
char *bn_spin_text(void);
#endif
