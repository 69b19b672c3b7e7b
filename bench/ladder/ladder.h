/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LADDER_H
#define BN_LADDER_H
/*
 * Tables of training techniques, measured on this host, with one more technique per rung. Each launch of a rung is a
 * new `gpubench train` process. Each round runs all rungs in random order. A speed-up is computed from the ratios
 * within rounds, so drift of the host favours no rung.
 */
#include "lib/cli.h"
#include "lib/json.h"

#define BN_LADDER_WORDS	 16
#define BN_LADDER_ROUNDS_MAX 200

struct bn_rung {
	const char *name;
	/* Options after `gpubench train MODEL` or `gpubench data PATH`. They override the ladder's own. "@ranks" is the
	 * number of ranks, "@cpus" the number of CPUs, "@share" the ladder's batch divided by the ranks. */
	const char *options[BN_LADDER_WORDS];
	bool gpu_only;
};
struct bn_ladder {
	const char *id, *title;
	const char *what; /* one sentence: the difference between the rungs, and the common parts */
	const char *train[BN_LADDER_WORDS]; /* model and sizes */
	uint64_t batch;			    /* batch over all ranks, used by @share */
	bool data; /* uses `gpubench data` with the argument of --data, not gpubench train */
	const struct bn_rung *rung;	    /* ends with a rung without a name; the first is the baseline */
};
extern const struct bn_ladder bn_ladders[]; /* ends with a ladder without an id */

struct bn_ladder_request {
	const char *model;   /* model that overrides the ladder's; may be NULL */
	const char *device, *data;
	struct gt_strv train; /* further arguments of each gpubench train */
	const char *save;     /* file written after each launch; NULL or "-": none */
	uint64_t rounds, ranks, seed; /* ranks 0: as many as CPUs, at most 4 */
};
/* Runs the named ladders, or all that can run. *ret: the analysed document. *ret_wrong: whether the loss of a run did not fall. */
int bn_ladder_run(struct gt_cli *cli, const struct bn_ladder_request *q, char *const *names, int n, json_t **ret,
		  bool *ret_wrong);

/* Computes medians, speed-ups and their intervals from the launches in the document. Replaces existing values. */
void bn_ladder_analyze(json_t *doc);
#endif
