/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_HISTORY_H
#define TN_HISTORY_H
/* What was done here and when, for people: /var/lib/gputune/history, one JSON record a line. Nothing is undone from it.
 */
#include "lib/err.h"
#include "lib/fsroot.h"
#include "lib/json.h"

#define TN_HISTORY_SCHEMA "gputune-history/1"

/* Note a report of apply, revert or recover that changed something. What cannot be written is talk, not a failure: the
 * host is as the report says. */
void tn_history_add(struct gt_fsroot *fs, const json_t *report, const char *profile);
/* { "schema": …, "records": [ … ], "damaged": lines that are none }, oldest first. */
int tn_history_load(struct gt_fsroot *fs, json_t **ret, struct gt_err *err);
#endif
