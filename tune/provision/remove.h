/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_REMOVE_H
#define TN_REMOVE_H
#include "tune/provision/record.h"

/* Removes these packages, as far as they are installed, and their entries of the record. Releases gputune's holds
 * first, then purges. A package whose configuration files existed before is removed but not purged. Refused if apt
 * would change any other package. */
int tn_remove_packages(struct gt_fsroot *fs, const struct pr_host *host, struct tn_record *record, const struct gt_strv *names,
		       struct gt_err *err);
/* Returns why packages of the record must stay: one entry per package, NULL if it may be removed. The caller frees all. */
char **tn_remove_reasons(struct gt_fsroot *fs, const struct tn_dpkg *dpkg, const struct tn_record *record);

/* Checks for a live host and root. Exit 3 if not. */
int tn_provision_may(struct gt_fsroot *fs, struct gt_err *err);
json_t *tn_provision_report(const char *command);
void tn_provision_report_end(struct gt_fsroot *fs, json_t *report, const char *result);
#endif
