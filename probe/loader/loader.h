/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LOADER_H
#define PR_LOADER_H
/*
 * What glibc's loader will do (ld.so(8); glibc: elf/dl-load.c, elf/dl-deps.c), computed from the files alone: no
 * program is started and no library is opened by the system's loader. A name without a slash is looked for, in this
 * order, in
 *
 *   RPATH            of the object that needs it and of those that brought that one in, unless it has a RUNPATH
 *   LD_LIBRARY_PATH  unless the program is set-user-ID
 *   RUNPATH          of the object that needs it
 *   ld.so.cache      unless the object was linked with -z nodeflib
 *   default          the system's directories
 *
 * and in each directory first in glibc-hwcaps/ for the level of this processor. A file of another class or machine is
 * passed over. An object already loaded under the name, or whose SONAME is the name, serves again.
 */
#include "lib/fsroot.h"
#include "lib/parse.h"
#include "probe/loader/elf.h"

enum pr_rule {
	PR_BY_PATH, /* the name had a slash, or it is the program itself */
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
	char *path, *real; /* as found; with all links resolved */
	char *from;        /* the directory's text as it was given ("$ORIGIN/../lib"), NULL for rules without one */
	int owner;         /* whose RPATH or RUNPATH it was, -1 for other rules */
	char *broken;      /* why the loader gives up at this file instead of passing it over; NULL: it is sound */
};

struct pr_object {
	char *name; /* as asked for first: "libcudart.so.12" */
	struct pr_hit hit;
	int by;                   /* the object that asked, -1 for the program and preloads */
	bool opened;              /* by dlopen at run time, not by a DT_NEEDED */
	const struct pr_elf *elf; /* NULL if not found or broken */
	struct gt_strv aliases;   /* other names it was asked by */
	struct pr_hit *hidden;    /* of a watched library: the other files its search would have come to, in order */
	size_t n_hidden;
};

struct pr_loader {
	struct pr_object *obj; /* in load order, the program first; those not found at their place */
	size_t n;
	bool secure; /* set-user-ID: LD_LIBRARY_PATH is ignored */
	struct gt_strv preload_missing;
	/* what it works on; not ours */
	struct gt_fsroot *fs;
	struct pr_elf_cache *elf_cache;
	/* the environment, split */
	struct gt_strv library_path, hwcaps, system_dirs;
};

/* Files already looked into: shared by all simulations of one host. */
struct pr_elf_cache;
struct pr_elf_cache *pr_elf_cache_new(struct gt_fsroot *fs);
void pr_elf_cache_free(struct pr_elf_cache *e);
GT_DEFINE_AUTO(pr_elf_cache, pr_elf_cache_free);
/* The file at a path (NULL and -ENOEXEC, -EINVAL, -ENOENT …, if it is none). In a root that is not live a capture's
 * fact stands for the content. */
int pr_elf_cache_get(struct pr_elf_cache *e, const char *path, const struct pr_elf **ret, struct gt_err *err);
/* Name of the fact that stands for the content of the file with this path (all links resolved). The caller frees it. */
char *pr_elf_fact_name(const char *path);
/* What was looked into, for captures: name of the fact and its text, by index; false behind the last. The caller frees.
 */
bool pr_elf_cache_fact(const struct pr_elf_cache *e, size_t i, char **ret_name, char **ret_text);
/* Lines "SONAME PATH" of the loader's cache that a search came upon; NULL if none. The caller frees it. */
char *pr_elf_cache_cached(const struct pr_elf_cache *e);

struct pr_load_opts {
	const char *library_path, *preload; /* as in the environment; NULL: not set */
	const char *cpu_flags;              /* " fpu … ", for glibc-hwcaps */
};
/* Load the program (or library) at path with all it needs. Fails if path itself is no dynamic ELF file. */
int pr_load(struct gt_fsroot *fs, struct pr_elf_cache *elf_cache, const char *path, const struct pr_load_opts *opts,
	    struct pr_loader **ret, struct gt_err *err);
/* As if object `by` called dlopen(name). Returns the index of the object, or -ENOENT; its own needs are loaded as well.
 */
int pr_load_more(struct pr_loader *l, const char *name, int by);
/* The file that a program without RPATH and RUNPATH gets for a library, all links resolved, also where that file is broken and
 * the program would end; NULL if there is none. The caller frees it. */
char *pr_load_find(struct gt_fsroot *fs, struct pr_elf_cache *elf_cache, const char *soname, const struct pr_load_opts *opts);
void pr_loader_free(struct pr_loader *l);
GT_DEFINE_AUTO(pr_loader, pr_loader_free);
/* The loaded object whose name, SONAME or alias is name, -1 if none. */
int pr_loader_find(const struct pr_loader *l, const char *name);
/* Is this a library of the GPU stack, or a run-time library that must not be loaded twice? */
bool pr_is_watched(const char *soname);
/* The Python distribution that brings a watched library ("nvidia-cudnn"), NULL if none does. */
const char *pr_watched_dist(const char *soname);
/* "libcudart" is the stem of "libcudart.so.12". */
bool pr_has_stem(const char *soname, const char *stem);
#endif
