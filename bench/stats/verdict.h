/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_VERDICT_H
#define BN_VERDICT_H
/*
 * Computes a verdict from an effect with its interval. Pure. The rules, at the alpha of the planned interim analysis:
 *   better, worse   the interval excludes "no change", the adjusted p is at most alpha, the estimate is at least the margin
 *   same            the whole interval is inside the margin of the metric
 *   inconclusive    everything else, also if the effect could not be computed
 */
#include "bench/stats/stats.h"

#define BN_AA_PAIRS_MIN 3 /* fewer pairs of identical arms do not measure the noise */

enum bn_verdict { BN_INCONCLUSIVE, BN_SAME, BN_BETTER, BN_WORSE };
extern const char *const bn_verdict_name[];

/* Log-ratios. change: smallest change for better and worse. same: largest change for "same" and for a guard's "not
 * worse". */
struct bn_margins {
	double change, same;
};
/* own: the metric's own margin, a log-ratio. aa: effect of this session's A/A pairs; ignored if there are too few. */
struct bn_margins bn_margins(double own, struct bn_effect aa);

/* Returns the difference between identical arms from d, the log-ratios of n A/A pairs, for `tests` metrics at once.
 * Uses the sign-flip test. If so few pairs could never be significant for so many metrics, it uses the t-test, which
 * assumes more. A test that cannot become significant would check nothing. */
struct bn_effect bn_aa_effect(const double *d, size_t n, size_t tests, uint64_t seed);

/* Applies the rules. higher: more is better. est, lo, hi and the margins are log-ratios. */
enum bn_verdict bn_decide(bool higher, struct bn_effect e, double p_adj, double alpha, struct bn_margins margin);

/* Non-inferiority test: returns true if the guard is shown to be worse by less than the margin. Pass the metric's own
 * margin, not one raised by A/A noise. */
bool bn_not_worse(bool higher, struct bn_effect e, double margin);
#endif
