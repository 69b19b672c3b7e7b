/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_ZIP_H
#define PR_ZIP_H
/*
 * Reads an untrusted zip archive in place: its directory, and its members as streams. Unpacks nothing to disk. Reports
 * one sentence for: names that lead out of the archive, members that overlap or share a name, impossible sizes, and
 * excessive compression ratios.
 */
#include "lib/err.h"

struct pr_zip_member {
	char *name;
	unsigned method;
	uint32_t crc;
	uint64_t packed, size, offset; /* bytes; offset: position of the local header */
};

struct pr_zip {
	int fd;     /* borrowed from the caller */
	char *name; /* for error messages */
	struct pr_zip_member *member;
	size_t n;
};

/* Reads the directory of the archive at fd, which must stay open. Returns -EINVAL with a sentence if the archive is
 * malformed. */
int pr_zip_open(int fd, const char *name, struct pr_zip **ret, struct gt_err *err);
void pr_zip_close(struct pr_zip *z);
GT_DEFINE_AUTO(pr_zip, pr_zip_close);
const struct pr_zip_member *pr_zip_find(const struct pr_zip *z, const char *name);
/* Inflates a member and passes it to sink in pieces. Verifies checksum and size at the end. */
typedef void pr_zip_sink(void *arg, const void *data, size_t n);
int pr_zip_stream(const struct pr_zip *z, const struct pr_zip_member *m, pr_zip_sink *sink, void *arg,
		  struct gt_err *err);
/* Returns a member as NUL-terminated text. Returns -EFBIG for more than max bytes. The caller frees it. */
int pr_zip_read(const struct pr_zip *z, const struct pr_zip_member *m, size_t max, char **ret, struct gt_err *err);
#endif
