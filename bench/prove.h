/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PROVE_H
#define BN_PROVE_H
/*
 * Which of the changes help on this host? Total effect with A/A pairs; then each change: leave-one-out and add-one for up
 * to six, a fold-over design beyond; what helps is kept, and confirmed on fresh data. The result is a receipt.
 */
#include "bench/design.h"
#include "bench/report.h"
#include "bench/treat.h"

#define BN_PROVE_SCHEMA	  "gpubench-prove/1"
#define BN_RECEIPT_SCHEMA "gpubench-receipt/1"
#define BN_PROVE_ALPHA	  .05

/* What is known about one change. A group is all instances of one knob: it is switched as one, and split if it moves. */
struct bn_proof {
	size_t *factor; /* indices into arms->factor */
	size_t n;
	struct bn_effect loss, alone; /* log, of turning it on: among the others, and by itself; alone may be NaN */
	double p_adj;
	enum bn_verdict verdict;
	bool kept, guard_worse;
	const char *method;
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
	bool keep_inconclusive;
	json_t *doc;	      /* gpubench-prove/1 */
	size_t next_phase;    /* in doc.phases: those before it are whole */
	struct bn_race *races;
	size_t n_races;
	struct bn_proof *proof;
	size_t n_proof;
	/* of the metric that decides */
	char *metric;
	bool higher;
	double margin;
};
/* All phases; those that doc already holds are not measured again. Returns an exit status, or a negative errno. */
int bn_prove_run(struct bn_prove *p);
json_t *bn_prove_receipt(const struct bn_prove *p, const struct pr_host *host, const char *profile);
void bn_prove_html(const json_t *receipt, struct gt_buf *out);
void bn_prove_text(const json_t *receipt, FILE *out, bool color);
json_t *bn_effect_json(const struct bn_effect *e); /* as the receipt has it; null if there is none */
/* The metric that decides, found in the first phase that was measured. Exit 5 if there is none. */
int bn_prove_metric(struct bn_prove *p, const json_t *doc);
void bn_prove_clear(struct bn_prove *p);
/* Take up the session that doc (of file path) holds; out: where it goes on, NULL: path. */
int bn_prove_resume(struct gt_cli *cli, json_t *doc, const char *path, const char *out);
extern const struct gt_cmd bn_cmd_prove;

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
};
/* Run it, or what is left of it, and analyse it. *ret is borrowed from p->doc. Returns the exit code of the analysis, or a
 * negative errno. */
int bn_phase_run(struct bn_prove *p, const struct bn_phase *ph, json_t **ret);
/* The comparison of one metric; NULL: of the first primary one. NULL if there is none. */
const json_t *bn_phase_row(const json_t *doc, const char *metric);
double bn_phase_log(const json_t *row, const char *key); /* a percentage as a log-ratio */
struct bn_effect bn_phase_effect(const json_t *row);
bool bn_phase_guard_worse(const json_t *doc); /* or another primary metric */
#endif
