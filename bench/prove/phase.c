/* SPDX-License-Identifier: Apache-2.0 */
/* One phase of gpubench prove. It is a complete session, stored in the document, so that a later process can continue
 * after an interruption. Complete phases are read from the document, an incomplete one is resumed, missing ones are
 * measured. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bench/prove/phase.h"
#include "bench/prove/plan.h"
#include "bench/result/analysis_json.h"
#include "bench/result/analyze.h"
#include "bench/session/session.h"
#include "lib/log.h"

/* ---- running ---- */

static void by_design(struct bn_arms *arms, int64_t block)
{
	const struct bn_prove *p = arms->design;
	const struct bn_design *d = arms->rows;

	for (size_t k = 0; k < p->n_proof; k++)
		for (size_t i = 0; i < p->proof[k].n; i++) {
			bool on = d->sign[(size_t)block * d->factors + k] > 0;

			arms->on[1][p->proof[k].factor[i]] = on;
			arms->on[0][p->proof[k].factor[i]] = !on;
		}
}

static json_t *phase_frame(const struct bn_prove *p, const struct bn_phase *ph)
{
	json_t *doc = json_deep_copy(p->stage->doc);

	json_object_set_new(doc, "phase", json_pack("{s:s, s:s?}", "name", ph->name, "change", ph->what));
	return doc;
}

static bool is_phase(const json_t *doc, const struct bn_phase *ph)
{
	const json_t *name = json_object_get(doc, "phase");

	return gt_streq(gt_json_get_str(name, "name", NULL), ph->name) && gt_streq(gt_json_get_str(name, "change", NULL), ph->what);
}

/* Returns the document of the next phase: from an earlier part of this session, or a new one. */
static int phase_document(struct bn_prove *p, const struct bn_phase *ph, json_t **ret, bool *begun)
{
	json_t *phases = json_object_get(p->doc, "phases"), *saved = json_array_get(phases, p->next_phase);

	if (saved && p->more_time && !is_phase(saved, ph)) { /* a phase that was skipped for lack of time is measured now */
		while (json_array_size(phases) > p->next_phase)
			json_array_remove(phases, p->next_phase);
		saved = NULL;
	}
	*begun = saved != NULL;
	*ret = saved;
	if (!saved) {
		*ret = phase_frame(p, ph);
		json_array_append_new(phases, *ret);
	} else if (!is_phase(saved, ph)) {
		return gt_fail_exit(&p->cli->err, BN_EXIT_INVALID, EINVAL,
				    "phase %zu of the saved session is \"%s\" and should be \"%s\": it was edited, or "
				    "written by another version",
				    p->next_phase + 1, gt_json_get_str(json_object_get(saved, "phase"), "name", "?"), ph->name);
	}
	p->next_phase++;
	return 0;
}

/* Returns whether the phase ended normally. This includes the verdict "invalid". */
static bool is_complete(const json_t *doc)
{
	return !gt_json_get_bool(json_object_get(doc, "run"), "interrupted", true);
}

/* limit_s: time limit of this phase; infinite: none */
static int measure(struct bn_prove *p, const struct bn_phase *ph, double limit_s, json_t *doc, bool begun)
{
	struct bn_arms *arms = &p->stage->arms;
	const char *one[] = {ph->workload, NULL};
	struct bn_interim fixed = {ph->pairs, BN_PROVE_ALPHA};
	struct bn_session s = {.design = BN_DESIGN_PAIRS,
			       .workload = ph->workload ? one : (const char *const *)p->stage->workloads.v,
			       .n_workloads = ph->workload ? 1 : p->stage->workloads.n,
			       .interims = ph->interims ? bn_interims : &fixed,
			       .n_interims = ph->interims ? bn_n_interims : 1,
			       .aa_pairs = ph->aa_pairs,
			       .quiet = p->cli->quiet,
			       .resume = begun,
			       .limit_s = isfinite(limit_s) ? fmax(limit_s, 1e-3) : 0,
			       .planned = ph->aa_pairs ? bn_plan_pilot : NULL,
			       .planned_ctx = p,
			       .by_boot = p->by_boot,
			       .stop = &gt_interrupted,
			       .seed = gt_hash64(ph->name, strlen(ph->name), p->seed + p->next_phase - 1) % 1000000};
	struct bn_ops ops;
	int r;

	arms->design = ph->design ? p : NULL;
	arms->rows = ph->design;
	arms->next_block = ph->design ? by_design : NULL;
	if (!ph->design && !begun)
		bn_arms_declare(arms, doc);
	arms->session_doc = p->doc;
	if (arms->boots) {
		arms->boots->seed = s.seed;
		arms->boots->phase = p->next_phase;
	}
	bn_arms_ops(arms, &ops);
	r = bn_session_run(&s, &ops, doc, &p->cli->err);
	if (r < 0 && r != -EINPROGRESS && r != -ETIME)
		json_object_set_new(json_object_get(doc, "run"), "invalid", gt_json_str(p->cli->err.msg));
	return r;
}

