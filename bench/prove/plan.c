/* SPDX-License-Identifier: Apache-2.0 */
/* Duration and detectable effect of a gpubench prove session: printed before the measurement, refined when the host's
 * variance is known, and stored with the real duration. Also the time limit. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/prove/plan.h"
#include "bench/prove/race_request.h"
#include "bench/result/text.h"
#include "bench/session/session.h"
#include "bench/session/time_limit.h"
#include "bench/workload/workload.h"
#include "lib/log.h"

#define POWER .8 /* power of bn_mde() */

enum { RACES, TOTAL, EACH, ALL_AT_ONCE, SPLIT, CONFIRM, KEPT_VS_ALL };
static const struct {
	const char *name, *phases; /* list that begins and ends with ',' */
} kinds[] = {
	[RACES] = {"races", ",race,"},
	[TOTAL] = {"total effect and A/A", ",total,"},
	[EACH] = {"each change", ",leave-one-out,add-one,"},
	[ALL_AT_ONCE] = {"all changes at once", ",design,"},
	[SPLIT] = {"groups with an effect, split", ",leave-one-out,add-one,"},
	[CONFIRM] = {"confirmation", ",confirm,"},
	[KEPT_VS_ALL] = {"kept changes compared with all", ",kept against all,"},
};

struct step {
	int kind;
	size_t comparisons, pairs; /* number of comparisons, and pairs of launches of one comparison at most */
	size_t tests;		   /* number of tests that share alpha */
};

#define STEPS_MAX 6 /* maximum number of planned steps of a session */

/* Returns the number of comparisons if all groups, such as one setting of several disks, are split. Each instance needs
 * two. */
static size_t splits(const struct bn_prove *p)
{
	size_t n = 0;

	for (size_t k = 0; k < p->n_proof; k++)
		n += p->proof[k].n > 1 ? 2 * p->proof[k].n : 0;
	return n;
}

/* Lists all planned steps in order. Returns their number. */
static size_t steps_of(const struct bn_prove *p, struct step step[STEPS_MAX])
{
	size_t decide = p->interims ? bn_interims[bn_n_interims - 1].pairs : p->pairs, n = p->n_proof, k = 0;
	bool designed = bn_prove_designed(p);

	if (p->n_races)
		step[k++] = (struct step){RACES, 1, bn_races_pairs(p->races, p->n_races), 1};
	step[k++] = (struct step){TOTAL, 1, decide + bn_prove_aa(p), 1};
	if (designed) {
		step[k++] = (struct step){ALL_AT_ONCE, 1, bn_prove_design_rows(n), n};
		if (splits(p))
			step[k++] = (struct step){SPLIT, splits(p), p->pairs, n};
	} else {
		size_t each = bn_prove_total_is_all(p) ? 0 : n == 1 ? 1 : 2 * n;

		step[k++] = (struct step){EACH, each + splits(p), p->pairs, n};
	}
	step[k++] = (struct step){CONFIRM, 1, decide, 1};
	step[k++] = (struct step){KEPT_VS_ALL, 1, n == 1 ? 0 : p->pairs, 1};
	return k;
}

static size_t pairs_of(const struct bn_prove *p, size_t from)
{
	struct step step[STEPS_MAX];
	size_t n = steps_of(p, step), sum = 0;

	for (size_t i = from; i < n; i++)
		sum += step[i].comparisons * step[i].pairs;
	return sum;
}

/* Returns the expected duration of a pair of built-in workloads in seconds. Returns NAN with the user's command or with
 * boots, whose duration is unknown. */
static double expected_pair_s(const struct bn_prove *p)
{
	double s = 0;

	if (p->by_boot)
		return NAN;
	for (size_t i = 0; i < p->stage->workloads.n; i++) {
		const struct bn_workload *w = bn_workload_find(p->stage->workloads.v[i]);

		if (!w || !w->run)
			return NAN;
		s += 2 * w->launch_s;
	}
	return s;
}

static void store_minutes(const struct bn_prove *p, double minutes)
{
	json_t *plan = json_object_get(p->doc, "plan");

	if (isfinite(minutes) || !json_object_get(plan, "minutes"))
		json_object_set_new(plan, "minutes", gt_json_real(minutes));
	json_object_set_new(plan, "limit_minutes", p->limit_s > 0 ? json_real(p->limit_s / 60) : json_null());
}

