/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_root.h"

struct gt_fsroot *fuzz_root(const void *text, size_t len)
{
	/* uses /dev/shm if present, because thousands of directories are created and removed */
	char dir[32];
	gt_autofree char *file = NULL;
	struct gt_fsroot *fs = NULL;
	struct gt_err err = { 0 };
	int fd;

	strcpy(dir, access("/dev/shm", W_OK) ? "/tmp/fuzz-root-XXXXXX" : "/dev/shm/fuzz-root-XXXXXX");
	FUZZ_ASSERT(mkdtemp(dir));
	file = gt_xasprintf("%s/input.host", dir);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	FUZZ_ASSERT(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
	if (gt_fs_open(file, &fs, &err) < 0)
		FUZZ_ASSERT(!fs && err.code > 0 && err.msg[0]);
	unlink(file);
	FUZZ_ASSERT(!rmdir(dir)); /* no other file was created */
	return fs;
}
