/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_ANALYZE_H
#define BN_ANALYZE_H
/*
 * From launches to verdicts. Pure. The rules (all at the alpha of the planned look):
 *   better / worse   the interval excludes "no change", the adjusted p agrees, and the estimate is at least the margin
 *   same             the whole interval lies inside the margin
 *   inconclusive     anything else, and whatever could not be computed
 * The margin is the metric's own, but never below what identical arms differed by in this session.
 */
#include "bench/data.h"

enum bn_verdict { BN_INCONCLUSIVE, BN_SAME, BN_BETTER, BN_WORSE };
extern const char *const bn_verdict_name[];

/* The rule itself. higher: more is better; est, lo, hi and margin are logs. */
enum bn_verdict bn_decide(bool higher, struct bn_effect e, double p_adj, double alpha, double margin);

/* Non-inferiority: is it shown that a guard got worse by less than the margin? */
bool bn_not_worse(bool higher, struct bn_effect e, double margin);

struct bn_limits {
	double floor; /* unpaired: no verdict of better or worse below this share; .03 */
	bool require_conclusive;
};

/* Put comparisons, aa, warnings, summary, verdict and exit_code into the document, replacing what was there.
 * Returns the exit code. */
int bn_analyze(struct bn_data *data, const struct bn_limits *limits);
#endif
