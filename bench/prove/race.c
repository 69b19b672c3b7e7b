/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the value of a setting that gpubench prove then tests. It uses successive halving. In each round every
 * remaining value is compared in pairs with the host's own value, so drift cancels. The better half of the values
 * continues with twice the pairs. The estimate of the best value is biased by the selection, so the other phases measure
 * its effect on new data.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bench/prove/loader_race.h"
#include "bench/prove/phase.h"
#include "bench/prove/plan.h"
#include "bench/prove/race.h"
#include "bench/prove/race_request.h"

static bool is_about(const struct bn_factor *f, const struct bn_race *race)
{
	return gt_streq(f->id, race->id) || (f->kind == BN_FACTOR_ITEM && gt_streq(f->knob, race->id));
}

/* Sets the value of the changed arm; NULL: the factor is off. */
static void set_value(struct bn_prove *p, const struct bn_race *race, const char *value)
{
	struct bn_stage *s = p->stage;

	for (size_t i = 0; i < s->arms.n_factor; i++) {
		struct bn_factor *f = &s->arms.factor[i];
		char **slot;

		if (!is_about(f, race))
			continue;
		f->disabled = !value;
		if (!value)
			continue;
		free(f->to);
		f->to = gt_xstrdup(value);
		slot = f->kind == BN_FACTOR_ITEM ? &s->plan->item[f->index].wanted : &s->q->env.v[f->index];
		free(*slot);
		*slot = f->kind == BN_FACTOR_ITEM ? gt_xstrdup(value) : gt_xasprintf("%s=%s", race->id + 4, value);
	}
}

struct candidate {
	const char *value;
	struct bn_effect e, energy; /* energy: of the metric's energy in joules; est NaN: not measured */
	double joules[2];	    /* medians of the host's own value and of this one, in joules_unit */
	const char *joules_unit;
	bool rejected;
	size_t pairs, measured; /* pairs of the present heat, and of the last one that was not skipped */
};

/* Returns the improvement over the host's own value. A value that could not be measured or makes a guard worse is last. */
static double merit(const struct bn_prove *p, const struct candidate *r)
{
	return r->rejected || !isfinite(r->e.est) ? -INFINITY : p->higher ? r->e.est : -r->e.est;
}

static int run_heat(struct bn_prove *p, const struct bn_race *race, struct candidate *r)
{
	gt_autofree char *what = gt_xasprintf("%s=%s", race->id, r->value), *energy = NULL;
	struct bn_phase ph = {.name = "race", .what = what, .pairs = r->pairs, .reserve_s = bn_plan_after_races_s(p)};
	struct bn_arms *a = &p->stage->arms;
	const struct bn_phase_result *result;
	const struct bn_comparison *joules;
	bool open;
	int code;

	if (!bn_plan_time_for(p, ph.reserve_s)) { /* an earlier heat's estimate stays */
		bn_plan_skipped(p, what);
		return 0;
	}
	r->measured = r->pairs;
	set_value(p, race, r->value);
	for (size_t i = 0; i < a->n_factor; i++) {
		a->on[0][i] = false;
		a->on[1][i] = is_about(&a->factor[i], race);
	}
	code = bn_phase_run(p, &ph, &result);
	if (code < 0 || code >= BN_EXIT_INCOMPARABLE)
		return code;
	if (bn_phase_cut(result))
		bn_plan_skipped(p, what);
	code = bn_prove_metric(p, result);
	r->e = bn_comparison_effect(bn_analysis_find(result->analysis, p->metric));
	energy = gt_xasprintf("%s.energy", p->metric);
	joules = bn_analysis_find(result->analysis, energy);
	r->energy = bn_comparison_effect(joules);
	if (joules) {
		r->joules[0] = joules->a_median;
		r->joules[1] = joules->b_median;
		r->joules_unit = strcmp(joules->m->unit, "J") ? "J/step" : "J";
	}
	bn_phase_guards(result, &r->rejected, &open);
	return code;
}

static void note_heat(json_t *heats, size_t round, const struct candidate *r)
{
	json_t *heat = json_pack("{s:I, s:s, s:o, s:I, s:b}", "round", (json_int_t)round, "value", r->value, "effect",
				 bn_effect_json(&r->e), "pairs", (json_int_t)r->pairs, "guard_worse", r->rejected);

	if (!r->rejected && isfinite(r->energy.est)) {
		json_object_set_new(heat, "energy", bn_effect_json(&r->energy));
		json_object_set_new(heat, "joules", json_pack("{s:f, s:f, s:s}", "before", r->joules[0], "after", r->joules[1],
							      "unit", r->joules_unit));
	}
	json_array_append_new(heats, heat);
}

static int one_race(struct bn_prove *p, const struct bn_race *race)
{
	struct candidate r[BN_RACE_VALUES_MAX];
	size_t n = 0, pairs = BN_RACE_FIRST_PAIRS, round = 1;
	gt_autofree char *option = NULL;
	json_t *heats = json_array(), *out = json_pack("{s:s, s:o}", "id", race->id, "heats", heats);

	json_array_append_new(json_object_get(p->doc, "races"), out);
	for (size_t i = 0; i < race->values.n; i++)
		r[n++] = (struct candidate){.value = race->values.v[i], .e = {.est = NAN}, .energy = {.est = NAN}};
	for (;; round++, pairs *= 2) {
		for (size_t i = 0; i < n; i++) {
			int code;

			r[i].pairs = pairs;
			code = run_heat(p, race, &r[i]);
			if (code)
				return code;
			if (r[i].measured == pairs)
				note_heat(heats, round, &r[i]);
		}
		for (size_t i = 1; i < n; i++) /* best first; ties keep the order of the request */
			for (size_t k = i; k > 0 && merit(p, &r[k]) > merit(p, &r[k - 1]); k--) {
				struct candidate t = r[k];

				r[k] = r[k - 1];
				r[k - 1] = t;
			}
		if (n <= 2)
			break;
		n = (n + 1) / 2;
	}
	set_value(p, race, merit(p, &r[0]) > 0 ? r[0].value : NULL);
	option = merit(p, &r[0]) > 0 ? bn_loader_option(race->id, r[0].value) : NULL;
	if (option)
		json_object_set_new(out, "loader_option", gt_json_str(option));
	json_object_set_new(out, "winner", merit(p, &r[0]) > 0 ? gt_json_str(r[0].value) : json_null());
	return 0;
}

int bn_races_run(struct bn_prove *p)
{
	json_object_set_new(p->doc, "races", json_array());
	for (size_t i = 0; i < p->n_races; i++) {
		int r = one_race(p, &p->races[i]);

		if (r)
			return r;
	}
	return 0;
}
