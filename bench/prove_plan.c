/* SPDX-License-Identifier: Apache-2.0 */
/* What a session of gpubench prove will take and can show: said before, refined once the host is known, and kept beside what it
 * took. And the time that it may take. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/prove.h"
#include "lib/log.h"

#define POWER .8 /* of bn_mde() */

struct step {
	const char *name, *phases; /* of which phases it is made: names with ',' on both sides */
	size_t comparisons, pairs; /* how many, and pairs of launches of one at most */
	size_t tests;		   /* among which alpha is divided */
};

/* All that is planned, in order; returns how many. */
static size_t steps_of(const struct bn_prove *p, struct step step[5])
{
	size_t decide = p->looks ? bn_looks[bn_n_looks - 1].pairs : p->pairs, n = p->n_proof, k = 0;
	bool designed = bn_prove_designed(p);

	if (p->n_races)
		step[k++] = (struct step){"races", ",race,", 1, bn_races_pairs(p->races, p->n_races), 1};
	step[k++] = (struct step){"total effect and A/A", ",total,", 1, decide + BN_PROVE_AA, 1};
	if (designed)
		step[k++] = (struct step){"all changes at once", ",design,", 1, bn_prove_design_rows(n), n};
	else
		step[k++] = (struct step){"each change", ",leave-one-out,add-one,", n == 1 ? 1 : 2 * n, p->pairs, n};
	step[k++] = (struct step){"confirmation", ",confirm,", 1, decide, 1};
	step[k++] = (struct step){"what is kept beside all", ",kept against all,", 1, n == 1 ? 0 : p->pairs, 1};
	return k;
}

static size_t pairs_of(const struct bn_prove *p, size_t from)
{
	struct step step[5];
	size_t n = steps_of(p, step), sum = 0;

	for (size_t i = from; i < n; i++)
		sum += step[i].comparisons * step[i].pairs;
	return sum;
}

/* Seconds that one pair of our own workloads takes; NaN where the user's command is one: nobody knows that before. */
static double expected_pair_s(const struct bn_prove *p)
{
	double s = 0;

	for (size_t i = 0; i < p->stage->workloads.n; i++) {
		const struct bn_workload *w = bn_workload_find(p->stage->workloads.v[i]);

		if (!w || !w->run)
			return NAN;
		s += 2 * w->launch_s;
	}
	return s;
}

static void keep_plan(const struct bn_prove *p, double minutes)
{
	json_t *plan = json_object_get(p->doc, "plan");

	json_object_set_new(plan, "pairs", json_integer((json_int_t)pairs_of(p, 0)));
	if (isfinite(minutes) || !json_object_get(plan, "minutes"))
		json_object_set_new(plan, "minutes", gt_json_real(minutes));
	json_object_set_new(plan, "limit_minutes", p->limit_s > 0 ? json_real(p->limit_s / 60) : json_null());
}

static void warn_short(const struct bn_prove *p, double minutes)
{
	if (p->limit_s > 0 && minutes > p->limit_s / 60 && !p->cli->quiet)
		fprintf(stderr, "gpubench: --minutes allows %.3g: what is not reached until then is named\n", p->limit_s / 60);
}

void bn_plan_say(struct bn_prove *p)
{
	double minutes = expected_pair_s(p) * (double)pairs_of(p, 0) / 60;

	if (!json_is_object(json_object_get(p->doc, "plan"))) /* a resumed session has one */
		json_object_set_new(p->doc, "plan", json_object());
	keep_plan(p, minutes);
	if (p->cli->quiet)
		return;
	fprintf(stderr, "gpubench: %zu change%s, %s: at most %zu pairs of launches", p->n_proof, p->n_proof == 1 ? "" : "s",
		bn_prove_designed(p) ? "all at once in a fold-over design" : "one by one", pairs_of(p, 0));
	if (isfinite(minutes))
		fprintf(stderr, ", about %.0f min", fmax(1, minutes));
	fprintf(stderr, ", then up to %d for each that is kept, seed %llu\n", BN_PROVE_MECHANISM, (unsigned long long)p->seed);
	if (!isfinite(minutes))
		fputs("gpubench: how long that takes, and what it can show, is known after three A/A pairs\n", stderr);
	warn_short(p, minutes);
}

void bn_plan_pilot(void *ctx, const json_t *run)
{
	struct bn_prove *p = ctx;
	const json_t *row = json_array_get(json_object_get(run, "plan"), 0); /* of the metric that decides */
	double sd = gt_json_get_real(row, "sd", NAN), pair_s = gt_json_get_real(row, "pair_s", NAN);
	json_t *list = json_array(), *plan = json_object_get(p->doc, "plan");
	struct step step[5];
	size_t n = steps_of(p, step);
	double minutes = pair_s * (double)pairs_of(p, 0) / 60, each = NAN;

	for (size_t i = 0; i < n; i++) {
		double mde = 100 * expm1(bn_mde(sd, step[i].pairs, BN_PROVE_ALPHA / (double)step[i].tests));

		if (gt_streq(step[i].name, "races"))
			mde = NAN; /* they choose, they do not judge */
		if (strstr(step[i].phases, ",leave-one-out,") || strstr(step[i].phases, ",design,"))
			each = mde;
		json_array_append_new(list, json_pack("{s:s, s:o}", "name", step[i].name, "mde_pct", gt_json_real(mde)));
	}
	keep_plan(p, minutes);
	json_object_set_new(plan, "power", json_real(POWER));
	json_object_set_new(plan, "steps", list);
	if (p->cli->quiet || !isfinite(minutes))
		return;
	gt_progress_end();
	if (isfinite(each))
		fprintf(stderr, "gpubench: all of it takes about %.1f min if no look ends it earlier; of each change about %.2g %% can be seen\n", minutes, each);
	else
		fprintf(stderr, "gpubench: all of it takes about %.1f min if no look ends it earlier\n", minutes);
	warn_short(p, minutes);
}

