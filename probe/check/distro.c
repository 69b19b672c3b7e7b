/* SPDX-License-Identifier: Apache-2.0 */
/* Renders the actions of remedies for the host's distribution, from probe/compat/remedies.tsv. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/check/distro.h"

/* ---- families ------------------------------------------------------------------------------------------------------ */

/* The distributions whose commands the table knows. A derivative with another ID gets the rows of a family
 * without those of its releases, because it counts releases differently. */
static const struct distribution {
	const char *id, *family;
	int oldest; /* first release with these commands */
} distributions[] = {
	{"debian", "debian", 0},	  {"ubuntu", "ubuntu", 0},	    {"rhel", "rhel", 8},
	{"rocky", "rhel", 8},		  {"almalinux", "rhel", 8},	    {"centos", "rhel", 8},
	{"ol", "rhel", 8},		  {"fedora", "fedora", 0},	    {"sles", "suse", 15},
	{"sled", "suse", 15},		  {"opensuse-leap", "suse", 15},    {"opensuse-tumbleweed", "suse", 0},
	{"opensuse", "suse", 15},	  {"suse", "suse", 15},		    {"amzn", "amzn", 2023},
};

/* Image-based systems: package commands fail on them, or the next image discards the changes. */
static const char *const images[] = {"rhcos", "scos", "opensuse-microos", "sl-micro", "sle-micro", "suse-microos", "opensuse-aeon",
				     "opensuse-kalpa"};
static const char *const image_variants[] = {"coreos", "silverblue", "kinoite", "iot", "sericea", "onyx", "sway-atomic",
					     "budgie-atomic", "cosmic-atomic"};

static bool is_in(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (gt_streq(word, list[i]))
			return true;
	return false;
}

static const struct distribution *find_distribution(const char *id)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(distributions); i++)
		if (gt_streq(id, distributions[i].id))
			return &distributions[i];
	return NULL;
}

/* Returns whether a system of `family` may list `ancestor` in its ID_LIKE. */
static bool descends(const char *family, const char *ancestor)
{
	static const char *const ancestors[][2] = {{"ubuntu", "debian"}, {"rhel", "fedora"}, {"amzn", "fedora"}, {"amzn", "rhel"}};

	if (!strcmp(family, ancestor))
		return true;
	for (size_t i = 0; i < GT_ARRAY_SIZE(ancestors); i++)
		if (!strcmp(family, ancestors[i][0]) && !strcmp(ancestor, ancestors[i][1]))
			return true;
	return false;
}

/* Returns the distribution of ID, else the first of ID_LIKE. NULL: there is none, or the words contradict each other. */
static const struct distribution *find_by_words(const struct pr_host *h)
{
	const struct distribution *d = find_distribution(h->distro.id.v);

	gt_each_word(word, h->distro.id_like.v, " \t") {
		const struct distribution *ancestor = find_distribution(word);

		if (ancestor && !d)
			d = ancestor;
		else if (ancestor && !descends(d->family, ancestor->family))
			return NULL;
	}
	return d;
}

const char *pr_family(const struct pr_host *h)
{
	const struct distribution *d = find_by_words(h);

	if (!d || h->distro.image_based || is_in(images, GT_ARRAY_SIZE(images), h->distro.id.v) ||
	    is_in(image_variants, GT_ARRAY_SIZE(image_variants), h->distro.variant.v))
		return NULL;
	return h->distro.version_id.v && atoi(h->distro.version_id.v) < d->oldest ? NULL : d->family;
}

