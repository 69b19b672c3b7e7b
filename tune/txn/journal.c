/* SPDX-License-Identifier: Apache-2.0 */
/* The journal in memory: its transactions and entries, and their state. */
#include <string.h>
#include <time.h>
#include "lib/buf.h"
#include "tune/knob/list.h"
#include "tune/txn/journal.h"
#include "tune/model/value.h"

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void entry_clear(struct tn_entry *e)
{
	free(e->knob);
	free(e->instance);
	free(e->path);
	free(e->old);
	free(e->new_value);
	free(e->pair_path);
	free(e->pair_old);
	free(e->side_path);
	free(e->side_old);
	free(e->side_left);
	free(e->got);
	free(e->earlier);
	free(e->line);
}

static void tx_clear(struct tn_tx *t)
{
	for (size_t i = 0; i < t->n_entry; i++)
		entry_clear(&t->entry[i]);
	free(t->entry);
	free(t->boot_id);
	free(t->profile);
	free(t->process.by);
}

void tn_journal_free(struct tn_journal *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->n_tx; i++)
		tx_clear(&j->tx[i]);
	free(j->tx);
	free(j->boot_id);
	free(j);
}

void tn_journal_drop(struct tn_journal *j, size_t i)
{
	tx_clear(&j->tx[i]);
	memmove(&j->tx[i], &j->tx[i + 1], (j->n_tx - i - 1) * sizeof(*j->tx));
	j->n_tx--;
}

struct tn_tx *tn_journal_add_tx(struct tn_journal *j)
{
	j->tx = gt_xrealloc(j->tx, (j->n_tx + 1) * sizeof(*j->tx));
	j->tx[j->n_tx] = (struct tn_tx){ 0 };
	return &j->tx[j->n_tx++];
}

struct tn_tx *tn_journal_new_tx(struct tn_journal *j)
{
	int64_t id = j->n_tx ? j->tx[j->n_tx - 1].id + 1 : 1;
	struct tn_tx *t = tn_journal_add_tx(j);

	t->id = id;
	t->time = time(NULL);
	t->boot_id = gt_xstrdup(j->boot_id);
	t->profile = gt_xstrdup("");
	tn_process_self(&t->process);
	return t;
}

static char *dup_or_null(const char *s)
{
	return s ? gt_xstrdup(s) : NULL;
}

static struct tn_entry *add_entry(struct tn_tx *t, enum tn_entry_kind kind, const char *path, const char *old,
				  const char *new_value)
{
	struct tn_entry *e;

	t->entry = gt_xrealloc(t->entry, (t->n_entry + 1) * sizeof(*t->entry));
	e = &t->entry[t->n_entry++];
	*e = (struct tn_entry){
		.kind = kind, .path = gt_xstrdup(path), .old = dup_or_null(old), .new_value = dup_or_null(new_value)
	};
	return e;
}

struct tn_entry *tn_tx_add_value(struct tn_tx *t, const char *knob, const char *instance, const char *path, const char *old,
				 const char *new_value)
{
	struct tn_entry *e = add_entry(t, TN_ENTRY_VALUE, path, old, new_value);

	e->knob = gt_xstrdup(knob);
	e->instance = dup_or_null(instance);
	return e;
}

void tn_tx_add_file(struct tn_tx *t, const char *path, const char *old, const char *new_value)
{
	add_entry(t, TN_ENTRY_FILE, path, old, new_value);
}

void tn_tx_drop(struct tn_tx *t, size_t k)
{
	entry_clear(&t->entry[k]);
	memmove(&t->entry[k], &t->entry[k + 1], (--t->n_entry - k) * sizeof(*t->entry));
}

const struct tn_tunable *tn_entry_knob(const struct tn_entry *e)
{
	return e->kind == TN_ENTRY_VALUE ? tn_tunable_find(e->knob) : NULL;
}

bool tn_entry_has_result(const struct tn_entry *e, const char *text)
{
	if (e->kind == TN_ENTRY_FILE)
		return gt_streq(text, e->new_value);
	return tn_value_equal(text, e->new_value) || (e->got && tn_value_equal(text, e->got));
}

bool tn_entry_had_result(const struct tn_entry *e, const char *text)
{
	gt_autofree char *copy = e->earlier ? gt_xstrdup(e->earlier) : NULL;
	char *rest = copy;

	for (char *one; text && (one = strsep(&rest, "\n"));)
		if (tn_value_equal(one, text))
			return true;
	return false;
}

const struct tn_tx *tn_entry_tx(const struct tn_journal *j, const struct tn_entry *e)
{
	for (size_t i = 0; i < j->n_tx; i++)
		if (e >= j->tx[i].entry && e < j->tx[i].entry + j->tx[i].n_entry)
			return &j->tx[i];
	return NULL;
}

/* ---- state of a transaction --------------------------------------------------------------------------------------- */

bool tn_tx_other_boot(const struct tn_journal *j, const struct tn_tx *t)
{
	return strcmp(j->boot_id, t->boot_id) != 0;
}

bool tn_entry_expired(const struct tn_journal *j, const struct tn_tx *t, const struct tn_entry *e)
{
	const struct tn_tunable *k = tn_entry_knob(e);

	return k && tn_tunable_form(k) == TN_NO_FORM && tn_tx_other_boot(j, t);
}

bool tn_tx_has_file(const struct tn_tx *t)
{
	for (size_t i = 0; i < t->n_entry; i++)
		if (t->entry[i].kind == TN_ENTRY_FILE)
			return true;
	return false;
}

/* Returns whether t is persisted by its own files or by those of a later transaction, which contain all earlier
 * settings too. */
static bool is_persisted(const struct tn_journal *j, const struct tn_tx *t)
{
	while (t < j->tx + j->n_tx && !tn_tx_has_file(t))
		t++;
	return t < j->tx + j->n_tx;
}

enum tn_tx_status tn_tx_status(const struct tn_journal *j, const struct tn_tx *t)
{
	if (tn_tx_other_boot(j, t) && (!is_persisted(j, t) || t->state == TN_TX_PENDING))
		return TN_STATUS_VOID;
	if (t->state == TN_TX_PENDING)
		return TN_STATUS_PENDING;
	if (t->state == TN_TX_COMMITTED)
		return TN_STATUS_HELD;
	if (tn_tx_other_boot(j, t) || !t->process.alive)
		return TN_STATUS_INTERRUPTED;
	return t->temporary && tn_process_is_self(&t->process) ? TN_STATUS_EXPERIMENT : TN_STATUS_BUSY;
}

const struct tn_tx *tn_journal_find(const struct tn_journal *j, enum tn_tx_status status)
{
	for (size_t i = 0; i < j->n_tx; i++)
		if (tn_tx_status(j, &j->tx[i]) == status)
			return &j->tx[i];
	return NULL;
}
