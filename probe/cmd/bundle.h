/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_BUNDLE_H
#define PR_BUNDLE_H
#include "lib/buf.h"
#include "lib/err.h"

/* Appends the support bundle (.tar.gz) for a scrubbed capture to ret. */
int pr_bundle(const struct gt_buf *capture, struct gt_buf *ret, struct gt_err *err);
#endif
