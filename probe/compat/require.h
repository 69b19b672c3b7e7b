/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_REQUIRE_H
#define PR_REQUIRE_H
/*
 * The expression of NVIDIA_REQUIRE_CUDA in an image, as nvidia-container-toolkit reads it: blanks separate alternatives, commas
 * join conditions, a condition is KEY OP VALUE with KEY cuda, driver, arch or brand and OP one of = != < <= > >=.
 */
#include "lib/err.h"

struct pr_require_facts {
	const char *cuda;   /* newest CUDA that the driver carries, "12.4"; NULL: not known */
	const char *driver; /* "550.163.01" */
	const char *arch;   /* "9.0" */
	const char *brand;  /* "tesla", "geforce" … */
};
/* 1: satisfied, 0: not, and *ret_why (the caller frees) names the first condition that failed; -EINVAL with a sentence; a
 * condition on a fact that is not known makes its alternative unknown: *ret_unknown is set if the answer hangs on one. */
int pr_require(const char *expression, const struct pr_require_facts *facts, char **ret_why, bool *ret_unknown,
	       struct gt_err *err);
#endif
