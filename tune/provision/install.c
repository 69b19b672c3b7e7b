/* SPDX-License-Identifier: Apache-2.0 */
/* Executes a plan: plans again, downloads, records, installs and checks the result. */
#include <errno.h>
#include <string.h>
#include "lib/log.h"
#include "tune/txn/history.h"
#include "tune/txn/state_dir.h"
#include "tune/provision/record.h"
#include "tune/provision/remove.h"

#define INSTALL_S 7200.0

struct install {
	struct gt_fsroot *fs;
	const json_t *plan; /* newly computed plan, equal to the given one */
	struct tn_record record;
	struct gt_strv fresh; /* packages that were not installed before */
	json_t *report;
};

static void strings_of(const json_t *a, struct gt_strv *ret)
{
	const json_t *s;
	size_t i;

	json_array_foreach(a, i, s) if (json_is_string(s)) gt_strv_add(ret, json_string_value(s));
}

/* Checks that the given plan equals a newly computed plan. */
static int check_same(const json_t *given, const json_t *now, struct gt_err *err)
{
	static const char *const changes[][2] = {{"host", "it is for another host"},
						 {"kernel", "the host runs another kernel now"},
						 {"dpkg", "packages were installed, removed, upgraded or held since"}};
	static const char *const same[] = {"requested", "packages", "hold", "reboot"};
	const json_t *a = json_object_get(given, "basis"), *b = json_object_get(now, "basis");

	for (size_t i = 0; i < GT_ARRAY_SIZE(changes); i++)
		if (!json_equal(json_object_get(a, changes[i][0]), json_object_get(b, changes[i][0])))
			return gt_fail_exit(err, TN_EXIT_REFUSED, ESTALE,
					    "this plan is outdated: %s; nothing is changed, plan again",
					    changes[i][1]);
	for (size_t i = 0; i < GT_ARRAY_SIZE(same); i++)
		if (!json_equal(json_object_get(given, same[i]), json_object_get(now, same[i])))
			return gt_fail_exit(err, TN_EXIT_REFUSED, ESTALE,
					    "this plan is outdated: apt would make other changes now (\"%s\" differs); nothing "
					    "is changed, plan again",
					    same[i]);
	return 0;
}

/* Uses the options of the given plan, so that the two can be compared. */
static int plan_again(struct gt_fsroot *fs, const struct pr_host *host, const json_t *given, json_t **ret,
		      struct gt_err *err)
{
	const json_t *o = json_object_get(given, "options"), *first;
	gt_auto_strv with = {0}, skip = {0};
	int64_t gpu = gt_json_get_int(o, "gpu", 0);
	struct tn_provision_opts opts = {
		.with = &with, .skip = &skip, .no_hold = gt_json_get_bool(o, "no_hold", false)};
	int r = gt_json_check_schema(given, TN_PROVISION_SCHEMA, "the plan", err);

	if (r < 0 || !json_is_object(o) || gpu < 0 || gpu > 0xffff)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "this is not a document of gputune provision plan: nothing is changed");
	opts.gpu = (unsigned)gpu;
	strings_of(json_object_get(o, "with"), &with);
	strings_of(json_object_get(o, "skip"), &skip);
	r = tn_provision_plan(fs, host, &opts, ret, err);
	first = r < 0 ? NULL : json_array_get(json_object_get(*ret, "refusals"), 0);
	if (first)
		return gt_fail_exit(err, TN_EXIT_REFUSED, EPERM, "%s; nothing is changed",
				    gt_json_get_str(first, "what", ""));
	return r < 0 ? r : check_same(given, *ret, err);
}

/* Collects name=version of the requested packages, or of all. */
static void pinned(const json_t *plan, struct gt_strv *ret)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(plan, "packages"), i, o) if (gt_json_get_bool(o, "requested", false))
		gt_strv_take(ret,
			     gt_xasprintf("%s=%s", gt_json_get_str(o, "name", ""), gt_json_get_str(o, "version", "")));
}

