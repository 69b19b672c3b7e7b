/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LOG_RULES_H
#define PR_LOG_RULES_H
#include <stddef.h>

enum pr_log_effect {
	PR_LOG_EFFECT_NOTE,
	PR_LOG_EFFECT_HARMLESS,
	PR_LOG_EFFECT_PROGRAM,
	PR_LOG_EFFECT_CORRECTED,
	PR_LOG_EFFECT_OVER,
	PR_LOG_EFFECT_EVENT,
	PR_LOG_EFFECT_WARN,
	PR_LOG_EFFECT_FAIL
};

/* One row of log_rules.tsv, which documents the columns and has the sources. */
struct pr_log_rule {
	const char *check; /* NULL: none */
	enum pr_log_effect effect;
	const char *pattern, *meaning, *remedy;
};

/* Returns the first rule whose pattern occurs in the line, and the offset of its first part. NULL: no rule applies. */
const struct pr_log_rule *pr_log_rule_find(const char *text, size_t *ret_at);
#endif
