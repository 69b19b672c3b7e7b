/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_CUDA_H
#define PR_CUDA_H
/* The return code of CUDA's initialisation. */
#include "lib/fsroot.h"
#include "probe/host/value.h"

struct pr_host;

struct pr_cuda {
	struct pr_num init; /* return code of cuInit; unknown: not called (option --cuda) */
	const char *text;   /* error text for the code, NULL if there is none */
};

void pr_discover_cuda(struct gt_fsroot *fs, struct pr_host *h, double timeout_s);
/* Returns the result as the fact "cuda"; NULL if CUDA was not initialised. The caller frees it. */
char *pr_cuda_fact(const struct pr_host *h);
#endif