static void report_package(struct install *in, const json_t *o, const char *result)
{
	json_array_append_new(json_object_get(in->report, "packages"),
			      json_pack("{s:s, s:o, s:O, s:s, s:n}", "name", gt_json_get_str(o, "name", ""), "old",
					json_incref(json_object_get(o, "old")), "version",
					json_object_get(o, "version"), "result", result, "reason"));
}

static int write_record(struct install *in, const struct tn_dpkg *before, struct gt_err *err)
{
	gt_auto_strv hold = {0};
	const json_t *o;
	size_t i;

	strings_of(json_object_get(in->plan, "hold"), &hold);
	json_array_foreach(json_object_get(in->plan, "packages"), i, o)
	{
		const char *name = gt_json_get_str(o, "name", "");
		const struct tn_deb *was = tn_dpkg_find(before, name);
		struct tn_recorded *p;

		if (gt_json_get_str(o, "old", NULL) || (was && was->installed))
			continue;
		p = tn_record_find(&in->record, name); /* installed by gputune earlier and removed by another program since */
		if (!p)
			p = tn_record_add(&in->record, name, gt_json_get_str(o, "version", ""));
		p->requested = gt_json_get_bool(o, "requested", false);
		p->held = gt_strv_has(&hold, name);
		p->had_config = was != NULL;
		gt_strv_add(&in->fresh, name);
	}
	in->record.state = TN_RECORD_OPEN;
	return tn_record_save(in->fs, &in->record, err);
}

/* Checks that each package is installed with its version. */
static int check_installed(struct install *in, const struct pr_host *host, struct gt_err *err)
{
	struct tn_dpkg now;
	const json_t *o;
	size_t i;
	int r = 0;

	tn_dpkg_load(in->fs, host, &now);
	json_array_foreach(json_object_get(in->plan, "packages"), i, o)
	{
		const char *name = gt_json_get_str(o, "name", ""), *version = gt_json_get_str(o, "version", "");
		const struct tn_deb *deb = tn_dpkg_find(&now, name);

		if (!r && (!deb || !deb->installed || strcmp(deb->version, version)))
			r = gt_fail(err, EIO, "apt succeeded, but %s %s is not installed", name, version);
	}
	if (!r && now.broken)
		r = gt_fail(err, EIO, "%s", now.broken);
	tn_dpkg_clear(&now);
	return r;
}

/* Removes everything that this call installed. */
static int undo_install(struct install *in, const struct pr_host *host, struct gt_err *err)
{
	struct gt_err why = {0};
	int r;

	gt_warn("%s: removing the new packages again", err->msg);
	r = tn_remove_packages(in->fs, host, &in->record, &in->fresh, &why);
	if (r < 0)
		return gt_fail_exit(err, TN_EXIT_INTERRUPTED, EIO,
				    "the packages could not be installed, and could not be removed again (%s): run apt-get -f "
				    "install, then gputune provision revert",
				    why.msg);
	err->exit_status = TN_EXIT_FAILED;
	return gt_fail_prefix(err, "the packages could not be installed; those already installed are removed again");
}

static int do_install(struct install *in, const struct pr_host *host, struct gt_err *err)
{
	static const char *const fetch[] = {"--download-only", "--no-remove", "install", NULL};
	static const char *const install[] = {"--no-remove", "install", NULL};
	gt_auto_strv packages = {0}, hold = {0};
	struct tn_dpkg before;
	int r;

	pinned(in->plan, &packages);
	strings_of(json_object_get(in->plan, "hold"), &hold);
	gt_info("downloading %lld MB", (long long)(gt_json_get_int(in->plan, "download_bytes", 0) / 1000000));
	r = tn_apt_get(fetch, &packages, INSTALL_S, NULL, err);
	if (r < 0) {
		gt_fail_prefix(err, "the packages cannot be downloaded, and nothing is changed");
		err->exit_status = TN_EXIT_REFUSED;
		return r;
	}
	tn_dpkg_load(in->fs, host, &before);
	r = write_record(in, &before, err);
	tn_dpkg_clear(&before);
	if (r < 0)
		return r;
	gt_info("installing; the output of dpkg is in /var/log/apt/term.log");
	r = tn_apt_get(install, &packages, 0, NULL, err);
	if (!r)
		r = check_installed(in, host, err);
	if (!r)
		r = tn_apt_mark("hold", &hold, err);
	if (r < 0)
		return undo_install(in, host, err);
	in->record.state = TN_RECORD_DONE;
	return tn_record_save(in->fs, &in->record, err);
}

