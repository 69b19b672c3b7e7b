/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_TAR_H
#define RT_TAR_H
/* Headers of tar files: ustar, GNU's long names and large sizes, pax paths and sizes. */
#include "lib/err.h"

#define RT_TAR_BLOCK	512u
#define RT_TAR_NAME	1024u /* longest name that is kept */
#define RT_TAR_EXTRA	65536u /* longest block of extra headers */

enum rt_tar_kind { RT_TAR_FILE, RT_TAR_OTHER, RT_TAR_LONG_NAME, RT_TAR_PAX, RT_TAR_END };
struct rt_tar_entry {
	enum rt_tar_kind kind;
	char name[RT_TAR_NAME + 1];
	uint64_t size; /* size of the contents, which are padded to a whole block */
};
/* Parses one block of RT_TAR_BLOCK bytes. -EBADMSG: not a header (wrong checksum, or an invalid size). */
int rt_tar_header(const unsigned char *block, struct rt_tar_entry *ret, struct gt_err *err);
/* Parses "27 path=some/long/name\n": path and size are stored in *e, other keys are skipped. -EBADMSG: not in that form. */
int rt_tar_pax(const char *text, size_t len, struct rt_tar_entry *e, bool *ret_path, bool *ret_size, struct gt_err *err);

/* Iterator over a tar file of len bytes, which read() reads. */
struct rt_tar {
	int (*read)(void *arg, uint64_t at, void *out, size_t n, struct gt_err *err);
	void *arg;
	uint64_t len, at;
};
/* Returns the next file: its name, offset and size. Returns 1, or 0 at the end. -EBADMSG with the position of the
 * damage in *ret_at. The result is always inside the tar file. */
int rt_tar_next(struct rt_tar *t, struct rt_tar_entry *ret, uint64_t *ret_at, struct gt_err *err);
#endif
