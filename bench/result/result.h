/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RESULT_H
#define BN_RESULT_H
/* The frame of a result document. */
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/json.h"

struct pr_host;
struct gt_fsroot;
/* {schema, tool, run{argv,…}, host, treatment{declared:[]}, arms}. argv: as main had it. fs: of the host. */
json_t *bn_result_new(struct gt_fsroot *fs, const struct pr_host *host, char *const *argv);
void bn_declare(json_t *doc, const char *id, const char *from, const char *to, const char *when);
/* Which identity parts or marks of two results differ, as text; "" if they may be of one machine. */
void bn_identity_difference(const json_t *a, const json_t *b, struct gt_buf *out);
/* And does anything show that they are? Results of older versions, which have no marks, are taken at their word. */
bool bn_identity_shown(const json_t *a, const json_t *b);
/* May a session begun on one go on on the other? The same machine, kernel, driver and measuring suite (else exit 4); everything
 * else is noticed as a difference of settings. */
int bn_same_host(const json_t *old, const json_t *now, struct gt_err *err);
int64_t bn_suite_major(const json_t *doc); /* of a result; -1: it does not say */
#endif
