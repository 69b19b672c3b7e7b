/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <string.h>
#include "bench/report/view.h"
#include "bench/result/text.h"

static char *formatted(const char *fmt, va_list ap)
{
	char *text = NULL;

	return vasprintf(&text, fmt, ap) < 0 ? gt_xstrdup("") : text;
}

struct bn_view *bn_view_new(const json_t *doc, const char *tool)
{
	struct bn_view *v = gt_xcalloc(1, sizeof(*v));

	*v = (struct bn_view){ .tool = tool,
			       .doc = doc,
			       .class = bn_view_class(NULL),
			       .headline = gt_xstrdup(""),
			       .origin = gt_xstrdup(""),
			       .design = gt_xstrdup("") };
	return v;
}

static void block_clear(struct bn_block *b)
{
	for (size_t i = 0; i < b->n_columns; i++)
		free((char *)b->column[i].head);
	for (size_t i = 0; i < b->n_cells; i++)
		free(b->cell[i].text);
	free(b->column);
	free(b->cell);
	free(b->row_class);
	free(b->name);
	free(b->text);
	free(b->more);
}

void bn_view_free(struct bn_view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->n; i++)
		block_clear(&v->block[i]);
	free(v->block);
	free(v->headline);
	free(v->origin);
	free(v->design);
	free(v);
}

const char *bn_view_class(const char *verdict)
{
	static const char *const known[] = { "better", "worse", "same", "inconclusive", "measured", "invalid", "wrong" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(known); i++)
		if (gt_streq(verdict, known[i]))
			return known[i];
	return "inconclusive";
}

void bn_view_set(char **field, const char *fmt, ...)
{
	va_list ap;

	free(*field);
	va_start(ap, fmt);
	*field = formatted(fmt, ap);
	va_end(ap);
}

struct bn_block *bn_view_add(struct bn_view *v, enum bn_block_kind kind, unsigned where, const char *fmt, ...)
{
	struct bn_block *b;
	va_list ap;

	v->block = gt_xrealloc(v->block, (v->n + 1) * sizeof(*v->block));
	b = &v->block[v->n++];
	va_start(ap, fmt);
	*b = (struct bn_block){ .kind = kind, .where = where, .text = formatted(fmt, ap) };
	va_end(ap);
	return b;
}

struct bn_block *bn_view_section(struct bn_view *v, unsigned where, const char *id, const char *heading)
{
	struct bn_block *b = bn_view_add(v, BN_SECTION, where | BN_PAGE, "%s", heading);

	b->name = gt_xstrdup(id);
	return b;
}

void bn_view_fact(struct bn_view *v, unsigned where, const char *name, const char *value)
{
	bn_view_add(v, BN_FACT, where, "%s", value)->name = gt_xstrdup(name);
}

const char *bn_view_host_label(const char *key)
{
	static const struct {
		const char *key, *label;
	} labels[] = { { "identity", "Host identity" },
		       { "host", "Host identity" },
		       { "cpu", "CPU model" },
		       { "cpus", "CPUs online" },
		       { "cpus_allowed", "CPUs allowed" },
		       { "numa_nodes", "NUMA nodes" },
		       { "memory_bytes", "Memory" },
		       { "distribution", "Distribution" },
		       { "kernel", "Kernel" },
		       { "kernel_cmdline", "Kernel command line" },
		       { "microcode", "Microcode" },
		       { "virtualization", "Virtualization" },
		       { "container", "Container" },
		       { "nvidia_driver", "NVIDIA driver" },
		       { "profile", "Profile" },
		       { "created", "Created" },
		       { "seed", "Seed" } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(labels); i++)
		if (!strcmp(key, labels[i].key))
			return labels[i].label;
	return key;
}

void bn_view_command(struct bn_view *v, unsigned where, const char *label, const json_t *words)
{
	gt_auto_buf text = { 0 };
	json_t *word;
	size_t i;

	json_array_foreach(words, i, word)
		gt_buf_printf(&text, "%s%s", i ? " " : "", json_is_string(word) ? json_string_value(word) : "?");
	if (text.len)
		bn_view_add(v, BN_COMMAND, where, "%s", text.s)->name = gt_xstrdup(label);
}

/* Returns " (total and 2 more)": the phases of a note. */
static char *phases_of(const json_t *note)
{
	json_t *phases = json_object_get(note, "phases");
	const char *first = json_string_value(json_array_get(phases, 0));
	size_t n = json_array_size(phases);

	return !first  ? gt_xstrdup("")
	       : n > 1 ? gt_xasprintf(" (%s and %zu more)", first, n - 1)
		       : gt_xasprintf(" (%s)", first);
}

void bn_view_notes(struct bn_view *v, const json_t *warnings)
{
	json_t *w;
	size_t i;

	json_array_foreach(warnings, i, w) {
		const char *hint = gt_json_get_str(w, "hint", "");
		gt_autofree char *phases = phases_of(w);
		struct bn_block *b = bn_view_add(v, BN_ITEM, BN_ALL, "%s%s", gt_json_get_str(w, "text", ""), hint[0] ? "" : phases);

		b->name = gt_xstrdup("note");
		b->more = hint[0] ? gt_xasprintf("%s%s", hint, phases) : NULL;
	}
}

