/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the journal. */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/knob/list.h"
#include "tune/model/exit.h"
#include "tune/txn/journal.h"
#include "tune/txn/state_dir.h"
#include "tune/txn/write.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

static char *text_of(const json_t *rec, const char *key)
{
	const char *text = gt_json_get_str(rec, key, NULL);

	return text ? gt_xstrdup(text) : NULL;
}

static void read_name(struct tn_tx *t, const json_t *rec)
{
	free(t->process.by);
	t->process.by = gt_xstrdup(gt_json_get_str(rec, "by", "?"));
	gt_make_plain(t->process.by);
}

static int read_begin(struct tn_journal *j, const json_t *rec, int64_t id)
{
	struct tn_tx *t;

	if (gt_json_get_int(rec, "format", 1) > TN_JOURNAL_FORMAT)
		return -ENOTSUP;
	if (id < 0 || (j->n_tx && id <= j->tx[j->n_tx - 1].id))
		return -EBADMSG;
	t = tn_journal_add_tx(j);
	t->id = id;
	t->temporary = gt_json_get_bool(rec, "temporary", false);
	t->boot_id = gt_xstrdup(gt_json_get_str(rec, "boot", ""));
	t->profile = gt_xstrdup(gt_json_get_str(rec, "profile", ""));
	t->time = gt_json_get_int(rec, "time", 0);
	t->process.pid = gt_json_get_int(rec, "pid", 0);
	t->process.start = gt_json_get_int(rec, "start", 0);
	read_name(t, rec);
	return 0;
}

/* Returns whether the record is about a kernel file of a tunable that this version lacks. Such a record is kept and
 * reported, but its file is never written (value.c). */
static bool is_unknown_tunable(const json_t *rec, const char *path)
{
	const char *knob = gt_json_get_str(rec, "knob", NULL);

	return knob && !tn_tunable_find(knob) && (gt_starts_with(path, "/proc/sys/") || gt_starts_with(path, "/sys/")) &&
	       !strstr(path, "/../") && !gt_ends_with(path, "/..");
}

/* The path of the side file comes from the tunable. If this version lacks the tunable, the value is stored without a
 * path. */
static void read_side_old(struct tn_entry *e, const json_t *rec)
{
	const struct tn_tunable *k = tn_entry_knob(e);

	if ((k && !k->resets) || !gt_json_get_str(rec, "side_old", NULL))
		return;
	e->side_path = k ? tn_tunable_side_path(k, e->instance) : NULL;
	e->side_old = text_of(rec, "side_old");
}

/* Paths come from a file, so only paths that gputune may write are accepted. */
static int read_entry(struct tn_tx *t, const json_t *rec, bool is_file)
{
	const char *path = gt_json_get_str(rec, "path", ""), *pair = gt_json_get_str(rec, "pair", NULL);
	const char *old = gt_json_get_str(rec, "old", NULL), *new_value = gt_json_get_str(rec, "new", NULL);
	const char *knob = gt_json_get_str(rec, "knob", NULL);
	struct tn_entry *e;

	if ((!tn_path_allowed(path) || (pair && !tn_path_allowed(pair))) && (is_file || !is_unknown_tunable(rec, path)))
		return -EBADMSG;
	if (is_file) {
		tn_tx_add_file(t, path, old, new_value);
		return 0;
	}
	if (!knob || !old || !new_value)
		return -EBADMSG;
	e = tn_tx_add_value(t, knob, gt_json_get_str(rec, "instance", NULL), path, old, new_value);
	e->pair_path = text_of(rec, "pair");
	e->pair_old = text_of(rec, "pair_old");
	read_side_old(e, rec);
	e->earlier = text_of(rec, "made");
	e->line = text_of(rec, "line");
	if (e->line && strchr(e->line, '\n')) /* the line is copied to a file of gputune verbatim */
		return -EBADMSG;
	return !e->pair_path == !e->pair_old ? 0 : -EBADMSG;
}

static int read_got(struct tn_tx *t, const json_t *rec, bool side)
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

/* Searches from the end, because most records belong to the last transaction. */
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
	read_name(t, rec);
}

