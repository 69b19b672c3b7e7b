/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/wheel/metadata.h"

#define LONGEST_LINE  65536
#define MOST_REQUIRES 4096
#define MOST_TAGS     256
#define HARMLESS      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+!-"

static bool is_harmless(const char *s)
{
	return *s && strlen(s) <= 200 && !s[strspn(s, HARMLESS)];
}

/* Normalises a name in place: "nvidia_cudnn.cu12" becomes "nvidia-cudnn-cu12". */
static void normalise(char *name)
{
	for (char *p = name; *p; p++)
		*p = *p == '_' || *p == '.' ? '-' : (char)tolower((unsigned char)*p);
}

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' && *s != '\t')
			return false;
	return true;
}

static int take_field(char *line, const char *where, unsigned number, struct pr_metadata *m, struct gt_err *err)
{
	const struct {
		const char *key;
		char **to;
		bool plain; /* restricted to the characters of HARMLESS */
	} fields[] = {{"Name", &m->name, true},
		      {"Version", &m->version, true},
		      {"Requires-Python", &m->requires_python, false}};
	char *colon = strchr(line, ':'), *value = colon ? gt_strip(colon + 1) : NULL;

	if (!colon)
		return 0;
	*colon = '\0';
	for (size_t i = 0; i < GT_ARRAY_SIZE(fields); i++) {
		if (strcmp(line, fields[i].key) || *fields[i].to)
			continue;
		if (fields[i].plain ? !is_harmless(value) : !is_printable(value) || strlen(value) > 200)
			return gt_fail(err, EINVAL, "%s:%u: malformed %s", where, number, fields[i].key);
		*fields[i].to = gt_xstrdup(value);
		if (!i)
			normalise(m->name);
	}
	if (!strcmp(line, "Requires-Dist")) {
		if (!is_printable(value) || m->requires.n >= MOST_REQUIRES)
			return gt_fail(err, EINVAL, "%s:%u: malformed Requires-Dist", where, number);
		gt_strv_add(&m->requires, value);
	} else if (!strcmp(line, "Tag")) {
		if (!is_harmless(value) || m->tags.n >= MOST_TAGS)
			return gt_fail(err, EINVAL, "%s:%u: malformed Tag", where, number);
		gt_strv_add(&m->tags, value);
	}
	return 0;
}

int pr_metadata_parse(const char *text, const char *where, struct pr_metadata *m, struct gt_err *err)
{
	unsigned number = 0;
	int r = 0;

	while (r >= 0 && *text) {
		size_t n = strcspn(text, "\n");
		gt_autofree char *line = NULL;

		number++;
		if (n > LONGEST_LINE)
			return gt_fail(err, EINVAL, "%s:%u: the line is longer than %d bytes", where, number,
				       LONGEST_LINE);
		line = gt_xstrndup(text, n);
		if (n && line[n - 1] == '\r')
			line[n - 1] = '\0';
		if (!*line)
			break;                     /* the description follows, which is not read */
		if (*line != ' ' && *line != '\t') /* no field that is read here has continuation lines */
			r = take_field(line, where, number, m, err);
		text += n + (text[n] == '\n');
	}
	return r;
}

void pr_metadata_clear(struct pr_metadata *m)
{
	free(m->name);
	free(m->version);
	free(m->requires_python);
	gt_strv_clear(&m->requires);
	gt_strv_clear(&m->tags);
	*m = (struct pr_metadata){0};
}

/* ---- requirements --------------------------------------------------------------------------------------------- */

static bool copy_part(char *to, size_t size, const char *from, size_t n)
{
	while (n && strchr(" \t(", *from)) {
		from++;
		n--;
	}
	while (n && strchr(" \t)", from[n - 1]))
		n--;
	if (n >= size)
		return false;
	memcpy(to, from, n);
	to[n] = '\0';
	return true;
}

bool pr_requirement_parse(const char *text, struct pr_requirement *ret)
{
	size_t name = strspn(text, HARMLESS), spec;
	const char *rest;

	*ret = (struct pr_requirement){0};
	while (name && strchr("!", text[name - 1])) /* "a!=2": the operator does not belong to the name */
		name--;
	if (!name || !isalnum((unsigned char)*text) || !copy_part(ret->name, sizeof(ret->name), text, name))
		return false;
	normalise(ret->name);
	rest = text + name + strspn(text + name, " ");
	if (*rest == '[') {
		rest += strcspn(rest, "]");
		rest += *rest == ']';
	}
	spec = strcspn(rest, ";");
	if (!copy_part(ret->spec, sizeof(ret->spec), rest, spec))
		return false;
	rest += spec;
	return !*rest || copy_part(ret->marker, sizeof(ret->marker), rest + 1, strlen(rest + 1));
}

