/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PROVE_H
#define BN_PROVE_H
/*
 * Which of the changes help on this host? Total effect with A/A pairs; then each change: leave-one-out and add-one for up
 * to six, a fold-over design beyond; what helps is kept, and confirmed on fresh data. The result is a receipt.
 */
#include "bench/report.h"
#include "bench/treat.h"

#define BN_PROVE_SCHEMA	  "gpubench-prove/1"
#define BN_RECEIPT_SCHEMA "gpubench-receipt/1"

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

struct bn_prove {
	struct gt_cli *cli;
	struct bn_stage *stage;
	uint64_t seed;
	size_t pairs;	      /* of one comparison */
	bool looks;	      /* planned looks in the two that decide */
	bool keep_inconclusive;
	json_t *doc;	      /* gpubench-prove/1 */
	struct bn_proof *proof;
	size_t n_proof;
	/* of the metric that decides */
	char *metric;
	bool higher;
	double margin;
};
/* All phases. Returns an exit status, or a negative errno. */
int bn_prove_run(struct bn_prove *p);
json_t *bn_prove_receipt(const struct bn_prove *p, const struct pr_host *host, const char *profile);
void bn_prove_text(const json_t *receipt, FILE *out, bool color);
void bn_prove_clear(struct bn_prove *p);
extern const struct gt_cmd bn_cmd_prove;
#endif
