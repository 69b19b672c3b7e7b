/* SPDX-License-Identifier: Apache-2.0 */
/* Searches in the loader's order. */
#include <errno.h>
#include <string.h>
#include "lib/text.h"
#include "probe/loader/loader_priv.h"

const char *pr_rule_name(enum pr_rule r)
{
	static const char *const name[] = {[PR_BY_PATH] = "path",       [PR_BY_PRELOAD] = "LD_PRELOAD",
					   [PR_BY_RPATH] = "RPATH",     [PR_BY_LIBRARY_PATH] = "LD_LIBRARY_PATH",
					   [PR_BY_RUNPATH] = "RUNPATH", [PR_BY_CACHE] = "ld.so.cache",
					   [PR_BY_DEFAULT] = "default", [PR_NOT_FOUND] = "not found"};

	return name[r];
}

/* Fills hwcaps with the levels of the x86-64 psABI that have glibc-hwcaps directories, highest first. */
static void find_levels(struct pr_loader *l, const char *flags)
{
	static const struct {
		const char *name, *needs;
	} levels[] = {
		{"x86-64-v2", "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"},
		{"x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"},
		{"x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"},
	};
	struct gt_strv up = {0};

	for (size_t i = 0; flags && i < GT_ARRAY_SIZE(levels); i++) {
		bool all = true;

		gt_each_word(w, levels[i].needs, " ") {
			gt_autofree char *word = gt_xasprintf(" %s ", w);

			all &= strstr(flags, word) != NULL;
		}
		if (!all)
			break;
		gt_strv_add(&up, levels[i].name);
	}
	for (size_t i = up.n; i-- > 0;)
		gt_strv_add(&l->hwcaps, up.v[i]);
	gt_strv_clear(&up);
}

/* Debian's loader is built for its multiarch directories, others for lib64. */
static void find_system_dirs(struct pr_loader *l)
{
	static const char *const triple[] = {"x86_64-linux-gnu", "aarch64-linux-gnu", "powerpc64le-linux-gnu"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(triple); i++) {
		gt_autofree char *lib = gt_xasprintf("/lib/%s", triple[i]),
				 *usr = gt_xasprintf("/usr/lib/%s", triple[i]);

		if (l->system_dirs.n || (!gt_fs_exists(l->fs, lib) && !gt_fs_exists(l->fs, usr)))
			continue;
		gt_strv_take(&l->system_dirs, gt_take(lib));
		gt_strv_take(&l->system_dirs, gt_take(usr));
		gt_strv_add(&l->system_dirs, "/lib");
		gt_strv_add(&l->system_dirs, "/usr/lib");
	}
	if (!l->system_dirs.n) {
		gt_strv_add(&l->system_dirs, "/lib64");
		gt_strv_add(&l->system_dirs, "/usr/lib64");
	}
}

void pr_search_prepare(struct pr_loader *l, const char *cpu_flags)
{
	find_levels(l, cpu_flags);
	find_system_dirs(l);
}

/* ---- $ORIGIN and other tokens ---------------------------------------------------------------------------------- */

static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !slash || slash == path ? gt_xstrdup("/") : gt_xstrndup(path, (size_t)(slash - path));
}

/* Returns the length of "ORIGIN" or "{ORIGIN}" at s, 0 if it is not there. */
static size_t token(const char *s, const char *name)
{
	size_t brace = *s == '{', n = strlen(name);

	if (strncmp(s + brace, name, n) || (brace && s[1 + n] != '}'))
		return 0;
	return n + 2 * brace;
}

char *pr_expand(const struct pr_loader *l, const char *text, int owner)
{
	const char *lib = gt_starts_with(l->system_dirs.v[0], "/lib/") ? l->system_dirs.v[0] + 1 : "lib64";
	gt_autofree char *out = gt_xstrdup("");

	for (const char *p = text; *p;) {
		size_t plain = strcspn(p, "$"), n;
		char *more;

		if (p[plain] && !plain) {
			/* for the program the loader asks the kernel for the resolved path; for libraries it uses the
			 * path that it opened */
			gt_autofree char *origin =
				owner >= 0 ? dir_of(owner ? l->obj[owner].hit.path : l->obj[0].hit.real) : NULL;
			const char *value = NULL;

			if (origin && (n = token(p + 1, "ORIGIN")))
				value = origin;
			else if ((n = token(p + 1, "LIB")))
				value = lib;
			else if (l->n && (n = token(p + 1, "PLATFORM")))
				value = l->obj[0].elf->machine == 62 ? "x86_64" : "aarch64";
			else
				return NULL;
			more = gt_xasprintf("%s%s", out, value);
			p += 1 + n;
		} else {
			more = gt_xasprintf("%s%.*s", out, (int)plain, p);
			p += plain;
		}
		free(out);
		out = more;
	}
	return gt_take(out);
}

/* ---- search ---------------------------------------------------------------------------------------------------- */

struct search {
	struct pr_loader *l;
	const char *name;
	struct pr_hit *hit;
	size_t n;
	bool ended; /* stop: the file is malformed, or the first match suffices */
	bool all;
};

void pr_hit_clear(struct pr_hit *h)
{
	free(h->path);
	free(h->real);
	free(h->from);
	free(h->broken);
}

