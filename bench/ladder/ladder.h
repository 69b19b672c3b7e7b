/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LADDER_H
#define BN_LADDER_H
/*
 * Tables of techniques, measured on this host. Each launch of a rung is a new process of gpubench. Each round runs all rungs in
 * random order. A speed-up is computed from the ratios within rounds, so drift of the host favours no rung.
 */
#include "lib/cli.h"
#include "lib/json.h"

#define BN_LADDER_WORDS	 16
#define BN_LADDER_ROUNDS_MAX 200

/*
 * Options of one command. "@ranks" is the number of ranks, "@cpus" the number of CPUs, "@share" the ladder's batch divided by
 * the ranks. "@dir/NAME" is a file in a directory that exists while the ladder runs.
 */
struct bn_rung {
	const char *name;
	const char *options[BN_LADDER_WORDS]; /* override the ladder's own */
	bool gpu_only, cpu_only;
};
enum bn_ladder_command { BN_LADDER_TRAIN, BN_LADDER_DATA, BN_LADDER_INFER, BN_LADDER_OP, BN_LADDER_COMMANDS };
enum bn_ladder_data { BN_LADDER_NO_DATA, BN_LADDER_ANY_DATA, BN_LADDER_IMAGES };
struct bn_ladder {
	const char *id, *title;
	const char *what; /* one sentence: the difference between the rungs, and the common parts */
	enum bn_ladder_command command;	    /* that a launch of a rung runs */
	enum bn_ladder_data data;	    /* what --data must name */
	bool cpu_only;
	const char *model[BN_LADDER_WORDS]; /* model and sizes; replaced by --model */
	const char *train[BN_LADDER_WORDS], *infer[BN_LADDER_WORDS]; /* options of every training and inference */
	uint64_t batch;			    /* batch over all ranks, used by @share */
	const struct bn_rung *setup; /* trainings before the first round; ends with one without a name; NULL: none */
	/* A launch of gpubench train saves @dir/rung.st. This checkpoint is then evaluated on held-out data. */
	bool evaluate;
	const struct bn_rung *rung;	    /* ends with a rung without a name; the first is the baseline */
};
extern const struct bn_ladder bn_ladders[]; /* ends with a ladder without an id */

struct bn_ladder_request {
	const char *model;   /* model that overrides the ladder's; may be NULL */
	const char *device, *data;
	struct gt_strv train; /* further arguments of each gpubench train or op */
	const char *save;     /* file written after each launch; NULL or "-": none */
	uint64_t rounds, ranks, seed; /* ranks 0: as many as CPUs, at most 4 */
};
/* Runs the named ladders, or all that can run. *ret: the analysed document. *ret_wrong: whether the loss of a run did not fall. */
int bn_ladder_run(struct gt_cli *cli, const struct bn_ladder_request *q, char *const *names, int n, json_t **ret,
		  bool *ret_wrong);

/* Computes medians, speed-ups and their intervals from the launches in the document. Replaces existing values. */
void bn_ladder_analyze(json_t *doc);
#endif
