/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PROGRAM_H
#define TN_PROGRAM_H
#include "tune/launch/context.h"

/*
 * Returns the file that NAME starts, searched in PATH of envp. NULL: no such file can be executed. *ret_why (may be
 * NULL) is then ENOENT, or EACCES or EISDIR if a file of that name exists. The caller frees the result.
 */
char *tn_program_find(const char *name, char *const *envp, int *ret_why);
/* Returns a clause that tells why a file could not be started. error: from tn_program_find() or execve(). */
const char *tn_program_why(int error);
/* Returns whether the file of the command names an OpenMP runtime. False if it cannot be read, or is a script. */
bool tn_program_names_openmp(const struct tn_launch *c);
/* Returns the package of a Python script that starts processes and divides the cores among them, such as "lightning". It
 * does so only if OMP_NUM_THREADS is not set. NULL: none. */
const char *tn_program_pool(const struct tn_launch *c);
/* Returns whether OpenMP threads of the program may be bound. If not, *ret_why has the reason (the caller frees it). */
bool tn_program_may_bind(const struct tn_launch *c, char **ret_why);
#endif
