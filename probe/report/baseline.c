/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe --baseline: loads the baseline, and renders the document. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/table.h"
#include "probe/baseline/baseline.h"
#include "probe/report/report.h"

#define LONGEST (64u << 20)

static int against_report(const json_t *here, const char *text, size_t len, const char *name,
			  const struct gt_strv *allow, json_t **ret, struct gt_err *err)
{
	gt_auto_json *golden = NULL;
	json_t *part;
	int r = gt_json_parse(text, len, name, &golden, err);

	if (r >= 0)
		r = gt_json_check_schema(golden, "gpuprobe/1", name, err);
	if (r >= 0)
		r = gt_json_req_object(golden, "host", &part, err);
	if (r >= 0)
		r = gt_json_req_array(golden, "checks", &part, err);
	if (r < 0)
		return gt_starts_with(err->msg, name) ? r : gt_fail_prefix(err, "%s", name);
	*ret = pr_baseline_reports(here, golden, allow);
	return r;
}

static int against_capture(const json_t *here, const char *name, const struct gt_strv *allow, json_t **ret,
			   struct gt_err *err)
{
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto_json *golden = NULL;
	int r = gt_fs_open(name, &fs, err);

	if (r >= 0)
		r = pr_report_of(fs, &golden, err);
	if (r >= 0)
		*ret = pr_baseline_reports(here, golden, allow);
	return r;
}

int pr_baseline_compare(const json_t *here, const char *name, const struct gt_strv *allow, json_t **ret,
			struct gt_err *err)
{
	gt_autofree char *text = NULL;
	size_t len = 0;
	int r = gt_file_read(name, LONGEST, &text, &len, err);

	if (r < 0)
		return r;
	if (gt_starts_with(text, "gpuprobe-baseline/1\n"))
		r = pr_baseline_expect(here, text, name, allow, ret, err);
	else if (gt_starts_with(text, "gpuprobe-capture/"))
		r = against_capture(here, name, allow, ret, err);
	else if (*text == '{')
		r = against_report(here, text, len, name, allow, ret, err);
	else
		r = gt_fail(err, EINVAL,
			    "%s is no baseline: it is neither a capture, nor a report (gpuprobe --json), nor "
			    "expectations with the first "
			    "line gpuprobe-baseline/1",
			    name);
	if (r < 0 && !err->exit_status)
		err->exit_status = GT_EXIT_USAGE;
	return r;
}

/* Returns "gpus[0000:18:00.0] is missing" or "kernel.release is 6.1, should be 6.12". The caller frees it. */
static char *sentence(const json_t *d)
{
	const char *path = gt_json_get_str(d, "path", ""), *here = gt_json_get_str(d, "here", NULL),
		   *expected = gt_json_get_str(d, "expected", NULL);

	if (!here)
		return gt_xasprintf("%s is missing%s%s", path, gt_streq(expected, "there") ? "" : ", should be ",
				    gt_streq(expected, "there") ? "" : expected);
	if (!expected)
		return gt_xasprintf(gt_streq(here, "there") ? "%s is here and not in the baseline"
							    : "%s is %s, which the baseline does not know",
				    path, here);
	return gt_xasprintf("%s is %s, should be %s", path, *here ? here : "empty", *expected ? expected : "empty");
}

/* Returns the first difference with the severity of the verdict. */
static const json_t *worst_of(const json_t *doc, const json_t *list)
{
	const json_t *d;
	size_t i;

	json_array_foreach(list, i, d) if (!strcmp(gt_json_get_str(d, "severity", ""),
						   gt_json_get_str(doc, "verdict", ""))) return d;
	return json_array_get(list, 0);
}

void pr_baseline_line(const json_t *doc, struct gt_buf *out)
{
	const json_t *list = json_object_get(doc, "differences");
	size_t n = json_array_size(list);
	gt_autofree char *first = n ? sentence(worst_of(doc, list)) : NULL;

	gt_buf_printf(out, "GPUPROBE %s - ", gt_json_get_str(doc, "verdict", ""));
	if (n > 1)
		gt_buf_printf(out, "%zu differences from the baseline, among them: %s", n, first);
	else
		gt_buf_printf(out, "%s", n ? first : "as the baseline has it");
	gt_buf_printf(out, " | differences=%zu allowed=%zu compared=%d\n", n,
		      json_array_size(json_object_get(doc, "allowed")), (int)gt_json_get_int(doc, "compared", 0));
}

static void print_list(const json_t *list, const char *severity, const char *head)
{
	const json_t *d;
	size_t i;

	json_array_foreach(list, i, d)
	{
		gt_autofree char *text = sentence(d);

		if (severity && strcmp(gt_json_get_str(d, "severity", ""), severity))
			continue;
		if (head)
			printf("\n%s\n", head);
		head = NULL;
		gt_print_wrapped(stdout, text, 2, gt_term_width(stdout));
	}
}

void pr_baseline_print(const json_t *doc, bool quiet)
{
	const json_t *list = json_object_get(doc, "differences"), *allowed = json_object_get(doc, "allowed");
	size_t n = json_array_size(list);

	printf("%s: %zu difference%s from the baseline\n", gt_json_get_str(doc, "verdict", ""), n,
	       n == 1 ? "" : "s");
	if (quiet)
		return;
	print_list(list, "CRITICAL", "Critical");
	print_list(list, "WARNING", "Different");
	print_list(list, "UNKNOWN", "Not known here");
	print_list(allowed, NULL, "Allowed to differ");
	printf("\n%d values compared\n", (int)gt_json_get_int(doc, "compared", 0));
}
