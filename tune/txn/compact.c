/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the records of the journal that are still needed.
 *
 * If another program resets a value between two calls of apply, each call adds a record. The writes of one file by the
 * applied transactions of one boot form chains. A write belongs to a chain if it found the value that the previous
 * write had left.
 *
 *   The newest chain is needed: revert goes from its last value to the value before its first write. It becomes one write,
 *   in its newest transaction.
 *
 *   The oldest chain is needed for the value before the first apply, unless it is of an earlier boot.
 *
 *   A chain between these two starts and ends at a value of another program, which revert does not change. It is dropped.
 *
 * Transactions without an entry are dropped too. A transaction that files in /etc persist is not merged with a later
 * one that no file persists, because that one ends with the boot.
 */
#include <string.h>
#include "tune/txn/journal.h"

#define GEN_MAX 512 /* maximum size of the older values in a merged write, in bytes */

struct part {
	size_t id;   /* id; transactions with the same id may be merged; 0: not merged */
	size_t home; /* index of the last transaction of this part that has a file in /etc */
	bool other_boot;
};

struct link {
	size_t part, tx;
	struct tn_entry e; /* its strings belong to the journal */
	bool gone;
};

/* Returns an array with one struct part for each transaction. The caller frees it. */
static struct part *parts_of(const struct tn_journal *j)
{
	struct part *part = gt_xcalloc(j->n_tx + 1, sizeof(*part));
	const char *boot = NULL;
	size_t id = 0, home = 0;
	bool has_file = false;

	for (size_t i = j->n_tx; i-- > 0;) {
		const struct tn_tx *t = &j->tx[i];

		if (tn_tx_status(j, t) != TN_STATUS_HELD)
			continue;
		if (!boot || strcmp(boot, t->boot_id)) {
			id++;
			has_file = false;
		}
		if (!has_file && tn_tx_has_file(t)) {
			id++;
			home = i;
			has_file = true;
		}
		boot = t->boot_id;
		part[i] = (struct part){ .id = id, .home = home, .other_boot = tn_tx_other_boot(j, t) };
	}
	return part;
}

/* Returns all entries, oldest first. The caller frees the array. */
static struct link *links_of(const struct tn_journal *j, const struct part *part, size_t *ret_n)
{
	struct link *v;
	size_t n = 0;

	for (size_t i = 0; i < j->n_tx; i++)
		n += j->tx[i].n_entry;
	v = gt_xcalloc(n + 1, sizeof(*v));
	n = 0;
	for (size_t i = 0; i < j->n_tx; i++)
		for (size_t k = 0; k < j->tx[i].n_entry; k++)
			v[n++] = (struct link){ .part = part[i].id, .tx = i, .e = j->tx[i].entry[k] };
	for (size_t i = 0; i < n; i++)
		v[i].e.earlier = v[i].e.earlier ? gt_xstrdup(v[i].e.earlier) : NULL;
	*ret_n = n;
	return v;
}

/* Orders by part and path, then by age. */
static int by_path(const void *a, const void *b)
{
	const struct link *l = *(struct link *const *)a, *m = *(struct link *const *)b;
	int c = l->part == m->part ? strcmp(l->e.path, m->e.path) : l->part < m->part ? -1 : 1;

	return c ? c : l < m ? -1 : l > m;
}

static bool continues(const struct tn_entry *newer, const struct tn_entry *older)
{
	return newer->kind == older->kind && gt_streq(newer->knob, older->knob) && gt_streq(newer->instance, older->instance) &&
	       tn_entry_has_result(older, newer->old);
}

static char *side_after(const struct tn_entry *e)
{
	return e->side_left ? e->side_left : e->side_old;
}

/* Merges the records of the file that the kernel resets with the value. If another program set that file in between,
 * only the newer record counts. */
static void merge_side(struct tn_entry *newer, const struct tn_entry *older)
{
	if (!older->side_path)
		return;
	if (!newer->side_path) {
		newer->side_path = older->side_path;
		newer->side_old = older->side_old;
		newer->side_left = older->side_left;
	} else if (gt_streq(newer->side_old, side_after(older))) {
		newer->side_left = side_after(newer);
		newer->side_old = older->side_old;
	}
}

