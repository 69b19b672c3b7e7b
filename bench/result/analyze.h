/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_ANALYZE_H
#define BN_ANALYZE_H
/*
 * Computes verdicts from launches. Pure. bench/stats/verdict.h has the rule for one metric.
 *
 * The verdict of the session is the worst of its primary metrics. A guard that is worse makes it worse. A guard whose
 * estimate is worse by its margin or more makes a gain inconclusive. A guard that is not shown to be not worse
 * (non-inferiority) is open. Requiring that proof of each guard would deny every gain on a host with a noisy tail.
 *
 * For better or worse, a change must also be as large as the difference between identical arms in this session. That
 * raises only the margin of change. Noise must make it harder to claim something, and "same" and "not worse" are claims
 * too.
 */
#include "bench/result/data.h"
#include "bench/stats/verdict.h"

struct bn_limits {
	double floor; /* unpaired: no verdict of better or worse below this share; .03 */
	bool require_conclusive;
};

/* One metric in both arms. Effects and margins are log-ratios. */
struct bn_comparison {
	const struct bn_metric *m;
	size_t index; /* index of the metric */
	struct bn_pairs pairs, aa_pairs;
	double a_median, b_median;
	size_t n_a, n_b;
	struct bn_effect e, t, aa; /* estimates of the deciding test, of Student's t, and of the A/A pairs */
	double hl, sd, p_adj, aa_p_adj;
	struct bn_margins margin;
	const char *family;
	enum bn_verdict verdict;
	bool aa_bad, tiny, unfit; /* unfit: the numbers support no claim, not even "not worse" */
	bool breaks;		  /* launches fail because of the change */
	bool open, seems_worse;	  /* guards only. open: not shown to be not worse; seems_worse: the estimate is worse by the
				   * margin or more */
	size_t more;		  /* further pairs or launches that would decide; 0: unknown */
	char reason[256];	  /* why the verdict is inconclusive, or "" */
};

enum bn_outcome {
	BN_OUTCOME_INCONCLUSIVE = BN_INCONCLUSIVE,
	BN_OUTCOME_SAME = BN_SAME,
	BN_OUTCOME_BETTER = BN_BETTER,
	BN_OUTCOME_WORSE = BN_WORSE,
	BN_OUTCOME_MEASURED, /* no comparison */
	BN_OUTCOME_INVALID,
	BN_OUTCOME_WRONG, /* a workload's result was wrong */
};
extern const char *const bn_outcome_name[];

/* The analysis of a session. data is borrowed and must outlive it. */
struct bn_analysis {
	const struct bn_data *data;
	struct bn_limits limits;
	struct bn_comparison *row; /* one per metric; none in a session of one arm */
	size_t n;
	enum bn_kind kind; /* kind of the blocks that are compared */
	bool paired;
	size_t primaries;
	double alpha;	  /* alpha of the interim analysis that was reached */
	const char *withheld; /* why no verdict may be given, or NULL */
	enum bn_outcome outcome;
	int exit_code;
	char why[256];	  /* reason of the outcome, or "" */
	json_t *warnings; /* warnings about the data and from the analysis */
};
struct bn_analysis *bn_analysis_new(const struct bn_data *data, const struct bn_limits *limits);
void bn_analysis_free(struct bn_analysis *a);
GT_DEFINE_AUTO(bn_analysis, bn_analysis_free);

/* Returns the comparison of that metric, or NULL if there is none. metric NULL: the first primary metric. */
const struct bn_comparison *bn_analysis_find(const struct bn_analysis *a, const char *metric);
/* Returns the effect with its interval; the bounds are NaN without an interval. n: values in each arm. */
struct bn_effect bn_comparison_effect(const struct bn_comparison *c);
bool bn_comparison_not_worse(const struct bn_comparison *c);
/* For an open guard: pairs or launches that would show it to be not worse, assuming the observed effect. */
size_t bn_guard_needed(const struct bn_analysis *a, const struct bn_comparison *c);
#endif
