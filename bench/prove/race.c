/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings with many values, in gpubench prove: which value is worth proving? Successive halving: in each round every value
 * that is left runs in pairs against the host's own (so drift cancels), the better half goes on with twice the pairs. The
 * winner has been flattered by being chosen; what it is worth the other phases find out, on fresh data.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "lib/text.h"
#include "bench/prove/prove.h"
#include "tune/knob/list.h"
#include "tune/launch/settings.h"
#include "tune/model/knob.h"
#include "tune/model/value.h"
#include "tune/plan/plan.h"

#define FIRST_PAIRS 4
#define VALUES_MAX  16
#define RACES_MAX   8

/* ---- the request ---- */

static int bad(struct gt_err *err, const char *spec, const char *why)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--race %.100s: %s", spec, why);
}

/* What the host has now; the caller frees it. NULL: not set. */
static int incumbent(struct gt_fsroot *fs, const struct pr_host *host, const char *id, const char *spec, char **ret,
		     struct gt_err *err)
{
	const char *own = gt_starts_with(id, "env.") ? getenv(id + 4) : NULL;
	gt_auto(tn_plan) *plan = NULL;
	gt_auto_strv only = {0};
	int r;

	*ret = own ? gt_xstrdup(own) : NULL;
	if (gt_starts_with(id, "env."))
		return 0;
	if (!tn_knob_find(id) && !tn_launch_find(id))
		return bad(err, spec, "it is no knob of gputune (gputune list), and no env.NAME");
	gt_strv_add(&only, id);
	r = tn_plan_make(fs, host, &(struct tn_plan_opts){.only = &only, .optional = true}, &plan, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < plan->n_item && !*ret; i++)
		if (plan->item[i].current && plan->item[i].status != TN_NOT_APPLICABLE)
			*ret = gt_xstrdup(plan->item[i].current);
	return *ret ? 0 : bad(err, spec, "this host does not have it");
}

static int parse(struct gt_fsroot *fs, const struct pr_host *host, const char *spec, struct bn_race *race, struct gt_err *err)
{
	const char *eq = strchr(spec, '=');
	gt_autofree char *own = NULL;
	int r;

	if (!eq || eq == spec)
		return bad(err, spec, "ID=VALUE,VALUE,... is needed");
	race->id = gt_xstrndup(spec, (size_t)(eq - spec));
	r = incumbent(fs, host, race->id, spec, &own, err);
	gt_each_word(v, eq + 1, ",") {
		if (r < 0)
			break;
		if (gt_streq(v, own) || gt_strv_has(&race->values, v))
			continue; /* it runs in every pair anyway */
		if (tn_knob_find(race->id))
			r = tn_knob_check_value(tn_knob_find(race->id), host, v, err);
		gt_strv_add(&race->values, v);
	}
	if (r < 0) {
		err->exit_status = GT_EXIT_USAGE;
		return r;
	}
	if (race->values.n < 2 || race->values.n > VALUES_MAX)
		return bad(err, spec, "2 to 16 values other than the host's own are needed; for one there is --knob or --env");
	return 0;
}

int bn_races_parse(struct gt_fsroot *fs, const struct gt_strv *specs, struct bn_request *q, struct bn_race **ret, size_t *ret_n,
		   struct gt_err *err)
{
	struct bn_race *races = gt_xcalloc(specs->n + 1, sizeof(*races));
	const struct pr_host *host = NULL;
	gt_auto(pr_host) *own = NULL;
	int r = specs->n > RACES_MAX ? bad(err, specs->v[0], "at most eight races in one session") : 0;

	*ret = races;
	*ret_n = 0;
	if (r == 0 && specs->n)
		r = tn_host_get(fs, NULL, &own, &host, err);
	for (size_t i = 0; i < specs->n && r == 0; i++) {
		struct bn_race *race = &races[(*ret_n)++];

		r = parse(fs, host, specs->v[i], race, err);
		if (r == 0 && gt_starts_with(race->id, "env."))
			gt_strv_take(&q->env, gt_xasprintf("%s=%s", race->id + 4, race->values.v[0]));
		else if (r == 0)
			gt_strv_take(&q->knobs, gt_xasprintf("%s=%s", race->id, race->values.v[0]));
	}
	return r;
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

int bn_races_recall(const json_t *list, struct bn_race **ret, size_t *ret_n, struct gt_err *err)
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

		if (n > RACES_MAX || !id || json_array_size(values) < 2 || json_array_size(values) > VALUES_MAX)
			return gt_fail(err, EINVAL, "\"races\" is not as gpubench wrote it");
		races[i].id = gt_xstrdup(id);
		*ret_n = i + 1;
		json_array_foreach(values, k, v)
		{
			if (!json_is_string(v))
				return gt_fail(err, EINVAL, "\"races\" holds a value that is no text");
			gt_strv_add(&races[i].values, json_string_value(v));
			if (tn_knob_find(id) && tn_knob_check_value(tn_knob_find(id), NULL, json_string_value(v), err) < 0)
				return -EINVAL;
		}
	}
	return 0;
}

