/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the processes that hold GPUs to documents, text and metrics. */
#include <stdio.h>
#include <string.h>
#include "probe/holder/holder.h"

static const char *const states[] = { [PR_HOLDER_UNKNOWN] = "unknown",
				      [PR_HOLDER_RUNS] = "runs",
				      [PR_HOLDER_EXITING] = "exiting",
				      [PR_HOLDER_ZOMBIE] = "zombie",
				      [PR_HOLDER_GONE] = "gone" };
static const char *const kinds[] = { "Slurm job", "pod", "container", "unit" };

json_t *pr_holder_json(const struct pr_holder *p)
{
	json_t *o = json_object(), *memory = p->memory_bytes < 0 ? json_string("unknown") : json_integer(p->memory_bytes),
	       *group = p->kind ? json_pack("{s:s, s:o}", "kind", p->kind, "id", gt_json_str(p->group)) : json_null();

	/* a host can have thousands of holders, and json_pack() is slower */
	json_object_set_new_nocheck(o, "pid", json_integer(p->pid));
	json_object_set_new_nocheck(o, "name", gt_json_str(p->name));
	json_object_set_new_nocheck(o, "user", gt_json_str(p->user));
	json_object_set_new_nocheck(o, "state", json_string(states[p->state]));
	json_object_set_new_nocheck(o, "memory_bytes", memory);
	json_object_set_new_nocheck(o, "group", group);
	return o;
}

/* Returns the element of list that equals s; NULL: none. Strings of a capture are untrusted. */
static const char *one_of(const char *const *list, size_t n, const char *s)
{
	for (size_t i = 0; s && i < n; i++)
		if (!strcmp(list[i], s))
			return list[i];
	return NULL;
}

static char *copy_of(const json_t *o, const char *key)
{
	const char *s = gt_json_get_str(o, key, NULL);

	return s ? gt_xstrdup(s) : NULL;
}

void pr_holder_take(const json_t *o, struct pr_holder *ret)
{
	const json_t *group = json_object_get(o, "group");
	const char *state = gt_json_get_str(o, "state", "unknown");

	*ret = (struct pr_holder){ .pid = gt_json_get_int(o, "pid", 0),
				   .memory_bytes = GT_MAX(gt_json_get_int(o, "memory_bytes", -1), INT64_C(-1)),
				   .name = copy_of(o, "name"),
				   .user = copy_of(o, "user"),
				   .kind = one_of(kinds, GT_ARRAY_SIZE(kinds), gt_json_get_str(group, "kind", NULL)) };
	ret->group = ret->kind ? copy_of(group, "id") : NULL;
	for (size_t i = 0; i < GT_ARRAY_SIZE(states); i++)
		if (!strcmp(states[i], state))
			ret->state = (enum pr_holder_state)i;
}

/* ---- text ----------------------------------------------------------------------------------------------------- */

/* Formats the user and the group: "alice, Slurm job 77". The caller frees it. */
static char *owner_text(const json_t *p)
{
	const json_t *group = json_object_get(p, "group");
	const char *user = gt_json_get_str(p, "user", NULL), *kind = gt_json_get_str(group, "kind", NULL);

	return gt_xasprintf("%s%s%s%s%s", user ? user : "", user && kind ? ", " : "", kind ? kind : "", kind ? " " : "",
			    kind ? gt_json_get_str(group, "id", "?") : "");
}

char *pr_holders_text(const json_t *processes, size_t most)
{
	size_t n = json_array_size(processes);
	struct gt_buf b = { 0 };

	for (size_t i = 0; i < n && i < most; i++) {
		const json_t *p = json_array_get(processes, i);
		const char *state = gt_json_get_str(p, "state", "unknown");
		gt_autofree char *owner = owner_text(p);
		int64_t bytes = gt_json_get_int(p, "memory_bytes", -1);
		char memory[32];

		gt_buf_printf(&b, "%s%lld %s", b.len ? "; " : "", (long long)gt_json_get_int(p, "pid", 0),
			      gt_json_get_str(p, "name", strcmp(state, "gone") ? "(not visible)" : "(gone)"));
		if (*owner)
			gt_buf_printf(&b, " (%s)", owner);
		if (strcmp(state, "runs") && strcmp(state, "unknown") && strcmp(state, "gone"))
			gt_buf_printf(&b, ", %s", state);
		if (bytes >= 0) {
			gt_format_bytes(memory, sizeof(memory), (uint64_t)bytes);
			gt_buf_printf(&b, ", %s", memory);
		}
	}
	if (n > most)
		gt_buf_printf(&b, "; %zu more", n - most);
	return gt_buf_take(&b);
}

/* ---- groups for metrics --------------------------------------------------------------------------------------- */

