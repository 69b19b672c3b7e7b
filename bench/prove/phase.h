/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PHASE_H
#define BN_PHASE_H
/* One phase. The arms are set by stage->arms.on, or block by block by the design. */
#include "bench/prove/state.h"
#include "bench/result/data.h"
#include "bench/stats/design.h"

struct bn_phase {
	const char *name;
	const char *what;     /* the change that is measured, or NULL */
	const char *workload; /* the only workload to run; NULL: the workloads of the request */
	size_t pairs, aa_pairs;
	bool interims;
	const struct bn_design *design;
	double reserve_s; /* part of the time limit that is reserved for later phases */
};
bool bn_phase_cut(const struct bn_phase_result *r); /* whether the time limit ended the phase */
/*
 * Runs the phase, or the remaining part of it, and analyses it. *ret is borrowed from p. Returns the exit code of the
 * analysis, or a negative errno.
 */
int bn_phase_run(struct bn_prove *p, const struct bn_phase *ph, const struct bn_phase_result **ret);
void bn_phase_results_free(struct bn_prove *p);
/* Return whether a guard (or another primary metric) is worse, and whether a guard is not shown to be not worse. */
void bn_phase_guards(const struct bn_phase_result *r, bool *ret_worse, bool *ret_open);
/*
 * The same for change k of a designed phase, from the effects of all changes on all metrics: the effect of change k on
 * metric m is at [m * n + k].
 */
void bn_design_guards(const struct bn_data *data, const struct bn_effect *effects, size_t n, size_t k, bool *ret_worse,
		      bool *ret_open);
/* Finds the metric that decides, in the first phase that was measured. Exit 5 if there is none. */
int bn_prove_metric(struct bn_prove *p, const struct bn_phase_result *r);
#endif
