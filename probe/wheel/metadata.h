/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_METADATA_H
#define PR_METADATA_H
/* Metadata of a Python distribution: METADATA and WHEEL of its dist-info directory, and the tags in a wheel's file name
 * (PyPA: core metadata, binary distribution format, platform compatibility tags). All of this text is untrusted. */
#include "lib/err.h"

struct pr_metadata {
	char *name, *version, *requires_python; /* name normalised: "nvidia-cudnn-cu12"; NULL: absent */
	struct gt_strv requires;                /* values of all Requires-Dist lines, unchanged */
	struct gt_strv tags;                    /* each Tag of WHEEL: "cp311-cp311-manylinux_2_28_x86_64" */
};

/* Adds the fields of a METADATA or WHEEL file to m. Returns -EINVAL with a sentence for a malformed line or a character
 * that is not allowed in a version. where: file name for error messages. */
int pr_metadata_parse(const char *text, const char *where, struct pr_metadata *m, struct gt_err *err);
void pr_metadata_clear(struct pr_metadata *m);
#define pr_auto_metadata __attribute__((cleanup(pr_metadata_clear))) struct pr_metadata

struct pr_requirement {
	char name[128];   /* normalised */
	char spec[256];   /* "==12.8.90", "<3,>=2"; "" for any */
	char marker[512]; /* "platform_system == \"Linux\""; "" for none */
};
/* Parses one Requires-Dist. Returns false if it is malformed. */
bool pr_requirement_parse(const char *text, struct pr_requirement *ret);
/* Returns whether the requirement applies on Linux with that architecture ("x86_64") and no extras. Any other marker: false. */
bool pr_requirement_counts(const struct pr_requirement *r, const char *arch);
/* Returns whether a version satisfies a specification of ==, >=, <=, <, >, != and ~=. Returns -EINVAL for other operators. */
int pr_version_satisfies(const char *version, const char *spec);

/* Returns the CUDA release of a distribution, "13.2" or only the major as "12.0". It comes from the version, the
 * requirements or the name; *ret_from gives the source ("cuda-toolkit==13.2.2"). NULL: unknown. The caller frees both. */
char *pr_metadata_cuda(const struct pr_metadata *m, char **ret_from);

struct pr_tag_answer {
	int python, platform; /* 1: compatible, 0: incompatible, -1: unknown */
	char python_why[192], platform_why[192];
};
/* Returns in *ret whether a wheel with that tag installs under the Python "3.11", the C library "2.36" and the
 * architecture "x86_64" (each NULL: unknown). Returns false if the tag is malformed. */
bool pr_tag_judge(const char *tag, const char *python, const char *glibc, const char *arch, struct pr_tag_answer *ret);
#endif
