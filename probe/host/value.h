/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_VALUE_H
#define PR_VALUE_H
/* A value of the host and how it was read. Absent, unreadable, broken and unknown are different states. None of them is zero. */
#include "lib/util.h"

enum pr_state { PR_UNKNOWN, PR_PRESENT, PR_ABSENT, PR_UNREADABLE, PR_BROKEN };
struct pr_num {
	enum pr_state state;
	int64_t v; /* meaningful only if PR_PRESENT */
};
struct pr_str {
	enum pr_state state;
	const char *v; /* NULL unless PR_PRESENT */
};
static inline bool pr_has(struct pr_num n)
{
	return n.state == PR_PRESENT;
}
/* Returns the value, or dflt if there is none. */
static inline int64_t pr_or(struct pr_num n, int64_t dflt)
{
	return n.state == PR_PRESENT ? n.v : dflt;
}
const char *pr_state_name(enum pr_state s);
#endif
