/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads apt's sources in both formats, and the lists that apt downloaded from them.
 *
 * "apt-get indextargets" (apt 2.6) does not replace this reader:
 *   - It prints only targets whose lists are on disk. A host without sources and one without lists look the same, and
 *     NVIDIA's repository is missing before its first update.
 *   - For a .sources file it prints the number of the paragraph, and an address that differs from the one in the file. A
 *     remedy needs the line and its text.
 *   - After one malformed source or damaged list it prints nothing at all.
 *   - It opens files itself, so a directory (--root DIR) needs this reader anyway.
 *   - It takes 1.0 s where this reader takes 0.2 s, with all lists.
 * tests/peers/apt_targets.py compares the two.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/spawn.h"
#include "lib/text.h"
#include "tune/provision/deb.h"

#define SOURCES_LIST "/etc/apt/sources.list"
#define SOURCES_DIR  "/etc/apt/sources.list.d"
#define LISTS_DIR    "/var/lib/apt/lists"
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"
#define RELEASE_MAX  65536 /* the origin is at the head, before the checksums */

/* ---- sources ---------------------------------------------------------------------------------------------------------- */

/* Compares without case, as apt parses truth values. Words are separated by blanks. */
static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = words; *(p += strspn(p, " ")); p += strcspn(p, " "))
		if (strcspn(p, " ") == n && !strncasecmp(p, word, n))
			return true;
	return false;
}

static bool is_debian_component(const char *components)
{
	gt_autofree char *first = gt_xstrndup(components, strcspn(components, " "));

	return has_word("main contrib non-free non-free-firmware", first);
}

/* An archive of another vendor may end in /debian too, but it has other components. */
static enum tn_origin origin_of(const char *uri, const char *suite, const char *components)
{
	if (strstr(uri, "developer.download.nvidia.com/compute/cuda") || strstr(uri, "developer.download.nvidia.cn/compute/cuda"))
		return TN_NVIDIA;
	if (strstr(uri, "/var/cuda-repo-") || strstr(uri, "/var/nvidia-driver-local-repo-")) /* its local repositories */
		return TN_NVIDIA;
	if (!is_debian_component(components))
		return TN_OTHER;
	if (gt_ends_with(suite, "-backports") || gt_ends_with(suite, "-backports-sloppy"))
		return TN_BACKPORTS;
	if (strstr(uri, "/debian-security") || gt_ends_with(suite, "-security"))
		return TN_SECURITY;
	if (gt_ends_with(uri, "/debian") || gt_ends_with(uri, "/debian/") || strstr(uri, "/archive/debian/"))
		return TN_DEBIAN;
	return TN_OTHER;
}

/* text: a Release or InRelease file. Returns false if its origin is neither Debian nor NVIDIA; the address then
 * decides. */
bool tn_release_origin(const char *text, enum tn_origin *ret)
{
	const char *body = gt_starts_with(text, "-----BEGIN PGP") ? strstr(text, "\n\n") : text;
	gt_autofree char *origin = NULL, *label = NULL, *suite = NULL;

	if (!body)
		return false;
	body += strspn(body, "\n");
	origin = tn_deb_field(body, "Origin");
	label = tn_deb_field(body, "Label");
	suite = tn_deb_field(body, "Suite");
	if (gt_streq(origin, "NVIDIA") && (!label || strcasestr(label, "cuda") || strcasestr(label, "driver")))
		*ret = TN_NVIDIA;
	else if (gt_streq(origin, "Debian Backports"))
		*ret = TN_BACKPORTS;
	else if (!gt_streq(origin, "Debian"))
		return false;
	else if (suite && (gt_ends_with(suite, "-backports") || gt_ends_with(suite, "-backports-sloppy")))
		*ret = TN_BACKPORTS;
	else
		*ret = gt_streq(label, "Debian-Security") ? TN_SECURITY : TN_DEBIAN;
	return true;
}

/*
 * Reads the origin in the Release file of a list. This is needed for mirror lists and proxies, because their addresses
 * do not name the archive.
 */
static void ask_release(struct gt_fsroot *fs, const char *base, enum tn_origin *origin)
{
	static const char *const names[] = {"InRelease", "Release"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++) {
		gt_autofree char *path = gt_xasprintf(LISTS_DIR "/%s_%s", base, names[i]), *text = NULL;
		struct stat st;

		/* apt uses links for file: addresses */
		if (gt_fs_stat(fs, path, &st) < 0 || !S_ISREG(st.st_mode) ||
		    gt_fs_read_prefix(fs, path, RELEASE_MAX, &text, NULL) < 0)
			continue;
		tn_release_origin(text, origin);
		return;
	}
}

