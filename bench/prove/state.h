/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PROVE_STATE_H
#define BN_PROVE_STATE_H
/* A session of prove under way. */
#include "bench/bench.h"
#include "bench/session/setup.h"
#include "bench/result/analyze.h"
#include "lib/cli.h"

#define BN_PROVE_ALPHA	  .05
#define BN_PROVE_AA	  6 /* A/A pairs among those of the total effect */
#define BN_PROVE_MECHANISM 9 /* pairs, to see whether a change moves what it claims to */

/* A phase that was measured, and its analysis. */
struct bn_phase_result {
	const char *name; /* borrowed from doc */
	json_t *doc;	  /* borrowed from the session's */
	struct bn_data *data;
	struct bn_analysis *analysis;
};

/* What is known about one change. A group is all instances of one knob: it is switched as one, and split if it moves. */
struct bn_proof {
	size_t *factor; /* indices into arms->factor */
	size_t n;
	struct bn_effect loss, alone; /* log, of turning it on: among the others, and by itself; alone may be NaN */
	double p_adj;
	enum bn_verdict verdict;
	bool kept, guard_worse;
	bool guard_open; /* a guard is not shown to be not worse */
	const char *method;
	const struct bn_phase_result *phase; /* that loss was measured in, NULL: none */
	size_t changes, column; /* of a design: how many it has, and which one this is; 0: leave-one-out */
	const char *why; /* nobody can tell; NULL: no reason was given. Borrowed from phase */
	bool late; /* the time was up before it was measured to the end */
	int moved; /* its mechanism: 1 yes, 0 no, -1 there is none or it was not looked at */
};

/* A setting with several values, of which one at most is worth proving. */
struct bn_race {
	char *id; /* of a knob, or env.NAME */
	struct gt_strv values;
};

struct bn_prove {
	struct gt_cli *cli;
	struct bn_stage *stage;
	uint64_t seed;
	size_t pairs;	      /* of one comparison */
	bool looks;	      /* planned looks in the two that decide */
	bool by_boot;	      /* each arm is a boot */
	bool keep_inconclusive;
	double limit_s;	      /* all of it ends after this long, with what is not reached by name; 0: none */
	bool more_time;	      /* resumed with another limit: it may go another way than before */
	double total_s;	      /* of limit_s, what the total effect may take */
	double pair_s;	      /* how long a pair takes here, once the total is measured; NaN before */
	json_t *doc;	      /* gpubench-prove/1 */
	size_t next_phase;    /* in doc.phases: those before it are whole */
	struct bn_phase_result **result; /* of the phases that were analysed, in order */
	size_t n_results;
	struct bn_race *races;
	size_t n_races;
	struct bn_proof *proof;
	size_t n_proof;
	/* of the metric that decides */
	char *metric;
	bool higher;
	struct bn_margins margin;
};

bool bn_prove_designed(const struct bn_prove *p); /* all changes at once, or one by one? */
bool bn_prove_total_is_all(const struct bn_prove *p); /* one change, whose arms are boots: the first phase has measured it */
size_t bn_prove_aa(const struct bn_prove *p);	    /* A/A pairs of the total effect */
size_t bn_prove_mechanism_pairs(const struct bn_prove *p); /* of each change that is kept */
size_t bn_prove_design_rows(size_t changes);	    /* pairs that the design takes */
const struct bn_phase_result *bn_prove_result(const struct bn_prove *p, const char *name); /* the last of that name, or NULL */
json_t *bn_effect_json(const struct bn_effect *e); /* as the receipt has it; null if there is none */
#endif
