/* SPDX-License-Identifier: Apache-2.0 */
/* A view as Markdown, for a ticket. */
#include <string.h>
#include "bench/report/view.h"

/* Escapes all markup in foreign text. between: the replacement of a line break. */
static void escaped(struct gt_buf *out, const char *text, const char *between)
{
	gt_autofree char *plain = bn_view_plain(text);

	for (const char *s = plain; *s; s++) {
		if (strchr("|<\\`*_[]", *s))
			gt_buf_add(out, "\\", 1);
		if (*s == '\n')
			gt_buf_puts(out, between);
		else
			gt_buf_add(out, s, 1);
	}
}

static void paragraph(struct gt_buf *out, const char *before, const char *text, const char *after)
{
	if (!text[0])
		return;
	gt_buf_puts(out, before);
	escaped(out, text, " ");
	gt_buf_puts(out, after);
}

/* Prints a code span, whose fence is longer than any run of backticks inside. */
static void code(struct gt_buf *out, const char *text)
{
	gt_autofree char *plain = bn_view_plain(text), *fence = NULL;
	size_t longest = 0, run = 0;

	for (char *s = plain; *s; s++) {
		run = *s == '`' ? run + 1 : 0;
		longest = GT_MAX(longest, run);
		*s = *s == '\n' ? ' ' : *s;
	}
	fence = gt_xcalloc(longest + 2, 1);
	memset(fence, '`', longest + 1);
	gt_buf_printf(out, longest ? "%s %s %s" : "%s%s%s", fence, plain, fence);
}

static void table(struct gt_buf *out, const struct bn_block *b)
{
	paragraph(out, "", b->text, "\n\n");
	for (size_t k = 0; k < b->n_columns; k++)
		if (b->column[k].where & BN_MARKDOWN)
			paragraph(out, "| ", b->column[k].head, " ");
	gt_buf_puts(out, "|\n");
	for (size_t k = 0; k < b->n_columns; k++)
		if (b->column[k].where & BN_MARKDOWN)
			gt_buf_puts(out, b->column[k].type == BN_NUMBER ? "| ---: " : "| --- ");
	gt_buf_puts(out, "|\n");
	for (size_t i = 0; i < b->n_cells; i++) {
		if (b->column[i % b->n_columns].where & BN_MARKDOWN) {
			gt_buf_puts(out, "| ");
			escaped(out, b->cell[i].text, "; ");
			gt_buf_puts(out, " ");
		}
		if ((i + 1) % b->n_columns == 0)
			gt_buf_puts(out, "|\n");
	}
}

static void add_block(struct gt_buf *out, const struct bn_block *b)
{
	switch (b->kind) {
	case BN_SECTION:
		paragraph(out, "## ", b->text, "\n");
		break;
	case BN_HEADING:
		paragraph(out, "### ", b->text, "\n");
		break;
	case BN_TEXT:
		paragraph(out, "", b->text, "\n");
		break;
	case BN_PROSE:
		gt_buf_printf(out, "%s\n", b->text);
		break;
	case BN_ITEM:
		paragraph(out, "- ", b->text, "");
		paragraph(out, "; ", b->more ? b->more : "", "");
		gt_buf_puts(out, "\n");
		break;
	case BN_COMMAND:
		paragraph(out, "", b->name, ": ");
		code(out, b->text);
		gt_buf_puts(out, "\n");
		break;
	case BN_FACT:
		paragraph(out, "- ", b->name, ": ");
		paragraph(out, "", b->text, "");
		gt_buf_puts(out, "\n");
		break;
	case BN_TABLE:
		table(out, b);
		break;
	default:
		break;
	}
}

static bool listed(const struct bn_block *b)
{
	return b && (b->kind == BN_ITEM || b->kind == BN_FACT);
}

void bn_view_markdown(const struct bn_view *v, struct gt_buf *out)
{
	const struct bn_block *last = NULL;

	paragraph(out, "**", v->headline, "**\n\n");
	paragraph(out, "", v->tool, ", ");
	paragraph(out, "", v->origin, "\n");
	paragraph(out, "\n", v->design, "\n");
	for (size_t i = 0; i < v->n; i++) {
		const struct bn_block *b = &v->block[i];

		if (!(b->where & BN_MARKDOWN))
			continue;
		gt_buf_puts(out, listed(b) && listed(last) ? "" : "\n");
		add_block(out, b);
		last = b;
	}
}
