/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_SCRUB_H
#define PR_SCRUB_H
/*
 * Removes data that identifies a machine or a person, before a capture or a report leaves the host. Different values
 * get different replacements, so that relations are preserved. Scrubbing is idempotent.
 */
#include "lib/buf.h"

/* Replaces UUIDs (also after GPU- and in paths), MAC addresses and names of network ports derived from MAC addresses. */
void pr_scrub_ids(struct gt_buf *b);
/* Scrubs a kernel command line: values of words that can hold a secret or an address, all words after "--", UUIDs,
 * machine ids. The caller frees it. */
char *pr_scrub_cmdline(const char *line);
/* Scrubs a whole capture. Also replaces the machine id, names of directories in /home, user:password in URLs, and the
 * host name, secrets and serial numbers in files known to contain them. hostname may be NULL. */
void pr_scrub_capture(struct gt_buf *capture, const char *hostname);

/* ---- internal ---- */
/* Appends text to out. Replaces `word`, where it is not part of a longer word, by `with`. */
void pr_scrub_word(struct gt_buf *out, const char *text, const char *word, const char *with);
/* Returns the number of the word in the list, from 1. Appends a new word. */
unsigned pr_scrub_number(struct gt_strv *seen, const char *word, size_t len);
bool pr_is_secret_key(const char *key, size_t len);
/* Appends the line to out. Values of secret keys and addresses of other machines become "[scrubbed]", the next
 * different value "[scrubbed-2]" and so on. kernel: words after "--" belong to init and are removed. */
void pr_scrub_secrets(struct gt_buf *out, const char *line, bool kernel, struct gt_strv *seen);
#endif
