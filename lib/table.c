/* SPDX-License-Identifier: Apache-2.0 */
#include <libsmartcols.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include "lib/parse.h"
#include "lib/table.h"

struct cell {
	char *text;
	const char *color;
};
struct gt_table {
	const char *head[GT_TABLE_COLUMNS];
	enum gt_align align[GT_TABLE_COLUMNS];
	struct cell *cell; /* cells, row after row */
	size_t n_columns, n_cells;
};

struct gt_table *gt_table_new(void)
{
	return gt_xcalloc(1, sizeof(struct gt_table));
}

void gt_table_column(struct gt_table *t, const char *head, enum gt_align align)
{
	if (t->n_columns == GT_TABLE_COLUMNS)
		return;
	t->head[t->n_columns] = gt_xstrdup(head);
	t->align[t->n_columns++] = align;
}

void gt_table_row(struct gt_table *t)
{
	while (t->n_columns && t->n_cells % t->n_columns)
		gt_table_cell(t, "%s", ""); /* completes the previous row */
}

void gt_table_cell(struct gt_table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = gt_xstrdup("");
	va_end(ap);
	t->cell = gt_xrealloc(t->cell, (t->n_cells + 1) * sizeof(*t->cell));
	t->cell[t->n_cells++] = (struct cell){ text, NULL };
}

void gt_table_color(struct gt_table *t, const char *name)
{
	if (t->n_cells)
		t->cell[t->n_cells - 1].color = name;
}

void gt_table_free(struct gt_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_columns; i++)
		free((char *)t->head[i]);
	for (size_t i = 0; i < t->n_cells; i++)
		free(t->cell[i].text);
	free(t->cell);
	free(t);
}

/* ---- layout --------------------------------------------------------------------------------------------------- */

