/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/baseline/baseline.h"
#include "probe/baseline/baseline_priv.h"

/* ---- differences ---------------------------------------------------------------------------------------------- */

static const char *const grade_names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};

void pr_baseline_differ(struct pr_comparison *c, enum pr_grade g, const char *path, const char *here,
			const char *expected)
{
	json_t *d = json_pack("{s:o, s:s, s:o, s:o}", "path", gt_json_str(path), "severity", grade_names[g], "here",
			      gt_json_str(here), "expected", gt_json_str(expected));

	for (size_t i = 0; i < c->allow->n; i++)
		if (pr_glob(c->allow->v[i], path)) {
			json_array_append_new(c->allowed, d);
			return;
		}
	c->counts[g]++;
	json_array_append_new(c->differences, d);
}

json_t *pr_baseline_finish(struct pr_comparison *c, const char *kind)
{
	int code = c->counts[PR_GRADE_CRITICAL]  ? 2
		   : c->counts[PR_GRADE_WARNING] ? 1
		   : c->counts[PR_GRADE_UNKNOWN] ? 3
						 : 0;

	pr_values_clear(&c->here);
	return json_pack("{s:s, s:s, s:i, s:s, s:i, s:o, s:o}", "schema", "gpuprobe-baseline/1", "verdict",
			 grade_names[code], "exit_code", code, "against", kind, "compared", (int)c->compared,
			 "differences", c->differences, "allowed", c->allowed);
}

void pr_baseline_start(struct pr_comparison *c, const json_t *here, const struct gt_strv *allow)
{
	*c = (struct pr_comparison){.allow = allow, .differences = json_array(), .allowed = json_array()};
	pr_values_of(here, &c->here);
}

enum pr_grade pr_grade_of_check(const char *result)
{
	return !strcmp(result, "fail")      ? PR_GRADE_CRITICAL
	       : !strcmp(result, "warn")    ? PR_GRADE_WARNING
	       : !strcmp(result, "unknown") ? PR_GRADE_UNKNOWN
					    : PR_GRADE_SAME;
}

/* ---- comparison with another host ----------------------------------------------------------------------------- */

/* Paths whose values differ between healthy hosts of one kind, or change within minutes. */
static const char *const excluded[] = {"identity",           "identity_parts.*", "kernel_log.*",     "error_counters.*",
				       "gpu_holders.*",
				       "devices.rdma_ports[*].symbol_error", "devices.rdma_ports[*].link_downed",
				       "devices.rdma_ports[*].link_error_recovery", "devices.rdma_ports[*].port_rcv_errors",
				       "other_gpus[*].errors_corrected",
				       "environment",        "data.*",           "gpus[*].clock_reasons",
				       "gpus[*].link_speed", "nvidia.nvml_text", "*.free_bytes",
				       "nvidia.cuda_text",   "nvidia.cuda_init"};
/* Sizes that vary slightly between boards, due to firmware. */
static const char *const approximate[] = {"memory.total_bytes", "memory.shm_bytes", "nodes[*].mem_bytes",
					  "devices.block[*].size_bytes"};
/* Paths whose values decrease if hardware is broken. Other differences are differences of configuration. */
static const char *const hardware[] = {"gpus[*].link_width",
				       "gpus[*].max_link_width",
				       "gpus[*].memory_bytes",
				       "gpus[*].nvlinks",
				       "cpu.cpus",
				       "cpu.cores",
				       "cpu.packages",
				       "memory.total_bytes",
				       "nodes[*].mem_bytes",
				       "nvidia.nvml_count",
				       "ways.switches"};
/* Lists of devices: a missing element is a missing device. */
static const char *const device_lists[] = {"gpus[*", "nodes[*", "devices.block[*", "devices.net[*"};

static bool matches_any(const char *const *list, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (pr_glob(list[i], path))
			return true;
	return false;
}
#define MATCHES_ANY(list, path) matches_any(list, GT_ARRAY_SIZE(list), path)

bool pr_is_hardware(const char *path)
{
	return MATCHES_ANY(hardware, path);
}

bool pr_baseline_excluded(const char *path)
{
	return MATCHES_ANY(excluded, path);
}

static bool about_same(const struct pr_value *a, const struct pr_value *b)
{
	double x = strtod(a->text, NULL), y = strtod(b->text, NULL);

	return a->number && b->number && MATCHES_ANY(approximate, a->path) && x >= y * 0.99 && x <= y * 1.01;
}

/* Returns the command line without the parameters that identify this installation's disk or kernel file. */
static char *plain_cmdline(const char *s)
{
	static const char *const installation[] = {"root=", "BOOT_IMAGE=", "resume=", "initrd=", "cryptdevice="};
	struct gt_buf b = {0};

	gt_each_word(w, s, " ") {
		bool skip = false;

		for (size_t i = 0; i < GT_ARRAY_SIZE(installation); i++)
			skip |= gt_starts_with(w, installation[i]);
		if (!skip)
			gt_buf_printf(&b, "%s%s", b.len ? " " : "", w);
	}
	return gt_buf_take(&b);
}

