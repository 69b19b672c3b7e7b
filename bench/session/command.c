/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/session/command.h"
#include "bench/workload/workloads.h"
#include "lib/file.h"
#include "lib/text.h"

#define SAMPLES_MAX	100000
#define TAIL_MIN	20 /* minimum number of samples in a launch for its 99th percentile */

static const struct {
	const char *name;
	enum bn_source source;
} sources[] = { { "regex:", BN_REGEX }, { "json:", BN_JSON }, { "file:", BN_FILE } };

static int bad_metric(struct gt_err *err, const char *what, const char *text)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--metric %.200s: %s", text, what);
}

static int check_regex(struct bn_command *c, struct gt_err *err)
{
	int r = regcomp(&c->re, c->detail, REG_EXTENDED | REG_NEWLINE);
	char why[128];

	if (r) {
		regerror(r, &c->re, why, sizeof(why));
		return bad_metric(err, why, c->spec);
	}
	if (c->re.re_nsub != 1) {
		regfree(&c->re);
		return bad_metric(err, "the pattern needs exactly one group in parentheses, around the number", c->spec);
	}
	return 0;
}

int bn_command_check(struct bn_command *c, struct gt_err *err)
{
	enum bn_source source = BN_WALL;

	c->spec = c->spec ? c->spec : "wall";
	c->source = BN_WALL; /* kept until all checks pass, so that nothing has to be freed before */
	c->detail = "";
	for (size_t i = 0; i < GT_ARRAY_SIZE(sources); i++)
		if (gt_starts_with(c->spec, sources[i].name)) {
			source = sources[i].source;
			c->detail = c->spec + strlen(sources[i].name);
		}
	if (source == BN_WALL && strcmp(c->spec, "wall") != 0)
		return bad_metric(err, "it must be wall, regex:PATTERN, json:KEY or file:PATH", c->spec);
	if (source != BN_WALL && !c->detail[0])
		return bad_metric(err, "the part after the colon is missing", c->spec);
	if (source == BN_WALL && (c->unit || gt_streq(c->better, "higher")))
		return bad_metric(err, "the time a command takes is in seconds, and lower is better", c->spec);
	if (!(c->margin_pct > 0 && c->margin_pct < 50))
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "--margin takes percent above 0 and below 50");
	if (!(c->timeout_s >= 0))
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "--timeout takes seconds");
	if (c->warmup != UINT64_MAX && c->warmup > 100000)
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "--warmup takes at most 100000 samples");
	if (source == BN_REGEX && check_regex(c, err) < 0)
		return -EINVAL;
	c->source = source;
	return 0;
}

void bn_command_clear(struct bn_command *c)
{
	if (c->source == BN_REGEX)
		regfree(&c->re);
	free(c->previous_text);
	c->previous_text = NULL;
	c->source = BN_WALL;
}

json_t *bn_command_to_json(const struct bn_command *c)
{
	json_t *argv = json_array();

	for (char *const *a = c->argv; a && *a; a++)
		json_array_append_new(argv, gt_json_str(*a));
	return json_pack("{s:o, s:o, s:o, s:s, s:f, s:f, s:I}", "argv", argv, "metric", gt_json_str(c->spec), "unit",
			 gt_json_str(c->unit), "better", c->better ? c->better : "lower", "margin_pct", c->margin_pct,
			 "timeout_s", c->timeout_s, "warmup",
			 c->warmup == UINT64_MAX ? (json_int_t)-1 : (json_int_t)c->warmup);
}

static char *read_text(const char *path)
{
	char *text = NULL;
	size_t len;

	return gt_file_read(path, BN_COMMAND_OUTPUT_MAX, &text, &len, NULL) < 0 ? NULL : text;
}

void bn_command_begin(struct bn_command *c)
{
	free(c->previous_text);
	c->previous_text = c->source == BN_FILE ? read_text(c->detail) : NULL;
}

/* Parses the number at the start of text. nan and inf cannot be measurements; they stay NaN or infinite and are written
 * as null. */
static bool number(const char *text, size_t len, double *ret)
{
	gt_autofree char *copy = gt_xstrndup(text, GT_MIN(len, (size_t)64));
	char *end;

	*ret = strtod(copy, &end);
	return end != copy && *gt_strip(end) == '\0';
}

static void add_sample(json_t *samples, double v)
{
	if (json_array_size(samples) < SAMPLES_MAX)
		json_array_append_new(samples, gt_json_real(v));
}

/* Returns the number of matches that are not numbers. */
static size_t scan_regex(const struct bn_command *c, const char *text, json_t *samples)
{
	size_t not_numbers = 0;
	regmatch_t m[2];
	double v;

	for (const char *p = text; p && *p && regexec(&c->re, p, 2, m, p == text ? 0 : REG_NOTBOL) == 0;) {
		if (m[1].rm_so >= 0 && number(p + m[1].rm_so, (size_t)(m[1].rm_eo - m[1].rm_so), &v))
			add_sample(samples, v);
		else
			not_numbers++;
		p += m[0].rm_eo > 0 ? m[0].rm_eo : 1;
	}
	return not_numbers;
}

