/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include "lib/dl.h"

static int fill(void *handle, const char *lib, const struct gt_dlsym *syms, size_t n_syms, void *table,
		struct gt_err *err)
{
	for (size_t i = 0; i < n_syms; i++) {
		void *p = dlsym(handle, syms[i].name);

		if (!p && syms[i].fallback)
			p = dlsym(handle, syms[i].fallback);
		if (!p && !syms[i].optional)
			return gt_fail(err, ENOSYS, "%s lacks %s: the library is too old or has a wrong name", lib,
				       syms[i].name);
		memcpy((char *)table + syms[i].offset, &p, sizeof(p));
	}
	return 0;
}

int gt_dl_open(const char *const *names, const struct gt_dlsym *syms, size_t n_syms, void *table, void **ret_handle,
	       struct gt_err *err)
{
	void *handle = NULL;
	const char *const *name;
	int r;

	for (name = names; *name && !handle; name++) {
		/* Libraries are never unloaded, because drivers and their libraries have threads and exit handlers. */
		handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
		if (handle)
			break;
	}
	if (!handle) {
		const char *why = dlerror();

		return gt_fail(err, ENOENT, "%s", why ? why : "no library given");
	}
	r = fill(handle, *name, syms, n_syms, table, err);
	if (r < 0) {
		dlclose(handle);
		return r;
	}
	*ret_handle = handle;
	return 0;
}
