/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CAPTURE_WRITE_H
#define GT_CAPTURE_WRITE_H
/* Writes captured hosts (lib/capture.h). */
#include "lib/buf.h"
#include "lib/fsroot.h"

/* Appends the files at the paths, the links that lead to them, directories and denials. For a path with the prefix '?'
 * only the existence of the file is recorded, without its content. */
void gt_capture_write(struct gt_fsroot *fs, const struct gt_strv *paths, struct gt_buf *out);
/* Appends one file that is not read from the host, such as a fact. */
void gt_capture_file(struct gt_buf *out, const char *path, const char *data, size_t len);
#endif
