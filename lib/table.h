/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_TABLE_H
#define GT_TABLE_H
/* Tables for people (libsmartcols): fit the terminal, or 100 columns where there is none, and never lose a column. */
#include <stdio.h>
#include "lib/util.h"

enum gt_align { GT_LEFT, GT_RIGHT, GT_WRAP /* left, breaks at blanks */, GT_TRUNC /* left, cut when too narrow */ };
#define GT_TABLE_COLUMNS 40
struct gt_table;
struct gt_table *gt_table_new(void);
void gt_table_column(struct gt_table *t, const char *head, enum gt_align align);
void gt_table_row(struct gt_table *t);					   /* start a row */
void gt_table_cell(struct gt_table *t, const char *fmt, ...) GT_PRINTF(2, 3); /* next cell of this row */
void gt_table_color(struct gt_table *t, const char *name);		   /* colour the cell last added: "red" … */
void gt_table_print(struct gt_table *t, FILE *out, bool color);
void gt_table_free(struct gt_table *t);
GT_DEFINE_AUTO(gt_table, gt_table_free);

unsigned gt_term_width(FILE *out);	   /* COLUMNS, else the terminal's, else 100 */
/* Print text wrapped to width at blanks, every line after `indent` blanks. Newlines in text are kept. */
void gt_print_wrapped(FILE *out, const char *text, unsigned indent, unsigned width);
/* A name, and beside it, from column `indent` on, text that goes on beneath itself. */
void gt_print_columns(FILE *out, const char *name, const char *text, unsigned indent, unsigned width);
#endif
