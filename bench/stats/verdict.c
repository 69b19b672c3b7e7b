/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "bench/stats/verdict.h"
#include "lib/util.h"

#define ALPHA .05

const char *const bn_verdict_name[] = { [BN_INCONCLUSIVE] = "inconclusive", [BN_SAME] = "same", [BN_BETTER] = "better",
					[BN_WORSE] = "worse", NULL };

struct bn_margins bn_margins(double own, struct bn_effect aa)
{
	bool noise = aa.n >= BN_AA_PAIRS_MIN && isfinite(aa.est);

	return (struct bn_margins){noise ? fmax(own, fabs(aa.est)) : own, own};
}

struct bn_effect bn_aa_effect(const double *d, size_t n, size_t tests, uint64_t seed)
{
	bool never = n < 60 && ldexp(2, -(int)n) * (double)GT_MAX(tests, (size_t)1) > ALPHA;

	return n >= BN_AA_PAIRS_MIN && never ? bn_t_effect(d, n, ALPHA) : bn_signflip(d, n, ALPHA, seed);
}

enum bn_verdict bn_decide(bool higher, struct bn_effect e, double p_adj, double alpha, struct bn_margins margin)
{
	double gain = higher ? e.est : -e.est, lo = higher ? e.lo : -e.hi, hi = higher ? e.hi : -e.lo;

	if (!isfinite(gain) || !isfinite(lo) || !isfinite(hi) || !isfinite(margin.change) || !isfinite(margin.same) ||
	    isnan(p_adj))
		return BN_INCONCLUSIVE;
	if (hi - lo < 1e-12) /* a smaller width of logarithms is a rounding error; a metric without variance was not measured */
		return BN_INCONCLUSIVE;
	if (lo > 0 && gain >= margin.change && p_adj <= alpha)
		return BN_BETTER;
	if (hi < 0 && -gain >= margin.change && p_adj <= alpha)
		return BN_WORSE;
	if (lo > -margin.same && hi < margin.same)
		return BN_SAME;
	return BN_INCONCLUSIVE;
}

bool bn_not_worse(bool higher, struct bn_effect e, double margin)
{
	double worst = higher ? e.lo : -e.hi; /* bound of the interval on the worse side, as a gain */

	return isfinite(worst) && isfinite(margin) && worst > -margin;
}
