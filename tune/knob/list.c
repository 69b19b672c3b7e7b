/* SPDX-License-Identifier: Apache-2.0 */
/* The tunables of the host, in the order of writing. */
#include <string.h>
#include "tune/knob/list.h"

const struct tn_tunable *const tn_tunables[] = {
#define ENTRY(NAME) &tn_tunable_##NAME,
	TN_KNOBS(ENTRY)
	NULL,
};

const struct tn_tunable *tn_tunable_find(const char *id)
{
	for (size_t i = 0; tn_tunables[i]; i++)
		if (!strcmp(tn_tunables[i]->id, id))
			return tn_tunables[i];
	return NULL;
}

char *tn_tunable_side_label(const struct tn_tunable *k, const char *instance)
{
	for (size_t i = 0; k->resets && tn_tunables[i]; i++)
		if (gt_streq(tn_tunables[i]->path, k->resets))
			return tn_tunable_label(tn_tunables[i], instance);
	return NULL;
}
