/* SPDX-License-Identifier: Apache-2.0 */
/* Loads objects breadth-first, each file once. */
#include <errno.h>
#include <string.h>
#include "lib/text.h"
#include "probe/loader/loader_priv.h"

#define MOST_OBJECTS 4096 /* more objects than any process has; ends loops of forged names */

static struct pr_object *append(struct pr_loader *l, const char *name, int by, bool opened)
{
	if ((l->n & (l->n - 1)) == 0)
		l->obj = gt_xrealloc(l->obj, GT_MAX(16, l->n * 2) * sizeof(*l->obj));
	l->obj[l->n] = (struct pr_object){
		.name = gt_xstrdup(name), .by = by, .opened = opened, .hit = {.rule = PR_NOT_FOUND, .owner = -1}};
	return &l->obj[l->n++];
}

static bool is_called(const struct pr_object *o, const char *name)
{
	if (!strcmp(o->name, name) || gt_strv_has(&o->aliases, name))
		return true;
	return o->elf && ((o->elf->soname && !strcmp(o->elf->soname, name)) || !strcmp(o->hit.path, name));
}

static int find_object(const struct pr_loader *l, const char *name, bool loaded)
{
	for (size_t i = 0; i < l->n; i++)
		if ((l->obj[i].elf != NULL) == loaded && is_called(&l->obj[i], name))
			return (int)i;
	return -1;
}

int pr_loader_find(const struct pr_loader *l, const char *name)
{
	return find_object(l, name, true);
}

static int find_file(const struct pr_loader *l, const char *real)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->obj[i].hit.real && !strcmp(l->obj[i].hit.real, real))
			return (int)i;
	return -1;
}

static void take_hits(struct pr_object *o, struct pr_hit *hits, size_t n)
{
	o->hit = hits[0];
	o->n_hidden = n - 1;
	if (n > 1) {
		o->hidden = gt_xcalloc(n - 1, sizeof(*hits));
		memcpy(o->hidden, hits + 1, (n - 1) * sizeof(*hits));
	}
	free(hits);
}

/* Adds one name. Returns the index of its object, even if it is not found. */
static int add(struct pr_loader *l, const char *name, int by, bool opened, bool preload)
{
	const struct pr_elf *elf;
	struct pr_object *o;
	struct pr_hit *hits;
	int at = pr_loader_find(l, name);
	size_t n = 0;

	if (at >= 0 || l->n >= MOST_OBJECTS)
		return at;
	hits = pr_search(l, name, by, pr_is_watched(name), &n);
	at = n ? find_file(l, hits[0].real) : -1;
	if (at >= 0) { /* the file is loaded already, under another name */
		gt_strv_add(&l->obj[at].aliases, name);
		for (size_t i = 0; i < n; i++)
			pr_hit_clear(&hits[i]);
		free(hits);
		return at;
	}
	at = n ? -1 : find_object(l, name, false);
	if (at >= 0) /* already missing for another object; the caller searches anyway, because another RPATH may find it */
		return at;
	o = append(l, name, by, opened);
	if (!n)
		return (int)l->n - 1;
	if (!hits[0].broken && !pr_elf_cache_get(l->elf_cache, hits[0].path, &elf, NULL))
		o->elf = elf;
	take_hits(o, hits, n);
	if (preload)
		o->hit.rule = PR_BY_PRELOAD;
	return (int)l->n - 1;
}

/* Adds all dependencies of the objects from `first` on. */
static void add_needs(struct pr_loader *l, size_t first)
{
	for (size_t i = first; i < l->n; i++) {
		const struct pr_elf *elf = l->obj[i].elf;

		for (size_t k = 0; elf && k < elf->needed.n; k++)
			add(l, elf->needed.v[k], (int)i, false, false);
	}
}

static void split(const char *list, const char *at, struct gt_strv *to)
{
	gt_each_word(w, list, at)
		gt_strv_add(to, w);
}

