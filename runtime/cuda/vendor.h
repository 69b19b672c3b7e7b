/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_VENDOR_H
#define RT_CUDA_VENDOR_H
/* Finds NVIDIA's libraries other than the driver on this host. */
#include "lib/dl.h"

struct rt_vendor {
	const char *const *names; /* file names, best first, NULL-terminated */
	const struct gt_dlsym *syms;
	size_t n_syms;
	void *table; /* filled from syms */
	/* Returns 0, or why this library is rejected; its functions are in table. NULL: any library will do. The chosen
	 * library is tested last, in this process. */
	int (*suits)(void *arg, struct gt_err *err);
	void *arg;
	/* The library consists of several files that find each other by name. A rejected one, once loaded, would be
	 * used by the next. Therefore `suits` runs in a child process first, and a rejected library is never loaded in
	 * this process. */
	bool in_child;
};
/*
 * Opens the first library that loads and suits. Each name is searched by the dynamic loader, in the toolkit
 * ($CUDA_HOME, /usr/local/cuda), and in the active Python environment ($VIRTUAL_ENV, or that of python3 on PATH): in
 * its wheels or, with conda, in its lib. Debian's Python has its wheels in dist-packages. -ENOENT: the message names
 * the files and places. If libraries load but none suits, the message has the reason against the first.
 */
int rt_vendor_open(const struct rt_vendor *v, void **ret_handle, struct gt_err *err);
/* Searches the constants of the library that defines `symbol` for a string that starts with `begin`. Copies its rest,
 * from the first digit on, to ret (size). -ENODATA: no such string. */
int rt_vendor_says(const void *symbol, const char *begin, char *ret, size_t size);
#endif
