/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PROFILE_H
#define TN_PROFILE_H
#include "tune/model/knob.h"

/* Those of tune/profiles/, compiled in; ends with name NULL. */
struct tn_builtin_profile {
	const char *name, *text;
};
extern const struct tn_builtin_profile tn_builtin_profiles[];
#endif
