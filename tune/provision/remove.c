/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the packages that gputune installed, and no others. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include "lib/cli.h"
#include "lib/log.h"
#include "tune/txn/state_dir.h"
#include "tune/provision/remove.h"

#define PATIENCE_S 60.0 /* seconds; apt waits as long for its lock */

/* Returns the process that holds dpkg's lock, such as apt; 0: none. If gputune was killed, its apt may still run. */
static pid_t dpkg_user(struct gt_fsroot *fs)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	gt_autoclose int fd = gt_fs_open_fd(fs, "/var/lib/dpkg/lock-frontend");

	return fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

/* While dpkg works, its status file is incomplete. The record would lose packages that dpkg has not installed yet. */
static int wait_for_dpkg(struct gt_fsroot *fs, struct gt_err *err)
{
	double until = gt_now_s() + PATIENCE_S;
	pid_t pid;

	while ((pid = dpkg_user(fs))) {
		struct timespec nap = {.tv_nsec = 200000000};

		if (gt_interrupted || gt_now_s() > until)
			return gt_fail(err, EBUSY, "process %d is using apt or dpkg: wait until it has ended", (int)pid);
		nanosleep(&nap, NULL);
	}
	return 0;
}

int tn_provision_may(struct gt_fsroot *fs, struct gt_err *err)
{
	int r = gt_fs_require_live(fs, "install packages", err);

	if (!r && geteuid() != 0)
		r = gt_fail(err, EPERM, "only root can install and remove packages");
	if (!r)
		r = wait_for_dpkg(fs, err);
	if (r < 0 && err)
		err->exit_status = TN_EXIT_REFUSED;
	return r;
}

/* Checks that apt would remove exactly these packages. */
static int simulate_removal(const char *verb, const struct gt_strv *names, struct gt_err *err)
{
	const char *const args[] = {"-s", verb, NULL};
	struct tn_apt_result result;
	gt_autofree char *text = NULL;
	int r = tn_apt_get(args, names, 120, &text, err);

	if (r < 0)
		return r;
	tn_apt_parse(text, &result);
	if (result.n_move)
		r = gt_fail(err, EPERM, "apt would install %s for the removal: remove the packages by hand",
			    result.move[0].name);
	for (size_t i = 0; !r && i < result.removals.n; i++)
		if (!gt_strv_has(names, result.removals.v[i]))
			r = gt_fail(err, EPERM, "apt would also remove %s, which gputune did not install",
				    result.removals.v[i]);
	tn_apt_result_clear(&result);
	return r;
}

static int remove_by(const char *verb, const struct gt_strv *names, struct gt_err *err)
{
	const char *const args[] = {verb, NULL};
	int r = names->n ? simulate_removal(verb, names, err) : 0;

	return r < 0 || !names->n ? r : tn_apt_get(args, names, 0, NULL, err);
}

static void drop_gone(const struct tn_dpkg *now, struct tn_record *record)
{
	for (size_t i = record->n; i-- > 0;) {
		const struct tn_deb *d = tn_dpkg_find(now, record->package[i].name);

		if (!d || (!d->installed && record->package[i].had_config))
			tn_record_drop(record, i);
	}
}

int tn_remove_packages(struct gt_fsroot *fs, const struct pr_host *host, struct tn_record *record,
		       const struct gt_strv *names, struct gt_err *err)
{
	gt_auto_strv purge = {0}, plain = {0}, unhold = {0};
	struct tn_dpkg dpkg;
	int r;

	tn_dpkg_load(fs, host, &dpkg);
	for (size_t i = 0; i < names->n; i++) {
		const struct tn_recorded *p = tn_record_find(record, names->v[i]);
		const struct tn_deb *d = tn_dpkg_find(&dpkg, names->v[i]);

		if (!p || !d)
			continue;
		gt_strv_add(p->had_config ? &plain : &purge, p->name);
		if (d->held && p->held)
			gt_strv_add(&unhold, p->name);
	}
	tn_dpkg_clear(&dpkg);
	r = tn_apt_mark("unhold", &unhold, err);
	if (!r)
		r = remove_by("remove", &plain, err);
	if (!r)
		r = remove_by("purge", &purge, err);
	tn_dpkg_load(fs, host, &dpkg);
	drop_gone(&dpkg, record);
	tn_dpkg_clear(&dpkg);
	for (size_t i = 0; !r && i < names->n; i++)
		if (tn_record_find(record, names->v[i]))
			r = gt_fail(err, EIO, "apt succeeded, but %s is still installed", names->v[i]);
	if (!r)
		record->state = TN_RECORD_DONE;
	return r < 0 ? (tn_record_save(fs, record, NULL), r) : tn_record_save(fs, record, err);
}

