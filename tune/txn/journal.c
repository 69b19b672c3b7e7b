/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "lib/buf.h"
#include "tune/knob/list.h"
#include "tune/model/exit.h"
#include "tune/txn/journal.h"
#include "tune/model/value.h"
#include "tune/txn/write.h"

#define BOOT_ID_PATH	"/proc/sys/kernel/random/boot_id"
#define LOCK_PATH	TN_STATE_DIR "/lock"

/* ---- life and death ---------------------------------------------------------------------------------------------- */

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
	free(e->made);
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

static struct tn_tx *add_tx(struct tn_journal *j)
{
	j->tx = gt_xrealloc(j->tx, (j->n_tx + 1) * sizeof(*j->tx));
	j->tx[j->n_tx] = (struct tn_tx){ 0 };
	return &j->tx[j->n_tx++];
}

struct tn_tx *tn_journal_new_tx(struct tn_journal *j)
{
	int64_t id = j->n_tx ? j->tx[j->n_tx - 1].id + 1 : 1;
	struct tn_tx *t = add_tx(j);

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

/* ---- records in ----------------------------------------------------------------------------------------------------
 */

static char *text_of(const json_t *rec, const char *key)
{
	return dup_or_null(gt_json_get_str(rec, key, NULL));
}

static void take_name(struct tn_tx *t, const json_t *rec)
{
	free(t->process.by);
	t->process.by = gt_xstrdup(gt_json_get_str(rec, "by", "?"));
	gt_make_plain(t->process.by);
}

static int take_begin(struct tn_journal *j, const json_t *rec, int64_t id)
{
	struct tn_tx *t;

	if (gt_json_get_int(rec, "format", 1) > TN_JOURNAL_FORMAT)
		return -ENOTSUP;
	if (id < 0 || (j->n_tx && id <= j->tx[j->n_tx - 1].id))
		return -EBADMSG;
	t = add_tx(j);
	t->id = id;
	t->temporary = gt_json_get_bool(rec, "temporary", false);
	t->boot_id = gt_xstrdup(gt_json_get_str(rec, "boot", ""));
	t->profile = gt_xstrdup(gt_json_get_str(rec, "profile", ""));
	t->time = gt_json_get_int(rec, "time", 0);
	t->process.pid = gt_json_get_int(rec, "pid", 0);
	t->process.start = gt_json_get_int(rec, "start", 0);
	take_name(t, rec);
	return 0;
}

/* A kernel file of a knob that this version lacks: kept, so that it can be told, and never written (value.c). */
static bool was_a_knob(const json_t *rec, const char *path)
{
	const char *knob = gt_json_get_str(rec, "knob", NULL);

	return knob && !tn_tunable_find(knob) && (gt_starts_with(path, "/proc/sys/") || gt_starts_with(path, "/sys/")) &&
	       !strstr(path, "/../") && !gt_ends_with(path, "/..");
}

/* Its path is the knob's own to say: of one that this version lacks it is kept without. */
static void take_side_old(struct tn_entry *e, const json_t *rec)
{
	const struct tn_tunable *k = tn_entry_knob(e);

	if ((k && !k->resets) || !gt_json_get_str(rec, "side_old", NULL))
		return;
	e->side_path = k ? tn_tunable_side_path(k, e->instance) : NULL;
	e->side_old = text_of(rec, "side_old");
}

/* Paths come back from a file: only those that we would write ourselves are taken. */
static int take_entry(struct tn_tx *t, const json_t *rec, bool is_file)
{
	const char *path = gt_json_get_str(rec, "path", ""), *pair = gt_json_get_str(rec, "pair", NULL);
	const char *old = gt_json_get_str(rec, "old", NULL), *new_value = gt_json_get_str(rec, "new", NULL);
	const char *knob = gt_json_get_str(rec, "knob", NULL);
	struct tn_entry *e;

	if ((!tn_path_allowed(path) || (pair && !tn_path_allowed(pair))) && (is_file || !was_a_knob(rec, path)))
		return -EBADMSG;
	if (is_file) {
		tn_tx_add_file(t, path, old, new_value);
		return 0;
	}
	if (!knob || !old || !new_value)
		return -EBADMSG;
	e = tn_tx_add_value(t, knob, gt_json_get_str(rec, "instance", NULL), path, old, new_value);
	e->pair_path = dup_or_null(pair);
	e->pair_old = text_of(rec, "pair_old");
	take_side_old(e, rec);
	e->made = text_of(rec, "made");
	e->line = text_of(rec, "line");
	if (e->line && strchr(e->line, '\n')) /* it goes into a file of ours as it stands */
		return -EBADMSG;
	return !e->pair_path == !e->pair_old ? 0 : -EBADMSG;
}

static int take_got(struct tn_tx *t, const json_t *rec, bool side)
{
	const char *path = gt_json_get_str(rec, "path", "");

	for (size_t i = 0; i < t->n_entry; i++)
		if (!strcmp(t->entry[i].path, path)) {
			char **where = side ? &t->entry[i].side_left : &t->entry[i].got;

			free(*where);
			*where = text_of(rec, "value");
			return 0;
		}
	return -EBADMSG;
}

/* Most records are of the last transaction. */
static struct tn_tx *find_tx(struct tn_journal *j, int64_t id)
{
	for (size_t i = j->n_tx; i-- > 0;)
		if (j->tx[i].id == id)
			return &j->tx[i];
	return NULL;
}

static void begin_undo(struct tn_tx *t, const json_t *rec)
{
	t->state = TN_TX_UNDOING;
	t->process.pid = gt_json_get_int(rec, "pid", 0);
	t->process.start = gt_json_get_int(rec, "start", 0);
	take_name(t, rec);
}

static int take_undo(struct tn_journal *j, struct tn_tx *t, const json_t *rec)
{
	const json_t *other;
	size_t i;

	begin_undo(t, rec);
	json_array_foreach(json_object_get(rec, "others"), i, other) {
		t = find_tx(j, json_integer_value(other));
		if (!t)
			return -EBADMSG;
		begin_undo(t, rec);
	}
	return 0;
}

static int take_record(struct tn_journal *j, const json_t *rec)
{
	const char *what = gt_json_get_str(rec, "rec", "");
	int64_t id = gt_json_get_int(rec, "tx", -1);
	struct tn_tx *t;

	if (!strcmp(what, "begin"))
		return take_begin(j, rec, id);
	t = find_tx(j, id);
	if (!t)
		return -EBADMSG;
	if (!strcmp(what, "write") || !strcmp(what, "file"))
		return take_entry(t, rec, *what == 'f');
	if (!strcmp(what, "got") || !strcmp(what, "side"))
		return take_got(t, rec, *what == 's');
	if (!strcmp(what, "undo"))
		return take_undo(j, t, rec);
	if (!strcmp(what, "commit"))
		t->state = TN_TX_COMMITTED;
	else if (!strcmp(what, "pending"))
		t->state = TN_TX_PENDING;
	else
		return -EBADMSG;
	return 0;
}

/* -EBADMSG: not "CRC JSON". */
static int parse_line(const char *line, size_t len, json_t **ret)
{
	gt_autofree char *sum = len > 9 ? gt_xstrndup(line, 8) : NULL;
	uint64_t want;

	if (!sum || line[8] != ' ' || gt_parse_hex(sum, &want) < 0 || want != gt_crc32c(line + 9, len - 9))
		return -EBADMSG;
	return gt_json_parse(line + 9, len - 9, "journal", ret, NULL) < 0 ? -EBADMSG : 0;
}

/* -EILSEQ: a record before this one is missing, or this one was moved. Records of an older version have no number: they are the
 * whole journal, or follow those that have one. */
static int take_number(struct tn_journal *j, const json_t *rec)
{
	const json_t *number = json_object_get(rec, "seq");

	if (!number) {
		j->unnumbered = true;
		return 0;
	}
	if (j->unnumbered || json_integer_value(number) != (json_int_t)j->n_numbered + 1)
		return -EILSEQ;
	j->n_numbered++;
	return 0;
}

static int refuse_record(unsigned n, int why, struct gt_err *err)
{
	if (why == -ENOTSUP)
		return gt_fail_exit(err, TN_EXIT_REFUSED, ENOTSUP,
				    "record %u of the journal %s has a format that only a newer gputune reads; nothing is "
				    "changed: use that version to revert", n, TN_JOURNAL_PATH);
	return gt_fail_exit(err, TN_EXIT_REFUSED, EBADMSG,
			    "record %u of the journal %s %s; nothing is changed: restore the old values that it lists by hand, "
			    "then remove it", n, TN_JOURNAL_PATH,
			    why == -EILSEQ ? "is out of sequence: a record was removed or moved" : "is damaged");
}

static int parse(struct tn_journal *j, const char *text, size_t len, struct gt_err *err)
{
	unsigned n = 0;

	for (const char *line = text, *end = text + len; line < end; n++) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		gt_auto_json *rec = NULL;
		int r = nl ? parse_line(line, (size_t)(nl - line), &rec) : -EBADMSG;

		if (r < 0 && (!nl || nl + 1 == end)) { /* what was being appended when the power went */
			j->torn = true;
			return 0;
		}
		if (!r)
			r = take_number(j, rec);
		if (!r)
			r = take_record(j, rec);
		if (r < 0)
			return refuse_record(n + 1, r, err);
		line = nl + 1;
	}
	return 0;
}

