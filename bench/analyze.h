/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_ANALYZE_H
#define BN_ANALYZE_H
/*
 * From launches to verdicts. Pure. The rules (all at the alpha of the planned look):
 *   better / worse   the interval excludes "no change", the adjusted p agrees, and the estimate is at least the margin
 *   same             the whole interval lies inside the metric's own margin
 *   inconclusive     anything else, and whatever could not be computed
 * The session is what the worst of its primary metrics is, and its guards have a say: one that is worse makes it worse;
 * one that seems so, by its margin or more, leaves a gain inconclusive; and one that is not shown to be not worse
 * (non-inferiority) is named beside the verdict, in guards_open. Demanding that proof of each guard would deny every
 * gain on a host with a noisy tail.
 *
 * To be better or worse a change must also be as large as what identical arms differed by in this session. That raises
 * the first margin alone: noise must make it harder to claim something, and "same" and "not worse" are claims too.
 */
#include "bench/data.h"

enum bn_verdict { BN_INCONCLUSIVE, BN_SAME, BN_BETTER, BN_WORSE };
extern const char *const bn_verdict_name[];

/* Logs. change: what better and worse need at least; same: within which it is the same, and a guard not worse. */
struct bn_margins {
	double change, same;
};
/* own: of the metric, a log; aa: of the A/A pairs of this session, if there are enough of them. */
struct bn_margins bn_margins(double own, struct bn_effect aa);

/* What identical arms differ by, d: log-ratios of n A/A pairs, asked of `tests` metrics at once. By the sign-flip test; where
 * so few pairs could never be significant among so many by that, by the t-test, which assumes more: a check that cannot fail
 * is none. */
struct bn_effect bn_aa_effect(const double *d, size_t n, size_t tests, uint64_t seed);

/* The rule itself. higher: more is better; est, lo, hi and the margins are logs. */
enum bn_verdict bn_decide(bool higher, struct bn_effect e, double p_adj, double alpha, struct bn_margins margin);

/* Non-inferiority: is it shown that a guard got worse by less than the margin, which is never a raised one? */
bool bn_not_worse(bool higher, struct bn_effect e, double margin);

struct bn_limits {
	double floor; /* unpaired: no verdict of better or worse below this share; .03 */
	bool require_conclusive;
};

/* Put comparisons, aa, warnings, summary, verdict and exit_code into the document, replacing what was there.
 * Returns the exit code. */
int bn_analyze(struct bn_data *data, const struct bn_limits *limits);
#endif
