/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probe/loader/elf.h"
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

#define MOST_TEXT (64u << 20) /* a library's constants; NCCL 2.30 has 0.5 MB */

/* The whole section, with a NUL behind it. */
static char *read_constants(const char *path, size_t *ret_bytes)
{
	uint64_t at = 0, bytes = 0;
	struct gt_err ignored;
	char *text = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && pr_elf_section_fd(fd, ".rodata", &at, &bytes, &ignored) == 0 && bytes <= MOST_TEXT) {
		text = gt_xcalloc(1, bytes + 1);
		if (pread(fd, text, bytes, (off_t)at) != (ssize_t)bytes)
			bytes = 0;
	}
	if (fd >= 0)
		close(fd);
	*ret_bytes = bytes;
	return text;
}

int rt_vendor_says(const void *symbol, const char *begin, char *ret, size_t size)
{
	gt_autofree char *text = NULL;
	size_t bytes = 0, n = strlen(begin);
	Dl_info info;

	if (!dladdr(symbol, &info) || !info.dli_fname)
		return -ENOENT;
	text = read_constants(info.dli_fname, &bytes);
	for (char *at = text; at && (at = memmem(at, bytes - (size_t)(at - text), begin, n)); at++)
		if (at[n] >= '0' && at[n] <= '9') {
			snprintf(ret, size, "%s", at + n);
			return 0;
		}
	return -ENODATA;
}