/* Who can write there decides what is put back: only root, or whoever runs this in a tree of his own. */
static const char *distrust(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return "is a link";
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs to another user";
	return st->st_mode & (S_IWGRP | S_IWOTH) ? "can be written by others" : NULL;
}

static int check_place(struct gt_fsroot *fs, struct gt_err *err)
{
	const char *why, *what = TN_STATE_DIR;
	struct stat st;

	if (!gt_fs_dir(fs) || gt_fs_lstat(fs, TN_STATE_DIR, &st) < 0) /* a captured host has no owners */
		return 0;
	why = distrust(&st);
	if (!why && gt_fs_lstat(fs, TN_JOURNAL_PATH, &st) >= 0) {
		what = TN_JOURNAL_PATH;
		why = distrust(&st);
		if (!why && S_ISREG(st.st_mode) && st.st_nlink > 1)
			why = "has a second name elsewhere";
	}
	if (!why)
		return 0;
	return gt_fail_exit(err, TN_EXIT_REFUSED, EPERM,
			    "%s %s: what is there is not believed, and nothing is changed; find out who made it, then put "
			    "its owner and mode right or move it away", what, why);
}

/* Without it nobody can tell values that are ours from those of a kernel that is gone: /proc may not be mounted. */
static int need_boot_id(const struct tn_journal *j, int why, struct gt_err *err)
{
	for (size_t i = 0; i < j->n_tx; i++)
		if (*j->tx[i].boot_id)
			return gt_fail_exit(err, TN_EXIT_REFUSED, -why,
					    "settings are applied, and whether since this boot cannot be read from "
					    "%s: %s; nothing is changed", BOOT_ID_PATH, strerror(-why));
	return 0;
}

