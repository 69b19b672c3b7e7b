/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_METADATA_H
#define PR_METADATA_H
/* What a distribution says of itself: METADATA and WHEEL of its dist-info directory, and the tags of a wheel's name
 * (PyPA: core metadata, binary distribution format, platform compatibility tags). A stranger's text, all of it. */
#include "lib/err.h"

struct pr_metadata {
	char *name, *version, *requires_python; /* name normalised: "nvidia-cudnn-cu12"; NULL: not said */
	struct gt_strv requires;                /* each Requires-Dist as it stands */
	struct gt_strv tags;                    /* each Tag of WHEEL: "cp311-cp311-manylinux_2_28_x86_64" */
};

/* Add the fields of a METADATA or WHEEL file to m. -EINVAL with a sentence: a line no tool writes, a character that no
 * version has. where is for sentences. */
int pr_metadata_parse(const char *text, const char *where, struct pr_metadata *m, struct gt_err *err);
void pr_metadata_clear(struct pr_metadata *m);
#define pr_auto_metadata __attribute__((cleanup(pr_metadata_clear))) struct pr_metadata

struct pr_requirement {
	char name[128];   /* normalised */
	char spec[256];   /* "==12.8.90", "<3,>=2"; "" for any */
	char marker[512]; /* "platform_system == \"Linux\""; "" for none */
};
/* One Requires-Dist taken apart: false if it is none. */
bool pr_requirement_parse(const char *text, struct pr_requirement *ret);
/* Does it count on a Linux host of that architecture ("x86_64"), without extras? A marker on anything else: no. */
bool pr_requirement_counts(const struct pr_requirement *r, const char *arch);
/* Does a version satisfy a specification made of ==, >=, <=, <, >, != and ~=? -EINVAL: it holds something else. */
int pr_version_satisfies(const char *version, const char *spec);

/* The CUDA release that a distribution is made with, "13.2", or its major alone as "12.0", from its own version, its
 * requirements or its name; *ret_from says which ("cuda-toolkit==13.2.2"). NULL: it does not say. The caller frees
 * both. */
char *pr_metadata_cuda(const struct pr_metadata *m, char **ret_from);

struct pr_tag_answer {
	int python, platform; /* 1 fits, 0 does not, -1 not known */
	char python_why[192], platform_why[192];
};
/* Does a wheel of that tag install under the Python "3.11", the C library "2.36" and the architecture "x86_64" (each
 * NULL: not known)? False if it is no tag. */
bool pr_tag_judge(const char *tag, const char *python, const char *glibc, const char *arch, struct pr_tag_answer *ret);
#endif
