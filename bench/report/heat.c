/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/report/heat.h"
#include "bench/result/text.h"

#define CELLS_MAX 256

/* The two kinds of series: the word in the series name, the head of the rows, the name of a row. */
static const struct side {
	const char *word, *corner, *row;
} sides[] = { { "cpu", "CPUs of", "node" }, { "gpu", "from and to", "GPU" } };

struct cell {
	unsigned cpu, mem; /* row and column */
	double v[2]; /* value in each arm; NaN: none */
};

struct matrix {
	const char *id; /* name of the first cell; the first `stem` characters are the series */
	size_t stem;
	const struct side *side;
	const char *unit;
	bool higher;
	double best;
	struct cell cell[CELLS_MAX];
	size_t n;
};

/* Parses "mem.matrix.cpu0-mem1": 10, 0 and 1. */
static const struct side *node_pair(const char *id, size_t *ret_stem, unsigned *ret_cpu, unsigned *ret_mem)
{
	const char *dot = strrchr(id, '.');

	char word[4];
	int end = 0;

	if (!dot || sscanf(dot, ".%3[a-z]%4u-mem%4u%n", word, ret_cpu, ret_mem, &end) != 3 || dot[end])
		return NULL;
	*ret_stem = (size_t)(dot - id);
	for (size_t i = 0; i < GT_ARRAY_SIZE(sides); i++)
		if (!strcmp(word, sides[i].word))
			return &sides[i];
	return NULL;
}

/* Returns the median of one arm. A/A pairs count only in a session of A/A pairs. */
static double median_of(const json_t *doc, const char *id, const char *arm)
{
	bool aa = gt_streq(gt_json_get_str(json_object_get(doc, "run"), "design", NULL), "aa");
	json_t *l;
	size_t i;

	json_array_foreach(json_object_get(doc, "levels"), i, l)
		if (gt_streq(gt_json_get_str(l, "metric", NULL), id) && gt_streq(gt_json_get_str(l, "arm", NULL), arm) &&
		    gt_streq(gt_json_get_str(l, "kind", NULL), "aa") == aa)
			return gt_json_get_real(l, "median", NAN);
	return NAN;
}

static void add_cell(const json_t *doc, struct matrix *m, const char *id, unsigned cpu, unsigned mem)
{
	struct cell *c = &m->cell[m->n];

	*c = (struct cell){ cpu, mem, { median_of(doc, id, "A"), median_of(doc, id, "B") } };
	for (int arm = 0; arm < 2; arm++)
		if (c->v[arm] > 0)
			m->best = isnan(m->best) ? c->v[arm] : m->higher ? fmax(m->best, c->v[arm]) : fmin(m->best, c->v[arm]);
	m->n += c->v[0] > 0 || c->v[1] > 0;
}

/*
 * Finds the series whose first cell is metric `from`. Returns false if there is no series, or if an earlier metric is
 * already its first cell.
 */
static bool read_matrix(const json_t *doc, size_t from, struct matrix *m)
{
	json_t *list = json_object_get(doc, "metrics"), *j;
	size_t i;

	*m = (struct matrix){ .best = NAN };
	json_array_foreach(list, i, j) {
		const char *id = gt_json_get_str(j, "id", "");
		unsigned cpu, mem;
		size_t stem;
		const struct side *side = i == from ? node_pair(id, &stem, &cpu, &mem) : NULL;

		if (side) {
			m->side = side;
			m->id = id;
			m->stem = stem;
			m->unit = gt_json_get_str(j, "unit", "");
			m->higher = gt_streq(gt_json_get_str(j, "direction", NULL), "higher");
		}
	}
	if (!m->id)
		return false;
	json_array_foreach(list, i, j) {
		const char *id = gt_json_get_str(j, "id", "");
		unsigned cpu, mem;
		size_t stem;

		if (node_pair(id, &stem, &cpu, &mem) != m->side || stem != m->stem || strncmp(id, m->id, stem) != 0)
			continue;
		if (i < from)
			return false;
		if (m->n < CELLS_MAX)
			add_cell(doc, m, id, cpu, mem);
	}
	return m->n > 1;
}

