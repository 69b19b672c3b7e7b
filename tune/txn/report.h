/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_REPORT_H
#define TN_REPORT_H
/* The document of apply, revert, recover, verify and status. */
#include "tune/txn/journal.h"

#define TN_REPORT_SCHEMA "gputune-report/1"

json_t *tn_report_new(const char *command);
/* Adds the entry to "values" or "files". Returns the new object, which belongs to the report. */
json_t *tn_report_value(json_t *report, const struct tn_entry *e, const char *result);
void tn_report_set_str(json_t *o, const char *key, const char *value);
/* Notes that the journal was not readable, unless all. */
void tn_report_set_all(json_t *report, bool all);
#endif
