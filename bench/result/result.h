/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RESULT_H
#define BN_RESULT_H
/* The frame of a result document, and what becomes of it at the end: files and the table. */
#include "bench/result/analyze.h"
#include "lib/buf.h"
#include "lib/cli.h"

struct pr_host;
struct gt_fsroot;
/* {schema, tool, run{argv,…}, host, treatment{declared:[]}, arms}; argc/argv as main had them, NULL-terminated. fs: of the host. */
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

struct bn_outputs {
	const char *json, *html, *markdown, *openmetrics, *trace; /* paths, "-" is stdout; NULL: not asked for */
};
/* In every path %h becomes this host's name and %r the rank that srun or mpirun gave this process (0 without), so that each
 * process of a cluster writes its own file. The new paths live as long as the program. */
void bn_outputs_expand(struct bn_outputs *out);
bool bn_outputs_take_stdout(const struct bn_outputs *out); /* one of them is "-" */
/* Can all of them be written? For what measures for minutes, and would say so at the end only. */
int bn_outputs_try(const struct bn_outputs *out, struct gt_err *err);
/* One file after another, NULL: not asked for. One that cannot be written keeps back neither the others nor the table; *r and err
 * keep the first error. */
void bn_output_write(const char *path, const char *text, size_t len, int *r, struct gt_err *err);
void bn_output_render(const char *path, void (*render)(const json_t *, struct gt_buf *), const json_t *doc, int *r,
		      struct gt_err *err);
#endif
