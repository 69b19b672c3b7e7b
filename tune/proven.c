/* SPDX-License-Identifier: Apache-2.0 */
/* A receipt of gpubench prove made into a plan: only what was measured to help, here and under this kernel and driver. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "probe/marks.h"
#include "tune/knob.h"
#include "tune/plan.h"
#include "tune/trust.h"

#define RECEIPT_SCHEMA	 "gpubench-receipt/1"
#define RECEIPT_MAX	 (4u << 20)
#define RECEIPT_AGE_DAYS 90
#define DAY_S		 86400

/* "550.163.01" -> 550; 0 when there is no driver. */
static long major_of(const char *version)
{
	return version ? strtol(version, NULL, 10) : 0;
}

static int check_age(const json_t *doc, const char *path, struct gt_err *err)
{
	int64_t made = 0, days;
	int r = gt_json_req_int(doc, "created_unix", &made, err);

	if (r < 0)
		return r;
	days = ((int64_t)time(NULL) - made) / DAY_S;
	if (days > RECEIPT_AGE_DAYS)
		return gt_fail(err, ESTALE, "%s is %lld days old; what helps may have changed: prove it again", path,
			       (long long)days);
	if (days < -1)
		return gt_fail(err, EINVAL, "%s was made in the future: the clock was or is wrong", path);
	return 0;
}

/* Hosts that are built and installed alike have one identity; what else is known of both decides. */
static int check_marks(const json_t *doc, const char *path, const json_t *here, struct gt_err *err)
{
	const json_t *there = json_object_get(doc, "marks");
	gt_auto_buf what = { 0 };

	pr_marks_difference(there, here, &what);
	if (what.len)
		return gt_fail(err, EXDEV, "%s was measured on another host that is built like this one (not the same: %s): "
			       "prove it here", path, what.s);
	/* one of an older version has none: it was on this machine if the identity has a machine id in it */
	if (there ? !pr_marks_shared(there, here) : !gt_json_get_str(here, "machine_id", NULL))
		return gt_fail(err, ENODATA, "nothing shows that %s was measured on this host and not on one built like it: "
			       "give it a machine id (systemd-machine-id-setup) and prove it again", path);
	return 0;
}

static int check_receipt(const json_t *doc, const char *path, const struct pr_host *host, const json_t *marks, struct gt_err *err)
{
	const char *kernel = gt_json_get_str(doc, "kernel", ""), *driver = gt_json_get_str(doc, "nvidia_driver", NULL);
	const char *identity = gt_json_get_str(doc, "host", "");
	int r;

	if (!gt_streq(identity, host->identity))
		return gt_fail(err, EXDEV, "%s was measured on another host (%s, this one is %s): prove it here", path, identity,
			       host->identity);
	r = check_marks(doc, path, marks, err);
	if (r < 0)
		return r;
	if (!gt_streq(kernel, host->kernel.release.v))
		return gt_fail(err, ESTALE, "%s was measured under kernel %s, this is %s: prove it again", path, kernel,
			       host->kernel.release.v ? host->kernel.release.v : "unknown");
	if (major_of(driver) != major_of(host->nvidia.module_version.v))
		return gt_fail(err, ESTALE, "%s was measured with NVIDIA driver %s, this is %s: prove it again", path,
			       driver ? driver : "none", host->nvidia.module_version.v ? host->nvidia.module_version.v : "none");
	r = check_age(doc, path, err);
	if (r == 0 && !gt_json_get_bool(doc, "confirmed", false))
		return gt_fail(err, ENODATA, "%s proves nothing: no change was confirmed on fresh data", path);
	return r;
}

/* The kept entry of a knob and instance, NULL if it was not proved. */
static const json_t *proof_of(const json_t *doc, const char *knob, const char *instance)
{
	json_t *list = json_object_get(doc, "knobs"), *k;
	size_t i;

	json_array_foreach(list, i, k)
		if (gt_json_get_bool(k, "kept", false) && gt_streq(gt_json_get_str(k, "kind", NULL), "knob") &&
		    gt_streq(gt_json_get_str(k, "knob", NULL), knob) &&
		    gt_streq(gt_json_get_str(k, "instance", NULL), instance))
			return k;
	return NULL;
}

static void replace(char **s, char *with)
{
	free(*s);
	*s = with;
}

/* What was proved is what is written, whatever the profile would choose today. */
static int take_item(const json_t *doc, struct tn_item *i, struct gt_err *err)
{
	const json_t *proof = proof_of(doc, i->knob->id, i->instance);
	const char *to = gt_json_get_str(proof, "to", NULL);
	const json_t *effect = json_object_get(proof, "effect");
	int r;

	/* left out by --skip, by the profile or because it would do harm here: nothing was looked at */
	if (i->status == TN_SKIPPED && !i->wanted)
		return 0;
	i->chosen = proof && to;
	if (!i->chosen) {
		if (i->status == TN_CHANGE) {
			i->status = TN_SKIPPED;
			replace(&i->reason, gt_xstrdup("not proved to help on this host"));
		}
		return 0;
	}
	r = tn_knob_check_value(i->knob, NULL, to, err);
	if (r < 0)
		return r;
	if (i->status != TN_CHANGE && i->status != TN_ALREADY && i->status != TN_SKIPPED)
		return 0;
	replace(&i->wanted, gt_xstrdup(to));
	replace(&i->reason, gt_xasprintf("proved on %.10s: %+.1f %% [%+.1f, %+.1f] in %.60s",
					 gt_json_get_str(doc, "created", "?"), gt_json_get_real(effect, "change_pct", 0),
					 gt_json_get_real(effect, "ci_low_pct", 0),
					 gt_json_get_real(effect, "ci_high_pct", 0), gt_json_get_str(doc, "metric", "?")));
	i->status = gt_streq(i->current, to) ? TN_ALREADY : TN_CHANGE;
	return 0;
}

int tn_plan_take_receipt(const json_t *doc, const char *path, const struct pr_host *host, const json_t *marks,
			 struct tn_plan *plan, struct gt_err *err)
{
	int r = check_receipt(doc, path, host, marks, err);

	for (size_t i = 0; r == 0 && i < plan->n_item; i++)
		r = take_item(doc, &plan->item[i], err);
	return r;
}

int tn_plan_proven(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan_opts *opts, const char *path,
		   struct tn_plan **ret, struct gt_err *err)
{
	struct tn_plan_opts o = *opts;
	gt_auto(tn_plan) *plan = NULL;
	gt_auto(pr_host) *own = NULL;
	gt_auto_json *doc = NULL, *marks = NULL;
	int r;

	r = tn_trusted_json(fs, path, RECEIPT_MAX, &doc, err);
	if (r < 0)
		return r;
	r = gt_json_check_schema(doc, RECEIPT_SCHEMA, path, err);
	if (r < 0)
		return gt_fail_as(err, GT_EXIT_USAGE, r);
	r = tn_host_get(fs, host, &own, &host, err);
	o.optional = true; /* who proved it has chosen it */
	if (r == 0)
		r = tn_plan_make(fs, host, &o, &plan, err);
	if (r == 0) {
		marks = pr_marks(fs, host);
		r = tn_plan_take_receipt(doc, path, host, marks, plan, err);
	}
	if (r < 0)
		return gt_fail_as(err, TN_EXIT_REFUSED, r);
	*ret = gt_take(plan);
	return 0;
}
