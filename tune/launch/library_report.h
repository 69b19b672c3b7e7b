/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LOADER_H
#define TN_LOADER_H
/* What a program that is to be started would load, without starting it. */
#include "tune/launch/context.h"

/* The file behind soname as ld.so finds it for a program without RPATH, started with c's environment (pr_load_find). All links
 * resolved; NULL if it finds none. The caller frees it. */
char *tn_loader_find(const struct tn_launch *c, const char *soname);
char *tn_loader_find_by(const struct tn_launch *c, const char *soname, const char *library_path); /* by another LD_LIBRARY_PATH */
/* Debian's directory for libraries of this processor: "x86_64-linux-gnu". */
const char *tn_multiarch(const struct pr_host *h);
/* The PyTorch that a Python command of a virtual environment would import, if it is a wheel: those bring a BLAS and an
 * OpenMP of their own. NULL: none, or Debian's, which uses the host's libraries. The caller frees it. */
char *tn_loader_wheel(const struct tn_launch *c);
/* Can the loader put this file into a program before all others? Tried in a child without privileges. */
bool tn_loader_tries(const char *path);
#endif
