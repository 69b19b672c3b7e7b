/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted captured host is discovered and judged: there is always a document and a verdict, and a second run gives
 * the same.
 */
#include <errno.h>
#include <string.h>
#include "lib/json.h"
#include "probe/check/check.h"
#include "probe/topo/topo.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_root.h"

const unsigned fuzz_rounds = 30;

/* The topology, its drawing and NCCL's file are complete for any host. */
static void draw(const struct pr_host *host)
{
	gt_auto_json *doc = pr_topo_json(host);
	gt_auto_buf svg = { 0 }, nccl = { 0 };
	struct gt_err err = { 0 };
	size_t n = json_array_size(json_object_get(doc, "devices"));

	FUZZ_ASSERT(json_array_size(json_object_get(doc, "edges")) == n * (n ? n - 1 : 0) / 2);
	pr_topo_svg(doc, &svg);
	FUZZ_ASSERT(gt_starts_with(svg.s, "<svg ") && gt_ends_with(svg.s, "</svg>\n"));
	if (pr_topo_nccl(doc, &nccl, &err) < 0)
		FUZZ_ASSERT(err.code == E2BIG && err.msg[0]);
	else
		FUZZ_ASSERT(gt_ends_with(nccl.s, "</system>\n"));
}

static char *look(struct gt_fsroot *fs)
{
	const struct pr_discover_opts opts = { .no_nvml = false }; /* a root that is not live has NVML's readings as a fact */
	gt_auto(pr_host) *host = NULL;
	gt_autofree struct pr_judged *judged = NULL;
	gt_auto_json *doc = NULL;
	struct gt_err err = { 0 };
	struct pr_context c = { .fs = fs };
	size_t n;
	int code;

	if (pr_host_discover(fs, &opts, &host, &err) < 0) {
		FUZZ_ASSERT(!host && err.code > 0 && err.msg[0]);
		return gt_xstrdup(err.msg);
	}
	c.host = host;
	n = pr_judge(&c, &judged);
	code = pr_exit_code(judged, n);
	FUZZ_ASSERT(n && code >= 0 && code <= 3);
	for (size_t i = 0; i < n; i++)
		FUZZ_ASSERT(judged[i].cause < (int)n && judged[i].cause != (int)i && judged[i].f.what[0]);
	doc = pr_host_to_json(host);
	draw(host);
	return gt_json_text(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(gt_fsroot) *fs = fuzz_root(data, size);
	gt_autofree char *once = NULL, *twice = NULL;

	if (!fs)
		return 0;
	once = look(fs);
	twice = look(fs);
	FUZZ_ASSERT(once && twice && !strcmp(once, twice));
	return 0;
}