/*
 * Tries one file. The loader silently skips files that cannot be opened or are for another machine. A file that is not
 * a valid ELF file ends the search and the program.
 */
static void try_file(struct search *s, const char *path, enum pr_rule rule, const char *from, int owner)
{
	gt_autofree char *real = NULL;
	const struct pr_elf *elf;
	struct gt_err err = {0};
	bool broken;
	int r;

	if (s->ended || gt_fs_realpath(s->l->fs, path, &real) < 0)
		return;
	r = pr_elf_cache_get(s->l->elf_cache, path, &elf, &err);
	broken = (r == -ENOEXEC || r == -EINVAL) && !s->n;
	if (!broken && (r < 0 || (s->l->n && s->l->obj[0].elf && !pr_elf_fits(s->l->obj[0].elf, elf))))
		return;
	s->ended = broken || !s->all;
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->hit[i].real, real))
			return;
	s->hit = gt_xrealloc(s->hit, (s->n + 1) * sizeof(*s->hit));
	s->hit[s->n++] = (struct pr_hit){.rule = rule,
					 .path = gt_xstrdup(path),
					 .real = gt_take(real),
					 .from = from ? gt_xstrdup(from) : NULL,
					 .owner = owner,
					 .broken = broken ? gt_xstrdup(err.msg) : NULL};
}

static void try_dir(struct search *s, const char *dir, enum pr_rule rule, const char *from, int owner)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	for (size_t i = 0; i < s->l->hwcaps.n; i++) {
		gt_autofree char *path =
			gt_xasprintf("%.*s/glibc-hwcaps/%s/%s", (int)len, dir, s->l->hwcaps.v[i], s->name);

		try_file(s, path, rule, from, owner);
	}
	gt_autofree char *path = gt_xasprintf("%.*s/%s", (int)len == 1 && *dir == '/' ? 0 : (int)len, dir, s->name);

	try_file(s, path, rule, from, owner);
}

/* Tries the directories of a colon-separated list (RPATH, RUNPATH). Skips an empty element, which means the unknown
 * working directory. */
static void try_list(struct search *s, const char *list, enum pr_rule rule, int owner)
{
	gt_each_word(dir, list, ":") {
		gt_autofree char *real = pr_expand(s->l, dir, owner);

		if (real && *real == '/')
			try_dir(s, real, rule, dir, owner);
	}
}

static void try_rpaths(struct search *s, int by)
{
	struct pr_loader *l = s->l;
	bool program = false;

	if (by >= 0 && l->obj[by].elf && l->obj[by].elf->runpath)
		return;
	for (int i = by; i >= 0; i = l->obj[i].by) {
		if (l->obj[i].elf)
			try_list(s, l->obj[i].elf->rpath, PR_BY_RPATH, i);
		program |= i == 0;
	}
	if (!program && l->n)
		try_list(s, l->obj[0].elf->rpath, PR_BY_RPATH, 0);
}

/* Returns the rank of a path below glibc-hwcaps/: 0 is the best, hwcaps.n for other paths, -1 for another processor's level. */
static int level_of(const struct pr_loader *l, const char *path)
{
	const char *at = strstr(path, "/glibc-hwcaps/");

	if (!at)
		return (int)l->hwcaps.n;
	at += strlen("/glibc-hwcaps/");
	for (size_t i = 0; i < l->hwcaps.n; i++)
		if (gt_starts_with(at, l->hwcaps.v[i]) && at[strlen(l->hwcaps.v[i])] == '/')
			return (int)i;
	return -1;
}

static void try_cache(struct search *s)
{
	for (int level = 0; level <= (int)s->l->hwcaps.n; level++) {
		const char *path;
		size_t at = 0;

		while ((path = pr_elf_cache_next_cached(s->l->elf_cache, s->name, &at)))
			if (*path == '/' && level_of(s->l, path) == level)
				try_file(s, path, PR_BY_CACHE, NULL, -1);
	}
}

struct pr_hit *pr_search(struct pr_loader *l, const char *name, int by, bool all, size_t *ret_n)
{
	struct search s = {.l = l, .name = name, .all = all};
	const struct pr_elf *asks = by >= 0 ? l->obj[by].elf : NULL;

	if (strchr(name, '/')) {
		gt_autofree char *path = pr_expand(l, name, by);

		if (path && *path == '/')
			try_file(&s, path, PR_BY_PATH, NULL, -1);
		*ret_n = s.n;
		return s.hit;
	}
	try_rpaths(&s, by);
	for (size_t i = 0; i < l->library_path.n; i++) {
		gt_autofree char *dir = pr_expand(l, l->library_path.v[i], l->n ? 0 : -1);

		if (dir && *dir == '/')
			try_dir(&s, dir, PR_BY_LIBRARY_PATH, l->library_path.v[i], -1);
	}
	if (asks)
		try_list(&s, asks->runpath, PR_BY_RUNPATH, by);
	if (!asks || !asks->nodeflib) {
		try_cache(&s);
		for (size_t i = 0; i < l->system_dirs.n; i++)
			try_dir(&s, l->system_dirs.v[i], PR_BY_DEFAULT, l->system_dirs.v[i], -1);
	}
	*ret_n = s.n;
	return s.hit;
}
