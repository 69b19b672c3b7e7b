/* SPDX-License-Identifier: Apache-2.0 */
/* Checks before apply that a plan still suits the host. */
#include <errno.h>
#include <string.h>
#include "tune/model/nvml_settings.h"
#include "tune/model/value.h"
#include "tune/plan/check_plan.h"

static int refuse_changed(const struct tn_item *i, const char *what, const char *now, struct gt_err *err)
{
	gt_autofree char *label = tn_tunable_label(i->knob, i->instance);

	return gt_fail_exit(err, TN_EXIT_REFUSED, ESTALE,
			    "%s is %s now, but was %s when the plan was made: make a new plan%s", label,
			    now, i->current, what);
}

static bool has_instance(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_item *i)
{
	gt_auto_strv instances = { 0 };

	if (!i->knob->instances)
		return !i->instance;
	i->knob->instances(fs, host, &instances);
	return i->instance && gt_strv_has(&instances, i->instance);
}

/* The preconditions may have changed since the plan, for example because the scheduler's module was removed or a
 * virtual machine was started. */
static int check_preconditions(struct gt_fsroot *fs, const struct tn_ctx *c, const struct tn_item *i, struct gt_err *err)
{
	gt_autofree char *label = tn_tunable_label(i->knob, i->instance), *offered = NULL;
	const struct tn_now now = tn_item_now(fs, i, &offered);
	const char *lacks = tn_not_writable(fs, i->path);
	struct tn_desired w = { 0 };

	if (!lacks) {
		tn_preconditions_check(i->knob, c, &now, &w);
		lacks = *w.reason ? w.reason : NULL;
	}
	return lacks ? gt_fail_exit(err, TN_EXIT_REFUSED, ESTALE, "%s: %s; nothing is changed: make a new plan", label, lacks) : 0;
}

static int check_item(struct gt_fsroot *fs, const struct tn_ctx *c, const struct tn_item *i, struct gt_err *err)
{
	const struct pr_host *host = c->host;
	gt_autofree char *label = tn_tunable_label(i->knob, i->instance), *now = NULL, *pair = NULL;
	struct gt_err e = { 0 };
	int r;

	r = tn_tunable_check_value(i->knob, host, i->wanted, &e);
	if (r < 0)
		return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "%s: nothing is changed", e.msg);
	if (!has_instance(fs, host, i))
		return gt_fail_exit(err, TN_EXIT_REFUSED, ESTALE, "%s is not on this host: make a new plan", label);
	r = tn_value_read(fs, i->path, &now);
	if (r == -ENOENT)
		return gt_fail_exit(err, TN_EXIT_REFUSED, ENOENT,
				    "%s: %s no longer exists: make a new plan", label, i->path);
	if (r < 0)
		return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot read %s: %s", i->path, tn_setting_error(i->path, r));
	if (!tn_value_equal(now, i->current))
		return refuse_changed(i, "", now, err);
	if (i->pair_current && (tn_value_read(fs, i->pair_path, &pair) < 0 || !tn_value_equal(pair, i->pair_current)))
		return refuse_changed(i, " (its counterpart changed)", now, err);
	return check_preconditions(fs, c, i, err);
}

static int refuse_renamed(const struct tn_item *i, struct gt_err *err)
{
	gt_autofree char *label = tn_tunable_label(i->knob, i->instance);

	return gt_fail_exit(err, TN_EXIT_REFUSED, ESTALE,
			    "%s: the host was restarted since the plan was made, and the name may belong to another device "
			    "now: make a new plan", label);
}

static int check_one(const struct tn_facts *facts, struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan *plan,
		     const struct tn_item *it, struct gt_err *err)
{
	const struct tn_ctx c = { .host = host, .facts = facts, .asked = it->wanted };
	bool other_boot = strcmp(plan->boot_id, host->kernel.boot_id.v ? host->kernel.boot_id.v : "") != 0;

	return other_boot && it->knob->names_change ? refuse_renamed(it, err) : check_item(fs, &c, it, err);
}

int tn_plan_check_item(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan *plan, const struct tn_item *i,
		       struct gt_err *err)
{
	struct tn_facts facts;
	int r;

	tn_facts_read(fs, &facts);
	r = check_one(&facts, fs, host, plan, i, err);
	tn_facts_clear(&facts);
	return r;
}

int tn_plan_check_host(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan *plan, struct gt_err *err)
{
	gt_auto(pr_host) *own = NULL;
	int r = tn_host_get(fs, host, &own, &host, err);
	struct tn_facts facts;

	if (r < 0)
		return r;
	if (strcmp(plan->host, host->identity))
		return gt_fail_exit(err, TN_EXIT_REFUSED, EXDEV,
				    "the plan is for another host (%s, this one is %s): make a plan here", plan->host,
				    host->identity);
	tn_facts_read(fs, &facts);
	for (size_t i = 0; i < plan->n_item && r >= 0; i++)
		if (plan->item[i].status == TN_CHANGE)
			r = check_one(&facts, fs, host, plan, &plan->item[i], err);
	tn_facts_clear(&facts);
	return r;
}
