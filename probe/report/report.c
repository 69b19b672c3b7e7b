/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the report of a host as one document (gpuprobe/1). */
#include "probe/report/report.h"

static const char *verdict_word(int exit_code)
{
	static const char *const word[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

	return word[exit_code];
}

static json_t *finding_json(const struct pr_judged *j, size_t i)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:o}", "id", j[i].check->id, "result", pr_result_name(j[i].f.result), "title",
			      j[i].check->title, "what", gt_json_str(j[i].f.what));

	json_object_set_new(o, "remedy", *j[i].f.remedy ? gt_json_str(j[i].f.remedy) : json_null());
	json_object_set_new(o, "cause", j[i].cause >= 0 ? json_string(j[j[i].cause].check->id) : json_null());
	return o;
}

/* Returns the index of the first failure without a cause, else of the first such warning; -1: none. */
static int first_cause(const struct pr_judged *j, size_t n)
{
	for (enum pr_result want = PR_FAIL; want >= PR_WARN; want--)
		for (size_t i = 0; i < n; i++)
			if (j[i].f.result == want && j[i].cause < 0)
				return (int)i;
	return -1;
}

json_t *pr_report_json(const struct pr_host *h, const struct pr_judged *j, size_t n, int exit_code)
{
	json_t *list = json_array();
	int cause = first_cause(j, n);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, finding_json(j, i));
	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o}", "schema", "gpuprobe/1", "verdict", verdict_word(exit_code),
			 "exit_code", exit_code, "cause", cause >= 0 ? json_string(j[cause].check->id) : json_null(), "checks",
			 list, "host", pr_host_to_json(h));
}

int pr_report_of(struct gt_fsroot *fs, json_t **ret, struct gt_err *err)
{
	struct pr_context c = { .fs = fs };
	gt_auto(pr_host) *h = NULL;
	gt_autofree struct pr_judged *j = NULL;
	size_t n;
	int r = pr_host_discover(fs, &(const struct pr_discover_opts){ 0 }, &h, err);

	if (r < 0)
		return r;
	c.host = h;
	n = pr_judge(&c, &j);
	*ret = pr_report_json(h, j, n, pr_exit_code(j, n));
	return 0;
}
