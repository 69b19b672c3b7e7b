/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FSROOT_H
#define GT_FSROOT_H
/*
 * The one door to /proc, /sys, /etc, /dev and /var. Paths are absolute, as on the host; a root that is not live maps
 * them into its own tree and no link leads out of it (openat2 with RESOLVE_IN_ROOT).
 *
 *   live       "/"                      reads and writes the machine
 *   directory  --root DIR               a made or unpacked tree; may be written
 *   capture    --root NAME.host         one text file (lib/capture.h), held in memory (lib/fstree.h); read-only
 *
 * A root that is not live refuses to spawn, to schedule and to load vendor libraries (gt_fs_require_live). What those
 * would have said lies in the tree as a fact: the file /.facts/NAME.
 *
 * All functions return 0 or a negative errno and touch no output on failure. -ENOENT is absent, -EACCES/-EPERM
 * unreadable; other errors are broken. Callers that only need "is it there and what does it say" use probe's readings.
 */
#include <sys/stat.h>
#include <sys/statvfs.h>
#include "lib/err.h"

struct gt_fsroot;

/* where NULL or "/": the live host. The sentence in err says what is wrong with a root that is none. */
int gt_fs_open(const char *where, struct gt_fsroot **ret, struct gt_err *err);
void gt_fs_close(struct gt_fsroot *fs);
GT_DEFINE_AUTO(gt_fsroot, gt_fs_close);
bool gt_fs_is_live(const struct gt_fsroot *fs);
const char *gt_fs_where(const struct gt_fsroot *fs); /* as the user named it, "/" if live */
const char *gt_fs_dir(const struct gt_fsroot *fs); /* the directory that stands for "/"; NULL: a captured host */
int gt_fs_require_live(const struct gt_fsroot *fs, const char *what, struct gt_err *err);

/* ---- reading ---- */
#define GT_FS_MAX	(16u << 20) /* no file read here is larger; -EFBIG otherwise */
int gt_fs_read(struct gt_fsroot *fs, const char *path, char **ret, size_t *ret_len); /* NUL-terminated; len may be NULL */
int gt_fs_read_max(struct gt_fsroot *fs, const char *path, size_t max, char **ret, size_t *ret_len); /* -EFBIG beyond max */
int gt_fs_read_prefix(struct gt_fsroot *fs, const char *path, size_t max, char **ret, size_t *ret_len);
int gt_fs_read_line(struct gt_fsroot *fs, const char *path, char **ret); /* first line, blanks stripped */
int gt_fs_read_i64(struct gt_fsroot *fs, const char *path, int64_t *ret);
int gt_fs_readlink(struct gt_fsroot *fs, const char *path, char **ret);
int gt_fs_realpath(struct gt_fsroot *fs, const char *path, char **ret); /* all links resolved, inside the root */
int gt_fs_list(struct gt_fsroot *fs, const char *dir, struct gt_strv *ret); /* sorted, without . and .. */
int gt_fs_stat(struct gt_fsroot *fs, const char *path, struct stat *ret); /* follows links inside the root */
int gt_fs_lstat(struct gt_fsroot *fs, const char *path, struct stat *ret); /* of a link at the end the link itself */
int gt_fs_statvfs(struct gt_fsroot *fs, const char *path, struct statvfs *ret);
/* Number of a character device; -ENODEV: something else lies there. Of a captured host it is a fact, as statvfs' answer is. */
int gt_fs_device(struct gt_fsroot *fs, const char *path, unsigned *ret_major, unsigned *ret_minor);
bool gt_fs_exists(struct gt_fsroot *fs, const char *path);
int gt_fs_access(struct gt_fsroot *fs, const char *path, int mode); /* R_OK|W_OK of the calling user */
int gt_fs_open_fd(struct gt_fsroot *fs, const char *path); /* O_RDONLY|O_CLOEXEC; returns the fd */
/* The same for a file of which only parts are read, such as a library: a capture keeps that it is there, not its content. */
int gt_fs_open_part(struct gt_fsroot *fs, const char *path);
/* A fact of a root that is not live (text of /.facts/NAME); -ENOENT on a live one. */
int gt_fs_fact(struct gt_fsroot *fs, const char *name, char **ret, size_t *ret_len);

/* ---- writing ---- (a capture answers -EROFS) */
/* One write(2) of value to an existing kernel file. In a directory root a choice file ("always [madvise] never") is
 * rewritten the way the kernel would show it, and -EINVAL if value is not among the choices. */
int gt_fs_write_value(struct gt_fsroot *fs, const char *path, const char *value);
/* Directory root: sets the text of an existing file to value, to emulate a side effect of the kernel. Not counted as a mutation.
 * -EPERM on the live host. */
int gt_fs_emulate(struct gt_fsroot *fs, const char *path, const char *value);
/* New content under the final name, or nothing: temporary file in the same directory, fsync, rename, fsync of the
 * directory. Parents must exist. A final component that is a link is replaced, never followed. */
int gt_fs_write_atomic(struct gt_fsroot *fs, const char *path, const char *data, size_t len, mode_t mode);
/* Remove what a gt_fs_write_atomic of path that was cut short has left beside it; -ENOENT if there is nothing. */
int gt_fs_sweep(struct gt_fsroot *fs, const char *path);
int gt_fs_append_sync(struct gt_fsroot *fs, const char *path, const char *data, size_t len); /* create 0600, fsync */
int gt_fs_mkdirs(struct gt_fsroot *fs, const char *path, mode_t mode); /* durable; existing is fine */
int gt_fs_unlink(struct gt_fsroot *fs, const char *path); /* durable; -ENOENT if it was not there */
/* Exclusive lock on path (created 0600); *ret_fd holds it until closed. -EWOULDBLOCK: someone else has it. */
int gt_fs_lock(struct gt_fsroot *fs, const char *path, int *ret_fd);
int gt_fs_wait_lock(struct gt_fsroot *fs, const char *path); /* returns when nobody else has it; does not keep it */

/* ---- test seam: fail or die at the Nth mutating operation ----
 * Every step that changes the tree (write, create, fsync, rename, unlink, mkdir) counts one. Also armed by the
 * environment, GT_FAULT=N:ENOSPC, GT_FAULT=N+:EIO (and all after it) or GT_FAULT=N:KILL, in roots that are not live. */
#define GT_FS_KILL	(-1)
void gt_fs_fault(struct gt_fsroot *fs, unsigned nth, int code_or_kill, bool persistent);
unsigned gt_fs_mutations(const struct gt_fsroot *fs); /* so far */

/* ---- recording ---- for `gpuprobe capture`: remember every path that is read from now on */
void gt_fs_record(struct gt_fsroot *fs);
/* Ends it: the paths, sorted, each once, also those that failed. A path that was only looked at (stat, link), not read, has
 * a '?' before it. */
const struct gt_strv *gt_fs_recorded(struct gt_fsroot *fs);
#endif