bool pr_requirement_counts(const struct pr_requirement *r, const char *arch)
{
	static const char *const arches[] = {"x86_64", "aarch64", "arm64", "AMD64", "ppc64le", "riscv64"};
	static const char *const other[] = {"extra",          "Windows",     "win32",          "Darwin", "darwin",
					    "python_version", "python_full", "implementation", "!=",     "not in"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(other); i++)
		if (strstr(r->marker, other[i]))
			return false;
	for (size_t i = 0; i < GT_ARRAY_SIZE(arches); i++)
		if (strstr(r->marker, arches[i]) && arch && !strstr(r->marker, arch))
			return false;
	return true;
}

/* Matches "13.2.86" with "==13.2.*". */
static bool has_prefix(const char *version, const char *prefix, size_t n)
{
	return !strncmp(version, prefix, n) && (!version[n] || version[n] == '.');
}

static int satisfies_one(const char *version, char *one)
{
	static const char *const operators[] = {"===", "==", ">=", "<=", "!=", "~=", "<", ">"};
	const char *op = NULL, *value;
	size_t n;
	int order;

	one = gt_strip(one);
	for (size_t i = 0; i < GT_ARRAY_SIZE(operators) && !op; i++)
		op = gt_starts_with(one, operators[i]) ? operators[i] : NULL;
	if (!op)
		return -EINVAL;
	value = one + strlen(op);
	value += strspn(value, " ");
	n = strlen(value);
	if (!isdigit((unsigned char)*value) || value[strspn(value, HARMLESS "*")])
		return -EINVAL;
	if (gt_ends_with(value, ".*"))
		return has_prefix(version, value, n - 2) == (*op == '=');
	order = gt_version_cmp(version, value);
	switch (*op) {
	case '=':
		return order == 0;
	case '!':
		return order != 0;
	case '>':
		return op[1] ? order >= 0 : order > 0;
	case '<':
		return op[1] ? order <= 0 : order < 0;
	default: /* "~=2.3": at least 2.3, and equal except for the last number */
		while (n && value[n - 1] != '.')
			n--;
		return order >= 0 && (!n || has_prefix(version, value, n - 1));
	}
}

int pr_version_satisfies(const char *version, const char *spec)
{
	gt_autofree char *plain = gt_xstrndup(version, strcspn(version, "+"));
	int r = 1;

	gt_each_word(one, spec, ",")
		r = r <= 0 ? r : satisfies_one(strchr(spec, '+') ? version : plain, one);
	return r;
}

/* ---- the CUDA release ----------------------------------------------------------------------------------------- */

/* Returns the first two numbers: "12.8.90" -> "12.8", "12.*" -> "12.0". */
static char *two_numbers(const char *version)
{
	size_t n = strspn(version, "0123456789"), minor;

	if (!n || version[n] != '.')
		return NULL;
	if (version[n + 1] == '*')
		return gt_xasprintf("%.*s.0", (int)n, version);
	minor = strspn(version + n + 1, "0123456789");
	return minor ? gt_xstrndup(version, n + 1 + minor) : NULL;
}

/* Converts a tag: "cu126" -> "12.6", "cu12" and "cuda12x" -> "12.0". NULL for other text. */
static char *release_of_tag(const char *tag)
{
	const char *digits = gt_starts_with(tag, "cuda") ? tag + 4 : gt_starts_with(tag, "cu") ? tag + 2 : "";
	size_t n = strspn(digits, "0123456789");

	if (n < 2 || n > 3 || (digits[n] && strcmp(digits + n, "x")))
		return NULL;
	return n == 2 ? gt_xasprintf("%.2s.0", digits) : gt_xasprintf("%.2s.%c", digits, digits[2]);
}

static char *cuda_of_requirement(const char *name, const char *version)
{
	const char *dash = strrchr(name, '-');

	if (!strcmp(name, "cuda-toolkit") || gt_starts_with(name, "nvidia-cuda-runtime"))
		return two_numbers(version);
	return gt_starts_with(name, "nvidia-") && dash ? release_of_tag(dash + 1) : NULL;
}

/* Returns the CUDA release of the first matching requirement. exact: only requirements with "==". extras: also those
 * for extras. */
static char *cuda_of_requirements(const struct pr_metadata *m, bool exact, bool extras, char **ret_from)
{
	for (size_t i = 0; i < m->requires.n; i++) {
		struct pr_requirement r;
		char *cuda;

		if (!pr_requirement_parse(m->requires.v[i], &r) || (!extras && strstr(r.marker, "extra")) ||
		    (exact && !gt_starts_with(r.spec, "==")))
			continue;
		cuda = cuda_of_requirement(r.name, r.spec + strspn(r.spec, "=<>~ "));
		if (!cuda || (exact && gt_ends_with(cuda, ".0") && !strstr(r.spec, ".0"))) {
			free(cuda);
			continue;
		}
		*ret_from = gt_xasprintf("it requires %s%s%s", r.name, r.spec,
					 strstr(r.marker, "extra") ? " with one of its extras" : "");
		return cuda;
	}
	return NULL;
}

