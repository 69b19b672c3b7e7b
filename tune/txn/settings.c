/* SPDX-License-Identifier: Apache-2.0 */
/* The current value of every tunable that the host has, for results of gpubench. */
#include "tune/knob/list.h"
#include "tune/model/value.h"
#include "tune/plan/plan.h"
#include "tune/txn/journal.h"
#include "tune/txn/txn.h"

static void add_setting(struct gt_fsroot *fs, json_t *knobs, const struct tn_tunable *k, const char *instance)
{
	gt_autofree char *path = tn_tunable_path(k, instance), *label = tn_tunable_label(k, instance), *now = NULL;

	if (tn_value_read(fs, path, &now) >= 0)
		json_object_set_new(knobs, label, gt_json_str(now));
}

json_t *tn_settings(struct gt_fsroot *fs, const struct pr_host *host)
{
	json_t *knobs = json_object(), *tuners = json_array(), *held = json_array();
	gt_auto(pr_host) *own = NULL;
	gt_auto(tn_journal) *j = NULL;
	struct tn_facts facts;

	if (tn_host_get(fs, host, &own, &host, NULL) >= 0)
		for (size_t n = 0; tn_tunables[n]; n++) {
			gt_auto_strv instances = { 0 };

			if (tn_tunables[n]->check)
				continue;
			if (!tn_tunables[n]->instances)
				add_setting(fs, knobs, tn_tunables[n], NULL);
			else
				tn_tunables[n]->instances(fs, host, &instances);
			for (size_t i = 0; i < instances.n; i++)
				add_setting(fs, knobs, tn_tunables[n], instances.v[i]);
		}
	for (size_t i = 0; host && i < host->n_setting; i++)
		if (host->setting[i].now.v)
			json_object_set_new(knobs, host->setting[i].name, gt_json_str(host->setting[i].now.v));
	tn_facts_read(fs, &facts);
	for (size_t i = 0; i < facts.tuners.n; i++)
		json_array_append_new(tuners, gt_json_str(facts.tuners.v[i]));
	tn_facts_clear(&facts);
	if (tn_journal_load(fs, &j, NULL) >= 0)
		for (size_t i = 0; i < j->n_tx; i++)
			for (size_t k = 0; k < j->tx[i].n_entry && tn_tx_status(j, &j->tx[i]) != TN_STATUS_VOID; k++)
				if (j->tx[i].entry[k].kind == TN_ENTRY_VALUE)
					json_array_append_new(held, gt_json_str(j->tx[i].entry[k].path));
	return json_pack("{s:o, s:o, s:o}", "knobs", knobs, "tuners", tuners, "held_by_gputune", held);
}
