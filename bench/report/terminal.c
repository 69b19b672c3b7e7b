/* SPDX-License-Identifier: Apache-2.0 */
/* A view on a terminal: lines wrapped to its width, and tables. */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include "bench/report/view.h"
#include "lib/table.h"

struct terminal {
	FILE *out;
	unsigned width;
	bool color;
	bool any; /* something was printed */
	bool gap; /* a blank line comes first */
};

static void begin(struct terminal *t)
{
	if (t->gap && t->any)
		fputc('\n', t->out);
	t->gap = false;
	t->any = true;
}

static void line(struct terminal *t, unsigned indent, const char *fmt, ...) GT_PRINTF(3, 4);
static void line(struct terminal *t, unsigned indent, const char *fmt, ...)
{
	gt_autofree char *text = NULL, *shown = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!text || !text[0])
		return;
	shown = bn_view_plain(text);
	begin(t);
	gt_print_wrapped(t->out, shown, indent, t->width);
}

static const char *color_of(const char *class)
{
	return gt_streq(class, "better")         ? "green"
	       : gt_streq(class, "worse")        ? "red"
	       : gt_streq(class, "inconclusive") ? "yellow"
						 : NULL;
}

static enum gt_align align_of(enum bn_column_type type)
{
	return type == BN_NUMBER ? GT_RIGHT : type == BN_LONG || type == BN_JUDGED || type == BN_CODE ? GT_WRAP : GT_LEFT;
}

static void add_column(struct gt_table *table, const struct bn_column *c)
{
	gt_autofree char *head = bn_view_plain(c->head);

	for (char *p = head; *p && !c->name; p++)
		*p = (char)toupper((unsigned char)*p);
	gt_table_column(table, head, align_of(c->type));
}

static void table(struct terminal *t, const struct bn_block *b)
{
	gt_auto(gt_table) *table = gt_table_new();

	for (size_t k = 0; k < b->n_columns; k++)
		if (b->column[k].where & BN_TERMINAL)
			add_column(table, &b->column[k]);
	for (size_t i = 0; i < b->n_cells; i++) {
		const struct bn_column *c = &b->column[i % b->n_columns];
		gt_autofree char *text = bn_view_plain(b->cell[i].text);

		if (!(c->where & BN_TERMINAL))
			continue;
		gt_table_cell(table, "%s", text);
		if (c->type == BN_JUDGED || c->type == BN_VERDICT)
			gt_table_color(table, color_of(b->row_class[i / b->n_columns]));
	}
	t->gap = true;
	begin(t);
	gt_table_print(table, t->out, t->color);
	line(t, 0, "%s", b->text);
	t->gap = true;
}

/* Prints one line for each setting, because values can be long. */
static void changes(struct terminal *t, const struct bn_block *b)
{
	line(t, 0, "%s:", b->text);
	for (size_t i = 0; i < b->n_rows; i++) {
		const struct bn_cell *c = &b->cell[i * b->n_columns];
		const char *when = b->column[3].where & BN_TERMINAL ? c[3].text : "";

		line(t, 2, "%s %s → %s%s%s%s", c[0].text, c[1].text, c[2].text, when[0] ? " (" : "", when, when[0] ? ")" : "");
	}
}

static void prose(struct terminal *t, const char *text)
{
	gt_autofree char *copy = gt_xstrdup(text);
	char *to = copy;

	for (const char *p = text; *p; p++)
		if (*p != '*')
			*to++ = *p;
	*to = '\0';
	line(t, 0, "%s", copy);
}

static void command(struct terminal *t, const struct bn_block *b)
{
	gt_autofree char *name = bn_view_plain(b->name), *text = bn_view_plain(b->text);

	begin(t);
	fprintf(t->out, "%s: %s\n", name, text);
}

static void print_block(struct terminal *t, const struct bn_block *b)
{
	switch (b->kind) {
	case BN_SECTION:
	case BN_HEADING:
		t->gap = true;
		line(t, 0, "%s", b->text);
		break;
	case BN_TEXT:
		line(t, 0, "%s", b->text);
		break;
	case BN_PROSE:
		prose(t, b->text);
		break;
	case BN_ITEM:
		line(t, 0, "%s%s%s%s%s", b->name ? b->name : "", b->name ? ": " : "", b->text, b->more ? "; " : "",
		     b->more ? b->more : "");
		break;
	case BN_COMMAND: /* not wrapped, so that it can be copied */
		command(t, b);
		break;
	case BN_FACT:
		line(t, 0, "%s: %s", b->name, b->text);
		break;
	case BN_TABLE:
		if (b->changes)
			changes(t, b);
		else
			table(t, b);
		break;
	default:
		break;
	}
}

static void print_sections(struct terminal *t, const struct bn_view *v, bool context)
{
	bool now = context; /* blocks before the first section are context */

	for (size_t i = 0; i < v->n; i++) {
		const struct bn_block *b = &v->block[i];

		if (b->kind == BN_SECTION)
			now = b->context == context;
		if (now && (b->where & BN_TERMINAL))
			print_block(t, b);
	}
}

void bn_view_print(const struct bn_view *v, FILE *out, bool color)
{
	struct terminal t = { .out = out, .width = gt_term_width(out), .color = color };

	line(&t, 0, "%s, %s", v->tool, v->origin);
	line(&t, 0, "%s", v->design);
	print_sections(&t, v, true);
	print_sections(&t, v, false);
	line(&t, 0, "VERDICT %s", v->headline);
}
