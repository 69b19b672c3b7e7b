/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/resource.h>
#include "bench/workload/launch.h"

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static json_t *process_json(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return json_null();
	return json_pack("{s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "user_s", seconds(u.ru_utime), "system_s",
			 seconds(u.ru_stime), "max_rss_bytes", (json_int_t)u.ru_maxrss * 1024, "minor_faults",
			 (json_int_t)u.ru_minflt, "major_faults", (json_int_t)u.ru_majflt, "voluntary_switches",
			 (json_int_t)u.ru_nvcsw, "involuntary_switches", (json_int_t)u.ru_nivcsw);
}

int bn_launch_run(const struct bn_workload *w, struct bn_launch *l, json_t **ret_doc, struct gt_err *err)
{
	const char *why = w->unavailable ? w->unavailable(l->fs) : NULL;
	gt_autofree char *params = NULL;
	double t0 = gt_now_s();
	json_t *definition;
	int r;

	if (why)
		return gt_fail(err, EOPNOTSUPP, "%s cannot run here: %s", w->id, why);
	l->metrics = json_array();
	l->params = json_object();
	l->notes = json_object();
	json_object_set_new(l->notes, "null_ns", gt_json_real(bn_null_ns()));
	r = w->run(l, err);
	if (r < 0) {
		json_decref(l->metrics);
		json_decref(l->params);
		json_decref(l->notes);
		return r;
	}
	params = json_dumps(l->params, JSON_COMPACT | JSON_SORT_KEYS);
	definition = json_sprintf("%s/%u %s", w->id, w->version, params);
	*ret_doc = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:{s:b, s:s, s:s?}, s:o, s:f}", "schema", BN_LAUNCH_SCHEMA,
			     "workload", w->id, "definition", definition, "params", l->params, "notes", l->notes,
			     "metrics", l->metrics, "verify", "ok", l->wrong[0] == '\0', "what",
			     l->verify ? l->verify : w->verifies, "wrong", l->wrong[0] ? l->wrong : NULL, "process",
			     process_json(), "inside_s", gt_now_s() - t0);
	return 0;
}
