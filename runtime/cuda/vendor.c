/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/cuda/vendor.h"

/* The prefix of the Python environment in use: $VIRTUAL_ENV, or two above the python3 that PATH finds. NULL: none.
 * A virtual environment's python3 is a link: the directory that PATH names counts, not the link's end. */
static char *python_prefix(void)
{
	const char *venv = getenv("VIRTUAL_ENV"), *path = getenv("PATH");
	gt_autofree char *list = NULL;
	char *save = NULL;

	if (venv && *venv == '/')
		return gt_xstrdup(venv);
	list = gt_xstrdup(path ? path : "");
	for (char *dir = strtok_r(list, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		gt_autofree char *python = gt_xasprintf("%s/python3", dir);
		char *slash = strrchr(dir, '/');

		if (*dir != '/' || access(python, X_OK) < 0)
			continue;
		*slash = 0;
		return gt_xstrdup(dir);
	}
	return NULL;
}

static int try_pattern(const char *pattern, const struct gt_dlsym *syms, size_t n_syms, void *table, void **ret_handle,
		       struct gt_err *err)
{
	glob_t found = { 0 };
	int r = -ENOENT;

	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; r < 0 && i < found.gl_pathc; i++)
			r = gt_dl_open((const char *const[]){ found.gl_pathv[i], NULL }, syms, n_syms, table, ret_handle, err);
	globfree(&found);
	return r;
}

int rt_vendor_open(const char *const *names, const struct gt_dlsym *syms, size_t n_syms, void *table, void **ret_handle,
		   struct gt_err *err)
{
	const char *cuda = getenv("CUDA_HOME");
	gt_autofree char *prefix = python_prefix();
	struct gt_err first = { 0 }, other = { 0 };
	int r = gt_dl_open(names, syms, n_syms, table, ret_handle, &first);

	for (const char *const *name = names; r < 0 && *name; name++) {
		char *patterns[] = {
			gt_xasprintf("%s/lib64/%s", cuda && *cuda == '/' ? cuda : "/usr/local/cuda", *name),
			gt_xasprintf("/usr/local/cuda-*/lib64/%s", *name),
			gt_xasprintf("/usr/local/cuda*/extras/CUPTI/lib64/%s", *name),
			gt_xasprintf("%s/lib/python3*/site-packages/nvidia/*/lib/%s", prefix ? prefix : "/usr/local", *name),
			gt_xasprintf("%s/lib/python3*/dist-packages/nvidia/*/lib/%s", prefix ? prefix : "/usr/local", *name),
			gt_xasprintf("%s/lib/%s", prefix ? prefix : "/usr/local", *name), /* conda's */
			/* of Debian's own interpreter, whose prefix is /usr: pip's, and what packages bring */
			gt_xasprintf("/usr/local/lib/python3*/dist-packages/nvidia/*/lib/%s", *name),
			gt_xasprintf("/usr/lib/python3/dist-packages/nvidia/*/lib/%s", *name),
		};

		for (size_t i = 0; r < 0 && i < GT_ARRAY_SIZE(patterns); i++)
			r = try_pattern(patterns[i], syms, n_syms, table, ret_handle, &other);
		for (size_t i = 0; i < GT_ARRAY_SIZE(patterns); i++)
			free(patterns[i]);
	}
	if (r < 0)
		return gt_fail(err, ENOENT,
			       "%s (looked on the loader's path, in /usr/local/cuda and CUDA_HOME, and among the wheels of %s)",
			       first.msg, prefix ? prefix : "no Python environment");
	return 0;
}
