/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FUZZ_ROOT_H
#define GT_FUZZ_ROOT_H
/*
 * Makes a host of a capture's text. Returns NULL if the text is rejected, which must leave a message. Creates files only
 * in the private directory of the root. The caller closes it.
 */
#include "lib/fsroot.h"

struct gt_fsroot *fuzz_root(const void *text, size_t len);
#endif