static struct bn_phase_result *add_result(struct bn_prove *p, json_t *doc, struct bn_data *data, struct bn_analysis *analysis)
{
	struct bn_phase_result *r = gt_xcalloc(1, sizeof(*r));

	*r = (struct bn_phase_result){ .name = gt_json_get_str(json_object_get(doc, "phase"), "name", "?"), .doc = doc,
				       .data = data, .analysis = analysis };
	p->result = gt_xrealloc(p->result, (p->n_results + 1) * sizeof(struct bn_phase_result *));
	p->result[p->n_results++] = r;
	return r;
}

int bn_phase_run(struct bn_prove *p, const struct bn_phase *ph, const struct bn_phase_result **ret)
{
	const struct bn_limits limits = { .floor = .03 };
	double limit_s = bn_plan_left_s(p) - ph->reserve_s;
	struct bn_analysis *a;
	struct bn_data *data;
	json_t *doc = NULL;
	bool begun;
	int r;

	r = phase_document(p, ph, &doc, &begun);
	if (r < 0)
		return r;
	r = begun && is_complete(doc) ? 0 : measure(p, ph, limit_s, doc, begun);
	if (r < 0)
		return r;
	r = bn_data_from_doc(doc, ph->name, &data, &p->cli->err);
	if (r < 0)
		return r;
	a = bn_analysis_new(data, &limits);
	bn_analysis_write(a, doc);
	*ret = add_result(p, doc, data, a);
	if (ph->design && !data->interrupted && !data->invalid && a->exit_code != BN_EXIT_WRONG)
		return 0;
	return a->exit_code;
}

void bn_phase_results_free(struct bn_prove *p)
{
	for (size_t i = 0; i < p->n_results; i++) {
		bn_analysis_free(p->result[i]->analysis);
		bn_data_free(p->result[i]->data);
		free(p->result[i]);
	}
	free(p->result);
	p->result = NULL;
	p->n_results = 0;
}

/* ---- reading ---- */

bool bn_phase_cut(const struct bn_phase_result *r)
{
	json_t *note;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(r->doc, "run"), "notes"), i, note)
		if (gt_streq(gt_json_get_str(note, "code", NULL), "time-limit"))
			return true;
	return false;
}

void bn_phase_guards(const struct bn_phase_result *r, bool *ret_worse, bool *ret_open)
{
	const struct bn_analysis *a = r->analysis;

	*ret_worse = *ret_open = false;
	for (size_t i = 0; i < a->n; i++) {
		enum bn_role role = a->row[i].m->role;

		*ret_worse |= (role == BN_GUARD || role == BN_PRIMARY) && a->row[i].verdict == BN_WORSE;
		*ret_open |= a->row[i].open;
	}
}

void bn_design_guards(const struct bn_data *data, const struct bn_effect *effects, size_t n, size_t k, bool *ret_worse,
		      bool *ret_open)
{
	gt_autofree double *p = gt_xcalloc(data->n_metrics + 1, sizeof(*p));

	*ret_worse = *ret_open = false;
	for (int primary = 0; primary < 2; primary++) { /* the families: primary metrics, and all others */
		size_t tests = 0, at = 0;

		for (size_t m = 0; m < data->n_metrics; m++)
			if (data->metrics[m].role != BN_CONTROL && (data->metrics[m].role == BN_PRIMARY) == primary)
				p[tests++] = effects[m * n + k].p;
		(primary ? bn_holm : bn_benjamini_hochberg)(p, tests, p);
		for (size_t m = 0; m < data->n_metrics; m++) {
			const struct bn_metric *metric = &data->metrics[m];
			double own = log1p(metric->margin);
			bool higher = metric->direction == BN_HIGHER;
			enum bn_verdict v;

			if (metric->role == BN_CONTROL || (metric->role == BN_PRIMARY) != primary)
				continue;
			v = bn_decide(higher, effects[m * n + k], p[at++], BN_PROVE_ALPHA,
				      (struct bn_margins){own, own});
			if (metric->role == BN_EXPLORE)
				continue;
			*ret_worse |= v == BN_WORSE;
			*ret_open |= metric->role == BN_GUARD && v != BN_WORSE &&
				     !bn_not_worse(higher, effects[m * n + k], own);
		}
	}
}

int bn_prove_metric(struct bn_prove *p, const struct bn_phase_result *r)
{
	const struct bn_comparison *c = bn_analysis_find(r->analysis, p->metric);

	if (!c)
		return gt_fail_exit(&p->cli->err, BN_EXIT_INVALID, ENODATA,
				    "no primary metric was measured: nothing can be proved");
	if (!p->metric)
		p->metric = gt_xstrdup(c->m->id);
	p->higher = c->m->direction == BN_HIGHER;
	p->margin = c->margin; /* the margin of the latest phase, which includes the noise of its A/A pairs */
	return 0;
}
