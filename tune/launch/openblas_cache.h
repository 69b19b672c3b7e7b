/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_OPENBLAS_CACHE_H
#define TN_OPENBLAS_CACHE_H
#include "probe/host/openblas.h"
#include "tune/launch/context.h"

/* Like pr_openblas_query(), with a cache per file and processor: loading the library takes longer than the rest of a
 * launch. Only answers are cached, not failures. */
int tn_openblas_ask(const struct tn_launch *c, const char *path, const char *coretype, struct pr_openblas_answer *ret,
		    struct gt_err *err);
#endif
