/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LIBRARY_REPORT_H
#define TN_LIBRARY_REPORT_H
/* Finds the libraries that a program would load, without starting the program. */
#include "tune/launch/context.h"

/* Returns the file for soname that ld.so finds for a program without RPATH in c's environment (pr_load_find). All links
 * are resolved. NULL: not found. The caller frees it. */
char *tn_loader_find(const struct tn_launch *c, const char *soname);
char *tn_loader_find_by(const struct tn_launch *c, const char *soname, const char *library_path); /* for another LD_LIBRARY_PATH */
/* Returns Debian's library directory of this architecture, such as "x86_64-linux-gnu". */
const char *tn_multiarch(const struct pr_host *h);
/* Returns the PyTorch that a Python command of a virtual environment would import, if it is a wheel. Wheels contain
 * their own BLAS and OpenMP. NULL: none, or Debian's package, which uses the host's libraries. The caller frees it. */
char *tn_loader_wheel(const struct tn_launch *c);
/* Returns whether the loader can preload this file. Tested in a child process without privileges. */
bool tn_loader_can_preload(const char *path);
#endif
