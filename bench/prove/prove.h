/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PROVE_H
#define BN_PROVE_H
/*
 * Which of the changes help on this host? Total effect with A/A pairs; then each change: leave-one-out and add-one for up
 * to six, a fold-over design beyond; what helps is kept, and confirmed on fresh data. The result is a receipt.
 */
#include "bench/stats/design.h"
#include "bench/bench.h"
#include "bench/result/analyze.h"
#include "bench/workload/workload.h"
#include "bench/session/treat.h"
#include "lib/cli.h"

#define BN_PROVE_ALPHA	  .05
#define BN_PROVE_AA	  6 /* A/A pairs among those of the total effect */
#define BN_PROVE_MECHANISM 9 /* pairs, to see whether a change moves what it claims to */

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
	const json_t *phase; /* that loss was measured in, NULL: none. Borrowed from doc */
	size_t changes, column; /* of a design: how many it has, and which one this is; 0: leave-one-out */
	const char *why; /* nobody can tell; NULL: no reason was given. Borrowed from doc */
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
	struct bn_race *races;
	size_t n_races;
	struct bn_proof *proof;
	size_t n_proof;
	/* of the metric that decides */
	char *metric;
	bool higher;
	struct bn_margins margin;
};
/* All phases; those that doc already holds are not measured again. Returns an exit status, or a negative errno. */
int bn_prove_run(struct bn_prove *p);
json_t *bn_prove_receipt(const struct bn_prove *p, const struct pr_host *host, const char *profile);
json_t *bn_effect_json(const struct bn_effect *e); /* as the receipt has it; null if there is none */
/* The metric that decides, found in the first phase that was measured. Exit 5 if there is none. */
int bn_prove_metric(struct bn_prove *p, const json_t *doc);
void bn_prove_clear(struct bn_prove *p);

bool bn_prove_designed(const struct bn_prove *p); /* all changes at once, or one by one? */
bool bn_prove_total_is_all(const struct bn_prove *p); /* one change, whose arms are boots: the first phase has measured it */
size_t bn_prove_aa(const struct bn_prove *p);	    /* A/A pairs of the total effect */
size_t bn_prove_mechanism_pairs(const struct bn_prove *p); /* of each change that is kept */
size_t bn_prove_design_rows(size_t changes);	    /* pairs that the design takes */
/* ---- what else was seen (prove_seen.c), for the receipt ---- */

/* [{key, from, to, when, phases}]: differences that nobody declared, within the phases and from one to the next. */
json_t *bn_prove_confounders(const struct bn_prove *p);
json_t *bn_prove_warnings(const struct bn_prove *p); /* [{code, text, hint, phases}]; no phases: all */
json_t *bn_prove_outliers(const struct bn_prove *p); /* {n, farthest: [those of bn_outliers(), with their phase]} */

/* ---- the samples (prove_samples.c), for the receipt ---- */

json_t *bn_prove_samples(const struct bn_prove *p);
/* The index of the test in samples.tests that a change was judged by; -1: it was not measured. */
int bn_prove_test(const struct bn_prove *p, const struct bn_proof *f);

/* ---- the plan (prove_plan.c): doc.plan, and what is said of it ---- */

/* Before anything is measured. -ETIME and exit 64: --minutes is too short to compare anything. */
int bn_plan_say(struct bn_prove *p);
/* After three A/A pairs: what can be seen, and how long it takes; fails as bn_plan_say(). See struct bn_session, planned. */
int bn_plan_pilot(void *p, const json_t *run, double need_s, struct gt_err *err);
void bn_plan_refine(struct bn_prove *p, const json_t *total); /* after the total effect */
json_t *bn_plan_json(const struct bn_prove *p);		      /* the plan beside what it took, for the receipt */
/* Of --minutes: seconds that are left to the phase that comes now; infinite without a limit. */
double bn_plan_left_s(const struct bn_prove *p);
bool bn_plan_time_for(const struct bn_prove *p, double keep_s); /* is there time for one pair and keep_s after it? */
double bn_plan_confirm_s(const struct bn_prove *p);		/* what the confirmation needs at least */
double bn_plan_after_races_s(const struct bn_prove *p);		/* what of all of it belongs to what follows the races */
double bn_plan_after_total_s(const struct bn_prove *p);		/* what of the time left belongs to what follows the total */
void bn_plan_missed(struct bn_prove *p, const char *what);	/* into doc.not_reached */

/* ---- races (prove_race.c) ---- */

/* "ID=VALUE,VALUE": checked against this host; q gets the change with the first value. Frees with bn_races_free also when
 * this fails. */
int bn_races_parse(struct gt_fsroot *fs, const struct gt_strv *specs, struct bn_request *q, struct bn_race **ret, size_t *ret_n,
		   struct gt_err *err);
json_t *bn_races_json(const struct bn_race *races, size_t n);
int bn_races_recall(const json_t *list, struct bn_race **ret, size_t *ret_n, struct gt_err *err);
void bn_races_free(struct bn_race *races, size_t n);
size_t bn_races_pairs(const struct bn_race *races, size_t n); /* of launches, in all rounds */
/* Run them; each change then has the value that won, or is none. doc.races says how. As bn_phase_run(). */
int bn_races_run(struct bn_prove *p);

/* ---- one phase (prove_phase.c): the arms are what stage->arms.on says, or what the design says block by block ---- */

struct bn_phase {
	const char *name;
	const char *what;     /* the change it is about, or NULL */
	const char *workload; /* this one alone; NULL: those of the request */
	size_t pairs, aa_pairs;
	bool looks;
	const struct bn_design *design;
	double keep_s; /* of the time allowed, for what follows */
};
bool bn_phase_cut(const json_t *doc); /* by the time allowed */
/* Run it, or what is left of it, and analyse it. *ret is borrowed from p->doc. Returns the exit code of the analysis, or a
 * negative errno. */
int bn_phase_run(struct bn_prove *p, const struct bn_phase *ph, json_t **ret);
/* The comparison of one metric; NULL: of the first primary one. NULL if there is none. */
const json_t *bn_phase_row(const json_t *doc, const char *metric);
double bn_phase_log(const json_t *row, const char *key); /* a percentage as a log-ratio */
struct bn_effect bn_phase_effect(const json_t *row);
/* Of the guards: is one worse (or another primary metric)? Is one not shown to be not worse? */
void bn_phase_guards(const json_t *doc, bool *ret_worse, bool *ret_open);
/* The same of change k of a designed phase, from the effects of all changes on all metrics: metric m, change k at [m *
 * n + k]. */
void bn_design_guards(const struct bn_data *data, const struct bn_effect *effects, size_t n, size_t k, bool *ret_worse,
		      bool *ret_open);
#endif
