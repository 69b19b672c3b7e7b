/* SPDX-License-Identifier: Apache-2.0 */
/* A measured ladder as text, Markdown and a page with bars. */
#include <math.h>
#include <string.h>
#include "bench/report/html.h"
#include "bench/report/forms.h"
#include "bench/report/ladder.h"
#include "bench/result/text.h"
#include "lib/table.h"

static const char *failure_of(const json_t *rung)
{
	json_t *l;
	size_t i;

	json_array_foreach(json_object_get(rung, "launches"), i,
			   l) if (gt_json_get_str(l, "failure", NULL)) return gt_json_get_str(l, "failure", NULL);
	return NULL;
}

static struct bn_text rate(const json_t *rung)
{
	double v = gt_json_get_real(rung, "items_per_s", NAN);
	struct bn_text t = {"-"};

	if (isfinite(v))
		snprintf(t.s, sizeof(t.s), "%.*f", v < 10 ? 2 : v < 100 ? 1 : 0, v);
	return t;
}

/* Digits that the interval supports: half its width keeps one. */
static int decimals(const json_t *rung)
{
	double half = (gt_json_get_real(rung, "speedup_high", NAN) - gt_json_get_real(rung, "speedup_low", NAN)) / 2;

	return !(half > 0) || half >= .05 ? 2 : half >= .005 ? 3 : 4;
}

static struct bn_text speedup(const json_t *rung)
{
	double v = gt_json_get_real(rung, "speedup", NAN);
	struct bn_text t = {"-"};

	if (isfinite(v))
		snprintf(t.s, sizeof(t.s), "%.*f", decimals(rung), v);
	return t;
}

static struct bn_text interval(const json_t *rung, bool first)
{
	double lo = gt_json_get_real(rung, "speedup_low", NAN), hi = gt_json_get_real(rung, "speedup_high", NAN);
	struct bn_text t = {""};
	int d = decimals(rung);

	if (first)
		return t;
	if (isfinite(lo) && isfinite(hi))
		snprintf(t.s, sizeof(t.s), "[%.*f, %.*f]", d, lo, d, hi);
	else
		snprintf(t.s, sizeof(t.s), "needs 6 rounds");
	return t;
}

static struct bn_text bytes(const json_t *rung, const char *key)
{
	double v = gt_json_get_real(rung, key, NAN);
	struct bn_text t = {"-"};

	if (isfinite(v) && v >= 0)
		gt_format_bytes(t.s, sizeof(t.s), (uint64_t)v);
	return t;
}

static void heading(const json_t *doc, struct gt_buf *out)
{
	const json_t *host = json_object_get(doc, "host"), *run = json_object_get(doc, "run");

	gt_buf_printf(out, "%s, %lld CPUs, host %s, %s; %lld rounds in tossed order, seed %lld",
		      gt_json_get_str(host, "cpu", "unknown CPU"), (long long)gt_json_get_int(host, "cpus_allowed", 0),
		      gt_json_get_str(host, "identity", "unknown"), gt_json_get_str(run, "started", "no date"),
		      (long long)gt_json_get_int(run, "rounds", 0), (long long)gt_json_get_int(run, "seed", 0));
	if (gt_json_get_real(run, "load_at_start", 0) > .5)
		gt_buf_printf(out, "; load %.1f at the start: others used the CPUs",
			      gt_json_get_real(run, "load_at_start", 0));
}

/* The rung that is surely faster than the first one and the fastest of those; NULL if there is none. */
static const json_t *fastest(const json_t *l)
{
	const json_t *best = NULL;
	json_t *rung;
	size_t i;

	json_array_foreach(json_object_get(l, "rungs"), i, rung)
		if (i && gt_json_get_real(rung, "speedup_low", 0) > 1 &&
		    gt_json_get_real(rung, "speedup", 0) > gt_json_get_real(best, "speedup", 0))
			best = rung;
	return best;
}

static bool has_interval(const json_t *l)
{
	json_t *rung;
	size_t i;

	json_array_foreach(json_object_get(l, "rungs"), i, rung)
		if (i && isfinite(gt_json_get_real(rung, "speedup_low", NAN)))
			return true;
	return false;
}

static const json_t *failed_rung(const json_t *doc)
{
	json_t *l, *rung;
	size_t i, k;

	json_array_foreach(json_object_get(doc, "ladders"), i, l)
		json_array_foreach(json_object_get(l, "rungs"), k, rung)
			if (failure_of(rung))
				return rung;
	return NULL;
}

