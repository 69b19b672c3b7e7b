/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of a command: BLAS and allocator. Both are files of Debian packages in their usual directories. */
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "lib/file_trust.h"
#include "tune/launch/settings.h"
#include "tune/launch/launcher.h"
#include "tune/launch/library_report.h"
#include "tune/model/tunable.h"

#define GIB (INT64_C(1) << 30)

/* Returns whether the library at path exists and may be preloaded into every program. If it exists but may not,
 * *ret_why has the reason. */
static bool usable(const struct tn_launch *c, const char *path, const char **ret_why)
{
	struct stat st;

	if (gt_fs_stat(c->fs, path, &st) < 0)
		return false;
	*ret_why = gt_check_file_trust(c->fs, &st);
	if (!*ret_why && c->host->live && st.st_uid != 0) /* also checked if this process is not root */
		*ret_why = "does not belong to root";
	if (!*ret_why && c->host->live)
		*ret_why = gt_check_dirs_trust(c->fs, path);
	return !*ret_why;
}

/*
 * Measured in the rounds described at omp.spin (run_omp.c), on two CPUs. PyTorch and openblas-pthread with two threads
 * each: 793 samples/s. gputune run: 3713. PyTorch with one thread, so that BLAS has the CPUs: 3453; PyTorch chose one
 * because the virtual processors are reported as threads of one core.
 */

/* ---- BLAS ---------------------------------------------------------------------------------------------------------
 */

/* Flavours of Debian's BLAS packages that use OpenMP's threads, best first. */
static const char *const shared_pool[] = { "openblas-openmp", "blis-openmp" };

/* Returns the flavour of a Debian library: ".../openblas-pthread/libblas.so.3" is openblas-pthread. The reference BLAS
 * is in "blas". */
static char *flavour(const char *path)
{
	gt_autofree char *dir = gt_xstrndup(path, (size_t)(strrchr(path, '/') - path));
	const char *base = strrchr(dir, '/');

	return gt_xstrdup(base ? base + 1 : dir);
}

/*
 * Returns the BLAS that the program uses without gputune. A captured host may have the alternative's link without its
 * target.
 */
static char *blas_now(const struct tn_launch *c)
{
	gt_autofree char *path = tn_loader_find(c, "libblas.so.3");

	if (path)
		return flavour(path);
	return c->host->blas.v ? gt_xstrdup(c->host->blas.v) : NULL;
}

/* Returns the directory where a user without root unpacked the package of a BLAS; NULL: none. The caller frees it. */
static char *user_packages(const struct tn_launch *c)
{
	const char *data = tn_run_value(c, "XDG_DATA_HOME"), *home = tn_run_value(c, "HOME");

	if (data && *data == '/')
		return gt_xasprintf("%s/gputune/openblas", data);
	return home && *home == '/' ? gt_xasprintf("%s/.local/share/gputune/openblas", home) : NULL;
}

/* Returns whether the library exists and belongs to this user, who is not root. */
static bool belongs_to_user(const struct tn_launch *c, const char *path)
{
	struct stat st;

	return gt_fs_stat(c->fs, path, &st) >= 0 && (!c->host->live || (geteuid() != 0 && st.st_uid == geteuid()));
}

/* Returns the directory of a libblas.so.3 that is better, first those of the host; NULL: none. */
static char *better_blas(const struct tn_launch *c, const char **ret_name, const char **ret_why)
{
	gt_autofree char *packages = user_packages(c);
	const char *const roots[] = {"", packages};

	for (size_t i = 0; i < GT_ARRAY_SIZE(roots) * GT_ARRAY_SIZE(shared_pool); i++) {
		const char *root = roots[i / GT_ARRAY_SIZE(shared_pool)], *name = shared_pool[i % GT_ARRAY_SIZE(shared_pool)];
		gt_autofree char *dir = root ? gt_xasprintf("%s/usr/lib/%s/%s", root, tn_multiarch(c->host), name) : NULL,
				 *lib = dir ? gt_xasprintf("%s/libblas.so.3", dir) : NULL;

		if (lib && (*root ? belongs_to_user(c, lib) : usable(c, lib, ret_why))) {
			*ret_name = name;
			return gt_take(dir);
		}
	}
	return NULL;
}

