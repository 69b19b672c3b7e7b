/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/prove/loader_race.h"
#include "bench/prove/observations.h"
#include "lib/log.h"
#include "lib/text.h"
#include "tune/launch/loader.h"

#define ID "env.GPUTUNE_LOADER_"

static const struct {
	const char *argument, *variable, *by_default;
} arguments[] = {
	{"workers", ID "WORKERS", "0"},
	{"prefetch", ID "PREFETCH", "2"},
	{"pin", ID "PIN", "off"},
};

const char *bn_loader_variable(const char *id, const char **ret_default)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(arguments); i++)
		if (gt_starts_with(id, "loader.") && !strcmp(id + strlen("loader."), arguments[i].argument)) {
			*ret_default = arguments[i].by_default;
			return arguments[i].variable;
		}
	return NULL;
}

char *bn_loader_option(const char *id, const char *value)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(arguments); i++)
		if (gt_streq(id, arguments[i].variable))
			return gt_xasprintf("%s=%s", arguments[i].argument, value);
	return NULL;
}

int bn_loader_check(const struct pr_host *host, const char *id, const struct gt_strv *values, char *const *argv,
		    struct gt_err *err)
{
	gt_autofree char *isolated = tn_loader_doubt(host, "", argv);

	if (!argv || !*argv)
		return gt_fail(err, EINVAL, "loader.* needs a command that uses DataLoader: -- CMD");
	if (isolated)
		return gt_fail(err, EINVAL, "%s", isolated);
	for (size_t i = 0; i < values->n; i++) {
		gt_autofree char *option = bn_loader_option(id, values->v[i]), *doubt = NULL;
		int r = tn_loader_check(option, err);

		if (r < 0)
			return r;
		doubt = tn_loader_doubt(host, option, argv);
		if (doubt)
			gt_warn("%s", doubt);
	}
	return 0;
}

int bn_loader_enable(struct gt_fsroot *fs, const struct bn_race *races, size_t n, struct gt_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (gt_starts_with(races[i].id, ID))
			return gt_fail_as(err, GT_EXIT_USAGE, tn_loader_enable(fs, err));
	return 0;
}

/* ---- cost of fetching ---------------------------------------------------------------------------------------------- */

/* Returns the median of the launches of an arm; NaN: none has reported it. */
static double waited(json_t *launches, const char *arm)
{
	gt_autofree double *parts = gt_xcalloc(json_array_size(launches) + 1, sizeof(*parts));
	size_t n = 0, i;
	json_t *rec;

	json_array_foreach(launches, i, rec) {
		const json_t *part = json_object_get(json_object_get(rec, "notes"), BN_FETCH_NOTE);

		if (json_is_number(part) && gt_streq(gt_json_get_str(rec, "arm", NULL), arm))
			parts[n++] = json_number_value(part);
	}
	return bn_median(parts, n);
}

json_t *bn_loader_fetch_json(const struct bn_prove *p)
{
	const struct bn_phase_result *confirm = bn_prove_result(p, "confirm");
	json_t *launches = confirm ? json_object_get(confirm->doc, "launches") : NULL;

	if (!launches || isnan(waited(launches, "A")) || isnan(waited(launches, "B")))
		return NULL;
	return json_pack("{s:f, s:f}", "before", waited(launches, "A"), "after", waited(launches, "B"));
}
