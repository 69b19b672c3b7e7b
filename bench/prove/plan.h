/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PROVE_PLAN_H
#define BN_PROVE_PLAN_H
/* doc.plan, what is said of it, and the time that is allowed. */
#include "bench/prove/state.h"

/* Before anything is measured. -ETIME and exit 64: --minutes is too short to compare anything. */
int bn_plan_say(struct bn_prove *p);
/* After three A/A pairs: what can be seen, and how long it takes; fails as bn_plan_say(). See struct bn_session, planned. */
int bn_plan_pilot(void *p, const json_t *run, double need_s, struct gt_err *err);
void bn_plan_refine(struct bn_prove *p, const json_t *total); /* after the total effect */
json_t *bn_plan_json(const struct bn_prove *p);		      /* the plan beside what it took, for the receipt */
/* Of --minutes: seconds that are left to the phase that comes now; infinite without a limit. */
double bn_plan_left_s(const struct bn_prove *p);
bool bn_plan_time_for(const struct bn_prove *p, double keep_s); /* is there time for one pair and keep_s after it? */
double bn_plan_confirm_s(const struct bn_prove *p);		/* what the confirmation needs at least */
double bn_plan_after_races_s(const struct bn_prove *p);		/* what of all of it belongs to what follows the races */
double bn_plan_after_total_s(const struct bn_prove *p);		/* what of the time left belongs to what follows the total */
void bn_plan_missed(struct bn_prove *p, const char *what);	/* into doc.not_reached */
#endif
