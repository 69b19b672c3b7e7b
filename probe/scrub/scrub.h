/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_SCRUB_H
#define PR_SCRUB_H
/*
 * Takes out what names a machine or a person, before a capture or a report leaves the host. Two different words stay two
 * different words, so that what hangs together still does; scrubbing twice gives the same as once.
 */
#include "lib/buf.h"

/* Replaces UUIDs (also GPU-… and those in paths), MAC addresses and ports that are named after theirs, anywhere in the text. */
void pr_scrub_ids(struct gt_buf *b);
/* Scrubs a kernel command line: values of words that can hold a secret or an address, whatever follows "--", UUIDs, machine ids.
 * The caller frees it. */
char *pr_scrub_cmdline(const char *line);
/* Scrubs a whole capture: the above, the machine id, names of directories in /home, user:password in URLs, and host name,
 * secrets and serial numbers where a file is known to hold them. hostname may be NULL. */
void pr_scrub_capture(struct gt_buf *capture, const char *hostname);

/* ---- for the above ---- */
/* Returns the number of the word in the list, from 1; the list grows by a new word. */
unsigned pr_scrub_number(struct gt_strv *seen, const char *word, size_t len);
bool pr_is_secret_key(const char *key, size_t len);
/* Appends the line to out, with values of secret keys and addresses of other machines as "[scrubbed]", the next different value
 * as "[scrubbed-2]" and so on. kernel: words after "--" belong to init and are left out. */
void pr_scrub_secrets(struct gt_buf *out, const char *line, bool kernel, struct gt_strv *seen);
#endif