static bool is_unfinished(const struct tn_tx *t)
{
	return t->state == TN_TX_OPEN || t->state == TN_TX_UNDOING;
}

static int load(struct gt_fsroot *fs, struct tn_journal *j, char **ret_text, struct gt_err *err)
{
	size_t len = 0;
	int r = gt_fs_read_max(fs, TN_JOURNAL_PATH, TN_JOURNAL_MAX_BYTES, ret_text, &len), boot;

	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot read the journal %s: %s%s", TN_JOURNAL_PATH,
				    strerror(-r), r == -EACCES ? "; it is root's: use sudo" : "");
	boot = gt_fs_read_line(fs, BOOT_ID_PATH, &j->boot_id);
	if (boot < 0)
		j->boot_id = gt_xstrdup("");
	r = *ret_text ? parse(j, *ret_text, len, err) : 0;
	if (r >= 0 && boot < 0)
		r = need_boot_id(j, boot, err);
	j->torn |= *ret_text && !len; /* made, and then nothing could be written to it */
	j->bytes = len;
	for (size_t i = 0; i < j->n_tx; i++)
		j->tx[i].process.alive = is_unfinished(&j->tx[i]) && tn_process_alive(&j->tx[i].process);
	return r < 0 ? r : 0;
}

/* Whoever is gone may have had the last word between the two looks at it: only what still stands there then was interrupted. */
int tn_journal_load(struct gt_fsroot *fs, struct tn_journal **ret, struct gt_err *err)
{
	gt_auto(tn_journal) *j = NULL;
	gt_autofree char *before = NULL;
	int r = check_place(fs, err);

	for (bool sure = false; r >= 0 && !sure;) {
		gt_autofree char *text = NULL;

		tn_journal_free(j);
		j = gt_xcalloc(1, sizeof(*j));
		r = load(fs, j, &text, err);
		sure = !tn_journal_find(j, TN_STATUS_INTERRUPTED) || gt_streq(text, before);
		free(before);
		before = gt_take(text);
	}
	if (r < 0)
		return r;
	*ret = gt_take(j);
	return 0;
}