bool pr_is_debian(const struct pr_host *h)
{
	return gt_streq(h->distro.id.v, "debian") && pr_family(h);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

static const struct pr_remedy_row {
	const char *action, *families, *lines;
} rows[] = {
#include "probe/compat/remedies_rows.h"
};

/* Adds a key for the table if all its parts are known. Takes ownership of key. */
static void add_key(struct gt_strv *keys, bool known, char *key)
{
	gt_autofree char *own = key;

	if (known)
		gt_strv_add(keys, own);
}

/* Returns the release as the table has it: "24.04" of Ubuntu, "9" of RHEL 9.4. The caller frees it. */
static char *release_key(const struct pr_host *h, const char *family)
{
	const char *release = h->distro.version_id.v;

	if (!release || gt_streq(family, "ubuntu"))
		return release ? gt_xstrdup(release) : NULL;
	return gt_xstrndup(release, strspn(release, "0123456789"));
}

/* Adds the keys of a host, from the most specific one on. */
static void add_keys(const struct pr_host *h, struct gt_strv *keys)
{
	const char *family = pr_family(h), *id = h->distro.id.v, *machine = h->kernel.arch.v;
	gt_autofree char *release = release_key(h, family);
	bool own = family && release && find_distribution(id);

	add_key(keys, gt_streq(h->virt.v, "wsl"), gt_xstrdup("wsl"));
	add_key(keys, h->container.state == PR_PRESENT, gt_xstrdup("container"));
	add_key(keys, h->tegra.board.v, gt_xstrdup("jetson"));
	add_key(keys, own, gt_xasprintf("%s-%s", id ? id : "", release ? release : ""));
	add_key(keys, own && machine,
		gt_xasprintf("%s-%s-%s", family ? family : "", release ? release : "", machine ? machine : ""));
	add_key(keys, own, gt_xasprintf("%s-%s", family ? family : "", release ? release : ""));
	add_key(keys, family && id, gt_xstrdup(id ? id : ""));
	add_key(keys, family, gt_xstrdup(family ? family : ""));
	add_key(keys, true, gt_xstrdup("*"));
}

/* ---- values -------------------------------------------------------------------------------------------------------- */

struct parameters {
	const struct pr_host *h;
	const char *first, *rest; /* "" if absent */
};

/* Appends a part of a value: '<' before its last "-", '>' after it, '.' before its first ".", '=' without a "=" at the end, ';'
 * with ";" quoted. */
static bool add_part(struct gt_buf *b, const char *value, char part)
{
	const char *dash = value ? strrchr(value, '-') : NULL;

	if (!value || !*value || ((part == '<' || part == '>') && !dash))
		return false;
	if (part == '<')
		gt_buf_add(b, value, (size_t)(dash - value));
	else if (part == '.')
		gt_buf_add(b, value, strcspn(value, "."));
	else if (part == '=')
		gt_buf_add(b, value, strlen(value) - gt_ends_with(value, "="));
	else if (part == ';')
		for (const char *p = value; *p; p++)
			gt_buf_printf(b, "%s%c", *p == ';' ? "\\" : "", *p);
	else
		gt_buf_puts(b, part == '>' ? dash + 1 : value);
	return true;
}

/* Appends VERSION_ID: its first number, or with nodot all digits. */
static bool add_release(struct gt_buf *b, const struct pr_host *h, bool nodot)
{
	const char *release = h->distro.version_id.v;

	for (const char *p = release ? release : ""; *p && (nodot || isdigit((unsigned char)*p)); p++)
		if (isdigit((unsigned char)*p))
			gt_buf_add(b, p, 1);
	return release;
}

/* Appends the value of a placeholder, name of n bytes. Returns false if it is unknown. */
static bool add_value(struct gt_buf *b, const struct parameters *p, const char *name, size_t n)
{
	const char *machine = p->h->kernel.arch.v;
	char part = strchr("<>.=;", name[n - 1]) ? name[n - 1] : '\0';
	gt_autofree char *key = gt_xstrndup(name, n - (part != '\0'));

	if (!strcmp(key, "1") || !strcmp(key, "2"))
		return add_part(b, *key == '1' ? p->first : p->rest, part);
	if (!strcmp(key, "kernel"))
		return add_part(b, p->h->kernel.release.v, part);
	if (!strcmp(key, "version") || !strcmp(key, "nodot"))
		return add_release(b, p->h, *key == 'n');
	if (!strcmp(key, "arch"))
		return add_part(b, gt_streq(machine, "aarch64") ? "sbsa" : machine, part);
	return add_part(b, !strcmp(key, "debarch") ? pr_deb_arch(p->h) : !strcmp(key, "triplet") ? pr_triplet(p->h) : NULL, part);
}

/* Returns the lines of a row with its values. NULL: one is unknown. The caller frees them. */
static char *fill(const struct parameters *p, const char *lines)
{
	gt_auto_buf b = {0};

	while (*lines) {
		size_t n = strcspn(lines, "{"), length;
		bool is_value;

		gt_buf_add(&b, lines, n);
		lines += n;
		if (!*lines)
			break;
		is_value = !n || lines[-1] != '@';
		length = strcspn(lines, "}");
		if (!is_value || lines[length] != '}') {
			gt_buf_add(&b, lines++, 1);
			continue;
		}
		if (!add_value(&b, p, lines + 1, length - 1))
			return NULL;
		lines += length + 1;
	}
	return b.len ? gt_buf_take(&b) : gt_xstrdup("");
}

/* ---- rendering ----------------------------------------------------------------------------------------------------- */

static char *render(const struct pr_host *h, const char *text, const char *indent, const char *comment, int depth);

/* Returns the lines for "ACTION PARAMETERS" of n bytes: the row of the most specific key whose values are known. "": no row.
 * The caller frees them. */
static char *lines_of(const struct pr_host *h, const char *at, size_t n)
{
	gt_autofree char *call = gt_xstrndup(at, n);
	char *rest = call, *action = gt_cut(&rest, " "), *first = gt_cut(&rest, " ");
	struct parameters p = {.h = h, .first = first ? first : "", .rest = rest ? rest : ""};
	gt_auto_strv keys = {0};

	add_keys(h, &keys);
	for (size_t k = 0; k < keys.n; k++)
		for (size_t i = 0; i < GT_ARRAY_SIZE(rows); i++) {
			char *lines;

			if (strcmp(rows[i].action, action) || !gt_word_in(rows[i].families, ",", keys.v[k]))
				continue;
			lines = fill(&p, rows[i].lines);
			if (lines)
				return lines;
		}
	return gt_xstrdup("");
}

/* Appends an action that is a line of its own: commands after `indent`, sentences after `comment`. tail: the rest of the line,
 * such as "; reboot". */
static void add_lines(struct gt_buf *b, char *lines, const char *indent, const char *comment, const char *tail)
{
	bool sentence = true;

	gt_each_line(line, lines) {
		sentence = gt_starts_with(line, "# ");
		gt_buf_printf(b, "%s%s%s", b->len && b->s[b->len - 1] != '\n' ? "\n" : "", sentence ? comment : indent,
			      sentence ? line + 2 : line);
	}
	if (!sentence)
		gt_buf_puts(b, tail);
	else if (*tail)
		gt_buf_printf(b, "\n%s%s", indent, tail + strspn(tail, ";& "));
	gt_buf_puts(b, "\n");
}

/* Appends an action within a sentence. */
static void add_inline(struct gt_buf *b, char *lines)
{
	bool first = true;

	gt_each_line(line, lines) {
		bool sentence = gt_starts_with(line, "# ");

		gt_buf_printf(b, "%s%c%s", first ? "" : sentence ? ", " : " && ",
			      sentence ? tolower((unsigned char)line[2]) : *line, line + (sentence ? 3 : 1));
		first = false;
	}
}

/* Returns the end of the action at "@{", which may contain other braces: the byte after its "}". */
static const char *end_of(const char *at)
{
	int open = 0;

	for (; *at; at++) {
		open += *at == '{' ? 1 : *at == '}' ? -1 : 0;
		if (*at == '}' && !open)
			return at + 1;
	}
	return at;
}

static void add_line(struct gt_buf *b, const struct pr_host *h, const char *line, const char *indent, const char *comment,
		     int depth)
{
	size_t n = strlen(indent);

	for (const char *at; (at = strstr(line, "@{")); ) {
		const char *end = end_of(at);
		gt_autofree char *filled = lines_of(h, at + 2, (size_t)(end - at) - 3);
		gt_autofree char *lines = render(h, filled, "", "# ", depth + 1);

		if (at == line + n && gt_starts_with(line, indent)) {
			if (*lines)
				add_lines(b, lines, indent, comment, end);
			return;
		}
		gt_buf_add(b, line, (size_t)(at - line));
		add_inline(b, lines);
		line = end;
	}
	gt_buf_printf(b, "%s\n", line);
}

#define DEEPEST 4 /* actions within actions */

static char *render(const struct pr_host *h, const char *text, const char *indent, const char *comment, int depth)
{
	gt_autofree char *copy = gt_xstrdup(text);
	struct gt_buf b = {0};

	if (depth > DEEPEST || !strstr(text, "@{"))
		return gt_take(copy);
	gt_each_line(line, copy)
		add_line(&b, h, line, indent, comment, depth);
	if (!b.len)
		return gt_xstrdup("");
	if (b.s[b.len - 1] == '\n')
		b.s[--b.len] = '\0';
	return gt_buf_take(&b);
}

char *pr_for_distro(const struct pr_host *h, const char *text, const char *indent, const char *comment)
{
	return render(h, text, indent, comment, 0);
}