const char *bn_ladder_headline(const json_t *doc, struct gt_buf *out)
{
	const json_t *failed = failed_rung(doc);
	size_t i, judged = 0, faster = 0;
	gt_auto_buf text = {0};
	json_t *l;

	json_array_foreach(json_object_get(doc, "ladders"), i, l) {
		const json_t *best = fastest(l);

		judged += has_interval(l);
		if (best)
			gt_buf_printf(&text, "%s%s %s x %s with \"%s\"", faster++ ? "; " : "", gt_json_get_str(l, "id", "?"),
				      speedup(best).s, interval(best, false).s, gt_json_get_str(best, "name", "?"));
	}
	if (failed) {
		gt_buf_printf(out, "INCOMPLETE: \"%s\" failed: %s", gt_json_get_str(failed, "name", "?"), failure_of(failed));
		return "invalid";
	}
	if (faster) {
		gt_buf_printf(out, "FASTER: %s", text.s);
		return "better";
	}
	gt_buf_puts(out, judged ? "INCONCLUSIVE: no rung is surely faster than the first one of its ladder" :
				  "MEASURED: nothing is judged; an interval needs six rounds");
	return judged ? "inconclusive" : "measured";
}

static void ladder_table(const json_t *l, FILE *out, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	gt_autofree char *unit = gt_xasprintf("%s/S", gt_json_get_str(l, "unit", "items"));
	json_t *rung;
	size_t i;

	for (char *p = unit; *p; p++)
		*p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
	gt_table_column(t, "RUNG", GT_WRAP);
	gt_table_column(t, unit, GT_RIGHT);
	gt_table_column(t, "SPEED-UP", GT_RIGHT);
	gt_table_column(t, "95% CI", GT_LEFT);
	gt_table_column(t, "PLANNED", GT_RIGHT);
	gt_table_column(t, "PEAK", GT_RIGHT);
	json_array_foreach(json_object_get(l, "rungs"), i, rung)
	{
		const char *why = failure_of(rung);

		gt_table_row(t);
		gt_table_cell(t, "%s%s%.120s", gt_json_get_str(rung, "name", "?"), why ? ": " : "", why ? why : "");
		gt_table_cell(t, "%s", rate(rung).s);
		gt_table_cell(t, "%s", speedup(rung).s);
		gt_table_cell(t, "%s", interval(rung, i == 0).s);
		gt_table_cell(t, "%s", bytes(rung, "planned_bytes").s);
		gt_table_cell(t, "%s", bytes(rung, "max_rss_bytes").s);
	}
	gt_table_print(t, out, color);
}

void bn_ladder_text(const json_t *doc, FILE *out, bool color)
{
	unsigned width = gt_term_width(out);
	gt_auto_buf head = {0};
	json_t *l;
	size_t i;

	heading(doc, &head);
	gt_print_wrapped(out, head.s, 0, width);
	json_array_foreach(json_object_get(doc, "ladders"), i, l)
	{
		fprintf(out, "\n%s (%s)\n", gt_json_get_str(l, "title", "?"), gt_json_get_str(l, "id", "?"));
		gt_print_wrapped(out, gt_json_get_str(l, "what", ""), 0, width);
		ladder_table(l, out, color);
	}
	fputs("\nPLANNED: tensors of one rank. PEAK: resident memory of one rank at most.\n", out);
	gt_buf_clear(&head);
	gt_buf_puts(&head, "VERDICT ");
	bn_ladder_headline(doc, &head);
	gt_print_wrapped(out, head.s, 0, width);
}

static void command_text(const json_t *rung, struct gt_buf *out)
{
	json_t *w;
	size_t i;

	json_array_foreach(json_object_get(rung, "command"), i, w)
		gt_buf_printf(out, "%s%s", i ? " " : "", json_is_string(w) ? json_string_value(w) : "?");
}

