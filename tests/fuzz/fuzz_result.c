/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted benchmark result: rejected with a message, or judged and rendered with all its text escaped in the page.
 */
#include <math.h>
#include <string.h>
#include "bench/result/analysis_json.h"
#include "bench/result/analyze.h"
#include "bench/result/export.h"
#include "bench/report/forms.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 2000;

static void renderings(const json_t *doc)
{
	gt_auto_buf html = { 0 }, markdown = { 0 }, metrics = { 0 };
	gt_auto_json *trace = bn_chrome_trace(doc);
	gt_autofree char *text = NULL, *json = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	gt_auto(bn_view) *v = bn_view_result(doc, true);

	FUZZ_ASSERT(out);
	bn_view_print(v, out, false);
	fclose(out);
	bn_view_markdown(v, &markdown);
	bn_view_html(v, &html);
	bn_openmetrics(doc, &metrics);
	json = gt_json_text(doc);
	FUZZ_ASSERT(text && json && html.len && markdown.len && trace);
	FUZZ_ASSERT(gt_ends_with(metrics.s, "\n# EOF\n"));
	FUZZ_ASSERT(!strcasestr(html.s, "<img") && !strcasestr(html.s, "<iframe"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bn_limits limits = { .floor = .03 };
	gt_auto_json *doc = NULL;
	gt_auto(bn_data) *d = NULL;
	struct gt_err err = { 0 };
	int code;

	if (gt_json_parse((const char *)data, size, "result", &doc, &err) < 0)
		return 0;
	if (bn_data_from_doc(doc, "result", &d, &err) < 0) {
		FUZZ_ASSERT(!d && err.code > 0 && err.msg[0]);
		return 0;
	}
	code = bn_analyze(d, &limits);
	FUZZ_ASSERT(code >= 0 && code <= 6 && code != 2);
	renderings(doc);
	return 0;
}
