/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan from a receipt of gpubench prove: only changes that were measured to help on this host, kernel and
 * driver. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "lib/buf.h"
#include "probe/host/machine_fingerprint.h"
#include "tune/knob/list.h"
#include "tune/plan/plan_json.h"
#include "tune/plan/receipt.h"
#include "tune/plan/receipt_samples.h"
#include "tune/model/file_trust.h"
#include "tune/model/value.h"

#define RECEIPT_SCHEMA	 "gpubench-receipt/2"
#define RECEIPT_BEFORE	 "gpubench-receipt/1" /* a version without samples */
#define RECEIPT_MAX	 (4u << 20)
#define RECEIPT_AGE_DAYS 90
#define DAY_S		 86400

/* "550.163.01" -> 550; NULL, no driver -> 0 */
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
		return gt_fail(err, ESTALE, "%s is %lld days old; the effects may have changed: prove it again", path,
			       (long long)days);
	if (days < -1)
		return gt_fail(err, EINVAL, "%s has a date in the future: the clock was or is wrong", path);
	return 0;
}

/* Hosts that are built and installed alike have one identity. The other properties of their fingerprints distinguish
 * them. */
static int check_marks(const json_t *doc, const char *path, const json_t *here, struct gt_err *err)
{
	const json_t *there = json_object_get(doc, "marks");
	gt_auto_buf what = { 0 };

	pr_fingerprint_difference(there, here, &what);
	if (what.len)
		return gt_fail(err, EXDEV, "%s was measured on another host that is built like this one (different: %s): prove "
					   "it here", path, what.s);
	/* a receipt of an older version has no fingerprint; its identity is unique only with a machine id */
	if (there ? !pr_fingerprint_shared(there, here) : !gt_json_get_str(here, "machine_id", NULL))
		return gt_fail(err, ENODATA, "%s does not show whether it was measured on this host or on one built alike: "
					     "give the host a machine id (systemd-machine-id-setup) and prove it again", path);
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
	if (major_of(driver) != major_of(host->driver.module_version.v))
		return gt_fail(err, ESTALE, "%s was measured with NVIDIA driver %s, this is %s: prove it again", path,
			       driver ? driver : "none", host->driver.module_version.v ? host->driver.module_version.v : "none");
	r = check_age(doc, path, err);
	if (r == 0 && !gt_json_get_bool(doc, "confirmed", false))
		return gt_fail(err, ENODATA, "%s proves nothing: no change was confirmed on new data", path);
	return r;
}

/* ---- statements about tunables ---------------------------------------------------------------------------------- */

static const json_t *find_knob(const json_t *doc, const char *knob, const char *instance, size_t from)
{
	json_t *list = json_object_get(doc, "knobs"), *k;

	for (size_t i = from; i < json_array_size(list); i++) {
		k = json_array_get(list, i);
		if (gt_streq(gt_json_get_str(k, "kind", NULL), "knob") && gt_streq(gt_json_get_str(k, "knob", NULL), knob) &&
		    gt_streq(gt_json_get_str(k, "instance", NULL), instance))
			return k;
	}
	return NULL;
}

static bool is_kind(const char *kind)
{
	static const char *const kinds[] = { "knob", "variable", "cpus", "memory", "boot" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i], kind))
			return true;
	return false;
}

/* Applies the rules of a plan: an existing tunable that gputune writes, a valid device name, both values, the range and
 * the direction. */
static int check_setting(const json_t *o, const struct pr_host *host, struct gt_err *err)
{
	const char *id = NULL, *from = NULL, *to = NULL, *instance = gt_json_get_str(o, "instance", NULL);
	gt_autofree char *pair = NULL;
	const struct tn_tunable *k;
	int r = gt_json_req_str(o, "knob", &id, err);

	if (r == 0)
		r = gt_json_req_str(o, "from", &from, err);
	if (r == 0)
		r = gt_json_req_str(o, "to", &to, err);
	if (r < 0)
		return r;
	k = tn_tunable_find(id);
	if (!k || k->tag == 'C')
		return gt_fail(err, EINVAL, "there is no knob '%.60s' that gputune writes", id);
	if (!k->instances != !instance || (instance && !tn_instance_ok(instance)))
		return gt_fail(err, EINVAL, "%s: '%.60s' is not a valid device", id, instance ? instance : "");
	r = tn_tunable_check_value(k, host, to, err);
	if (r < 0)
		return r;
	pair = tn_tunable_pair_path(k);
	if (tn_tunable_good(k, to, from, pair ? "in force" : NULL))
		return gt_fail(err, EINVAL, "%s would not %s from %.60s to %.60s", id, tn_op_name(k->op), from, to);
	return 0;
}

