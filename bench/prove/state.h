/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PROVE_STATE_H
#define BN_PROVE_STATE_H
/* The state of a prove session. */
#include "bench/bench.h"
#include "bench/session/setup.h"
#include "bench/result/analyze.h"
#include "lib/cli.h"

#define BN_PROVE_ALPHA	  .05
#define BN_PROVE_AA	  6 /* A/A pairs during the measurement of the total effect */
#define BN_PROVE_MECHANISM 9 /* pairs that test whether a change has its claimed effect */

/* The analysis of a measured phase. */
struct bn_phase_result {
	const char *name; /* borrowed from doc */
	json_t *doc;	  /* borrowed from the document of the session */
	struct bn_data *data;
	struct bn_analysis *analysis;
};

/* The results for one change. A group is all instances of one knob. It is switched as a whole, and split if it has an
 * effect. */
struct bn_proof {
	size_t *factor; /* indices into arms->factor */
	size_t n;
	struct bn_effect loss, alone; /* log-ratios of switching the change on: among the others, and by itself; alone may be
				       * NaN */
	double p_adj;
	enum bn_verdict verdict;
	bool kept, guard_worse;
	bool guard_open; /* a guard is not shown to be not worse */
	const char *method;
	const struct bn_phase_result *phase; /* phase that measured loss, or NULL */
	size_t changes, column; /* of a change in a design: number of all changes, and its index; 0: measured by leave-one-out */
	const char *why; /* why the verdict is inconclusive, or NULL; borrowed from phase */
	bool late; /* the time limit ended its measurement */
	int moved; /* effect on its mechanism: 1 yes, 0 no, -1 no mechanism or not measured */
};

/* A setting with several values, of which at most one is tested. */
struct bn_race {
	char *id; /* id of a knob, or env.NAME */
	struct gt_strv values;
};

struct bn_prove {
	struct gt_cli *cli;
	struct bn_stage *stage;
	uint64_t seed;
	size_t pairs;       /* number of pairs of a comparison */
	bool interims;	      /* planned interim analyses in the total effect and the confirmation */
	bool by_boot;	      /* each arm is a separate boot */
	bool keep_inconclusive;
	double limit_s;	      /* time limit of the whole session; 0: none. Skipped steps are listed. */
	bool more_time;	      /* resumed with another limit: the order of phases may differ */
	double total_s;	      /* part of limit_s for the total effect */
	double pair_s;	      /* duration of a pair on this host, NaN until the total effect is measured */
	json_t *doc;	      /* gpubench-prove/1 */
	size_t next_phase;    /* index in doc.phases; all earlier ones are complete */
	struct bn_phase_result **result; /* analysed phases, in order */
	size_t n_results;
	struct bn_race *races;
	size_t n_races;
	struct bn_proof *proof;
	size_t n_proof;
	/* margin of the metric that decides */
	char *metric;
	bool higher;
	struct bn_margins margin;
};

bool bn_prove_designed(const struct bn_prove *p); /* whether all changes are measured at once, not one by one */
bool bn_prove_total_is_all(const struct bn_prove *p); /* one change whose arms are boots: the first phase has already measured
						       * it */
size_t bn_prove_aa(const struct bn_prove *p);	    /* A/A pairs of the total effect */
size_t bn_prove_mechanism_pairs(const struct bn_prove *p); /* pairs that test the mechanism of a kept change */
size_t bn_prove_design_rows(size_t changes);	    /* number of pairs in the design */
const struct bn_phase_result *bn_prove_result(const struct bn_prove *p, const char *name); /* the last phase of that name, or
											    * NULL */
json_t *bn_effect_json(const struct bn_effect *e); /* JSON as in the receipt; null if no effect was measured */
#endif
