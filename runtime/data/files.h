/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_FILES_H
#define RT_FILES_H
/* The data files that the user names. files.c makes all file system calls of the loader. */
#include "lib/err.h"
#include "runtime/data/loader.h"

#define RT_DEFAULT_TEXT	"/usr/share/common-licenses"
#define RT_FILES_MAX	100000 /* files of one path */

/* Lists the files of a path: the file itself, the regular files of a directory with one of the suffixes (NULL: any) in
 * version order, or the list that braces denote. */
int rt_files_list(const char *path, const char *const *suffixes, struct gt_strv *ret, struct gt_err *err);
/* Expands "a-{08..10}.tar" to a-08.tar a-09.tar a-10.tar. A name without braces is returned unchanged. */
int rt_files_expand(const char *path, struct gt_strv *ret, struct gt_err *err);
/* Appends the regular files of a directory to *ret. */
int rt_files_list_into(const char *directory, const char *const *suffixes, struct gt_strv *ret, struct gt_err *err);
int rt_files_directories(const char *path, struct gt_strv *ret, struct gt_err *err); /* names of its subdirectories */

/* Opens a regular file for reading and returns its size. */
int rt_file_open(const char *path, int *ret_fd, uint64_t *ret_size, struct gt_err *err);
int rt_file_size(const char *path, uint64_t *ret, struct gt_err *err);
/* Reads n bytes at an offset. -EIO if the file is shorter. */
int rt_file_read_at(int fd, const char *path, uint64_t at, void *out, size_t n, struct gt_err *err);

struct rt_map {
	const unsigned char *bytes;
	uint64_t len;
	int fd;
};
int rt_file_map(const char *path, struct rt_map *ret, struct gt_err *err);
int rt_map_check(const struct rt_map *m, const char *path, struct gt_err *err); /* checks that the file has not become shorter */
void rt_file_unmap(struct rt_map *m);
/*
 * Mapped memory that the file no longer has (truncated file, disk error) raises SIGBUS when it is read. rt_map_read()
 * runs read(arg) and converts that signal to -EIO; the message names path. read() must only read: no lock, no
 * allocation. Signals with another cause go to the previous handler.
 */
int rt_map_read(const char *path, void (*read)(void *arg), void *arg, struct gt_err *err);
#endif
