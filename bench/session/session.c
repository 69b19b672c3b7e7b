/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/result/text.h"
#include "bench/stats/rng.h"
#include "bench/session/session.h"
#include "bench/session/settings.h"
#include "bench/workload/workload.h"
#include "lib/log.h"

#define LAUNCHES_MIN   3 /* minimum number of launches of one arm; fewer launches have no variance */
#define SUSPENDED_MIN_S	 .1 /* s; shorter differences are the time between two clock readings */
#define PROMOTED_MAX 3 /* maximum number of metrics that become primary if none is */

struct state {
	const struct bn_session *s;
	const struct bn_ops *ops;
	json_t *doc, *run, *launches, *metrics, *confounders;
	json_t *settings[2];	/* settings as first recorded in the unchanged and the changed arm */
	struct bn_rng rng;
	const char **workload;	/* workloads still running, in the order of this group */
	size_t n_workloads;
	bool promote; /* no workload is primary, and no metric was promoted yet */
	double start_s;
	int64_t seq, block;
	size_t launches_total;
	int64_t replay;		/* number of blocks that an earlier part of this session measured */
	bool first_arm_done;		/* the first arm of the next block was measured too */
	double earlier_s;	/* time spent in the earlier part */
	bool ended;		/* a result was wrong or a setting changed during the session */
};

static bool stopped(const struct state *st)
{
	return st->ended || (st->s->stop && *st->s->stop);
}

/*
 * The decision to stop depends only on the time, never on the numbers. The samples measured so far may therefore be
 * analysed.
 */
static bool past_limit(const struct state *st)
{
	return st->s->limit_s > 0 && st->block >= st->replay &&
	       st->earlier_s + st->ops->now_s(st->ops->ctx) - st->start_s > st->s->limit_s;
}

static double elapsed(const struct state *st)
{
	return st->earlier_s + st->ops->now_s(st->ops->ctx) - st->start_s;
}

static void note(struct state *st, const char *code, const char *hint, const char *text)
{
	bn_warning(json_object_get(st->run, "notes"), code, hint, "%s", text);
}

static json_t *find_metric(const struct state *st, const char *id)
{
	size_t i;
	json_t *m;

	json_array_foreach(st->metrics, i, m)
		if (gt_streq(gt_json_get_str(m, "id", NULL), id))
			return m;
	return NULL;
}

/* Adds a series to doc.metrics at its first appearance. Returns false if its definition has changed since then. */
static bool register_metric(struct state *st, const char *workload, const char *definition, const json_t *series)
{
	const char *id = gt_json_get_str(series, "id", "");
	json_t *m = find_metric(st, id);

	if (m)
		return gt_streq(gt_json_get_str(m, "definition", NULL), definition);
	m = json_copy((json_t *)series);
	json_object_del(m, "samples");
	json_object_del(m, "warmup");
	json_object_set_new(m, "workload", json_string(workload));
	json_object_set_new(m, "definition", json_string(definition));
	json_array_append_new(st->metrics, m);
	return true;
}

/* Makes the first series of the first workloads primary, in list order, if no workload is primary. Called after each
 * workload has run once, so the choice does not depend on the random order. All sessions of these workloads have the
 * same primary metrics. */
static void promote(struct state *st)
{
	size_t n = 0, i;
	json_t *m;

	if (!st->promote)
		return;
	st->promote = false;
	for (size_t w = 0; w < st->s->n_workloads && n < PROMOTED_MAX; w++)
		json_array_foreach(st->metrics, i,
				   m) if (gt_streq(gt_json_get_str(m, "workload", NULL), st->s->workload[w]) &&
					  !gt_streq(gt_json_get_str(m, "role", NULL), bn_role_name[BN_CONTROL]))
		{
			json_object_set_new(m, "role", json_string(bn_role_name[BN_PRIMARY]));
			n++;
			break;
		}
}

