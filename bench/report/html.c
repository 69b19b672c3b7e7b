/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "bench/report/html.h"

static const char css[] =
	":root{color-scheme:light "
	"dark;--bg:#fbfbfa;--fg:#1d2330;--soft:#5a6272;--card:#fff;--line:#dfe2e8;--band:#e9ecf2;"
	"--a:#3566c4;--b:#c8590b;--better:#14734a;--worse:#b3261e;--same:#46566e;--open:#8a5a00;--aa:#8b93a3;--focus:#"
	"3566c4}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#14171d;--fg:#e7eaf0;--soft:#a3abba;--card:#1c2028;--line:#"
	"343a46;"
	"--band:#2a303b;--a:#86abff;--b:#ffa35c;--better:#5fd39b;--worse:#ff8a80;--same:#aebbd0;--open:#f0c060;--aa:#"
	"8b93a3;"
	"--focus:#86abff}}\n"
	"*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n"
	"body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,"
	"'DejaVu Sans',sans-serif}\n"
	".skip{position:absolute;left:-9999px}.skip:focus{left:1rem;top:1rem;padding:.5rem 1rem;background:var(--card);"
	"color:var(--fg);z-index:1}\n"
	"a{color:var(--a)}:focus-visible{outline:3px solid var(--focus);outline-offset:2px}\n"
	"header,main,footer{max-width:72rem;margin:0 auto;padding:0 1rem}\n"
	"header{padding-top:1.5rem}h1{font-size:1rem;font-weight:600;color:var(--soft);margin:0 0 .75rem}\n"
	"h2{font-size:1.25rem;margin:2.5rem 0 .5rem}h3{font-size:1.05rem;margin:0 0 .25rem}\n"
	"p{margin:.4rem 0;max-width:46rem}.soft{color:var(--soft)}.num{font-variant-numeric:tabular-nums}\n"
	".verdict{border-left:.5rem solid var(--v);background:var(--card);padding:1rem 1.25rem;border-radius:.4rem;"
	"box-shadow:0 0 0 1px var(--line)}\n"
	".verdict strong{display:block;font-size:1.6rem;line-height:1.2;color:var(--v);letter-spacing:.01em}\n"
	".verdict p{margin:.35rem 0 0;overflow-wrap:anywhere}\n"
	".better{--v:var(--better)}.worse,.invalid,.wrong{--v:var(--worse)}.same,.measured{--v:var(--same)}"
	".inconclusive{--v:var(--open)}\n"
	"nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:0;margin:1rem 0 0}\n"
	".scroll{overflow-x:auto;padding:1px}\n"
	"table{border-collapse:collapse;width:100%;background:var(--card);font-size:.95rem;box-shadow:0 0 0 1px "
	"var(--line);"
	"border-radius:.4rem}\n"
	"caption{text-align:left;color:var(--soft);padding:.4rem 0;font-size:.9rem}\n"
	"th,td{padding:.45rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}\n"
	"tr:last-child>*{border-bottom:0}thead th{color:var(--soft);font-weight:600;font-size:.85rem}\n"
	"td.r,th.r{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
	"td.n{white-space:nowrap;font-variant-numeric:tabular-nums}\n"
	"td.v{color:var(--v);font-weight:600}td.w{overflow-wrap:anywhere}tr.moved "
	"td,tr.moved th{font-weight:600}\n"
	"table.heat{width:auto}.heat .h1{background:rgba(200,89,11,.1)}.heat .h2{background:rgba(200,89,11,.2)}"
	".heat .h3{background:rgba(200,89,11,.3)}.heat .h4{background:rgba(200,89,11,.4)}"
	".heat .h5{background:rgba(200,89,11,.5)}\n"
	"td span{min-width:0}table.change td.w,table.change th{overflow-wrap:anywhere}\n"
	"@media(min-width:40.01rem){table.change{table-layout:fixed}table.change .c0{width:27%}"
	"table.change .c1{width:19%}table.change .c2{width:36%}table.change .c3{width:18%}}\n"
	"code{font:.9em ui-monospace,'DejaVu Sans Mono',monospace;overflow-wrap:anywhere}\n"
	"figure{margin:0;background:var(--card);box-shadow:0 0 0 1px var(--line);border-radius:.4rem;padding:.8rem "
	"1rem}\n"
	"figure+.scroll{margin-top:.8rem}figcaption{font-size:.85rem;color:var(--soft);margin-top:.4rem}\n"
	".pair{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));margin:.6rem 0 "
	"1.6rem}\n"
	"svg{display:block;width:100%;overflow:visible;font:12px system-ui,'DejaVu Sans',sans-serif}\n"
	"svg text{fill:var(--fg)}svg .t{fill:var(--soft)}svg .grid{stroke:var(--line)}svg .zero{stroke:var(--soft)}\n"
	"svg .band{fill:var(--band)}svg .aab{fill:none;stroke:var(--aa);stroke-dasharray:3 2}\n"
	"svg .off{fill:none;stroke:var(--v,var(--fg));stroke-width:2}\n"
	"svg .A{fill:var(--a);stroke:var(--a)}svg .B{fill:var(--b);stroke:var(--b)}\n"
	"svg .N{fill:var(--card);stroke:var(--aa);stroke-width:1.5}svg .link{stroke:var(--line);stroke-width:1.5}\n"
	"svg .ci{stroke:var(--v);stroke-width:3;stroke-linecap:round}svg .pt{fill:var(--v);stroke:var(--v)}"
	"svg .open{fill:var(--card);stroke:var(--v);stroke-width:2}svg .vt{fill:var(--v);font-weight:600}\n"
	"svg .strip{fill:none;stroke:var(--soft);stroke-width:1.5}.heat th.r{white-space:normal}\n"
	"svg .whisker,svg .median{stroke:var(--fg);stroke-width:2}svg .hist{stroke:none;opacity:.75}"
	"svg .seg{stroke:var(--fg);stroke-width:2;fill:none}svg .cut{stroke:var(--open);stroke-width:2;stroke-dasharray:5 3}\n"
	"td ul{margin:0;padding-left:1.1rem}ul.notes{padding-left:1.2rem}\n"
	"svg .meanband{fill:var(--b);opacity:.16}svg .mean{stroke:var(--b);stroke-width:2}\n"
	"details{margin:.6rem 0}summary{cursor:pointer;padding:.2rem "
	"0}dl{display:grid;grid-template-columns:max-content 1fr;"
	"gap:.15rem 1rem;margin:.6rem 0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n"
	"footer{padding:2rem 1rem 3rem;color:var(--soft);font-size:.9rem}\n"
	"@media(max-width:40rem){table.stack thead{position:absolute;left:-9999px}table.stack tr{display:block;"
	"padding:.5rem .7rem;border-bottom:1px solid var(--line)}table.stack tr:last-child{border-bottom:0}"
	"table.stack th,table.stack td{display:flex;justify-content:space-between;gap:1rem;border:0;padding:.1rem 0;"
	"text-align:right;white-space:normal}table.stack th[scope=row]{font-size:1rem;text-align:left}"
	"table.stack td::before{content:attr(data-h);color:var(--soft);font-weight:400;text-align:left;flex:none}"
	"table.stack td ul{list-style:none;padding:0}dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}.verdict "
	"strong{font-size:1.3rem}}\n"
	"@media print{nav,.skip{display:none}figure{break-inside:avoid}}\n";

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
	gt_buf_printf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", css);
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
