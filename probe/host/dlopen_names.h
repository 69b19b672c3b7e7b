/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_DLOPEN_NAMES_H
#define PR_DLOPEN_NAMES_H
/* Libraries that the GPU stack loads with dlopen() by name, and their versions. */
#include "probe/host/python.h"
#include "probe/loader/loader.h"

/* Simulates the dlopen() calls that libraries of the GPU stack are known to make. Object `by` also opens `names`
 * (separated by blanks, or NULL). */
void pr_open_known(struct pr_loader *l, const char *names, int by);
/* Simulates `import MODULE` in the environment. Returns 1, 0 if the module is absent, or a negative errno. */
int pr_load_import(struct gt_fsroot *fs, struct pr_elf_cache *elf_cache, const struct pr_pyenv *env, const struct pr_import *im,
		   const struct pr_load_opts *opts, struct pr_loader **ret, struct gt_err *err);
/* Returns the loader options from the host's environment and CPU flags. */
struct pr_load_opts pr_load_opts_of(const struct pr_host *h);
/* Returns the version from the file name, else from the distribution that contains the file. NULL: unknown. The caller
 * frees it. */
char *pr_lib_version(const struct pr_pyenv *env, const char *soname, const char *real);
/* Returns the index of the hidden file that would be found without LD_LIBRARY_PATH or LD_PRELOAD, if its version
 * differs; -1: none. */
int pr_forced_hit(const struct pr_object *o, const struct pr_pyenv *env);
#endif
