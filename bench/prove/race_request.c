/* SPDX-License-Identifier: Apache-2.0 */
/* The requested races, and their form in the document. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bench/prove/loader_race.h"
#include "bench/prove/race_request.h"
#include "lib/text.h"
#include "tune/knob/list.h"
#include "tune/launch/settings.h"
#include "tune/model/tunable.h"
#include "tune/model/value.h"
#include "tune/plan/plan.h"

#define RACES_MAX 8

static int bad(struct gt_err *err, const char *spec, const char *why)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--race %.100s: %s", spec, why);
}

/* Returns the host's current value, which the caller frees. NULL: not set. */
static int current_value(struct gt_fsroot *fs, const struct pr_host *host, const char *id, const char *spec, char **ret,
			 struct gt_err *err)
{
	const char *host_value = gt_starts_with(id, "env.") ? getenv(id + 4) : NULL;
	gt_auto(tn_plan) *plan = NULL;
	gt_auto_strv only = {0};
	int r;

	*ret = host_value ? gt_xstrdup(host_value) : NULL;
	if (gt_starts_with(id, "env."))
		return 0;
	if (!tn_tunable_find(id) && !tn_launch_find(id))
		return bad(err, spec, "it is neither a knob of gputune (see gputune list), env.NAME nor loader.workers");
	gt_strv_add(&only, id);
	r = tn_plan_make(fs, host, &(struct tn_plan_opts){.only = &only, .optional = true}, &plan, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < plan->n_item && !*ret; i++)
		if (plan->item[i].current && plan->item[i].status != TN_NOT_APPLICABLE)
			*ret = gt_xstrdup(plan->item[i].current);
	return *ret ? 0 : bad(err, spec, "this host does not have it");
}

static int parse(struct gt_fsroot *fs, const struct pr_host *host, const char *spec, char *const *argv, struct bn_race *race,
		 struct gt_err *err)
{
	const char *eq = strchr(spec, '=');
	const char *loader, *by_default;
	gt_autofree char *host_value = NULL;
	int r;

	if (!eq || eq == spec)
		return bad(err, spec, "it must be ID=VALUE,VALUE,...");
	race->id = gt_xstrndup(spec, (size_t)(eq - spec));
	loader = bn_loader_variable(race->id, &by_default);
	if (loader) {
		free(race->id);
		race->id = gt_xstrdup(loader);
		host_value = gt_xstrdup(by_default);
	} else {
		r = gt_fail_as(err, GT_EXIT_USAGE, current_value(fs, host, race->id, spec, &host_value, err));
		if (r < 0)
			return r;
	}
	gt_each_word(v, eq + 1, ",") {
		const struct tn_tunable *t = tn_tunable_find(race->id);

		if (gt_streq(v, host_value) || gt_strv_has(&race->values, v))
			continue; /* every pair already includes the host's own value */
		r = t ? gt_fail_as(err, GT_EXIT_USAGE, tn_tunable_check_value(t, host, v, err)) : 0;
		if (r < 0)
			return r;
		gt_strv_add(&race->values, v);
	}
	if (race->values.n < 2 || race->values.n > BN_RACE_VALUES_MAX)
		return bad(err, spec, "give 2 to 16 values other than the host's own; for one value use --knob or --env");
	return loader ? gt_fail_as(err, GT_EXIT_USAGE, bn_loader_check(host, race->id, &race->values, argv, err)) : 0;
}

int bn_races_parse(struct gt_fsroot *fs, const struct gt_strv *specs, struct bn_request *q, struct bn_race **ret, size_t *ret_n,
		   struct gt_err *err)
{
	struct bn_race *races = gt_xcalloc(specs->n + 1, sizeof(*races));
	const struct pr_host *host = NULL;
	gt_auto(pr_host) *discovered = NULL;
	int r;

	*ret = races;
	*ret_n = 0;
	if (specs->n > RACES_MAX)
		return bad(err, specs->v[0], "at most eight races in one session");
	r = specs->n ? tn_host_get(fs, NULL, &discovered, &host, err) : 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < specs->n; i++) {
		struct bn_race *race = &races[(*ret_n)++];

		r = parse(fs, host, specs->v[i], q->command.argv, race, err);
		if (r < 0)
			return r;
		if (gt_starts_with(race->id, "env."))
			gt_strv_take(&q->env, gt_xasprintf("%s=%s", race->id + 4, race->values.v[0]));
		else
			gt_strv_take(&q->knobs, gt_xasprintf("%s=%s", race->id, race->values.v[0]));
	}
	return 0;
}

void bn_races_free(struct bn_race *races, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(races[i].id);
		gt_strv_clear(&races[i].values);
	}
	free(races);
}

json_t *bn_races_json(const struct bn_race *races, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *values = json_array();

		for (size_t k = 0; k < races[i].values.n; k++)
			json_array_append_new(values, gt_json_str(races[i].values.v[k]));
		json_array_append_new(list, json_pack("{s:s, s:o}", "id", races[i].id, "values", values));
	}
	return list;
}

int bn_races_restore(const json_t *list, struct bn_race **ret, size_t *ret_n, struct gt_err *err)
{
	size_t n = json_array_size(list), i, k;
	struct bn_race *races = gt_xcalloc(n + 1, sizeof(*races));
	json_t *j, *v;

	*ret = races;
	*ret_n = 0;
	json_array_foreach(list, i, j)
	{
		const char *id = gt_json_get_str(j, "id", NULL);
		json_t *values = json_object_get(j, "values");

		if (n > RACES_MAX || !id || json_array_size(values) < 2 || json_array_size(values) > BN_RACE_VALUES_MAX)
			return gt_fail(err, EINVAL, "\"races\" is not as gpubench wrote it");
		races[i].id = gt_xstrdup(id);
		*ret_n = i + 1;
		json_array_foreach(values, k, v)
		{
			if (!json_is_string(v))
				return gt_fail(err, EINVAL, "\"races\" contains a value that is not text");
			gt_strv_add(&races[i].values, json_string_value(v));
			if (tn_tunable_find(id) && tn_tunable_check_value(tn_tunable_find(id), NULL, json_string_value(v), err) < 0)
				return -EINVAL;
		}
	}
	return 0;
}

size_t bn_races_pairs(const struct bn_race *races, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		size_t left = races[i].values.n, pairs = BN_RACE_FIRST_PAIRS;

		for (sum += left * pairs; left > 2;) {
			left = (left + 1) / 2;
			pairs *= 2;
			sum += left * pairs;
		}
	}
	return sum;
}
