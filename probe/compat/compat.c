/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/compat/compat.h"

#define KEY "0123456789.+-_abcdefghijklmnopqrstuvwxyz" /* characters of releases, id ranges and machine names */

static bool is_made_of(const char *s, const char *chars)
{
	return *s && !s[strspn(s, chars)];
}

/* Returns the next line of *rest that is neither empty nor a comment, cut at the first TAB. NULL: the end. *ret_values: the
 * text after the TAB; NULL: no TAB. */
static char *next_row(char **rest, char **ret_values, size_t *line_no)
{
	char *line;

	while ((line = strsep(rest, "\n"))) {
		++*line_no;
		if (*line && *line != '#')
			break;
	}
	*ret_values = line ? strchr(line, '\t') : NULL;
	if (*ret_values)
		*(*ret_values)++ = '\0';
	return line;
}

/* "gfx90a,gfx942": architectures of AMD GPUs. */
static bool is_gfx_list(const char *values)
{
	return gt_starts_with(values, "gfx") && is_made_of(values, "0123456789abcdefgx,");
}

static int check_rows(const char *text, const char *name, struct gt_err *err)
{
	gt_autofree char *copy = gt_xstrdup(text);
	char *rest = copy, *key, *values;
	size_t n = 0;

	while ((key = next_row(&rest, &values, &n)))
		if (!values || !is_made_of(key, KEY) || !(is_made_of(values, "0123456789.,cpu") || is_gfx_list(values)))
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s:%zu: expected a version, a TAB and versions", name, n);
	return 0;
}

static void each_row(const char *text, pr_row_fn *fn, void *arg)
{
	gt_autofree char *copy = gt_xstrdup(text);
	char *rest = copy, *key, *values;
	size_t n = 0;

	while ((key = next_row(&rest, &values, &n)) && !fn(arg, key, values))
		;
}

/* A local table is validated before its first row is used. Unit tests validate the compiled-in tables. */
int pr_compat_each(struct gt_fsroot *fs, const struct pr_table *t, pr_row_fn *fn, void *arg, struct gt_err *err)
{
	gt_autofree char *path = gt_xasprintf(PR_COMPAT_DIR "/%s", t->name), *text = NULL;
	int r = gt_fs_read(fs, path, &text, NULL) >= 0 ? check_rows(text, path, err) : 0;

	if (r >= 0)
		each_row(text ? text : t->text, fn, arg);
	return r;
}

struct search {
	const char *key;
	char *value;
};

static int match(void *arg, const char *key, const char *value)
{
	struct search *s = arg;

	if (strcmp(key, s->key))
		return 0;
	s->value = gt_xstrdup(value);
	return 1;
}

static int found(int r, struct search *s, char **ret_value)
{
	if (r < 0 || !s->value)
		return r;
	*ret_value = s->value;
	return 1;
}

int pr_compat_lookup(const char *text, const char *name, const char *key, char **ret_value, struct gt_err *err)
{
	struct search s = { .key = key };
	int r = check_rows(text, name, err);

	if (r >= 0)
		each_row(text, match, &s);
	return found(r, &s, ret_value);
}

int pr_compat_get(struct gt_fsroot *fs, const struct pr_table *t, const char *key, char **ret_value, struct gt_err *err)
{
	struct search s = { .key = key };

	return found(pr_compat_each(fs, t, match, &s, err), &s, ret_value);
}

/* Returns the first number of a version; it is the key of some tables. */
static char *first_number(const char *version)
{
	return gt_xstrndup(version, strspn(version, "0123456789"));
}

int pr_compat_min_driver(struct gt_fsroot *fs, const char *cuda, char **ret_driver, struct gt_err *err)
{
	gt_autofree char *major = first_number(cuda);

	return pr_compat_get(fs, &pr_cuda_driver, major, ret_driver, err);
}

int pr_compat_max_cuda(struct gt_fsroot *fs, const char *driver, char **ret_cuda, struct gt_err *err)
{
	gt_autofree char *branch = first_number(driver);

	return pr_compat_get(fs, &pr_driver_cuda, branch, ret_cuda, err);
}

struct gpu_search {
	unsigned device;
	struct pr_gpu_kind *kind;
	bool found;
};

static int match_gpu(void *arg, const char *key, const char *value)
{
	struct gpu_search *s = arg;
	struct pr_gpu_kind k;
	char *end;
	unsigned long first = strtoul(key, &end, 16), last = *end == '-' ? strtoul(end + 1, NULL, 16) : 0;
	int open;

	if (s->device < first || s->device > last)
		return 0;
	if (sscanf(value, "%d,%d,%d,%d", &k.arch, &k.first_branch, &k.last_branch, &open) != 4)
		return 0;
	k.open_only = open;
	*s->kind = k;
	s->found = true;
	return 1;
}

int pr_compat_gpu(struct gt_fsroot *fs, unsigned device, struct pr_gpu_kind *ret, struct gt_err *err)
{
	struct gpu_search s = { .device = device, .kind = ret };
	int r = pr_compat_each(fs, &pr_gpu_pci, match_gpu, &s, err);

	return r < 0 ? r : s.found;
}

bool pr_span_read(const char *value, struct pr_span *ret)
{
	return sscanf(value, "%15[0-9.],%15[0-9.]", ret->first, ret->last) == 2;
}

bool pr_span_holds(const struct pr_span *s, const char *version)
{
	return gt_version_cmp(version, s->first) >= 0 && gt_version_cmp(version, s->last) <= 0;
}

