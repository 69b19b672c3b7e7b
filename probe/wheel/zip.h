/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_ZIP_H
#define PR_ZIP_H
/*
 * A zip archive from a stranger, read in place: its directory, and its members as streams. Nothing is unpacked to disk.
 * Refused, each with one sentence: names that lead out of the archive, members that overlap or share a name, sizes that
 * cannot be, and what inflates out of all proportion.
 */
#include "lib/err.h"

struct pr_zip_member {
	char *name;
	unsigned method;
	uint32_t crc;
	uint64_t packed, size, offset; /* offset: of its local header */
};

struct pr_zip {
	int fd;     /* not ours */
	char *name; /* for sentences */
	struct pr_zip_member *member;
	size_t n;
};

/* Read the directory of the archive at fd, which must stay open. -EINVAL with a sentence for all that is wrong. */
int pr_zip_open(int fd, const char *name, struct pr_zip **ret, struct gt_err *err);
void pr_zip_close(struct pr_zip *z);
GT_DEFINE_AUTO(pr_zip, pr_zip_close);
const struct pr_zip_member *pr_zip_find(const struct pr_zip *z, const char *name);
/* Inflate a member and hand it on piece by piece; its check sum and size are compared at the end. */
typedef void pr_zip_sink(void *arg, const void *data, size_t n);
int pr_zip_stream(const struct pr_zip *z, const struct pr_zip_member *m, pr_zip_sink *sink, void *arg,
		  struct gt_err *err);
/* A member as text, NUL-terminated; -EFBIG above max bytes. The caller frees it. */
int pr_zip_read(const struct pr_zip *z, const struct pr_zip_member *m, size_t max, char **ret, struct gt_err *err);
#endif
