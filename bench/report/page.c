/* SPDX-License-Identifier: Apache-2.0 */
/* A view as one file of HTML: no network, no script, dark and light, narrow and wide. */
#include <ctype.h>
#include <string.h>
#include "bench/report/view.h"

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
	"header,main,footer{max-width:76rem;margin:0 auto;padding:0 1rem}\n"
	"header{padding-top:1.5rem}h1{font-size:1rem;font-weight:600;color:var(--soft);margin:0 0 .75rem}\n"
	"h2{font-size:1.25rem;margin:2.5rem 0 .5rem}h3{font-size:1.05rem;margin:1.4rem 0 .25rem}\n"
	"p{margin:.4rem 0;max-width:46rem}.soft{color:var(--soft)}.num{font-variant-numeric:tabular-nums}\n"
	".verdict{border-left:.5rem solid var(--v);background:var(--card);padding:1rem 1.25rem;border-radius:.4rem;"
	"box-shadow:0 0 0 1px var(--line)}\n"
	".verdict strong{display:block;font-size:1.6rem;line-height:1.2;color:var(--v);letter-spacing:.01em}\n"
	".verdict p{margin:.35rem 0 0;overflow-wrap:anywhere}\n"
	".better{--v:var(--better)}.worse,.invalid,.wrong{--v:var(--worse)}.same,.measured{--v:var(--same)}"
	".inconclusive{--v:var(--open)}\n"
	"nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:0;margin:1rem 0 0}\n"
	".scroll{overflow-x:auto;padding:1px}.scroll::-webkit-scrollbar{height:.7rem}"
	".scroll::-webkit-scrollbar-thumb{background:var(--aa);border-radius:.35rem}\n"
	"table{border-collapse:collapse;width:100%;background:var(--card);font-size:.95rem;box-shadow:0 0 0 1px "
	"var(--line);"
	"border-radius:.4rem}\n"
	"caption{text-align:left;color:var(--soft);padding:.4rem 0;font-size:.9rem}\n"
	"th,td{padding:.45rem .55rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}\n"
	"tr:last-child>*{border-bottom:0}thead th{color:var(--soft);font-weight:600;font-size:.85rem}\n"
	"td.r,th.r{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
	"td.n{font-variant-numeric:tabular-nums}td.n span span{white-space:nowrap}\n"
	"td.v{color:var(--v);font-weight:600}td.w{overflow-wrap:anywhere}td.strong{"
	"font-weight:600}\n"
	"table.heat{width:auto}.heat .h1{background:rgba(200,89,11,.1)}.heat .h2{background:rgba(200,89,11,.2)}"
	".heat .h3{background:rgba(200,89,11,.3)}.heat .h4{background:rgba(200,89,11,.4)}"
	".heat .h5{background:rgba(200,89,11,.5)}\n"
	".change caption::first-letter{text-transform:uppercase}td span{min-width:0}"
	"table.change td.w,table.change th{overflow-wrap:anywhere}\n"
	"@media(min-width:40.01rem){td.c{min-width:10rem}td.w{min-width:7rem}.stack th[scope=row]{min-width:14rem}"
	"table.change{table-layout:fixed}table.change th:nth-child(1){width:27%}"
	"table.change th:nth-child(2){width:19%}table.change th:nth-child(3){width:36%}}\n"
	"code{font:.9em ui-monospace,'DejaVu Sans Mono',monospace;white-space:pre-wrap}"
	".words span{display:inline-block;max-width:100%;overflow-wrap:anywhere}\n"
	".command{background:var(--card);margin:.6rem 0;padding:.5rem 1rem;border-radius:.4rem;"
	"box-shadow:0 0 0 1px var(--line)}\n"
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

struct page {
	struct gt_buf *out;
	const char *close; /* ends the open group of blocks, such as a list; "" without one */
	bool section;      /* a group is open */
};

static void escaped(struct gt_buf *out, const char *text)
{
	gt_autofree char *plain = bn_view_plain(text);

	gt_buf_xml(out, plain);
}

