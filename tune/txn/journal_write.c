/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the journal: appends the records of one step, or rewrites the whole file in compacted form. */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/log.h"
#include "tune/txn/journal.h"

struct out {
	struct gt_buf b;
	size_t n; /* number of the last record */
};

static void add_record(struct out *o, json_t *rec)
{
	char *text;

	json_object_set_new(rec, "seq", json_integer((json_int_t)++o->n));
	text = json_dumps(rec, JSON_COMPACT);
	gt_buf_printf(&o->b, "%08x %s\n", gt_crc32c(text, strlen(text)), text);
	free(text);
	json_decref(rec);
}

static json_t *record(const char *what, const struct tn_tx *t)
{
	return json_pack("{s:s, s:I}", "rec", what, "tx", (json_int_t)t->id);
}

static json_t *record_by(const char *what, const struct tn_tx *t, const struct tn_process *process)
{
	json_t *rec = record(what, t);

	json_object_set_new(rec, "pid", json_integer(process->pid));
	json_object_set_new(rec, "start", json_integer(process->start));
	json_object_set_new(rec, "by", gt_json_str(process->by));
	return rec;
}

static void add_reading(struct out *o, const char *what, const struct tn_tx *t, const struct tn_entry *e, const char *value)
{
	json_t *rec = record(what, t);

	json_object_set_new(rec, "path", gt_json_str(e->path));
	json_object_set_new(rec, "value", gt_json_str(value));
	add_record(o, rec);
}

static void add_entry(struct out *o, const struct tn_tx *t, const struct tn_entry *e)
{
	json_t *rec = record(e->kind == TN_ENTRY_VALUE ? "write" : "file", t);

	if (e->kind == TN_ENTRY_VALUE) {
		json_object_set_new(rec, "knob", gt_json_str(e->knob));
		json_object_set_new(rec, "instance", gt_json_str(e->instance));
		json_object_set_new(rec, "pair", gt_json_str(e->pair_path));
		json_object_set_new(rec, "pair_old", gt_json_str(e->pair_old));
		if (e->side_old)
			json_object_set_new(rec, "side_old", gt_json_str(e->side_old));
		if (e->earlier)
			json_object_set_new(rec, "made", gt_json_str(e->earlier));
		if (e->line)
			json_object_set_new(rec, "line", gt_json_str(e->line));
	}
	json_object_set_new(rec, "path", gt_json_str(e->path));
	json_object_set_new(rec, "old", gt_json_str(e->old));
	json_object_set_new(rec, "new", gt_json_str(e->new_value));
	add_record(o, rec);
	if (e->got)
		add_reading(o, "got", t, e, e->got);
	if (e->side_left)
		add_reading(o, "side", t, e, e->side_left);
}

static void add_begin(struct out *o, const struct tn_tx *t)
{
	json_t *rec = record_by("begin", t, &t->process);

	json_object_set_new(rec, "format", json_integer(TN_JOURNAL_FORMAT));
	json_object_set_new(rec, "temporary", json_boolean(t->temporary));
	json_object_set_new(rec, "boot", gt_json_str(t->boot_id));
	json_object_set_new(rec, "time", json_integer(t->time));
	json_object_set_new(rec, "profile", gt_json_str(t->profile));
	add_record(o, rec);
	for (size_t i = 0; i < t->n_entry; i++)
		add_entry(o, t, &t->entry[i]);
}

static int append(struct gt_fsroot *fs, struct tn_journal *j, struct out *o)
{
	int r = gt_fs_append_sync(fs, TN_JOURNAL_PATH, o->b.s, o->b.len);

	if (r >= 0) {
		j->n_numbered = o->n;
		j->bytes += o->b.len;
	}
	gt_buf_clear(&o->b);
	return r;
}

bool tn_journal_has_room(const struct tn_journal *j, const struct tn_tx *t)
{
	struct out o = { .n = j->n_numbered };
	size_t len;

	add_begin(&o, t);
	len = o.b.len;
	gt_buf_clear(&o.b);
	return j->bytes + len <= TN_JOURNAL_FULL_BYTES;
}

int tn_journal_begin(struct gt_fsroot *fs, struct tn_journal *j, const struct tn_tx *t)
{
	struct out o = { .n = j->n_numbered };

	add_begin(&o, t);
	return append(fs, j, &o);
}

int tn_journal_got(struct gt_fsroot *fs, struct tn_journal *j, const struct tn_tx *t, const struct tn_entry *e)
{
	struct out o = { .n = j->n_numbered };

	add_reading(&o, "got", t, e, e->got);
	return append(fs, j, &o);
}

int tn_journal_undo(struct gt_fsroot *fs, struct tn_journal *j, struct tn_tx *const *set, size_t n)
{
	struct out o = { .n = j->n_numbered };
	struct tn_process self = { 0 };
	json_t *rec, *others = json_array();

	tn_process_self(&self);
	rec = record_by("undo", set[0], &self);
	for (size_t i = 1; i < n; i++)
		json_array_append_new(others, json_integer(set[i]->id));
	json_object_set_new(rec, "others", others);
	add_record(&o, rec);
	free(self.by);
	return append(fs, j, &o);
}

static int replace(struct gt_fsroot *fs, const struct out *o)
{
	int r;

	if (o->b.len)
		return gt_fs_write_atomic(fs, TN_JOURNAL_PATH, o->b.s, o->b.len, 0600);
	r = gt_fs_unlink(fs, TN_JOURNAL_PATH);
	return r == -ENOENT ? 0 : r;
}

int tn_journal_rewrite(struct gt_fsroot *fs, struct tn_journal *j)
{
	struct tn_journal *small = tn_journal_compact(j);
	struct out o = { 0 };
	int r;

	for (size_t i = 0; i < small->n_tx; i++) {
		const struct tn_tx *t = &small->tx[i];

		add_begin(&o, t);
		if (t->state == TN_TX_COMMITTED || t->state == TN_TX_UNDOING)
			add_record(&o, record("commit", t));
		if (t->state == TN_TX_UNDOING)
			add_record(&o, record_by("undo", t, &t->process));
		if (t->state == TN_TX_PENDING)
			add_record(&o, record("pending", t));
	}
	tn_journal_compact_free(small);
	r = replace(fs, &o);
	if (r >= 0) {
		j->n_numbered = o.n;
		j->bytes = o.b.len;
		j->torn = j->unnumbered = false;
	}
	gt_buf_clear(&o.b);
	return r;
}

static size_t count_entries(const struct tn_journal *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n_tx; i++)
		n += j->tx[i].n_entry;
	return n;
}

static bool can_shrink(const struct tn_journal *j)
{
	struct tn_journal *small = tn_journal_compact(j);
	bool can = count_entries(small) < count_entries(j);

	tn_journal_compact_free(small);
	return can;
}

int tn_journal_commit(struct gt_fsroot *fs, struct tn_journal *j, struct tn_tx *t)
{
	struct out o = { .n = j->n_numbered };
	int r;

	for (size_t i = 0; i < t->n_entry; i++) /* a transaction that is rolled back does not need it */
		if (t->entry[i].side_left)
			add_reading(&o, "side", t, &t->entry[i], t->entry[i].side_left);
	add_record(&o, record("commit", t));
	r = append(fs, j, &o);
	if (r < 0)
		return r;
	t->state = TN_TX_COMMITTED;
	r = can_shrink(j) ? tn_journal_rewrite(fs, j) : 0;
	if (r < 0) /* both the longer and the compacted file are valid */
		gt_debug("cannot compact the journal: %s", strerror(-r));
	return 0;
}
