/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_UTIL_H
#define GT_UTIL_H
/* General helpers: cleanup attributes, array sizes, growing string lists. */
#include <unistd.h>
#include "lib/base.h"

#define GT_ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define GT_MIN(a, b)		((a) < (b) ? (a) : (b))
#define GT_MAX(a, b)		((a) > (b) ? (a) : (b))

static inline void gt_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define gt_autoclose	__attribute__((cleanup(gt_closep)))

/* Returns the pointer and sets the variable to NULL, so that the cleanup attribute does not free it. */
#define gt_take(p)                                                                                                     \
	({                                                                                                             \
		__typeof__(p) gt_taken = (p);                                                                          \
		(p) = NULL;                                                                                            \
		gt_taken;                                                                                              \
	})

/* Allocation of small data. If memory is exhausted, the process prints one sentence and ends with abort(), or with the
 * exit status gt_out_of_memory_status if set. Allocate tensors, and anything whose size the user chooses, with
 * functions that report the failure. */
extern int gt_out_of_memory_status;
void *gt_xcalloc(size_t n, size_t size);
void *gt_xrealloc(void *p, size_t size);
char *gt_xstrdup(const char *s);
char *gt_xstrndup(const char *s, size_t n);
char *gt_xasprintf(const char *fmt, ...) GT_PRINTF(1, 2);

/* A growing list of owned strings. v is NULL-terminated once a string has been added. */
struct gt_strv {
	char **v;
	size_t n;
};
void gt_strv_add(struct gt_strv *sv, const char *s);
void gt_strv_add_all(struct gt_strv *sv, const struct gt_strv *from);
void gt_strv_take(struct gt_strv *sv, char *s); /* takes ownership of s */
void gt_strv_sort(struct gt_strv *sv);		/* version order: node2 before node10 */
void gt_strv_sort_bytes(struct gt_strv *sv);	/* strcmp order: for hexadecimal names and for uniq */
bool gt_strv_has(const struct gt_strv *sv, const char *s);
void gt_strv_clear(struct gt_strv *sv);
#define gt_auto_strv	__attribute__((cleanup(gt_strv_clear))) struct gt_strv

bool gt_starts_with(const char *s, const char *prefix);
bool gt_ends_with(const char *s, const char *suffix);
bool gt_streq(const char *a, const char *b); /* NULL equals only NULL */
const char *gt_next_line(const char *line); /* the text after the end of the line; NULL after the last line */
char *gt_strip(char *s);		     /* strips blanks at both ends in place; returns the first non-blank */
void gt_make_plain(char *s); /* works in place: each byte of a control character (C0, DEL, C1 in UTF-8) becomes '?' */
uint64_t gt_hash64(const void *data, size_t len, uint64_t seed); /* FNV-1a, for identifiers; not for security */
uint32_t gt_crc32c(const void *data, size_t len);		  /* Castagnoli, for records on disk */
double gt_now_s(void);					     /* CLOCK_MONOTONIC, seconds */
double gt_suspended_s(void);				     /* time that the host has been suspended since boot, seconds */
void gt_format_bytes(char *buf, size_t size, uint64_t bytes);    /* "1.5 GiB" */
void gt_time_iso8601(char buf[21], int64_t unix_s);		     /* "2026-11-21T03:04:05Z" */

/* The signal that asked this process to end, 0 if none. Long operations check it and shut down cleanly.
 * gt_install_signals() (lib/signals.h) installs handlers that set it. A program that installs other handlers must set it. */
extern volatile int gt_interrupted;
#endif
