/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "bench/workload/scratch.h"

#define BLOCK 4096

static int open_unnamed(void)
{
	const char *dir = getenv("GPUBENCH_SCRATCH");
	gt_autofree char *name = NULL;
	int fd;

	if (!dir || !dir[0])
		dir = ".";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	name = gt_xasprintf("%s/gpubench-XXXXXX", dir); /* the file system does not support O_TMPFILE */
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

int bn_scratch_open(struct gt_err *err)
{
	int fd = open_unnamed();

	if (fd < 0)
		return gt_fail_exit(err, GT_EXIT_USAGE, errno,
				    "cannot create a scratch file: %s (set GPUBENCH_SCRATCH to another "
				    "directory)", strerror(errno));
	return fd;
}

/* Returns a pattern that is cheap to compute compared with the disk and the page cache, and differs in every word. */
static uint64_t word(uint64_t block, uint64_t seed)
{
	return (block + 1) * 0x9e3779b97f4a7c15u ^ seed;
}

void bn_scratch_fill(unsigned char *buf, size_t bytes, uint64_t from_block, uint64_t seed)
{
	for (size_t at = 0; at < bytes; at += 8) {
		uint64_t w = word(from_block + at / BLOCK, seed) + at % BLOCK;

		memcpy(buf + at, &w, 8);
	}
}

size_t bn_scratch_wrong(const unsigned char *buf, size_t bytes, uint64_t from_block, uint64_t seed)
{
	size_t wrong = 0;

	for (size_t at = 0; at < bytes; at += BLOCK) {
		uint64_t diff = 0;

		for (size_t k = 0; k < BLOCK; k += 8) {
			uint64_t w;

			memcpy(&w, buf + at + k, 8);
			diff |= w ^ (word(from_block + at / BLOCK, seed) + k);
		}
		wrong += diff != 0;
	}
	return wrong;
}

int bn_scratch_write(int fd, const unsigned char *buf, size_t bytes, off_t at)
{
	while (bytes) {
		ssize_t n = pwrite(fd, buf, bytes, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		buf += n;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

void bn_scratch_note(struct bn_launch *l, int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) == 0)
		json_object_set_new(l->notes, "file_system_type", json_sprintf("0x%lx", (unsigned long)fs.f_type));
}