/* The first plan is stored and never changed. Later, groups are split and races have a winner, which changes the steps. */
static void store_plan(const struct bn_prove *p)
{
	json_t *list = json_array();
	struct step step[STEPS_MAX];
	size_t n = steps_of(p, step);

	if (json_is_object(json_object_get(p->doc, "plan"))) { /* a resumed session already has a plan */
		json_decref(list);
		return;
	}
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:n}", "name", kinds[step[i].kind].name,
						      "comparisons", (json_int_t)step[i].comparisons, "pairs",
						      (json_int_t)step[i].pairs, "mde_pct"));
	json_object_set_new(
		p->doc, "plan",
		json_pack("{s:I, s:f, s:o}", "pairs", (json_int_t)pairs_of(p, 0), "power", POWER, "steps", list));
}

static void warn_short(const struct bn_prove *p, double minutes)
{
	if (p->limit_s > 0 && minutes > p->limit_s / 60 && !p->cli->quiet)
		fprintf(stderr, "gpubench: --minutes allows %.3g min; skipped steps are listed\n", p->limit_s / 60);
}

/* Returns the duration of a session in which the phase of the total effect may take need_s. */
static double shortest_s(const struct bn_prove *p, double need_s)
{
	size_t first = p->n_races ? 1 : 0;

	return need_s * (double)pairs_of(p, 0) / (double)(pairs_of(p, first) - pairs_of(p, first + 1));
}

int bn_plan_print(struct bn_prove *p)
{
	double pair_s = expected_pair_s(p), all_s = pair_s * (double)pairs_of(p, 0), minutes = all_s / 60;
	double least_s = shortest_s(p, pair_s * (double)(bn_prove_aa(p) + 1));

	if (p->limit_s > 0 && least_s > p->limit_s && !json_array_size(json_object_get(p->doc, "phases")))
		return bn_session_short(p->limit_s, least_s, all_s, NULL, &p->cli->err);
	store_plan(p);
	store_minutes(p, minutes);
	if (p->cli->quiet)
		return 0;
	fprintf(stderr, "gpubench: %zu change%s, %s: at most %zu pairs of %s", p->n_proof, p->n_proof == 1 ? "" : "s",
		bn_prove_designed(p) ? "all at once in a fold-over design" : "one by one", pairs_of(p, 0),
		p->by_boot ? "boots" : "launches");
	if (isfinite(minutes))
		fprintf(stderr, ", about %.0f min", fmax(1, minutes));
	fprintf(stderr, ", then up to %zu for each kept change, seed %llu\n", bn_prove_mechanism_pairs(p),
		(unsigned long long)p->seed);
	if (!isfinite(minutes))
		fputs("gpubench: duration and detectable effect are known after three A/A pairs\n", stderr);
	warn_short(p, minutes);
	return 0;
}

int bn_plan_pilot(void *ctx, const json_t *run, double need_s, struct gt_err *err)
{
	struct bn_prove *p = ctx;
	const json_t *row = json_array_get(json_object_get(run, "plan"), 0); /* the plan of the primary metric */
	double sd = bn_sd_upper(gt_json_get_real(row, "sd", NAN), BN_PILOT), pair_s = gt_json_get_real(row, "pair_s", NAN);
	json_t *list = json_object_get(json_object_get(p->doc, "plan"), "steps"), *s;
	struct step step[STEPS_MAX];
	size_t n = steps_of(p, step), k;
	double minutes = pair_s * (double)pairs_of(p, 0) / 60, each = NAN;

	for (size_t i = 0; i < n; i++) {
		double mde = step[i].kind == RACES || !(sd > 0) ? NAN /* races select a value, they do not test one */ :
						     100 * expm1(bn_mde(sd, step[i].pairs, BN_PROVE_ALPHA / (double)step[i].tests));

		if (step[i].kind == EACH || step[i].kind == ALL_AT_ONCE)
			each = mde;
		json_array_foreach(list, k, s)
			if (gt_streq(gt_json_get_str(s, "name", NULL), kinds[step[i].kind].name))
				json_object_set_new(s, "mde_pct", gt_json_real(mde));
	}
	store_minutes(p, minutes);
	if (p->limit_s > 0 && need_s > p->total_s)
		return bn_session_short(p->limit_s, fmax(shortest_s(p, need_s), p->limit_s), 60 * minutes,
					gt_streq(p->stage->arms.out, "-") ? NULL : p->stage->arms.out, err);
	if (p->cli->quiet || !isfinite(minutes))
		return 0;
	gt_progress_end();
	if (isfinite(each))
		fprintf(stderr,
			"gpubench: the whole session takes about %.1f min unless an interim analysis ends it "
			"earlier; effects of about %s %% per change can be detected\n",
			minutes, bn_text_number(each, 2).s);
	else
		fprintf(stderr, "gpubench: the whole session takes about %.1f min unless an interim analysis ends it "
				"earlier\n", minutes);
	warn_short(p, minutes);
	return 0;
}