static void element(struct gt_buf *out, const char *before, const char *text, const char *after)
{
	gt_buf_puts(out, before);
	escaped(out, text);
	gt_buf_puts(out, after);
}

static void group(struct page *p, const char *open, const char *close)
{
	if (gt_streq(p->close, close))
		return;
	gt_buf_puts(p->out, p->close);
	gt_buf_puts(p->out, open);
	p->close = close;
}

/* ---- tables ---- */

static const char *cell_class(enum bn_column_type type)
{
	static const char *const names[] = { [BN_WORDS] = "",    [BN_LONG] = "w",   [BN_NUMBER] = "r", [BN_INTERVAL] = "n",
					     [BN_VERDICT] = "v", [BN_JUDGED] = "v", [BN_CODE] = "c" };

	return names[type];
}

/* "samples/s" as "Samples/s" */
static void head(struct gt_buf *out, const struct bn_column *c)
{
	char first[2] = { c->name ? c->head[0] : (char)toupper((unsigned char)c->head[0]), 0 };

	escaped(out, first);
	escaped(out, c->head[0] ? c->head + 1 : "");
}

/* Permits line breaks after the punctuation of a long value. */
static void breakable(struct gt_buf *out, const char *text)
{
	gt_autofree char *plain = bn_view_plain(text);

	for (const char *p = plain; *p;) {
		size_t n = strcspn(p, ":,;");
		gt_autofree char *part = gt_xstrndup(p, n + (p[n] != '\0'));

		gt_buf_xml(out, part);
		p += strlen(part);
		if (*p && *p != ' ')
			gt_buf_puts(out, "<wbr>");
	}
}

/* Breaks lines between words, and inside a word only if the word is longer than the line. */
static void words(struct gt_buf *out, const char *tag, const char *text)
{
	gt_autofree char *plain = bn_view_plain(text);

	gt_buf_printf(out, "<%s class=\"words\">", tag);
	for (const char *p = plain; *p;) {
		size_t word = strcspn(p, " "), spaces = strspn(p + word, " ");
		gt_autofree char *part = gt_xstrndup(p, word);

		element(out, "<span>", part, "</span>");
		gt_buf_printf(out, "%*s", (int)spaces, "");
		p += word + spaces;
	}
	gt_buf_printf(out, "</%s>", tag);
}

/* Permits no line break inside the interval, but one between an estimate and its interval. */
static void interval(struct gt_buf *out, const char *text)
{
	size_t estimate = strcspn(text, "[");
	gt_autofree char *before = gt_xstrndup(text, estimate);

	element(out, "<span>", before, "");
	if (text[estimate])
		element(out, "<span>", text + estimate, "</span>");
	gt_buf_puts(out, "</span>");
}

static void items(struct gt_buf *out, const char *text, const char *between)
{
	gt_autofree char *copy = gt_xstrdup(text);
	char *rest = copy;

	for (const char *item; (item = strsep(&rest, "\n"));) {
		escaped(out, item);
		gt_buf_puts(out, rest ? between : "");
	}
}

static void content(struct gt_buf *out, const struct bn_block *b, const struct bn_column *c, const char *text)
{
	if (b->matrix) {
		items(out, text, "<br>");
	} else if (strchr(text, '\n')) {
		gt_buf_puts(out, "<ul><li>");
		items(out, text, "</li><li>");
		gt_buf_puts(out, "</li></ul>");
	} else if (c->type == BN_CODE) {
		words(out, "code", text);
	} else if (c->type == BN_INTERVAL) {
		interval(out, text);
	} else {
		gt_buf_puts(out, "<span>");
		if (c->type == BN_LONG)
			breakable(out, text);
		else
			escaped(out, text);
		gt_buf_puts(out, "</span>");
	}
}

