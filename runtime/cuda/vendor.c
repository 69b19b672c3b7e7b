/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/text.h"
#include "lib/file_trust.h"
#include "probe/loader/elf.h"
#include "runtime/cuda/vendor.h"

/* Returns the prefix of the active Python environment: $VIRTUAL_ENV, or two levels above the python3 on PATH. NULL:
 * none. In a virtual environment python3 is a link; the directory on PATH is used, not the target of the link. */
static char *python_prefix(void)
{
	const char *venv = getenv("VIRTUAL_ENV"), *path = getenv("PATH");
	gt_autofree char *list = NULL;

	if (venv && *venv == '/')
		return gt_xstrdup(venv);
	list = gt_xstrdup(path ? path : "");
	gt_each_word(dir, list, ":") {
		gt_autofree char *python = gt_xasprintf("%s/python3", dir);
		char *slash = strrchr(dir, '/');

		if (*dir != '/' || access(python, X_OK) < 0)
			continue;
		*slash = 0;
		return gt_xstrdup(dir);
	}
	return NULL;
}

struct search {
	const struct rt_vendor *v;
	struct gt_fsroot *fs; /* checks who owns the files; NULL: no check, because the caller is not root */
	void *handle;
	int refused; /* error of the first library that was rejected */
	struct gt_err missing, refusal;
};

static int open_here(struct search *s, const char *file, struct gt_err *err)
{
	const struct rt_vendor *v = s->v;
	int r = gt_dl_open((const char *const[]){ file, NULL }, v->syms, v->n_syms, v->table, &s->handle, err);

	if (!r && v->suits)
		r = v->suits(v->arg, err);
	if (r && s->handle) {
		dlclose(s->handle);
		s->handle = NULL;
	}
	return r;
}

/*
 * Runs `suits` in a child process, because the libraries that it loads end with that process. If the child gives no
 * answer, the library is not rejected.
 */
static int check_in_child(struct search *s, const char *file, struct gt_err *err)
{
	struct {
		int r;
		struct gt_err err;
	} said = { 0 };
	ssize_t n = 0;
	pid_t child;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	child = fork();
	if (!child) {
		said.r = open_here(s, file, &said.err);
		_exit(write(ends[1], &said, sizeof(said)) != sizeof(said));
	}
	close(ends[1]);
	if (child > 0) {
		n = TEMP_FAILURE_RETRY(read(ends[0], &said, sizeof(said)));
		TEMP_FAILURE_RETRY(waitpid(child, NULL, 0));
	}
	close(ends[0]);
	if (n != sizeof(said))
		return 0;
	*err = said.err;
	return said.r;
}

/* Root loads no library that another user can replace. CUDA_HOME, VIRTUAL_ENV and PATH may lead to one. */
static int check_trust(const struct search *s, const char *file, struct gt_err *err)
{
	const char *why = s->fs && *file == '/' ? gt_check_path_trust(s->fs, file) : NULL;

	return why ? gt_fail(err, EPERM, "%s %s: root does not load it", file, why) : 0;
}

static bool try_file(struct search *s, const char *file)
{
	struct gt_err err = { 0 };
	int r = check_trust(s, file, &err);

	if (!r && s->v->in_child)
		r = check_in_child(s, file, &err);
	if (!r)
		r = open_here(s, file, &err);
	if (r == -ENOENT && *file != '/')
		s->missing = err;
	if (r && r != -ENOENT && !s->refused) {
		s->refused = r;
		s->refusal = err;
	}
	return !r;
}

static bool try_pattern(struct search *s, const char *pattern)
{
	glob_t found = { 0 };
	bool is = false;

	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; !is && i < found.gl_pathc; i++)
			is = try_file(s, found.gl_pathv[i]);
	globfree(&found);
	return is;
}

static bool try_name(struct search *s, const char *name, const char *prefix)
{
	const char *cuda = getenv("CUDA_HOME");
	char *patterns[] = {
		gt_xasprintf("%s/lib64/%s", cuda && *cuda == '/' ? cuda : "/usr/local/cuda", name),
		gt_xasprintf("/usr/local/cuda-*/lib64/%s", name),
		gt_xasprintf("/usr/local/cuda*/extras/CUPTI/lib64/%s", name),
		gt_xasprintf("%s/lib/python3*/site-packages/nvidia/*/lib/%s", prefix ? prefix : "/usr/local", name),
		gt_xasprintf("%s/lib/python3*/dist-packages/nvidia/*/lib/%s", prefix ? prefix : "/usr/local", name),
		gt_xasprintf("%s/lib/%s", prefix ? prefix : "/usr/local", name), /* conda */
		/* for Debian's own interpreter, whose prefix is /usr: from pip and from packages */
		gt_xasprintf("/usr/local/lib/python3*/dist-packages/nvidia/*/lib/%s", name),
		gt_xasprintf("/usr/lib/python3/dist-packages/nvidia/*/lib/%s", name),
	};
	bool is = try_file(s, name);

	for (size_t i = 0; !is && i < GT_ARRAY_SIZE(patterns); i++)
		is = try_pattern(s, patterns[i]);
	for (size_t i = 0; i < GT_ARRAY_SIZE(patterns); i++)
		free(patterns[i]);
	return is;
}

int rt_vendor_open(const struct rt_vendor *v, void **ret_handle, struct gt_err *err)
{
	gt_autofree char *prefix = python_prefix();
	gt_auto(gt_fsroot) *fs = NULL;
	struct search s = { .v = v };
	int r = geteuid() == 0 ? gt_fs_open(NULL, &fs, err) : 0;

	if (r < 0)
		return r;
	s.fs = fs;
	for (const char *const *name = v->names; *name; name++)
		if (try_name(&s, *name, prefix)) {
			*ret_handle = s.handle;
			return 0;
		}
	if (s.refused) {
		if (err)
			*err = s.refusal;
		return s.refused;
	}
	return gt_fail(err, ENOENT,
		       "%s (searched: the loader's path, /usr/local/cuda, CUDA_HOME, and the wheels of %s)",
		       s.missing.msg, prefix ? prefix : "no Python environment");
}

#define MOST_TEXT (64u << 20) /* limit for a library's constants; NCCL 2.30 has 0.5 MB */

/* Reads the whole section and appends a NUL. */
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