static void report_package(json_t *report, const struct tn_recorded *p, const char *result, const char *reason)
{
	json_array_append_new(json_object_get(report, "packages"),
			      json_pack("{s:s, s:o, s:n, s:s, s:o}", "name", p->name, "old", gt_json_str(p->version),
					"version", "result", result, "reason", gt_json_str(reason)));
}

/* Lists the packages that are removed, that stay, and that are gone already. */
static void judge(struct gt_fsroot *fs, const struct tn_dpkg *dpkg, const struct tn_record *rec, bool dry,
		  json_t *report, struct gt_strv *go, size_t *kept)
{
	char **reason = tn_remove_reasons(fs, dpkg, rec);

	for (size_t i = 0; i < rec->n; i++) {
		const struct tn_deb *d = tn_dpkg_find(dpkg, rec->package[i].name);

		if (!d) {
			report_package(report, &rec->package[i], "gone", "removed by another program since");
		} else if (reason[i]) {
			report_package(report, &rec->package[i], "kept", reason[i]);
			(*kept)++;
		} else {
			report_package(report, &rec->package[i], dry ? "would go" : "removed", NULL);
			gt_strv_add(go, rec->package[i].name);
		}
		free(reason[i]);
	}
	free(reason);
}

static int revert(struct gt_fsroot *fs, bool dry, json_t *report, int *ret_exit, struct gt_err *err)
{
	struct tn_record rec;
	struct tn_dpkg dpkg;
	gt_auto_strv go = {0};
	size_t kept = 0;
	int r = tn_record_load(fs, &rec, err);

	if (r < 0 || !rec.n)
		return r;
	tn_dpkg_load(fs, NULL, &dpkg);
	judge(fs, &dpkg, &rec, dry, report, &go, &kept);
	tn_dpkg_clear(&dpkg);
	if (!dry) {
		enum tn_record_state was = rec.state;

		rec.state = TN_RECORD_OPEN;
		r = tn_record_save(fs, &rec, err);
		rec.state = was;
		if (!r)
			r = tn_remove_packages(fs, NULL, &rec, &go, err);
		if (r < 0) {
			gt_fail_prefix(err, "some packages could not be removed; run dpkg --configure -a, then gputune "
					    "provision revert");
			err->exit_status = TN_EXIT_INTERRUPTED;
		}
	}
	if (!r && !dry)
		tn_provision_report_end(fs, report, kept ? go.n ? "partly removed" : "kept" : "removed");
	else if (!r)
		json_object_set_new(report, "result", json_string(go.n ? "would be removed" : "kept"));
	*ret_exit = kept ? TN_EXIT_DRIFT : 0;
	tn_record_clear(&rec);
	return r;
}

int tn_provision_revert(struct gt_fsroot *fs, bool dry, json_t **ret_report, int *ret_exit, struct gt_err *err)
{
	int r = dry ? 0 : tn_provision_may(fs, err), lock = -1;
	json_t *report;

	if (!r && !dry)
		r = tn_journal_lock(fs, 0, &lock, err);
	if (r < 0)
		return r;
	*ret_exit = 0;
	tn_apt_keeps(lock);
	report = tn_provision_report("provision revert");
	r = revert(fs, dry, report, ret_exit, err);
	if (r < 0)
		json_decref(report);
	else
		*ret_report = report;
	tn_apt_keeps(-1);
	if (lock >= 0)
		close(lock);
	return r;
}

json_t *tn_provision_held(struct gt_fsroot *fs)
{
	struct tn_record rec;
	json_t *list;

	if (tn_record_load(fs, &rec, NULL) < 0 || !rec.n)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < rec.n; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "name", rec.package[i].name, "version",
						      rec.package[i].version, "held", rec.package[i].held));
	tn_record_clear(&rec);
	return list;
}
