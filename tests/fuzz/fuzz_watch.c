/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted recording of gpuprobe watch: patterns, summary and all renderings terminate, and the metrics are complete
 * lines.
 */
#include <stdio.h>
#include <string.h>
#include "probe/watch/watch.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 300;

static void watch_line(struct pr_session *s, struct pr_watch_view *v, const char *line)
{
	gt_auto_json *doc = NULL;
	gt_auto_buf metrics = { 0 };

	if (gt_json_parse(line, strlen(line), "recording", &doc, NULL) < 0)
		return;
	pr_session_add(s, doc);
	pr_watch_line(v, doc);
	pr_watch_draw(v, doc);
	pr_watch_jsonl(v, doc);
	pr_watch_metrics(doc, &metrics);
	FUZZ_ASSERT(gt_ends_with(metrics.s, "# EOF\n"));
	for (char *p = metrics.s; *p; p = strchr(p, '\n') + 1)
		FUZZ_ASSERT(gt_starts_with(p, "# ") || gt_starts_with(p, "gpuprobe_watch_"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(pr_session) *s = pr_session_new();
	gt_autofree char *text = gt_xstrndup((const char *)data, size);
	struct pr_watch_view v = { .out = fopen("/dev/null", "w") };
	gt_auto_json *summary = NULL;
	char *save = NULL;

	FUZZ_ASSERT(v.out);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		watch_line(s, &v, line);
	summary = pr_session_summary(s);
	FUZZ_ASSERT(summary);
	pr_watch_summary(&v, summary);
	json_decref(v.announced);
	fclose(v.out);
	return 0;
}
