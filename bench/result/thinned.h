/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_THINNED_H
#define BN_THINNED_H
/* What is written can be read again: a document that has grown too large for that gives up samples, never launches. */
#include "lib/err.h"
#include "lib/json.h"

/*
 * The text of a session (gpubench/1, gpubench-prove/1), at most max bytes. Where it would be longer, every second sample of the
 * series that are the densest is dropped until it is not: a series then says in "every" which ones it still has, and a note of its
 * session says so. NULL and -E2BIG, exit status 5, where even that is not enough.
 */
char *bn_thinned_text(json_t *doc, size_t max, struct gt_err *err);
/* bn_thinned_text() into a file, with room for what is found in the end. */
int bn_thinned_write(const char *path, json_t *doc, struct gt_err *err);
#endif