/* Returns the stored form of a launch: samples by metric, and the other members of its document. */
static json_t *launch_record(struct state *st, const char *workload, json_t *launch)
{
	json_t *rec = json_object(), *by_id = json_object(), *series, *verify = json_object_get(launch, "verify");
	const char *definition = gt_json_get_str(launch, "definition", ""),
		   *failure = gt_json_get_str(launch, "failure", NULL);
	size_t i;
	static const char *const copied_members[] = { "wall_s", "params", "notes", "verify", "process", "env", "gpu", "inside_s" };

	json_array_foreach(json_object_get(launch, "metrics"), i, series) {
		const char *id = gt_json_get_str(series, "id", "");

		if (!register_metric(st, workload, definition, series) && !failure)
			failure = "the problem size differs from the first launch";
		json_object_set_new(by_id, id,
				    json_pack("{s:I, s:O}", "warmup",
					      (json_int_t)gt_json_get_int(find_metric(st, id), "warmup",
									  gt_json_get_int(series, "warmup", 0)),
					      "samples", json_object_get(series, "samples")));
	}
	json_object_set_new(rec, "workload", json_string(workload));
	json_object_set_new(rec, "failure", gt_json_str(failure));
	json_object_set_new(rec, "wrong", gt_json_str(gt_json_get_str(verify, "wrong", NULL)));
	json_object_set_new(rec, "metrics", by_id);
	for (i = 0; i < GT_ARRAY_SIZE(copied_members); i++)
		if (json_object_get(launch, copied_members[i]))
			json_object_set(rec, copied_members[i], json_object_get(launch, copied_members[i]));
	return rec;
}

static void show_progress(struct state *st, const char *workload, enum bn_kind kind)
{
	gt_autofree char *what = gt_xasprintf("measuring: %s %lld, %s", kind == BN_KIND_AB ? "pair" :
							      kind == BN_KIND_AA	   ? "A/A pair" :
										     "launch",
					      (long long)st->block + 1, workload);

	if (st->s->quiet)
		return;
	gt_progress_limit(st->s->limit_s > 0 ? GT_MAX(st->s->limit_s - elapsed(st), 1) : 0);
	gt_progress(what, (double)st->seq, (double)st->launches_total);
}

static int save(struct state *st, struct gt_err *err)
{
	char now[21];

	gt_time_iso8601(now, (int64_t)time(NULL));
	json_object_set_new(st->run, "ended", json_string(now));
	json_object_set_new(st->run, "duration_s", gt_json_real(elapsed(st)));
	return st->ops->save(st->ops->ctx, st->doc, err);
}

/* Records a workload's remark about this host once. */
static void add_remark(struct state *st, const char *text)
{
	json_t *notes = json_object_get(st->run, "notes"), *n;
	size_t i;

	json_array_foreach(notes, i, n)
		if (gt_streq(gt_json_get_str(n, "text", NULL), text))
			return;
	if (text)
		note(st, "workload", "", text);
}

static int one_launch(struct state *st, const char *workload, enum bn_kind kind, enum bn_arm arm, struct gt_err *err)
{
	bool changed = kind == BN_KIND_AB && arm == BN_ARM_B;
	uint64_t seed = gt_hash64(&st->block, sizeof(st->block), st->s->seed) >> 33;
	uint64_t salt = gt_hash64(&st->seq, sizeof(st->seq), ~st->s->seed) >> 33;
	gt_auto_json *launch = NULL;
	double t_s = elapsed(st);
	json_t *rec;
	int r;

	show_progress(st, workload, kind);
	r = st->ops->launch(st->ops->ctx, workload, changed, seed, salt, &launch, err);
	if (r < 0)
		return r;
	rec = launch_record(st, workload, launch);
	if (gt_json_get_str(launch, "gpu_trouble", NULL))
		note(st, "gpu", "the GPU's clocks, power and temperature are not recorded from here on; see gpuprobe report",
		     gt_json_get_str(launch, "gpu_trouble", ""));
	add_remark(st, gt_json_get_str(json_object_get(launch, "notes"), "remark", NULL));
	json_object_set_new(rec, "seq", json_integer(st->seq++));
	json_object_set_new(rec, "block", json_integer(st->block));
	json_object_set_new(rec, "kind", json_string(bn_kind_name[kind]));
	json_object_set_new(rec, "arm", json_string(arm == BN_ARM_B ? "B" : "A"));
	json_object_set_new(rec, "t_s", gt_json_real(t_s));
	json_array_append_new(st->launches, rec);
	/* after a wrong result the session is void */
	st->ended |= gt_json_get_str(rec, "wrong", NULL) != NULL;
	return save(st, err);
}