bool bn_heat_any(const json_t *doc)
{
	for (size_t i = 0; i < json_array_size(json_object_get(doc, "metrics")); i++) {
		struct matrix m;

		if (read_matrix(doc, i, &m))
			return true;
	}
	return false;
}

/* ---- table ---- */

static int cmp_unsigned(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

/* Lists all nodes of the matrix, ascending. */
static size_t nodes_of(const struct matrix *m, bool mem, unsigned *node)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		unsigned v = mem ? m->cell[i].mem : m->cell[i].cpu;
		bool seen = false;

		for (size_t k = 0; k < n; k++)
			seen |= node[k] == v;
		if (!seen)
			node[n++] = v;
	}
	qsort(node, n, sizeof(*node), cmp_unsigned);
	return n;
}

static int shade(double times)
{
	static const double up_to[] = { 1.05, 1.25, 1.5, 2, 3 };
	int level = 0;

	while (level < (int)GT_ARRAY_SIZE(up_to) && times > up_to[level])
		level++;
	return level;
}

static void value_cell(struct bn_view *v, const struct matrix *m, const struct cell *c, int arm)
{
	double value = c ? c->v[arm] : NAN, times = m->higher ? m->best / value : value / m->best;

	if (!(value > 0))
		bn_view_cell(v, "not measured");
	else if (times > 1)
		bn_view_cell(v, "%s\n%.2f\xc3\x97", bn_text_value(value, m->unit).s, times)->shade = shade(times);
	else
		bn_view_cell(v, "%s\nbest", bn_text_value(value, m->unit).s);
}

static const struct cell *cell_at(const struct matrix *m, unsigned row, unsigned col)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->cell[i].cpu == row && m->cell[i].mem == col)
			return &m->cell[i];
	return NULL;
}

static void table(struct bn_view *v, const json_t *doc, const struct matrix *m, int arm, bool two)
{
	unsigned row[CELLS_MAX], col[CELLS_MAX];
	size_t rows = nodes_of(m, false, row), cols = nodes_of(m, true, col);
	gt_autofree char *name = gt_xstrndup(m->id, m->stem);
	gt_autofree char *caption = gt_xasprintf("%s by node%s%s (%s is better)", name, two ? ", " : "",
						 two ? bn_arm_name(doc, arm != 0) : "", m->higher ? "higher" : "lower");
	gt_autofree struct bn_column *column = gt_xcalloc(cols + 1, sizeof(*column));
	gt_auto_strv heads = { 0 };

	column[0] = (struct bn_column){ .head = m->side->corner, .name = true };
	for (size_t k = 0; k < cols; k++) {
		gt_strv_take(&heads, gt_xasprintf("memory of node %u", col[k]));
		column[k + 1] = (struct bn_column){ .head = heads.v[k], .type = BN_NUMBER, .name = true };
	}
	bn_view_table(v, BN_PAGE, column, cols + 1, caption)->matrix = true;
	for (size_t i = 0; i < rows; i++) {
		bn_view_row(v, NULL);
		bn_view_cell(v, "%s %u", m->side->row, row[i]);
		for (size_t k = 0; k < cols; k++)
			value_cell(v, m, cell_at(m, row[i], col[k]), arm);
	}
}

void bn_heat_tables(struct bn_view *v, const json_t *doc)
{
	for (size_t i = 0; i < json_array_size(json_object_get(doc, "metrics")); i++) {
		bool has[2] = { false, false };
		struct matrix m;

		if (!read_matrix(doc, i, &m))
			continue;
		for (size_t k = 0; k < m.n; k++)
			for (int arm = 0; arm < 2; arm++)
				has[arm] |= m.cell[k].v[arm] > 0;
		for (int arm = 0; arm < 2; arm++)
			if (has[arm])
				table(v, doc, &m, arm, has[0] && has[1]);
	}
	bn_view_add(v, BN_TEXT, BN_PAGE,
		    "Medians. The second number of a cell is how many times worse it is than the best cell of both arms. The shade "
		    "shows the same: up to 1.05, 1.25, 1.5, 2, 3 times, or more.");
}
