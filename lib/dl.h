/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_DL_H
#define GT_DL_H
/* Vendor libraries are opened at run time and their functions filled into a struct by one table. */
#include "lib/err.h"

struct gt_dlsym {
	const char *name, *fallback; /* fallback: an older name of the same call, or NULL */
	size_t offset;		     /* where in the struct the pointer goes */
	bool optional;
};
#define GT_DLSYM(type, member, sym)	{ .name = #sym, .offset = offsetof(struct type, member) }
#define GT_DLSYM_OPT(type, member, sym)	{ .name = #sym, .offset = offsetof(struct type, member), .optional = true }

/* Open the first of `names` (NULL-terminated) that loads and fill `table`. *ret_handle is for dlclose, which leaves the
 * library where it is. */
int gt_dl_open(const char *const *names, const struct gt_dlsym *syms, size_t n_syms, void *table, void **ret_handle,
	       struct gt_err *err);
#endif
