/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/txn/report.h"

void tn_report_set_str(json_t *o, const char *key, const char *value)
{
	json_object_set_new(o, key, gt_json_str(value));
}

void tn_report_set_all(json_t *report, bool all)
{
	if (!all)
		tn_report_set_str(report, "journal", "not readable");
}

json_t *tn_report_new(const char *command)
{
	return json_pack("{s:s, s:s, s:s, s:[], s:[]}", "schema", TN_REPORT_SCHEMA, "command", command, "result", "", "values",
			 "files");
}

json_t *tn_report_value(json_t *report, const struct tn_entry *e, const char *result)
{
	json_t *o = json_object();

	if (e->kind == TN_ENTRY_FILE) {
		tn_report_set_str(o, "path", e->path);
		tn_report_set_str(o, "result", result);
		json_array_append_new(json_object_get(report, "files"), o);
		return o;
	}
	tn_report_set_str(o, "knob", e->knob);
	tn_report_set_str(o, "instance", e->instance);
	tn_report_set_str(o, "path", e->path);
	tn_report_set_str(o, "old", e->old);
	tn_report_set_str(o, "new", e->new_value);
	tn_report_set_str(o, "result", result);
	json_array_append_new(json_object_get(report, "values"), o);
	return o;
}
