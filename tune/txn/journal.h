/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_JOURNAL_H
#define TN_JOURNAL_H
/*
 * The write-ahead journal, /var/lib/gputune/journal inside the root: one record a line, "CRC32C JSON\n", appended and
 * fsynced. "seq" counts the records of the file from 1. It shows that a record was removed or moved, except at the end of the file.
 * Versions before format 2 write no number: their records are a whole journal, or follow numbered records. A transaction is
 *
 *   begin   who (pid and its start time), in which boot, for how long, "format" (1 if absent). A format above
 *           TN_JOURNAL_FORMAT was written by a newer gputune: nothing is changed (exit 3)
 *   write   one per kernel file: old value, new value, counterpart's old value    } all durable before
 *   file    one per file of ours in /etc: old text, new text                      } the first of them happens
 *   got     the kernel made something else of the value
 *   side    what the kernel made of a file that it resets with this one; comes with the commit
 *   commit  everything was written and read back. If some records are no longer needed, the file is then written anew without them
 *           (compact.c), under a temporary name that is fsynced and renamed
 *   undo    who began to put it back, and which others with it
 *   pending only values of this boot are left, which a reboot ends
 *
 * When a transaction is over its records are taken out by writing the file anew, or removing it if nothing is left. What
 * is in it is therefore always what has to be undone. A torn last line is a step that never happened.
 */
#include "tune/model/tunable.h"
#include "tune/txn/process_identity.h"

#define TN_JOURNAL_PATH	      "/var/lib/gputune/journal"
#define TN_JOURNAL_FORMAT     2
#define TN_JOURNAL_FULL_BYTES ((size_t)8 << 20)	  /* no new transaction beyond this; versions before format 2 read 16 MiB */
#define TN_JOURNAL_MAX_BYTES  ((size_t)256 << 20) /* a larger one is not read */

enum tn_entry_kind {
	TN_ENTRY_VALUE, /* of a kernel file */
	TN_ENTRY_FILE,	/* a text file of gputune in /etc */
};
struct tn_entry {
	enum tn_entry_kind kind;
	char *path, *old, *new_value; /* of a file, old NULL: there was none; new_value NULL: it is removed */
	/* of a value */
	char *knob, *instance; /* instance NULL: the host has it once */
	char *pair_path, *pair_old;
	char *side_path, *side_old, *side_left; /* what the kernel resets with it: before; and what it made of it, NULL: the same */
	char *got;
	char *made; /* values, one a line, that writes which were merged into this one had made of it; NULL: none */
	char *line; /* what keeps it for the next boot, of a knob whose line says which device it is for; NULL: made when needed */
	bool failed, stays, unknown; /* how putting it back ended, in memory only */
};
enum tn_tx_state { TN_TX_OPEN, TN_TX_COMMITTED, TN_TX_UNDOING, TN_TX_PENDING };
struct tn_tx {
	int64_t id, time;
	bool temporary;
	enum tn_tx_state state;
	char *boot_id, *profile;
	struct tn_process process;
	struct tn_entry *entry;
	size_t n_entry;
};
struct tn_journal {
	struct tn_tx *tx;
	size_t n_tx;
	bool torn;	/* the last line is not whole */
	bool unnumbered; /* a version before format 2 has written records */
	size_t n_numbered, bytes; /* records with a number, and the length of the file on disk */
	char *boot_id;	/* of now */
};

/* Both empty when there is no journal. -EBADMSG (exit 3) if a record in the middle is damaged. */
int tn_journal_load(struct gt_fsroot *fs, struct tn_journal **ret, struct gt_err *err);
void tn_journal_free(struct tn_journal *j);
GT_DEFINE_AUTO(tn_journal, tn_journal_free);

/* What a transaction is to the process that looks. */
enum tn_tx_status {
	TN_STATUS_HELD,	     /* applied, in this or an earlier boot */
	TN_STATUS_MINE,	     /* an experiment of this very process */
	TN_STATUS_BUSY,	     /* a living process is at it */
	TN_STATUS_INTERRUPTED, /* its process is gone */
	TN_STATUS_PENDING,     /* values that stay until the next boot */
	TN_STATUS_VOID,	     /* nothing of it is left: another boot */
};
enum tn_tx_status tn_tx_status(const struct tn_journal *j, const struct tn_tx *t);
/* Its kernel values are of another boot: gone, unless a file of ours set them again. */
bool tn_tx_other_boot(const struct tn_journal *j, const struct tn_tx *t);
/* Of another boot, and no file can keep it: its device may go by another name now, and what is there is the kernel's own. */
bool tn_entry_over(const struct tn_journal *j, const struct tn_tx *t, const struct tn_entry *e);
/* The first transaction that is seen so, NULL if none. */
const struct tn_tx *tn_journal_find(const struct tn_journal *j, enum tn_tx_status seen);

/* Append records; durable when this returns 0. */
int tn_journal_begin(struct gt_fsroot *fs, struct tn_journal *j, const struct tn_tx *t);
int tn_journal_got(struct gt_fsroot *fs, struct tn_journal *j, const struct tn_tx *t, const struct tn_entry *e);
/* One record for all n of them: it begins for each, or for none. */
int tn_journal_undo(struct gt_fsroot *fs, struct tn_journal *j, struct tn_tx *const *set, size_t n);
/* False if the journal would grow beyond TN_JOURNAL_FULL_BYTES with t. */
bool tn_journal_has_room(const struct tn_journal *j, const struct tn_tx *t);
/* The whole file anew, compacted and without transactions that are void; removed if none is left. Durable when this returns 0; on
 * failure the file is the old or the new one. j itself keeps all its transactions. */
int tn_journal_rewrite(struct gt_fsroot *fs, struct tn_journal *j);
/* Appends the records that end t, which is one of j's, then compacts the file. If only that fails, the file is longer than it need
 * be, and this returns 0. */
int tn_journal_commit(struct gt_fsroot *fs, struct tn_journal *j, struct tn_tx *t);

/* What a rewrite writes: the entries that revert, verify and status still need. Its strings belong to j, but for
 * `made`. */
struct tn_journal *tn_journal_compact(const struct tn_journal *j);
void tn_journal_compact_free(struct tn_journal *small);
bool tn_tx_has_file(const struct tn_tx *t);
const struct tn_tx *tn_entry_tx(const struct tn_journal *j, const struct tn_entry *e); /* NULL: not of j */
const struct tn_tunable *tn_entry_knob(const struct tn_entry *e); /* NULL: of a file, or of a knob that this version lacks */
/* Is text what the entry made of its file? NULL: no such file. */
bool tn_entry_ended_as(const struct tn_entry *e, const char *text);
/* Has a write that was merged into the entry made text of its file? */
bool tn_entry_had_made(const struct tn_entry *e, const char *text);

/* Take transaction i out of the list in memory. */
void tn_journal_drop(struct tn_journal *j, size_t i);

/* A transaction to be filled: next id, this boot, this process. */
struct tn_tx *tn_journal_new_tx(struct tn_journal *j);
struct tn_tx *tn_journal_add_tx(struct tn_journal *j); /* an empty one */
struct tn_entry *tn_tx_add_value(struct tn_tx *t, const char *knob, const char *instance, const char *path, const char *old,
				 const char *new_value);
void tn_tx_add_file(struct tn_tx *t, const char *path, const char *old, const char *new_value);
void tn_tx_drop(struct tn_tx *t, size_t k); /* entry k, in memory */
#endif
