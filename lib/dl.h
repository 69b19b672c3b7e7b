/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_DL_H
#define GT_DL_H
/* Opens vendor libraries at run time and stores their functions in a struct that one table describes. */
#include "lib/err.h"

struct gt_dlsym {
	const char *name, *fallback; /* fallback: older name of the same function, or NULL */
	size_t offset;		     /* offset of the function pointer in the struct */
	bool optional;
};
#define GT_DLSYM(type, member, sym)	{ .name = #sym, .offset = offsetof(struct type, member) }
#define GT_DLSYM_OPT(type, member, sym)	{ .name = #sym, .offset = offsetof(struct type, member), .optional = true }

/* Opens the first library of `names` (NULL-terminated) that can be loaded and fills `table`. *ret_handle is for
 * dlclose(), which does not unload the library (RTLD_NODELETE). */
int gt_dl_open(const char *const *names, const struct gt_dlsym *syms, size_t n_syms, void *table, void **ret_handle,
	       struct gt_err *err);
#endif
