/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a workload's samples to metrics of the launch. */
#include <stdio.h>
#include "bench/workload/workload.h"
#include "lib/util.h"

void bn_series(struct bn_launch *l, const struct bn_workload *w, const char *suffix, enum bn_role role,
	       const double *samples, size_t n, size_t warmup, bool tail)
{
	json_t *raw = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(raw, gt_json_real(samples[i]));
	json_array_append_new(l->metrics, json_pack("{s:s+, s:s, s:s, s:s, s:f, s:b, s:I, s:o}", "id", w->id, suffix,
						    "unit", w->unit, "direction", bn_direction_name[w->direction],
						    "role", bn_role_name[role], "margin", w->margin, "tail", tail,
						    "warmup", (json_int_t)warmup, "samples", raw));
}

void bn_launch_take(struct bn_launch *l, const json_t *answer)
{
	const char *wrong = gt_json_get_str(json_object_get(answer, "verify"), "wrong", NULL);

	json_array_extend(l->metrics, json_object_get(answer, "metrics"));
	snprintf(l->wrong, sizeof(l->wrong), "%s", wrong ? wrong : "");
	json_object_update(l->params, json_object_get(answer, "params"));
	json_object_update(l->notes, json_object_get(answer, "notes"));
}