int pr_compat_span(struct gt_fsroot *fs, int arch, struct pr_span *ret, struct gt_err *err)
{
	gt_autofree char *key = gt_xasprintf("%d", arch), *range = NULL;
	int r = pr_compat_get(fs, &pr_gpu_arch, key, &range, err);

	return r <= 0 ? r : pr_span_read(range, ret);
}

int pr_compat_python(struct gt_fsroot *fs, const char *framework, const char *release, struct pr_span *ret, struct gt_err *err)
{
	gt_autofree char *key = gt_xasprintf("%s-%s", framework, release), *range = NULL;
	int r = pr_compat_get(fs, &pr_framework_python, key, &range, err);

	return r <= 0 ? r : pr_span_read(range, ret);
}

bool pr_holds_code(const char *list, int arch)
{
	gt_each_word(w, list, ",")
		if (atoi(w) / 10 == arch / 10 && atoi(w) <= arch)
			return true;
	return false;
}

char *pr_release_of(const char *version)
{
	size_t n = strspn(version, "0123456789");

	return gt_xstrndup(version, version[n] == '.' ? n + 1 + strspn(version + n + 1, "0123456789") : n);
}

static bool is_plain(const char *machine)
{
	return !machine || !strcmp(machine, "x86_64");
}

char *pr_torch_key(const char *torch, const char *cuda, const char *machine)
{
	return gt_xasprintf("%s%s%s%s%s", torch, cuda ? "+" : "", cuda ? cuda : "", is_plain(machine) ? "" : "+",
			    is_plain(machine) ? "" : machine);
}

/* ---- wheels --------------------------------------------------------------------------------------------------- */

struct wheel_search {
	struct gt_fsroot *fs;
	const struct pr_wheel_query *q;
	struct pr_span span; /* CUDA releases for the GPU; first "": unknown */
	struct pr_wheel *w;
	struct gt_err *err;
	int failed;
};

/* Returns whether the wheel for this CUDA contains code for the GPU. Uses the wheel table, else the architectures that
 * this CUDA can generate. */
static bool has_code(struct wheel_search *s, const char *torch, const char *cuda)
{
	gt_autofree char *key = pr_torch_key(torch, cuda, s->q->machine), *list = NULL;
	int r = s->q->arch ? pr_compat_get(s->fs, &pr_torch_arch, key, &list, s->err) : 0;

	if (r < 0)
		s->failed = r;
	if (r > 0)
		return pr_holds_code(list, s->q->arch);
	return !*s->span.first || (gt_version_cmp(cuda, s->span.first) >= 0 && gt_version_cmp(cuda, s->span.last) <= 0);
}

static bool runs(struct wheel_search *s, const char *torch, const char *cuda)
{
	gt_autofree char *least = NULL;
	int r = pr_compat_min_driver(s->fs, cuda, &least, s->err);

	if (r < 0)
		s->failed = r;
	return r > 0 && gt_version_cmp(s->q->driver, least) >= 0 && has_code(s, torch, cuda);
}

static void copy16(char to[16], const char *from)
{
	snprintf(to, 16, "%s", from);
}

static bool for_python(struct wheel_search *s, const char *torch)
{
	struct pr_span span;
	int r = s->q->python ? pr_compat_python(s->fs, "torch", torch, &span, s->err) : 0;

	if (r < 0)
		s->failed = r;
	return r == 0 || (r > 0 && pr_span_holds(&span, s->q->python));
}

static int take_torch(void *arg, const char *key, const char *builds)
{
	struct wheel_search *s = arg;
	gt_autofree char *torch = gt_xstrndup(key, strcspn(key, "+"));
	gt_autofree char *expected = pr_torch_key(torch, NULL, s->q->machine);
	bool newer = gt_version_cmp(torch, s->w->torch) > 0, newest = gt_version_cmp(torch, s->w->newest) > 0;

	if (strcmp(key, expected) || !for_python(s, torch))
		return s->failed;
	if (newest)
		copy16(s->w->newest, torch);
	newer &= !s->q->release || !strcmp(s->q->release, torch);
	gt_each_word(cuda, builds, ",") {
		if (newest)
			copy16(s->w->newest_cuda, cuda); /* the default wheel is the last one in the row */
		if (!newer || !runs(s, torch, cuda))
			continue;
		copy16(s->w->cuda, cuda); /* the default is the last one here too */
		copy16(s->w->torch, torch);
	}
	return s->failed;
}

int pr_compat_wheel(struct gt_fsroot *fs, const struct pr_wheel_query *q, struct pr_wheel *ret, struct gt_err *err)
{
	struct pr_wheel w = { .torch = "0", .newest = "0" };
	struct wheel_search s = { .fs = fs, .q = q, .w = &w, .err = err };
	struct pr_wheel_query any = *q;
	int r = q->arch ? pr_compat_span(fs, q->arch, &s.span, err) : 0;

	if (r < 0)
		return r;
	r = pr_compat_each(fs, &pr_torch_wheel, take_torch, &s, err);
	if (r < 0 || s.failed)
		return r < 0 ? r : s.failed;
	if (!strcmp(w.torch, "0") && q->python) {
		any.python = NULL;
		r = pr_compat_wheel(fs, &any, ret, err);
		ret->other_python = r > 0;
		return r;
	}
	*ret = w;
	return strcmp(w.torch, "0") != 0;
}

char *pr_cuda_tag(const char *cuda)
{
	size_t n = strcspn(cuda, ".");

	return gt_xasprintf("cu%.*s%s", (int)n, cuda, cuda[n] ? cuda + n + 1 : "");
}