static int check_knobs(const json_t *doc, const struct pr_host *host, struct gt_err *err)
{
	json_t *list = NULL, *o;
	size_t i;
	int r = gt_json_req_array(doc, "knobs", &list, err);

	json_array_foreach(list, i, o) {
		const char *kind = NULL;

		r = gt_json_req_str(o, "kind", &kind, err);
		if (r == 0 && !is_kind(kind))
			r = gt_fail(err, EINVAL, "unknown kind of change '%.60s'", kind);
		if (r == 0 && !strcmp(kind, "knob"))
			r = check_setting(o, host, err);
		if (r == 0 && !strcmp(kind, "knob") &&
		    find_knob(doc, gt_json_get_str(o, "knob", NULL), gt_json_get_str(o, "instance", NULL), i + 1))
			r = gt_fail(err, EINVAL, "%.60s occurs twice", gt_json_get_str(o, "knob", NULL));
		if (r < 0)
			return gt_fail_prefix(err, "knob %zu", i + 1);
	}
	return r;
}

/* ---- items of the plan ------------------------------------------------------------------------------------------ */

static void replace(char **s, char *with)
{
	free(*s);
	*s = with;
}

/* Checks that the session began from the current value, or that the change was made since. */
static int check_from(const struct tn_item *i, const json_t *proof, const char *path, struct gt_err *err)
{
	const char *from = gt_json_get_str(proof, "from", ""), *to = gt_json_get_str(proof, "to", "");
	gt_autofree char *label = tn_tunable_label(i->knob, i->instance);

	if (tn_value_equal(i->current, from) || tn_tunable_good(i->knob, to, i->current, i->pair_current))
		return 0;
	return gt_fail(err, ESTALE, "%s changes %s from %s, but it is %s now: prove it again", path, label, from, i->current);
}

/* Uses the proven value, even if the profile would choose another one today. */
static int take_item(const json_t *doc, const char *path, struct tn_item *i, struct gt_err *err)
{
	const json_t *proof = find_knob(doc, i->knob->id, i->instance, 0), *effect = json_object_get(proof, "effect");
	const char *to = gt_json_get_str(proof, "to", NULL);
	int r;

	/* left out by --skip or by the profile, or a precondition does not hold */
	if (i->status == TN_SKIPPED && !i->wanted)
		return 0;
	i->chosen = gt_json_get_bool(proof, "kept", false);
	if (!i->chosen) {
		if (i->status == TN_CHANGE) {
			i->status = TN_SKIPPED;
			replace(&i->reason, gt_xstrdup("not proven to help on this host"));
		}
		return 0;
	}
	if (i->status != TN_CHANGE && i->status != TN_ALREADY && i->status != TN_SKIPPED)
		return 0;
	r = check_from(i, proof, path, err);
	if (r < 0)
		return r;
	replace(&i->wanted, gt_xstrdup(to));
	replace(&i->reason, gt_xasprintf("proven on %.10s: %+.1f %% [%+.1f, %+.1f] in %.60s",
					 gt_json_get_str(doc, "created", "?"), gt_json_get_real(effect, "change_pct", 0),
					 gt_json_get_real(effect, "ci_low_pct", 0),
					 gt_json_get_real(effect, "ci_high_pct", 0), gt_json_get_str(doc, "metric", "?")));
	i->status = tn_item_good(i, i->current) ? TN_ALREADY : TN_CHANGE;
	return 0;
}

