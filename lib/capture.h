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

#define GT_CAPTURE_MAGIC	"gpuprobe-capture/1"

/* Parses the capture into a tree in memory (lib/fstree.h). */
int gt_capture_parse(const char *text, size_t len, const char *name, struct gt_tree **ret, struct gt_err *err);
/* Writes it as files below dirfd, an empty directory; denied files are empty there. */
int gt_capture_unpack(const char *text, size_t len, const char *name, int dirfd, struct gt_err *err);
#endif