/* Returns the columns of UTF-8 text of len bytes. Assumes one column per character, which holds for the tools' output. */
static size_t text_width(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

static size_t natural_width(const struct gt_table *t, size_t column)
{
	size_t width = text_width(t->head[column], strlen(t->head[column]));

	for (size_t i = column; i < t->n_cells; i += t->n_columns)
		width = GT_MAX(width, text_width(t->cell[i].text, strlen(t->cell[i].text)));
	return width;
}

/* Returns the width of each wrapping column so that the table fits. libsmartcols would break inside words. */
static size_t wrap_width(const struct gt_table *t, size_t width)
{
	size_t taken = t->n_columns ? t->n_columns - 1 : 0, wrapping = 0;

	for (size_t c = 0; c < t->n_columns; c++) {
		if (t->align[c] == GT_WRAP)
			wrapping++;
		else
			taken += natural_width(t, c);
	}
	if (!wrapping)
		return width;
	return taken + 20 * wrapping < width ? (width - taken) / wrapping : 20;
}

/* Replaces blanks by newlines in place, so that lines fit the width if the words allow it. */
static void break_lines(char *s, size_t width)
{
	char *line = s, *blank = NULL;

	for (char *p = s; *p; p++) {
		if (*p == '\n') {
			line = p + 1;
			blank = NULL;
		} else if (*p == ' ') {
			if (blank && text_width(line, (size_t)(p - line)) > width) {
				*blank = '\n';
				line = blank + 1;
			}
			blank = p;
		}
	}
	if (blank && text_width(line, strlen(line)) > width)
		*blank = '\n';
}

static struct libscols_table *lay_out(struct gt_table *t, unsigned width, bool color)
{
	struct libscols_table *out = scols_new_table();
	size_t wrap = wrap_width(t, width);

	if (!out)
		return NULL;
	for (size_t c = 0; c < t->n_columns; c++) {
		int flags = t->align[c] == GT_RIGHT ? SCOLS_FL_RIGHT :
			    t->align[c] == GT_TRUNC ? SCOLS_FL_TRUNC :
			    t->align[c] == GT_WRAP  ? SCOLS_FL_WRAP :
						      0;
		struct libscols_column *col = scols_table_new_column(out, t->head[c], t->align[c] == GT_TRUNC ? 0.3 : 0, flags);

		if (col && t->align[c] == GT_WRAP) {
			scols_column_set_wrapfunc(col, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
			scols_column_set_safechars(col, "\n");
		}
	}
	for (size_t i = 0; i + t->n_columns <= t->n_cells; i += t->n_columns) {
		struct libscols_line *line = scols_table_new_line(out, NULL);

		for (size_t c = 0; line && c < t->n_columns; c++) {
			if (t->align[c] == GT_WRAP)
				break_lines(t->cell[i + c].text, wrap);
			scols_line_set_data(line, c, t->cell[i + c].text);
			if (t->cell[i + c].color)
				scols_cell_set_color(scols_line_get_cell(line, c), t->cell[i + c].color);
		}
	}
	/* the same width for a pipe and a terminal, so that a report does not depend on its destination */
	scols_table_set_termforce(out, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(out, width);
	scols_table_enable_colors(out, color);
	return out;
}

void gt_table_print(struct gt_table *t, FILE *out, bool color)
{
	struct libscols_table *table;
	char *text = NULL;

	gt_table_row(t);
	table = lay_out(t, gt_term_width(out), color);
	if (table && !scols_print_table_to_string(table, &text) && text)
		for (char *line = text, *nl; *line; line = nl + 1) {
			char *end;

			nl = strchrnul(line, '\n');
			for (end = nl; end > line && end[-1] == ' '; end--)
				;
			fwrite(line, 1, (size_t)(end - line), out);
			fputc('\n', out);
			if (!*nl)
				break;
		}
	free(text);
	scols_unref_table(table);
}

unsigned gt_term_width(FILE *out)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;
	uint64_t v;

	if (columns && !gt_parse_u64(columns, &v) && v >= 20 && v <= 1000)
		return (unsigned)v;
	if (!ioctl(fileno(out), TIOCGWINSZ, &ws) && ws.ws_col >= 20)
		return ws.ws_col;
	return 100;
}

/* Returns how many bytes of an overlong word to print in `room` columns: up to the last punctuation, else as many as fit. */
static size_t break_word(const char *word, size_t len, size_t room)
{
	size_t cut = len, at = 0;

	while (cut > 1 && (text_width(word, cut) > room || (word[cut] & 0xc0) == 0x80))
		cut--;
	for (size_t i = 1; i <= cut; i++)
		if (strchr(":,;/=", word[i - 1]))
			at = i;
	return at > cut / 2 ? at : cut;
}

void gt_print_wrapped(FILE *out, const char *text, unsigned indent, unsigned width)
{
	size_t col = 0;

	while (*text) {
		size_t len = strcspn(text, " \n"), w = text_width(text, len);

		if (col && col + 1 + w > width) {
			fputc('\n', out);
			col = 0;
		}
		if (!col && indent + w > width && width > indent + 8) {
			size_t part = break_word(text, len, width - indent);

			fprintf(out, "%*s%.*s\n", (int)indent, "", (int)part, text);
			text += part;
			continue;
		}
		if (len) {
			if (col)
				fputc(' ', out);
			fprintf(out, "%*s%.*s", col ? 0 : (int)indent, "", (int)len, text);
			col += w + (col ? 1 : indent);
		}
		text += len;
		if (*text == '\n') {
			fputc('\n', out);
			col = 0;
		}
		text += *text != '\0';
	}
	if (col)
		fputc('\n', out);
}

void gt_print_columns(FILE *out, const char *name, const char *text, unsigned indent, unsigned width)
{
	char *lines = NULL;
	size_t len;
	FILE *m = open_memstream(&lines, &len);

	if (!m)
		return;
	gt_print_wrapped(m, text, indent, width);
	if (!fclose(m))
		fprintf(out, "%-*s%s", (int)indent, name, len > indent ? lines + indent : "\n");
	free(lines);
}
