/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_ANALYZE_H
#define BN_ANALYZE_H
/*
 * From launches to verdicts. Pure. bench/stats/verdict.h has the rule for one metric.
 *
 * The verdict of the session is the worst of its primary metrics. A guard that is worse makes it worse. A guard whose estimate is
 * worse by its margin or more makes a gain inconclusive. A guard that is not shown to be not worse (non-inferiority) is named in
 * guards_open: to demand that proof of each guard would deny every gain on a host with a noisy tail.
 *
 * To be better or worse a change must also be as large as what identical arms differed by in this session. That raises
 * the first margin alone: noise must make it harder to claim something, and "same" and "not worse" are claims too.
 */
#include "bench/result/data.h"
#include "bench/stats/verdict.h"

struct bn_limits {
	double floor; /* unpaired: no verdict of better or worse below this share; .03 */
	bool require_conclusive;
};

/* Put comparisons, aa, warnings, summary, verdict and exit_code into the document, replacing what was there.
 * Returns the exit code. */
int bn_analyze(struct bn_data *data, const struct bn_limits *limits);
#endif
