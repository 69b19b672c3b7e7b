/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/report/heat.h"
#include "bench/result/text.h"

#define CELLS_MAX 256

/* What the memory is seen from: the word in the series' name, the head of the rows, and each row's. */
static const struct side {
	const char *word, *corner, *row;
} sides[] = { { "cpu", "CPUs of", "node" }, { "gpu", "from and to", "GPU" } };

struct cell {
	unsigned cpu, mem; /* row and column */
	double v[2]; /* per arm, NaN none */
};

struct matrix {
	const char *id; /* of its first cell; the first `stem` characters are the series */
	size_t stem;
	const struct side *side;
	const char *unit;
	bool higher;
	double best;
	struct cell cell[CELLS_MAX];
	size_t n;
};

/* "mem.matrix.cpu0-mem1": 10, 0 and 1. */
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

/* The median of one arm; that of A/A pairs only where there is nothing else. */
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

/* The series whose first cell is metric `from`; false where an earlier metric is its first, or there is none. */
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

/* The nodes that occur, ascending. */
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

static void value_cell(struct gt_buf *out, const struct matrix *m, const struct cell *c, int arm)
{
	double v = c ? c->v[arm] : NAN, times = m->higher ? m->best / v : v / m->best;

	if (!(v > 0)) {
		gt_buf_puts(out, "<td class=\"r\">not measured</td>");
		return;
	}
	gt_buf_printf(out, "<td class=\"r h%d\">", shade(times));
	gt_buf_xml(out, bn_text_value(v, m->unit).s);
	if (times > 1)
		gt_buf_printf(out, "<br>%.2f\xc3\x97</td>", times);
	else
		gt_buf_puts(out, "<br>best</td>");
}

static void table(struct gt_buf *out, const json_t *doc, const struct matrix *m, int arm, bool two)
{
	unsigned row[CELLS_MAX], col[CELLS_MAX];
	size_t rows = nodes_of(m, false, row), cols = nodes_of(m, true, col);
	gt_autofree char *name = gt_xstrndup(m->id, m->stem);

	gt_buf_puts(out, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"");
	gt_buf_xml(out, name);
	gt_buf_puts(out, " by node\"><table class=\"heat\"><caption>");
	gt_buf_xml(out, name);
	if (two) {
		gt_buf_puts(out, ", ");
		gt_buf_xml(out, bn_arm_name(doc, arm != 0));
	}
	gt_buf_printf(out, " (%s is better)</caption>\n<thead><tr><th scope=\"col\">%s</th>", m->higher ? "higher" : "lower",
		      m->side->corner);
	for (size_t k = 0; k < cols; k++)
		gt_buf_printf(out, "<th scope=\"col\" class=\"r\">memory of node %u</th>", col[k]);
	gt_buf_puts(out, "</tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < rows; i++) {
		gt_buf_printf(out, "<tr><th scope=\"row\">%s %u</th>", m->side->row, row[i]);
		for (size_t k = 0; k < cols; k++) {
			const struct cell *c = NULL;

			for (size_t x = 0; x < m->n; x++)
				if (m->cell[x].cpu == row[i] && m->cell[x].mem == col[k])
					c = &m->cell[x];
			value_cell(out, m, c, arm);
		}
		gt_buf_puts(out, "</tr>\n");
	}
	gt_buf_puts(out, "</tbody></table></div>\n");
}

void bn_heat_tables(const json_t *doc, struct gt_buf *out)
{
	for (size_t i = 0; i < json_array_size(json_object_get(doc, "metrics")); i++) {
		bool has[2] = { false, false };
		struct matrix m;

		if (!read_matrix(doc, i, &m))
			continue;
		for (size_t k = 0; k < m.n; k++)
			for (int arm = 0; arm < 2; arm++)
				has[arm] |= m.cell[k].v[arm] > 0;
		gt_buf_puts(out, "<div class=\"pair\">\n");
		for (int arm = 0; arm < 2; arm++)
			if (has[arm])
				table(out, doc, &m, arm, has[0] && has[1]);
		gt_buf_puts(out, "</div>\n");
	}
	gt_buf_puts(out, "<p class=\"soft\">Medians. Beneath each: how many times worse than the best cell of both arms. The shade "
			 "says the same: up to 1.05, 1.25, 1.5, 2, 3 times, or more.</p>\n");
}
