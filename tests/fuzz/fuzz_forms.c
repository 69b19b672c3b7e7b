/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted receipts, fleet documents and ladders in all renderings: no output contains a terminal control sequence. */
#include <string.h>
#include "bench/result/data.h"
#include "bench/report/forms.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 300;

static void look(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		FUZZ_ASSERT((unsigned char)text[i] >= ' ' ? text[i] != 0x7f : text[i] == '\n');
}

static void draw(const struct bn_form *form, const json_t *doc)
{
	gt_auto_buf page = { 0 }, markdown = { 0 }, metrics = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	gt_auto(bn_view) *v = form->view(doc);

	FUZZ_ASSERT(out);
	bn_view_print(v, out, false);
	fclose(out);
	bn_view_html(v, &page);
	bn_view_markdown(v, &markdown);
	if (form->openmetrics)
		form->openmetrics(doc, &metrics);
	FUZZ_ASSERT(len > 0 && page.len > 0 && markdown.len > 0);
	look(text, len);
	look(page.s, page.len);
	look(markdown.s, markdown.len);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto_json *doc = NULL;
	struct gt_err err = { 0 };
	const struct bn_form *form;

	if (gt_json_parse((const char *)data, size, "form", &doc, &err) < 0 || bn_doc_clean(doc, "form", &err) < 0)
		return 0;
	form = bn_form_of(doc);
	if (form && bn_form_check_schema(form, doc, "form", &err) == 0)
		draw(form, doc);
	return 0;
}
