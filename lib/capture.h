/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CAPTURE_H
#define GT_CAPTURE_H
/*
 * A captured host is one text file:
 *
 *   gpuprobe-capture/1
 *   # comment
 *   dir  /sys/devices/virtual
 *   link /sys/bus/pci/devices/0000:00:01.0 ../../../devices/pci0000:00/0000:00:01.0
 *   deny /proc/kmsg EACCES              reading it failed with this error
 *   file /proc/sys/vm/swappiness        its content: the following lines, each after one TAB
 *   	60
 *   bare /sys/module/nvidia/version     the same, without a newline at the end
 *   	550.163.01
 *   hex  /sys/bus/pci/devices/0000:00:01.0/config
 *   	de10...
 *
 * Blanks and control characters in a path are written as \040 (octal). Parent directories are implied. Paths must be
 * absolute, without "." and "..". The parser reports other paths with their line number.
 */
#include "lib/err.h"
#include "lib/fstree.h"

#define GT_CAPTURE_MAGIC	"gpuprobe-capture/1"

/* Parses the capture into a tree in memory (lib/fstree.h). */
int gt_capture_parse(const char *text, size_t len, const char *name, struct gt_tree **ret, struct gt_err *err);
/* Writes the capture as files below dirfd, an empty directory. Denied files become empty files. */
int gt_capture_unpack(const char *text, size_t len, const char *name, int dirfd, struct gt_err *err);
#endif
