/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_HISTORY_H
#define TN_HISTORY_H
/* History of changes for people: /var/lib/gputune/history, one JSON record per line. Revert does not use it. */
#include "lib/err.h"
#include "lib/fsroot.h"
#include "lib/json.h"

#define TN_HISTORY_SCHEMA "gputune-history/1"

/* Records a report of apply, revert or recover that changed something. A write error is printed as a note, not
 * returned: the host is in the reported state anyway. */
void tn_history_add(struct gt_fsroot *fs, const json_t *report, const char *profile);
/* Returns { "schema": …, "records": [ … ], "damaged": number of unreadable lines }, oldest record first. */
int tn_history_load(struct gt_fsroot *fs, json_t **ret, struct gt_err *err);
#endif
