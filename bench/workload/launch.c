/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include "bench/workload/launch.h"
#include "bench/stats/stats.h"
#include "lib/table.h"

void bn_series(struct bn_launch *l, const struct bn_workload *w, const char *suffix, enum bn_role role,
	       const double *samples, size_t n, size_t warmup, bool tail)
{
	json_t *raw = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(raw, gt_json_real(samples[i]));
	json_array_append_new(l->metrics, json_pack("{s:s+, s:s, s:s, s:s, s:f, s:b, s:I, s:o}", "id", w->id, suffix,
						    "unit", w->unit, "direction", bn_direction_name[w->direction],
						    "role", bn_role_name[role], "margin", w->margin, "tail", tail,
						    "warmup", (json_int_t)warmup, "samples", raw));
}

void bn_launch_take(struct bn_launch *l, const json_t *answer)
{
	const char *wrong = gt_json_get_str(json_object_get(answer, "verify"), "wrong", NULL);

	json_array_extend(l->metrics, json_object_get(answer, "metrics"));
	snprintf(l->wrong, sizeof(l->wrong), "%s", wrong ? wrong : "");
	json_object_update(l->params, json_object_get(answer, "params"));
	json_object_update(l->notes, json_object_get(answer, "notes"));
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static json_t *process_json(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return json_null();
	return json_pack("{s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "user_s", seconds(u.ru_utime), "system_s",
			 seconds(u.ru_stime), "max_rss_bytes", (json_int_t)u.ru_maxrss * 1024, "minor_faults",
			 (json_int_t)u.ru_minflt, "major_faults", (json_int_t)u.ru_majflt, "voluntary_switches",
			 (json_int_t)u.ru_nvcsw, "involuntary_switches", (json_int_t)u.ru_nivcsw);
}

int bn_launch_run(const struct bn_workload *w, struct bn_launch *l, json_t **ret_doc, struct gt_err *err)
{
	const char *why = w->unavailable ? w->unavailable(l->fs) : NULL;
	gt_autofree char *params = NULL;
	double t0 = gt_now_s();
	json_t *definition;
	int r;

	if (why)
		return gt_fail(err, EOPNOTSUPP, "%s cannot run here: %s", w->id, why);
	l->metrics = json_array();
	l->params = json_object();
	l->notes = json_object();
	json_object_set_new(l->notes, "null_ns", gt_json_real(bn_null_ns()));
	r = w->run(l, err);
	if (r < 0) {
		json_decref(l->metrics);
		json_decref(l->params);
		json_decref(l->notes);
		return r;
	}
	params = json_dumps(l->params, JSON_COMPACT | JSON_SORT_KEYS);
	definition = json_sprintf("%s/%u %s", w->id, w->version, params);
	*ret_doc = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:{s:b, s:s, s:s?}, s:o, s:f}", "schema", BN_LAUNCH_SCHEMA,
			     "workload", w->id, "definition", definition, "params", l->params, "notes", l->notes,
			     "metrics", l->metrics, "verify", "ok", l->wrong[0] == '\0', "what",
			     l->verify ? l->verify : w->verifies, "wrong", l->wrong[0] ? l->wrong : NULL, "process",
			     process_json(), "inside_s", gt_now_s() - t0);
	return 0;
}

static struct {
	uint64_t seed, salt;
	const char *data;
} opt;

static void launch_table(const json_t *doc)
{
	gt_auto(gt_table) *t = gt_table_new();
	size_t i, k;
	json_t *m, *v;

	gt_table_column(t, "METRIC", GT_LEFT);
	gt_table_column(t, "MEDIAN", GT_RIGHT);
	gt_table_column(t, "MIN", GT_RIGHT);
	gt_table_column(t, "MAX", GT_RIGHT);
	gt_table_column(t, "SAMPLES", GT_RIGHT);
	json_array_foreach(json_object_get(doc, "metrics"), i, m) {
		json_t *samples = json_object_get(m, "samples");
		size_t skip = (size_t)gt_json_get_int(m, "warmup", 0), n = 0;
		gt_autofree double *x = gt_xcalloc(json_array_size(samples) + 1, sizeof(*x));

		json_array_foreach(samples, k, v)
			if (k >= skip)
				x[n++] = json_number_value(v);
		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(m, "id", "?"));
		gt_table_cell(t, "%.4g %s", bn_median(x, n), gt_json_get_str(m, "unit", ""));
		gt_table_cell(t, "%.4g", bn_quantile(x, n, 0));
		gt_table_cell(t, "%.4g", bn_quantile(x, n, 1));
		gt_table_cell(t, "%zu", n);
	}
	gt_table_print(t, stdout, false);
}

