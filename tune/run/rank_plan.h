/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RANK_PLAN_H
#define TN_RANK_PLAN_H
/* TN_RANK_PLAN: the options of gputune run, and the variables that it changed with their values before. */
#include "lib/json.h"
#include "tune/run/options.h"

/* Returns the plan for the processes that this launch starts. The caller frees it. */
char *tn_rank_plan(const struct tn_run *run, const struct tn_run_opts *opts);
/* Restores variables of this process to their values before the surrounding gputune run, unless they were changed
 * since, and removes the plan. Returns the plan; NULL: there is none. The caller frees it. */
json_t *tn_rank_plan_undo(void);
/* Fills the options from a plan, which must outlive them. only and skip are added to. */
void tn_rank_plan_opts(const json_t *plan, struct tn_run_opts *ret, struct gt_strv *only, struct gt_strv *skip);
/* Returns the answer to libgputune-rank.so: the records described at TN_RANK_ANSWER, *ret_len bytes. plan: the one that
 * tn_rank_plan_undo() returned. The caller frees it. */
char *tn_rank_answer(const struct tn_run *run, const json_t *plan, size_t *ret_len);
#endif
