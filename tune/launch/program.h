/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PROGRAM_H
#define TN_PROGRAM_H
#include "tune/launch/context.h"

/* The file that NAME starts, by PATH of envp; NULL if there is none that may be executed: *ret_why (may be NULL) is then ENOENT, or
 * EACCES or EISDIR where there is a file of that name all the same. The caller frees it. */
char *tn_program_find(const char *name, char *const *envp, int *ret_why);
/* Why a file could not be started, by that or by execve()'s error: a clause. */
const char *tn_program_why(int error);
/* May its OpenMP threads be bound? If not, *ret_why says why (the caller frees it). */
bool tn_program_may_bind(const struct tn_launch *c, char **ret_why);
#endif
