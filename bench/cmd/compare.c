/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench compare BEFORE AFTER, and gpubench report FILE. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "bench/result/analysis_json.h"
#include "bench/result/analyze.h"
#include "bench/result/data.h"
#include "lib/text.h"
#include "bench/bench.h"
#include "bench/cmd/cmds.h"
#include "bench/report/forms.h"
#include "bench/result/text.h"
#include "bench/result/result.h"
#include "tune/profiles/select.h"

static struct {
	struct bn_outputs out;
	struct gt_strv changed;
	const char *arm_before, *arm_after;
	double floor_pct;
	bool require_conclusive, gate;
} opt = { .floor_pct = 3 };

static int refuse(struct gt_err *err, const char *fmt, ...) GT_PRINTF(2, 3);
static int refuse(struct gt_err *err, const char *fmt, ...)
{
	char text[900];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EINVAL, "cannot be compared: %s", text);
}

static bool declared_by_user(const char *key)
{
	return opt.changed.n && tn_knob_selected(key, &opt.changed);
}

static bool same_text(const char *a, const char *b)
{
	return gt_streq(a, b) || (!a && !b);
}

/* Compares the major versions of two drivers: 550.163.01 and 550.90.07 are equal. */
static bool same_major(const char *a, const char *b)
{
	size_t n = a ? strcspn(a, ".") : 0;

	return a && b ? n == strcspn(b, ".") && strncmp(a, b, n) == 0 : a == b;
}

/*
 * A new kernel or driver changes many metrics, which hides the effect of other changes. Such a comparison is refused
 * unless the difference is declared.
 */
static int same_kernel(const json_t *a, const json_t *b, struct gt_err *err)
{
	static const struct {
		const char *key, *name;
		bool (*same)(const char *a, const char *b);
	} versions[] = { { "kernel", "kernel", same_text }, { "nvidia_driver", "NVIDIA driver", same_major } };
	gt_auto_buf what = { 0 }, say = { 0 };

	for (size_t i = 0; i < GT_ARRAY_SIZE(versions); i++) {
		const char *key = versions[i].key, *va = gt_json_get_str(json_object_get(a, "host"), key, NULL),
			   *vb = gt_json_get_str(json_object_get(b, "host"), key, NULL);

		if (declared_by_user(key) || versions[i].same(va, vb))
			continue;
		gt_buf_printf(&what, "%s%s %.100s and %.100s", what.len ? ", " : "another ", versions[i].name, va ? va : "none",
			      vb ? vb : "none");
		gt_buf_printf(&say, " --changed %s", key);
	}
	return what.len ? refuse(err, "%s; if that is the change to be judged, say%s", what.s, say.s) : 0;
}

/* Refuses results of different machines, suites or workload definitions. */
static int comparable(const json_t *a, const json_t *b, struct gt_err *err)
{
	gt_auto_buf what = { 0 };
	size_t i, common = 0;
	json_t *m;
	int r;

	if (bn_suite_major(a) != bn_suite_major(b) || bn_suite_major(a) != BN_SUITE_MAJOR)
		return refuse(err, "made by measuring suites %lld and %lld, this one is %d", (long long)bn_suite_major(a),
			      (long long)bn_suite_major(b), BN_SUITE_MAJOR);
	bn_identity_difference(a, b, &what);
	if (what.len)
		return refuse(err, "not the same machine: %s", what.s);
	r = same_kernel(a, b, err);
	if (r < 0)
		return r;
	json_array_foreach(json_object_get(a, "metrics"), i, m) {
		const char *id = gt_json_get_str(m, "id", "");
		const json_t *other = bn_doc_metric(b, id);

		if (!other)
			continue;
		common++;
		if (!gt_streq(gt_json_get_str(m, "definition", ""), gt_json_get_str(other, "definition", "")))
			return refuse(err, "%s was measured as \"%.200s\" and as \"%.200s\"", id,
				      gt_json_get_str(m, "definition", ""), gt_json_get_str(other, "definition", ""));
	}
	return common ? 0 : refuse(err, "they have no metric in common");
}