void bn_plan_refine(struct bn_prove *p, const json_t *total)
{
	double s = gt_json_get_real(json_object_get(total, "run"), "duration_s", NAN), minutes;
	const json_t *list = json_object_get(total, "launches");
	int64_t blocks = gt_json_get_int(json_array_get(list, json_array_size(list) - 1), "block", -1) + 1;
	size_t left = pairs_of(p, p->n_races ? 2 : 1);

	p->pair_s = blocks > 0 ? s / (double)blocks : NAN;
	minutes = p->pair_s * (double)left / 60;
	if (!isfinite(minutes))
		return;
	json_object_set_new(json_object_get(p->doc, "plan"), "minutes_left", gt_json_real(minutes));
	if (!p->cli->quiet)
		fprintf(stderr, "gpubench: what follows takes at most %zu pairs, about %.1f min\n", left, minutes);
}

/* ---- what it took ---- */

static void took(const struct bn_prove *p, const char *phases, size_t *pairs, double *s)
{
	json_t *ph;
	size_t i;

	*pairs = 0;
	*s = 0;
	json_array_foreach(json_object_get(p->doc, "phases"), i, ph) {
		gt_autofree char *name = gt_xasprintf(",%s,", gt_json_get_str(json_object_get(ph, "phase"), "name", "?"));
		const json_t *list = json_object_get(ph, "launches");

		if (phases && !strstr(phases, name))
			continue;
		*pairs += (size_t)(gt_json_get_int(json_array_get(list, json_array_size(list) - 1), "block", -1) + 1);
		*s += fmax(0, gt_json_get_real(json_object_get(ph, "run"), "duration_s", 0));
	}
}

json_t *bn_plan_json(const struct bn_prove *p)
{
	json_t *plan = json_deep_copy(json_object_get(p->doc, "plan")), *list = json_array();
	json_t *said = json_object_get(plan, "steps");
	struct step step[5];
	size_t n = steps_of(p, step), pairs;
	double s;

	if (!plan)
		plan = json_object();
	for (size_t i = 0; i < n; i++) {
		took(p, step[i].phases, &pairs, &s);
		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:o, s:I, s:f}", "name", step[i].name, "comparisons",
						      (json_int_t)step[i].comparisons, "pairs", (json_int_t)step[i].pairs, "mde_pct",
						      gt_json_real(gt_json_get_real(json_array_get(said, i), "mde_pct", NAN)),
						      "pairs_taken", (json_int_t)pairs, "minutes_taken", s / 60));
	}
	json_object_set_new(plan, "steps", list);
	took(p, NULL, &pairs, &s);
	json_object_set_new(plan, "pairs_taken", json_integer((json_int_t)pairs));
	json_object_set_new(plan, "minutes_taken", json_real(s / 60));
	return plan;
}

/* ---- the time that is allowed ---- */

double bn_plan_left_s(const struct bn_prove *p)
{
	double spent = 0;

	if (!(p->limit_s > 0))
		return INFINITY;
	for (size_t i = 0; i < p->next_phase; i++) /* those before now: a resumed session goes the same way again */
		spent += fmax(0, gt_json_get_real(json_object_get(json_array_get(json_object_get(p->doc, "phases"), i), "run"),
						  "duration_s", 0));
	return p->limit_s - spent;
}

bool bn_plan_time_for(const struct bn_prove *p, double keep_s)
{
	return !(bn_plan_left_s(p) - keep_s < (isfinite(p->pair_s) ? p->pair_s : 0));
}

double bn_plan_confirm_s(const struct bn_prove *p)
{
	return isfinite(p->pair_s) ? p->pair_s * (double)p->pairs : 0;
}

double bn_plan_after_total_s(const struct bn_prove *p)
{
	size_t first = p->n_races ? 2 : 1, left = pairs_of(p, first), all = pairs_of(p, first - 1);

	return p->limit_s > 0 && all ? bn_plan_left_s(p) * (double)left / (double)all : 0;
}

double bn_plan_after_races_s(const struct bn_prove *p)
{
	return p->limit_s > 0 ? p->limit_s * (double)pairs_of(p, 1) / (double)pairs_of(p, 0) : 0;
}

void bn_plan_missed(struct bn_prove *p, const char *what)
{
	json_t *list = json_object_get(p->doc, "not_reached"), *v;
	size_t i;

	json_array_foreach(list, i, v)
		if (gt_streq(json_string_value(v), what))
			return;
	json_array_append_new(list, gt_json_str(what));
}