static int cmd_launch(struct gt_cli *cli, int argc, char **argv)
{
	const struct bn_workload *w = bn_workload_find(argv[0]);
	const char *fault = getenv("GPUBENCH_FAULT");
	struct bn_launch l = { .fs = cli->fs, .seed = opt.seed, .salt = opt.salt, .data = opt.data,
			       .fault = gt_streq(fault, "verify") };
	gt_auto_json *doc = NULL;
	int r;

	if (!w)
		return bn_no_workload(argv[0], &cli->err);
	r = gt_fs_require_live(cli->fs, "measuring", &cli->err);
	if (r < 0)
		return r;
	r = bn_launch_run(w, &l, &doc, &cli->err);
	if (r < 0)
		return r;
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		launch_table(doc);
	if (l.wrong[0])
		return gt_fail_exit(&cli->err, BN_EXIT_WRONG, EBADMSG, "%s: %s", w->id, l.wrong);
	return 0;
}

static const struct gt_opt launch_opts[] = {
	{0, "seed", "N", "seed of what the workload does, the same in both arms of a pair", GT_OPT_UINT, &opt.seed,
	 NULL},
	{0, "salt", "N", "seed of this launch alone", GT_OPT_UINT, &opt.salt, NULL},
	{0, "data", "PATH", "text to train on: a file or a directory", GT_OPT_STR, &opt.data, NULL},
	{0},
};

const struct gt_cmd bn_cmd_launch = {
	.name = "launch",
	.args = "WORKLOAD",
	.summary = "run one workload once, in this process",
	.help = "What run does again and again, each time in a fresh process. With --json the raw samples are printed "
		"(gpubench-launch/1).",
	.opts = launch_opts,
	.min_args = 1,
	.max_args = 1,
	.word = bn_workload_word,
	.run = cmd_launch,
};

int bn_no_workload(const char *id, struct gt_err *err)
{
	gt_autofree char *hint = gt_hint(id, bn_workload_word, "see gpubench list");

	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "no workload is called \"%.60s\"; %s", id, hint);
}

static json_t *list_doc(struct gt_fsroot *fs)
{
	json_t *list = json_array();

	for (const struct bn_workload *const *p = bn_workloads; *p; p++) {
		const struct bn_workload *w = *p;
		json_t *knobs = json_array();

		for (const char *const *k = w->knobs; *k; k++)
			json_array_append_new(knobs, json_string(*k));
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:i, s:s, s:s, s:o, s:f, s:b, s:s?}",
						      "id", w->id, "summary", w->summary, "unit", w->unit, "direction",
						      bn_direction_name[w->direction], "role", bn_role_name[w->role],
						      "margin", w->margin, "version", (int)w->version, "verifies",
						      w->verifies, "overhead", w->overhead, "knobs", knobs, "launch_s",
						      w->launch_s, "default", !w->optional, "unavailable",
						      w->unavailable ? w->unavailable(fs) : NULL));
	}
	return json_pack("{s:s, s:o}", "schema", "gpubench-list/1", "workloads", list);
}

