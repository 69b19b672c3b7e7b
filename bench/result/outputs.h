/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_OUTPUTS_H
#define BN_OUTPUTS_H
/* The files that a command writes what it found into. */
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/json.h"

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
