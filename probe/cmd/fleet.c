/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe fleet: finds the hosts whose reports differ from those of the same hardware. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/table.h"
#include "lib/text.h"
#include "probe/baseline/fleet.h"
#include "probe/cmd/gpuprobe.h"

#define LONGEST (64u << 20)

static int read_report(const char *path, json_t **ret, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	json_t *part;
	size_t len;
	int r = gt_file_read(path, LONGEST, &text, &len, err);

	if (r >= 0)
		r = gt_json_parse(text, len, path, ret, err);
	if (r >= 0)
		r = gt_json_check_schema(*ret, "gpuprobe/1", path, err);
	if (r >= 0)
		r = gt_json_req_object(*ret, "host", &part, err);
	return r >= 0 || strstr(err->msg, path) ? r : gt_fail_prefix(err, "%s", path);
}

/* Returns the file's name without ".json", to name its host. The caller frees it. */
static char *host_of(const char *path)
{
	const char *name = gt_basename(path);

	return gt_xstrndup(name, strlen(name) - 5 * gt_ends_with(name, ".json"));
}

static void print_value(const json_t *value)
{
	const char *text = gt_json_get_str(value, "value", "(absent)");
	const json_t *name, *named = json_object_get(value, "named");
	gt_auto_buf b = {0};
	int64_t hosts = gt_json_get_int(value, "hosts", 0);
	size_t i;

	gt_buf_printf(&b, "%lld: %s", (long long)hosts, *text ? text : "(empty)");
	json_array_foreach(named, i, name) gt_buf_printf(&b, "%s%s", i ? ", " : " on ", json_string_value(name));
	if (i && (int64_t)i < hosts)
		gt_buf_puts(&b, ", ...");
	gt_print_wrapped(stdout, b.s, 6, gt_term_width(stdout));
}

static void print_class(const json_t *class)
{
	const json_t *d, *value, *list = json_object_get(class, "differences");
	int64_t hosts = gt_json_get_int(class, "hosts", 0);
	gt_autofree char *head = gt_xasprintf("%lld host%s: %s; GPUs: %s; network: %s", (long long)hosts, hosts == 1 ? "" : "s",
					      gt_json_get_str(class, "cpu", ""), gt_json_get_str(class, "gpus", ""),
					      gt_json_get_str(class, "nics", ""));
	size_t i, k;

	gt_print_wrapped(stdout, head, 0, gt_term_width(stdout));
	if (!json_array_size(list))
		printf("  %s\n", hosts == 1 ? "nothing to compare with" : "no difference");
	json_array_foreach(list, i, d)
	{
		printf("  %s\n", gt_json_get_str(d, "path", ""));
		json_array_foreach(json_object_get(d, "values"), k, value) print_value(value);
	}
	printf("\n");
}

static void print_fleet(const json_t *doc)
{
	const json_t *class, *why, *classes = json_object_get(doc, "classes");
	int64_t skipped = gt_json_get_int(doc, "skipped", 0);
	size_t i;

	json_array_foreach(classes, i, class) print_class(class);
	printf("Hosts: %lld, classes: %zu\n", (long long)gt_json_get_int(doc, "hosts", 0), json_array_size(classes));
	if (!skipped)
		return;
	printf("Files that are no reports: %lld\n", (long long)skipped);
	json_array_foreach(json_object_get(doc, "reasons"), i, why)
		gt_print_wrapped(stdout, json_string_value(why), 2, gt_term_width(stdout));
}

static int run_fleet(struct gt_cli *cli, int argc, char **argv)
{
	struct pr_fleet *f = pr_fleet_new();
	gt_auto_json *doc = NULL;

	for (int i = 0; i < argc; i++) {
		gt_auto_json *report = NULL;
		gt_autofree char *host = host_of(argv[i]);
		struct gt_err err = {0};

		if (read_report(argv[i], &report, &err) < 0)
			pr_fleet_skip(f, err.msg);
		else
			pr_fleet_add(f, host, report);
	}
	doc = pr_fleet_judge(f);
	pr_fleet_free(f);
	gt_json_make_plain(doc);
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print_fleet(doc);
	return (int)gt_json_get_int(doc, "exit_code", 0);
}

const struct gt_cmd pr_cmd_fleet = {
	.name = "fleet",
	.args = "REPORT...",
	.group = "Diagnose",
	.summary = "Find the hosts whose reports differ from those of the same hardware",
	.help = "REPORT is a file of gpuprobe --json -o HOST.json. Hosts with the same processors, GPUs and network cards are a "
		"class. Prints each value that differs within a class, the most frequent value first, with the number of hosts "
		"and the names of the others. Leaves out values that differ between healthy hosts, such as names, clocks and "
		"free memory. Exit status: 0 no difference, 1 differences, 3 a file is no report.",
	.ignores = GT_ROOT_IGNORED,
	.only_reads = true,
	.min_args = 1,
	.max_args = -1,
	.run = run_fleet,
};