char *pr_baseline_text(const struct pr_value *value)
{
	if (!strcmp(value->path, "kernel.cmdline"))
		return plain_cmdline(value->text);
	return value->number && MATCHES_ANY(approximate, value->path) ?
		       gt_xasprintf("about %.0f GiB", strtod(value->text, NULL) / (1 << 30)) : NULL;
}

static bool same(const struct pr_value *here, const struct pr_value *golden)
{
	gt_autofree char *a = NULL, *b = NULL;

	if (!strcmp(here->text, golden->text) || about_same(here, golden))
		return true;
	if (strcmp(here->path, "kernel.cmdline"))
		return false;
	a = plain_cmdline(here->text);
	b = plain_cmdline(golden->text);
	return !strcmp(a, b);
}

static void compare_value(struct pr_comparison *c, const struct pr_value *golden, const struct pr_value *here)
{
	bool check = gt_starts_with(golden->path, "check.");
	enum pr_grade g = PR_GRADE_WARNING;

	c->compared++;
	if (same(here, golden))
		return;
	if (check) {
		g = pr_grade_of_check(here->text);
		if (g == PR_GRADE_SAME || g == pr_grade_of_check(golden->text) ||
		    pr_grade_of_check(golden->text) == PR_GRADE_CRITICAL)
			return; /* the value is not worse than that of the baseline */
	} else if (here->state) {
		g = PR_GRADE_UNKNOWN;
	} else if (MATCHES_ANY(hardware, golden->path) && golden->number &&
		   (!here->number || strtod(here->text, NULL) < strtod(golden->text, NULL))) {
		g = PR_GRADE_CRITICAL;
	}
	pr_baseline_differ(c, g, golden->path, here->text, golden->text);
}

static bool has_element(const struct pr_values *v, const char *element)
{
	for (size_t i = 0; i < v->n; i++)
		if (gt_streq(v->v[i].element, element) || (v->v[i].element && gt_starts_with(v->v[i].element, element)))
			return true;
	return false;
}

/*
 * Returns whether the element that contains the value is missing on one side. Reports the element once (*ret_first), not
 * for each of its values.
 */
static bool is_missing_element(struct gt_strv *missing_elements, const struct pr_values *other, const char *element,
			       bool *ret_first)
{
	*ret_first = false;
	for (size_t i = 0; i < missing_elements->n; i++)
		if (gt_starts_with(element, missing_elements->v[i]))
			return true;
	if (has_element(other, element))
		return false;
	gt_strv_add(missing_elements, element);
	*ret_first = true;
	return true;
}

json_t *pr_baseline_reports(const json_t *report, const json_t *golden_report, const struct gt_strv *allow)
{
	struct pr_comparison c;
	struct pr_values golden;
	gt_auto_strv missing = {0}, more = {0};
	bool first;

	pr_baseline_start(&c, report, allow);
	pr_values_of(golden_report, &golden);
	for (size_t i = 0; i < golden.n; i++) {
		const struct pr_value *g = &golden.v[i], *h = pr_values_find(&c.here, g->path);

		if (g->count || g->state || MATCHES_ANY(excluded, g->path))
			continue;
		if (g->element && is_missing_element(&missing, &c.here, g->element, &first)) {
			if (first)
				pr_baseline_differ(
					&c, MATCHES_ANY(device_lists, g->element) ? PR_GRADE_CRITICAL : PR_GRADE_WARNING,
					g->element, NULL, "there");
		} else if (h) {
			compare_value(&c, g, h);
		}
	}
	for (size_t i = 0; i < c.here.n; i++) {
		const char *element = c.here.v[i].element;

		if (element && !MATCHES_ANY(excluded, c.here.v[i].path) && is_missing_element(&more, &golden, element, &first) &&
		    first)
			pr_baseline_differ(&c, PR_GRADE_WARNING, element, "there", NULL);
	}
	/* the baseline lacks a check that is newer than the baseline */
	for (size_t i = 0; i < c.here.n; i++)
		if (gt_starts_with(c.here.v[i].path, "check.") &&
		    pr_grade_of_check(c.here.v[i].text) != PR_GRADE_SAME &&
		    pr_grade_of_check(c.here.v[i].text) != PR_GRADE_UNKNOWN &&
		    !pr_values_find(&golden, c.here.v[i].path))
			pr_baseline_differ(&c, pr_grade_of_check(c.here.v[i].text), c.here.v[i].path, c.here.v[i].text,
					   NULL);
	pr_values_clear(&golden);
	return pr_baseline_finish(&c, "host");
}
