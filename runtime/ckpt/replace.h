/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_REPLACE_H
#define RT_REPLACE_H
/*
 * A file that is written whole or not at all. What is written lies beside it as PATH.PID.saving, locked until it has taken its
 * place. Whoever is killed on the way leaves the old file, and the other, unlocked, to the next one who writes there. A device or
 * a pipe, /dev/null say, is written to and stays what it is.
 */
struct rt_replace {
	int fd; /* to be written */
	char *name; /* until it has taken its place; NULL: path itself is written to */
	const char *path;
};
/* 0 or a negative errno; rt_replace_end() then ends it. */
int rt_replace_begin(const char *path, struct rt_replace *ret);
/* status 0: it is made durable and takes the place of path; else, or if that fails, it is removed. Returns how it ended. */
int rt_replace_end(struct rt_replace *r, int status);
#endif
