/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/baseline/baseline_priv.h"
#include "probe/baseline/fleet.h"

#define NAMED	   8  /* maximum number of names listed per value, and of skipped files */
#define MOST_VALUES 64 /* a path with more different values describes the individual host, not a setting */

/* A value that hosts of a class have at a path. */
struct observed {
	char *text;
	size_t hosts;
	struct gt_strv named; /* the first hosts, at most NAMED */
};

struct path {
	char *path;
	struct observed *v;
	size_t n, hosts;
	bool ignored;
};

/* An open hash table from names to indexes. */
struct names {
	const char **name; /* NULL: free */
	size_t *index, n, size;
};

struct class {
	char *cpu, *gpus, *nics;
	size_t hosts;
	struct path *path;
	size_t n_path;
	struct names paths;
};

struct pr_fleet {
	struct class *class;
	size_t n_class, hosts, skipped;
	struct names classes;
	char **keys;
	struct gt_strv reasons; /* why files were skipped, at most NAMED */
};

/* ---- names --------------------------------------------------------------------------------------------------------- */

static size_t slot_of(const struct names *t, const char *name)
{
	size_t i = gt_hash64(name, strlen(name), 0) & (t->size - 1);

	while (t->name[i] && strcmp(t->name[i], name))
		i = (i + 1) & (t->size - 1);
	return i;
}

static void grow(struct names *t)
{
	struct names old = *t;

	t->size = old.size ? 2 * old.size : 64;
	t->name = gt_xcalloc(t->size, sizeof(*t->name));
	t->index = gt_xcalloc(t->size, sizeof(*t->index));
	for (size_t i = 0; i < old.size; i++)
		if (old.name[i]) {
			size_t to = slot_of(t, old.name[i]);

			t->name[to] = old.name[i];
			t->index[to] = old.index[i];
		}
	free(old.name);
	free(old.index);
}

/* Returns whether the table has the name, and its index. */
static bool find(const struct names *t, const char *name, size_t *ret)
{
	size_t i = t->size ? slot_of(t, name) : 0;

	if (!t->size || !t->name[i])
		return false;
	*ret = t->index[i];
	return true;
}

/* Adds a name that the table lacks. The name belongs to the caller. */
static void insert(struct names *t, const char *name, size_t index)
{
	size_t i;

	if (2 * (t->n + 1) > t->size)
		grow(t);
	i = slot_of(t, name);
	t->name[i] = name;
	t->index[i] = index;
	t->n++;
}

static void names_clear(struct names *t)
{
	free(t->name);
	free(t->index);
}

/* ---- classes ------------------------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Returns the texts of a member of all list elements, with their counts: "8 x NVIDIA H100, mlx5_core". The caller frees
 * it.
 */
static char *count_members(const json_t *list, const char *key, const char *fallback)
{
	gt_auto_strv texts = {0};
	gt_auto_buf b = {0};
	const json_t *one;
	size_t i, same;

	json_array_foreach(list, i, one) gt_strv_add(&texts, gt_json_get_str(one, key, gt_json_get_str(one, fallback, "?")));
	if (texts.n)
		qsort(texts.v, texts.n, sizeof(*texts.v), by_text);
	for (i = 0; i < texts.n; i += same) {
		for (same = 1; i + same < texts.n && !strcmp(texts.v[i], texts.v[i + same]); same++)
			;
		gt_buf_printf(&b, "%s", i ? ", " : "");
		if (same > 1)
			gt_buf_printf(&b, "%zu x ", same);
		gt_buf_puts(&b, texts.v[i]);
	}
	return b.len ? gt_buf_take(&b) : gt_xstrdup("none");
}

static char *describe_cpus(const json_t *cpu)
{
	int64_t packages = gt_json_get_int(cpu, "packages", 1);
	const char *model = gt_json_get_str(cpu, "model_name", "unknown processor");

	return packages > 1 ? gt_xasprintf("%lld x %s", (long long)packages, model) : gt_xstrdup(model);
}

/* Returns the class of a host; adds it if it is new. */
static struct class *class_of(struct pr_fleet *f, const json_t *host)
{
	const json_t *devices = json_object_get(host, "devices");
	gt_autofree char *cpu = describe_cpus(json_object_get(host, "cpu"));
	gt_autofree char *gpus = count_members(json_object_get(host, "gpus"), "name", "device");
	gt_autofree char *nics = count_members(json_object_get(devices, "net"), "driver", "name");
	gt_autofree char *key = gt_xasprintf("%s\n%s\n%s", cpu, gpus, nics);
	size_t i;

	if (find(&f->classes, key, &i))
		return &f->class[i];
	f->class = gt_xrealloc(f->class, (f->n_class + 1) * sizeof(*f->class));
	f->keys = gt_xrealloc(f->keys, (f->n_class + 1) * sizeof(*f->keys));
	f->keys[f->n_class] = gt_take(key);
	insert(&f->classes, f->keys[f->n_class], f->n_class);
	f->class[f->n_class] = (struct class){.cpu = gt_take(cpu), .gpus = gt_take(gpus), .nics = gt_take(nics)};
	return &f->class[f->n_class++];
}

static struct path *path_of(struct class *c, const char *name)
{
	struct path *p;
	size_t i;

	if (find(&c->paths, name, &i))
		return &c->path[i];
	if (!(c->n_path & (c->n_path - 1))) /* doubles at each power of two */
		c->path = gt_xrealloc(c->path, (c->n_path ? 2 * c->n_path : 1) * sizeof(*c->path));
	p = &c->path[c->n_path];
	*p = (struct path){.path = gt_xstrdup(name), .ignored = pr_baseline_excluded(name)};
	insert(&c->paths, p->path, c->n_path++);
	return p;
}

