/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the rule for a line of the kernel log in one pass over the line. An index by the first two characters of each pattern
 * selects the patterns to compare at a position.
 */
#include <pthread.h>
#include <string.h>
#include "lib/util.h"
#include "probe/compat/log_rules.h"

static const struct pr_log_rule rules[] = {
#include "probe/compat/log_rules_rows.h"
};

#define N_BUCKETS 1024
static unsigned short bucket[N_BUCKETS], next_rule[GT_ARRAY_SIZE(rules)]; /* index of a rule + 1; 0: end of the list */
static pthread_once_t indexed = PTHREAD_ONCE_INIT;

static size_t bucket_of(const char *two)
{
	return ((unsigned char)two[0] * 37u + (unsigned char)two[1]) % N_BUCKETS;
}

static const char *first_part(const struct pr_log_rule *r)
{
	return r->pattern + (*r->pattern == '^');
}

static void make_index(void)
{
	for (size_t i = GT_ARRAY_SIZE(rules); i-- > 0;) {
		unsigned short *head = &bucket[bucket_of(first_part(&rules[i]))];

		next_rule[i] = *head;
		*head = (unsigned short)(i + 1);
	}
}

/*
 * Returns whether the parts of the pattern, separated by '*', occur in the text in this order. The first part must be at the
 * start of the text.
 */
static bool matches(const char *text, const char *pattern)
{
	size_t n = strcspn(pattern, "*");

	if (strncmp(text, pattern, n) != 0)
		return false;
	for (text += n, pattern += n; *pattern; pattern += n) {
		pattern++;
		n = strcspn(pattern, "*");
		text = memmem(text, strlen(text), pattern, n);
		if (!text)
			return false;
		text += n;
	}
	return true;
}

const struct pr_log_rule *pr_log_rule_find(const char *text, size_t *ret_at)
{
	size_t best = GT_ARRAY_SIZE(rules);

	pthread_once(&indexed, make_index);
	for (const char *p = text; *p; p++)
		for (size_t i = bucket[bucket_of(p)]; i; i = next_rule[i - 1]) {
			const struct pr_log_rule *r = &rules[i - 1];
			const char *first = first_part(r);

			if (i - 1 < best && p[0] == first[0] && p[1] == first[1] && (*r->pattern != '^' || p == text) &&
			    matches(p, first)) {
				best = i - 1;
				*ret_at = (size_t)(p - text);
			}
		}
	return best < GT_ARRAY_SIZE(rules) ? &rules[best] : NULL;
}
