/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted results, judged as a fleet and as a history: the input is an array of results, or one result that is used
 * repeatedly.
 */
#include <string.h>
#include "bench/fleet/fleet.h"
#include "bench/report/forms.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 300;

static void add(struct bn_result_set *set, json_t *doc, size_t i)
{
	gt_autofree char *name = gt_xasprintf("folder/r%zu.json", i);
	struct gt_err err = { 0 };

	if (bn_result_set_add(set, name, doc, &err) < 0)
		FUZZ_ASSERT(err.code > 0 && err.msg[0]);
}

static void page_of(struct bn_view *v, struct gt_buf *out)
{
	bn_view_html(v, out);
	bn_view_free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto_json *doc = NULL, *fleet = NULL, *history = NULL;
	bn_auto_result_set set = { 0 };
	gt_auto_buf page = { 0 };
	struct gt_err err = { 0 };
	json_t *one;
	size_t i;

	if (gt_json_parse((const char *)data, size, "results", &doc, &err) < 0)
		return 0;
	if (json_is_array(doc))
		json_array_foreach(doc, i, one) {
			if (i < 24)
				add(&set, one, i);
		}
	else
		for (i = 0; i < 9; i++)
			add(&set, doc, i);
	fleet = bn_fleet_judge(&set);
	history = bn_history_judge(&set, 1);
	FUZZ_ASSERT(fleet && history);
	FUZZ_ASSERT(json_is_array(json_object_get(fleet, "outliers")) && json_is_array(json_object_get(history, "changes")));
	for (i = 0; i < json_array_size(json_object_get(fleet, "metrics")); i++)
		FUZZ_ASSERT(json_is_object(json_array_get(json_object_get(fleet, "metrics"), i)));
	page_of(bn_view_fleet(fleet), &page);
	page_of(bn_view_history(history), &page);
	FUZZ_ASSERT(page.len > 0);
	return 0;
}
