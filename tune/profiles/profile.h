/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PROFILE_H
#define TN_PROFILE_H
#include "tune/model/tunable.h"

/* Profiles in a strict INI format; see profile.c. */
struct tn_setting {
	char *id; /* id of a tunable or a launch setting */
	char *value; /* "on", "off" or a value */
	char *where; /* file:line */
};
struct tn_profile {
	char *name, *summary;
	struct tn_setting *set;
	size_t n_set;
};
/* Loads a profile. name NULL or "auto": selected by host. A name with a '/' is a file. */
int tn_profile_load(struct gt_fsroot *fs, const struct pr_host *host, const char *name, struct tn_profile **ret,
		    struct gt_err *err);
/* Sets a value as if the profile contained the line. spec: "ID=VALUE". */
int tn_profile_set(struct tn_profile *p, const char *spec, struct gt_err *err);
void tn_profile_free(struct tn_profile *p);
GT_DEFINE_AUTO(tn_profile, tn_profile_free);
/* Returns "on", "off", a value, or NULL if the profile does not contain the id. */
const char *tn_profile_get(const struct tn_profile *p, const char *id);

/* Profiles of tune/profiles/, compiled in. The last one has name NULL. */
struct tn_builtin_profile {
	const char *name, *text;
};
extern const struct tn_builtin_profile tn_builtin_profiles[];
/* Returns the name of built-in profile i, NULL past the last; for completion. */
const char *tn_profile_word(size_t i);
#endif
