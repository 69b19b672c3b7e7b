/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PROCESS_IDENTITY_H
#define TN_PROCESS_IDENTITY_H
/* Identifies a process of the machine that runs this program, also when the root is a directory. */
#include <stdbool.h>
#include <stdint.h>

struct tn_process {
	int64_t pid, start; /* start: clock ticks after boot; distinguishes processes that had the same pid */
	char *by;	    /* name of the program */
	bool alive;     /* the process existed when the journal was read */
};

void tn_process_self(struct tn_process *ret); /* the caller frees by */
bool tn_process_alive(const struct tn_process *p);
bool tn_process_is_self(const struct tn_process *p);
#endif
