/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/json.h"
#include "lib/parse.h"

#define TEXT_MAX	(64u << 20)
#define DEPTH_MAX	64

json_t *gt_json_real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* Returns the length of the UTF-8 sequence at p, 0 if it is invalid. */
static size_t utf8_len(const unsigned char *p)
{
	uint32_t cp;
	size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;

	if (n < 2)
		return n;
	cp = p[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		cp = cp << 6 | (p[i] & 0x3f);
	}
	if (cp < (n == 2 ? 0x80u : n == 3 ? 0x800u : 0x10000u) || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		return 0;
	return n;
}

json_t *gt_json_str(const char *s)
{
	gt_auto_buf b = { 0 };
	json_t *j = NULL;

	if (!s)
		return json_null();
	j = json_string(s);
	if (j)
		return j;
	while (*s) {
		size_t n = utf8_len((const unsigned char *)s);

		gt_buf_add(&b, n ? s : "\xef\xbf\xbd", n ? n : 3);
		s += n ? n : 1;
	}
	return json_string(b.s);
}

void gt_json_make_plain(json_t *j)
{
	gt_autofree char *plain = json_is_string(j) ? gt_xstrdup(json_string_value(j)) : NULL;
	const char *key;
	json_t *o;
	size_t i;

	if (plain) {
		gt_make_plain(plain);
		json_string_set(j, plain);
	}
	json_object_foreach(j, key, o)
		gt_json_make_plain(o);
	json_array_foreach(j, i, o)
		gt_json_make_plain(o);
}

/* Checks the depth before jansson recurses; jansson's own limit is 2048 levels. */
static bool too_deep(const char *text, size_t len)
{
	size_t depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		if (in_string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			in_string = !in_string;
		else if (!in_string && (text[i] == '[' || text[i] == '{') && ++depth > DEPTH_MAX)
			return true;
		else if (!in_string && (text[i] == ']' || text[i] == '}') && depth)
			depth--;
	}
	return false;
}

static bool is_blank(const char *text, size_t len)
{
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return !len;
}

int gt_json_parse(const char *text, size_t len, const char *name, json_t **ret, struct gt_err *err)
{
	json_error_t why;
	json_t *doc;

	if (len > TEXT_MAX)
		return gt_fail(err, EFBIG, "%s: larger than the limit of 64 MiB", name);
	if (is_blank(text, len)) /* typical after writing to a full disk */
		return gt_fail(err, EINVAL, "%s is empty: it contains no JSON", name);
	if (too_deep(text, len))
		return gt_fail(err, EINVAL, "%s: nested deeper than the limit of %d levels", name,
			       DEPTH_MAX);
	doc = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!doc) { /* omits the text that jansson quotes, because the file may contain private data */
		char *quote = strstr(why.text, " near '");

		if (quote)
			*quote = '\0';
		return gt_fail(err, EINVAL, "%s:%d:%d: not valid JSON: %s", name, why.line, why.column, why.text);
	}
	*ret = doc;
	return 0;
}

char *gt_json_text(const json_t *doc)
{
	char *s = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(12) | JSON_ENCODE_ANY), *text;

	text = gt_xasprintf("%s\n", s ? s : "null");
	free(s);
	return text;
}

static bool printed;

void gt_json_print(FILE *out, const json_t *doc)
{
	gt_autofree char *text = gt_json_text(doc);

	printed |= out == stdout;
	fputs(text, out);
}

bool gt_json_printed(void)
{
	return printed;
}

/* Sets *ret to the member `key` if its type is among `types` (one bit per json_type). */
static int req(const json_t *o, const char *key, unsigned types, const char *what, json_t **ret, struct gt_err *err)
{
	json_t *j = json_object_get(o, key);

	if (!j)
		return gt_fail(err, EINVAL, "\"%s\" is missing", key);
	if (!(1u << json_typeof(j) & types))
		return gt_fail(err, EINVAL, "\"%s\" must be %s", key, what);
	*ret = j;
	return 0;
}

int gt_json_req_str(const json_t *o, const char *key, const char **ret, struct gt_err *err)
{
	json_t *j = NULL;
	int r = req(o, key, 1u << JSON_STRING, "a string", &j, err);

	if (r < 0)
		return r;
	*ret = json_string_value(j);
	return 0;
}

int gt_json_req_int(const json_t *o, const char *key, int64_t *ret, struct gt_err *err)
{
	json_t *j = NULL;
	int r = req(o, key, 1u << JSON_INTEGER, "a whole number", &j, err);

	if (r < 0)
		return r;
	*ret = json_integer_value(j);
	return 0;
}

int gt_json_req_real(const json_t *o, const char *key, double *ret, struct gt_err *err)
{
	json_t *j = NULL;
	int r = req(o, key, 1u << JSON_REAL | 1u << JSON_INTEGER, "a number", &j, err);

	if (r < 0)
		return r;
	*ret = json_number_value(j);
	return 0;
}

int gt_json_req_array(const json_t *o, const char *key, json_t **ret, struct gt_err *err)
{
	return req(o, key, 1u << JSON_ARRAY, "an array", ret, err);
}

int gt_json_req_object(const json_t *o, const char *key, json_t **ret, struct gt_err *err)
{
	return req(o, key, 1u << JSON_OBJECT, "an object", ret, err);
}

const char *gt_json_get_str(const json_t *o, const char *key, const char *dflt)
{
	const json_t *j = json_object_get(o, key);

	return json_is_string(j) ? json_string_value(j) : dflt;
}

int64_t gt_json_get_int(const json_t *o, const char *key, int64_t dflt)
{
	const json_t *j = json_object_get(o, key);

	return json_is_integer(j) ? json_integer_value(j) : dflt;
}

double gt_json_get_real(const json_t *o, const char *key, double dflt)
{
	const json_t *j = json_object_get(o, key);

	return json_is_number(j) ? json_number_value(j) : dflt;
}

bool gt_json_get_bool(const json_t *o, const char *key, bool dflt)
{
	const json_t *j = json_object_get(o, key);

	return json_is_boolean(j) ? json_is_true(j) : dflt;
}

int gt_json_check_schema(const json_t *doc, const char *want, const char *name, struct gt_err *err)
{
	const char *have = gt_json_get_str(doc, "schema", NULL);
	size_t stem = strcspn(want, "/");
	uint64_t have_major, want_major;

	if (!json_is_object(doc) || !have)
		return gt_fail(err, EINVAL, "%s: not a %s document: it has no \"schema\"", name, want);
	if (!strcmp(have, want))
		return 0;
	if (!strncmp(have, want, stem + 1) && !gt_parse_u64(have + stem + 1, &have_major) &&
	    !gt_parse_u64(want + stem + 1, &want_major) && have_major > want_major)
		return gt_fail(err, EINVAL, "%s: written by a newer version (%s), but this version reads %s: update gputune", name,
			       have, want);
	return gt_fail(err, EINVAL, "%s: its schema is \"%.60s\", expected \"%s\"", name, have, want);
}