static void difference(json_t *doc, const char *key, const json_t *from, const json_t *to)
{
	json_t *list = declared_by_user(key) ? json_object_get(json_object_get(doc, "treatment"), "declared") :
					       json_object_get(doc, "confounders");
	gt_auto_json *null = json_null();

	if (json_equal(from ? from : null, to ? to : null))
		return;
	json_array_append_new(list, json_pack("{s:s, s:s, s:O, s:O, s:s}", "id", key, "key", key, "from",
					      from ? from : null, "to", to ? to : null, "when", "between the files"));
}

static const json_t *settings_of(const json_t *doc, char arm)
{
	const json_t *s = json_object_get(doc, "settings");

	return json_object_get(s, arm == 'B' ? "b" : "a");
}

/* Adds the differences of all settings, and of host facts that may differ on the same machine. */
static void differences(json_t *doc, const json_t *a, const json_t *b)
{
	static const char *const host_keys[] = {"kernel",        "kernel_cmdline", "microcode", "distribution",
						"nvidia_driver", "virtualization", "container", "cpus",
						"cpus_allowed",  "memory_bytes",   "gpus"};
	json_t *sa = json_object_get(json_object_get(doc, "settings"), "a"), *v;
	json_t *sb = json_object_get(json_object_get(doc, "settings"), "b");
	const char *key;

	for (size_t i = 0; i < GT_ARRAY_SIZE(host_keys); i++)
		difference(doc, host_keys[i], json_object_get(json_object_get(a, "host"), host_keys[i]),
			   json_object_get(json_object_get(b, "host"), host_keys[i]));
	difference(doc, "gpubench", json_object_get(json_object_get(a, "tool"), "version"),
		   json_object_get(json_object_get(b, "tool"), "version"));
	json_object_foreach(sa, key, v)
		difference(doc, key, v, json_object_get(sb, key));
	json_object_foreach(sb, key, v)
		if (!json_object_get(sa, key))
			difference(doc, key, NULL, v);
}

/* Adds the launches of one arm of a saved result as an arm of the new document. */
static void take_launches(json_t *doc, const json_t *from, char state, const char *arm)
{
	json_t *list = json_object_get(doc, "launches"), *l;
	size_t i;

	json_array_foreach(json_object_get(from, "launches"), i, l) {
		const char *kind = gt_json_get_str(l, "kind", ""), *was = gt_json_get_str(l, "arm", "A");
		bool changed = gt_streq(kind, "ab") && was[0] == 'B';
		json_t *copy;

		if (changed != (state == 'B'))
			continue;
		copy = json_copy(l);
		json_object_set_new(copy, "kind", json_string(bn_kind_name[BN_KIND_SINGLE]));
		json_object_set_new(copy, "arm", json_string(arm));
		json_object_set_new(copy, "seq", json_integer((json_int_t)json_array_size(list)));
		json_array_append_new(list, copy);
	}
}

static void take_metrics(json_t *doc, const json_t *a, const json_t *b)
{
	json_t *list = json_object_get(doc, "metrics"), *m,
	       *notes = json_object_get(json_object_get(doc, "run"), "notes");
	size_t i;

	json_array_foreach(json_object_get(a, "metrics"), i, m) {
		const char *id = gt_json_get_str(m, "id", "");

		if (bn_doc_metric(b, id))
			json_array_append(list, m);
		else
			bn_warning(notes, "missing", "left out", "%s was measured in the first file only", id);
	}
	json_array_foreach(json_object_get(b, "metrics"), i, m)
		if (!bn_doc_metric(a, gt_json_get_str(m, "id", "")))
			bn_warning(notes, "missing", "left out", "%s was measured in the second file only",
				   gt_json_get_str(m, "id", ""));
}

/* Returns the file name without directories, shortened for a table column. The caller frees it. */
static char *short_name(const char *path)
{
	const char *name = gt_basename(path);
	size_t len = strlen(name);

	return gt_xasprintf("%s%s", len > 20 ? "..." : "", len > 20 ? name + len - 17 : name);
}

