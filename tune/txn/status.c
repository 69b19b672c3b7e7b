/* SPDX-License-Identifier: Apache-2.0 */
/* The report of gputune status: the transactions and their changes. Reads only. */
#include "tune/txn/held.h"
#include "tune/txn/persisted_files.h"
#include "tune/txn/report.h"
#include "tune/txn/txn.h"

static const char *status_name(enum tn_tx_status s)
{
	static const char *const name[] = { [TN_STATUS_HELD] = "applied",	       [TN_STATUS_EXPERIMENT] = "experiment",
					    [TN_STATUS_BUSY] = "busy",	       [TN_STATUS_INTERRUPTED] = "interrupted",
					    [TN_STATUS_PENDING] = "pending reboot", [TN_STATUS_VOID] = "void" };

	return name[s];
}

static void add_values(const struct tn_journal *j, const struct tn_tx *t, json_t *report, const char *result)
{
	for (size_t i = 0; i < t->n_entry; i++)
		if (!tn_entry_expired(j, t, &t->entry[i]))
			tn_report_value(report, &t->entry[i], t->entry[i].new_value ? result : "changed by another program");
}

static json_t *tx_json(const struct tn_journal *j, const struct tn_tx *t)
{
	enum tn_tx_status status = tn_tx_status(j, t);
	char when[21];

	gt_time_iso8601(when, t->time);
	return json_pack("{s:I, s:s, s:b, s:s, s:s, s:s, s:I, s:o}", "id", (json_int_t)t->id, "state", status_name(status),
			 "temporary", t->temporary, "since", when, "profile", t->profile, "boot",
			 tn_tx_other_boot(j, t) ? "earlier" : "this", "pid", (json_int_t)t->process.pid, "by",
			 gt_json_str(t->process.by));
}

/* Adds persisted files without a record. Returns 1 if there are any, 0 or a negative errno. */
static int add_unrecorded(struct gt_fsroot *fs, const struct tn_journal *j, json_t *report, struct gt_err *err)
{
	gt_auto(tn_journal) *unrecorded = NULL;
	int r = tn_persisted_load(fs, j, &unrecorded, err);

	if (r >= 0 && unrecorded->n_tx)
		add_values(unrecorded, unrecorded->tx, report, TN_PERSISTED_LOST);
	return r < 0 ? r : unrecorded->n_tx > 0;
}

int tn_status_report(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err)
{
	static const enum tn_tx_status order[] = { TN_STATUS_INTERRUPTED, TN_STATUS_BUSY, TN_STATUS_EXPERIMENT, TN_STATUS_PENDING,
						   TN_STATUS_HELD };
	gt_auto(tn_journal) *j = NULL;
	json_t *report, *list;
	const char *result = "nothing applied";
	bool all;
	int r = tn_held_load(fs, &j, &all, err);

	if (r < 0)
		return r;
	report = tn_report_new("status");
	list = json_array();
	for (size_t i = 0; i < j->n_tx; i++) {
		enum tn_tx_status status = tn_tx_status(j, &j->tx[i]);

		if (status == TN_STATUS_VOID)
			continue;
		add_values(j, &j->tx[i], report, all ? status_name(status) : "kept");
		if (all)
			json_array_append_new(list, tx_json(j, &j->tx[i]));
	}
	json_object_set_new(report, "transactions", list);
	r = all ? add_unrecorded(fs, j, report, err) : 0;
	if (r < 0) {
		json_decref(report);
		return r;
	}
	if (r)
		result = "record lost";
	for (size_t i = GT_ARRAY_SIZE(order); i-- > 0;)
		if (tn_journal_find(j, order[i]))
			result = status_name(order[i]);
	tn_report_set_str(report, "result", all ? result : "not known");
	tn_report_set_all(report, all);
	*ret_exit = tn_held_exit(j, false, all);
	*ret_report = report;
	return 0;
}
