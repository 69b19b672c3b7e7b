/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_OMP_SPIN_H
#define BN_OMP_SPIN_H
#include "lib/util.h"

/* Stores the arguments of main(). Call before anything else. */
void bn_omp_spin_begin(char **argv);
/* Executes this program again with limited spinning, unless the user has configured OpenMP's waiting. Returns if there
 * is nothing to do. Call it first in a command that trains in this process. Other commands must not call it, because
 * measured programs would inherit the limit. */
void bn_omp_spin_bound(void);
/* Returns the current setting and its origin for the report; the caller frees it. */
char *bn_omp_spin_text(void);
#endif
