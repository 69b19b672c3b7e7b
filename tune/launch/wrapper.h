/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_WRAPPER_H
#define TN_WRAPPER_H
/*
 * Wrappers such as env, nohup and taskset: programs that change one property of the process and then execute the command
 * given in their arguments.
 */
#include <stdbool.h>
#include <stddef.h>

struct tn_command {
	char *const *argv;  /* the command after the wrappers; points into the caller's argv */
	char *const *envp;  /* its environment: the caller's, changed by env(1) */
	char **changed;	    /* NULL: envp is the caller's */
};
/* Finds the command after the wrappers. A wrapper with an unknown option counts as the command. argv may be NULL. */
void tn_command_find(char *const *argv, char *const *envp, struct tn_command *ret);
void tn_command_clear(struct tn_command *c);
#endif
