/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule decides a kernel file. */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "sysctl/sysctl.h"
#include "tune/boot/udev.h"
#include "tune/model/value.h"

#define MOST_SAID 3 /* lines that may set it; who has more of them needs no list */

/* Programs that set it without naming its file. */
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
	const char *path, *real, *leaf, *ours;
	const struct tn_udev_device *d; /* whose event it is */
	struct tn_udev_answer a;
	size_t n_may;
	char *runs;   /* programs that the event at hand starts: after all its lines, whichever they stand before */
	bool *judged; /* lines that were carried out without doubt */
};

void tn_udev_answer_clear(struct tn_udev_answer *a)
{
	free(a->value);
	free(a->by);
	free(a->may);
	*a = (struct tn_udev_answer){0};
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool after_ours(const char *file)
{
	return strcmp(base_name(file), base_name(TN_UDEV_RULE_PATH)) > 0;
}

static char *where(const struct tn_udev *u, const struct tn_udev_line *l)
{
	return gt_xasprintf("%s:%u", u->files.v[l->file], l->no);
}

/* Is leaf named in the text, as an attribute or as part of a path? */
static bool names_leaf(const char *text, const char *leaf)
{
	for (const char *p = text; (p = strstr(p, leaf)); p++)
		if (p > text && strchr("/{].", p[-1]))
			return true;
	return false;
}

static bool program_sets(const char *command, const char *leaf)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(programs); i++)
		if (!strcmp(programs[i].leaf, leaf) && strstr(command, programs[i].words))
			return true;
	return names_leaf(command, leaf);
}

/* Most hosts have no rule that names it: then nothing has to be parsed. */
static bool is_named(const struct tn_udev *u, const char *leaf)
{
	for (size_t i = 0; i < u->texts.n; i++)
		if (program_sets(u->texts.v[i], leaf))
			return true;
	return false;
}

static void forget_may(struct ask *q)
{
	free(gt_take(q->a.may));
	q->n_may = 0;
}

static void add_may(struct ask *q, char *what)
{
	char *old = q->a.may;

	if (q->n_may++ >= MOST_SAID || (old && strstr(old, what))) {
		free(what);
		return;
	}
	q->a.may = old ? gt_xasprintf("%s; %s", old, what) : gt_take(what);
	if (old)
		free(what);
	free(old);
}

/* how: ", depending on PROGRAM". */
static void may_set(struct ask *q, const struct tn_udev_line *l, const char *value, const char *how)
{
	gt_autofree char *at = where(q->u, l);
	const char *else_ = q->a.value ? q->a.value : q->ours;

	if (value && else_ && tn_value_equal(value, else_)) /* whether or not, it is that */
		return;
	if (value)
		add_may(q, gt_xasprintf("%s may set it to %.40s%s", at, value, how));
	else
		add_may(q, gt_xasprintf("%s may set it%s", at, how));
}

static void may_run(struct ask *q, const struct tn_udev_line *l, const char *how)
{
	gt_autofree char *at = where(q->u, l), *old = q->runs;

	q->runs = gt_xasprintf("%s%s%s may set it%s", old ? old : "", old ? "; " : "", at, how);
}

static bool is_target(const struct ask *q, const char *attr)
{
	gt_autofree char *path = tn_udev_attr_path(q->d, attr), *real = NULL;

	if (gt_fs_realpath(q->u->fs, path, &real) >= 0)
		return !strcmp(real, q->real);
	return !strcmp(path, q->path) || !strcmp(path, q->real);
}

/* The same file by another way: a disk's read-ahead, which the kernel shows in two places, and the policy that a CPU
 * has a link to, which a captured host lacks. Only such devices are asked that belong to the file. */
static bool is_alias(const struct ask *q, const char *attr)
{
	if (strstr(q->d->path, "/bdi/"))
		return !strcmp(attr, q->leaf);
	return strstr(q->real, "/cpufreq/policy") && gt_starts_with(attr, "cpufreq/") &&
	       !strcmp(base_name(attr), q->leaf) && gt_starts_with(q->d->name, "cpu");
}