/* One workload in full. */
static int show_one(const json_t *doc, const char *id, struct gt_err *err)
{
	json_t *w, *k;
	size_t i, n;

	json_array_foreach(json_object_get(doc, "workloads"), i, w) {
		const char *why = gt_json_get_str(w, "unavailable", NULL);

		if (!gt_streq(gt_json_get_str(w, "id", NULL), id))
			continue;
		printf("%s: %s\n", id, gt_json_get_str(w, "summary", ""));
		printf("  unit      %s, %s is better; a change below %.3g %% does not matter\n", gt_json_get_str(w, "unit", ""),
		       gt_json_get_str(w, "direction", ""), 100 * gt_json_get_real(w, "margin", NAN));
		printf("  role      %s; %s the default list; definition %lld\n", gt_json_get_str(w, "role", ""),
		       gt_json_get_bool(w, "default", false) ? "in" : "not in",
		       (long long)gt_json_get_int(w, "version", 0));
		printf("  verifies  %s\n", gt_json_get_str(w, "verifies", ""));
		printf("  overhead  %s\n", gt_json_get_str(w, "overhead", ""));
		printf("  here      an empty step (null) takes %.0f ns\n", bn_null_ns());
		printf("  knobs     ");
		json_array_foreach(json_object_get(w, "knobs"), n, k)
			printf("%s%s%s", n ? ", " : "", json_string_value(k), gt_ends_with(json_string_value(k), ".") ? "*" : "");
		printf("%s\n  a launch  about %.3g s\n", n ? " should move it" : "none should move it",
		       gt_json_get_real(w, "launch_s", NAN));
		if (why)
			printf("  not here  %s\n", why);
		return 0;
	}
	return bn_no_workload(id, err);
}

/* Each reason once, behind those that it keeps from running. */
static void print_unavailable(const json_t *list)
{
	gt_auto_json *by_reason = json_object();
	const char *why;
	json_t *w, *ids;
	size_t i;

	json_array_foreach(list, i, w) {
		const char *id = gt_json_get_str(w, "id", "");

		why = gt_json_get_str(w, "unavailable", NULL);
		if (!why)
			continue;
		ids = json_object_get(by_reason, why);
		json_object_set_new(by_reason, why, ids ? json_sprintf("%s, %s", json_string_value(ids), id) : json_string(id));
	}
	if (json_object_size(by_reason))
		printf("\nCannot run here\n");
	json_object_foreach(by_reason, why, ids) {
		gt_autofree char *line = gt_xasprintf("%s: %s", json_string_value(ids), why);

		gt_print_wrapped(stdout, line, 2, gt_term_width(stdout));
	}
}

static int cmd_list(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *doc = list_doc(cli->fs);
	gt_auto(gt_table) *t = NULL;
	size_t i;
	json_t *w;

	if (cli->json) {
		gt_json_print(stdout, doc);
		return 0;
	}
	if (argc)
		return show_one(doc, argv[0], &cli->err);
	t = gt_table_new();
	gt_table_column(t, "WORKLOAD", GT_LEFT);
	gt_table_column(t, "UNIT", GT_LEFT);
	gt_table_column(t, "BETTER", GT_LEFT);
	gt_table_column(t, "ROLE", GT_LEFT);
	gt_table_column(t, "WHAT IT MEASURES", GT_WRAP);
	gt_table_column(t, "VERIFIES", GT_WRAP);
	json_array_foreach(json_object_get(doc, "workloads"), i, w) {
		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(w, "id", ""));
		gt_table_cell(t, "%s", gt_json_get_str(w, "unit", ""));
		gt_table_cell(t, "%s", gt_json_get_str(w, "direction", ""));
		gt_table_cell(t, "%s", gt_json_get_str(w, "role", ""));
		gt_table_cell(t, "%s", gt_json_get_str(w, "summary", ""));
		gt_table_cell(t, "%s", gt_json_get_str(w, "verifies", ""));
	}
	gt_table_print(t, stdout, cli->color);
	print_unavailable(json_object_get(doc, "workloads"));
	return 0;
}

const struct gt_cmd bn_cmd_list = {
	.name	 = "list",
	.args	 = "[WORKLOAD]",
	.summary = "the workloads, what each verifies, and which cannot run here; or one of them in full",
	.max_args = 1,
	.word	 = bn_workload_word,
	.run	 = cmd_list,
};