/* Returns the name of the source's files in LISTS_DIR, up to "_InRelease". The caller frees it. */
static char *list_base(const struct tn_source *s)
{
	const char *scheme = strchr(s->uri, ':'), *at = scheme ? scheme + 1 : s->uri, *user;
	bool flat = gt_ends_with(s->suite, "/");
	gt_autofree char *whole = NULL;
	gt_auto_buf b = {0};
	size_t n;

	at += gt_starts_with(at, "//") ? 2 : 0;
	user = memchr(at, '@', strcspn(at, "/"));
	at = user ? user + 1 : at;
	n = strlen(at);
	while (n && at[n - 1] == '/')
		n--;
	whole = gt_xasprintf("%.*s%s%s", (int)n, at, flat ? "/" : "/dists/", s->suite);
	n = strlen(whole);
	while (n && whole[n - 1] == '/')
		n--;
	for (size_t i = 0; i < n; i++) {
		if (strchr("\\|{}[]<>\"^~_=!@#$%&*", whole[i]) || !isgraph((unsigned char)whole[i]))
			gt_buf_printf(&b, "%%%02x", (unsigned char)whole[i]);
		else
			gt_buf_printf(&b, "%c", whole[i] == '/' ? '_' : whole[i]);
	}
	return gt_buf_take(&b);
}

/* Limits a paragraph of a few kilobytes: each of its addresses counts once per suite. */
#define SOURCES_MAX 4096

static void add_source(struct tn_sources *s, const char *file, unsigned line, const char *text, const char *uri,
		       const char *suite, const char *components)
{
	if (s->n >= SOURCES_MAX)
		return;
	if (!(s->n & (s->n - 1))) /* the allocation is full */
		s->source = gt_xrealloc(s->source, (s->n ? 2 * s->n : 1) * sizeof(*s->source));
	s->source[s->n++] = (struct tn_source){.file = gt_xstrdup(file), .line = line, .text = gt_xstrdup(text),
					       .uri = gt_xstrdup(uri), .suite = gt_xstrdup(suite),
					       .components = gt_xstrdup(components), .origin = origin_of(uri, suite, components)};
}

/* "deb [arch=amd64 signed-by=…] URI SUITE COMPONENT…" */
static void one_line(const char *file, unsigned number, char *line, struct tn_sources *ret)
{
	gt_autofree char *text = gt_xstrndup(line, strcspn(line, "#"));
	char *at = line, *word, *uri, *suite;
	gt_auto_buf rest = {0};

	line[strcspn(line, "#")] = '\0';
	word = gt_cut(&at, " \t");
	if (!word || strcmp(word, "deb"))
		return;
	at += strspn(at, " \t");
	if (*at == '[') {
		char *close = strchr(at, ']');

		if (!close)
			return;
		at = close + 1;
	}
	uri = gt_cut(&at, " \t");
	suite = gt_cut(&at, " \t");
	if (!uri || !suite)
		return;
	while ((word = gt_cut(&at, " \t")))
		gt_buf_printf(&rest, "%s%s", rest.len ? " " : "", word);
	add_source(ret, file, number, gt_strip(text), uri, suite, rest.s ? rest.s : "");
}

struct deb822 {
	const char *file;
	struct tn_sources *ret;
	const char *text; /* the whole file, for line numbers */
	const char *base; /* start of the copy that is split into paragraphs */
};

static unsigned line_of(const struct deb822 *d, const char *paragraph, const char *key)
{
	const char *start = d->text + (paragraph - d->base), *end = strstr(start, "\n\n"), *at = start;
	unsigned n = 1;

	for (const char *p = start; p && (!end || p < end); p = gt_next_line(p))
		if (!strncasecmp(p, key, strlen(key)))
			at = p;
	for (const char *p = d->text; p < at; p++)
		n += *p == '\n';
	return n;
}

static int take_deb822(void *arg, char *p)
{
	struct deb822 *d = arg;
	gt_autofree char *types = tn_deb_field(p, "Types"), *uris = tn_deb_field(p, "URIs"), *suites = tn_deb_field(p, "Suites"),
			 *components = tn_deb_field(p, "Components"), *enabled = tn_deb_field(p, "Enabled"),
			 *text = gt_xasprintf("Components: %s", components ? components : "");
	unsigned line = line_of(d, p, components ? "Components:" : "URIs:");

	if (!types || !has_word(types, "deb") || !uris || !suites ||
	    (enabled && has_word("no false without off disable 0", enabled))) /* any other value enables the source */
		return 0;
	gt_each_word(uri, uris, " ")
		gt_each_word(suite, suites, " ")
			if (d->ret->n < SOURCES_MAX)
				add_source(d->ret, d->file, line, text, uri, suite, components ? components : "");
	return 0;
}

