/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_VIEW_H
#define BN_VIEW_H
/*
 * A document as a person reads it: a verdict and a list of blocks. One function per kind of document builds the view
 * (views.h), and three renderers print it. The renderers do not depend on the kind of document. Text in a view is plain
 * text; each renderer escapes it for its output.
 * The page and Markdown begin with the verdict. On a terminal the verdict is the last line, and sections with context
 * come first.
 */
#include <stdio.h>
#include "lib/buf.h"
#include "lib/json.h"

/* The outputs that show a block or a column, as a set. */
enum { BN_TERMINAL = 1, BN_MARKDOWN = 2, BN_PAGE = 4, BN_FILES = BN_MARKDOWN | BN_PAGE, BN_ALL = BN_TERMINAL | BN_FILES };

enum bn_column_type {
	BN_WORDS,
	BN_LONG,     /* text that may be broken anywhere */
	BN_NUMBER,   /* right-aligned */
	BN_INTERVAL, /* never broken */
	BN_VERDICT,  /* a few words in the colour of the row's class */
	BN_JUDGED,   /* text with a reason, which may be broken */
	BN_CODE,
};

struct bn_column {
	const char *head; /* lower case: the terminal prints capitals, the page begins with one */
	enum bn_column_type type;
	unsigned where;	  /* 0: BN_ALL */
	bool name;	  /* the column's head is printed unchanged */
};

enum bn_block_kind {
	BN_SECTION,  /* name: its id; text: its heading */
	BN_HEADING,  /* a heading below that of a section */
	BN_TEXT,     /* a paragraph */
	BN_PROSE,    /* a constant paragraph; *words* are emphasised */
	BN_COMMAND,  /* name: a label; text: a command line */
	BN_ITEM,     /* an item of a list; name: "note" or NULL; more: a hint or NULL */
	BN_FACT,     /* name and value */
	BN_TABLE,    /* text: its caption */
	BN_FIGURE,   /* more: inline SVG with title and description; text: its caption */
	BN_DETAILS,  /* text: a summary. Until BN_END the page hides the blocks */
	BN_END,
};

struct bn_cell {
	char *text; /* items of a list are lines */
	int shade;  /* 0 none, 1 to 5: darker is worse */
	bool strong;
};

struct bn_block {
	enum bn_block_kind kind;
	unsigned where;
	bool context;  /* a section that the terminal prints first */
	char *name, *text, *more;
	/* for a table */
	struct bn_column *column;
	struct bn_cell *cell;	/* row after row */
	const char **row_class; /* verdict of each row, or NULL */
	size_t n_columns, n_cells, n_rows;
	bool changes; /* the columns are setting, from, to and when: the terminal prints lines */
	bool matrix;  /* columns only as wide as their cells */
};

struct bn_view {
	const char *tool;  /* "gpubench prove" */
	const char *class; /* class of the verdict, one of bn_view_class() */
	const json_t *doc; /* borrowed; the page embeds it */
	char *headline;	   /* "WORSE: train.gpt +2 %" */
	char *origin;	   /* host and date */
	char *design;	   /* the design; "" if it is obvious */
	struct bn_block *block;
	size_t n;
};

struct bn_view *bn_view_new(const json_t *doc, const char *tool);
void bn_view_free(struct bn_view *v);
GT_DEFINE_AUTO(bn_view, bn_view_free);

/* Returns better, worse, same, inconclusive, measured, invalid or wrong. Any other text is inconclusive. */
const char *bn_view_class(const char *verdict);

/* ---- for builders; a block is valid until the next one is added ---- */

void bn_view_set(char **field, const char *fmt, ...) GT_PRINTF(2, 3);
struct bn_block *bn_view_add(struct bn_view *v, enum bn_block_kind kind, unsigned where, const char *fmt, ...)
	GT_PRINTF(4, 5);
/* where: the outputs that print the heading. */
struct bn_block *bn_view_section(struct bn_view *v, unsigned where, const char *id, const char *heading);
void bn_view_fact(struct bn_view *v, unsigned where, const char *name, const char *value);
/* Returns the label of a member of the host in a document: "NUMA nodes" of numa_nodes. */
const char *bn_view_host_label(const char *key);
/* Adds a command line from an array of words. */
void bn_view_command(struct bn_view *v, unsigned where, const char *label, const json_t *words);
void bn_view_notes(struct bn_view *v, const json_t *warnings); /* array of {text, hint, phases} */
struct bn_block *bn_view_table(struct bn_view *v, unsigned where, const struct bn_column *column, size_t n, const char *caption);
/* Rows and cells of the table that was added last. */
void bn_view_row(struct bn_view *v, const char *verdict);
struct bn_cell *bn_view_cell(struct bn_view *v, const char *fmt, ...) GT_PRINTF(2, 3);
void bn_view_cell_item(struct bn_view *v, const char *fmt, ...) GT_PRINTF(2, 3); /* adds an item to the last cell */
/* Adds items: the first three in each output, the others on the page only. n: their total number; list may have only
 * the first ones. */
void bn_view_outliers(struct bn_view *v, const json_t *list, size_t n);
/* Adds a table of differences {from, to, when, phases}. key: the member that names the setting. when: the outputs that
 * show the time. empty: the text if there is no difference, or NULL. */
void bn_view_changes(struct bn_view *v, const json_t *list, const char *key, unsigned when, const char *caption, const char *empty);
void bn_view_figure(struct bn_view *v, struct gt_buf *svg, const char *caption); /* takes svg's text; empty: no figure */

/* ---- renderers ---- */

char *bn_view_plain(const char *text); /* a copy without control characters except newlines, which separate list items */
void bn_view_print(const struct bn_view *v, FILE *out, bool color); /* terminal */
void bn_view_markdown(const struct bn_view *v, struct gt_buf *out);
void bn_view_html(const struct bn_view *v, struct gt_buf *out);
#endif
