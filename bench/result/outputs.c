/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "bench/result/outputs.h"
#include "lib/file.h"

static const char *rank_of_process(void)
{
	static const char *const names[] = { "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		if (getenv(names[i]))
			return getenv(names[i]);
	return "0";
}

static const char *expanded(const char *path)
{
	gt_auto_buf text = { 0 };
	struct utsname u;

	if (!path || !strchr(path, '%') || uname(&u) < 0)
		return path;
	for (const char *p = path; *p; p++) {
		if (p[0] == '%' && p[1] == 'h')
			gt_buf_puts(&text, u.nodename);
		else if (p[0] == '%' && p[1] == 'r')
			gt_buf_puts(&text, rank_of_process());
		else
			gt_buf_add(&text, p, 1);
		p += p[0] == '%' && (p[1] == 'h' || p[1] == 'r');
	}
	return gt_buf_take(&text);
}

void bn_outputs_expand(struct bn_outputs *out)
{
	out->json = expanded(out->json);
	out->html = expanded(out->html);
	out->markdown = expanded(out->markdown);
	out->openmetrics = expanded(out->openmetrics);
	out->trace = expanded(out->trace);
}

bool bn_outputs_take_stdout(const struct bn_outputs *out)
{
	const char *const paths[] = { out->json, out->html, out->markdown, out->openmetrics, out->trace };

	for (size_t i = 0; i < GT_ARRAY_SIZE(paths); i++)
		if (gt_streq(paths[i], "-"))
			return true;
	return false;
}

int bn_outputs_try(const struct bn_outputs *out, struct gt_err *err)
{
	const char *const paths[] = { out->json, out->html, out->markdown, out->openmetrics, out->trace };
	for (size_t i = 0; i < GT_ARRAY_SIZE(paths); i++) {
		int r = gt_file_try(paths[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

void bn_output_write(const char *path, const char *text, size_t len, int *r, struct gt_err *err)
{
	struct gt_err failure = { 0 };
	int status = path ? gt_file_write(path, text ? text : "", len, 0644, &failure) : 0;

	if (status < 0 && *r == 0) {
		*r = status;
		*err = failure;
	}
}

void bn_output_render(const char *path, void (*render)(const json_t *, struct gt_buf *), const json_t *doc, int *r,
		      struct gt_err *err)
{
	gt_auto_buf text = { 0 };

	if (!path)
		return;
	render(doc, &text);
	bn_output_write(path, text.s, text.len, r, err);
}