static json_t *merge(const json_t *a, const json_t *b, char before, char after, char **argv)
{
	gt_autofree char *name_a = short_name(argv[0]), *name_b = short_name(argv[1]);
	json_t *empty = json_object();
	const json_t *sa = settings_of(a, before), *sb = settings_of(b, after);
	json_t *doc = json_pack(
		"{s:s, s:O, s:{s:s, s:[sso], s:s?, s:[]}, s:O?, s:{s:[]}, s:{s:o, s:o}, s:{s:O, s:O}, s:[], s:[], "
		"s:[]}",
		"schema", BN_SCHEMA, "tool", json_object_get(b, "tool"), "run", "design",
		bn_design_name[BN_DESIGN_UNPAIRED], "argv",
		"gpubench", "compare", gt_json_str(argv[0]), "started", gt_json_get_str(json_object_get(b, "run"), "started", NULL),
		"notes", "host", json_object_get(b, "host"), "treatment", "declared", "arms", "a", gt_json_str(name_a),
		"b", gt_json_str(name_b), "settings", "a", sa ? sa : empty, "b", sb ? sb : empty, "confounders", "metrics",
		"launches");

	json_decref(empty);
	if (!doc)
		return NULL;
	json_array_append_new(json_object_get(json_object_get(doc, "run"), "argv"), gt_json_str(argv[1]));
	if (!bn_identity_shown(a, b))
		bn_warning(json_object_get(json_object_get(doc, "run"), "notes"), "identity",
			   "give each host a machine id (systemd-machine-id-setup)",
			   "nothing shows that both files are of one machine and not of two that are built alike");
	take_metrics(doc, a, b);
	take_launches(doc, a, before, "A");
	take_launches(doc, b, after, "B");
	differences(doc, a, b);
	return doc;
}

/* Loads and validates a result. Errors have the file name. */
static int load(const char *path, json_t **ret, struct gt_err *err)
{
	gt_auto(bn_data) *data = NULL;
	gt_auto_json *doc = NULL;
	int r;

	r = bn_doc_load(path, &doc, err);
	if (r == 0)
		r = bn_data_from_doc(doc, path, &data, err);
	if (r == 0)
		*ret = gt_take(doc);
	return r;
}

static int analyse_and_publish(struct gt_cli *cli, json_t *doc, const char *name)
{
	struct bn_limits limits = { .floor = opt.floor_pct / 100, .require_conclusive = opt.require_conclusive };
	gt_auto(bn_data) *data = NULL;
	int r, code;

	r = bn_data_from_doc(doc, name, &data, &cli->err);
	if (r < 0)
		return r;
	code = bn_analyze(data, &limits);
	r = bn_result_publish(cli, doc, &opt.out);
	return r < 0 ? r : code;
}

/* Converts the value of --arm-before or --arm-after to the name of the arm in documents. A and B are old spellings. */
static int arm_of(const char *option, const char *name, char *ret, struct gt_err *err)
{
	if (!name || gt_streq(name, "before") || gt_streq(name, "A"))
		*ret = 'A';
	else if (gt_streq(name, "after") || gt_streq(name, "B"))
		*ret = 'B';
	else
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s takes before or after, not '%.60s'", option, name);
	return 0;
}

static int cmd_compare(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *a = NULL, *b = NULL, *doc = NULL;
	char before, after;
	int r;

	if (!(opt.floor_pct >= 0 && opt.floor_pct < 100))
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "--floor takes percent below 100");
	r = arm_of("--arm-before", opt.arm_before, &before, &cli->err);
	if (r == 0)
		r = arm_of("--arm-after", opt.arm_after, &after, &cli->err);
	if (r == 0)
		r = load(argv[0], &a, &cli->err);
	if (r == 0)
		r = load(argv[1], &b, &cli->err);
	if (r == 0)
		r = comparable(a, b, &cli->err);
	if (r < 0)
		return r;
	doc = merge(a, b, before, after, argv);
	if (!doc)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "these two files cannot be merged into one result");
	return analyse_and_publish(cli, doc, "comparison");
}

/* Prints the report of a document that another command made, in that command's form. */
static int report_form(struct gt_cli *cli, const struct bn_form *form, json_t *doc, const char *path)
{
	int r = bn_form_check_schema(form, doc, path, &cli->err), code = (int)gt_json_get_int(doc, "exit_code", 0);

	if (r < 0) {
		cli->err.exit_status = BN_EXIT_INCOMPARABLE;
		return r;
	}
	r = bn_doc_clean(doc, path, &cli->err);
	if (r == 0)
		r = bn_form_publish(cli, form, doc, &opt.out);
	return r < 0 || !opt.gate ? r : code == BN_EXIT_INCONCLUSIVE && !opt.require_conclusive ? 0 : code;
}

