/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_KNOB_SETTINGS_H
#define TN_KNOB_SETTINGS_H
#include "lib/util.h"

/* A setting that other programs and guides recommend: the knob for it here, or why there is none. */
struct tn_setting_known {
	const char *name, *knob, *why; /* one of knob and why */
};
extern const struct tn_setting_known tn_settings_known[]; /* the last one has name NULL */
const struct tn_setting_known *tn_setting_find(const char *name);
#endif
