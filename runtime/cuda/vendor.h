/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_VENDOR_H
#define RT_CUDA_VENDOR_H
/* NVIDIA's libraries beside the driver, wherever this host has them. */
#include "lib/dl.h"

struct rt_vendor {
	const char *const *names; /* of files, the best first; NULL behind the last */
	const struct gt_dlsym *syms;
	size_t n_syms;
	void *table; /* what syms fill */
	/* 0, or why not this one, whose functions are in table; may be NULL: any will do. The one that is
	 * taken is asked last, and here. */
	int (*suits)(void *arg, struct gt_err *err);
	void *arg;
	/* It is made of several files that find each other by name: one that was asked and refused would lend its own to the next.
	 * `suits` then judges in a child first, and what does not suit is never loaded here. */
	bool apart;
};
/*
 * Open the first of the names that loads and suits, each: as the loader finds it, in the toolkit ($CUDA_HOME, /usr/local/cuda),
 * or in the Python environment in use ($VIRTUAL_ENV, or that of python3 on PATH): among its wheels or, with conda, in its lib.
 * Debian's own Python has its wheels in dist-packages.
 * -ENOENT names what was looked for and where; if some load and none suits: why the first does not.
 */
int rt_vendor_open(const struct rt_vendor *v, void **ret_handle, struct gt_err *err);
/* Of the library that symbol is of: what stands behind `begin` in its constants, from a digit on to the string's end, into
 * ret (size). -ENODATA: there is no such string. */
int rt_vendor_says(const void *symbol, const char *begin, char *ret, size_t size);
#endif
