/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_COMMAND_H
#define BN_COMMAND_H
/*
 * The user's own command as a workload: what it says about itself, or how long it takes, made into the document that a
 * launch of ours would answer with.
 */
#include <regex.h>
#include "bench/workload/workload.h"
#include "lib/spawn.h"

enum bn_source { BN_WALL, BN_REGEX, BN_JSON, BN_FILE };

struct bn_command {
	char *const *argv;	/* NULL: none was given */
	const char *spec;	/* "wall", "regex:PATTERN", "json:KEY" or "file:PATH" */
	const char *unit;
	const char *better;	/* "lower" or "higher" */
	double margin_pct, timeout_s;
	uint64_t warmup;	/* samples; UINT64_MAX: found by itself */
	enum bn_source source;	/* filled by bn_command_check() */
	const char *detail;	/* the part after the colon */
	regex_t re;
	char *before;		/* what the file held before this launch */
};
#define BN_COMMAND_OUTPUT_MAX (64u << 20)

/* Understand the specification; exit 64 with what is wrong with it. */
int bn_command_check(struct bn_command *c, struct gt_err *err);
void bn_command_clear(struct bn_command *c);
json_t *bn_command_to_json(const struct bn_command *c);
/* Before each launch: remember what the file holds, so that old numbers are not taken for new ones. */
void bn_command_begin(struct bn_command *c);
/* After a launch that ended well: its document (gpubench-launch/1), or one with "failure". */
json_t *bn_command_document(struct bn_command *c, const struct gt_spawn *sp);
#endif
