/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted receipt with this host's identity: rejected with a message. Otherwise each value to write is in the range
 * and direction of its tunable, and the verdicts follow from the samples.
 */
#include <string.h>
#include <time.h>
#include "lib/json.h"
#include "tests/fuzz/fuzz.h"
#include "tune/knob/list.h"
#include "tune/plan/receipt.h"
#include "tune/plan/receipt_samples.h"

const unsigned fuzz_rounds = 5000;

static struct tn_plan *plan_of(const char *knob, const char *instance, const char *current)
{
	struct tn_plan *plan = gt_xcalloc(1, sizeof(*plan));
	struct tn_item *i = tn_plan_add(plan, tn_tunable_find(knob), instance);

	i->status = TN_SKIPPED;
	i->current = gt_xstrdup(current);
	i->wanted = gt_xstrdup(current);
	return plan;
}

static void try(json_t *doc, const struct pr_host *host, struct tn_plan *plan)
{
	gt_auto_json *marks = json_pack("{s:s, s:{s:s}}", "machine_id", "89abcdef01234567", "gpus", "0000:17:00.0", "0123");
	gt_auto(tn_plan) *p = plan;
	struct gt_err err = { 0 };
	const struct tn_item *i = &p->item[0];

	if (tn_plan_take_receipt(doc, "receipt", host, marks, p, &err) < 0)
		FUZZ_ASSERT(err.code > 0 && err.msg[0]);
	else
		FUZZ_ASSERT(!tn_receipt_check_samples(doc, &err));
	if (i->status == TN_CHANGE)
		FUZZ_ASSERT(!tn_tunable_check_value(i->knob, host, i->wanted, &err) && !tn_item_good(i, i->current));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pr_host host = { .identity = "0123456789abcdef", .kernel.release = { PR_PRESENT, "6.1.0" } };
	gt_auto_json *doc = NULL;
	struct gt_err err = { 0 };

	if (gt_json_parse((const char *)data, size, "receipt", &doc, &err) < 0)
		return 0;
	try(doc, &host, plan_of("vm.max_map_count", NULL, "65530"));
	json_object_set_new(doc, "host", json_string(host.identity));
	json_object_set_new(doc, "created_unix", json_integer((json_int_t)time(NULL)));
	json_object_set_new(doc, "nvidia_driver", json_null());
	json_object_set_new(doc, "kernel", json_string(host.kernel.release.v));
	json_object_set_new(doc, "confirmed", json_true());
	try(doc, &host, plan_of("vm.max_map_count", NULL, "65530"));
	try(doc, &host, plan_of("block.read_ahead", "vda", "128"));
	try(doc, &host, plan_of("thp.enabled", NULL, "madvise"));
	return 0;
}