static int cmd_report(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *doc = NULL;
	int r;

	r = bn_doc_load(argv[0], &doc, &cli->err);
	if (r < 0)
		return r;
	if (bn_form_of(doc))
		return report_form(cli, bn_form_of(doc), doc, argv[0]);
	if (gt_streq(gt_json_get_str(doc, "schema", ""), BN_PROVE_SCHEMA) && json_is_object(json_object_get(doc, "receipt")))
		return report_form(cli, &bn_form_receipt, json_object_get(doc, "receipt"), argv[0]);
	r = analyse_and_publish(cli, doc, argv[0]);
	return r < 0 || opt.gate ? r : 0;
}

static const char *arm_word(size_t i)
{
	static const char *const names[] = { "before", "after", NULL };

	return names[i];
}

#define OUTPUT_OPTS												       \
	{ 'o', "output", "FILE", "save the analysed result as JSON", GT_OPT_STR, &opt.out.json, NULL },		       \
	{ 0, "html", "FILE", "write a page with plots", GT_OPT_STR, &opt.out.html, NULL },			       \
	{ 0, "markdown", "FILE", "write a Markdown report", GT_OPT_STR, &opt.out.markdown, NULL },		       \
	{ 0, "openmetrics", "FILE", "write metrics for the textfile collector of Prometheus", GT_OPT_STR,	       \
	  &opt.out.openmetrics, NULL },										       \
	{ 0, "trace", "FILE", "write the session as a trace for Chrome or Perfetto", GT_OPT_STR, &opt.out.trace, NULL }

static const struct gt_opt compare_opts[] = {
	{0, "changed", "KEY", "declare a setting or family, such as vm, as changed (repeatable)", GT_OPT_LIST, &opt.changed,
	 NULL},
	{0, "floor", "PERCENT", "ignore smaller effects than this (default: 3)", GT_OPT_REAL, &opt.floor_pct, NULL},
	{0, "arm-before", "ARM", "if BEFORE has two arms: use before or after (default: before)", GT_OPT_STR,
	 &opt.arm_before, NULL, arm_word},
	{0, "arm-after", "ARM", "if AFTER has two arms: use before or after (default: before)", GT_OPT_STR,
	 &opt.arm_after, NULL, arm_word},
	{0, "require-conclusive", NULL, "exit with 3 unless every primary and guard metric is decided", GT_OPT_FLAG,
	 &opt.require_conclusive, NULL},
	OUTPUT_OPTS,
	{0},
};

const struct gt_cmd bn_cmd_compare = {
	.name = "compare",
	.args = "BEFORE AFTER",
	.group = "Measure a change",
	.summary = "Compare two saved results and list the differing settings",
	.help = "The files are not measured in pairs, so the host may have changed in between: effects below --floor are "
		"never called better or worse. Refuses results of another machine or version of the workloads (exit status "
		"4). Also refuses those of another kernel or NVIDIA driver, unless --changed kernel or --changed "
		"nvidia_driver declares the difference. Lists every other difference as a confounder.",
	.ignores = GT_ROOT_IGNORED,
	.opts = compare_opts,
	.min_args = 2,
	.max_args = 2,
	.run = cmd_compare,
};

static const struct gt_opt report_opts[] = {
	{ 0, "gate", NULL, "exit as gpubench run does for this result (1, 3, 5, 6)", GT_OPT_FLAG, &opt.gate, NULL },
	{ 0, "require-conclusive", NULL, "with --gate: exit with 3 unless every metric is decided", GT_OPT_FLAG,
	  &opt.require_conclusive, NULL },
	OUTPUT_OPTS,
	{ 0 },
};

const struct gt_cmd bn_cmd_report = {
	.name	  = "report",
	.args	  = "FILE",
	.group	  = "Measure a change",
	.summary  = "Show a saved result as a table, a page or metrics",
	.help	  = "Computes everything again from the samples in FILE, which is a result of run, prove, ladder, fleet or "
		"history, or a receipt. --html shows for a receipt each change with its interval and the commands that undo "
		"it.",
	.ignores  = GT_ROOT_IGNORED,
	.opts	  = report_opts,
	.min_args = 1,
	.max_args = 1,
	.run	  = cmd_report,
};
