/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FSROOT_H
#define GT_FSROOT_H
/*
 * The filesystem access layer for /proc, /sys, /etc, /dev and /var. Paths are absolute, as on the host. A root that is
 * not live maps them into its own tree, and links cannot leave the tree (openat2 with RESOLVE_IN_ROOT).
 *
 *   live       "/"                      reads and writes the machine
 *   directory  --root DIR               a generated or unpacked tree; may be written
 *   capture    --root NAME.host         one text file (lib/capture.h), held in memory (lib/fstree.h); read-only
 *
 * A root that is not live cannot start processes, make scheduling calls or load vendor libraries (gt_fs_require_live).
 * The results of such calls are stored in the tree as facts, in files /.facts/NAME.
 *
 * All functions return 0 or a negative errno and leave outputs untouched on failure. -ENOENT means absent and
 * -EACCES/-EPERM unreadable. Other errors mean broken. probe/host/reading.h wraps this for callers that need the state
 * and the value.
 */
#include <sys/stat.h>
#include <sys/statvfs.h>
#include "lib/err.h"

struct gt_fsroot;

/* where NULL or "/": the live host. On failure err explains why `where` is not a root. */
int gt_fs_open(const char *where, struct gt_fsroot **ret, struct gt_err *err);
void gt_fs_close(struct gt_fsroot *fs);
GT_DEFINE_AUTO(gt_fsroot, gt_fs_close);
bool gt_fs_is_live(const struct gt_fsroot *fs);
const char *gt_fs_where(const struct gt_fsroot *fs); /* the path as the user wrote it, "/" if live */
const char *gt_fs_dir(const struct gt_fsroot *fs); /* the directory that serves as "/"; NULL: a captured host */
int gt_fs_require_live(const struct gt_fsroot *fs, const char *what, struct gt_err *err);

/* ---- reading ---- */
#define GT_FS_MAX	(16u << 20) /* maximum size of a file in bytes; larger ones fail with -EFBIG */
int gt_fs_read(struct gt_fsroot *fs, const char *path, char **ret, size_t *ret_len); /* NUL-terminated; ret_len may be NULL */
/* -EFBIG for more than max bytes */
int gt_fs_read_max(struct gt_fsroot *fs, const char *path, size_t max, char **ret, size_t *ret_len);
int gt_fs_read_prefix(struct gt_fsroot *fs, const char *path, size_t max, char **ret, size_t *ret_len);
int gt_fs_read_line(struct gt_fsroot *fs, const char *path, char **ret); /* first line without leading and trailing blanks */
int gt_fs_read_i64(struct gt_fsroot *fs, const char *path, int64_t *ret);
int gt_fs_readlink(struct gt_fsroot *fs, const char *path, char **ret);
int gt_fs_realpath(struct gt_fsroot *fs, const char *path, char **ret); /* path inside the root with all links resolved */
int gt_fs_list(struct gt_fsroot *fs, const char *dir, struct gt_strv *ret); /* sorted, without . and .. */
/* Appends the targets of the symbolic links in a directory, unsorted. A link that disappears meanwhile is skipped. */
int gt_fs_links(struct gt_fsroot *fs, const char *dir, struct gt_strv *ret);
int gt_fs_stat(struct gt_fsroot *fs, const char *path, struct stat *ret); /* follows links inside the root */
int gt_fs_lstat(struct gt_fsroot *fs, const char *path, struct stat *ret); /* does not follow a link in the last component */
int gt_fs_statvfs(struct gt_fsroot *fs, const char *path, struct statvfs *ret);
/* Reads the number of a character device. Returns -ENODEV for other file types. On a captured host the number is a
 * fact, like the result of statvfs. */
int gt_fs_device(struct gt_fsroot *fs, const char *path, unsigned *ret_major, unsigned *ret_minor);
bool gt_fs_exists(struct gt_fsroot *fs, const char *path);
int gt_fs_access(struct gt_fsroot *fs, const char *path, int mode); /* R_OK|W_OK of the calling user */
int gt_fs_open_fd(struct gt_fsroot *fs, const char *path); /* O_RDONLY|O_CLOEXEC; returns the fd */
/* Like gt_fs_open_fd(), for a file of which only parts are read, such as a library. A capture records its existence,
 * not its content. */
int gt_fs_open_part(struct gt_fsroot *fs, const char *path);
/* Reads a fact of a root that is not live (text of /.facts/NAME). Returns -ENOENT on a live one. */
int gt_fs_fact(struct gt_fsroot *fs, const char *name, char **ret, size_t *ret_len);

/* ---- writing ---- (-EROFS for a capture) */
/* Writes value to an existing kernel file with one write(2). In a directory root a choice file ("always [madvise]
 * never") is rewritten as the kernel would show it; -EINVAL if value is not among the choices. */
int gt_fs_write_value(struct gt_fsroot *fs, const char *path, const char *value);
/* In a directory root sets the text of an existing file to value, to emulate a side effect of the kernel. Not counted
 * as a mutation. Returns -EPERM on the live host. */
int gt_fs_emulate(struct gt_fsroot *fs, const char *path, const char *value);
/* Replaces or creates a file atomically: temporary file in the same directory, fsync, rename, fsync of the directory.
 * Parent directories must exist. If the last component is a link, the link itself is replaced. */
int gt_fs_write_atomic(struct gt_fsroot *fs, const char *path, const char *data, size_t len, mode_t mode);
/* Removes the temporary file of an interrupted gt_fs_write_atomic() of path. Returns -ENOENT if there is none. */
int gt_fs_sweep(struct gt_fsroot *fs, const char *path);
/* creates the file with mode 0600 and calls fsync */
int gt_fs_append_sync(struct gt_fsroot *fs, const char *path, const char *data, size_t len);
int gt_fs_mkdirs(struct gt_fsroot *fs, const char *path, mode_t mode); /* creates directories durably; accepts existing ones */
int gt_fs_unlink(struct gt_fsroot *fs, const char *path); /* removes the file durably; -ENOENT if it does not exist */
/*
 * Takes an exclusive lock on path (creates it with mode 0600). The lock lasts until *ret_fd is closed. Returns
 * -EWOULDBLOCK if another process still holds the lock after wait_s seconds.
 */
int gt_fs_lock(struct gt_fsroot *fs, const char *path, double wait_s, int *ret_fd);
int gt_fs_wait_lock(struct gt_fsroot *fs, const char *path); /* waits until no other process holds the lock; does not take it */

/* ---- fault injection for tests: fail or die at the Nth mutating operation ----
 *
 * Each step that changes the tree (write, create, fsync, rename, unlink, mkdir) counts as one operation. In roots that
 * are not live the environment also sets a fault: GT_FAULT=N:ENOSPC, GT_FAULT=N+:EIO (the Nth and all later ones) or
 * GT_FAULT=N:KILL. */
#define GT_FS_KILL	(-1)
void gt_fs_fault(struct gt_fsroot *fs, unsigned nth, int code_or_kill, bool persistent);
unsigned gt_fs_mutations(const struct gt_fsroot *fs); /* mutations so far */

/* ---- recording ---- for `gpuprobe capture`: records every path that is read from now on */
void gt_fs_record(struct gt_fsroot *fs);
/* Stops recording until gt_fs_record(), for files whose result is captured as a fact. Returns whether it was on. */
bool gt_fs_pause_recording(struct gt_fsroot *fs);
/* Ends the recording. Returns the paths, sorted and unique, including those that failed. The prefix '?' marks a path
 * whose content was not read (stat, link). */
const struct gt_strv *gt_fs_recorded(struct gt_fsroot *fs);
#endif