struct bn_block *bn_view_table(struct bn_view *v, unsigned where, const struct bn_column *column, size_t n, const char *caption)
{
	struct bn_block *b = bn_view_add(v, BN_TABLE, where, "%s", caption);

	b->column = gt_xcalloc(n, sizeof(*b->column));
	b->n_columns = n;
	for (size_t i = 0; i < n; i++) {
		b->column[i] = column[i];
		b->column[i].head = gt_xstrdup(column[i].head);
		b->column[i].where = column[i].where ? column[i].where : BN_ALL;
	}
	return b;
}

void bn_view_row(struct bn_view *v, const char *verdict)
{
	struct bn_block *b = &v->block[v->n - 1];

	b->row_class = gt_xrealloc(b->row_class, (b->n_rows + 1) * sizeof(*b->row_class));
	b->row_class[b->n_rows++] = verdict ? bn_view_class(verdict) : NULL;
}

static struct bn_cell *cell_new(struct bn_view *v, char *text)
{
	struct bn_block *b = &v->block[v->n - 1];

	b->cell = gt_xrealloc(b->cell, (b->n_cells + 1) * sizeof(*b->cell));
	b->cell[b->n_cells] = (struct bn_cell){ .text = text };
	return &b->cell[b->n_cells++];
}

struct bn_cell *bn_view_cell(struct bn_view *v, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = formatted(fmt, ap);
	va_end(ap);
	return cell_new(v, text);
}

void bn_view_cell_item(struct bn_view *v, const char *fmt, ...)
{
	struct bn_block *b = &v->block[v->n - 1];
	struct bn_cell *c = &b->cell[b->n_cells - 1];
	gt_autofree char *before = c->text, *item = NULL;
	va_list ap;

	va_start(ap, fmt);
	item = formatted(fmt, ap);
	va_end(ap);
	gt_make_plain(item); /* one line */
	c->text = gt_xasprintf("%s%s%s", before, before[0] ? "\n" : "", item);
}

/* "midway; total, confirm" */
static char *when_of(const json_t *difference)
{
	json_t *phase;
	gt_auto_buf text = { 0 };
	size_t i;

	gt_buf_puts(&text, gt_json_get_str(difference, "when", ""));
	json_array_foreach(json_object_get(difference, "phases"), i, phase)
		gt_buf_printf(&text, "%s%s", i ? ", " : "; ", json_is_string(phase) ? json_string_value(phase) : "?");
	return gt_buf_take(&text);
}

void bn_view_changes(struct bn_view *v, const json_t *list, const char *key, unsigned when, const char *caption, const char *empty)
{
	const struct bn_column columns[] = {
		{ "setting", BN_LONG }, { "from", BN_LONG }, { "to", BN_LONG }, { "when", BN_LONG, when }
	};
	json_t *d;
	size_t i;

	if (!json_array_size(list)) {
		if (empty)
			bn_view_add(v, BN_TEXT, BN_ALL, "%s", empty);
		return;
	}
	bn_view_table(v, BN_ALL, columns, GT_ARRAY_SIZE(columns), caption)->changes = true;
	json_array_foreach(list, i, d) {
		gt_autofree char *time = when_of(d);

		bn_view_row(v, NULL);
		bn_view_cell(v, "%s", gt_json_get_str(d, key, "?"));
		bn_view_cell(v, "%s", bn_text_json(json_object_get(d, "from")).s);
		bn_view_cell(v, "%s", bn_text_json(json_object_get(d, "to")).s);
		bn_view_cell(v, "%s", time);
	}
}

#define OUTLIERS_SHOWN 3

void bn_view_outliers(struct bn_view *v, const json_t *list, size_t n)
{
	json_t *o;
	size_t i;

	json_array_foreach(list, i, o) {
		const char *phase = gt_json_get_str(o, "phase", NULL);

		bn_view_add(v, BN_ITEM, i < OUTLIERS_SHOWN ? BN_ALL : BN_PAGE, "far from the others: %s%s%s", phase ? phase : "",
			    phase ? ": " : "", bn_text_outlier(o).s);
	}
	if (n > OUTLIERS_SHOWN)
		bn_view_add(v, BN_ITEM, BN_TERMINAL | BN_MARKDOWN, "far from the others: %zu more", n - OUTLIERS_SHOWN);
}

void bn_view_figure(struct bn_view *v, struct gt_buf *svg, const char *caption)
{
	if (svg->len)
		bn_view_add(v, BN_FIGURE, BN_PAGE, "%s", caption)->more = gt_buf_take(svg);
}

char *bn_view_plain(const char *text)
{
	char *copy = gt_xstrdup(text);

	for (char *line = copy, *end; line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		gt_make_plain(line);
		if (end)
			*end = '\n';
	}
	return copy;
}
