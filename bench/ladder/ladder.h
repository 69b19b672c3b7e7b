/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LADDER_H
#define BN_LADDER_H
/*
 * The tables that articles about training speed show, measured on this host: one technique more per rung. Each launch of a
 * rung is a fresh `gpubench train`; rounds go through all rungs in tossed order, and a speed-up is judged by the ratios within
 * rounds, so that drift of the host favours no rung.
 */
#include "lib/cli.h"
#include "lib/json.h"

#define BN_LADDER_WORDS	 16
#define BN_LADDER_ROUNDS_MAX 200

struct bn_rung {
	const char *name;
	/* Words after `gpubench train MODEL` or `gpubench data PATH`, and instead of the ladder's own where both say the
	 * same option. "@ranks" is the number of ranks, "@cpus" of CPUs, "@share" the ladder's batch divided by the ranks. */
	const char *options[BN_LADDER_WORDS];
	bool gpu_only;
};
struct bn_ladder {
	const char *id, *title;
	const char *what; /* what the rungs differ by, and what stays the same; one sentence */
	const char *train[BN_LADDER_WORDS]; /* the model and its sizes */
	uint64_t batch;			    /* of all ranks together, where @share is used */
	bool data; /* climbs with `gpubench data` on what --data names, not with gpubench train */
	const struct bn_rung *rung;	    /* ends with a rung without a name; the first is what the others are compared with */
};
extern const struct bn_ladder bn_ladders[]; /* ends with one without an id */

struct bn_ladder_request {
	const char *model;   /* instead of the ladder's; NULL */
	const char *device, *data;
	struct gt_strv train; /* further words for each gpubench train */
	const char *save;     /* written after each launch; NULL or "-": nowhere */
	uint64_t rounds, ranks, seed; /* ranks 0: the CPUs, at most 4 */
};
/* Climbs the ladders of these names, or all that can run. *ret: the analysed document. *ret_wrong: the loss of a run did not
 * fall. */
int bn_ladder_climb(struct gt_cli *cli, const struct bn_ladder_request *q, char *const *names, int n, json_t **ret,
		    bool *ret_wrong);

/* Medians, speed-ups and their intervals, from the launches in the document; replaces what was there. */
void bn_ladder_analyze(json_t *doc);
#endif
