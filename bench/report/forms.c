/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/report/forms.h"
#include "bench/result/thinned.h"
#include "bench/result/export.h"

const struct bn_form bn_form_receipt = { BN_RECEIPT_SCHEMA, "a receipt", bn_view_receipt, bn_openmetrics, "gpubench-receipt/1" };
const struct bn_form bn_form_fleet = { BN_FLEET_SCHEMA, "a fleet's judgement", bn_view_fleet, NULL, NULL };
const struct bn_form bn_form_history = { BN_HISTORY_SCHEMA, "a history", bn_view_history, NULL, NULL };
const struct bn_form bn_form_ladder = { BN_LADDER_SCHEMA, "a ladder", bn_view_ladder, NULL, NULL };

const struct bn_form *bn_form_of(const json_t *doc)
{
	static const struct bn_form *const all[] = {&bn_form_receipt, &bn_form_fleet, &bn_form_history,
						    &bn_form_ladder};
	const char *schema = gt_json_get_str(doc, "schema", "");

	for (size_t i = 0; i < GT_ARRAY_SIZE(all); i++) {
		size_t name = strcspn(all[i]->schema, "/") + 1;

		if (strncmp(schema, all[i]->schema, name) == 0)
			return all[i];
	}
	return NULL;
}

int bn_form_check_schema(const struct bn_form *form, const json_t *doc, const char *path, struct gt_err *err)
{
	if (form->older && gt_streq(gt_json_get_str(doc, "schema", NULL), form->older))
		return 0;
	return gt_json_check_schema(doc, form->schema, path, err);
}

void bn_view_write(const struct bn_view *v, const struct bn_outputs *out, int *r, struct gt_err *err)
{
	gt_auto_buf page = { 0 }, markdown = { 0 };

	if (out->html)
		bn_view_html(v, &page);
	if (out->markdown)
		bn_view_markdown(v, &markdown);
	bn_output_write(out->html, page.s, page.len, r, err);
	bn_output_write(out->markdown, markdown.s, markdown.len, r, err);
}

static void write_trace(const char *path, const json_t *doc, int *r, struct gt_err *err)
{
	gt_auto_json *trace = path ? bn_chrome_trace(doc) : NULL;
	gt_autofree char *text = path ? gt_json_text(trace) : NULL;

	bn_output_write(path, text, text ? strlen(text) : 0, r, err);
}

static void print(struct gt_cli *cli, const struct bn_view *v, const struct bn_outputs *out)
{
	if (bn_outputs_take_stdout(out))
		return;
	if (cli->json)
		gt_json_print(stdout, v->doc);
	else
		bn_view_print(v, stdout, cli->color);
}

int bn_result_publish(struct gt_cli *cli, json_t *doc, const struct bn_outputs *out)
{
	bool saved = out->json && !gt_streq(out->json, "-");
	int r = out->json ? bn_thinned_write(out->json, doc, &cli->err) : 0, kept = r;
	gt_auto(bn_view) *v = bn_view_result(doc, out->html);

	bn_view_write(v, out, &r, &cli->err);
	bn_output_render(out->openmetrics, bn_openmetrics, doc, &r, &cli->err);
	write_trace(out->trace, doc, &r, &cli->err);
	if (r < 0 && saved && kept == 0)
		gt_fail_suffix(&cli->err, "; gpubench report makes it from %s, which has the rest", out->json);
	print(cli, v, out);
	return r;
}

int bn_form_publish(struct gt_cli *cli, const struct bn_form *form, const json_t *doc, const struct bn_outputs *out)
{
	gt_autofree char *json = out->json ? gt_json_text(doc) : NULL;
	gt_auto(bn_view) *v = NULL;
	int r = 0;

	if (out->trace || (out->openmetrics && !form->openmetrics))
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "%s has no %s: --html, --markdown%s or -o",
				    form->what, out->trace ? "trace" : "OpenMetrics",
				    form->openmetrics ? ", --openmetrics" : "");
	v = form->view(doc);
	bn_output_write(out->json, json, json ? strlen(json) : 0, &r, &cli->err);
	bn_view_write(v, out, &r, &cli->err);
	bn_output_render(out->openmetrics, form->openmetrics, doc, &r, &cli->err);
	print(cli, v, out);
	return r;
}

int bn_form_publish_verdict(struct gt_cli *cli, const struct bn_form *form, const json_t *doc, const struct bn_outputs *out,
			    bool require_conclusive)
{
	int code = (int)gt_json_get_int(doc, "exit_code", 0), r = bn_form_publish(cli, form, doc, out);

	return r < 0 ? r : code == BN_EXIT_INCONCLUSIVE && !require_conclusive ? 0 : code;
}
