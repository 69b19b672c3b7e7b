/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_FILES_H
#define RT_FILES_H
/* The data files that the user names. Everything the loader asks of the operating system about files is in files.c. */
#include "lib/err.h"
#include "runtime/data/loader.h"

#define RT_DEFAULT_TEXT	"/usr/share/common-licenses"
#define RT_FILES_MAX	100000 /* that one path may stand for */

/* The files of a path: itself, the regular files of a directory with one of the suffixes (NULL: any), in version order, or the
 * list that braces stand for. */
int rt_files_list(const char *path, const char *const *suffixes, struct gt_strv *ret, struct gt_err *err);
/* "a-{08..10}.tar" -> a-08.tar a-09.tar a-10.tar. A name without braces stands for itself. */
int rt_files_expand(const char *path, struct gt_strv *ret, struct gt_err *err);
/* The regular files of a directory behind what is already in *ret. */
int rt_files_list_into(const char *directory, const char *const *suffixes, struct gt_strv *ret, struct gt_err *err);
int rt_files_directories(const char *path, struct gt_strv *ret, struct gt_err *err); /* names of those in it */

/* A regular file, for reading; its size. */
int rt_file_open(const char *path, int *ret_fd, uint64_t *ret_size, struct gt_err *err);
int rt_file_size(const char *path, uint64_t *ret, struct gt_err *err);
/* n bytes at an offset; -EIO if the file is shorter. */
int rt_file_read_at(int fd, const char *path, uint64_t at, void *out, size_t n, struct gt_err *err);

struct rt_map {
	const unsigned char *bytes;
	uint64_t len;
	int fd;
};
int rt_file_map(const char *path, struct rt_map *ret, struct gt_err *err);
int rt_map_check(const struct rt_map *m, const char *path, struct gt_err *err); /* the file has not become shorter */
void rt_file_unmap(struct rt_map *m);
/*
 * Reading mapped memory that a file no longer has (it was cut short, its disk fails) raises SIGBUS. read(arg) runs with that turned
 * into -EIO, whose sentence names path; it does nothing but read: no lock, no allocation. Signals that have another cause go
 * where they went before.
 */
int rt_map_read(const char *path, void (*read)(void *arg), void *arg, struct gt_err *err);
#endif