/*
 * Returns whether the program, or the PyTorch it imports, uses the host's libblas.so.3 and that library is slow together
 * with OpenMP.
 */
static bool needs_other_blas(const struct tn_launch *c, struct tn_run *r, char **ret_have)
{
	gt_autofree char *wheel = tn_loader_wheel(c), *have = wheel ? NULL : blas_now(c);

	if (wheel)
		tn_run_skip(r, "LD_LIBRARY_PATH", "%s contains its own BLAS", wheel);
	else if (!have)
		tn_run_skip(r, "LD_LIBRARY_PATH", "no libblas.so.3 is installed");
	else if (strcmp(have, "openblas-pthread") && strcmp(have, "blas"))
		tn_run_skip(r, "LD_LIBRARY_PATH", "libblas.so.3 is %s, which shares OpenMP's threads or is not known to be slow",
			    have);
	else
		*ret_have = gt_take(have);
	return *ret_have != NULL;
}

/* Measured with PyTorch's MLP on two cores, compared with openblas-openmp. */
static const char *cost_of(const char *have)
{
	return strcmp(have, "blas") ? "openblas-pthread, whose threads compete with those of OpenMP (up to 2.7 times slower)"
				    : "the reference BLAS, which uses one core and no vector unit (up to 30 times slower)";
}

static void prepare_blas(const struct tn_launch *c, struct tn_run *r)
{
	const char *user = tn_run_value(c, "LD_LIBRARY_PATH"), *why = NULL, *name = NULL;
	gt_autofree char *have = NULL, *dir = NULL, *value = NULL;

	if (!needs_other_blas(c, r, &have))
		return;
	dir = better_blas(c, &name, &why);
	if (!dir) {
		r->two_pools = !strcmp(have, "openblas-pthread");
		tn_run_skip(r, "LD_LIBRARY_PATH", "libblas.so.3 is %s; openblas-openmp %s%s", cost_of(have),
			    why ? why : "is not installed", why ? "" : " (@{openblas})");
		return;
	}
	if (user) { /* the user's own path has priority; a BLAS in it is the user's choice */
		gt_autofree char *own = tn_loader_find(&(struct tn_launch){ .fs = c->fs, .host = c->host }, "libblas.so.3"),
				 *seen = tn_loader_find(c, "libblas.so.3");

		if (seen && !gt_streq(own, seen)) {
			r->two_pools = !strcmp(have, "openblas-pthread");
			tn_run_skip(r, "LD_LIBRARY_PATH", "the user's own path leads to %s", seen);
			return;
		}
	}
	value = user ? gt_xasprintf("%s:%s", user, dir) : gt_xstrdup(dir);
	tn_run_set(c, r, "LD_LIBRARY_PATH", value, "libblas.so.3 is %s; %s %s", have, name,
		   strcmp(have, "blas") ? "shares the threads of OpenMP" : "uses all cores and their vector units");
}

const struct tn_launch_setting tn_launch_blas = {
	.id = "run.blas",
	.summary = "openblas-openmp instead of openblas-pthread",
	.why = "openblas-pthread and libgomp together run two pools of polling threads on the same cores. On Debian 12 with "
	       "two cores, PyTorch was 1.7 times (GPT-2) to 2.7 times (MLP) slower with it than with openblas-openmp. "
	       "gputune checks which library the loader would select for the command. To change it for all programs, run "
	       "update-alternatives --config libblas.so.3-x86_64-linux-gnu. Without root, unpack the package, and gputune run "
	       "uses it: apt-get download libopenblas0-openmp; dpkg -x libopenblas0-openmp_*.deb "
	       "~/.local/share/gputune/openblas. The OpenBLAS in wheels of NumPy and SciPy cannot be used, because its "
	       "functions are renamed (scipy_sgemm_64_). Nor can the MKL of the package mkl on PyPI: it lacks libmkl_gf_lp64, so "
	       "functions with complex results (zdotc) return them to other places than Debian's programs expect.",
	.hazard = "Programs that call BLAS from several threads of their own and never use OpenMP can become slower.",
	.unit = "environment",
	.mechanism = "train.gpt",
	.prepare = prepare_blas,
};

/* ---- allocators ---------------------------------------------------------------------------------------------------
 */

