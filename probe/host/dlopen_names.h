/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_OPENS_H
#define PR_OPENS_H
/* What the GPU stack opens by name at run time, and what is worth telling of it. */
#include "probe/host/python.h"
#include "probe/loader/loader.h"

/* Follow the dlopen calls that libraries of the GPU stack are known to make; `names` (with blanks between them, or
 * NULL) are opened by object `by` besides. */
void pr_open_known(struct pr_loader *l, const char *names, int by);
/* As if `import MODULE` ran in the environment: 1, 0 if the module is not there, or a negative errno. */
int pr_load_import(struct gt_fsroot *fs, struct pr_elf_cache *elf_cache, const struct pr_pyenv *env, const struct pr_import *im,
		   const struct pr_load_opts *opts, struct pr_loader **ret, struct gt_err *err);
/* The environment as the host has it. */
struct pr_load_opts pr_load_opts_of(const struct pr_host *h);
/* From the name of the file, else from the distribution that brought it; NULL: it does not say. The caller frees it. */
char *pr_lib_version(const struct pr_pyenv *env, const char *soname, const char *real);
/* The hidden file that would be found but for LD_LIBRARY_PATH or LD_PRELOAD and is of another version; -1: none. */
int pr_forced_hit(const struct pr_object *o, const struct pr_pyenv *env);
#endif
