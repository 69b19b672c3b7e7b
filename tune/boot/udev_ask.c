/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rule that decides a kernel file. */
#include <fnmatch.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "tune/boot/udev.h"
#include "tune/model/value.h"

#define MOST_NAMED 3 /* maximum number of listed lines that may set the file */

/* Programs that set a file without its name on their command line. */
static const struct {
	const char *leaf, *words;
} programs[] = {
	{"read_ahead_kb", "--setra"},
	{"scaling_governor", "cpupower"},
	{"scaling_governor", "cpufreq-set"},
	{"energy_performance_preference", "x86_energy_perf_policy"},
	{"energy_perf_bias", "x86_energy_perf_policy"},
};

struct ask {
	struct tn_udev *u;
	const char *path, *real, *leaf, *own;
	const struct tn_udev_device *d; /* the event's device */
	struct tn_udev_answer a;	/* answer for this event; `may` is filled last */
	const char *otherwise;		/* value that remains if this event sets none; NULL: unknown */
	struct gt_strv may, lasting;	/* a later certain rule of the event overrides the lines in may, but not those in lasting */
};

void tn_udev_answer_clear(struct tn_udev_answer *a)
{
	free(a->value);
	free(a->by);
	free(a->may);
	*a = (struct tn_udev_answer){0};
}

static void add(struct gt_strv *list, char *what)
{
	if (list->n < MOST_NAMED && !gt_strv_has(list, what))
		gt_strv_take(list, what);
	else
		free(what);
}

/* Returns whether the text contains leaf as an attribute or as part of a path, or a program that sets it. */
static bool names_leaf(const char *text, const char *leaf)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(programs); i++)
		if (!strcmp(programs[i].leaf, leaf) && strstr(text, programs[i].words))
			return true;
	for (const char *p = text; (p = strstr(p, leaf)); p++)
		if (p > text && strchr("/{].", p[-1]))
			return true;
	return false;
}

/* Returns whether the rule is gputune's own or takes effect before it. */
static bool is_skipped(const struct ask *q, const struct tn_udev_rule *r)
{
	const char *file = q->u->files.v[r->file];

	return (q->u->without_gputune && !strcmp(file, TN_UDEV_RULE_PATH)) ||
	       (q->own && strcmp(gt_basename(file), gt_basename(TN_UDEV_RULE_PATH)) <= 0);
}

static char *where(const struct ask *q, const struct tn_udev_rule *r)
{
	return gt_xasprintf("%s:%u", q->u->files.v[r->file], r->line);
}

/* A RUN program starts after all rules, so no later rule overrides it. */
static void may_run(struct ask *q, const struct tn_udev_rule *r)
{
	gt_autofree char *at = where(q, r);

	add(&q->lasting, gt_xasprintf("%s may set it: it runs a program", at));
}

static void may_set(struct ask *q, const struct tn_udev_rule *r, const struct tn_udev_token *t, const char *depends_on)
{
	const char *otherwise = q->a.value ? q->a.value : q->otherwise;
	gt_autofree char *at = where(q, r);

	if (!t->literal)
		add(&q->may, gt_xasprintf("%s may set it, depending on %s", at, depends_on));
	else if (!otherwise || !tn_value_equal(t->value, otherwise)) /* in other cases both values are equal */
		add(&q->may, gt_xasprintf("%s may set it to %.40s, depending on %s", at, t->value, depends_on));
}

/* Returns whether the attribute may be a file outside the device's directory (a substitution, "[…]" or ".."). */
static bool is_elsewhere(const char *attr)
{
	return strpbrk(attr, "[*%$") || strstr(attr, "..");
}

/*
 * Returns whether the attribute of this device is the file in question. The kernel shows a disk's read-ahead in two
 * places. On a captured host the link from a CPU to its policy is missing.
 */
static bool is_target(const struct ask *q, const char *attr)
{
	gt_autofree char *path = gt_xasprintf("%s/%s", q->d->path, attr), *real = NULL;

	if (is_elsewhere(attr) || strcmp(gt_basename(attr), q->leaf))
		return false;
	if (!strcmp(gt_fs_realpath(q->u->fs, path, &real) >= 0 ? real : path, q->real))
		return true;
	return strstr(q->d->path, "/bdi/") ? !strchr(attr, '/')
					   : strstr(q->real, "/cpufreq/policy") && !fnmatch("cpu[0-9]*", q->d->name, 0) &&
						     !fnmatch("cpufreq/*", attr, FNM_PATHNAME);
}

/*
 * Returns whether the kernel would accept the value. It refuses a choice that the file does not list, unless a module
 * adds it.
 */
static bool is_offered(const struct ask *q, const char *value)
{
	gt_autofree char *line = NULL;

	return gt_fs_read_line(q->u->fs, q->path, &line) < 0 || !strchr(line, '[') || tn_offers(line, value);
}

static void did(void *ctx, const struct tn_udev_rule *r, const struct tn_udev_token *t, const char *depends_on)
{
	struct ask *q = ctx;

	if (tn_udev_sets(t, "RUN") && names_leaf(t->value, q->leaf))
		may_run(q, r);
	if (!tn_udev_sets(t, "ATTR") || is_skipped(q, r) || !is_target(q, t->name))
		return;
	if (depends_on || !is_offered(q, t->value)) {
		may_set(q, r, t, depends_on ? depends_on : "its module");
		return;
	}
	gt_strv_clear(&q->may);
	tn_udev_answer_clear(&q->a);
	q->a.value = gt_xstrdup(t->value);
	q->a.by = where(q, r);
}