/* The names of allocators and runtimes are also the names of the actions in probe/check/distro.h that install them. */
static const struct allocator {
	const char *name, *soname;
	const char *variable, *value; /* the allocator's setting for large tensors; NULL: none */
	const char *no_huge_pages;    /* its setting that avoids huge pages, for hosts that set them to always */
} allocators[] = {
	{"tcmalloc", "libtcmalloc_minimal.so.4", NULL, NULL, NULL},
	{"jemalloc", "libjemalloc.so.2", "MALLOC_CONF",
	 "oversize_threshold:1,background_thread:true,metadata_thp:auto", "oversize_threshold:1,background_thread:true,thp:never"},
	{"mimalloc", "libmimalloc.so.2", NULL, NULL, NULL},
	{"mimalloc", "libmimalloc.so.3", NULL, NULL, NULL},
};

static const struct runtime {
	const char *name, *soname;
	const char *dirs[6];
} runtimes[] = {
	{"libomp", "libomp.so.5",
	 {"/usr/lib/llvm-14/lib", "/usr/lib/llvm-16/lib", "/usr/lib/llvm-17/lib", "/usr/lib/llvm-18/lib", "/usr/lib/llvm-19/lib"}},
	{"libiomp5", "libiomp5.so",
	 {"/opt/intel/oneapi/compiler/latest/lib", "/opt/intel/oneapi/compiler/latest/linux/compiler/lib/intel64_lin"}},
};

int tn_launch_check_value(const struct tn_launch_setting *s, const char *value, struct gt_err *err)
{
	gt_auto_strv names = { 0 };
	gt_auto_buf said = { 0 };

	for (size_t i = 0; s == &tn_launch_omp_runtime && i < GT_ARRAY_SIZE(runtimes); i++)
		gt_strv_add(&names, runtimes[i].name);
	for (size_t i = 0; s == &tn_launch_allocator && i < GT_ARRAY_SIZE(allocators); i++)
		if (!gt_strv_has(&names, allocators[i].name))
			gt_strv_add(&names, allocators[i].name);
	if (gt_strv_has(&names, value))
		return 0;
	if (!names.n)
		return gt_fail(err, EINVAL, "%s takes on or off, not '%.40s': its value is derived for each run, and a value "
					    "in the environment is kept", s->id, value);
	for (size_t i = 0; i < names.n; i++)
		gt_buf_printf(&said, ", %s", names.v[i]);
	return gt_fail(err, EINVAL, "%s takes on, off%s; not '%.40s'", s->id, said.s, value);
}

static char *find_allocator(const struct tn_launch *c, const struct allocator *a, const char **ret_why)
{
	gt_autofree char *own = gt_xasprintf("/usr/lib/%s", tn_multiarch(c->host));
	const char *const dirs[] = { own, "/usr/lib", "/usr/local/lib" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(dirs); i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dirs[i], a->soname);

		if (usable(c, path, ret_why))
			return gt_take(path);
	}
	return NULL;
}

/* Words in the names of allocator libraries. */
static const char *const mallocs[] = {"malloc", "hoard", "scudo", "umem",   "lockless", "scalloc",
				      "asan",	"lsan",	 "tsan",  "efence", "DUMA"};

/* Returns whether a file name in the list contains one of the words. The loader splits the list at colons and blanks. */
static bool preloads(const char *list, const char *const *words, size_t n)
{
	gt_each_word(w, list ? list : "", ": ") {
		for (size_t i = 0; i < n; i++)
			if (strstr(gt_basename(w), words[i]))
				return true;
	}
	return false;
}

/*
 * Measured with eight threads that kept 10 000 of 640 000 blocks of 4 KiB. jemalloc had 75 MiB resident with small
 * pages and 124 MiB with huge pages.
 */
static void preload_allocator(const struct tn_launch *c, const struct allocator *a, const char *path,
			      struct tn_run *r)
{
	bool always = gt_streq(c->host->mem.thp_enabled.v, "always"), told = a->variable && !tn_run_value(c, a->variable);
	gt_autofree char *reason =
		gt_xasprintf("keeps freed memory instead of returning it to the kernel; %s%s",
			     c->host->live ? "tested in a child process" : "not tested: this root is not live",
			     !always ? ""
			     : told  ? "; huge pages are always on here, so it is set not to use them"
				     : "; huge pages are always on here: it uses more memory than with madvise");

