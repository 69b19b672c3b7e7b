/* SPDX-License-Identifier: Apache-2.0 */
/* Checks values of tunables: one function for plans, profiles, receipts and command lines. */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "lib/text.h"
#include "sysctl/sysctl.h"
#include "tune/model/tunable.h"
#include "tune/model/value.h"

/* Memory of a host that does not report it. A host for training has at least this much. */
#define MEMORY_ASSUMED_BYTES (INT64_C(1) << 30)

static int64_t most_of(const struct tn_range *r, const struct pr_host *host)
{
	if (!host || !r->unit_bytes)
		return r->most;
	return GT_MIN(r->most, pr_or(host->mem.total_bytes, MEMORY_ASSUMED_BYTES) / r->unit_bytes);
}

char *tn_tunable_range_text(const struct tn_tunable *k)
{
	gt_auto_buf b = { 0 };

	for (size_t i = 0; i < GT_ARRAY_SIZE(k->range) && k->range[i].most; i++) {
		const struct tn_range *r = &k->range[i];

		gt_buf_printf(&b, "%s%ld to ", i ? ", " : "", r->least);
		if (r->most < INT64_MAX)
			gt_buf_printf(&b, "%ld", r->most);
		if (r->unit_bytes)
			gt_buf_printf(&b, "%s1/%ld of memory in bytes", r->most < INT64_MAX ? " or " : "", r->unit_bytes);
		else if (r->most == INT64_MAX)
			gt_buf_printf(&b, "%ld", r->most);
	}
	return b.len ? gt_buf_take(&b) : NULL;
}

static int check_ranges(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err)
{
	gt_autofree char *copy = gt_xstrdup(value);
	char *rest = copy, *word = gt_cut(&rest, " \t");

	for (size_t i = 0; word && i < GT_ARRAY_SIZE(k->range) && k->range[i].most; i++, word = gt_cut(&rest, " \t")) {
		int64_t least = k->range[i].least, most = most_of(&k->range[i], host), v;

		if (tn_value_number(word, &v) < 0)
			return gt_fail(err, EINVAL, "%s takes a whole number, not '%.40s'", k->id, word);
		if (v < least || v > most)
			return gt_fail(err, ERANGE, "%s takes %ld to %ld%s, not %.40s", k->id, least, most,
				       host ? " on this host" : "", word);
	}
	return 0;
}

static int check_choice(const struct tn_tunable *k, const char *value, struct gt_err *err)
{
	gt_auto_buf all = { 0 };

	for (const char *const *c = k->choices; *c; c++) {
		if (!strcmp(*c, value))
			return 0;
		gt_buf_printf(&all, "%s%s", all.len ? ", " : "", *c);
	}
	return gt_fail(err, EINVAL, "%s takes %s; not '%.40s'", k->id, all.s, value);
}

int tn_tunable_check_value(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err)
{
	uint64_t v;
	int r;

	if (k->choices)
		return check_choice(k, value, err);
	if (k->check_value)
		return k->check_value(k, host, value, err);
	if (tn_tunable_key(k)) {
		r = sc_check_value(tn_tunable_key(k), value, err);
		if (r < 0)
			return r;
	} else if (gt_parse_u64(value, &v) < 0 || v > INT32_MAX) {
		return gt_fail(err, EINVAL, "%s takes a whole number, not '%.40s'", k->id, value);
	}
	return check_ranges(k, host, value, err);
}
