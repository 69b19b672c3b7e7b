/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_OMP_SPIN_H
#define BN_OMP_SPIN_H
#include "lib/util.h"

/* main's own arguments, before anything else. */
void bn_omp_spin_begin(char **argv);
/* Unless the user has said how OpenMP is to wait, start this program again with its spinning bounded. Returns if there is
 * nothing to do. First thing in a command that trains in this process; no other: programs that are measured would inherit it. */
void bn_omp_spin_bound(void);
/* For the report: what holds and who said so; to be freed. */
char *bn_omp_spin_text(void);
#endif
