/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_OUTPUTS_H
#define BN_OUTPUTS_H
/* The output files of a command. */
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/json.h"

struct bn_outputs {
	const char *json, *html, *markdown, *openmetrics, *trace; /* paths, "-" is stdout; NULL: not requested */
};
/*
 * Replaces %h in every path by the host's name and %r by the rank from srun or mpirun (otherwise 0). Each process of a
 * cluster then writes its own file. The new paths are never freed.
 */
void bn_outputs_expand(struct bn_outputs *out);
bool bn_outputs_take_stdout(const struct bn_outputs *out); /* one of the paths is "-" */
/* Checks that all files can be written, before a measurement that takes minutes. */
int bn_outputs_try(const struct bn_outputs *out, struct gt_err *err);
/* Write one file each; path NULL: not requested. A failure does not prevent the remaining output. *r and err keep the
 * first error. */
void bn_output_write(const char *path, const char *text, size_t len, int *r, struct gt_err *err);
void bn_output_render(const char *path, void (*render)(const json_t *, struct gt_buf *), const json_t *doc, int *r,
		      struct gt_err *err);
#endif
