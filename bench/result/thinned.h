/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_THINNED_H
#define BN_THINNED_H
/* Limits the size of a result file so that it can be read again. Samples are dropped, launches never. */
#include "lib/err.h"
#include "lib/json.h"

/*
 * Returns the text of a session (gpubench/1, gpubench-prove/1), at most max bytes. If it would be longer, every second
 * sample of the densest series is dropped, repeatedly. The member "every" of a series then gives the distance between
 * its samples, and the session gets a note. Returns NULL and sets -E2BIG with exit status 5 if that is not enough.
 */
char *bn_thinned_text(json_t *doc, size_t max, struct gt_err *err);
/* Writes bn_thinned_text() to a file, with room for the analysis that is added at the end. */
int bn_thinned_write(const char *path, json_t *doc, struct gt_err *err);
#endif
