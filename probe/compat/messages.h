/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_MESSAGES_H
#define PR_MESSAGES_H
#include <stddef.h>

/* One row of messages.tsv: an error message of a program or of the kernel, its cause and the remedy. */
struct pr_message {
	const char *id;
	const char *fault;   /* "program", "install", "driver", "hardware", "limit", "network", "container", "system", "notice",
			      * "several" */
	const char *check;   /* id of the check or story on the same subject; NULL: none */
	const char *pattern; /* POSIX extended regular expression */
	const char *cause, *remedy, *source;
};

extern const struct pr_message pr_messages[];
extern const size_t pr_n_messages;

/* Returns the category in words: "a limit of memory, files or time". */
const char *pr_message_fault(const struct pr_message *m);
/* Searches text for known messages. Each line yields the first matching entry in catalogue order. If no line matches, lines
 * that begin with a space are joined to the line before them, and searched again. Entries are in catalogue order too,
 * notices after errors. Returns the number of entries written to ret. */
size_t pr_message_find(const char *text, const struct pr_message **ret, size_t most);
#endif
