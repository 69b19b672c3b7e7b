/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_TABLE_H
#define GT_TABLE_H
/* Text tables (libsmartcols) that fit the terminal, or 100 columns without one. No column is ever dropped. */
#include <stdio.h>
#include "lib/util.h"

enum gt_align { GT_LEFT, GT_RIGHT, GT_WRAP /* left, wraps at blanks */, GT_TRUNC /* left, truncated if too narrow */ };
#define GT_TABLE_COLUMNS 40
struct gt_table;
struct gt_table *gt_table_new(void);
void gt_table_column(struct gt_table *t, const char *head, enum gt_align align);
void gt_table_row(struct gt_table *t);					   /* starts a row */
void gt_table_cell(struct gt_table *t, const char *fmt, ...) GT_PRINTF(2, 3); /* next cell of this row */
void gt_table_color(struct gt_table *t, const char *name);		   /* sets the colour of the last cell: "red" … */
void gt_table_print(struct gt_table *t, FILE *out, bool color);
void gt_table_free(struct gt_table *t);
GT_DEFINE_AUTO(gt_table, gt_table_free);

unsigned gt_term_width(FILE *out);	   /* COLUMNS, else the terminal's width, else 100 */
/* Prints text wrapped at blanks to width, each line indented by `indent` blanks. Keeps newlines in the text. */
void gt_print_wrapped(FILE *out, const char *text, unsigned indent, unsigned width);
/* Prints a name and, in the same line from column `indent` on, the wrapped text. */
void gt_print_columns(FILE *out, const char *name, const char *text, unsigned indent, unsigned width);
#endif
