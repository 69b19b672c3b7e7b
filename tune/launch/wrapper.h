/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_WRAPPER_H
#define TN_WRAPPER_H
/* Programs such as env, nohup and taskset, which set something for one process and then become the command in their arguments. */
#include <stdbool.h>
#include <stddef.h>

struct tn_command {
	char *const *argv;  /* the command behind the wrappers; points into the caller's argv */
	char *const *envp;  /* its environment: the caller's, with what env(1) changes */
	char **changed;	    /* NULL: envp is the caller's */
};
/* A wrapper with an option that is not known here is itself the command. argv may be NULL. */
void tn_command_find(char *const *argv, char *const *envp, struct tn_command *ret);
void tn_command_clear(struct tn_command *c);
#endif