/* A choice that is not offered, which the kernel refuses; a scheduler may come with its module. */
static bool is_offered(const struct ask *q, const char *value)
{
	gt_autofree char *line = NULL;

	if (gt_fs_read_line(q->u->fs, q->path, &line) < 0 || !strchr(line, '['))
		return true;
	for (const char *p = line; *p; p += strcspn(p, " []")) {
		p += strspn(p, " []");
		if (strcspn(p, " []") == strlen(value) && !strncmp(p, value, strlen(value)))
			return true;
	}
	return false;
}

static void attr_set(struct ask *q, const struct tn_udev_line *l, const char *value, bool sure, const char *why)
{
	bool offered = !value || is_offered(q, value);
	gt_autofree char *how = gt_xasprintf(", depending on %s", offered ? why : "its module");

	q->judged[l - q->u->line] |= sure;
	if (!offered && strcmp(q->leaf, "scheduler"))
		return;
	if (!sure || !value || !offered) {
		may_set(q, l, value, how);
		return;
	}
	forget_may(q);
	free(q->a.value);
	free(q->a.by);
	q->a.value = gt_xstrdup(value);
	q->a.by = where(q->u, l);
}

static void did(void *ctx, const struct tn_udev_line *l, const struct tn_udev_token *t, const char *value, bool sure,
		const char *why)
{
	struct ask *q = ctx;
	gt_autofree char *how = NULL;

	if (q->u->without_ours && !strcmp(q->u->files.v[l->file], TN_UDEV_RULE_PATH))
		return;
	if (t->key == TN_UDEV_A_ATTR) {
		if (q->ours && !after_ours(q->u->files.v[l->file]))
			return;
		if (strstr(t->attr, "/*/") && !strcmp(base_name(t->attr), q->leaf))
			may_set(q, l, value, ", depending on which file the pattern finds first");
		else if (is_target(q, t->attr) || is_alias(q, t->attr))
			attr_set(q, l, value, sure, why);
	} else if (t->key == TN_UDEV_A_RUN && program_sets(value ? value : t->value, q->leaf)) {
		q->judged[l - q->u->line] = true;
		how = gt_xasprintf(": it runs a program%s%s", sure ? "" : ", depending on ", sure ? "" : why);
		may_run(q, l, how);
	}
}

static void take_event(struct ask *q, const char *action)
{
	tn_udev_event(q->u, q->d, action, did, q);
	if (q->runs)
		add_may(q, gt_take(q->runs));
}

/* A disk reports a change whenever it was open for writing: then all rules for that are carried out, those for its
 * appearance are not. What they say the same is said already. */
static void ask_change(struct ask *q)
{
	struct tn_udev_answer add = q->a;
	size_t n_add = q->n_may;
	char *late = NULL;

	q->a = (struct tn_udev_answer){0};
	q->n_may = 0;
	take_event(q, "change");
	if (q->a.value && !tn_value_equal(q->a.value, add.value ? add.value : q->ours))
		late = gt_xasprintf("%s sets it to %s whenever the disk was open for writing", q->a.by, q->a.value);
	if (q->a.may && !add.may)
		add.may = gt_take(q->a.may);
	tn_udev_answer_clear(&q->a);
	q->a = add;
	q->n_may = n_add;
	if (late)
		add_may(q, late);
}

static void ask_device(struct ask *q, const char *path)
{
	struct tn_udev_device d;
	struct tn_udev_answer before = q->a;
	size_t n_before = q->n_may;

	if (!tn_udev_device_open(q->u->fs, path, &d))
		return;
	q->d = &d;
	q->a = (struct tn_udev_answer){0};
	q->n_may = 0;
	take_event(q, "add");
	if (strstr(d.path, "/block/"))
		ask_change(q);
	if (!q->a.value) {
		q->a.value = gt_take(before.value);
		q->a.by = gt_take(before.by);
	} else if (before.value && !tn_value_equal(before.value, q->a.value)) {
		add_may(q, gt_xasprintf("%s sets it to %s at about the same time, for another device", before.by,
					before.value));
	}
	if (before.may)
		add_may(q, gt_xstrdup(before.may));
	q->n_may = GT_MAX(q->n_may, n_before);
	q->d = NULL;
	tn_udev_answer_clear(&before);
	tn_udev_device_clear(&d);
}

/* Every directory above the file that is a device, the outermost first. */
static void ask_above(struct ask *q)
{
	for (const char *p = q->real + 1; (p = strchr(p, '/')); p++) {
		gt_autofree char *dir = gt_xstrndup(q->real, (size_t)(p - q->real));

		ask_device(q, dir);
	}
}

