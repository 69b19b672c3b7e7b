/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted plan: rejected with a message and exit status 3 or 64, or accepted and then equal after writing and
 * reading again.
 */
#include <string.h>
#include "lib/json.h"
#include "tests/fuzz/fuzz.h"
#include "tune/plan/plan_json.h"

const unsigned fuzz_rounds = 5000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto_json *doc = NULL, *once = NULL, *twice = NULL;
	gt_auto(tn_plan) *plan = NULL, *again = NULL;
	gt_autofree char *text = NULL, *text2 = NULL;
	struct gt_err err = { 0 };

	if (gt_json_parse((const char *)data, size, "plan", &doc, &err) < 0)
		return 0;
	if (tn_plan_from_json(doc, &plan, &err) < 0) {
		FUZZ_ASSERT(!plan && err.code > 0 && err.msg[0]);
		FUZZ_ASSERT(err.exit_status == TN_EXIT_REFUSED || err.exit_status == GT_EXIT_USAGE);
		return 0;
	}
	FUZZ_ASSERT(tn_plan_changes(plan) <= plan->n_item);
	once = tn_plan_to_json(plan);
	FUZZ_ASSERT(!tn_plan_from_json(once, &again, &err));
	twice = tn_plan_to_json(again);
	text = gt_json_text(once);
	text2 = gt_json_text(twice);
	FUZZ_ASSERT(!strcmp(text, text2));
	return 0;
}
