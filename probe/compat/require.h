/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_REQUIRE_H
#define PR_REQUIRE_H
/*
 * Evaluates an image's NVIDIA_REQUIRE_CUDA like nvidia-container-toolkit. Blanks separate alternatives, and commas join
 * conditions. A condition is KEY OP VALUE with KEY cuda, driver, arch or brand and OP one of = != < <= > >=.
 */
#include "lib/err.h"

struct pr_require_facts {
	const char *cuda;   /* newest CUDA that the driver supports, "12.4"; NULL: unknown */
	const char *driver; /* "550.163.01" */
	const char *arch;   /* "9.0" */
	const char *brand;  /* "tesla", "geforce" … */
};
/* Returns 1 if satisfied, 0 if not, or -EINVAL with a sentence. *ret_why (the caller frees it) is the first failed
 * condition. A condition on an unknown fact makes its alternative unknown. *ret_unknown is set if the result depends on
 * such an alternative. */
int pr_require(const char *expression, const struct pr_require_facts *facts, char **ret_why, bool *ret_unknown,
	       struct gt_err *err);
#endif