char *pr_metadata_cuda(const struct pr_metadata *m, char **ret_from)
{
	const char *plus = m->version ? strchr(m->version, '+') : NULL, *dash = m->name ? strrchr(m->name, '-') : NULL;
	char *cuda = plus ? release_of_tag(plus + 1) : NULL;

	if (cuda) {
		*ret_from = gt_xasprintf("its version is %s", m->version);
		return cuda;
	}
	for (unsigned pass = 0; pass < 4 && !cuda; pass++)
		cuda = cuda_of_requirements(m, pass % 2 == 0, pass > 1, ret_from);
	if (cuda || !m->name || !m->version)
		return cuda;
	cuda = cuda_of_requirement(m->name, m->version);
	if (!cuda && dash)
		cuda = release_of_tag(dash + 1);
	if (cuda)
		*ret_from = gt_xasprintf("it is %s %s", m->name, m->version);
	return cuda;
}

/* ---- tags ----------------------------------------------------------------------------------------------------- */

static void GT_PRINTF(3, 4) why(char *to, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to, size, fmt, ap);
	va_end(ap);
}

/* Returns the minor version of a tag: "py3" (0), "cp311" (11), "cp39" (9). -1 if it is not a Python 3 tag. */
static int minor_of(const char *tag)
{
	const char *digits = tag + 2;

	if (*digits != '3' || digits[strspn(digits, "0123456789")] || strlen(digits) > 4)
		return -1;
	return atoi(digits + 1);
}

static int python_fits(const char *tag, const char *abi, const char *python, char *text, size_t size)
{
	int minor = gt_starts_with(tag, "py") || gt_starts_with(tag, "cp") ? minor_of(tag) : -1;
	int have = python && gt_starts_with(python, "3.") ? atoi(python + 2) : -1;
	bool least = *tag == 'p' || strstr(abi, "abi3");

	if (minor < 0) {
		why(text, size, "it is for the interpreter %.40s", tag);
		return 0;
	}
	if (*tag == 'c' && abi[strspn(abi, "cp0123456789")] == 't') {
		why(text, size, "it is for the free-threaded Python 3.%d", minor);
		return 0;
	}
	why(text, size, "it is for %s3.%d%s", *tag == 'c' ? "CPython " : "Python ", minor,
	    least && minor ? " and later"
	    : least        ? ""
			   : " alone");
	if (!minor && least)
		why(text, size, "it is for any Python 3");
	if (have < 0)
		return minor || !least ? -1 : 1;
	return least ? have >= minor : have == minor;
}

static int platform_fits(const char *tag, const char *glibc, const char *arch, char *text, size_t size)
{
	static const struct {
		const char *prefix, *glibc;
	} old[] = {{"manylinux1_", "2.5"}, {"manylinux2010_", "2.12"}, {"manylinux2014_", "2.17"}, {"linux_", NULL}};
	const char *rest = NULL;
	char least[16] = "";
	unsigned major, minor;
	int used = 0;

	if (!strcmp(tag, "any")) {
		why(text, size, "it is for any platform");
		return 1;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(old) && !rest; i++)
		if (gt_starts_with(tag, old[i].prefix)) {
			rest = tag + strlen(old[i].prefix);
			snprintf(least, sizeof(least), "%s", old[i].glibc ? old[i].glibc : "");
		}
	if (!rest && sscanf(tag, "manylinux_%3u_%3u_%n", &major, &minor, &used) == 2 && used) {
		rest = tag + used;
		snprintf(least, sizeof(least), "%u.%u", major, minor);
	}
	if (!rest) {
		why(text, size, "it is for %.60s", tag);
		return 0;
	}
	why(text, size, "it is for %.40s%s%s", rest, *least ? " with glibc " : "", least);
	if (arch && strcmp(rest, arch))
		return 0;
	if (!arch || (*least && !glibc))
		return -1;
	return !*least || gt_version_cmp(glibc, least) >= 0;
}

bool pr_tag_judge(const char *tag, const char *python, const char *glibc, const char *arch, struct pr_tag_answer *ret)
{
	gt_autofree char *copy = gt_xstrdup(tag);
	char *abi = strchr(copy, '-'), *platform = abi ? strchr(abi + 1, '-') : NULL;
	static const int rank[] = {1, 0, 2}; /* order of the answers -1, 0, 1 */
	struct pr_tag_answer best = {0};
	bool first = true;

	if (!platform || strchr(platform + 1, '-') || !is_harmless(tag))
		return false;
	*abi++ = *platform++ = '\0';
	gt_each_word(one, copy, ".") {
		char text[sizeof(best.python_why)];
		int fits = python_fits(one, abi, python, text, sizeof(text));

		if (first || rank[fits + 1] > rank[best.python + 1]) {
			best.python = fits;
			strcpy(best.python_why, text);
		}
		first = false;
	}
	if (first)
		return false;
	first = true;
	gt_each_word(one, platform, ".") {
		char text[sizeof(best.platform_why)];
		int fits = platform_fits(one, glibc, arch, text, sizeof(text));

		if (first || rank[fits + 1] > rank[best.platform + 1]) {
			best.platform = fits;
			strcpy(best.platform_why, text);
		}
		first = false;
	}
	if (first)
		return false;
	*ret = best;
	return true;
}
