/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_REMOVE_H
#define TN_REMOVE_H
#include "tune/provision/record.h"

/* Take these packages of the record away and out of it, whatever of them is there: holds of ours first, then purged (removed,
 * where configuration of theirs was there before). Refused if apt would touch anything else. */
int tn_remove_packages(struct gt_fsroot *fs, const struct pr_host *host, struct tn_record *record, const struct gt_strv *names,
		       struct gt_err *err);
/* Why packages of the record must stay: one entry per package, NULL where it may go. The caller frees all. */
char **tn_remove_reasons(struct gt_fsroot *fs, const struct tn_dpkg *dpkg, const struct tn_record *record);

/* A live host and root. Exit 3. */
int tn_provision_may(struct gt_fsroot *fs, struct gt_err *err);
json_t *tn_provision_report(const char *command);
void tn_provision_report_end(struct gt_fsroot *fs, json_t *report, const char *result);
#endif
