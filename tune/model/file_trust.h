/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_TRUST_H
#define TN_TRUST_H
/*
 * Whose files we follow. Where root changes a live host, a plan or profile must belong to root and be writable by nobody
 * else, since whoever can write it could change the host through us.
 */
#include <sys/stat.h>
#include "lib/err.h"
#include "lib/fsroot.h"
#include "lib/json.h"

/* A file that the user named ("-": standard input). Exit 3 if it is not to be trusted, 64 if it cannot be read. */
int tn_trusted_read(struct gt_fsroot *fs, const char *path, size_t max, char **ret, struct gt_err *err);
/* The document in it; exit 64 where it is none. */
int tn_trusted_json(struct gt_fsroot *fs, const char *path, size_t max, json_t **ret, struct gt_err *err);
/* A file of the host in fs; -ENOENT without a sentence if it is not there. */
int tn_trusted_read_host(struct gt_fsroot *fs, const char *path, size_t max, char **ret, struct gt_err *err);
#endif