void bn_ladder_markdown(const json_t *doc, struct gt_buf *out)
{
	json_t *l, *rung;
	gt_auto_buf head = {0}, answer = {0};
	size_t i, k;

	heading(doc, &head);
	bn_ladder_headline(doc, &answer);
	gt_buf_puts(out, "# What each technique brings\n\n**");
	bn_md_text(out, answer.s);
	gt_buf_puts(out, "**\n\n");
	bn_md_text(out, head.s);
	gt_buf_puts(
		out,
		". Made by `gpubench ladder`. A speed-up is the mean ratio to the first rung within rounds, with its "
		"95 % interval from the sign-flip test; planned and peak memory are those of one rank.\n");
	json_array_foreach(json_object_get(doc, "ladders"), i, l)
	{
		gt_buf_puts(out, "\n## ");
		bn_md_text(out, gt_json_get_str(l, "title", "?"));
		gt_buf_puts(out, "\n\n");
		bn_md_text(out, gt_json_get_str(l, "what", ""));
		gt_buf_puts(out, "\n\n| rung | ");
		bn_md_text(out, gt_json_get_str(l, "unit", "items"));
		gt_buf_puts(out,
			    "/s | speed-up | 95 % CI | planned | peak |\n| --- | ---: | ---: | --- | ---: | ---: |\n");
		json_array_foreach(json_object_get(l, "rungs"), k, rung)
		{
			const char *why = failure_of(rung);

			gt_buf_puts(out, "| ");
			bn_md_text(out, gt_json_get_str(rung, "name", "?"));
			if (why) {
				gt_buf_puts(out, ": ");
				bn_md_text(out, why);
			}
			gt_buf_printf(out, " | %s | %s | ", rate(rung).s, speedup(rung).s);
			bn_md_text(out, interval(rung, k == 0).s);
			gt_buf_printf(out, " | %s | %s |\n", bytes(rung, "planned_bytes").s,
				      bytes(rung, "max_rss_bytes").s);
		}
		gt_buf_puts(out, "\n`");
		command_text(json_array_get(json_object_get(l, "rungs"), 0), out);
		gt_buf_puts(out, "` is the first rung.\n");
	}
}

/* ---- the page ---- */

#define BAR_FROM 0.0
#define BAR_TO   78.0
#define ROW      46

static double longest(const json_t *l)
{
	double most = 1;
	json_t *rung;
	size_t i;

	json_array_foreach(json_object_get(l, "rungs"), i, rung)
	{
		double v = gt_json_get_real(rung, "speedup", 0), hi = gt_json_get_real(rung, "speedup_high", 0);

		most = fmax(most, fmax(v, isfinite(hi) ? hi : 0));
	}
	return most;
}

static void bar(const json_t *rung, bool first, double scale, double y, struct gt_buf *out)
{
	double v = gt_json_get_real(rung, "speedup", NAN), lo = gt_json_get_real(rung, "speedup_low", NAN);
	double hi = gt_json_get_real(rung, "speedup_high", NAN);
	gt_autofree char *label = NULL;

	gt_buf_printf(out, "<text x=\"0\" y=\"%.0f\">", y + 14);
	gt_buf_xml(out, gt_json_get_str(rung, "name", "?"));
	gt_buf_puts(out, "</text>\n");
	if (!isfinite(v)) {
		gt_buf_printf(out, "<text class=\"t\" x=\"0\" y=\"%.0f\">failed</text>\n", y + 34);
		return;
	}
	gt_buf_printf(out, "<rect class=\"%c\" x=\"0\" y=\"%.0f\" width=\"%.2f%%\" height=\"16\"/>\n",
		      first ? 'A' : 'B', y + 20, BAR_FROM + v * scale);
	if (!first && isfinite(lo) && isfinite(hi))
		gt_buf_printf(out, "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.0f\" y2=\"%.0f\"/>\n",
			      lo * scale, hi * scale, y + 28, y + 28);
	label = gt_xasprintf("%s x", speedup(rung).s);
	gt_buf_printf(out, "<text class=\"t\" x=\"%.2f%%\" dx=\"8\" y=\"%.0f\">%s</text>\n",
		      fmax(v, !first && isfinite(hi) ? hi : 0) * scale, y + 33, label);
}

static void bars(const json_t *l, size_t id, struct gt_buf *out)
{
	double scale = BAR_TO / longest(l);
	json_t *rungs = json_object_get(l, "rungs"), *rung;
	size_t k;

	gt_buf_printf(out, "<figure><svg role=\"img\" height=\"%zu\" aria-labelledby=\"bars%zu-t bars%zu-d\">",
		      json_array_size(rungs) * ROW + 4, id, id);
	gt_buf_printf(out, "<title id=\"bars%zu-t\">", id);
	gt_buf_xml(out, gt_json_get_str(l, "title", "?"));
	gt_buf_printf(
		out,
		"</title><desc id=\"bars%zu-d\">The longer the bar, the faster; the thin line is the 95 %% interval. "
		"The numbers are in the table below.</desc>\n",
		id);
	json_array_foreach(rungs, k, rung) bar(rung, k == 0, scale, (double)k * ROW, out);
	gt_buf_puts(out, "</svg></figure>\n");
}

