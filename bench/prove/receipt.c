/* SPDX-License-Identifier: Apache-2.0 */
/* The result of gpubench prove as a receipt, which gputune can apply. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/prove/loader_race.h"
#include "bench/prove/observations.h"
#include "bench/prove/plan.h"
#include "bench/prove/receipt.h"
#include "bench/prove/samples.h"
#include "bench/result/text.h"
#include "tune/model/tunable.h"

/* A change interacts if its intervals alone and among the others do not overlap. */
static bool interacts(const struct bn_proof *f)
{
	return isfinite(f->alone.lo) && isfinite(f->loss.lo) && (f->alone.lo > f->loss.hi || f->alone.hi < f->loss.lo);
}

/* Quotes text as one word for a shell. */
static char *quoted(const char *text)
{
	gt_auto_buf out = {0};

	gt_buf_puts(&out, "'");
	for (const char *p = text ? text : ""; *p; p++) {
		if (*p == '\'')
			gt_buf_puts(&out, "'\\'");
		gt_buf_add(&out, p, 1);
	}
	gt_buf_puts(&out, "'");
	return gt_buf_take(&out);
}

/* Writes the one of a pair such as vm.dirty_bytes and vm.dirty_ratio that was not zero. The kernel sets the other to zero. */
static char *revert_item(const struct tn_item *i)
{
	bool other = i->pair_path && i->pair_current && gt_streq(i->current, "0");
	gt_autofree char *value = quoted(other ? i->pair_current : i->current);

	return gt_xasprintf("echo %s > %s", value, other ? i->pair_path : i->path);
}

/* Returns a command line that restores the old value without gputune. */
static char *revert_line(const struct bn_stage *s, const struct bn_factor *f)
{
	gt_autofree char *old_value = quoted(f->from);

	if (f->kind == BN_FACTOR_ITEM)
		return revert_item(&s->plan->item[f->index]);
	if (f->kind == BN_FACTOR_BOOT)
		return gt_xasprintf("remove %s from the kernel's command line in the boot loader", f->id + strlen("boot."));
	if (f->kind == BN_FACTOR_CPUS || f->kind == BN_FACTOR_NODES)
		return gt_xstrdup("start the command without gputune run");
	return f->from ? gt_xasprintf("export %s=%s", f->id + 4, old_value) : gt_xasprintf("unset %s", f->id + 4);
}

static json_t *knob_json(const struct bn_prove *p, const struct bn_proof *proof, const struct bn_factor *f)
{
	static const char *const kind[] = {"knob", "variable", "cpus", "memory", "variable", "boot"};
	const struct bn_stage *s = p->stage;
	gt_autofree char *revert = revert_line(s, f);
	bool item = f->kind == BN_FACTOR_ITEM;
	json_t *j = json_pack("{s:s, s:s, s:s?, s:s?, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:b, s:b, s:b, s:b, s:o}",
			      "id", f->id, "kind", kind[f->kind], "knob", f->knob, "instance",
			      item ? s->plan->item[f->index].instance : NULL, "from", gt_json_str(f->from), "to",
			      gt_json_str(f->to), "effect", bn_effect_json(&proof->loss), "alone",
			      bn_effect_json(&proof->alone), "p_adjusted", gt_json_real(proof->p_adj), "method",
			      proof->method, "verdict", bn_verdict_name[proof->verdict], "kept", proof->kept,
			      "guard_worse", proof->guard_worse, "guard_open", proof->guard_open, "interacts",
			      interacts(proof), "revert", gt_json_str(revert));

	json_object_set_new(j, "change", json_integer(proof - p->proof));
	if (proof->phase) {
		json_object_set_new(j, "test", json_integer(bn_prove_test(p, proof)));
		json_object_set_new(j, "column", json_integer((json_int_t)proof->column));
	}
	if (proof->verdict == BN_INCONCLUSIVE)
		json_object_set_new(j, "why", gt_json_str(proof->why));
	json_object_set_new(j, "mechanism",
			    json_pack("{s:s?, s:s?, s:s}", "metric", f->mechanism, "why_none", f->unmoved, "moved",
				      proof->moved > 0    ? "yes"
				      : proof->moved == 0 ? "unexplained"
				      : f->mechanism      ? "not looked at"
							  : "names none"));
	return j;
}

