/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_KERNELS_H
#define TN_KERNELS_H
#include "probe/host/openblas.h"
#include "tune/launch/context.h"

/* pr_openblas_query, but what a file has said once on this processor is kept: loading it takes longer than all else that a launch
 * does. Only answers are kept, not failures. */
int tn_kernels_ask(const struct tn_launch *c, const char *path, const char *coretype, struct pr_openblas_answer *ret,
		   struct gt_err *err);
#endif