static void page_table(const json_t *l, struct gt_buf *out)
{
	gt_autofree char *per_second = gt_xasprintf("%s/s", gt_json_get_str(l, "unit", "items"));
	const char *const heads[] = {"rung", per_second, "speed-up", "95 % interval", "planned", "peak"};
	static const char *const cls[] = {"", "r", "r", "r", "r", "r"};
	json_t *rung;
	size_t k;

	gt_buf_puts(out, "<div class=\"scroll\">");
	bn_html_table(out, "stack", "Medians of launches; memory is that of one rank.", heads, cls, GT_ARRAY_SIZE(heads));
	json_array_foreach(json_object_get(l, "rungs"), k, rung)
	{
		const struct bn_text cell[] = {rate(rung), speedup(rung), interval(rung, k == 0),
					       bytes(rung, "planned_bytes"), bytes(rung, "max_rss_bytes")};
		gt_autofree char *why = failure_of(rung) ? gt_xasprintf(": %s", failure_of(rung)) : gt_xstrdup("");
		gt_autofree char *name = gt_xasprintf("%s%s", gt_json_get_str(rung, "name", "?"), why);

		gt_buf_puts(out, "<tr>");
		bn_html_cell(out, "th scope=\"row\"", NULL, name);
		for (size_t i = 0; i < GT_ARRAY_SIZE(cell); i++)
			bn_html_data(out, "r", heads[i + 1], cell[i].s);
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table></div>\n");
}

static void commands(const json_t *l, struct gt_buf *out)
{
	json_t *rung;
	size_t k;

	gt_buf_puts(out, "<details><summary>Commands</summary>\n");
	json_array_foreach(json_object_get(l, "rungs"), k, rung)
	{
		gt_auto_buf text = {0};

		command_text(rung, &text);
		gt_buf_puts(out, "<p><code>");
		gt_buf_xml(out, text.s ? text.s : "");
		gt_buf_puts(out, "</code></p>\n");
	}
	gt_buf_puts(out, "</details>\n");
}

/* Ladders have titles of the document's: no table of sections for these. */
static void navigation(const json_t *doc, struct gt_buf *out)
{
	json_t *l;
	size_t i;

	gt_buf_puts(out, "<nav aria-label=\"Sections\"><ul>");
	json_array_foreach(json_object_get(doc, "ladders"), i, l) {
		gt_buf_printf(out, "<li><a href=\"#ladder%zu\">", i);
		gt_buf_xml(out, gt_json_get_str(l, "title", "?"));
		gt_buf_puts(out, "</a></li>");
	}
	gt_buf_puts(out, "<li><a href=\"#method\">How to read this</a></li></ul></nav>\n");
}

void bn_ladder_html(const json_t *doc, struct gt_buf *out)
{
	gt_auto_buf head = {0}, answer = {0};
	const char *class_name;
	char title[64];
	json_t *l;
	size_t i;

	heading(doc, &head);
	class_name = bn_ladder_headline(doc, &answer);
	snprintf(title, sizeof(title), "gpubench ladder: %.*s", (int)strcspn(answer.s, ":"), answer.s);
	bn_html_open(out, title, answer.s);
	gt_buf_puts(out, "<header><h1>What each technique brings</h1>\n");
	bn_html_verdict(out, class_name, answer.s, head.s);
	navigation(doc, out);
	gt_buf_puts(out, "</header>\n<main id=\"main\">\n");
	json_array_foreach(json_object_get(doc, "ladders"), i, l)
	{
		gt_autofree char *id = gt_xasprintf("ladder%zu", i);

		bn_html_section(out, id, gt_json_get_str(l, "title", "?"));
		gt_buf_puts(out, "<p>");
		gt_buf_xml(out, gt_json_get_str(l, "what", ""));
		gt_buf_puts(out, "</p>\n");
		bars(l, i, out);
		page_table(l, out);
		commands(l, out);
		gt_buf_puts(out, "</section>\n");
	}
	bn_html_section(out, "method", "How to read this");
	gt_buf_puts(out,
		    "<p>Each launch is a fresh process. Rounds go through all rungs in an order decided by a coin; a "
		    "speed-up is the mean ratio to the first rung within rounds, its interval comes from the sign-flip "
		    "randomisation test. Planned memory is that of one rank's tensors, peak what one rank had resident "
		    "at most.</p>\n</section>\n</main>\n"
		    "<footer>Made by gpubench. Every launch is embedded in this page as JSON (element "
		    "<code>gpubench-result</code>).</footer>\n");
	bn_html_json(out, "gpubench-result", doc);
	bn_html_close(out);
}