/* Compares the settings after entering an arm with those at its previous entry. */
static void check_settings(struct state *st, bool changed)
{
	json_t *now = st->ops->settings(st->ops->ctx, changed);

	st->ended |= bn_settings_check(st->doc, st->settings, changed, now, st->block);
}

static void shuffle(struct state *st)
{
	for (size_t i = st->n_workloads; i > 1; i--) {
		size_t j = (size_t)bn_rng_below(&st->rng, i);
		const char *t = st->workload[i - 1];

		st->workload[i - 1] = st->workload[j];
		st->workload[j] = t;
	}
}

static int measure_arm(struct state *st, enum bn_kind kind, enum bn_arm arm, bool changed, struct gt_err *err)
{
	int r = st->ops->enter(st->ops->ctx, changed, err);

	if (r < 0)
		return r;
	check_settings(st, changed);
	shuffle(st);
	for (size_t i = 0; i < st->n_workloads && !stopped(st); i++) {
		r = one_launch(st, st->workload[i], kind, arm, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int run_arm(struct state *st, enum bn_kind kind, enum bn_arm arm, int nth, struct gt_err *err)
{
	bool changed = kind == BN_KIND_AB && arm == BN_ARM_B;
	struct gt_err later = { 0 };
	int r, left;

	if (st->ops->block)
		st->ops->block(st->ops->ctx, st->block, nth);
	r = measure_arm(st, kind, arm, changed, err);
	left = st->ops->leave(st->ops->ctx, changed, r < 0 ? &later : err);
	return r < 0 ? r : left;
}

/* Removes a workload that failed in all launches of the first block, and records it in the result. */
static void drop_failing(struct state *st)
{
	size_t remaining = 0;

	for (size_t w = 0; w < st->n_workloads; w++) {
		size_t i, failed = 0, all = 0;
		const char *why = NULL;
		json_t *rec;

		json_array_foreach(st->launches, i, rec) {
			if (!gt_streq(gt_json_get_str(rec, "workload", NULL), st->workload[w]))
				continue;
			all++;
			failed += gt_json_get_str(rec, "failure", NULL) != NULL;
			why = gt_json_get_str(rec, "failure", why);
		}
		if (all && failed == all && bn_is_command(st->workload[w])) { /* no other workload is left */
			json_object_set_new(st->run, "invalid", json_sprintf("the command: %s", why ? why : "no launch succeeded"));
			st->ended = true;
			return;
		}
		if (all && failed == all && st->replay)
			continue;
		if (all && failed == all)
			json_array_append_new(
				json_object_get(st->doc, "unavailable"),
				json_pack("{s:s, s:o}", "workload", st->workload[w], "why", gt_json_str(why)));
		else
			st->workload[remaining++] = st->workload[w];
	}
	if (remaining < st->n_workloads) {
		json_t *list = json_array();

		for (size_t w = 0; w < remaining; w++)
			json_array_append_new(list, json_string(st->workload[w]));
		json_object_set_new(st->run, "workloads", list);
	}
	st->n_workloads = remaining;
}

static void replay_block(struct state *st, enum bn_kind kind)
{
	shuffle(st);
	if (kind != BN_KIND_SINGLE)
		shuffle(st);
	if (st->block++ == 0) {
		drop_failing(st);
		promote(st);
	}
}

static int run_first_arm(struct state *st, enum bn_kind kind, enum bn_arm arm, struct gt_err *err)
{
	if (!st->first_arm_done)
		return run_arm(st, kind, arm, 0, err);
	shuffle(st);
	st->first_arm_done = false;
	return 0;
}

static int run_block(struct state *st, enum bn_kind kind, struct gt_err *err)
{
	enum bn_arm first = kind != BN_KIND_SINGLE && (bn_rng_u64(&st->rng) >> 63) ? BN_ARM_B : BN_ARM_A;
	int r;

	if (st->block < st->replay) { /* an earlier part measured this block; only draws its random numbers again */
		replay_block(st, kind);
		return 0;
	}
	r = run_first_arm(st, kind, first, err);
	if (r < 0)
		return r;
	if (kind != BN_KIND_SINGLE && !stopped(st)) {
		r = run_arm(st, kind, first == BN_ARM_A ? BN_ARM_B : BN_ARM_A, 1, err);
		if (r < 0)
			return r;
	}
	if (st->block++ == 0 && !stopped(st)) {
		drop_failing(st);
		promote(st);
	}
	return 0;
}

/* Returns whether the current verdict is final. Waits for open guards if the planned pairs are expected to close them. */
static bool conclusive(const struct state *st)
{
	const struct bn_limits limits = { .floor = .03 };
	gt_auto(bn_data) *data = NULL;
	gt_auto(bn_analysis) *a = NULL;

	if (bn_data_read(st->doc, "session", &data, NULL) < 0)
		return false;
	data->interrupted = false; /* doc.run.interrupted stays set until the session ends */
	a = bn_analysis_new(data, &limits);
	if (a->outcome == BN_OUTCOME_BETTER || a->outcome == BN_OUTCOME_SAME)
		for (size_t i = 0; i < a->n; i++)
			if (a->row[i].open && bn_guard_needed(a, &a->row[i]) <= st->s->interims[st->s->n_interims - 1].pairs)
				return false;
	return a->outcome != BN_OUTCOME_INCONCLUSIVE;
}

/* Returns the time since the start by the wall clock, including the time of boots. */
static double since_start(const struct state *st)
{
	struct tm started = { 0 };

	if (!strptime(gt_json_get_str(st->run, "started", ""), "%Y-%m-%dT%H:%M:%SZ", &started))
		return elapsed(st);
	return fmax(0, (double)time(NULL) - (double)timegm(&started));
}

/* After the pilot: reports the detectable change and the expected duration. */
static int report_plan(struct state *st, struct gt_err *err)
{
	const struct bn_interim *last = &st->s->interims[st->s->n_interims - 1];
	gt_auto(bn_data) *data = NULL;
	double spent = st->s->by_boot ? since_start(st) : elapsed(st), per_block = spent / (double)GT_MAX(st->block, 1), minutes;
	size_t blocks = last->pairs + st->s->aa_pairs - (size_t)st->block;
	json_t *plan = json_array();

	minutes = (double)blocks * per_block / 60;
	if (bn_data_read(st->doc, "session", &data, NULL) < 0) {
		json_decref(plan);
		return 0;
	}
	for (size_t m = 0; m < data->n_metrics; m++) {
		bn_auto_pairs p = { 0 };
		double mde, sd;

		if (data->metrics[m].role != BN_PRIMARY)
			continue;
		bn_pairs_collect(data, m, BN_KIND_AA, &p);
		sd = bn_sd(p.d, p.n);
		mde = sd >= 1e-12 ? 100 * expm1(bn_mde(bn_sd_upper(sd, p.n), last->pairs, last->alpha)) : NAN;
		json_array_append_new(plan, json_pack("{s:s, s:o, s:I, s:o, s:o, s:o}", "metric", data->metrics[m].id,
						      "mde_pct", gt_json_real(mde), "pairs", (json_int_t)last->pairs,
						      "minutes", gt_json_real(minutes), "sd", gt_json_real(sd), "pair_s",
						      gt_json_real(per_block)));
		if (!st->s->quiet)
			gt_progress_end();
		if (!st->s->quiet && sd < 1e-12) /* a smaller deviation of logarithms is a rounding error */
			fprintf(stderr, "gpubench: %s has the same value in each launch so far: not a measurement\n",
				data->metrics[m].id);
		else if (!st->s->quiet && isfinite(mde))
			fprintf(stderr,
				"gpubench: with %zu pairs (%s%.1f min more) changes of about %s %% in %s can be detected\n",
				last->pairs, st->s->n_interims > 1 ? "at most " : "", minutes,
				bn_text_number(mde, 2).s, data->metrics[m].id);
	}
	json_object_set_new(st->run, "plan", plan);
	if (!st->s->planned)
		return 0;
	return st->s->planned(st->s->planned_ctx, st->run,
			      spent + (double)(st->s->aa_pairs + 1 - (size_t)st->block) * per_block, err);
}

/*
 * At the time limit the next interim analysis is done early, with the alpha planned for it. It has fewer pairs than
 * planned, so it is conservative.
 */
static void cut_interims(struct state *st, size_t done)
{
	json_t *interims;
	size_t i = 0;

	note(st, "time-limit", "measure when the host is quiet, or allow more time with --minutes",
	     "the time limit ended the session before all planned pairs were measured");
	if (!done)
		return;
	interims = json_array();
	for (; i < st->s->n_interims && st->s->interims[i].pairs <= done; i++)
		json_array_append_new(interims, json_pack("{s:I, s:f}", "pairs", (json_int_t)st->s->interims[i].pairs, "alpha",
							  st->s->interims[i].alpha));
	if (i < st->s->n_interims && (!i || st->s->interims[i - 1].pairs < done))
		json_array_append_new(interims, json_pack("{s:I, s:f}", "pairs", (json_int_t)done, "alpha",
							  st->s->interims[i].alpha));
	json_object_set_new(st->run, "looks", interims);
}

/* Ends the session if the command fails with the change, and only with it. More launches would add no information. */
static void drop_broken_change(struct state *st)
{
	if (!bn_fails_with_change(st->launches, LAUNCHES_MIN))
		return;
	note(st, "fails-with-change", "it failed in all of them, and in none without the change; nothing more was measured",
	     "the session ended after the first launches of the command with the change");
	st->ended = true;
}

/* Runs the first A/A blocks, sets the warm-up and prints the plan. */
static int run_pilot(struct state *st, size_t blocks, struct gt_err *err)
{
	for (size_t i = 0; i < blocks && !stopped(st) && (!i || !past_limit(st)); i++) {
		int r = run_block(st, BN_KIND_AA, err);

		if (r < 0)
			return r;
	}
	if (!blocks || stopped(st))
		return 0;
	bn_freeze_warmup(st->metrics, st->launches);
	return st->block < st->replay ? 0 : report_plan(st, err);
}

struct progress {
	size_t pairs;	/* A/B pairs done */
	size_t aa_left; /* A/A pairs not done yet */
};

/* Runs A/B blocks up to an interim analysis. The remaining A/A blocks are mixed randomly into those before the first one, because
 * they decide whether it is valid. */
static int run_to(struct state *st, size_t interim, struct progress *p, struct gt_err *err)
{
	size_t want = st->s->interims[interim].pairs, first = st->s->interims[0].pairs;

	while ((p->pairs < want || (interim == 0 && p->aa_left)) && !stopped(st) && !past_limit(st)) {
		size_t ab_left = first > p->pairs ? first - p->pairs : 0;
		bool aa = p->aa_left && bn_rng_below(&st->rng, p->aa_left + ab_left) < p->aa_left;
		int r = run_block(st, aa ? BN_KIND_AA : BN_KIND_AB, err);

		if (r < 0)
			return r;
		if (aa) {
			p->aa_left--;
			continue;
		}
		p->pairs++;
		drop_broken_change(st);
	}
	return 0;
}

static int run_pairs(struct state *st, struct gt_err *err)
{
	size_t last = st->s->interims[st->s->n_interims - 1].pairs, pilot = GT_MIN(st->s->aa_pairs, (size_t)BN_PILOT);
	struct progress p = { .aa_left = st->s->aa_pairs - pilot };
	int r;

	r = run_pilot(st, pilot, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < st->s->n_interims && !stopped(st) && !past_limit(st); i++) {
		r = run_to(st, i, &p, err);
		if (r < 0)
			return r;
		if (!stopped(st) && i + 1 < st->s->n_interims && st->block >= st->replay && conclusive(st))
			break;
	}
	if (!stopped(st) && past_limit(st) && p.pairs < last)
		cut_interims(st, p.pairs);
	return 0;
}

/*
 * Removes the incomplete arm of the last block. Keeps a complete one, because each arm was a separate boot. Returns
 * whether a complete arm is left.
 */
static bool keep_complete_arm(struct state *st, int64_t last, size_t per_arm)
{
	size_t n, have[2] = { 0 };

	for (int pass = 0; pass < 2; pass++)
		for (n = json_array_size(st->launches); n-- > 0;) {
			const json_t *rec = json_array_get(st->launches, n);
			bool b = gt_streq(gt_json_get_str(rec, "arm", NULL), "B");

			if (gt_json_get_int(rec, "block", -1) != last)
				continue;
			if (!pass)
				have[b] += !gt_streq(gt_json_get_str(rec, "failure", NULL), "interrupted");
			else if (have[b] < per_arm)
				json_array_remove(st->launches, n);
		}
	return have[0] >= per_arm || have[1] >= per_arm;
}

/* Removes the launches of an incomplete last block, which is measured again, because a pair must be close in time. Also
 * removes a complete block if the session was found invalid in it: the fault may have existed during the block. */
static void drop_partial_block(struct state *st)
{
	bool invalid = gt_json_get_str(st->run, "invalid", NULL) != NULL;
	size_t want = json_array_size(json_object_get(st->run, "workloads")), have = 0, n;
	int64_t last = -1;
	json_t *rec;

	want *= st->s->design == BN_DESIGN_SINGLE ? 1 : 2;
	json_array_foreach(st->launches, n, rec)
		last = GT_MAX(last, gt_json_get_int(rec, "block", -1));
	json_array_foreach(st->launches, n, rec)
		have += gt_json_get_int(rec, "block", -1) == last &&
			!gt_streq(gt_json_get_str(rec, "failure", NULL), "interrupted");
	st->replay = last + 1;
	if (have >= want && !invalid)
		return;
	st->replay = GT_MAX(last, 0);
	if (st->s->by_boot && !invalid) {
		st->first_arm_done = keep_complete_arm(st, last, json_array_size(json_object_get(st->run, "workloads")));
		return;
	}
	for (n = json_array_size(st->launches); n-- > 0;)
		if (gt_json_get_int(json_array_get(st->launches, n), "block", -1) == last)
			json_array_remove(st->launches, n);
}

/* Continues an interrupted session from its document. */
static void continue_session(struct state *st)
{
	json_t *settings = json_object_get(st->doc, "settings"), *rec;
	size_t i;

	st->confounders = json_object_get(st->doc, "confounders");
	st->metrics = json_object_get(st->doc, "metrics");
	st->launches = json_object_get(st->doc, "launches");
	st->settings[0] = json_incref(json_object_get(settings, "a"));
	st->settings[1] = json_incref(json_object_get(settings, "b"));
	json_array_foreach(st->metrics, i, rec) /* metrics promoted by the earlier part */
		st->promote &= !gt_streq(gt_json_get_str(rec, "role", NULL), bn_role_name[BN_PRIMARY]);
	drop_partial_block(st);
	json_array_foreach(st->launches, i, rec) {
		st->seq = GT_MAX(st->seq, gt_json_get_int(rec, "seq", 0) + 1);
		st->earlier_s = fmax(st->earlier_s,
				     gt_json_get_real(rec, "t_s", 0) + gt_json_get_real(rec, "wall_s", 0));
	}
	json_object_del(st->run, "invalid");
	if (!st->s->by_boot)
		note(st, "resumed", "the host may have drifted in between; no pair was split",
		     "the session was interrupted and resumed");
}

static void begin(struct state *st)
{
	const struct bn_session *s = st->s;
	json_t *interims = json_array(), *workloads = json_array();
	size_t blocks = s->interims[s->n_interims - 1].pairs + (s->design == BN_DESIGN_PAIRS ? s->aa_pairs : 0);
	char now[21];

	gt_time_iso8601(now, (int64_t)time(NULL));
	for (size_t i = 0; i < s->n_interims; i++)
		json_array_append_new(interims, json_pack("{s:I, s:f}", "pairs", (json_int_t)s->interims[i].pairs, "alpha",
							  s->interims[i].alpha));
	st->promote = true;
	for (size_t i = 0; i < s->n_workloads; i++) {
		const struct bn_workload *w = bn_workload_find(s->workload[i]);

		st->workload[i] = s->workload[i];
		st->promote &= !w || w->role != BN_PRIMARY;
		json_array_append_new(workloads, json_string(s->workload[i]));
	}
	st->n_workloads = s->n_workloads;
	st->launches_total = blocks * s->n_workloads * (s->design == BN_DESIGN_SINGLE ? 1 : 2);
	st->run = json_object_get(st->doc, "run");
	bn_rng_seed(&st->rng, s->seed);
	st->start_s = st->ops->now_s(st->ops->ctx);
	if (s->resume) {
		json_decref(interims);
		json_decref(workloads);
		continue_session(st);
		return;
	}
	json_object_set_new(st->run, "design", json_string(bn_design_name[s->design]));
	json_object_set_new(st->run, "seed", json_integer((json_int_t)s->seed));
	json_object_set_new(st->run, "looks", interims);
	json_object_set_new(st->run, "workloads", workloads);
	json_object_set_new(st->run, "started", json_string(now));
	json_object_set_new(st->run, "interrupted", json_true()); /* until the session has ended normally */
	if (!json_object_get(st->run, "notes"))
		json_object_set_new(st->run, "notes", json_array());
	json_object_set_new(st->doc, "settings", json_object());
	json_object_set_new(st->doc, "confounders", st->confounders = json_array());
	if (!json_object_get(st->doc, "unavailable"))
		json_object_set_new(st->doc, "unavailable", json_array());
	json_object_set_new(st->doc, "metrics", st->metrics = json_array());
	json_object_set_new(st->doc, "launches", st->launches = json_array());
}

static double suspended(const struct state *st)
{
	return st->ops->suspended_s ? st->ops->suspended_s(st->ops->ctx) : 0;
}

/* Records suspends and clock changes. The session's clock stops while the host is suspended, and cannot be set. */
static void note_clocks(struct state *st, double wall_s, double suspended_s)
{
	char text[96];

	if (suspended_s > SUSPENDED_MIN_S) {
		snprintf(text, sizeof(text), "the host was suspended for %.0f s while measuring", ceil(suspended_s));
		note(st, "suspended", "a launch that was running is listed if it is an outlier", text);
	}
	if (fabs(wall_s - suspended_s - (elapsed(st) - st->earlier_s)) > 2)
		note(st, "wall-clock", "times within the session come from the monotonic clock",
		     "the wall clock was set while measuring");
}

static int run_schedule(struct state *st, struct gt_err *err)
{
	const struct bn_session *s = st->s;
	size_t n = s->interims[s->n_interims - 1].pairs;
	int r;

	r = save(st, err); /* saves before the measurement, so that an unwritable file is detected early */
	if (r < 0)
		return r;
	if (s->design == BN_DESIGN_PAIRS)
		return run_pairs(st, err);
	for (size_t i = 0; i < n && !stopped(st) && !(i >= LAUNCHES_MIN && past_limit(st)); i++) {
		r = run_block(st, s->design == BN_DESIGN_AA ? BN_KIND_AA : BN_KIND_SINGLE, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int bn_session_run(const struct bn_session *s, const struct bn_ops *ops, json_t *doc, struct gt_err *err)
{
	struct state st = { .s = s, .ops = ops, .doc = doc };
	double wall0 = (double)time(NULL), suspended0;
	int r, saved;

	st.workload = gt_xcalloc(s->n_workloads + 1, sizeof(*st.workload));
	begin(&st);
	suspended0 = suspended(&st);
	r = run_schedule(&st, err);
	gt_progress_end();
	bn_freeze_warmup(st.metrics, st.launches);
	if (r >= 0) {
		note_clocks(&st, (double)time(NULL) - wall0, suspended(&st) - suspended0);
		if (!(s->stop && *s->stop))
			json_object_set_new(st.run, "interrupted", json_false());
	}
	saved = save(&st, r < 0 ? NULL : err);
	json_decref(st.settings[0]);
	json_decref(st.settings[1]);
	free(st.workload);
	return r < 0 ? r : saved;
}