	tn_run_preload(c, r, path, reason);
	if (a->variable)
		tn_run_set(c, r, a->variable, always ? a->no_huge_pages : a->value,
			   always ? "its settings for large tensors, with small pages: with huge pages its memory grows by half"
				  : "its settings for large tensors");
}

static bool try_allocator(const struct tn_launch *c, const struct allocator *a, struct tn_run *r)
{
	const char *why = NULL;
	gt_autofree char *path = find_allocator(c, a, &why);

	if (!path) {
		if (why)
			tn_run_skip(r, "LD_PRELOAD", "%s %s", a->soname, why);
		return false;
	}
	if (c->host->live && !tn_loader_can_preload(path)) {
		tn_run_skip(r, "LD_PRELOAD", "the loader cannot load %s into a program here", path);
		return false;
	}
	preload_allocator(c, a, path, r);
	return true;
}

static void prepare_allocator(const struct tn_launch *c, struct tn_run *r)
{
	const char *wanted = c->asked ? c->asked : allocators[0].name, *user = tn_run_value(c, "LD_PRELOAD");

	if (user && (!c->chosen || preloads(user, mallocs, GT_ARRAY_SIZE(mallocs)))) {
		tn_run_set(c, r, "LD_PRELOAD", "", "set by the user");
		return;
	}
	if (!c->chosen) {
		tn_run_skip(r, "LD_PRELOAD", "opt-in: a profile with run.allocator = on, or --allocator");
		return;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(allocators); i++) {
		if (c->asked && strcmp(c->asked, allocators[i].name))
			continue;
		if (try_allocator(c, &allocators[i], r))
			return;
	}
	tn_run_skip(r, "LD_PRELOAD", "no usable one is installed; @{%s}", wanted);
}

const struct tn_launch_setting tn_launch_allocator = {
	.id = "run.allocator",
	.summary = "preloads TCMalloc, jemalloc or mimalloc",
	.why = "Programs that allocate and free memory from many threads, such as data loaders, wait for the locks of "
	       "glibc's allocator. They also wait for page faults, because glibc returns freed memory to the kernel. These "
	       "allocators keep freed memory for each thread.",
	.hazard = "Programs use more resident memory, especially if huge pages are set to always; gputune then disables "
		  "them for jemalloc. All child processes inherit the allocator. It conflicts with sanitizers. Some builds "
		  "need too much static TLS, so gputune first loads the allocator into a child process.",
	.unit = "environment",
	.mechanism = "alloc",
	.prepare = prepare_allocator,
};

static bool preloads_allocator(const struct tn_run *r)
{
	for (size_t i = 0; i < r->n_var; i++)
		if (!strcmp(r->var[i].name, "LD_PRELOAD") && r->var[i].status != TN_VAR_SKIPPED &&
		    preloads(r->var[i].value, mallocs, GT_ARRAY_SIZE(mallocs)))
			return true;
	return false;
}

/*
 * Blocks up to a quarter of the rank's part of memory are allocated from the heap. The heap is returned to the kernel
 * only if it exceeds that part, or half of it under a control group's limit. Memory that a process keeps is charged to
 * its group. The kernel kills a process of a group that exceeds its limit.
 */
static void prepare_malloc(const struct tn_launch *c, struct tn_run *r)
{
	unsigned ranks = tn_processes_here(c);
	int64_t total = pr_or(c->host->mem.total_bytes, 0) / ranks,
		memory = GT_MIN(total, pr_or(c->host->mem.limit_bytes, INT64_MAX) / ranks),
		pad = GT_MIN(GIB / 4, memory / 64), keep = memory < total ? memory / 2 : memory;
	bool huge = gt_version_cmp(gnu_get_libc_version(), "2.35") >= 0 && c->host->mem.thp_enabled.v &&
		    strcmp(c->host->mem.thp_enabled.v, "never");
	gt_autofree char *value = NULL;

	if (preloads_allocator(r)) {
		tn_run_skip(r, "GLIBC_TUNABLES", "another allocator is preloaded");
		return;
	}
	if (r->processes == 0) {
		tn_run_leave(c, r, "GLIBC_TUNABLES", TN_PROCESSES_WHY);
		return;
	}
	if (memory < 2 * GIB) {
		tn_run_skip(r, "GLIBC_TUNABLES", "with less than 2 GiB of memory%s none should be kept%s",
			    ranks > 1 ? " for each rank" : "", memory < total ? ", and the control group allows no more" : "");
		return;
	}
	value = gt_xasprintf(
		"glibc.malloc.mmap_threshold=%ld:glibc.malloc.trim_threshold=%ld:glibc.malloc.top_pad=%ld%s",
		memory / 4, keep, pad, huge ? ":glibc.malloc.hugetlb=1" : "");
	tn_run_set(c, r, "GLIBC_TUNABLES", value,
		   "large tensors stay mapped between steps instead of being unmapped and faulted in again%s%s",
		   ranks > 1 ? "; a rank's part of memory" : "", memory < total ? "; by the limit of the control group" : "");
}

