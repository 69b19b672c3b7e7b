/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_FILE_TRUST_H
#define TN_FILE_TRUST_H
/*
 * Which plans and profiles gputune accepts. On a live host with root's rights the file must belong to root, and no
 * other user may be able to write it. A user who can write it could otherwise change the host through gputune.
 */
#include <sys/stat.h>
#include "lib/err.h"
#include "lib/fsroot.h"
#include "lib/json.h"

/* Reads a file that the user named ("-": standard input). Exit 3 if the file is not trusted, 64 if it cannot be read. */
int tn_trusted_read(struct gt_fsroot *fs, const char *path, size_t max, char **ret, struct gt_err *err);
/* Reads and parses such a file. Exit 64 if it is not JSON. */
int tn_trusted_json(struct gt_fsroot *fs, const char *path, size_t max, json_t **ret, struct gt_err *err);
/* Reads a file of the host in fs. Returns -ENOENT without a sentence if it does not exist. */
int tn_trusted_read_host(struct gt_fsroot *fs, const char *path, size_t max, char **ret, struct gt_err *err);
#endif
