/* SPDX-License-Identifier: Apache-2.0 */
#include <libsmartcols.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include "lib/parse.h"
#include "lib/table.h"

struct gt_table {
	struct libscols_table *scols;
	struct libscols_line *line;
	size_t n_columns, next;
};

struct gt_table *gt_table_new(void)
{
	struct gt_table *t = gt_xcalloc(1, sizeof(*t));

	t->scols = scols_new_table();
	if (!t->scols)
		gt_xrealloc(NULL, SIZE_MAX); /* out of memory, said once, in one place */
	return t;
}

void gt_table_column(struct gt_table *t, const char *head, enum gt_align align)
{
	static const int flags[] = {
		[GT_LEFT] = 0, [GT_RIGHT] = SCOLS_FL_RIGHT, [GT_WRAP] = SCOLS_FL_WRAP, [GT_TRUNC] = SCOLS_FL_TRUNC,
	};

	scols_table_new_column(t->scols, head, align == GT_WRAP || align == GT_TRUNC ? 0.3 : 0, flags[align]);
	t->n_columns++;
}

void gt_table_row(struct gt_table *t)
{
	t->line = scols_table_new_line(t->scols, NULL);
	t->next = 0;
}

void gt_table_cell(struct gt_table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = gt_xstrdup("");
	va_end(ap);
	if (scols_line_refer_data(t->line, t->next++, text))
		free(text);
}

void gt_table_color(struct gt_table *t, const char *name)
{
	struct libscols_cell *cell = scols_line_get_cell(t->line, t->next - 1);

	if (cell)
		scols_cell_set_color(cell, name);
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

void gt_table_print(struct gt_table *t, FILE *out, bool color)
{
	char *text = NULL;

	/* as wide as what it goes to, also into a pipe: a report must not change with where it is read */
	scols_table_set_termforce(t->scols, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(t->scols, gt_term_width(out));
	scols_table_enable_colors(t->scols, color);
	if (!scols_print_table_to_string(t->scols, &text) && text) {
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
	}
	free(text);
}

void gt_table_free(struct gt_table *t)
{
	if (!t)
		return;
	scols_unref_table(t->scols);
	free(t);
}

/* Columns that the UTF-8 text of len bytes takes: one a character, which holds for what we print. */
static size_t text_width(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
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
