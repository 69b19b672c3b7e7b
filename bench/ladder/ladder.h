/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LADDER_H
#define BN_LADDER_H
/*
 * The tables that articles about training speed show, measured on this host: one technique more per rung. Each launch of a
 * rung is a fresh `gpubench train`; rounds go through all rungs in tossed order, and a speed-up is judged by the ratios within
 * rounds, so that drift of the host favours no rung.
 */
#include "lib/json.h"

#define BN_LADDER_WORDS	 16

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

/* Medians, speed-ups and their intervals, from the launches in the document; replaces what was there. */
void bn_ladder_analyze(json_t *doc);
#endif