static json_t *group_of(json_t *groups, const char *user, const char *group)
{
	json_t *g;
	size_t i;

	json_array_foreach(groups, i, g)
		if (!strcmp(gt_json_get_str(g, "user", ""), user) && !strcmp(gt_json_get_str(g, "group", ""), group))
			return g;
	g = json_pack("{s:o, s:o, s:i, s:i}", "user", gt_json_str(user), "group", gt_json_str(group), "processes", 0,
		      "memory_bytes", 0);
	json_array_append_new(groups, g);
	return g;
}

static void add_to(json_t *group, int64_t processes, int64_t bytes)
{
	json_object_set_new(group, "processes", json_integer(gt_json_get_int(group, "processes", 0) + processes));
	json_object_set_new(group, "memory_bytes",
			    json_integer((json_int_t)((uint64_t)gt_json_get_int(group, "memory_bytes", 0) + (uint64_t)bytes)));
}

/* Moves the group with the most memory to the end of `to`. */
static void move_largest(json_t *from, json_t *to)
{
	size_t best = 0;

	for (size_t i = 1; i < json_array_size(from); i++)
		if (gt_json_get_int(json_array_get(from, i), "memory_bytes", 0) >
		    gt_json_get_int(json_array_get(from, best), "memory_bytes", 0))
			best = i;
	json_array_append(to, json_array_get(from, best));
	json_array_remove(from, best);
}

json_t *pr_holder_groups(const json_t *processes, size_t most)
{
	gt_auto_json *all = json_array();
	json_t *ret = json_array(), *p;
	size_t i;

	json_array_foreach(processes, i, p) {
		const json_t *g = json_object_get(p, "group");
		const char *kind = gt_json_get_str(g, "kind", NULL);
		gt_autofree char *name = kind ? gt_xasprintf("%s %s", kind, gt_json_get_str(g, "id", "?")) : gt_xstrdup("none");

		add_to(group_of(all, gt_json_get_str(p, "user", "unknown"), name), 1, gt_json_get_int(p, "memory_bytes", 0));
	}
	while (json_array_size(all) && json_array_size(ret) < most)
		move_largest(all, ret);
	json_array_foreach(all, i, p)
		add_to(group_of(ret, "other", "other"), gt_json_get_int(p, "processes", 0), gt_json_get_int(p, "memory_bytes", 0));
	return ret;
}

static void put_head(struct gt_buf *out, const char *prefix, const char *name, const char *help)
{
	gt_buf_printf(out, "# HELP %s_%s %s\n# TYPE %s_%s gauge\n", prefix, name, help, prefix, name);
}

static void put_gpu(struct gt_buf *out, const char *prefix, const char *name, const json_t *gpu)
{
	gt_buf_printf(out, "%s_%s{", prefix, name);
	if (json_is_integer(json_object_get(gpu, "index")))
		gt_buf_printf(out, "gpu=\"%d\",", (int)gt_json_get_int(gpu, "index", -1));
	gt_buf_label(out, "pci", gt_json_get_str(gpu, "pci", "unknown"));
}

static void put_groups(struct gt_buf *out, const char *prefix, const json_t *gpu)
{
	gt_auto_json *groups = pr_holder_groups(json_object_get(gpu, "processes"), PR_HOLDER_LABELS);
	const json_t *g;
	size_t i;

	json_array_foreach(groups, i, g) {
		put_gpu(out, prefix, "gpu_holder_memory_bytes", gpu);
		gt_buf_puts(out, ",");
		gt_buf_label(out, "user", gt_json_get_str(g, "user", "unknown"));
		gt_buf_puts(out, ",");
		gt_buf_label(out, "group", gt_json_get_str(g, "group", "none"));
		gt_buf_printf(out, "} %lld\n", (long long)gt_json_get_int(g, "memory_bytes", 0));
	}
}

void pr_holder_metrics(struct gt_buf *out, const char *prefix, const json_t *gpus)
{
	size_t i, n = 0, processes = 0;
	const json_t *g;

	json_array_foreach(gpus, i, g)
		if (gt_json_get_bool(g, "complete", false)) {
			if (!n++)
				put_head(out, prefix, "gpu_processes", "processes that hold the GPU");
			put_gpu(out, prefix, "gpu_processes", g);
			gt_buf_printf(out, "} %zu\n", json_array_size(json_object_get(g, "processes")));
		}
	json_array_foreach(gpus, i, g) {
		if (!processes && json_array_size(json_object_get(g, "processes")))
			put_head(out, prefix, "gpu_holder_memory_bytes", "GPU memory of the processes of a user and group");
		processes += json_array_size(json_object_get(g, "processes"));
		put_groups(out, prefix, g);
	}
}
