/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RESULT_H
#define BN_RESULT_H
/* The outer members of a result document. */
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/json.h"

struct pr_host;
struct gt_fsroot;
/* Returns {schema, tool, run{argv,…}, host, treatment{declared:[]}, arms}. argv: the arguments of main(). fs: filesystem
 * of the host. */
json_t *bn_result_new(struct gt_fsroot *fs, const struct pr_host *host, char *const *argv);
void bn_declare(json_t *doc, const char *id, const char *from, const char *to, const char *when);
/* Prints the identity parts or fingerprint members that differ between two results; "" if both may be from one machine. */
void bn_identity_difference(const json_t *a, const json_t *b, struct gt_buf *out);
/* Returns whether anything shows that both are from one machine. Results of older versions have no fingerprint and are
 * accepted. */
bool bn_identity_shown(const json_t *a, const json_t *b);
/* Checks whether a session that was started on one host can continue on the other. Machine, kernel, driver and
 * measuring suite must be equal (otherwise exit status 4). Other differences are recorded as differences of settings. */
int bn_same_host(const json_t *old, const json_t *now, struct gt_err *err);
int64_t bn_suite_major(const json_t *doc); /* major version of a result's suite; -1: not recorded */
#endif
