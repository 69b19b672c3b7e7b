/* SPDX-License-Identifier: Apache-2.0 */
/* Caches ELF files and ld.so.cache, so that each is read once. */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/loader/ldcache.h"
#include "probe/loader/loader_priv.h"

struct known {
	char *path; /* path with all links resolved */
	struct pr_elf elf;
	int error;
	struct gt_err why;
};

struct cached {
	char *soname, *path;
	bool used;
};

struct pr_elf_cache {
	struct gt_fsroot *fs;
	struct known **file;
	size_t n_file;
	struct cached *cache;
	size_t n_cache;
};

static void take_cached(void *arg, const char *soname, const char *path)
{
	struct pr_elf_cache *e = arg;

	if ((e->n_cache & (e->n_cache - 1)) == 0)
		e->cache = gt_xrealloc(e->cache, GT_MAX(64, e->n_cache * 2) * sizeof(*e->cache));
	e->cache[e->n_cache++] = (struct cached){gt_xstrdup(soname), gt_xstrdup(path), false};
}

static void read_cache_fact(struct pr_elf_cache *e, char *text)
{
	gt_each_line(line, text) {
		char *path = strchr(line, ' ');

		if (path) {
			*path++ = '\0';
			take_cached(e, line, path);
		}
	}
}

struct pr_elf_cache *pr_elf_cache_new(struct gt_fsroot *fs)
{
	struct pr_elf_cache *e = gt_xcalloc(1, sizeof(*e));
	gt_autofree char *text = NULL;
	size_t len;

	e->fs = fs;
	if (gt_fs_fact(fs, "ldcache", &text, NULL) >= 0)
		read_cache_fact(e, text);
	else if (gt_fs_read(fs, PR_LDCACHE, &text, &len) >= 0)
		pr_ldcache_parse(text, len, take_cached, e);
	return e;
}

void pr_elf_cache_free(struct pr_elf_cache *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->n_file; i++) {
		pr_elf_clear(&e->file[i]->elf);
		free(e->file[i]->path);
		free(e->file[i]);
	}
	for (size_t i = 0; i < e->n_cache; i++) {
		free(e->cache[i].soname);
		free(e->cache[i].path);
	}
	free(e->file);
	free(e->cache);
	free(e);
}

char *pr_elf_fact_name(const char *path)
{
	return gt_xasprintf("elf/%016lx", gt_hash64(path, strlen(path), 0));
}

static int read_fact(struct pr_elf_cache *e, const char *path, struct pr_elf *ret, struct gt_err *err)
{
	gt_autofree char *name = pr_elf_fact_name(path), *text = NULL;
	int r = gt_fs_fact(e->fs, name, &text, NULL);
	char *body;

	if (r < 0)
		return r;
	body = strchr(text, '\n'); /* the first line is the path, for human readers */
	r = body ? pr_elf_parse_text(body + 1, ret) : -EINVAL;
	return r < 0 ? gt_fail(err, EINVAL, "the fact %s of %s is malformed", name, path) : 0;
}

static void read_file(struct pr_elf_cache *e, struct known *k)
{
	gt_autoclose int fd = -1;

	k->error = read_fact(e, k->path, &k->elf, &k->why);
	if (k->error != -ENOENT)
		return;
	fd = gt_fs_open_part(e->fs, k->path);
	k->error = fd < 0 ? gt_fail(&k->why, -fd, "cannot open %s: %s", k->path, strerror(-fd))
			  : pr_elf_read_fd(fd, k->path, &k->elf, &k->why);
}

int pr_elf_cache_get(struct pr_elf_cache *e, const char *path, const struct pr_elf **ret, struct gt_err *err)
{
	gt_autofree char *real = NULL;
	struct known *k = NULL;
	int r = gt_fs_realpath(e->fs, path, &real);

	if (r < 0)
		return gt_fail(err, -r, "cannot open %s: %s", path, strerror(-r));
	for (size_t i = 0; i < e->n_file && !k; i++)
		if (!strcmp(e->file[i]->path, real))
			k = e->file[i];
	if (!k) {
		k = gt_xcalloc(1, sizeof(*k));
		k->path = gt_take(real);
		e->file = gt_xrealloc(e->file, (e->n_file + 1) * sizeof(*e->file));
		e->file[e->n_file++] = k;
		read_file(e, k);
	}
	if (k->error)
		return gt_fail(err, -k->error, "%s", k->why.msg);
	*ret = &k->elf;
	return 0;
}

bool pr_elf_cache_fact(const struct pr_elf_cache *e, size_t i, char **ret_name, char **ret_text)
{
	gt_autofree char *text = NULL;

	if (i >= e->n_file)
		return false;
	*ret_name = *ret_text = NULL;
	if (e->file[i]->error)
		return true;
	text = pr_elf_text(&e->file[i]->elf);
	*ret_name = pr_elf_fact_name(e->file[i]->path);
	*ret_text = gt_xasprintf("%s\n%s", e->file[i]->path, text);
	return true;
}

char *pr_elf_cache_cached(const struct pr_elf_cache *e)
{
	struct gt_buf b = {0};

	for (size_t i = 0; i < e->n_cache; i++)
		if (e->cache[i].used)
			gt_buf_printf(&b, "%s %s\n", e->cache[i].soname, e->cache[i].path);
	return b.len ? gt_buf_take(&b) : NULL;
}

const char *pr_elf_cache_next_cached(struct pr_elf_cache *e, const char *name, size_t *at)
{
	for (; *at < e->n_cache; ++*at)
		if (!strcmp(e->cache[*at].soname, name)) {
			e->cache[*at].used = true;
			return e->cache[(*at)++].path;
		}
	return NULL;
}