static void keep_may(struct ask *q)
{
	for (size_t i = 0; i < q->may.n; i++)
		add(&q->lasting, gt_xstrdup(q->may.v[i]));
	gt_strv_clear(&q->may);
}

/*
 * Several devices may set one file, in no certain order. A "change" event occurs each time a disk that was open for
 * writing is closed.
 */
static void ask_event(struct ask *q, const char *action)
{
	struct tn_udev_answer before = q->a;
	bool change = !strcmp(action, "change");

	q->a = (struct tn_udev_answer){0};
	q->otherwise = before.value ? before.value : q->own;
	tn_udev_event(q->u, q->d, action, did, q);
	keep_may(q);
	if (q->a.value && change && !tn_value_equal(q->a.value, q->otherwise))
		add(&q->lasting, gt_xasprintf("%s sets it to %s each time that the disk was open for writing", q->a.by,
					      q->a.value));
	else if (q->a.value && before.value && !tn_value_equal(q->a.value, before.value))
		add(&q->lasting, gt_xasprintf("%s sets it to %s at about the same time, for another device", before.by,
					      before.value));
	q->otherwise = q->own;
	tn_udev_answer_clear(q->a.value && !change ? &before : &q->a);
	if (!q->a.value)
		q->a = before;
}

static void ask_device(struct ask *q, const char *path)
{
	struct tn_udev_device d;

	if (!tn_udev_device_open(q->u->fs, path, &d))
		return;
	q->d = &d;
	ask_event(q, "add");
	if (strstr(d.path, "/block/"))
		ask_event(q, "change");
	q->d = NULL;
	tn_udev_device_clear(&d);
}

/* Asks all device directories above the file, the outermost first. */
static void ask_above(struct ask *q)
{
	for (const char *p = q->real + 1; (p = strchr(p, '/')); p++) {
		gt_autofree char *dir = gt_xstrndup(q->real, (size_t)(p - q->real));

		ask_device(q, dir);
	}
}

/* Asks the CPUs of a frequency policy, and the device that shows a disk's read-ahead. */
static void ask_related(struct ask *q)
{
	gt_autofree char *dir = gt_dirname(q->real);
	bool policy = gt_starts_with(gt_basename(dir), "policy");
	gt_autofree char *file = gt_xasprintf("%s/%s", dir, policy ? "affected_cpus" : "../dev"), *list = NULL;

	if (!policy && strcmp(q->leaf, "read_ahead_kb"))
		return;
	if (gt_fs_read_line(q->u->fs, file, &list) < 0)
		list = gt_xstrdup(policy ? gt_basename(dir) + strlen("policy") : "");
	gt_each_word(id, list, " ") {
		gt_autofree char *path = gt_xasprintf(policy ? "/sys/devices/system/cpu/cpu%s" : "/sys/class/bdi/%s", id);

		ask_device(q, path);
	}
}

/* Returns whether an event of some device reaches the file through this assignment. */
static bool names_file(const struct ask *q, const struct tn_udev_token *t)
{
	gt_autofree char *key = NULL, *own = NULL;

	if (tn_udev_sets(t, "RUN"))
		return strstr(t->value, q->path) || strstr(t->value, q->real);
	if (tn_udev_sets(t, "ATTR"))
		return is_elsewhere(t->name) && !strcmp(gt_basename(t->name), q->leaf);
	if (!tn_udev_sets(t, "SYSCTL") || !gt_starts_with(q->path, "/proc/sys/"))
		return false;
	key = sc_normalize(q->path + strlen("/proc/sys/"));
	own = sc_normalize(t->name);
	return !strcmp(own, key);
}

static void ask_anywhere(struct ask *q)
{
	for (size_t i = 0; i < q->u->n; i++) {
		const struct tn_udev_rule *r = &q->u->rule[i];

		for (size_t k = 0; k < r->n; k++) {
			if (!names_file(q, &r->token[k]))
				continue;
			if (tn_udev_sets(&r->token[k], "RUN"))
				may_run(q, r);
			else if (!is_skipped(q, r))
				may_set(q, r, &r->token[k], "the event");
		}
	}
	keep_may(q);
}

void tn_udev_ask(struct tn_udev *u, const char *path, const char *own, struct tn_udev_answer *ret)
{
	struct ask q = {.u = u, .path = path, .leaf = gt_basename(path), .own = own, .otherwise = own};
	gt_autofree char *real = NULL;
	gt_auto_buf may = {0};
	size_t i = 0;

	*ret = (struct tn_udev_answer){0};
	while (i < u->texts.n && !names_leaf(u->texts.v[i], q.leaf))
		i++;
	if (i == u->texts.n) /* most hosts have no such line, and nothing has to be parsed */
		return;
	tn_udev_parse(u);
	if (gt_fs_realpath(u->fs, path, &real) < 0)
		real = gt_xstrdup(path);
	q.real = real;
	if (gt_starts_with(path, "/sys/")) {
		ask_above(&q);
		ask_related(&q);
	}
	ask_anywhere(&q);
	for (i = 0; i < q.lasting.n; i++)
		gt_buf_printf(&may, "%s%s", i ? "; " : "", q.lasting.v[i]);
	q.a.may = may.len ? gt_buf_take(&may) : NULL;
	gt_strv_clear(&q.lasting);
	*ret = q.a;
}
