/* SPDX-License-Identifier: Apache-2.0 */
/* The tunables of the host, in the order in which they are written. */
#include <string.h>
#include "tune/knob/list.h"

const struct tn_knob *const tn_knobs[] = {
#define ENTRY(NAME) &tn_knob_##NAME,
	TN_KNOBS(ENTRY)
	NULL,
};

const struct tn_knob *tn_knob_find(const char *id)
{
	for (size_t i = 0; tn_knobs[i]; i++)
		if (!strcmp(tn_knobs[i]->id, id))
			return tn_knobs[i];
	return NULL;
}

char *tn_knob_side_label(const struct tn_knob *k, const char *instance)
{
	for (size_t i = 0; k->resets && tn_knobs[i]; i++)
		if (gt_streq(tn_knobs[i]->path, k->resets))
			return tn_knob_label(tn_knobs[i], instance);
	return NULL;
}
