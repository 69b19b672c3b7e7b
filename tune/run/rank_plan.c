/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/buf.h"
#include "tune/launch/rank.h"
#include "tune/preload/rank_variables.h"
#include "tune/launch/settings.h"
#include "tune/run/rank_plan.h"

#define SCHEMA "gputune-rank-plan/1"

static json_t *list(const struct gt_strv *v)
{
	json_t *j = json_array();

	for (size_t i = 0; v && i < v->n; i++)
		json_array_append_new(j, gt_json_str(v->v[i]));
	return j;
}

/* Returns the value in envp as a string, or null. */
static json_t *value_in(char *const *envp, const char *name)
{
	return gt_json_str(tn_run_user(&(struct tn_launch){.envp = envp}, name));
}

char *tn_rank_plan(const struct tn_run *run, const struct tn_run_opts *o)
{
	json_t *set = json_object();
	gt_auto_json *plan = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:o}", "schema", SCHEMA, "profile",
				       gt_json_str(o->profile), "only", list(o->only), "skip", list(o->skip), "allocator",
				       gt_json_str(o->allocator), "runtime", gt_json_str(o->runtime), "workers", (int)o->workers,
				       "openmp", o->program == TN_PROGRAM_OPENMP, "set", set);
	gt_autofree char *text = NULL;

	for (size_t i = 0; i < run->n_var; i++) {
		const struct tn_var *v = &run->var[i];

		/* the GPUs of --gpu are those of all ranks, which a launcher may divide; --loader is the same in all ranks */
		if (v->status == TN_VAR_SET && v->setting != &tn_launch_cuda_order && v->setting != &tn_launch_loader)
			json_object_set_new(set, v->name,
					    json_pack("[o, o]", gt_json_str(v->value),
						      value_in(o->envp ? o->envp : environ, v->name)));
	}
	text = json_dumps(plan, JSON_COMPACT);
	return gt_xstrdup(text ? text : "");
}

static void restore(const char *name, const char *before)
{
	if (before)
		setenv(name, before, 1);
	else
		unsetenv(name);
}

json_t *tn_rank_plan_undo(void)
{
	const char *text = getenv(TN_RANK_PLAN), *name;
	json_t *plan = NULL, *pair;

	if (!text || gt_json_parse(text, strlen(text), TN_RANK_PLAN, &plan, NULL) < 0 ||
	    gt_json_check_schema(plan, SCHEMA, TN_RANK_PLAN, NULL) < 0)
		return NULL;
	json_object_foreach(json_object_get(plan, "set"), name, pair)
	{
		const char *written = json_string_value(json_array_get(pair, 0));

		if (written && gt_streq(getenv(name), written))
			restore(name, json_string_value(json_array_get(pair, 1)));
	}
	unsetenv(TN_RANK_PLAN);
	unsetenv(TN_RANK_PROGRAM);
	return plan;
}

static void take_list(const json_t *plan, const char *key, struct gt_strv *ret)
{
	const json_t *word;
	size_t i;

	json_array_foreach(json_object_get(plan, key), i, word)
		if (json_is_string(word))
			gt_strv_add(ret, json_string_value(word));
}

void tn_rank_plan_opts(const json_t *plan, struct tn_run_opts *ret, struct gt_strv *only, struct gt_strv *skip)
{
	ret->profile = gt_json_get_str(plan, "profile", NULL);
	ret->allocator = gt_json_get_str(plan, "allocator", NULL);
	ret->runtime = gt_json_get_str(plan, "runtime", NULL);
	ret->workers = (unsigned)gt_json_get_int(plan, "workers", 0);
	ret->program = gt_json_get_bool(plan, "openmp", false) ? TN_PROGRAM_OPENMP : TN_PROGRAM_AUTO;
	take_list(plan, "only", only);
	take_list(plan, "skip", skip);
	ret->only = only;
	ret->skip = skip;
}

static void record(struct gt_buf *b, const char *kind, const char *text)
{
	gt_buf_printf(b, "%s%s", kind, text);
	gt_buf_add(b, "", 1);
}

static void record_variable(struct gt_buf *b, const char *name, const char *value)
{
	gt_autofree char *text = value ? gt_xasprintf("%s=%s", name, value) : gt_xstrdup(name);

	record(b, value ? "S" : "U", text);
}

/* A variable that the surrounding gputune run had changed now has the value from before. */
static void record_undone(struct gt_buf *b, const json_t *plan)
{
	const char *name;
	json_t *pair;

	json_object_foreach(json_object_get(plan, "set"), name, pair)
		record_variable(b, name, getenv(name));
}

char *tn_rank_answer(const struct tn_run *run, const json_t *plan, size_t *ret_len)
{
	gt_autofree char *cpus = gt_set_format(&run->cpus), *nodes = gt_set_format(&run->mem_nodes),
			 *done = tn_rank_identity(environ);
	gt_auto_buf b = {0};

	record(&b, TN_RANK_ANSWER, "");
	if (*cpus)
		record(&b, "C", cpus);
	if (*nodes)
		record(&b, gt_set_count(&run->mem_nodes) > 1 ? "M5 " : "M1 ", nodes);
	if (run->files) {
		gt_autofree char *files = gt_xasprintf("%ld", (long)run->files);

		record(&b, "F", files);
	}
	record_undone(&b, plan);
	for (size_t i = 0; i < run->n_var; i++)
		if (run->var[i].status == TN_VAR_SET)
			record_variable(&b, run->var[i].name, run->var[i].value);
	record_variable(&b, TN_RANK_PROGRAM, run->rank_program);
	record_variable(&b, TN_RANK_PLAN, run->rank_plan);
	record_variable(&b, TN_RANK_DONE, done);
	record(&b, ".", "");
	*ret_len = b.len;
	return gt_buf_take(&b);
}