static void note_history(struct gt_fsroot *fs, const json_t *report)
{
	gt_auto_json *doc = json_pack("{s:s, s:s, s:[]}", "command", gt_json_get_str(report, "command", ""), "result",
				      gt_json_get_str(report, "result", ""), "values");
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "packages"), i, o) {
		const char *old = gt_json_get_str(o, "old", "none"), *result = gt_json_get_str(o, "result", "");
		const char *now = !strcmp(result, "kept") ? old : gt_json_get_str(o, "version", "none");

		json_array_append_new(json_object_get(doc, "values"),
				      json_pack("{s:s, s:s, s:s, s:s, s:s}", "knob", "package", "instance",
						gt_json_get_str(o, "name", ""), "old", old, "new", now, "result", result));
	}
	tn_history_add(fs, doc, NULL);
}

json_t *tn_provision_report(const char *command)
{
	return json_pack("{s:s, s:s, s:s, s:[], s:b}", "schema", TN_PROVISION_REPORT_SCHEMA, "command", command,
			 "result", "nothing", "packages", "reboot", 0);
}

void tn_provision_report_end(struct gt_fsroot *fs, json_t *report, const char *result)
{
	json_object_set_new(report, "result", json_string(result));
	note_history(fs, report);
}

static int apply_locked(struct install *in, const struct pr_host *host, const json_t *given, int *ret_exit,
			struct gt_err *err)
{
	gt_auto_json *now = NULL;
	const json_t *o;
	size_t i;
	int r = tn_record_load(in->fs, &in->record, err);

	if (!r && in->record.state == TN_RECORD_OPEN)
		r = gt_fail_exit(err, TN_EXIT_INTERRUPTED, EBUSY,
				 "an earlier installation by gputune was interrupted; to undo it: gputune provision revert");
	if (!r)
		r = plan_again(in->fs, host, given, &now, err);
	if (r < 0 || !json_array_size(json_object_get(now, "packages")))
		return r;
	in->plan = now;
	r = do_install(in, host, err);
	json_array_foreach(json_object_get(now, "packages"), i, o)
		report_package(in, o,
			       r < 0                             ? "taken back"
			       : gt_json_get_str(o, "old", NULL) ? "upgraded"
								 : "installed");
	if (r < 0 && err->exit_status == TN_EXIT_REFUSED)
		return r;
	json_object_set(in->report, "reboot", json_object_get(now, "reboot"));
	tn_provision_report_end(in->fs, in->report, r < 0 ? "taken back" : "installed");
	if (r >= 0 && json_is_true(json_object_get(now, "reboot")))
		*ret_exit = TN_EXIT_PENDING;
	return r;
}

int tn_provision_apply(struct gt_fsroot *fs, const struct pr_host *host, const json_t *plan, json_t **ret_report,
		       int *ret_exit, struct gt_err *err)
{
	struct install in = {.fs = fs};
	int r = tn_provision_may(fs, err), lock = -1;

	if (!r)
		r = tn_journal_lock(fs, 0, &lock, err);
	if (r < 0)
		return r;
	tn_apt_keeps(lock);
	in.report = tn_provision_report("provision apply");
	*ret_exit = 0;
	r = apply_locked(&in, host, plan, ret_exit, err);
	*ret_report = in.report;
	tn_record_clear(&in.record);
	gt_strv_clear(&in.fresh);
	tn_apt_keeps(-1);
	close(lock);
	return r;
}