static void add_earlier(struct tn_entry *e, const char *value)
{
	char *old = e->earlier;

	if (!value || tn_entry_had_result(e, value) || tn_entry_has_result(e, value) || (old && strlen(old) > GEN_MAX))
		return;
	e->earlier = old ? gt_xasprintf("%s\n%s", old, value) : gt_xstrdup(value);
	free(old);
}

/* The kernel may set a value again that an older write had set, such as an energy preference with its governor. Revert
 * must recognise it. */
static void merge_earlier(struct tn_entry *newer, const struct tn_entry *older)
{
	gt_autofree char *copy = older->earlier ? gt_xstrdup(older->earlier) : NULL;
	char *rest = copy;

	add_earlier(newer, older->new_value);
	for (char *one; (one = strsep(&rest, "\n"));)
		add_earlier(newer, one);
}

static void merge(struct link *newer, struct link *older)
{
	if (newer->e.kind == TN_ENTRY_VALUE)
		merge_earlier(&newer->e, &older->e);
	merge_side(&newer->e, &older->e);
	newer->e.old = older->e.old;
	newer->e.pair_path = older->e.pair_path;
	newer->e.pair_old = older->e.pair_old;
	older->gone = true;
}

/* Merges the n links of one part and path; v is sorted, oldest first. */
static void shorten(struct link *const *v, size_t n, const struct part *part)
{
	struct link *last = v[n - 1], *first = NULL;

	for (size_t i = 0; i + 1 < n; i++) {
		if (continues(&v[i + 1]->e, &v[i]->e))
			merge(v[i + 1], v[i]);
		else if (first || part[last->tx].other_boot)
			v[i]->gone = true;
		else
			first = v[i];
	}
	if (last->e.kind == TN_ENTRY_FILE) /* the file also persists values of earlier transactions of the part */
		last->tx = part[last->tx].home;
}

static void shorten_all(struct link *v, size_t n, const struct part *part)
{
	struct link **sorted = gt_xcalloc(n + 1, sizeof(struct link *));
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].part)
			sorted[m++] = &v[i];
	qsort(sorted, m, sizeof(*sorted), by_path);
	for (size_t i = 0, k; i < m; i = k) {
		for (k = i + 1; k < m && sorted[k]->part == sorted[i]->part && !strcmp(sorted[k]->e.path, sorted[i]->e.path);)
			k++;
		shorten(sorted + i, k - i, part);
	}
	free(sorted);
}

static void free_entries(struct tn_tx *t)
{
	for (size_t k = 0; k < t->n_entry; k++)
		free(t->entry[k].earlier);
	free(t->entry);
}

static void drop_empty(struct tn_journal *small, const struct tn_journal *j)
{
	size_t n = 0;

	for (size_t i = 0; i < small->n_tx; i++) {
		if (small->tx[i].n_entry && tn_tx_status(j, &j->tx[i]) != TN_STATUS_VOID)
			small->tx[n++] = small->tx[i];
		else
			free_entries(&small->tx[i]);
	}
	small->n_tx = n;
}

struct tn_journal *tn_journal_compact(const struct tn_journal *j)
{
	struct tn_journal *small = gt_xcalloc(1, sizeof(*small));
	struct part *part = parts_of(j);
	size_t n;
	struct link *v = links_of(j, part, &n);

	shorten_all(v, n, part);
	*small = *j;
	small->tx = gt_xcalloc(j->n_tx + 1, sizeof(*small->tx));
	for (size_t i = 0; i < j->n_tx; i++) {
		small->tx[i] = j->tx[i];
		small->tx[i].entry = NULL;
		small->tx[i].n_entry = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct tn_tx *t = &small->tx[v[i].tx];

		if (v[i].gone) {
			free(v[i].e.earlier);
			continue;
		}
		t->entry = gt_xrealloc(t->entry, (t->n_entry + 1) * sizeof(*t->entry));
		t->entry[t->n_entry++] = v[i].e;
	}
	drop_empty(small, j);
	free(part);
	free(v);
	return small;
}

void tn_journal_compact_free(struct tn_journal *small)
{
	for (size_t i = 0; i < small->n_tx; i++)
		free_entries(&small->tx[i]);
	free(small->tx);
	free(small);
}
