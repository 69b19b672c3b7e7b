/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured host from a stranger: unpacked, every file in it read through the door, written as a capture again. Nothing
 * may appear beside the private directory, and what was taken must be given back the same.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/capture.h"
#include "lib/fsroot.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 300;

/* Read all that the root shows below dir; depth bounds links that lead in circles. */
static void walk(struct gt_fsroot *fs, const char *dir, struct gt_strv *paths, int depth)
{
	gt_auto_strv names = { 0 };

	if (depth > 12 || paths->n > 2000 || gt_fs_list(fs, dir, &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dir[1] ? dir : "", names.v[i]);
		gt_autofree char *text = NULL, *target = NULL;

		gt_strv_add(paths, path);
		if (!gt_fs_readlink(fs, path, &target))
			continue;
		gt_fs_read(fs, path, &text, NULL);
		walk(fs, path, paths, depth + 1);
	}
}

static void capture_of(struct gt_fsroot *fs, struct gt_buf *out)
{
	gt_auto_strv paths = { 0 };

	walk(fs, "/", &paths, 0);
	gt_capture_write(fs, &paths, out);
}

static void with_file(const char *file, const void *data, size_t size, struct gt_fsroot **ret)
{
	struct gt_err err = { 0 };
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	FUZZ_ASSERT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	if (gt_fs_open(file, ret, &err) < 0)
		FUZZ_ASSERT(!*ret && err.code > 0 && err.msg[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto_buf once = { 0 }, twice = { 0 };
	gt_auto(gt_fsroot) *fs = NULL, *again = NULL;
	char dir[] = "/tmp/fuzz-capture-XXXXXX";
	gt_autofree char *file = NULL;

	FUZZ_ASSERT(mkdtemp(dir));
	file = gt_xasprintf("%s/input.host", dir);
	with_file(file, data, size, &fs);
	if (fs) {
		capture_of(fs, &once);
		with_file(file, once.s, once.len, &again);
		FUZZ_ASSERT(again);
		capture_of(again, &twice);
		FUZZ_ASSERT(once.len == twice.len && !memcmp(once.s, twice.s, once.len));
	}
	unlink(file);
	FUZZ_ASSERT(!rmdir(dir)); /* nothing else was made in it */
	return 0;
}