static void add_preloads(struct pr_loader *l, const char *environment)
{
	gt_autofree char *file = NULL;
	gt_auto_strv names = {0};

	if (!l->secure)
		split(environment, " :", &names);
	if (gt_fs_read_prefix(l->fs, "/etc/ld.so.preload", 65536, &file, NULL) >= 0)
		split(file, " :\t\n", &names);
	for (size_t i = 0; i < names.n; i++) {
		int at = add(l, names.v[i], 0, false, true);

		if (at >= 0 && !l->obj[at].elf && (size_t)at == l->n - 1) { /* the loader only prints a warning */
			free(l->obj[at].name);
			l->n--;
			gt_strv_add(&l->preload_missing, names.v[i]);
		}
	}
}

/* Set-user-ID and set-group-ID programs ignore the environment. */
static bool is_secure(struct gt_fsroot *fs, const char *path)
{
	struct stat st;

	return gt_fs_stat(fs, path, &st) >= 0 && st.st_mode & (S_ISUID | S_ISGID);
}

static int check_program(const struct pr_elf *elf, const char *path, struct gt_err *err)
{
	if (!elf->dynamic)
		return gt_fail(err, ENOEXEC, "%s is statically linked, so it loads no libraries", path);
	if (elf->interp && strstr(elf->interp, "musl"))
		return gt_fail(err, ENOTSUP, "%s is linked for musl (%s), whose loader works differently from glibc's",
			       path, elf->interp);
	return 0;
}

int pr_load(struct gt_fsroot *fs, struct pr_elf_cache *elf_cache, const char *path, const struct pr_load_opts *opts,
	    struct pr_loader **ret, struct gt_err *err)
{
	gt_auto(pr_loader) *l = gt_xcalloc(1, sizeof(*l));
	const struct pr_elf *elf;
	char *real = NULL;
	int r = pr_elf_cache_get(elf_cache, path, &elf, err);

	if (!r)
		r = check_program(elf, path, err);
	if (!r)
		r = gt_fs_realpath(fs, path, &real);
	if (r < 0)
		return r;
	l->fs = fs;
	l->elf_cache = elf_cache;
	l->secure = is_secure(fs, path);
	if (!l->secure)
		split(opts->library_path, ":;", &l->library_path);
	append(l, path, -1, false);
	l->obj[0].elf = elf;
	l->obj[0].hit = (struct pr_hit){.rule = PR_BY_PATH, .path = gt_xstrdup(path), .real = real, .owner = -1};
	pr_search_prepare(l, elf->bits == 64 && elf->machine == 62 ? opts->cpu_flags : NULL);
	add_preloads(l, opts->preload);
	add_needs(l, 0);
	*ret = gt_take(l);
	return 0;
}

char *pr_load_find(struct gt_fsroot *fs, struct pr_elf_cache *elf_cache, const char *soname, const struct pr_load_opts *opts)
{
	struct pr_loader l = {.fs = fs, .elf_cache = elf_cache};
	struct pr_hit *hit;
	char *real = NULL;
	size_t n;

	split(opts->library_path, ":;", &l.library_path);
	pr_search_prepare(&l, opts->cpu_flags);
	hit = pr_search(&l, soname, -1, false, &n);
	for (size_t i = 0; i < n; i++) {
		if (!i)
			real = gt_xstrdup(hit[i].real);
		pr_hit_clear(&hit[i]);
	}
	free(hit);
	gt_strv_clear(&l.library_path);
	gt_strv_clear(&l.hwcaps);
	gt_strv_clear(&l.system_dirs);
	return real;
}

int pr_load_more(struct pr_loader *l, const char *name, int by)
{
	size_t before = l->n;
	int at = add(l, name, by, true, false);

	if (at >= 0 && (size_t)at >= before)
		add_needs(l, before);
	return at >= 0 && l->obj[at].elf ? at : -ENOENT;
}

void pr_loader_free(struct pr_loader *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++) {
		struct pr_object *o = &l->obj[i];

		free(o->name);
		pr_hit_clear(&o->hit);
		for (size_t k = 0; k < o->n_hidden; k++)
			pr_hit_clear(&o->hidden[k]);
		free(o->hidden);
		gt_strv_clear(&o->aliases);
	}
	free(l->obj);
	gt_strv_clear(&l->preload_missing);
	gt_strv_clear(&l->library_path);
	gt_strv_clear(&l->hwcaps);
	gt_strv_clear(&l->system_dirs);
	free(l);
}
