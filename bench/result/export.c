/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/result/export.h"
#include "bench/result/text.h"

/* ---- metrics ---- */

/* Prints a label. The format escapes three characters in values; all others are copied as UTF-8. */
static void label(struct gt_buf *out, const char *name, const char *value)
{
	gt_buf_printf(out, "%s=\"", name);
	for (const char *p = value; *p; p++) {
		if (*p == '\\' || *p == '"')
			gt_buf_printf(out, "\\%c", *p);
		else if (*p == '\n')
			gt_buf_puts(out, "\\n");
		else
			gt_buf_add(out, p, 1);
	}
	gt_buf_puts(out, "\"");
}

static void family(struct gt_buf *out, const char *name, const char *help)
{
	gt_buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

/* Prints one sample with up to two labels. A value that is not finite is left out. */
static void sample(struct gt_buf *out, const char *name, const char *l1, const char *v1, const char *l2, const char *v2,
		   double v)
{
	if (!isfinite(v))
		return;
	gt_buf_puts(out, name);
	if (l1) {
		gt_buf_puts(out, "{");
		label(out, l1, v1);
		if (l2) {
			gt_buf_puts(out, ",");
			label(out, l2, v2);
		}
		gt_buf_puts(out, "}");
	}
	gt_buf_printf(out, " %.9g\n", v);
}

static const struct {
	const char *unit, *suffix;
	double scale;
} bases[] = {
	{"s", "_seconds", 1},
	{"ns", "_seconds", 1e-9},
	{"GB/s", "_bytes_per_second", 1e9},
	{NULL, "_value", 1},
};

static size_t base_of(const char *unit)
{
	size_t i = 0;

	while (bases[i].unit && !gt_streq(bases[i].unit, unit))
		i++;
	return i;
}

/* Returns the unit of a level, which is that of its series: "x.p99" has the unit of "x". */
static const char *unit_of_level(const json_t *doc, const char *id)
{
	const char *unit = "";
	size_t i, best = 0;
	json_t *m;

	json_array_foreach(json_object_get(doc, "metrics"), i, m)
	{
		const char *series = gt_json_get_str(m, "id", "");

		if (gt_starts_with(id, series) && strlen(series) >= best) {
			best = strlen(series);
			unit = gt_json_get_str(m, "unit", "");
		}
	}
	return unit;
}

/* Prints the metrics whose base unit has this suffix. The format requires the lines of one metric name to be together. */
static void medians_in(const json_t *doc, const char *suffix, struct gt_buf *out)
{
	gt_autofree char *name = gt_xasprintf("gpubench_median%s", suffix);
	json_t *list = json_object_get(doc, "comparisons"), *c;
	bool pairs = json_array_size(list) > 0, any = false;
	size_t i;

	json_array_foreach(pairs ? list : json_object_get(doc, "levels"), i, c)
	{
		const char *id = gt_json_get_str(c, "metric", "?");
		size_t b = base_of(pairs ? gt_json_get_str(c, "unit", "") : unit_of_level(doc, id));

		if (strcmp(bases[b].suffix, suffix) != 0)
			continue;
		if (!any)
			family(out, name, "Median over launches, in base units where the unit has one.");
		any = true;
		sample(out, name, "metric", id, "arm", "baseline",
		       bases[b].scale * gt_json_get_real(c, pairs ? "a_median" : "median", NAN));
		if (pairs)
			sample(out, name, "metric", id, "arm", "changed",
			       bases[b].scale * gt_json_get_real(c, "b_median", NAN));
	}
}

static void medians(const json_t *doc, struct gt_buf *out)
{
	medians_in(doc, "_seconds", out);
	medians_in(doc, "_bytes_per_second", out);
	medians_in(doc, "_value", out);
}

/* Prints the estimate and the bounds of an effect as shares. */
static void effect(struct gt_buf *out, const char *name, const char *key, const char *id, const json_t *e)
{
	sample(out, name, key, id, "bound", "estimate", gt_json_get_real(e, "change_pct", NAN) / 100);
	sample(out, name, key, id, "bound", "ci95_low", gt_json_get_real(e, "ci_low_pct", NAN) / 100);
	sample(out, name, key, id, "bound", "ci95_high", gt_json_get_real(e, "ci_high_pct", NAN) / 100);
}

static void verdict_set(struct gt_buf *out, const char *name, const char *key, const char *id, const char *verdict)
{
	static const char *const all[] = {"better", "worse", "same", "inconclusive"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(all); i++)
		sample(out, name, key, id, "verdict", all[i], gt_streq(verdict, all[i]));
}

static double unix_time(const char *iso)
{
	struct tm tm = {0};

	if (!iso || !strptime(iso, "%Y-%m-%dT%H:%M:%SZ", &tm))
		return NAN;
	return (double)timegm(&tm);
}

static void info(struct gt_buf *out, const json_t *doc)
{
	const json_t *host = json_object_get(doc, "host"), *run = json_object_get(doc, "run");

	family(out, "gpubench_run_info", "Version, design and host of the session; the value is always 1.");
	gt_buf_puts(out, "gpubench_run_info{");
	label(out, "version", gt_json_get_str(json_object_get(doc, "tool"), "version", ""));
	gt_buf_puts(out, ",");
	label(out, "design", gt_json_get_str(run, "design", ""));
	gt_buf_puts(out, ",");
	label(out, "host", gt_json_get_str(host, "identity", ""));
	gt_buf_puts(out, ",");
	label(out, "kernel", gt_json_get_str(host, "kernel", ""));
	gt_buf_puts(out, "} 1\n");
}

static void result_families(const json_t *doc, struct gt_buf *out)
{
	static const char *const outcomes[] = {"better", "worse", "same", "inconclusive", "measured", "invalid", "wrong"};
	json_t *list = json_object_get(doc, "comparisons"), *c;
	size_t i;

	info(out, doc);
	medians(doc, out);
	if (json_array_size(list)) {
		family(out, "gpubench_effect_ratio",
		       "Change from baseline to changed, as a share; with its 95 % interval.");
		json_array_foreach(list, i, c)
			effect(out, "gpubench_effect_ratio", "metric", gt_json_get_str(c, "metric", "?"), c);
		family(out, "gpubench_verdict", "1 for the verdict of the metric, 0 for the others.");
		json_array_foreach(list, i, c)
			verdict_set(out, "gpubench_verdict", "metric", gt_json_get_str(c, "metric", "?"),
				    gt_json_get_str(c, "verdict", "inconclusive"));
	}
	family(out, "gpubench_session_verdict", "1 for the verdict of the session, 0 for the others.");
	for (i = 0; i < GT_ARRAY_SIZE(outcomes); i++)
		sample(out, "gpubench_session_verdict", "verdict", outcomes[i], NULL, NULL,
		       gt_streq(gt_json_get_str(doc, "verdict", "inconclusive"), outcomes[i]));
	family(out, "gpubench_exit_status", "Exit status of gpubench run.");
	sample(out, "gpubench_exit_status", NULL, NULL, NULL, NULL, (double)gt_json_get_int(doc, "exit_code", 0));
	family(out, "gpubench_launches", "Launches in the session.");
	sample(out, "gpubench_launches", NULL, NULL, NULL, NULL,
	       (double)json_array_size(json_object_get(doc, "launches")));
	if (isfinite(unix_time(gt_json_get_str(json_object_get(doc, "run"), "started", NULL)))) {
		family(out, "gpubench_start_timestamp_seconds", "Start of the session.");
		sample(out, "gpubench_start_timestamp_seconds", NULL, NULL, NULL, NULL,
		       unix_time(gt_json_get_str(json_object_get(doc, "run"), "started", NULL)));
	}
}

static void receipt_families(const json_t *doc, struct gt_buf *out)
{
	json_t *knobs = json_object_get(doc, "knobs"), *k;
	size_t i;

	family(out, "gpubench_prove_confirmed", "1 if the kept changes were better again on new data.");
	sample(out, "gpubench_prove_confirmed", NULL, NULL, NULL, NULL, gt_json_get_bool(doc, "confirmed", false));
	family(out, "gpubench_prove_ratio", "Effect of the kept changes on new data, as a share.");
	effect(out, "gpubench_prove_ratio", "metric", gt_json_get_str(doc, "metric", "?"),
	       json_object_get(doc, "confirm"));
	family(out, "gpubench_knob_effect_ratio", "Effect of each change among the others, as a share.");
	json_array_foreach(knobs, i, k) effect(out, "gpubench_knob_effect_ratio", "knob", gt_json_get_str(k, "id", "?"),
					       json_object_get(k, "effect"));
	family(out, "gpubench_knob_verdict", "1 for the verdict of the change, 0 for the others.");
	json_array_foreach(knobs, i, k) verdict_set(out, "gpubench_knob_verdict", "knob", gt_json_get_str(k, "id", "?"),
						    gt_json_get_str(k, "verdict", ""));
	family(out, "gpubench_knob_kept", "1 for a change that is kept.");
	json_array_foreach(knobs, i, k) sample(out, "gpubench_knob_kept", "knob", gt_json_get_str(k, "id", "?"), NULL,
					       NULL, gt_json_get_bool(k, "kept", false));
	family(out, "gpubench_prove_timestamp_seconds", "When the receipt was written.");
	sample(out, "gpubench_prove_timestamp_seconds", NULL, NULL, NULL, NULL,
	       (double)gt_json_get_int(doc, "created_unix", 0));
}

void bn_openmetrics(const json_t *doc, struct gt_buf *out)
{
	if (gt_starts_with(gt_json_get_str(doc, "schema", ""), "gpubench-receipt/"))
		receipt_families(doc, out);
	else
		result_families(doc, out);
	gt_buf_puts(out, "# EOF\n");
}

/* ---- trace ---- */

static void metadata_event(json_t *events, const char *what, int64_t tid, const char *name)
{
	json_array_append_new(events, json_pack("{s:s, s:s, s:i, s:I, s:{s:o}}", "name", what, "ph", "M", "pid", 1,
						"tid", (json_int_t)tid, "args", "name", gt_json_str(name)));
}

/* Returns the row of a workload: 1 … in order of first appearance. */
static int64_t row_of(json_t *rows, json_t *events, const char *workload)
{
	json_t *row = json_object_get(rows, workload);

	if (!row) {
		row = json_integer((json_int_t)json_object_size(rows) + 1);
		json_object_set_new(rows, workload, row);
		metadata_event(events, "thread_name", json_integer_value(row), workload);
	}
	return json_integer_value(row);
}

static void counters(json_t *events, const json_t *launch, double us)
{
	static const struct {
		const char *key, *name;
	} shown[] = {{"temp_c", "temperature, C"},
		     {"cpu_mhz", "clock, MHz"},
		     {"load1", "load"},
		     {"psi_cpu_pct", "CPU pressure, %"},
		     {"psi_memory_pct", "memory pressure, %"},
		     {"psi_io_pct", "I/O pressure, %"}};
	const json_t *env = json_object_get(launch, "env");

	for (size_t i = 0; i < GT_ARRAY_SIZE(shown); i++) {
		double v = gt_json_get_real(env, shown[i].key, NAN);

		if (isfinite(v))
			json_array_append_new(events, json_pack("{s:s, s:s, s:i, s:f, s:{s:f}}", "name", shown[i].name,
								"ph", "C", "pid", 1, "ts", us, "args", "value", v));
	}
}

static void slice(json_t *events, json_t *rows, const json_t *l)
{
	double at = gt_json_get_real(l, "t_s", NAN) * 1e6, us = gt_json_get_real(l, "wall_s", 0) * 1e6;
	const char *workload = gt_json_get_str(l, "workload", "?"), *arm = gt_json_get_str(l, "arm", "?");
	const char *failure = gt_json_get_str(l, "failure", NULL), *wrong = gt_json_get_str(l, "wrong", NULL);
	gt_autofree char *name = gt_xasprintf("%.60s %.8s, pair %lld", arm, gt_json_get_str(l, "kind", "?"),
					      (long long)gt_json_get_int(l, "block", 0) + 1);

	if (!isfinite(at) || !isfinite(us))
		return;
	json_array_append_new(events, json_pack("{s:o, s:s, s:s, s:i, s:I, s:f, s:f, s:{s:o, s:o, s:I}}", "name",
						gt_json_str(name), "cat", "launch", "ph", "X", "pid", 1, "tid",
						(json_int_t)row_of(rows, events, workload), "ts", at, "dur", us, "args",
						"failure", gt_json_str(failure), "wrong", gt_json_str(wrong), "seq",
						(json_int_t)gt_json_get_int(l, "seq", 0)));
	counters(events, l, at + us);
}

static void instants(json_t *events, const json_t *doc)
{
	json_t *launches = json_object_get(doc, "launches"), *o, *l;
	size_t i, k;

	json_array_foreach(json_object_get(doc, "outliers"), i, o) json_array_foreach(launches, k, l)
	{
		double at = gt_json_get_real(l, "t_s", NAN);

		if (gt_json_get_int(l, "seq", -1) == gt_json_get_int(o, "seq", -2) && isfinite(at))
			json_array_append_new(events, json_pack("{s:o, s:s, s:s, s:i, s:i, s:f}", "name",
								gt_json_str(bn_text_outlier(o).s), "ph", "i", "s", "p",
								"pid", 1, "tid", 0, "ts", at * 1e6));
	}
}

json_t *bn_chrome_trace(const json_t *doc)
{
	gt_auto_json *rows = json_object();
	json_t *events = json_array(), *l;
	gt_auto_buf headline = {0};
	size_t i;

	bn_text_headline(doc, &headline);
	metadata_event(events, "process_name", 0, "gpubench");
	json_array_foreach(json_object_get(doc, "launches"), i, l) slice(events, rows, l);
	instants(events, doc);
	return json_pack("{s:o, s:s, s:{s:o}}", "traceEvents", events, "displayTimeUnit", "ms", "otherData", "verdict",
			 gt_json_str(headline.s));
}
