/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_OPENBLAS_H
#define PR_OPENBLAS_H
/*
 * Which kernels an OpenBLAS computes with. It holds those of many processors ("cores") and chooses when it is loaded, by a table
 * of processors in its code. Up to 0.3.24 one that is newer than the library gets those of a very old one ("Prescott": SSE3),
 * whatever its instruction set allows (OpenBLAS issue 4267, and 5535 for later ones). What it has chosen only the library itself
 * can tell, so it is asked. OPENBLAS_CORETYPE overrules the choice, of every copy of OpenBLAS in a process.
 */
#include "probe/host/host.h"

enum pr_isa { PR_ISA_UNKNOWN, PR_ISA_SSE, PR_ISA_AVX, PR_ISA_AVX2, PR_ISA_AVX512 };
const char *pr_isa_name(enum pr_isa isa);
/* What the kernels of a core use; unknown for one that is not in our table, such as one of a later OpenBLAS. */
enum pr_isa pr_openblas_isa(const char *core);
/* The nth best core for a processor with these flags (" fpu vme … "), NULL behind the last and where it has no AVX2: then no
 * choice of the library's is far from the best. */
const char *pr_openblas_fit(const char *flags, const char *vendor, size_t nth);
/* Are these the kernels of a processor much older than one with these flags: without AVX2 where that is there? */
bool pr_openblas_is_old(const char *core, const char *flags, const char *vendor);

struct pr_openblas_answer {
	char core[32], version[32]; /* "SkylakeX"; "0.3.21", "" if it does not say */
	bool one_target;	    /* built for one processor: there is no choice */
};
/* Load the library into a child without privileges and ask, with OPENBLAS_CORETYPE as told (NULL: not set). -ENOSYS: no OpenBLAS
 * that can tell; -EPERM: root does not load it; -ENOEXEC: it does not load; -ETIMEDOUT, -EIO: it hangs, dies or talks nonsense. The
 * sentence begins with the path. */
int pr_openblas_ask(struct gt_fsroot *live, const char *path, const char *coretype, struct pr_openblas_answer *ret,
		    struct gt_err *err);
#endif
