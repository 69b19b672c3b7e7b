/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted expectations of a host: they are rejected with file and line, or give a document whose verdict follows from
 * its lists.
 */
#include <string.h>
#include "probe/baseline/baseline.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 2000;

static const char report[] =
	"{\"host\": {\"kernel\": {\"release\": \"6.1.0-41-amd64\"}, \"memory\": {\"total_bytes\": 549755813888},"
	" \"gpus\": [{\"pci\": \"0000:17:00.0\", \"link_width\": 16, \"mig\": \"unknown\"}], \"python\": []},"
	" \"checks\": [{\"id\": \"gpu.count\", \"result\": \"fail\"}, {\"id\": \"cpu.governor\", \"result\": \"warn\"}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_autofree char *text = gt_xstrndup((const char *)data, size);
	gt_auto_json *here = NULL, *doc = NULL, *other = NULL, *against = NULL;
	struct gt_err err = {0};
	const struct gt_strv none = {0};

	FUZZ_ASSERT(!gt_json_parse(report, strlen(report), "report", &here, NULL));
	if (pr_baseline_expect(here, text, "input", &none, &doc, &err) < 0)
		FUZZ_ASSERT(!doc && err.exit_status == 64 && !strncmp(err.msg, "input:", 6));
	else
		FUZZ_ASSERT((json_array_size(json_object_get(doc, "differences")) > 0) ==
			    (gt_json_get_int(doc, "exit_code", -1) != 0));
	if (!gt_json_parse(text, strlen(text), "other", &other, NULL)) {
		against = pr_baseline_reports(here, other, &none);
		FUZZ_ASSERT(against);
	}
	return 0;
}
