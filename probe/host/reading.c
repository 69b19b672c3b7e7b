/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/host/reading.h"

const char *pr_state_name(enum pr_state s)
{
	static const char *const name[] = { [PR_UNKNOWN] = "unknown",
					    [PR_PRESENT] = "present",
					    [PR_ABSENT] = "absent",
					    [PR_UNREADABLE] = "unreadable",
					    [PR_BROKEN] = "broken" };

	return name[s];
}

enum pr_state pr_state_of(int r)
{
	switch (-r) {
	case 0:
		return PR_PRESENT;
	case ENOENT:
	case ENOTDIR:
	case ENODEV:
	case ENXIO:
		return PR_ABSENT;
	case EACCES:
	case EPERM:
		return PR_UNREADABLE;
	default:
		return PR_BROKEN;
	}
}

const char *pr_own(struct pr_host *h, char *s)
{
	gt_strv_take(&h->pool, s);
	return s;
}

const char *pr_keep(struct pr_host *h, const char *s)
{
	return s ? pr_own(h, gt_xstrdup(s)) : NULL;
}

struct pr_str pr_text(struct pr_host *h, const char *s)
{
	return (struct pr_str){ s ? PR_PRESENT : PR_ABSENT, pr_keep(h, s) };
}

struct pr_num pr_value(int64_t v)
{
	return (struct pr_num){ PR_PRESENT, v };
}

struct pr_str pr_read_str(struct pr_host *h, struct gt_fsroot *fs, const char *fmt, ...)
{
	char path[4096], *line = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	r = gt_fs_read_line(fs, path, &line);
	return (struct pr_str){ pr_state_of(r), r < 0 ? NULL : pr_own(h, line) };
}

struct pr_str pr_read_text(struct pr_host *h, struct gt_fsroot *fs, const char *path)
{
	char *text = NULL;
	int r = gt_fs_read_prefix(fs, path, 65536, &text, NULL);

	return (struct pr_str){ pr_state_of(r), r < 0 ? NULL : pr_own(h, text) };
}

struct pr_str pr_chosen(struct pr_host *h, struct pr_str line)
{
	const char *open = line.v ? strchr(line.v, '[') : NULL;
	gt_autofree char *word = open ? gt_xstrndup(open + 1, strcspn(open + 1, "]")) : NULL;

	return word ? pr_text(h, word) : line;
}

static struct pr_num read_num(struct gt_fsroot *fs, const char *path)
{
	int64_t v = 0;
	int r = gt_fs_read_i64(fs, path, &v);

	return (struct pr_num){ pr_state_of(r), v };
}

struct pr_num pr_read_num(struct gt_fsroot *fs, const char *fmt, ...)
{
	char path[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return read_num(fs, path);
}

struct pr_num pr_read_node(struct gt_fsroot *fs, const char *fmt, ...)
{
	char path[4096];
	struct pr_num n;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	n = read_num(fs, path);
	if (pr_has(n) && n.v < 0)
		n = (struct pr_num){ PR_ABSENT, 0 };
	return n;
}

int pr_read_cpus(struct gt_fsroot *fs, const char *dir, const char *list, const char *mask, struct gt_set *ret)
{
	gt_autofree char *list_path = gt_xasprintf("%s/%s", dir, list), *mask_path = gt_xasprintf("%s/%s", dir, mask),
			 *line = NULL;
	int r = gt_fs_read_line(fs, list_path, &line);

	if (r >= 0)
		return gt_parse_cpulist(line, ret);
	if (r != -ENOENT)
		return r;
	r = gt_fs_read_line(fs, mask_path, &line);
	return r < 0 ? r : gt_parse_cpumask(line, ret);
}

int pr_list_numbered(struct gt_fsroot *fs, const char *dir, const char *prefix, struct gt_set *ret)
{
	gt_auto_strv names = { 0 };
	gt_auto_set found = { 0 };
	int r = gt_fs_list(fs, dir, &names);
	uint64_t id;

	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++)
		if (gt_starts_with(names.v[i], prefix) && !gt_parse_u64(names.v[i] + strlen(prefix), &id) && id < GT_SET_MAX)
			gt_set_add(&found, (unsigned)id);
	if (!gt_set_count(&found))
		return -ENOENT;
	gt_set_copy(ret, &found);
	return 0;
}

json_t *pr_num_json(struct pr_num n)
{
	if (n.state == PR_PRESENT)
		return json_integer(n.v);
	return n.state == PR_ABSENT ? json_null() : json_string(pr_state_name(n.state));
}

json_t *pr_str_json(struct pr_str s)
{
	if (s.state == PR_PRESENT)
		return gt_json_str(s.v);
	return s.state == PR_ABSENT ? json_null() : json_pack("{s:s}", "state", pr_state_name(s.state));
}

/* ---- control groups ------------------------------------------------------------------------------------------- */

/* Modifies group. */
static void walk(struct gt_fsroot *fs, char *group, bool v2, pr_cgroup_fn see, void *arg)
{
	for (;;) {
		char *slash = strrchr(group, '/');

		if (!strcmp(group, "/"))
			*group = '\0';
		see(fs, arg, group, v2);
		if (!slash || !*group)
			return;
		*slash = '\0';
	}
}

/* Lines are ID:CONTROLLERS:PATH. For version 2 CONTROLLERS is empty. */
void pr_each_cgroup(struct gt_fsroot *fs, const char *controller, pr_cgroup_fn see, void *arg)
{
	gt_autofree char *text = NULL;

	if (gt_fs_read_prefix(fs, "/proc/self/cgroup", 65536, &text, NULL) < 0)
		return;
	gt_each_line(line, text) {
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group || group[1] != '/')
			continue;
		*group++ = '\0';
		controllers++;
		if (!*controllers || gt_word_in(controllers, ",", controller))
			walk(fs, group, !*controllers, see, arg);
	}
}
