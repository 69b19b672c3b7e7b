/* SPDX-License-Identifier: Apache-2.0 */
/* Real text as bytes: a training part and a part that training never sees. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "runtime/runtime.h"

#define DEFAULT_TEXT	"/usr/share/common-licenses"
#define BLOCK		4096u	     /* bytes that go to one part together */
#define EVERY		10u	     /* one block in so many is held out */
#define TEXT_MAX	(4ull << 30) /* bytes taken from one place */

struct rt_text {
	struct gt_buf part[2]; /* training, held out */
};

void rt_text_free(struct rt_text *t)
{
	if (!t)
		return;
	gt_buf_clear(&t->part[0]);
	gt_buf_clear(&t->part[1]);
	free(t);
}

static int add_file(struct gt_buf *all, const char *path, struct gt_err *err)
{
	gt_autofree char *data = NULL;
	size_t len;
	int r = gt_file_read(path, TEXT_MAX - all->len, &data, &len, err);

	if (!r)
		gt_buf_add(all, data, len);
	return r;
}

static int add_directory(struct gt_buf *all, const char *path, struct gt_err *err)
{
	gt_auto_strv names = { 0 };
	struct dirent *e;
	DIR *d = opendir(path);
	int r = 0;

	if (!d)
		return gt_fail_errno(err, errno, "cannot list %s", path);
	while ((e = readdir(d))) {
		struct stat st;

		if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			gt_strv_take(&names, gt_xasprintf("%s/%s", path, e->d_name));
	}
	closedir(d);
	gt_strv_sort(&names);
	for (size_t i = 0; !r && i < names.n; i++)
		r = add_file(all, names.v[i], err);
	return r;
}

int rt_text_open(const char *path, size_t min_bytes, struct rt_text **ret, struct gt_err *err)
{
	gt_auto(rt_text) *t = gt_xcalloc(1, sizeof(*t));
	gt_auto_buf all = { 0 };
	struct stat st;
	int r;

	if (!path)
		path = DEFAULT_TEXT;
	if (stat(path, &st) < 0)
		return gt_fail_errno(err, errno, "cannot read text from %s", path);
	r = S_ISDIR(st.st_mode) ? add_directory(&all, path, err) : add_file(&all, path, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < all.len; i += BLOCK)
		gt_buf_add(&t->part[i / BLOCK % EVERY == EVERY - 1], all.s + i, GT_MIN(BLOCK, all.len - i));
	if (t->part[0].len < min_bytes || t->part[1].len < min_bytes)
		return gt_fail(err, ENODATA,
			       "%s has too little text: %zu bytes to train on and %zu held out, at least %zu of each are needed",
			       path, t->part[0].len, t->part[1].len, min_bytes);
	*ret = gt_take(t);
	return 0;
}

size_t rt_text_bytes(const struct rt_text *t, bool held_out)
{
	return t->part[held_out].len;
}

/* seq bytes from `at`, and the same one further. */
static void window(const struct gt_buf *text, size_t at, int64_t seq, int32_t *tokens, int32_t *targets)
{
	const unsigned char *s = (const unsigned char *)text->s + at;

	for (int64_t i = 0; i < seq; i++) {
		tokens[i] = s[i];
		targets[i] = s[i + 1];
	}
}

void rt_text_batch(const struct rt_text *t, uint64_t seed, uint64_t index, int64_t batch, int64_t seq, int32_t *tokens,
		   int32_t *targets)
{
	size_t starts = t->part[0].len - (size_t)seq;

	for (int64_t b = 0; b < batch; b++)
		window(&t->part[0], rt_random_u64(seed, (uint64_t)b, index) % starts, seq, tokens + b * seq, targets + b * seq);
}

void rt_text_held_out(const struct rt_text *t, uint64_t index, uint64_t n_batches, int64_t batch, int64_t seq,
		      int32_t *tokens, int32_t *targets)
{
	size_t starts = t->part[1].len - (size_t)seq, n = (size_t)batch * n_batches;

	for (int64_t b = 0; b < batch; b++) {
		size_t i = (size_t)index * (size_t)batch + (size_t)b;

		window(&t->part[1], starts * i / n, seq, tokens + b * seq, targets + b * seq);
	}
}
