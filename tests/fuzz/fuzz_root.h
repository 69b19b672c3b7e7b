/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FUZZ_ROOT_H
#define GT_FUZZ_ROOT_H
/* For targets that need a host: one made of a capture's text. NULL if the text is refused, which must come with a
 * sentence. Nothing but the private directory of the root may appear. The caller closes it. */
#include "lib/fsroot.h"

struct gt_fsroot *fuzz_root(const void *text, size_t len);
#endif
