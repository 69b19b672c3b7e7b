/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PROVE_PLAN_H
#define BN_PROVE_PLAN_H
/* The planned phases (doc.plan), the messages about them, and the time limit. */
#include "bench/prove/state.h"

/* Prints and stores the plan, before the measurement. Fails with -ETIME and exit status 64 if --minutes is too short. */
int bn_plan_print(struct bn_prove *p);
/*
 * Called after three A/A pairs (struct bn_session, planned). Prints the detectable effect and the expected duration.
 * Fails like bn_plan_print().
 */
int bn_plan_pilot(void *p, const json_t *run, double need_s, struct gt_err *err);
void bn_plan_refine(struct bn_prove *p, const json_t *total); /* called after the total effect is measured */
json_t *bn_plan_json(const struct bn_prove *p);		      /* the plan with the real duration, for the receipt */
/* Returns the seconds of --minutes that are left for the next phase; infinite without a limit. */
double bn_plan_left_s(const struct bn_prove *p);
bool bn_plan_time_for(const struct bn_prove *p, double reserve_s); /* true: time remains for one pair and reserve_s more */
double bn_plan_confirm_s(const struct bn_prove *p);		/* minimum duration of the confirmation */
double bn_plan_after_races_s(const struct bn_prove *p);		/* part of the limit for the phases after the races */
double bn_plan_after_total_s(const struct bn_prove *p);		/* part of the remaining time for the phases after the total
								 * effect */
void bn_plan_skipped(struct bn_prove *p, const char *what);	/* adds to doc.not_reached */
#endif