const struct tn_launch_setting tn_launch_malloc = {
	.id = "run.malloc",
	.summary = "glibc's malloc keeps large blocks",
	.why = "By default, glibc maps each large tensor from the kernel and unmaps it when it is freed. PyTorch on CPUs "
	       "spent 13 to 38 % of its time in page faults on memory that it had used one step before. With higher "
	       "thresholds, glibc keeps the memory. gputune derives the thresholds from the memory size or the control "
	       "group's limit, and from the number of ranks. PyTorch's THP_MEM_ALLOC_ENABLE=1 requests huge pages for its "
	       "tensors only; this setting applies to the whole program.",
	.hazard = "Freed memory is not returned to the kernel before the program ends. This matters with many processes per "
		  "host.",
	.unit = "environment",
	.mechanism = "alloc",
	.prepare = prepare_malloc,
};

/* ---- OpenMP runtime ---------------------------------------------------------------------------------------------- */

static char *find_runtime(const struct tn_launch *c, const struct runtime *rt, const char **ret_why)
{
	gt_autofree char *own = gt_xasprintf("/usr/lib/%s/%s", tn_multiarch(c->host), rt->soname);

	/* Debian's libiomp5.so is LLVM's; Intel's is in a directory of its own */
	if (!strcmp(rt->name, "libomp") && usable(c, own, ret_why))
		return gt_take(own);
	for (size_t i = 0; rt->dirs[i]; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", rt->dirs[i], rt->soname);

		if (usable(c, path, ret_why))
			return gt_take(path);
	}
	return NULL;
}

static void prepare_omp_runtime(const struct tn_launch *c, struct tn_run *r)
{
	static const char *const openmp[] = {"libomp", "libiomp", "libgomp"};
	const struct runtime *rt = &runtimes[0];
	gt_autofree char *path = NULL;
	const char *why = NULL;

	if (!c->chosen) /* nothing to report: the program uses the runtime that it was built with */
		return;
	for (size_t i = 0; i < GT_ARRAY_SIZE(runtimes); i++)
		if (gt_streq(c->asked, runtimes[i].name))
			rt = &runtimes[i];
	if (preloads(tn_run_value(c, "LD_PRELOAD"), openmp, GT_ARRAY_SIZE(openmp))) {
		tn_run_keep(r, "LD_PRELOAD", tn_run_user(c, "LD_PRELOAD"), "set by the user, with an OpenMP runtime in it");
		return;
	}
	path = find_runtime(c, rt, &why);
	if (!path || (c->host->live && !tn_loader_can_preload(path))) {
		tn_run_skip(r, "LD_PRELOAD", path || why ? "%s %s" : "%s is not installed: @{%s}", rt->soname,
			    path ? "does not load into a program here" : why ? why : rt->name);
		return;
	}
	tn_run_preload(c, r, path, "an OpenMP runtime that replaces the program's own");
	tn_run_set(c, r, "KMP_BLOCKTIME", "1", "its threads sleep after 1 ms without work instead of 200");
}

const struct tn_launch_setting tn_launch_omp_runtime = {
	.id = "omp.runtime",
	.summary = "uses the OpenMP of LLVM or Intel, not GNU's",
	.why = "libomp and libiomp5 also define the symbols of libgomp, so they can replace it. Their barriers scale better "
	       "on hosts with many cores. Measure the effect for each program.",
	.hazard = "Two OpenMP runtimes in one process abort it or start two pools of threads. Do not preload one for a "
		  "program whose wheel contains its own. Intel's runtime is not free software.",
	.unit = "environment",
	.mechanism = "train.gpt",
	.prepare = prepare_omp_runtime,
};
