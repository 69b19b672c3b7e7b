/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "bench/report/html.h"

void bn_html_open(struct gt_buf *out, const char *title, const char *description)
{
	gt_buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
			 "<meta name=\"generator\" content=\"gpubench\">\n"
			 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
			 "'unsafe-inline'\">\n"
			 "<meta name=\"description\" content=\"");
	gt_buf_xml(out, description);
	gt_buf_puts(out, "\">\n<title>");
	gt_buf_xml(out, title);
	gt_buf_printf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", bn_page_css);
	gt_buf_puts(out, "<a class=\"skip\" href=\"#main\">Skip to the results</a>\n");
}

void bn_html_close(struct gt_buf *out)
{
	gt_buf_puts(out, "</body>\n</html>\n");
}

const char *bn_html_class(const char *verdict)
{
	static const char *const known[] = {"better", "worse", "same", "inconclusive", "measured", "invalid", "wrong"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(known); i++)
		if (gt_streq(verdict, known[i]))
			return known[i];
	return "inconclusive";
}

void bn_html_verdict(struct gt_buf *out, const char *verdict, const char *headline, const char *soft)
{
	const char *rest = strstr(headline, ": ");
	gt_autofree char *word = gt_xstrndup(headline, rest ? (size_t)(rest - headline) : strlen(headline));

	gt_buf_printf(out, "<div class=\"verdict %s\"><strong>", bn_html_class(verdict));
	gt_buf_xml(out, word);
	gt_buf_puts(out, "</strong><p>");
	gt_buf_xml(out, rest ? rest + 2 : "");
	if (soft) {
		gt_buf_puts(out, "</p><p class=\"soft\">");
		gt_buf_xml(out, soft);
	}
	gt_buf_puts(out, "</p></div>\n");
}

void bn_html_nav(struct gt_buf *out, const char *const *section)
{
	gt_buf_puts(out, "<nav aria-label=\"Sections\"><ul>");
	for (; section[0]; section += 2)
		gt_buf_printf(out, "<li><a href=\"#%s\">%s</a></li>", section[0], section[1]);
	gt_buf_puts(out, "</ul></nav>\n");
}

void bn_html_section(struct gt_buf *out, const char *id, const char *heading)
{
	gt_buf_printf(out, "<section id=\"%s\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">", id, id, id);
	gt_buf_xml(out, heading);
	gt_buf_puts(out, "</h2>\n");
}

void bn_html_cell(struct gt_buf *out, const char *tag, const char *class_name, const char *text)
{
	gt_buf_printf(out, "<%s", tag);
	if (class_name)
		gt_buf_printf(out, " class=\"%s\"", class_name);
	gt_buf_puts(out, ">");
	gt_buf_xml(out, text);
	gt_buf_add(out, "</", 2);
	gt_buf_add(out, tag, strcspn(tag, " "));
	gt_buf_puts(out, ">");
}

void bn_html_data(struct gt_buf *out, const char *class_name, const char *head, const char *text)
{
	gt_buf_printf(out, "<td class=\"%s\" data-h=\"", class_name);
	gt_buf_xml(out, head);
	gt_buf_puts(out, "\"><span>");
	for (size_t n; *text; text += n) { /* long values may break after their punctuation */
		char part[256];

		n = strcspn(text, ":,;");
		n = GT_MIN(n + (text[n] != '\0'), sizeof(part) - 1);
		memcpy(part, text, n);
		part[n] = '\0';
		gt_buf_xml(out, part);
		if (text[n] && text[n] != ' ' && gt_streq(class_name, "w"))
			gt_buf_puts(out, "<wbr>");
	}
	gt_buf_puts(out, "</span></td>");
}

void bn_html_list_cell(struct gt_buf *out, const char *head, const json_t *list, const char *none,
		       void (*say)(const json_t *item, struct gt_buf *out))
{
	json_t *item;
	size_t i;

	if (!json_array_size(list)) {
		bn_html_data(out, "w", head, none);
		return;
	}
	gt_buf_puts(out, "<td class=\"w\" data-h=\"");
	gt_buf_xml(out, head);
	gt_buf_puts(out, "\"><ul>");
	json_array_foreach(list, i, item) {
		gt_auto_buf text = {0};

		say(item, &text);
		gt_buf_puts(out, "<li><code>");
		gt_buf_xml(out, gt_json_get_str(item, "key", "?"));
		gt_buf_puts(out, "</code>: ");
		gt_buf_xml(out, text.s ? text.s : "");
		gt_buf_puts(out, gt_json_get_bool(item, "moves_it", false) ? "; known to move it</li>" : "</li>");
	}
	gt_buf_puts(out, "</ul></td>");
}

void bn_html_table(struct gt_buf *out, const char *class_name, const char *caption, const char *const *heads,
		   const char *const *classes, size_t n)
{
	gt_buf_printf(out, "<table class=\"%s\"><caption>", class_name);
	gt_buf_xml(out, caption);
	gt_buf_puts(out, "</caption>\n<thead><tr>");
	for (size_t i = 0; i < n; i++) {
		gt_buf_printf(out, "<th scope=\"col\" class=\"%s\">", classes[i]);
		gt_buf_xml(out, heads[i]);
		gt_buf_puts(out, "</th>");
	}
	gt_buf_puts(out, "</tr></thead>\n<tbody>\n");
}

void bn_html_notes(struct gt_buf *out, const json_t *warnings)
{
	json_t *w;
	size_t i;

	if (!json_array_size(warnings))
		return;
	gt_buf_puts(out, "<ul class=\"notes\">\n");
	json_array_foreach(warnings, i, w) {
		gt_buf_puts(out, "<li>");
		gt_buf_xml(out, gt_json_get_str(w, "text", ""));
		if (*gt_json_get_str(w, "hint", "")) {
			gt_buf_puts(out, "; <span class=\"soft\">");
			gt_buf_xml(out, gt_json_get_str(w, "hint", ""));
			gt_buf_puts(out, "</span>");
		}
		gt_buf_puts(out, "</li>\n");
	}
	gt_buf_puts(out, "</ul>\n");
}

void bn_html_json(struct gt_buf *out, const char *id, const json_t *doc)
{
	gt_autofree char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(8));

	gt_buf_printf(out, "<script type=\"application/json\" id=\"%s\">\n", id);
	for (const char *p = text; p && *p;) {
		size_t n = strcspn(p, "<");

		gt_buf_add(out, p, n);
		p += n;
		if (*p) {
			gt_buf_puts(out, "\\u003c");
			p++;
		}
	}
	gt_buf_puts(out, "\n</script>\n");
}
