/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CAPTURE_H
#define GT_CAPTURE_H
/*
 * A host in one reviewable text file:
 *
 *   gpuprobe-capture/1
 *   # comment
 *   dir  /sys/devices/virtual
 *   link /sys/bus/pci/devices/0000:00:01.0 ../../../devices/pci0000:00/0000:00:01.0
 *   deny /proc/kmsg EACCES              reading it failed with this
 *   file /proc/sys/vm/swappiness        the lines that follow, each after one TAB, are its content
 *   	60
 *   bare /sys/module/nvidia/version     the same, but without a newline at the end
 *   	550.163.01
 *   hex  /sys/bus/pci/devices/0000:00:01.0/config
 *   	de10...
 *
 * Blanks and control characters in a path are written \040 (octal). Parents are implied. Paths are absolute, without
 * "." and "..": anything else is refused with its line number.
 */
#include "lib/err.h"
#include "lib/fstree.h"

struct gt_fsroot;
/* The capture as a tree in memory (lib/fstree.h). */
int gt_capture_parse(const char *text, size_t len, const char *name, struct gt_tree **ret, struct gt_err *err);
/* The same as files below dirfd (empty, ours); what the capture denies is an empty file there. */
int gt_capture_unpack(const char *text, size_t len, const char *name, int dirfd, struct gt_err *err);
/* What lies at the paths, through the door, as a capture: files, the links on the way to them, directories, denials. Of a
 * path with a '?' before it only that it is there, not its content. */
struct gt_buf;
void gt_capture_write(struct gt_fsroot *fs, const struct gt_strv *paths, struct gt_buf *out);
/* Append one made-up file, such as a fact. */
void gt_capture_file(struct gt_buf *out, const char *path, const char *data, size_t len);
#endif
