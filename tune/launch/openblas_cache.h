/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_OPENBLAS_CACHE_H
#define TN_OPENBLAS_CACHE_H
#include "probe/host/openblas.h"
#include "tune/launch/context.h"

/*
 * Like pr_openblas_query(), with a cache per library file and processor. Loading the library takes longer than the rest
 * of a launch. Failures are not cached.
 */
int tn_openblas_ask(const struct tn_launch *c, const char *path, const char *coretype, struct pr_openblas_answer *ret,
		    struct gt_err *err);
#endif