void tn_sources_parse(const char *file, bool deb822, char *text, struct tn_sources *ret)
{
	char *save = NULL;
	unsigned n = 0;

	if (deb822) {
		gt_autofree char *copy = gt_xstrdup(text);
		struct deb822 d = {.file = file, .ret = ret, .text = copy, .base = text};

		tn_deb_paragraphs_text(text, take_deb822, &d);
		return;
	}
	for (char *line = text; line; line = save) {
		save = strchr(line, '\n');
		if (save)
			*save++ = '\0';
		one_line(file, ++n, line, ret);
	}
}

static void load_file(struct gt_fsroot *fs, const char *path, struct tn_sources *ret)
{
	gt_autofree char *text = NULL;

	if (gt_fs_read(fs, path, &text, NULL) >= 0)
		tn_sources_parse(path, gt_ends_with(path, ".sources"), text, ret);
}

/* apt ignores hidden files and names with other characters, such as backups of editors. */
static bool is_sources_file(const char *name)
{
	return *name != '.' && !name[strspn(name, NAME_CHARACTERS)] &&
	       (gt_ends_with(name, ".list") || gt_ends_with(name, ".sources"));
}

void tn_sources_load(struct gt_fsroot *fs, struct tn_sources *ret)
{
	gt_auto_strv names = {0};

	*ret = (struct tn_sources){0};
	load_file(fs, SOURCES_LIST, ret);
	gt_fs_list(fs, SOURCES_DIR, &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf(SOURCES_DIR "/%s", names.v[i]);

		if (is_sources_file(names.v[i]))
			load_file(fs, path, ret);
	}
	for (size_t i = 0; i < ret->n; i++) {
		gt_autofree char *base = list_base(&ret->source[i]);

		ask_release(fs, base, &ret->source[i].origin);
	}
}

void tn_sources_clear(struct tn_sources *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->source[i].file);
		free(s->source[i].text);
		free(s->source[i].uri);
		free(s->source[i].suite);
		free(s->source[i].components);
	}
	free(s->source);
	*s = (struct tn_sources){0};
}

bool tn_source_has(const struct tn_source *s, const char *component)
{
	return has_word(s->components, component);
}

/* ---- offers ----------------------------------------------------------------------------------------------------------- */

struct offers {
	struct tn_offers *ret;
	const struct gt_strv *names;
	const char *arch;
	char *suite, *component;
	enum tn_origin origin;
};

static int take_offer(void *arg, char *p)
{
	struct offers *o = arg;
	gt_autofree char *name = NULL, *version = NULL, *arch = NULL, *size = NULL, *installed = NULL;
	uint64_t bytes = 0, kib = 0;

	if (strncmp(p, "Package: ", 9)) {
		name = tn_deb_field(p, "Package");
	} else {
		name = gt_xstrndup(p + 9, strcspn(p + 9, "\n")); /* the usual order in Debian's lists, which needs no search */
	}
	if (!name || !gt_strv_has(o->names, name) || !tn_deb_is_name(name))
		return 0;
	version = tn_deb_field(p, "Version");
	arch = tn_deb_field(p, "Architecture");
	size = tn_deb_field(p, "Size");
	installed = tn_deb_field(p, "Installed-Size");
	if (!version || !tn_deb_is_version(version) || !arch || (strcmp(arch, "all") && *o->arch && strcmp(arch, o->arch)))
		return 0;
	if ((size && gt_parse_u64(size, &bytes)) || (installed && gt_parse_u64(installed, &kib)) || kib > UINT64_MAX / 1024)
		return 0;
	o->ret->offer = gt_xrealloc(o->ret->offer, (o->ret->n + 1) * sizeof(*o->ret->offer));
	o->ret->offer[o->ret->n++] = (struct tn_offer){.name = gt_take(name), .version = gt_take(version), .arch = gt_take(arch),
						       .suite = gt_xstrdup(o->suite), .component = gt_xstrdup(o->component),
						       .origin = o->origin, .download_bytes = bytes, .installed_bytes = kib * 1024};
	return 0;
}

static void name_origin(struct gt_fsroot *fs, struct offers *o, char *uri, const char *base)
{
	for (char *c = uri; *c; c++)
		*c = *c == '_' ? '/' : *c;
	o->origin = origin_of(uri, o->suite, o->component);
	ask_release(fs, base, &o->origin);
}