static void row(struct gt_buf *out, const struct bn_block *b, size_t i)
{
	bool first = true;

	gt_buf_printf(out, "<tr class=\"%s\">", b->row_class[i] ? b->row_class[i] : "");
	for (size_t k = 0; k < b->n_columns; k++) {
		const struct bn_column *c = &b->column[k];
		const struct bn_cell *cell = &b->cell[i * b->n_columns + k];

		if (!(c->where & BN_PAGE))
			continue;
		if (first) {
			gt_buf_puts(out, "<th scope=\"row\">");
			if (b->matrix)
				escaped(out, cell->text);
			else
				words(out, "span", cell->text);
			gt_buf_puts(out, "</th>");
		} else {
			gt_buf_printf(out, "<td class=\"%s", cell_class(c->type));
			if (cell->shade)
				gt_buf_printf(out, " h%d", cell->shade);
			gt_buf_puts(out, cell->strong ? " strong" : "");
			gt_buf_puts(out, "\" data-h=\"");
			head(out, c);
			gt_buf_puts(out, "\">");
			content(out, b, c, cell->text);
			gt_buf_puts(out, "</td>");
		}
		first = false;
	}
	gt_buf_puts(out, "</tr>\n");
}

static void table(struct gt_buf *out, const struct bn_block *b)
{
	if (b->matrix)
		element(out, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", b->text, "\">");
	else
		gt_buf_puts(out, "<div class=\"scroll\">");
	gt_buf_printf(out, "<table class=\"%s\">", b->matrix ? "heat" : b->changes ? "stack change" : "stack");
	element(out, "<caption>", b->text, "</caption>\n<thead><tr>");
	for (size_t k = 0; k < b->n_columns; k++)
		if (b->column[k].where & BN_PAGE) {
			gt_buf_printf(out, "<th scope=\"col\" class=\"%s\">", b->column[k].type == BN_NUMBER ? "r" : "");
			head(out, &b->column[k]);
			gt_buf_puts(out, "</th>");
		}
	gt_buf_puts(out, "</tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < b->n_rows; i++)
		row(out, b, i);
	gt_buf_puts(out, "</tbody></table></div>\n");
}

/* ---- the other blocks ---- */

static void prose(struct gt_buf *out, const char *text)
{
	bool inside = false;

	gt_buf_puts(out, "<p>");
	for (; *text; text++) {
		char c[2] = { *text, 0 };

		if (*text == '*')
			gt_buf_puts(out, (inside = !inside) ? "<em>" : "</em>");
		else
			gt_buf_xml(out, c);
	}
	gt_buf_puts(out, "</p>\n");
}

static void item(struct gt_buf *out, const struct bn_block *b)
{
	element(out, "<li>", b->text, "");
	if (b->more)
		element(out, "; <span class=\"soft\">", b->more, "</span>");
	gt_buf_puts(out, "</li>\n");
}

static void figure(struct gt_buf *out, const struct bn_block *b)
{
	gt_autofree char *svg = bn_view_plain(b->more);

	gt_buf_puts(out, "<figure>\n");
	gt_buf_puts(out, svg);
	element(out, "<figcaption>", b->text, "</figcaption></figure>\n");
}

static void section(struct page *p, const struct bn_block *b)
{
	gt_buf_puts(p->out, p->section ? "</section>\n" : "");
	gt_buf_printf(p->out, "<section id=\"%s\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">", b->name, b->name, b->name);
	element(p->out, "", b->text, "</h2>\n");
	p->section = true;
}

static void add_block(struct page *p, const struct bn_block *b)
{
	struct gt_buf *out = p->out;

	if (b->kind == BN_ITEM)
		group(p, "<ul class=\"notes\">\n", "</ul>\n");
	else if (b->kind == BN_FACT)
		group(p, "<dl>\n", "</dl>\n");
	else if (b->kind == BN_FIGURE || b->matrix)
		group(p, "<div class=\"pair\">\n", "</div>\n");
	else
		group(p, "", "");
	switch (b->kind) {
	case BN_SECTION:
		section(p, b);
		break;
	case BN_HEADING:
		element(out, "<h3>", b->text, "</h3>\n");
		break;
	case BN_TEXT:
		element(out, "<p>", b->text, "</p>\n");
		break;
	case BN_PROSE:
		prose(out, b->text);
		break;
	case BN_COMMAND:
		element(out, "<div class=\"command\"><span class=\"soft\">", b->name, ":</span> ");
		words(out, "code", b->text);
		gt_buf_puts(out, "</div>\n");
		break;
	case BN_ITEM:
		item(out, b);
		break;
	case BN_FACT:
		element(out, "<dt>", b->name, "</dt>");
		element(out, "<dd>", b->text, "</dd>\n");
		break;
	case BN_TABLE:
		table(out, b);
		break;
	case BN_FIGURE:
		figure(out, b);
		break;
	case BN_DETAILS:
		element(out, "<details><summary>", b->text, "</summary>\n");
		break;
	case BN_END:
		gt_buf_puts(out, "</details>\n");
		break;
	}
}

/* ---- the frame ---- */

/* Prints the headline; the words before the first ": " are large. */
static void verdict(const struct bn_view *v, const char *word, struct gt_buf *out)
{
	const char *rest = v->headline + strlen(word);

	gt_buf_printf(out, "<div class=\"verdict %s\">", v->class);
	element(out, "<strong>", word, "</strong>");
	element(out, "<p>", gt_starts_with(rest, ": ") ? rest + 2 : rest, "</p>");
	if (v->design[0])
		element(out, "<p class=\"soft\">", v->design, "</p>");
	gt_buf_puts(out, "</div>\n");
}

static void open_page(const struct bn_view *v, struct gt_buf *out)
{
	gt_autofree char *word = gt_xstrndup(v->headline, strcspn(v->headline, ":"));

	gt_buf_puts(out,
		    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		    "<meta name=\"generator\" content=\"gpubench\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n");
	element(out, "<meta name=\"description\" content=\"", v->headline, "\">\n");
	element(out, "<title>", v->tool, ": ");
	element(out, "", word, "</title>\n<style>\n");
	gt_buf_puts(out, css);
	gt_buf_puts(out, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n<header>\n");
	element(out, "<h1>", v->tool, ", ");
	element(out, "", v->origin, "</h1>\n");
	verdict(v, word, out);
	gt_buf_puts(out, "<nav aria-label=\"Sections\"><ul>");
	for (size_t i = 0; i < v->n; i++)
		if (v->block[i].kind == BN_SECTION) {
			gt_buf_printf(out, "<li><a href=\"#%s\">", v->block[i].name);
			element(out, "", v->block[i].text, "</a></li>");
		}
	gt_buf_puts(out, "</ul></nav>\n</header>\n<main id=\"main\">\n");
}

/* Embeds the document as data that ends no HTML element: each "<" is written as \u003c. */
static void data(const json_t *doc, struct gt_buf *out)
{
	gt_autofree char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(8));

	gt_buf_puts(out, "<script type=\"application/json\" id=\"gpubench-result\">\n");
	for (const char *p = text; p && *p;) {
		size_t n = strcspn(p, "<");

		gt_buf_add(out, p, n);
		gt_buf_puts(out, p[n] ? "\\u003c" : "");
		p += n + (p[n] != '\0');
	}
	gt_buf_puts(out, "\n</script>\n");
}

void bn_view_html(const struct bn_view *v, struct gt_buf *out)
{
	struct page p = { .out = out, .close = "" };

	open_page(v, out);
	for (size_t i = 0; i < v->n; i++)
		if (v->block[i].where & BN_PAGE)
			add_block(&p, &v->block[i]);
	group(&p, "", "");
	gt_buf_puts(out, p.section ? "</section>\n" : "");
	gt_buf_puts(
		out,
		"</main>\n<footer>Made by gpubench. The document, with all that was measured, is embedded in this page as JSON "
		"(element <code>gpubench-result</code>).</footer>\n");
	data(v->doc, out);
	gt_buf_puts(out, "</body>\n</html>\n");
}
