/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted captured host: unpacks it, reads every file through the filesystem access layer, and writes a capture
 * again. The second capture must equal the accepted part of the first.
 */
#include <string.h>
#include "lib/buf.h"
#include "lib/capture_write.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_root.h"

const unsigned fuzz_rounds = 300;

/* Reads all files below dir; depth limits cycles of links. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(gt_fsroot) *fs = fuzz_root(data, size), *again = NULL;
	gt_auto_buf once = { 0 }, twice = { 0 };

	if (!fs)
		return 0;
	capture_of(fs, &once);
	again = fuzz_root(once.s, once.len);
	FUZZ_ASSERT(again);
	capture_of(again, &twice);
	FUZZ_ASSERT(once.len == twice.len && !memcmp(once.s, twice.s, once.len));
	return 0;
}