const struct tn_tunable *tn_entry_knob(const struct tn_entry *e)
{
	return e->kind == TN_ENTRY_VALUE ? tn_tunable_find(e->knob) : NULL;
}

bool tn_entry_ended_as(const struct tn_entry *e, const char *text)
{
	if (e->kind == TN_ENTRY_FILE)
		return gt_streq(text, e->new_value);
	return tn_value_equal(text, e->new_value) || (e->got && tn_value_equal(text, e->got));
}

bool tn_entry_had_made(const struct tn_entry *e, const char *text)
{
	gt_autofree char *copy = e->made ? gt_xstrdup(e->made) : NULL;
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

/* ---- what is seen --------------------------------------------------------------------------------------------------
 */

bool tn_tx_other_boot(const struct tn_journal *j, const struct tn_tx *t)
{
	return strcmp(j->boot_id, t->boot_id) != 0;
}

bool tn_entry_over(const struct tn_journal *j, const struct tn_tx *t, const struct tn_entry *e)
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

/* By its own files, or by those of a later one, which hold all that was held before too. */
static bool is_kept(const struct tn_journal *j, const struct tn_tx *t)
{
	while (t < j->tx + j->n_tx && !tn_tx_has_file(t))
		t++;
	return t < j->tx + j->n_tx;
}

enum tn_tx_status tn_tx_status(const struct tn_journal *j, const struct tn_tx *t)
{
	if (tn_tx_other_boot(j, t) && (!is_kept(j, t) || t->state == TN_TX_PENDING))
		return TN_STATUS_VOID;
	if (t->state == TN_TX_PENDING)
		return TN_STATUS_PENDING;
	if (t->state == TN_TX_COMMITTED)
		return TN_STATUS_HELD;
	if (tn_tx_other_boot(j, t) || !t->process.alive)
		return TN_STATUS_INTERRUPTED;
	return t->temporary && tn_process_is_self(&t->process) ? TN_STATUS_MINE : TN_STATUS_BUSY;
}

const struct tn_tx *tn_journal_find(const struct tn_journal *j, enum tn_tx_status seen)
{
	for (size_t i = 0; i < j->n_tx; i++)
		if (tn_tx_status(j, &j->tx[i]) == seen)
			return &j->tx[i];
	return NULL;
}

/* What lies above it is everyone's to read. */
static int make_place(struct gt_fsroot *fs)
{
	int r = gt_fs_mkdirs(fs, "/var/lib", 0755);

	return r < 0 ? r : gt_fs_mkdirs(fs, TN_STATE_DIR, 0700);
}

void tn_wait_for_lock(struct gt_fsroot *fs)
{
	gt_fs_wait_lock(fs, LOCK_PATH);
}

int tn_journal_lock(struct gt_fsroot *fs, int *ret_fd, struct gt_err *err)
{
	int r = check_place(fs, err);

	if (r < 0)
		return r;
	r = make_place(fs);
	if (r >= 0)
		r = gt_fs_lock(fs, LOCK_PATH, ret_fd);
	if (r == -EWOULDBLOCK)
		return gt_fail_exit(
			err, TN_EXIT_REFUSED, EBUSY,
			"another gputune is at work (it holds %s): nothing is changed, try again when it is done",
			LOCK_PATH);
	if (r < 0)
		return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot keep a journal in %s (%s): nothing is changed%s",
				    TN_STATE_DIR, strerror(-r),
				    r == -EACCES && geteuid() ? "; that is root's to do: use sudo" : "");
	return 0;
}
