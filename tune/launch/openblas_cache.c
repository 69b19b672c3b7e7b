/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches OpenBLAS's answers in the file openblas of the user's cache directory (lib/cache.h). Each answer is one line,
 * the newest last. A line begins with a hash of the library file (name, inode, size, times) and of the processor, so
 * that outdated answers are not used. If the file cannot be read or written, OpenBLAS is queried each time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/cache.h"
#include "tune/launch/openblas_cache.h"

#define CACHED_MAX  64
#define FILE_SIZE 16384

struct cached {
	uint64_t key;
	char asked[32]; /* value of OPENBLAS_CORETYPE; "-": not set */
	struct pr_openblas_answer answer;
};

/* The ranks of one launch also use it if the file cannot be written. */
static struct cached cached[CACHED_MAX];
static size_t n_cached;
static bool loaded;

static bool key_of(const struct tn_launch *c, const char *path, uint64_t *ret)
{
	gt_autofree char *text = NULL;
	struct stat st;

	if (gt_fs_stat(c->fs, path, &st) < 0)
		return false;
	text = gt_xasprintf("%s %jd %jd %jd %jd.%09ld %jd.%09ld %s %d %d %s", path, (intmax_t)st.st_dev, (intmax_t)st.st_ino,
			    (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec,
			    st.st_ctim.tv_nsec, c->host->cpu.vendor.v ? c->host->cpu.vendor.v : "", c->host->cpu.family,
			    c->host->cpu.model, c->host->cpu.flags);
	*ret = gt_hash64(text, strlen(text), 0);
	return true;
}

static const struct cached *find(uint64_t key, const char *asked)
{
	for (size_t i = 0; i < n_cached; i++)
		if (cached[i].key == key && !strcmp(cached[i].asked, asked))
			return &cached[i];
	return NULL;
}

static void keep(const struct cached *k)
{
	if (n_cached == CACHED_MAX)
		memmove(cached, cached + 1, --n_cached * sizeof(*cached));
	cached[n_cached++] = *k;
}

static int open_cache(const struct tn_launch *c)
{
	return gt_fs_is_live(c->fs) ? gt_cache_open(tn_run_value(c, "XDG_CACHE_HOME"), tn_run_value(c, "HOME")) : -ENOENT;
}

static void load(const struct tn_launch *c)
{
	gt_autoclose int cache = open_cache(c);
	gt_autofree char *text = NULL;

	loaded = true;
	if (cache < 0 || gt_cache_read(cache, "openblas", FILE_SIZE, &text) < 0)
		return;
	for (const char *line = text; line && *line; line = gt_next_line(line)) {
		struct cached k = { 0 };
		char one[2];

		if (sscanf(line, "%16" SCNx64 " %31s %31s %31s %1[01]", &k.key, k.asked, k.answer.core, k.answer.version, one) != 5)
			continue;
		if (!strcmp(k.answer.version, "-"))
			*k.answer.version = '\0';
		k.answer.one_target = *one == '1';
		keep(&k);
	}
}

static void save(const struct tn_launch *c)
{
	gt_autoclose int cache = open_cache(c);
	gt_auto_buf out = { 0 };

	if (cache < 0)
		return;
	for (size_t i = 0; i < n_cached; i++)
		gt_buf_printf(&out, "%016" PRIx64 " %s %s %s %d\n", cached[i].key, cached[i].asked, cached[i].answer.core,
			      *cached[i].answer.version ? cached[i].answer.version : "-", cached[i].answer.one_target);
	gt_cache_write(cache, "openblas", out.s, out.len);
}

int tn_openblas_ask(const struct tn_launch *c, const char *path, const char *coretype, struct pr_openblas_answer *ret,
		    struct gt_err *err)
{
	struct cached k = { 0 };
	const struct cached *known;
	bool named = key_of(c, path, &k.key);
	int r;

	snprintf(k.asked, sizeof(k.asked), "%s", coretype ? coretype : "-");
	if (!loaded)
		load(c);
	known = named ? find(k.key, k.asked) : NULL;
	if (known) {
		*ret = known->answer;
		return 0;
	}
	r = pr_openblas_query(c->fs, path, coretype, &k.answer, err);
	if (r < 0)
		return r;
	*ret = k.answer;
	if (named) {
		keep(&k);
		save(c);
	}
	return 0;
}