/* ---- the race ---- */

static bool is_about(const struct bn_factor *f, const struct bn_race *race)
{
	return gt_streq(f->id, race->id) || (f->kind == BN_FACTOR_ITEM && gt_streq(f->knob, race->id));
}

/* From now on the changed arm has this value; NULL: the change is none. */
static void give(struct bn_prove *p, const struct bn_race *race, const char *value)
{
	struct bn_stage *s = p->stage;

	for (size_t i = 0; i < s->arms.n_factor; i++) {
		struct bn_factor *f = &s->arms.factor[i];
		char **slot;

		if (!is_about(f, race))
			continue;
		f->out = !value;
		if (!value)
			continue;
		free(f->to);
		f->to = gt_xstrdup(value);
		slot = f->kind == BN_FACTOR_ITEM ? &s->plan->item[f->index].wanted : &s->q->env.v[f->index];
		free(*slot);
		*slot = f->kind == BN_FACTOR_ITEM ? gt_xstrdup(value) : gt_xasprintf("%s=%s", race->id + 4, value);
	}
}

struct runner {
	const char *value;
	struct bn_effect e;
	bool lost;
	size_t pairs;
};

/* How much better than the host's own; what could not be measured, or harms elsewhere, is last. */
static double merit(const struct bn_prove *p, const struct runner *r)
{
	return r->lost || !isfinite(r->e.est) ? -INFINITY : p->higher ? r->e.est : -r->e.est;
}

static int heat(struct bn_prove *p, const struct bn_race *race, struct runner *r)
{
	gt_autofree char *what = gt_xasprintf("%s=%s", race->id, r->value);
	struct bn_phase ph = {.name = "race", .what = what, .pairs = r->pairs, .keep_s = bn_plan_after_races_s(p)};
	struct bn_arms *a = &p->stage->arms;
	json_t *doc = NULL;
	bool open;
	int code;

	if (!bn_plan_time_for(p, ph.keep_s)) {
		bn_plan_missed(p, what);
		r->lost = true;
		return 0;
	}
	give(p, race, r->value);
	for (size_t i = 0; i < a->n_factor; i++) {
		a->on[0][i] = false;
		a->on[1][i] = is_about(&a->factor[i], race);
	}
	code = bn_phase_run(p, &ph, &doc);
	if (code < 0 || code >= BN_EXIT_INCOMPARABLE)
		return code;
	if (bn_phase_cut(doc))
		bn_plan_missed(p, what);
	code = bn_prove_metric(p, doc);
	r->e = bn_phase_effect(bn_phase_row(doc, p->metric));
	bn_phase_guards(doc, &r->lost, &open);
	return code;
}

static void note_heat(json_t *heats, size_t round, const struct runner *r)
{
	json_array_append_new(heats, json_pack("{s:I, s:s, s:o, s:I, s:b}", "round", (json_int_t)round, "value", r->value, "effect",
					       bn_effect_json(&r->e), "pairs", (json_int_t)r->pairs, "guard_worse", r->lost));
}

static int one_race(struct bn_prove *p, const struct bn_race *race)
{
	struct runner r[VALUES_MAX];
	size_t n = 0, pairs = FIRST_PAIRS, round = 1;
	json_t *heats = json_array(), *out = json_pack("{s:s, s:o}", "id", race->id, "heats", heats);

	json_array_append_new(json_object_get(p->doc, "races"), out);
	for (size_t i = 0; i < race->values.n; i++)
		r[n++] = (struct runner){.value = race->values.v[i]};
	for (;; round++, pairs *= 2) {
		for (size_t i = 0; i < n; i++) {
			int code;

			r[i].pairs = pairs;
			code = heat(p, race, &r[i]);
			if (code)
				return code;
			note_heat(heats, round, &r[i]);
		}
		for (size_t i = 1; i < n; i++) /* best first; ties stay in the order of the request */
			for (size_t k = i; k > 0 && merit(p, &r[k]) > merit(p, &r[k - 1]); k--) {
				struct runner t = r[k];

				r[k] = r[k - 1];
				r[k - 1] = t;
			}
		if (n <= 2)
			break;
		n = (n + 1) / 2;
	}
	give(p, race, merit(p, &r[0]) > 0 ? r[0].value : NULL);
	json_object_set_new(out, "winner", merit(p, &r[0]) > 0 ? gt_json_str(r[0].value) : json_null());
	return 0;
}

size_t bn_races_pairs(const struct bn_race *races, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		size_t left = races[i].values.n, pairs = FIRST_PAIRS;

		for (sum += left * pairs; left > 2;) {
			left = (left + 1) / 2;
			pairs *= 2;
			sum += left * pairs;
		}
	}
	return sum;
}

int bn_races_run(struct bn_prove *p)
{
	int r = 0;

	json_object_set_new(p->doc, "races", json_array());
	for (size_t i = 0; i < p->n_races && r == 0; i++)
		r = one_race(p, &p->races[i]);
	return r;
}