void bn_plan_refine(struct bn_prove *p, const json_t *total)
{
	double s = gt_json_get_real(json_object_get(total, "run"), "duration_s", NAN), minutes;
	const json_t *list = json_object_get(total, "launches");
	int64_t blocks = gt_json_get_int(json_array_get(list, json_array_size(list) - 1), "block", -1) + 1;
	size_t left = pairs_of(p, p->n_races ? 2 : 1);

	p->pair_s = blocks > 0 && !p->by_boot ? s / (double)blocks : NAN;
	minutes = p->pair_s * (double)left / 60;
	if (!isfinite(minutes))
		return;
	json_object_set_new(json_object_get(p->doc, "plan"), "minutes_left", gt_json_real(minutes));
	if (!p->cli->quiet)
		fprintf(stderr, "gpubench: the remaining steps take at most %zu pairs, about %.1f min\n", left, minutes);
}

/* ---- real duration ---- */

/* phases NULL: all planned phases */
static void real_duration(const struct bn_prove *p, const char *phases, size_t *pairs, double *s)
{
	json_t *ph;
	size_t i;

	*pairs = 0;
	*s = 0;
	json_array_foreach(json_object_get(p->doc, "phases"), i, ph) {
		gt_autofree char *name = gt_xasprintf(",%s,", gt_json_get_str(json_object_get(ph, "phase"), "name", "?"));
		const json_t *list = json_object_get(ph, "launches");

		if (phases ? !strstr(phases, name) : gt_streq(name, ",mechanism,"))
			continue;
		*pairs += (size_t)(gt_json_get_int(json_array_get(list, json_array_size(list) - 1), "block", -1) + 1);
		*s += fmax(0, gt_json_get_real(json_object_get(ph, "run"), "duration_s", 0));
	}
}

json_t *bn_plan_json(const struct bn_prove *p)
{
	json_t *plan = json_deep_copy(json_object_get(p->doc, "plan")), *s;
	size_t pairs, i;
	double seconds;

	json_array_foreach(json_object_get(plan, "steps"), i, s)
		for (size_t k = 0; k < GT_ARRAY_SIZE(kinds); k++)
			if (gt_streq(gt_json_get_str(s, "name", NULL), kinds[k].name)) {
				real_duration(p, kinds[k].phases, &pairs, &seconds);
				json_object_set_new(s, "pairs_taken", json_integer((json_int_t)pairs));
				json_object_set_new(s, "minutes_taken", json_real(seconds / 60));
			}
	real_duration(p, NULL, &pairs, &seconds);
	json_object_set_new(plan, "pairs_taken", json_integer((json_int_t)pairs));
	json_object_set_new(plan, "minutes_taken", json_real(seconds / 60));
	return plan;
}

/* ---- time limit ---- */

double bn_plan_left_s(const struct bn_prove *p)
{
	double spent = 0;

	if (!(p->limit_s > 0))
		return INFINITY;
	for (size_t i = 0; i < p->next_phase; i++) /* only earlier phases: a resumed session decides the same */
		spent += fmax(0, gt_json_get_real(json_object_get(json_array_get(json_object_get(p->doc, "phases"), i), "run"),
						  "duration_s", 0));
	return p->limit_s - spent;
}

bool bn_plan_time_for(const struct bn_prove *p, double reserve_s)
{
	return !(bn_plan_left_s(p) - reserve_s < (isfinite(p->pair_s) ? p->pair_s : 0));
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

void bn_plan_skipped(struct bn_prove *p, const char *what)
{
	json_t *list = json_object_get(p->doc, "not_reached"), *v;
	size_t i;

	json_array_foreach(list, i, v)
		if (gt_streq(json_string_value(v), what))
			return;
	json_array_append_new(list, gt_json_str(what));
}
