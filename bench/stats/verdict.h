/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_VERDICT_H
#define BN_VERDICT_H
/*
 * From an effect with its interval to a verdict. Pure. The rules, at the alpha of the planned interim analysis:
 *   better, worse   the interval excludes "no change", the adjusted p is at most alpha, the estimate is at least the margin
 *   same            the whole interval lies inside the margin of the metric
 *   inconclusive    anything else, and whatever could not be computed
 */
#include "bench/stats/stats.h"

#define BN_AA_PAIRS_MIN 3 /* fewer pairs of identical arms say nothing about the noise */

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
#endif
