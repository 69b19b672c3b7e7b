/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fleet/knob_affects.h"
#include "bench/workload/workload.h"

bool bn_knob_affects(const char *workload, const char *key)
{
	const struct bn_workload *w = bn_workload_find(workload);

	for (const char *const *k = w ? w->knobs : NULL; k && *k; k++)
		if (gt_streq(*k, key) || (gt_ends_with(*k, ".") && gt_starts_with(key, *k)))
			return true;
	return false;
}