static int read_undo(struct tn_journal *j, struct tn_tx *t, const json_t *rec)
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

static int read_record(struct tn_journal *j, const json_t *rec)
{
	const char *what = gt_json_get_str(rec, "rec", "");
	int64_t id = gt_json_get_int(rec, "tx", -1);
	struct tn_tx *t;

	if (!strcmp(what, "begin"))
		return read_begin(j, rec, id);
	t = find_tx(j, id);
	if (!t)
		return -EBADMSG;
	if (!strcmp(what, "write") || !strcmp(what, "file"))
		return read_entry(t, rec, *what == 'f');
	if (!strcmp(what, "got") || !strcmp(what, "side"))
		return read_got(t, rec, *what == 's');
	if (!strcmp(what, "undo"))
		return read_undo(j, t, rec);
	if (!strcmp(what, "commit"))
		t->state = TN_TX_COMMITTED;
	else if (!strcmp(what, "pending"))
		t->state = TN_TX_PENDING;
	else
		return -EBADMSG;
	return 0;
}

/* Returns -EBADMSG if the line is not "CRC JSON". */
static int parse_line(const char *line, size_t len, json_t **ret)
{
	gt_autofree char *sum = len > 9 ? gt_xstrndup(line, 8) : NULL;
	uint64_t want;

	if (!sum || line[8] != ' ' || gt_parse_hex(sum, &want) < 0 || want != gt_crc32c(line + 9, len - 9))
		return -EBADMSG;
	return gt_json_parse(line + 9, len - 9, "journal", ret, NULL) < 0 ? -EBADMSG : 0;
}

/* Returns -EILSEQ if a record before this one is missing, or this one was moved. Records of an older version have no
 * number: they are a whole journal, or follow numbered records. */
static int check_number(struct tn_journal *j, const json_t *rec)
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
				    "record %u of the journal %s has a format of a newer gputune; nothing is changed: use that "
				    "version to revert", n, TN_JOURNAL_PATH);
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

		if (r < 0 && (!nl || nl + 1 == end)) { /* the record being appended when the power failed */
			j->torn = true;
			return 0;
		}
		if (!r)
			r = check_number(j, rec);
		if (!r)
			r = read_record(j, rec);
		if (r < 0)
			return refuse_record(n + 1, r, err);
		line = nl + 1;
	}
	return 0;
}

/* Without a boot id, values of this boot cannot be distinguished from those of an earlier one. /proc may not be
 * mounted. */
static int require_boot_id(const struct tn_journal *j, int why, struct gt_err *err)
{
	for (size_t i = 0; i < j->n_tx; i++)
		if (*j->tx[i].boot_id)
			return gt_fail_exit(err, TN_EXIT_REFUSED, -why,
					    "settings are applied, but %s cannot be read (%s), so it is unknown whether since "
					    "this boot; nothing is changed", BOOT_ID_PATH, strerror(-why));
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
				    strerror(-r), r == -EACCES ? "; only root may read it: use sudo" : "");
	boot = gt_fs_read_line(fs, BOOT_ID_PATH, &j->boot_id);
	if (boot < 0)
		j->boot_id = gt_xstrdup("");
	r = *ret_text ? parse(j, *ret_text, len, err) : 0;
	if (r >= 0 && boot < 0)
		r = require_boot_id(j, boot, err);
	j->torn |= *ret_text && !len; /* the file was created, but its first record was not written */
	j->bytes = len;
	for (size_t i = 0; i < j->n_tx; i++)
		j->tx[i].process.alive = is_unfinished(&j->tx[i]) && tn_process_alive(&j->tx[i].process);
	return r < 0 ? r : 0;
}

/* The process of a transaction may have ended it between the read of the journal and the test of the process. A
 * transaction counts as interrupted only if a second read finds the same text. */
int tn_journal_load(struct gt_fsroot *fs, struct tn_journal **ret, struct gt_err *err)
{
	gt_auto(tn_journal) *j = NULL;
	gt_autofree char *before = NULL;
	int r = tn_state_dir_check(fs, err);

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
