/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LOADER_H
#define PR_LOADER_H
/*
 * Simulates glibc's loader (ld.so(8); glibc: elf/dl-load.c, elf/dl-deps.c) on files alone. Starts no program and opens
 * no library with the system's loader. A name without a slash is searched in this order:
 *
 *   RPATH            of the object that needs it and of the objects that loaded that one, unless it has a RUNPATH
 *   LD_LIBRARY_PATH  unless the program is set-user-ID
 *   RUNPATH          of the object that needs it
 *   ld.so.cache      unless the object was linked with -z nodeflib
 *   default          the system's directories
 *
 * In each directory, glibc-hwcaps/ for the levels of this processor is searched first. Files of another class or
 * machine are skipped. An object that is already loaded under the name, or whose SONAME is the name, is reused.
 */
#include "lib/fsroot.h"
#include "lib/parse.h"
#include "probe/loader/elf.h"

enum pr_rule {
	PR_BY_PATH, /* the name contains a slash, or the object is the program itself */
	PR_BY_PRELOAD,
	PR_BY_RPATH,
	PR_BY_LIBRARY_PATH,
	PR_BY_RUNPATH,
	PR_BY_CACHE,
	PR_BY_DEFAULT,
	PR_NOT_FOUND,
};
const char *pr_rule_name(enum pr_rule r); /* "LD_LIBRARY_PATH" … */

struct pr_hit {
	enum pr_rule rule;
	char *path, *real; /* path: as found; real: with all links resolved */
	char *from;        /* directory as written in the list ("$ORIGIN/../lib"); NULL for rules without a list */
	int owner;         /* index of the object whose RPATH or RUNPATH was used, -1 for other rules */
	char *broken;      /* reason why the loader fails at this file instead of skipping it; NULL: the file is valid */
};

struct pr_object {
	char *name; /* name of the first request: "libcudart.so.12" */
	struct pr_hit hit;
	int by;                   /* index of the object that needs it, -1 for the program and preloads */
	bool opened;              /* loaded by dlopen() at run time, not by DT_NEEDED */
	const struct pr_elf *elf; /* NULL if not found or malformed */
	struct gt_strv aliases;   /* other names under which it was requested */
	struct pr_hit *hidden;    /* for a watched library: later files that the same search would have found, in order */
	size_t n_hidden;
};

struct pr_loader {
	struct pr_object *obj; /* objects in load order, the program first; includes objects that were not found */
	size_t n;
	bool secure; /* the program is set-user-ID: LD_LIBRARY_PATH is ignored */
	struct gt_strv preload_missing;
	/* borrowed from the caller, who must keep them */
	struct gt_fsroot *fs;
	struct pr_elf_cache *elf_cache;
	/* lists from the environment and the host */
	struct gt_strv library_path, hwcaps, system_dirs;
};

/* ELF files that were already read; shared by all simulations of one host. */
struct pr_elf_cache;
struct pr_elf_cache *pr_elf_cache_new(struct gt_fsroot *fs);
void pr_elf_cache_free(struct pr_elf_cache *e);
GT_DEFINE_AUTO(pr_elf_cache, pr_elf_cache_free);
/* Returns the ELF file at a path, from the cache if it was read before. On failure *ret is NULL and the result
 * -ENOEXEC, -EINVAL, -ENOENT …. In a root that is not live, a fact of the capture replaces the content. */
int pr_elf_cache_get(struct pr_elf_cache *e, const char *path, const struct pr_elf **ret, struct gt_err *err);
/* Returns the name of the fact that replaces the content of the file at this path (all links resolved). The caller frees it. */
char *pr_elf_fact_name(const char *path);
/* Returns the i-th file as a fact for captures: its name and text, which the caller frees. Returns false after the last. */
bool pr_elf_cache_fact(const struct pr_elf_cache *e, size_t i, char **ret_name, char **ret_text);
/* Returns lines "SONAME PATH" for the entries of ld.so.cache that searches have used; NULL if none. The caller frees it. */
char *pr_elf_cache_cached(const struct pr_elf_cache *e);

struct pr_load_opts {
	const char *library_path, *preload; /* values of LD_LIBRARY_PATH and LD_PRELOAD; NULL: not set */
	const char *cpu_flags;              /* CPU flags such as " fpu … ", to select glibc-hwcaps levels */
};
/* Loads the program (or library) at path with its dependencies. Fails if path itself is not a dynamic ELF file. */
int pr_load(struct gt_fsroot *fs, struct pr_elf_cache *elf_cache, const char *path, const struct pr_load_opts *opts,
	    struct pr_loader **ret, struct gt_err *err);
/* Simulates dlopen(name) by object `by`, including dependencies. Returns the index of the object, or -ENOENT. */
int pr_load_more(struct pr_loader *l, const char *name, int by);
/* Returns the file that a program without RPATH and RUNPATH loads for soname, with all links resolved. Also returns a
 * malformed file, at which the program would fail. NULL if there is none. The caller frees it. */
char *pr_load_find(struct gt_fsroot *fs, struct pr_elf_cache *elf_cache, const char *soname, const struct pr_load_opts *opts);
void pr_loader_free(struct pr_loader *l);
GT_DEFINE_AUTO(pr_loader, pr_loader_free);
/* Returns the index of the loaded object whose name, SONAME or alias is name, -1 if there is none. */
int pr_loader_find(const struct pr_loader *l, const char *name);
/* Returns whether this is a library of the GPU stack, or a run-time library that must not be loaded twice. */
bool pr_is_watched(const char *soname);
/* Returns the Python distribution that contains a watched library ("nvidia-cudnn"), NULL if there is none. */
const char *pr_watched_dist(const char *soname);
/* Returns whether stem is the name before the version: "libcudart" for "libcudart.so.12". */
bool pr_has_stem(const char *soname, const char *stem);
#endif
