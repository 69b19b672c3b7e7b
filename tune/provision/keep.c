/* SPDX-License-Identifier: Apache-2.0 */
/* Finds packages installed by gputune that must stay, because other packages or processes use them now. */
#include <ctype.h>
#include <string.h>
#include "lib/text.h"
#include "tune/provision/remove.h"

struct keep {
	struct gt_fsroot *fs;
	const struct tn_dpkg *dpkg;
	const struct tn_record *record;
	char **reason; /* reason for each package of the record; NULL: it may be removed */
};

/* ---- dependencies ------------------------------------------------------------------------------------------------ */

/* Returns the index in the record if the package may be removed; -1: it stays, or gputune did not install it. */
static int going(const struct keep *k, const char *name)
{
	for (size_t i = 0; i < k->record->n; i++)
		if (!strcmp(k->record->package[i].name, name))
			return k->reason[i] ? -1 : (int)i;
	return -1;
}

/* Returns true if an installed package that stays provides `name`. Else sets *ret_going to one that would be removed. */
static bool served(const struct keep *k, const char *name, int *ret_going)
{
	for (size_t i = 0; i < k->dpkg->n; i++) {
		const struct tn_deb *d = &k->dpkg->deb[i];
		int g;

		if (!d->installed || (strcmp(d->name, name) && !gt_word_in(d->provides, " ,(", name)))
			continue;
		g = going(k, d->name);
		if (g < 0)
			return true;
		*ret_going = g;
	}
	return false;
}

/*
 * Returns the recorded package whose removal would break a dependency such as "a (>= 1) | b:any". -1: no recorded
 * package would.
 */
static int clause_needs(const struct keep *k, const char *clause)
{
	int needs = -1;

	gt_each_word(alt, clause, "|") {
		alt += strspn(alt, " ");
		alt[strcspn(alt, " (:[<")] = '\0';
		if (*alt && served(k, alt, &needs))
			return -1;
	}
	return needs;
}

/* Keeps each package that a staying package depends on. Returns true if it found one. */
static bool round_of_dependencies(struct keep *k)
{
	bool found = false;

	for (size_t i = 0; i < k->dpkg->n; i++) {
		const struct tn_deb *d = &k->dpkg->deb[i];

		if (!d->installed || !d->depends || going(k, d->name) >= 0)
			continue;
		gt_each_word(c, d->depends, ",") {
			int needs = clause_needs(k, c);

			if (needs < 0)
				continue;
			k->reason[needs] = gt_xasprintf("%s depends on it", d->name);
			found = true;
		}
	}
	return found;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static int read_files(const struct keep *k, const struct tn_deb *d, char **ret)
{
	gt_autofree char *plain = gt_xasprintf("/var/lib/dpkg/info/%s.list", d->name),
			 *multi = gt_xasprintf("/var/lib/dpkg/info/%s:%s.list", d->name, d->arch);
	int r = gt_fs_read(k->fs, multi, ret, NULL);

	return r < 0 ? gt_fs_read(k->fs, plain, ret, NULL) : r;
}

/* Returns whether the process has one of the shared libraries mapped. */
static bool maps_one(const char *maps, const char *files)
{
	for (const char *f = files; f && *f; f = gt_next_line(f)) {
		gt_autofree char *path = gt_xstrndup(f, strcspn(f, "\n"));

		if (strstr(path, ".so") && strstr(maps, path))
			return true;
	}
	return false;
}

/* A process in a container or in another root has other files under the same names. */
static bool has_our_root(const struct keep *k, const char *pid)
{
	gt_autofree char *root = gt_xasprintf("/proc/%s/root", pid);
	struct stat its, own;

	return gt_fs_stat(k->fs, root, &its) >= 0 && gt_fs_stat(k->fs, "/", &own) >= 0 && its.st_dev == own.st_dev &&
	       its.st_ino == own.st_ino;
}

static void look_at_process(struct keep *k, const char *pid, char *const *files)
{
	gt_autofree char *maps_path = gt_xasprintf("/proc/%s/maps", pid), *comm_path = gt_xasprintf("/proc/%s/comm", pid),
			 *maps = NULL, *comm = NULL;

	if (!has_our_root(k, pid) || gt_fs_read(k->fs, maps_path, &maps, NULL) < 0)
		return;
	for (size_t i = 0; i < k->record->n; i++) {
		if (k->reason[i] || !files[i] || !maps_one(maps, files[i]))
			continue;
		if (!comm && gt_fs_read_line(k->fs, comm_path, &comm) < 0)
			comm = gt_xstrdup("?");
		k->reason[i] = gt_xasprintf("process %s (%s) uses it", pid, comm);
	}
}

static void used_by_processes(struct keep *k)
{
	char **files = gt_xcalloc(k->record->n + 1, sizeof(*files));
	gt_auto_strv pids = {0};

	for (size_t i = 0; i < k->record->n; i++) {
		const struct tn_deb *d = tn_dpkg_find(k->dpkg, k->record->package[i].name);

		if (d && d->installed)
			read_files(k, d, &files[i]);
	}
	gt_fs_list(k->fs, "/proc", &pids);
	for (size_t i = 0; i < pids.n; i++)
		if (isdigit((unsigned char)*pids.v[i]))
			look_at_process(k, pids.v[i], files);
	for (size_t i = 0; i < k->record->n; i++)
		free(files[i]);
	free(files);
}

/* ---- result ------------------------------------------------------------------------------------------------------ */

static void marked_since(struct keep *k)
{
	int64_t uses = 0;
	bool module = gt_fs_read_i64(k->fs, "/sys/module/nvidia/refcnt", &uses) >= 0 && uses > 0;

	for (size_t i = 0; i < k->record->n; i++) {
		const struct tn_recorded *p = &k->record->package[i];
		const struct tn_deb *d = tn_dpkg_find(k->dpkg, p->name);

		if (!d || !d->installed)
			continue;
		if (d->held && !p->held)
			k->reason[i] = gt_xstrdup("it was put on hold since");
		else if (!d->automatic && !p->requested)
			k->reason[i] = gt_xstrdup("it was marked as manually installed since (apt-mark manual, or installed by "
						  "name)");
		else if (module && tn_is_driver_package(p->name))
			k->reason[i] = gt_xasprintf("the nvidia module is in use (%lld users)", (long long)uses);
	}
}

char **tn_remove_reasons(struct gt_fsroot *fs, const struct tn_dpkg *dpkg, const struct tn_record *record)
{
	struct keep k = {.fs = fs, .dpkg = dpkg, .record = record,
			 .reason = gt_xcalloc(record->n + 1, sizeof(char *))};

	if (record->state == TN_RECORD_DONE) { /* packages of an interrupted installation were neither used nor marked */
		marked_since(&k);
		used_by_processes(&k);
	}
	while (round_of_dependencies(&k))
		;
	return k.reason;
}