static void clear_values(struct path *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].text);
		gt_strv_clear(&p->v[i].named);
	}
	free(p->v);
	p->v = NULL;
	p->n = 0;
}

static void observe(struct path *p, const char *host, const struct pr_value *value)
{
	gt_autofree char *own = pr_baseline_text(value);
	const char *text = own ? own : value->text;
	size_t i = 0;

	p->hosts++;
	while (i < p->n && strcmp(p->v[i].text, text))
		i++;
	if (i == p->n && i == MOST_VALUES) {
		clear_values(p);
		p->ignored = true;
		return;
	}
	if (i == p->n) {
		p->v = gt_xrealloc(p->v, (p->n + 1) * sizeof(*p->v));
		p->v[p->n++] = (struct observed){.text = gt_xstrdup(text)};
	}
	p->v[i].hosts++;
	if (p->v[i].named.n < NAMED)
		gt_strv_add(&p->v[i].named, host);
}

struct pr_fleet *pr_fleet_new(void)
{
	return gt_xcalloc(1, sizeof(struct pr_fleet));
}

void pr_fleet_add(struct pr_fleet *f, const char *name, const json_t *report)
{
	struct class *c = class_of(f, json_object_get(report, "host"));
	struct pr_values values;

	f->hosts++;
	c->hosts++;
	pr_values_of(report, &values);
	for (size_t i = 0; i < values.n; i++) {
		struct path *p = path_of(c, values.v[i].path);

		if (!p->ignored)
			observe(p, name, &values.v[i]);
	}
	pr_values_clear(&values);
}

void pr_fleet_skip(struct pr_fleet *f, const char *why)
{
	f->skipped++;
	if (f->reasons.n < NAMED)
		gt_strv_add(&f->reasons, why);
}

void pr_fleet_free(struct pr_fleet *f)
{
	for (size_t i = 0; f && i < f->n_class; i++) {
		struct class *c = &f->class[i];

		for (size_t k = 0; k < c->n_path; k++) {
			clear_values(&c->path[k]);
			free(c->path[k].path);
		}
		free(c->path);
		names_clear(&c->paths);
		free(c->cpu);
		free(c->gpus);
		free(c->nics);
		free(f->keys[i]);
	}
	if (!f)
		return;
	names_clear(&f->classes);
	gt_strv_clear(&f->reasons);
	free(f->keys);
	free(f->class);
	free(f);
}

/* ---- result -------------------------------------------------------------------------------------------------------- */

static int by_hosts(const void *a, const void *b)
{
	const struct observed *x = a, *y = b;

	return x->hosts != y->hosts ? (x->hosts < y->hosts) - (x->hosts > y->hosts) : strcmp(x->text, y->text);
}

static json_t *strings(const struct gt_strv *list)
{
	json_t *j = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(j, gt_json_str(list->v[i]));
	return j;
}

/*
 * Returns the values of a path, the most frequent first. The hosts with the first value are not named if they are the
 * majority.
 */
static json_t *values_json(struct path *p, size_t absent)
{
	static const struct gt_strv none;
	json_t *list = json_array();

	qsort(p->v, p->n, sizeof(*p->v), by_hosts);
	for (size_t i = 0; i < p->n; i++) {
		bool majority = 2 * p->v[i].hosts > p->hosts + absent;

		json_array_append_new(list, json_pack("{s:o, s:I, s:o}", "value", gt_json_str(p->v[i].text), "hosts",
						      (json_int_t)p->v[i].hosts, "named",
						      strings(majority ? &none : &p->v[i].named)));
	}
	if (absent)
		json_array_append_new(list, json_pack("{s:n, s:I, s:[]}", "value", "hosts", (json_int_t)absent, "named"));
	return list;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct path *)a)->path, ((const struct path *)b)->path);
}

static json_t *class_json(struct class *c, size_t *differences)
{
	json_t *list = json_array();

	qsort(c->path, c->n_path, sizeof(*c->path), by_path);
	for (size_t i = 0; i < c->n_path; i++) {
		struct path *p = &c->path[i];

		if (!p->ignored && (p->n > 1 || p->hosts < c->hosts))
			json_array_append_new(list, json_pack("{s:o, s:o}", "path", gt_json_str(p->path), "values",
							      values_json(p, c->hosts - p->hosts)));
	}
	*differences += json_array_size(list);
	return json_pack("{s:o, s:o, s:o, s:I, s:o}", "cpu", gt_json_str(c->cpu), "gpus", gt_json_str(c->gpus), "nics",
			 gt_json_str(c->nics), "hosts", (json_int_t)c->hosts, "differences", list);
}

static int by_size(const void *a, const void *b)
{
	const struct class *x = a, *y = b;

	return x->hosts != y->hosts ? (x->hosts < y->hosts) - (x->hosts > y->hosts) : strcmp(x->cpu, y->cpu);
}

json_t *pr_fleet_judge(struct pr_fleet *f)
{
	json_t *list = json_array();
	size_t differences = 0;

	if (f->n_class)
		qsort(f->class, f->n_class, sizeof(*f->class), by_size);
	for (size_t i = 0; i < f->n_class; i++)
		json_array_append_new(list, class_json(&f->class[i], &differences));
	return json_pack("{s:s, s:i, s:I, s:o, s:I, s:o}", "schema", "gpuprobe-fleet/1", "exit_code",
			 f->skipped ? 3 : differences ? 1 : 0, "hosts", (json_int_t)f->hosts, "classes", list, "skipped",
			 (json_int_t)f->skipped, "reasons", strings(&f->reasons));
}
