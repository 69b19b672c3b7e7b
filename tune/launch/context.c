/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tune/launch/context.h"

const char *tn_var_status_name(enum tn_var_status s)
{
	static const char *const name[] = { [TN_VAR_SET] = "set", [TN_VAR_KEPT] = "kept", [TN_VAR_SKIPPED] = "skipped" };

	return name[s];
}

const char *tn_run_user(const struct tn_launch *c, const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = c->envp; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

const char *tn_run_value(const struct tn_launch *c, const char *name)
{
	const char *value = tn_run_user(c, name);

	return value && *value ? value : NULL;
}

static void add_var(struct tn_run *r, const char *name, const char *value, char *reason, enum tn_var_status status)
{
	r->var = gt_xrealloc(r->var, (r->n_var + 1) * sizeof(*r->var));
	r->var[r->n_var++] = (struct tn_var){ .setting = r->setting, .name = gt_xstrdup(name),
					      .value = value ? gt_xstrdup(value) : NULL, .reason = reason, .status = status };
}

static void GT_PRINTF(5, 0) add(struct tn_run *r, const char *name, const char *value, enum tn_var_status status,
				const char *fmt, va_list ap)
{
	char reason[512];

	vsnprintf(reason, sizeof(reason), fmt, ap);
	add_var(r, name, value, gt_xstrdup(reason), status);
}

void tn_run_set(const struct tn_launch *c, struct tn_run *r, const char *name, const char *value, const char *fmt, ...)
{
	const char *user = tn_run_value(c, name);
	va_list ap;

	/* a value that consists of the user's value and a suffix extends it */
	if (user && !(gt_starts_with(value, user) && value[strlen(user)] == ':')) {
		add_var(r, name, user,
			*value ? gt_xasprintf("set by the user; would be %s", value) : gt_xstrdup("set by the user"), TN_VAR_KEPT);
		return;
	}
	va_start(ap, fmt);
	add(r, name, value, TN_VAR_SET, fmt, ap);
	va_end(ap);
}

void tn_run_add(const struct tn_launch *c, struct tn_run *r, const char *name, const char *value, const char *reason)
{
	for (size_t i = 0; i < r->n_var; i++) {
		struct tn_var *v = &r->var[i];
		gt_autofree char *old_value = NULL, *old_reason = NULL;

		if (v->status != TN_VAR_SET || strcmp(v->name, name))
			continue;
		old_value = v->value;
		old_reason = v->reason;
		v->value = gt_xasprintf("%s:%s", old_value, value);
		v->reason = gt_xasprintf("%s; %s", old_reason, reason);
		return;
	}
	tn_run_set(c, r, name, value, "%s", reason);
}

void tn_run_preload(const struct tn_launch *c, struct tn_run *r, const char *path, const char *reason)
{
	const char *user = tn_run_value(c, "LD_PRELOAD");
	gt_autofree char *after = user ? gt_xasprintf("%s:%s", user, path) : NULL;

	for (size_t i = 0; i < r->n_var && after; i++)
		if (!strcmp(r->var[i].name, "LD_PRELOAD") && r->var[i].status == TN_VAR_SET)
			free(gt_take(after)); /* already contains the user's libraries */
	tn_run_add(c, r, "LD_PRELOAD", after ? after : path, reason);
}

void tn_run_replace(struct tn_run *r, const char *name, const char *value, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(r, name, value, TN_VAR_SET, fmt, ap);
	va_end(ap);
}

void tn_run_keep(struct tn_run *r, const char *name, const char *value, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(r, name, value, TN_VAR_KEPT, fmt, ap);
	va_end(ap);
}

void tn_run_skip(struct tn_run *r, const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(r, name, NULL, TN_VAR_SKIPPED, fmt, ap);
	va_end(ap);
}

void tn_run_leave(const struct tn_launch *c, struct tn_run *r, const char *name, const char *why)
{
	if (tn_run_value(c, name))
		tn_run_keep(r, name, tn_run_value(c, name), "set by the user");
	else
		tn_run_skip(r, name, "%s", why);
}

void tn_run_free(struct tn_run *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_var; i++) {
		free(r->var[i].name);
		free(r->var[i].value);
		free(r->var[i].reason);
	}
	free(r->var);
	gt_set_clear(&r->cpus);
	gt_set_clear(&r->mem_nodes);
	free(r->processes_reason);
	free(r->cpus_reason);
	free(r->mem_reason);
	free(r->files_reason);
	free(r->rank_program);
	free(r->rank_plan);
	free(r->profile);
	free(r);
}
