/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_COMMAND_H
#define BN_COMMAND_H
/*
 * The user's own command as a workload. Its wall time, or the numbers that it prints or writes, become the same
 * document that a built-in workload produces.
 */
#include <regex.h>
#include "bench/workload/workload.h"
#include "lib/spawn.h"

enum bn_source { BN_WALL, BN_REGEX, BN_JSON, BN_FILE };

struct bn_command {
	char *const *argv;	/* NULL: no command */
	const char *spec;	/* "wall", "regex:PATTERN", "json:KEY" or "file:PATH" */
	const char *unit;
	const char *better;	/* "lower" or "higher" */
	double margin_pct, timeout_s;
	uint64_t warmup;	/* number of warm-up samples; UINT64_MAX: determined automatically */
	enum bn_source source;	/* filled by bn_command_check() */
	const char *detail;	/* the part of metric after the colon */
	regex_t re;
	char *previous_text;		/* content of the file before this launch */
};
#define BN_COMMAND_OUTPUT_MAX (64u << 20)

/* Parses the specification. Fails with exit status 64. */
int bn_command_check(struct bn_command *c, struct gt_err *err);
void bn_command_clear(struct bn_command *c);
json_t *bn_command_to_json(const struct bn_command *c);
/* Call before each launch. Stores the content of the file, so that old numbers are not taken for new ones. */
void bn_command_begin(struct bn_command *c);
/* Returns the document (gpubench-launch/1) of a launch with exit status 0, or a document with "failure". */
/* Note of a launch: part of the time in which the main thread waited for batches, as gputune's sitecustomize.py reports it. */
#define BN_FETCH_NOTE "fetch_wait"
json_t *bn_command_document(struct bn_command *c, const struct gt_spawn *sp);
#endif
