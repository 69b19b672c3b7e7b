/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PROFILE_H
#define TN_PROFILE_H
#include "tune/model/tunable.h"

/* Strict INI, see profile.c. */
struct tn_setting {
	char *id; /* of a tunable or a launch setting */
	char *value; /* "on", "off" or the wanted value */
	char *where; /* file:line */
};
struct tn_profile {
	char *name, *summary;
	struct tn_setting *set;
	size_t n_set;
};
/* name NULL or "auto": the one that fits the host. A name with a '/' is a file. */
int tn_profile_load(struct gt_fsroot *fs, const struct pr_host *host, const char *name, struct tn_profile **ret,
		    struct gt_err *err);
void tn_profile_free(struct tn_profile *p);
GT_DEFINE_AUTO(tn_profile, tn_profile_free);
/* "on", "off", a value, or NULL if the profile does not say. */
const char *tn_profile_get(const struct tn_profile *p, const char *id);

/* Those of tune/profiles/, compiled in; ends with name NULL. */
struct tn_builtin_profile {
	const char *name, *text;
};
extern const struct tn_builtin_profile tn_builtin_profiles[];
/* Returns the names of built-in profiles, one by one, then NULL: for completion. */
const char *tn_profile_word(size_t i);
#endif