/* Checks that the device of each kept change exists, unless the plan leaves the tunable out. */
static int check_devices(const json_t *doc, const struct tn_plan *plan, struct gt_err *err)
{
	json_t *list = json_object_get(doc, "knobs"), *o;
	size_t i;

	json_array_foreach(list, i, o) {
		const char *id = gt_json_get_str(o, "knob", NULL), *instance = gt_json_get_str(o, "instance", NULL);
		bool planned = false, there = false;

		for (size_t n = 0; n < plan->n_item; n++) {
			planned |= gt_streq(plan->item[n].knob->id, id);
			there |= gt_streq(plan->item[n].knob->id, id) && gt_streq(plan->item[n].instance, instance);
		}
		if (gt_json_get_bool(o, "kept", false) && instance && planned && !there)
			return gt_fail(err, ENODEV, "%s:%s is not on this host: prove it again", id, instance);
	}
	return 0;
}

int tn_plan_take_receipt(const json_t *doc, const char *path, const struct pr_host *host, const json_t *marks,
			 struct tn_plan *plan, struct gt_err *err)
{
	struct gt_err e = { 0 };
	int r = check_receipt(doc, path, host, marks, err);

	if (r < 0)
		return r;
	if (!tn_json_is_plain(doc))
		return gt_fail(err, EINVAL, "%s is refused: it contains control characters", path);
	r = check_knobs(doc, host, &e);
	if (r == 0)
		r = tn_receipt_check_samples(doc, &e);
	if (r == 0)
		r = check_devices(doc, plan, &e);
	if (r < 0)
		return gt_fail(err, -r, "%s is refused: %s", path, e.msg);
	for (size_t i = 0; r == 0 && i < plan->n_item; i++)
		r = take_item(doc, path, &plan->item[i], err);
	return r;
}

/* ---- earlier schemas ---------------------------------------------------------------------------------------------- */

/* Appends one word, quoted for a shell. */
static void add_word(struct gt_buf *out, const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@";
	bool plain = *word && strspn(word, safe) == strlen(word);

	gt_buf_puts(out, plain ? " " : " '");
	for (; *word; word++)
		gt_buf_puts(out, *word == '\'' ? "'\\''" : (const char[]){ *word, '\0' });
	gt_buf_puts(out, plain ? "" : "'");
}

/* Returns the command that made the receipt; the caller frees it. */
static char *prove_command(const json_t *doc, const char *path)
{
	json_t *argv = json_object_get(doc, "argv"), *word;
	gt_auto_buf out = { 0 };
	size_t i;

	gt_buf_puts(&out, "gpubench");
	json_array_foreach(argv, i, word)
		if (i && json_is_string(word))
			add_word(&out, json_string_value(word));
	if (gt_streq(json_string_value(json_array_get(argv, 1)), "prove") && out.len < 512 && tn_json_is_plain(argv))
		return gt_buf_take(&out);
	gt_buf_clear(&out);
	gt_buf_puts(&out, "gpubench prove --receipt");
	add_word(&out, path);
	return gt_buf_take(&out);
}

static int check_schema(const json_t *doc, const char *path, struct gt_err *err)
{
	gt_autofree char *command = NULL;

	if (!gt_streq(gt_json_get_str(doc, "schema", NULL), RECEIPT_BEFORE))
		return gt_fail_as(err, GT_EXIT_USAGE, gt_json_check_schema(doc, RECEIPT_SCHEMA, path, err));
	command = prove_command(doc, path);
	return gt_fail_exit(err, TN_EXIT_REFUSED, ESTALE,
			    "%s was made by an older gpubench and has no samples; prove it again: %s", path, command);
}

int tn_plan_from_receipt(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan_opts *opts, const char *path,
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
	r = check_schema(doc, path, err);
	if (r < 0)
		return r;
	r = tn_host_get(fs, host, &own, &host, err);
	o.optional = true; /* a proven tunable counts as selected */
	if (r == 0)
		r = tn_plan_make(fs, host, &o, &plan, err);
	if (r == 0) {
		marks = pr_fingerprint(fs, host);
		r = tn_plan_take_receipt(doc, path, host, marks, plan, err);
	}
	if (r < 0)
		return gt_fail_as(err, TN_EXIT_REFUSED, r);
	*ret = gt_take(plan);
	return 0;
}
