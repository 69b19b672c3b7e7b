/* SPDX-License-Identifier: Apache-2.0 */
/* Conclusions from the launches of a session so far for the following ones. */
#include <math.h>
#include "bench/session/session.h"
#include "bench/workload/workload.h"

static size_t every_of(const json_t *series)
{
	return (size_t)GT_MAX(gt_json_get_int(series, "every", 1), (int64_t)1);
}

/* Sets the number of warm-up samples once, from the launches so far, for all launches of both arms. A separate number
 * for each launch could favour one arm. */
void bn_freeze_warmup(json_t *metrics, json_t *launches)
{
	size_t i, k;
	json_t *m, *rec;

	/* The number counts measured samples. In a thinned document (thinned.h) only every second or fourth of them is
	 * stored. */
	json_array_foreach(metrics, i, m) {
		const char *id = gt_json_get_str(m, "id", "");
		gt_autofree double *starts = gt_xcalloc(json_array_size(launches) + 1, sizeof(*starts));
		size_t n = 0, most;

		if (!gt_json_get_bool(m, "warmup_auto", false) || json_object_get(m, "warmup"))
			continue;
		json_array_foreach(launches, k, rec)
			if (json_object_get(json_object_get(rec, "metrics"), id))
				starts[n++] = (double)(bn_warmup_of(json_object_get(json_object_get(rec, "metrics"), id)) *
						       every_of(json_object_get(json_object_get(rec, "metrics"), id)));
		most = n ? (size_t)ceil(bn_median(starts, n)) : 0; /* uses the median, which one unusual launch hardly changes */
		json_object_set_new(m, "warmup", json_integer((json_int_t)most));
		json_array_foreach(launches, k, rec) {
			json_t *series = json_object_get(json_object_get(rec, "metrics"), id);

			if (series)
				json_object_set_new(series, "warmup",
						    json_integer((json_int_t)((most + every_of(series) - 1) / every_of(series))));
		}
	}
}

bool bn_is_command(const char *id)
{
	const struct bn_workload *w = bn_workload_find(id);

	return w && !w->run;
}

bool bn_fails_with_change(json_t *launches, size_t enough)
{
	size_t i, all[2] = { 0 }, failed[2] = { 0 };
	json_t *rec;

	json_array_foreach(launches, i, rec) {
		bool changed = gt_streq(gt_json_get_str(rec, "kind", NULL), bn_kind_name[BN_KIND_AB]) &&
			       gt_streq(gt_json_get_str(rec, "arm", NULL), "B");

		if (!bn_is_command(gt_json_get_str(rec, "workload", "")))
			continue;
		all[changed]++;
		failed[changed] += gt_json_get_str(rec, "failure", NULL) != NULL;
	}
	return all[1] >= enough && failed[1] == all[1] && !failed[0];
}
