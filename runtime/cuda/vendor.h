/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_VENDOR_H
#define RT_CUDA_VENDOR_H
/* NVIDIA's libraries beside the driver, wherever this host has them. */
#include "lib/dl.h"

/*
 * Open the first of `names` (file names, newest first) that loads: as the loader finds it, in the toolkit ($CUDA_HOME,
 * /usr/local/cuda), or in the Python environment in use ($VIRTUAL_ENV, or that of python3 on PATH): among its wheels or, with
 * conda, in its lib. Debian's own Python has its wheels in dist-packages.
 * -ENOENT names what was looked for and where.
 */
int rt_vendor_open(const char *const *names, const struct gt_dlsym *syms, size_t n_syms, void *table, void **ret_handle,
		   struct gt_err *err);
/* Of the library that symbol is of: what stands behind `begin` in its constants, from a digit on to the string's end, into
 * ret (size). -ENODATA: there is no such string. */
int rt_vendor_says(const void *symbol, const char *begin, char *ret, size_t size);
#endif
