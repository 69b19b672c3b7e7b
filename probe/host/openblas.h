/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_OPENBLAS_H
#define PR_OPENBLAS_H
/*
 * Finds out which kernels an OpenBLAS uses. The library contains kernels for many processors ("cores") and selects one
 * when it is loaded, from a table in its code. Up to 0.3.24 a processor newer than the library gets the kernels of a
 * very old one ("Prescott": SSE3), whatever its instruction set (OpenBLAS issue 4267, and 5535 for later ones). Only
 * the library can report its selection, so it is queried. OPENBLAS_CORETYPE overrides the selection for every copy of
 * OpenBLAS in a process.
 */
#include "probe/host/host.h"

enum pr_isa { PR_ISA_UNKNOWN, PR_ISA_SSE, PR_ISA_AVX, PR_ISA_AVX2, PR_ISA_AVX512 };
const char *pr_isa_name(enum pr_isa isa);
/* Returns the instruction set of a core; unknown if it is not in the table, such as one of a later OpenBLAS. */
enum pr_isa pr_openblas_isa(const char *core);
/* Returns the nth best core for a processor with these flags (" fpu vme … "), NULL after the last. Also NULL without
 * AVX2, because the library's own choice is then near the best. */
const char *pr_openblas_fit(const char *flags, const char *vendor, size_t nth);
/* Returns whether the core lacks AVX2 although the processor has it. */
bool pr_openblas_is_old(const char *core, const char *flags, const char *vendor);

struct pr_openblas_answer {
	char core[32], version[32]; /* "SkylakeX"; "0.3.21", "" if unknown */
	bool one_target;	    /* built for one processor: it has no choice of cores */
};
/* Loads the library in a child without privileges and queries it, with OPENBLAS_CORETYPE set to coretype (NULL: unset).
 * Returns -ENOSYS: not an OpenBLAS with these functions; -EPERM: not trusted for root; -ENOEXEC: it cannot be loaded;
 * -ETIMEDOUT, -EIO: it hangs, crashes or prints garbage. The sentence begins with the path. */
int pr_openblas_query(struct gt_fsroot *live, const char *path, const char *coretype, struct pr_openblas_answer *ret,
		      struct gt_err *err);
#endif