/* CPUs reach their policy by a link, and disks their read-ahead by another device. */
static void ask_beside(struct ask *q)
{
	gt_autofree char *dir = gt_xstrndup(q->real, (size_t)(strrchr(q->real, '/') - q->real)), *list = NULL,
			 *dev = NULL, *file = NULL;
	const char *policy = gt_starts_with(base_name(dir), "policy") ? base_name(dir) + strlen("policy") : NULL;
	char *save = NULL;

	if (policy) {
		file = gt_xasprintf("%s/affected_cpus", dir);
		if (gt_fs_read_line(q->u->fs, file, &list) < 0)
			list = gt_xstrdup(policy);
		for (char *cpu = strtok_r(list, " ", &save); cpu; cpu = strtok_r(NULL, " ", &save)) {
			gt_autofree char *path = gt_xasprintf("/sys/devices/system/cpu/cpu%s", cpu);

			ask_device(q, path);
		}
	} else if (!strcmp(q->leaf, "read_ahead_kb")) {
		file = gt_xasprintf("%s/../dev", dir);
		if (gt_fs_read_line(q->u->fs, file, &dev) >= 0) {
			gt_autofree char *path = gt_xasprintf("/sys/class/bdi/%s", dev);

			ask_device(q, path);
		}
	}
}

/* Lines that name the file itself, whatever device's event they wait for. */
static void ask_anywhere(struct ask *q)
{
	struct tn_udev_device none = {.fs = q->u->fs, .path = (char *)"", .name = (char *)""};

	q->d = &none;
	for (size_t i = 0; i < q->u->n; i++) {
		const struct tn_udev_line *l = &q->u->line[i];
		const char *file = q->u->files.v[l->file];

		for (size_t k = 0; k < l->n && !q->judged[i]; k++) {
			const struct tn_udev_token *t = &l->token[k];
			bool placed = strpbrk(t->value, "%$");

			if (t->key == TN_UDEV_A_ATTR && strchr("[.", *t->attr) &&
			    !strcmp(base_name(t->attr), q->leaf) && (*t->attr == '.' || is_target(q, t->attr)) &&
			    (!q->ours || after_ours(file)))
				may_set(q, l, placed ? NULL : t->value, " if there is an event that it is for");
			if (t->key == TN_UDEV_A_RUN && (strstr(t->value, q->path) || strstr(t->value, q->real)))
				may_set(q, l, NULL, ": it runs a program, if there is an event that it is for");
		}
	}
	q->d = NULL;
}

/* SYSCTL{…} of any event: which of them come, and when, only the boot shows. */
static void ask_sysctl(struct ask *q)
{
	gt_autofree char *key = sc_normalize(q->path + strlen("/proc/sys/"));

	for (size_t i = 0; i < q->u->n; i++) {
		const struct tn_udev_line *l = &q->u->line[i];

		for (size_t k = 0; k < l->n; k++) {
			const struct tn_udev_token *t = &l->token[k];
			gt_autofree char *own = t->key == TN_UDEV_A_SYSCTL ? sc_normalize(t->attr) : NULL;

			if (gt_streq(own, key)) {
				gt_autofree char *taken = strpbrk(t->value, "%$") ? NULL : sc_taken(key, t->value);

				may_set(q, l, taken, " when its event comes");
			}
			if (t->key == TN_UDEV_A_RUN && strstr(t->value, q->path))
				may_set(q, l, NULL, ": it runs a program, if there is an event that it is for");
		}
	}
}

void tn_udev_ask(struct tn_udev *u, const char *path, const char *ours, struct tn_udev_answer *ret)
{
	gt_autofree char *real = NULL;
	struct ask q = {.u = u, .path = path, .leaf = base_name(path), .ours = ours};

	*ret = (struct tn_udev_answer){0};
	if (!is_named(u, q.leaf))
		return;
	tn_udev_parse(u);
	q.judged = gt_xcalloc(u->n + 1, sizeof(*q.judged));
	if (gt_fs_realpath(u->fs, path, &real) < 0)
		real = gt_xstrdup(path);
	q.real = real;
	if (gt_starts_with(path, "/proc/sys/")) {
		ask_sysctl(&q);
	} else {
		ask_above(&q);
		ask_beside(&q);
		ask_anywhere(&q);
	}
	free(q.judged);
	*ret = q.a;
}
