/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the libraries of the NVIDIA stack in the order in which a program without RPATH searches: LD_LIBRARY_PATH, the
 * loader's cache, its default directories. Copies elsewhere on disk are listed after them.
 */
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/loader/ldcache.h"
#include "probe/host/reading.h"

static const char *const sonames[] = { "libcuda.so.1",	  "libnvidia-ml.so.1", "libcudart.so.11.0", "libcudart.so.12",
				       "libcudart.so.13", "libcudnn.so.8",     "libcudnn.so.9",	    "libnccl.so.2",
				       "libcublas.so.11", "libcublas.so.12",   "libcublas.so.13",   "libnccl-net.so",
				       "libnccl-net-ofi.so", "libnccl-net-aws-ofi.so" };

/* The default directories of Debian's loader. other_dirs is in common use, but no loader searches it by default. */
static const char *const default_dirs[] = { "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
					    "/usr/lib" };
static const char *const other_dirs[] = {
	"/usr/local/nvidia/lib64", "/usr/local/cuda/compat", "/usr/local/cuda/lib64",
	"/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/aarch64-linux-gnu/nvidia/current",
	/* Jetson's JetPack 6 and 5 */
	"/usr/lib/aarch64-linux-gnu/nvidia", "/usr/lib/aarch64-linux-gnu/tegra", "/usr/lib/wsl/lib", "/usr/local/lib",
	/* aws-ofi-nccl: of Amazon's installer, of NVIDIA's containers, of older instructions */
	"/opt/amazon/ofi-nccl/lib", "/opt/amazon/ofi-nccl/lib64", "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
	"/opt/amazon/ofi-nccl/lib/aarch64-linux-gnu", "/opt/amazon/aws-ofi-nccl/lib", "/opt/aws-ofi-nccl/lib"};

struct libs {
	struct gt_fsroot *fs;
	struct pr_host *h;
	struct gt_strv real; /* "SONAME PATH" of each library found so far */
};

static const char *known(const char *soname)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(sonames); i++)
		if (!strcmp(soname, sonames[i]))
			return sonames[i];
	return NULL;
}

/* Returns the version in the file name: "libcuda.so.550.163.01" has one, "libcudnn.so.9" does not. */
static const char *version_in(const char *real)
{
	const char *base = strrchr(real, '/'), *so = base ? strstr(base, ".so.") : NULL;

	return so && strchr(so + 4, '.') ? so + 4 : NULL;
}

static void add(struct libs *l, const char *rule, const char *soname, const char *path)
{
	gt_autofree char *real = NULL, *key = NULL;
	struct pr_lib *lib;

	if (gt_fs_realpath(l->fs, path, &real) < 0)
		return;
	key = gt_xasprintf("%s %s", soname, real);
	if (gt_strv_has(&l->real, key))
		return; /* the list has this file already, under another path */
	gt_strv_add(&l->real, key);
	l->h->libs.lib = gt_xrealloc(l->h->libs.lib, (l->h->libs.n_lib + 1) * sizeof(*lib));
	lib = &l->h->libs.lib[l->h->libs.n_lib++];
	lib->soname = soname;
	lib->path = pr_keep(l->h, path);
	lib->real = pr_keep(l->h, real);
	lib->version = pr_keep(l->h, version_in(real));
	lib->rule = rule;
}

static void add_dir(struct libs *l, const char *rule, const char *dir)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(sonames); i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dir, sonames[i]);

		add(l, rule, sonames[i], path);
	}
}

static void add_environment(struct libs *l)
{
	const char *list = pr_getenv(l->h, "LD_LIBRARY_PATH");

	gt_each_word(dir, list, ":")
		if (*dir == '/')
			add_dir(l, "LD_LIBRARY_PATH", dir);
}

static void take_cached(void *arg, const char *soname, const char *path)
{
	struct libs *l = arg;
	const char *name = known(soname);

	if (!name || *path != '/')
		return;
	add(l, "ld.so.cache", name, path);
}

/* A capture records only the relevant lines of the cache: "SONAME PATH". */
static int add_cached_fact(struct libs *l)
{
	gt_autofree char *text = NULL;
	int r = gt_fs_fact(l->fs, "ldcache", &text, NULL);

	gt_each_line(line, text) {
		char *path = strchr(line, ' ');

		if (!path)
			continue;
		*path++ = '\0';
		take_cached(l, line, path);
	}
	return r;
}

static void add_cached(struct libs *l)
{
	gt_autofree char *data = NULL;
	size_t len = 0;
	int r;

	if (add_cached_fact(l) >= 0) {
		l->h->libs.ldcache = PR_PRESENT;
		return;
	}
	r = gt_fs_read(l->fs, PR_LDCACHE, &data, &len);
	if (r >= 0)
		r = pr_ldcache_parse(data, len, take_cached, l);
	l->h->libs.ldcache = pr_state_of(r);
}

void pr_discover_libs(struct gt_fsroot *fs, struct pr_host *h)
{
	struct libs l = { .fs = fs, .h = h };

	add_environment(&l);
	add_cached(&l);
	for (size_t i = 0; i < GT_ARRAY_SIZE(default_dirs); i++)
		add_dir(&l, "default", default_dirs[i]);
	for (size_t i = 0; i < GT_ARRAY_SIZE(other_dirs); i++)
		add_dir(&l, NULL, other_dirs[i]);
	gt_strv_clear(&l.real);
}

void pr_libs_clear(struct pr_libs *l)
{
	free(l->lib);
}

const struct pr_lib *pr_find_lib(const struct pr_host *h, const char *soname, size_t nth)
{
	for (size_t i = 0; i < h->libs.n_lib; i++)
		if (!strcmp(h->libs.lib[i].soname, soname) && nth-- == 0)
			return &h->libs.lib[i];
	return NULL;
}

const struct pr_lib *pr_loaded_lib(const struct pr_host *h, const char *soname)
{
	const struct pr_lib *first = pr_find_lib(h, soname, 0);

	return first && first->rule ? first : NULL;
}

char *pr_ldcache_fact(const struct pr_host *h)
{
	struct gt_buf out = { 0 };

	if (h->libs.ldcache != PR_PRESENT)
		return NULL;
	for (size_t i = 0; i < h->libs.n_lib; i++)
		if (gt_streq(h->libs.lib[i].rule, "ld.so.cache"))
			gt_buf_printf(&out, "%s %s\n", h->libs.lib[i].soname, h->libs.lib[i].path);
	return gt_buf_take(&out);
}
