/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/buf.h"
#include "probe/baseline/baseline.h"

bool pr_glob(const char *pattern, const char *s)
{
	const char *star = NULL, *at = NULL;

	while (*s) {
		if (*pattern == '*') {
			star = pattern++;
			at = s;
		} else if (*pattern == '?' || *pattern == *s) {
			pattern++;
			s++;
		} else if (star) {
			pattern = star + 1;
			s = ++at;
		} else {
			return false;
		}
	}
	return !pattern[strspn(pattern, "*")];
}

/* ---- values of a report by path ------------------------------------------------------------------------------- */

static void add(struct pr_values *to, const char *path, const char *element, struct pr_value v)
{
	to->v = gt_xrealloc(to->v, (to->n + 1) * sizeof(v));
	v.path = gt_xstrdup(path);
	v.element = element ? gt_xstrdup(element) : NULL;
	to->v[to->n++] = v;
}

static char *scalar_text(const json_t *j)
{
	if (json_is_string(j))
		return gt_xstrdup(json_string_value(j));
	if (json_is_integer(j))
		return gt_xasprintf("%lld", (long long)json_integer_value(j));
	if (json_is_real(j))
		return gt_xasprintf("%.12g", json_real_value(j));
	return gt_xstrdup(json_is_true(j) ? "true" : json_is_false(j) ? "false" : "none");
}

/* Returns the state ("unreadable", …) of a reading without a value; NULL if there is a value. */
static const char *state_of(const json_t *j)
{
	static const char *const states[] = {"unknown", "unreadable", "broken"};
	const char *s = json_is_object(j) && json_object_size(j) == 1 ? gt_json_get_str(j, "state", NULL) : NULL;

	if (json_is_string(j))
		s = json_string_value(j);
	for (size_t i = 0; s && i < GT_ARRAY_SIZE(states); i++)
		if (!strcmp(s, states[i]))
			return states[i];
	return NULL;
}

/* Returns a key that identifies the list element on this host and on others. */
static char *key_of(const json_t *element, size_t i)
{
	static const char *const keys[] = {"pci", "address", "soname", "name", "prefix", "module", "policy", "id"};

	for (size_t k = 0; k < GT_ARRAY_SIZE(keys); k++) {
		const json_t *v = json_object_get(element, keys[k]);

		if (json_is_string(v) || json_is_integer(v))
			return scalar_text(v);
	}
	return gt_xasprintf("%zu", i);
}

static void walk(struct pr_values *to, const char *path, const char *element, const json_t *j);

static void walk_list(struct pr_values *to, const char *path, const char *element, const json_t *list)
{
	gt_auto_strv keys_used = {0};
	gt_auto_buf all = {0};
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		gt_autofree char *key = NULL, *sub = NULL, *text = NULL;

		if (!json_is_object(one)) {
			text = scalar_text(one);
			gt_buf_printf(&all, "%s%s", i ? ", " : "", text);
			continue;
		}
		key = key_of(one, i);
		for (unsigned n = 2; gt_strv_has(&keys_used, key); n++) { /* the second library with a name is "name#2" */
			char *again = gt_xasprintf("%.*s#%u", (int)strcspn(key, "#"), key, n);

			free(key);
			key = again;
		}
		gt_strv_add(&keys_used, key);
		sub = gt_xasprintf("%s[%s]", path, key);
		walk(to, sub, sub, one);
	}
	if (keys_used.n || !json_array_size(list))
		add(to, path, element,
		    (struct pr_value){.text = gt_xasprintf("%zu", keys_used.n), .number = true, .count = true});
	else
		add(to, path, element, (struct pr_value){.text = gt_buf_take(&all)});
}

static void walk(struct pr_values *to, const char *path, const char *element, const json_t *j)
{
	const char *key, *state = state_of(j);
	json_t *value;

	if (json_is_array(j)) {
		walk_list(to, path, element, j);
	} else if (json_is_object(j) && !state) {
		json_object_foreach((json_t *)j, key, value)
		{
			gt_autofree char *sub = *path ? gt_xasprintf("%s.%s", path, key) : gt_xstrdup(key);

			walk(to, sub, element, value);
		}
	} else {
		add(to, path, element,
		    (struct pr_value){.text = state ? gt_xstrdup(state) : scalar_text(j),
				      .number = json_is_number(j),
				      .state = state});
	}
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct pr_value *)a)->path, ((const struct pr_value *)b)->path);
}

void pr_values_of(const json_t *report, struct pr_values *ret)
{
	const json_t *check;
	size_t i;

	*ret = (struct pr_values){0};
	walk(ret, "", NULL, json_object_get(report, "host"));
	json_array_foreach(json_object_get(report, "checks"), i, check)
	{
		gt_autofree char *path = gt_xasprintf("check.%s", gt_json_get_str(check, "id", "?"));

		add(ret, path, NULL, (struct pr_value){.text = gt_xstrdup(gt_json_get_str(check, "result", "?"))});
	}
	qsort(ret->v, ret->n, sizeof(*ret->v), by_path);
}

void pr_values_clear(struct pr_values *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->v[i].path);
		free(v->v[i].text);
		free(v->v[i].element);
	}
	free(v->v);
	*v = (struct pr_values){0};
}

const struct pr_value *pr_values_find(const struct pr_values *v, const char *path)
{
	const struct pr_value key = {.path = (char *)path};

	return v->n ? bsearch(&key, v->v, v->n, sizeof(key), by_path) : NULL;
}
