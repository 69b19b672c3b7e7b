/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_JOURNAL_H
#define TN_JOURNAL_H
/*
 * The write-ahead journal, /var/lib/gputune/journal inside the root. Each record is one line, "CRC32C JSON",
 * appended and fsynced. "seq" counts the records of the file from 1. It reveals a removed or moved record, except at
 * the end of the file. Versions before format 2 write no number: their records are a whole journal, or follow numbered
 * records. A transaction has these records:
 *
 *   begin   process (pid and its start time), boot, whether temporary, "format" (1 if absent). A format above
 *           TN_JOURNAL_FORMAT was written by a newer gputune: nothing is changed (exit 3)
 *   write   one per kernel file: old value, new value, the counterpart's old value    } all are durable before
 *   file    one per file of gputune in /etc: old text, new text                       } the first change
 *   got     the value that the kernel stored instead of the written one
 *   side    value of a file that the kernel resets with this one; written before the commit
 *   commit  everything was written and read back. If some records are no longer needed, the file is then rewritten without
 *           them (compact.c): a temporary file is fsynced and renamed
 *   undo    process that began to undo the transaction, and other transactions undone with it
 *   pending the remaining values last only until the next boot
 *
 * The records of a finished transaction are removed: the file is rewritten, or removed if nothing is left. The journal
 * therefore always holds exactly what has to be undone. A torn last line is a step that never happened.
 */
#include "tune/model/tunable.h"
#include "tune/txn/process_identity.h"

#define TN_JOURNAL_PATH	      "/var/lib/gputune/journal"
#define TN_JOURNAL_FORMAT     2
#define TN_JOURNAL_FULL_BYTES ((size_t)8 << 20)	  /* larger: no new transaction; versions before format 2 read 16 MiB */
#define TN_JOURNAL_MAX_BYTES  ((size_t)256 << 20) /* a larger journal is not read */

enum tn_entry_kind {
	TN_ENTRY_VALUE, /* value of a kernel file */
	TN_ENTRY_FILE,	/* a text file of gputune in /etc */
};
struct tn_entry {
	enum tn_entry_kind kind;
	char *path, *old, *new_value; /* for a file in /etc, old NULL: it did not exist; new_value NULL: it is removed */
	/* for TN_ENTRY_VALUE: */
	char *knob, *instance; /* instance NULL: not per device */
	char *pair_path, *pair_old;
	char *side_path, *side_old, *side_left; /* file that the kernel resets with path: value before and after; side_left NULL:
						 * unchanged */
	char *got;
	char *earlier; /* values, one per line, that earlier writes merged into this entry had set; NULL: none */
	char *line; /* line that persists the value and identifies the device; NULL: generated when needed */
	bool failed, stays, unknown; /* result of undo; in memory only */
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
	bool torn;	/* the last line is incomplete */
	bool unnumbered; /* it has records of a version before format 2 */
	size_t n_numbered, bytes; /* number of numbered records; size of the file on disk */
	char *boot_id;	/* id of the current boot */
};

/* Loads the journal; *ret is empty if there is none. Returns -EBADMSG (exit 3) if a record in the middle is damaged. */
int tn_journal_load(struct gt_fsroot *fs, struct tn_journal **ret, struct gt_err *err);
void tn_journal_free(struct tn_journal *j);
GT_DEFINE_AUTO(tn_journal, tn_journal_free);

/* State of a transaction for this process. */
enum tn_tx_status {
	TN_STATUS_HELD,	     /* applied, in this or an earlier boot */
	TN_STATUS_EXPERIMENT,	     /* experiment of this process */
	TN_STATUS_BUSY,	     /* a living process works on it */
	TN_STATUS_INTERRUPTED, /* its process ended in the middle */
	TN_STATUS_PENDING,     /* values that stay until the next boot */
	TN_STATUS_VOID,      /* made in another boot; nothing of it is left */
};
enum tn_tx_status tn_tx_status(const struct tn_journal *j, const struct tn_tx *t);
/* Returns whether t is of another boot. Its kernel values are then gone, unless a persisted file set them again. */
bool tn_tx_other_boot(const struct tn_journal *j, const struct tn_tx *t);
/* Returns whether e is of another boot and no file can persist it. Its device may have another name now, and the
 * current value is the kernel's. */
bool tn_entry_expired(const struct tn_journal *j, const struct tn_tx *t, const struct tn_entry *e);
/* Returns the first transaction in this state; NULL: none. */
const struct tn_tx *tn_journal_find(const struct tn_journal *j, enum tn_tx_status status);

/* Append records. They are durable on return. */
int tn_journal_begin(struct gt_fsroot *fs, struct tn_journal *j, const struct tn_tx *t);
int tn_journal_got(struct gt_fsroot *fs, struct tn_journal *j, const struct tn_tx *t, const struct tn_entry *e);
/* Appends one record for all n transactions, so that the undo begins for all of them or for none. */
int tn_journal_undo(struct gt_fsroot *fs, struct tn_journal *j, struct tn_tx *const *set, size_t n);
/* Returns false if t would make the journal exceed TN_JOURNAL_FULL_BYTES. */
bool tn_journal_has_room(const struct tn_journal *j, const struct tn_tx *t);
/* Rewrites the file, compacted and without void transactions; removes it if no transaction is left. The file is durable
 * on return. After a failure it is the old or the new one. j keeps all its transactions. */
int tn_journal_rewrite(struct gt_fsroot *fs, struct tn_journal *j);
/* Appends the records that end t, a transaction of j, then compacts the file. Returns 0 also if only the compaction
 * fails; the file is then longer than necessary. */
int tn_journal_commit(struct gt_fsroot *fs, struct tn_journal *j, struct tn_tx *t);

/* Returns the entries that revert, verify and status still need: the content of a rewritten file. Its strings belong to
 * j, except `made`. */
struct tn_journal *tn_journal_compact(const struct tn_journal *j);
void tn_journal_compact_free(struct tn_journal *small);
bool tn_tx_has_file(const struct tn_tx *t);
const struct tn_tx *tn_entry_tx(const struct tn_journal *j, const struct tn_entry *e); /* NULL: not an entry of j */
const struct tn_tunable *tn_entry_knob(const struct tn_entry *e); /* NULL: a file, or a tunable that this version lacks */
/* Returns whether text is the result of the entry's write. text NULL: the file does not exist. */
bool tn_entry_has_result(const struct tn_entry *e, const char *text);
/* Returns whether text is the result of an earlier write that was merged into the entry. */
bool tn_entry_had_result(const struct tn_entry *e, const char *text);

/* Removes transaction i from the list in memory. */
void tn_journal_drop(struct tn_journal *j, size_t i);

/* Adds a transaction with the next id, this boot and this process. */
struct tn_tx *tn_journal_new_tx(struct tn_journal *j);
struct tn_tx *tn_journal_add_tx(struct tn_journal *j); /* adds an empty one */
struct tn_entry *tn_tx_add_value(struct tn_tx *t, const char *knob, const char *instance, const char *path, const char *old,
				 const char *new_value);
void tn_tx_add_file(struct tn_tx *t, const char *path, const char *old, const char *new_value);
void tn_tx_drop(struct tn_tx *t, size_t k); /* removes entry k in memory */
#endif
