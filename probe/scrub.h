/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_SCRUB_H
#define PR_SCRUB_H
/*
 * Takes out what names a machine or a person, before a capture or a report leaves the host. Two different words stay two
 * different words, so that what hangs together still does; scrubbing twice gives the same as once.
 */
#include "lib/buf.h"

/* UUIDs (also GPU-… and those in paths), MAC addresses and ports that are named after theirs, anywhere in the text. */
void pr_scrub_ids(struct gt_buf *b);
/* A kernel command line: values of words that can hold a secret or an address, whatever follows "--", UUIDs, machine ids.
 * The caller frees it. */
char *pr_scrub_cmdline(const char *line);
/* The name of a person's directory below /home becomes "user", so that paths of Python environments tell nobody's name. The
 * caller frees it. */
char *pr_scrub_home(const char *text);
/* A whole capture: the above, the machine id, and host name and serial numbers where a file is known to hold them. hostname
 * may be NULL. */
void pr_scrub_capture(struct gt_buf *capture, const char *hostname);
#endif