/* Finds "train.step_s" in nested objects, or a member with exactly that name. */
static json_t *lookup(json_t *o, const char *key)
{
	const char *dot = strchr(key, '.');
	json_t *v = json_object_get(o, key);
	gt_autofree char *head = NULL;

	if (v || !dot)
		return v;
	head = gt_xstrndup(key, (size_t)(dot - key));
	return lookup(json_object_get(o, head), dot + 1);
}

static size_t scan_json(const struct bn_command *c, const char *text, json_t *samples)
{
	size_t not_numbers = 0;

	for (const char *p = text; p && *p; p = gt_next_line(p)) {
		gt_auto_json *line = NULL;
		size_t len = strcspn(p, "\n");
		json_t *v;

		if (*p != '{' || gt_json_parse(p, len, "line", &line, NULL) < 0)
			continue;
		v = lookup(line, c->detail);
		if (json_is_number(v))
			add_sample(samples, json_number_value(v));
		not_numbers += v && !json_is_number(v);
	}
	return not_numbers;
}

static size_t scan_file(const char *text, json_t *samples)
{
	size_t not_numbers = 0;
	double v;

	gt_each_word(w, text, " \t\r\n,;") {
		if (number(w, strlen(w), &v))
			add_sample(samples, v);
		else
			not_numbers++;
	}
	return not_numbers;
}

/* Collects the samples of this launch. Returns NULL, or the reason why there are none. */
static char *collect(struct bn_command *c, const struct gt_spawn *sp, json_t *samples)
{
	gt_autofree char *file = NULL;
	size_t not_numbers = 0;

	if (c->source == BN_WALL) {
		add_sample(samples, sp->wall_s);
		return NULL;
	}
	if (c->source == BN_FILE) {
		file = read_text(c->detail);
		if (!file)
			return gt_xasprintf("%.200s was not written", c->detail);
		if (gt_streq(file, c->previous_text))
			return gt_xasprintf("%.200s was not rewritten by this launch", c->detail);
		not_numbers = scan_file(file, samples);
	} else if (sp->truncated) {
		return gt_xasprintf("it printed more than %u MiB; write the numbers to a file and use --metric file:PATH",
				   BN_COMMAND_OUTPUT_MAX >> 20);
	} else {
		size_t (*scan)(const struct bn_command *, const char *, json_t *) = c->source == BN_REGEX ? scan_regex :
													   scan_json;

		not_numbers = scan(c, sp->out ? sp->out : "", samples);
		if (!json_array_size(samples))
			not_numbers += scan(c, sp->errout ? sp->errout : "", samples);
	}
	if (!json_array_size(samples))
		return not_numbers ? gt_xasprintf("--metric %.100s matched %zu times, but no match is a "
						  "number", c->spec, not_numbers) :
			     gt_xasprintf("--metric %.100s matched nothing in its output", c->spec);
	return NULL;
}

/* Adds up the lines of all ranks. Returns false if there is none. */
static bool scan_fetching(const char *text, double *ret_part)
{
	double waited = 0, total = 0;

	for (const char *line = text; line && *line; line = gt_next_line(line)) {
		const char *times = gt_starts_with(line, "gputune: DataLoader") ? strstr(line, "the main thread waited ") : NULL;
		double w, t;

		if (times && sscanf(times, "the main thread waited %lf of %lf s", &w, &t) == 2) {
			waited += w;
			total += t;
		}
	}
	*ret_part = total > 0 ? waited / total : 0;
	return total > 0;
}

json_t *bn_command_document(struct bn_command *c, const struct gt_spawn *sp)
{
	gt_auto_json *samples = json_array(), *spec = bn_command_to_json(c), *notes = json_object();
	gt_autofree char *why = collect(c, sp, samples), *text = NULL;
	const struct bn_workload *w = &bn_workload_cmd;
	double fetching;

	if (why)
		return json_pack("{s:o}", "failure", gt_json_str(why));
	if (sp->left_running)
		json_object_set_new(notes, "remark",
				    json_string("the command leaves processes running; they may disturb the "
						"following launches"));
	if (scan_fetching(sp->errout, &fetching))
		json_object_set_new(notes, BN_FETCH_NOTE, json_real(fetching));
	json_object_del(spec, "timeout_s");
	text = json_dumps(spec, JSON_COMPACT | JSON_SORT_KEYS);
	return json_pack("{s:s, s:s, s:o, s:O, s:O, s:[{s:s, s:s, s:s, s:s, s:f, s:b, s:i, s:b, s:O}], s:{s:b, s:s, s:n}, "
			 "s:f}",
			 "schema", BN_LAUNCH_SCHEMA, "workload", w->id, "definition",
			 json_sprintf("%s/%u %s", w->id, w->version, text), "params", spec, "notes", notes, "metrics", "id", w->id,
			 "unit", c->source == BN_WALL ? "s" : c->unit ? c->unit : "units", "direction",
			 c->better ? c->better : "lower", "role", "primary", "margin", c->margin_pct / 100, "tail",
			 json_array_size(samples) >= TAIL_MIN, "warmup", c->warmup == UINT64_MAX ? 0 : (int)c->warmup,
			 "warmup_auto", c->warmup == UINT64_MAX,
			 "samples", samples, "verify", "ok", 1, "what", w->verifies, "wrong", "inside_s", sp->wall_s);
}
