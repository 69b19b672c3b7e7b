/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "bench/report/forms.h"
#include "bench/session/gauge.h"
#include "bench/result/text.h"

static void comparisons(const json_t *doc, struct gt_buf *out)
{
	const char *head[] = {"metric", bn_arm_name(doc, false), bn_arm_name(doc, true), "change", "95% CI", "verdict"};
	json_t *c;
	size_t i;

	bn_md_row(out, head, GT_ARRAY_SIZE(head));
	gt_buf_puts(out, "| --- | ---: | ---: | ---: | --- | --- |\n");
	json_array_foreach(json_object_get(doc, "comparisons"), i, c) {
		const char *unit = gt_json_get_str(c, "unit", "");
		struct bn_text text[] = { bn_text_metric(c), bn_text_value(gt_json_get_real(c, "a_median", NAN), unit),
					  bn_text_value(gt_json_get_real(c, "b_median", NAN), unit), bn_text_change(c),
					  bn_text_interval(c), bn_text_verdict(c) };
		const char *cells[GT_ARRAY_SIZE(text)];

		for (size_t k = 0; k < GT_ARRAY_SIZE(text); k++)
			cells[k] = text[k].s;
		bn_md_row(out, cells, GT_ARRAY_SIZE(cells));
	}
	gt_buf_puts(out, "\n");
}

static void levels(const json_t *doc, struct gt_buf *out)
{
	const char *head[] = { "metric", "median", "lowest", "highest", "launches" };
	json_t *l;
	size_t i;

	bn_md_row(out, head, GT_ARRAY_SIZE(head));
	gt_buf_puts(out, "| --- | ---: | ---: | ---: | ---: |\n");
	json_array_foreach(json_object_get(doc, "levels"), i, l) {
		struct bn_text median = bn_text_level(doc, l, "median"), low = bn_text_level(doc, l, "low"),
			       high = bn_text_level(doc, l, "high");
		char n[24];
		const char *cells[] = { gt_json_get_str(l, "metric", "?"), median.s, low.s, high.s, n };

		snprintf(n, sizeof(n), "%lld", (long long)gt_json_get_int(l, "n", 0));
		bn_md_row(out, cells, GT_ARRAY_SIZE(cells));
	}
	gt_buf_puts(out, "\n");
}

static void changes(const json_t *list, const char *title, const char *key, struct gt_buf *out)
{
	const char *head[] = { title, "from", "to" };
	json_t *k;
	size_t i;

	if (!json_array_size(list))
		return;
	bn_md_row(out, head, GT_ARRAY_SIZE(head));
	gt_buf_puts(out, "| --- | --- | --- |\n");
	json_array_foreach(list, i, k) {
		struct bn_text from = bn_text_json(json_object_get(k, "from")),
			       to = bn_text_json(json_object_get(k, "to"));
		const char *cells[] = { gt_json_get_str(k, key, "?"), from.s, to.s };

		bn_md_row(out, cells, GT_ARRAY_SIZE(cells));
	}
	gt_buf_puts(out, "\n");
}

void bn_report_markdown(const json_t *doc, struct gt_buf *out)
{
	const json_t *host = json_object_get(doc, "host");
	gt_auto_buf headline = { 0 }, gpu = { 0 };
	json_t *w;
	size_t i;

	bn_text_headline(doc, &headline);
	gt_buf_puts(out, "**");
	bn_md_text(out, headline.s);
	gt_buf_puts(out, "**\n\n");
	bn_md_text(out, gt_json_get_str(host, "cpu", "unknown CPU"));
	gt_buf_puts(out, ", host ");
	bn_md_text(out, gt_json_get_str(host, "identity", "unknown"));
	gt_buf_printf(out, ". Design: %s.\n\n", bn_text_design(doc).s);
	if (json_array_size(json_object_get(doc, "comparisons")))
		comparisons(doc, out);
	else
		levels(doc, out);
	changes(json_object_get(json_object_get(doc, "treatment"), "declared"), "changed on purpose", "id", out);
	changes(json_object_get(doc, "confounders"), "other difference", "key", out);
	json_array_foreach(json_object_get(doc, "warnings"), i, w) {
		gt_buf_puts(out, "- ");
		bn_md_text(out, gt_json_get_str(w, "text", ""));
		gt_buf_puts(out, "\n");
	}
	bn_text_gpu(doc, &gpu);
	if (gpu.len)
		gt_buf_printf(out, "- %s\n", gpu.s);
}