/* Parses "mirror.example_debian_dists_bookworm_main_binary-amd64_Packages". Returns false for a list of another
 * architecture. */
static bool name_parts(struct gt_fsroot *fs, struct offers *o, const char *file)
{
	gt_autofree char *uri = gt_xstrdup(file), *base = NULL;
	char *dists = strstr(uri, "_dists_"), *binary = strstr(uri, "_binary-"), *last;

	o->suite = o->component = NULL;
	if (!dists || !binary || binary < dists) {
		char *packages = strstr(uri, "_Packages");

		base = gt_xstrndup(uri, packages ? (size_t)(packages - uri) : strlen(uri));
		o->suite = gt_xstrdup("");
		o->component = gt_xstrdup("");
		name_origin(fs, o, uri, base);
		return true;
	}
	if (*o->arch && (strncmp(binary + 8, o->arch, strlen(o->arch)) || binary[8 + strlen(o->arch)] != '_'))
		return false;
	*dists = *binary = '\0';
	last = strrchr(dists + 7, '_');
	o->component = gt_xstrdup(last ? last + 1 : "");
	if (last)
		*last = '\0';
	o->suite = gt_xstrdup(dists + 7);
	base = gt_xasprintf("%s_dists_%s", uri, o->suite);
	name_origin(fs, o, uri, base);
	return true;
}

/* Reads a list that apt stores compressed, with apt's own tool. */
static int read_compressed(struct gt_fsroot *fs, const char *path, struct offers *o)
{
	char *argv[] = {"/usr/lib/apt/apt-helper", "cat-file", (char *)path, NULL};
	char *envp[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", NULL};
	struct gt_spawn s = {.argv = argv, .envp = envp, .timeout_s = 60, .max_output = 256u << 20};
	int r;

	if (!gt_fs_is_live(fs))
		return -EOPNOTSUPP;
	r = gt_spawn(&s, NULL);
	if (!r && (s.status || s.truncated || s.out_len != strlen(s.out)))
		r = -EBADMSG;
	if (!r)
		r = tn_deb_paragraphs_text(s.out, take_offer, o);
	gt_spawn_clear(&s);
	return r;
}

static void read_list(struct gt_fsroot *fs, const char *name, struct offers *o)
{
	gt_autofree char *path = gt_xasprintf(LISTS_DIR "/%s", name);
	bool plain = gt_ends_with(name, "_Packages");
	struct stat st;
	int r;

	if (!plain && !strstr(name, "_Packages."))
		return;
	if (!name_parts(fs, o, name))
		goto out;
	r = plain ? tn_deb_paragraphs(fs, path, take_offer, o) : read_compressed(fs, path, o);
	if (r < 0 && !o->ret->unreadable)
		o->ret->unreadable = gt_xasprintf("%s: %s", path, strerror(-r));
	if (r >= 0)
		o->ret->lists++;
	if (gt_fs_stat(fs, path, &st) >= 0)
		o->ret->newest = GT_MAX(o->ret->newest, (int64_t)st.st_mtime);
out:
	free(o->suite);
	free(o->component);
}

void tn_offers_load(struct gt_fsroot *fs, const char *arch, const struct gt_strv *names, struct tn_offers *ret)
{
	struct offers o = {.ret = ret, .names = names, .arch = arch};
	gt_auto_strv files = {0};

	*ret = (struct tn_offers){0};
	if (gt_fs_list(fs, LISTS_DIR, &files) < 0)
		return;
	for (size_t i = 0; i < files.n; i++)
		read_list(fs, files.v[i], &o);
}

void tn_offers_clear(struct tn_offers *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->offer[i].name);
		free(o->offer[i].version);
		free(o->offer[i].arch);
		free(o->offer[i].suite);
		free(o->offer[i].component);
	}
	free(o->offer);
	free(o->unreadable);
	*o = (struct tn_offers){0};
}

/* Backports are never chosen by default, because apt gives them priority 100. */
const struct tn_offer *tn_offer_best(const struct tn_offers *o, const char *name, enum tn_origin at_most)
{
	const struct tn_offer *best = NULL;

	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->offer[i].name, name) && o->offer[i].origin != TN_BACKPORTS && o->offer[i].origin <= at_most &&
		    (!best || pr_deb_version_cmp(o->offer[i].version, best->version) > 0))
			best = &o->offer[i];
	return best;
}

const struct tn_offer *tn_offer_exact(const struct tn_offers *o, const char *name, const char *version)
{
	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->offer[i].name, name) && !strcmp(o->offer[i].version, version))
			return &o->offer[i];
	return NULL;
}