/* Planned changes that no session can switch on and off. The receipt lists them with the reason. */
static json_t *not_measured(const struct bn_stage *s)
{
	json_t *list = json_array();

	for (size_t i = 0; s->plan && i < s->plan->n_item; i++) {
		const struct tn_item *item = &s->plan->item[i];
		gt_autofree char *label = tn_tunable_label(item->knob, item->instance);

		if (item->status == TN_BLOCKED || item->status == TN_ADVICE)
			json_array_append_new(list,
					      json_pack("{s:s, s:o}", "id", label, "why", gt_json_str(item->reason)));
	}
	return list;
}

/* Returns the effect of all changes together, or null if it was not measured. */
static json_t *total_json(const struct bn_prove *p)
{
	const struct bn_phase_result *total = bn_prove_result(p, "total");
	struct bn_effect e = bn_comparison_effect(total ? bn_analysis_find(total->analysis, p->metric) : NULL);

	return bn_effect_json(&e);
}

json_t *bn_prove_receipt(const struct bn_prove *p, const struct pr_host *host, const char *profile)
{
	json_t *knobs = json_array(), *run = json_object_get(p->stage->doc, "run"), *receipt, *fetch;
	char now[21];

	gt_time_iso8601(now, (int64_t)time(NULL));
	for (size_t k = 0; k < p->n_proof; k++)
		for (size_t i = 0; i < p->proof[k].n; i++)
			json_array_append_new(
				knobs, knob_json(p, &p->proof[k], &p->stage->arms.factor[p->proof[k].factor[i]]));
	receipt = json_pack(
		"{s:s, s:s, s:I, s:I, s:s?, s:O*, s:s?, s:s?, s:s?, s:s?, s:s, s:o, s:O*, s:O*, s:O*, s:o, s:O*, s:o, s:O}",
		"schema", BN_RECEIPT_SCHEMA, "created", now, "created_unix", (json_int_t)time(NULL), "seed",
		(json_int_t)p->seed, "host", host->identity, "marks",
		json_object_get(json_object_get(p->stage->doc, "host"), "marks"), "cpu", host->cpu.model_name.v, "kernel",
		host->kernel.release.v, "nvidia_driver", host->driver.module_version.v, "profile", profile, "direction",
		p->higher ? "higher" : "lower", "metric", gt_json_str(p->metric), "confirmed",
		json_object_get(p->doc, "confirmed"), "confirm", json_object_get(p->doc, "confirm"), "as_good_as_all",
		json_object_get(p->doc, "as_good_as_all"), "knobs", knobs, "races",
		json_object_get(p->doc, "races"), "not_measured", not_measured(p->stage),
		"argv", json_object_get(run, "argv"));
	json_object_set_new(receipt, "total", total_json(p));
	json_object_set_new(receipt, "keep_inconclusive", json_boolean(p->keep_inconclusive));
	json_object_set_new(receipt, "samples", bn_prove_samples(p));
	json_object_set_new(receipt, "confounders", bn_prove_confounders(p));
	json_object_set_new(receipt, "warnings", bn_prove_warnings(p));
	json_object_set_new(receipt, "outliers", bn_prove_outliers(p));
	if (json_object_get(p->doc, "guards_open"))
		json_object_set(receipt, "guards_open", json_object_get(p->doc, "guards_open"));
	if (gt_json_get_str(p->doc, "unconfirmed", NULL))
		json_object_set(receipt, "unconfirmed", json_object_get(p->doc, "unconfirmed"));
	fetch = bn_loader_fetch_json(p);
	if (fetch)
		json_object_set_new(receipt, "fetch", fetch);
	json_object_set_new(receipt, "plan", bn_plan_json(p));
	json_object_set(receipt, "not_reached", json_object_get(p->doc, "not_reached"));
	return receipt;
}
