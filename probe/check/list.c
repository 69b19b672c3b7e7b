/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/check/list.h"

const struct pr_check *const pr_checks[] = {
#define ENTRY(NAME) &pr_check_##NAME,
	PR_CHECKS(ENTRY)
	NULL,
};
