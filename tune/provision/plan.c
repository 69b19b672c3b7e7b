/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a provision: the missing parts, simulated by apt, as a document. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/check/distro.h"
#include "tune/provision/provision.h"

#define OLD_LISTS_S (14 * 86400)

static void clear(struct tn_prov *p)
{
	struct tn_apt_result moves = {.move = p->move, .n_move = p->n_move, .removals = p->removals};

	for (size_t i = 0; p->status && tn_parts[i].id; i++) {
		free(p->reason[i]);
		gt_strv_clear(&p->packages[i]);
	}
	free(p->status);
	free(p->reason);
	free(p->packages);
	tn_apt_result_clear(&moves);
	gt_strv_clear(&p->requested);
	tn_dpkg_clear(&p->dpkg);
	tn_sources_clear(&p->sources);
	tn_offers_clear(&p->offers);
	pr_driver_need_clear(&p->driver);
	json_decref(p->refusals);
	json_decref(p->notes);
}

static void legacy_names(const struct tn_prov *p, struct gt_strv *names)
{
	const char *release = p->host->distro.version_id.v;
	gt_autofree char *branches = NULL;

	if (!release || pr_compat_get(p->fs, &pr_debian_legacy, release, &branches, NULL) <= 0)
		return;
	gt_each_word(b, branches, ",") {
		gt_autofree char *packages = pr_legacy_packages(atoi(b));

		tn_add_words(names, packages);
	}
}

/* Collects all package names that a part may use, for one pass over apt's lists. */
static void names_of_parts(const struct tn_prov *p, struct gt_strv *names)
{
	static const char *const more[] = {PR_DEBIAN_MODULE, PR_DEBIAN_OPEN, "nvidia-driver", "libcuda1", "libnvidia-ml1",
					   "nvidia-smi", "nvidia-modprobe", "nvidia-open", "cuda-drivers-390", "cuda-drivers-470",
					   "cuda-drivers-580"};

	for (const struct tn_part *t = tn_parts; t->id; t++)
		for (size_t i = 0; t->any && t->any[i]; i++)
			gt_strv_add(names, t->any[i]);
	for (size_t i = 0; i < GT_ARRAY_SIZE(more); i++)
		gt_strv_add(names, more[i]);
	legacy_names(p, names);
	tn_prov_cuda_names(names);
	if (p->host->kernel.release.v)
		gt_strv_take(names, gt_xasprintf("linux-headers-%s", p->host->kernel.release.v));
}

/* Returns the driver version in Debian's lists, such as 550.163.01 for "550.163.01-2". NULL: none. */
static char *packaged_driver(const struct tn_prov *p)
{
	const struct tn_offer *o = tn_offer_best(&p->offers, "nvidia-kernel-dkms", TN_SECURITY);

	return o ? gt_xstrndup(o->version, strspn(o->version, "0123456789.")) : NULL;
}

/* ---- simulation ------------------------------------------------------------------------------------------------------- */

static void sizes_from(struct tn_prov *p, struct tn_move *m, const struct tn_offers *offers)
{
	const struct tn_offer *o = tn_offer_exact(offers, m->name, m->version);
	const struct tn_deb *deb = tn_dpkg_find(&p->dpkg, m->name);

	if (!o)
		return;
	m->download_bytes = o->download_bytes;
	m->disk_bytes = (int64_t)o->installed_bytes - (m->old && deb ? (int64_t)deb->installed_bytes : 0);
	m->from = *o->suite ? gt_xasprintf("%s/%s", o->suite, o->component) : gt_xstrdup("another repository");
}

/* Simulates the installation of these packages with apt. */
static int ask_apt(const struct gt_strv *wanted, struct tn_apt_result *ret, struct gt_err *err)
{
	static const char *const args[] = {"-s", "install", NULL};
	gt_autofree char *text = NULL;
	int r = tn_apt_get(args, wanted, 120, &text, err);

	if (!r)
		tn_apt_parse(text, ret);
	return r;
}

/*
 * Simulates exactly what apply runs: name=version, ordered by name. If a dependency has alternatives, apt can choose
 * other packages for names without a version. For dkms, which needs "gcc | c-compiler", it keeps the kernel's gcc-12,
 * but installs gcc
 * for name=version.
 */
static int simulate(struct tn_prov *p)
{
	struct tn_apt_result result;
	gt_auto_strv names = {0}, exact = {0};
	struct tn_offers offers;
	struct gt_err why = {0};
	int r;

	gt_strv_add_all(&names, &p->requested);
	gt_strv_sort_bytes(&names);
	r = tn_apt_candidates(&names, &exact, &why);
	gt_strv_clear(&names);
	if (!r)
		r = ask_apt(&exact, &result, &why);
	if (r < 0) {
		gt_autofree char *what = gt_xasprintf("apt cannot install this: %s", why.msg);

		tn_prov_refuse(p, "apt", what, "run apt-get install -s with the packages above for details; usual reasons are "
					       "held packages and pins");
		return r;
	}
	p->move = result.move;
	p->n_move = result.n_move;
	p->removals = result.removals;
	p->simulated = true;
	for (size_t i = 0; i < p->n_move; i++)
		gt_strv_add(&names, p->move[i].name);
	tn_offers_load(p->fs, p->dpkg.arch, &names, &offers);
	for (size_t i = 0; i < p->n_move; i++)
		sizes_from(p, &p->move[i], &offers);
	tn_offers_clear(&offers);
	return 0;
}

/* Without a simulation: lists the requested packages, but not their dependencies. */
static void without_simulation(struct tn_prov *p)
{
	for (size_t i = 0; i < p->requested.n; i++) {
		const struct tn_offer *o = tn_offer_best(&p->offers, p->requested.v[i], TN_NVIDIA);
		struct tn_move *m;

		if (!o)
			continue;
		p->move = gt_xrealloc(p->move, (p->n_move + 1) * sizeof(*p->move));
		m = &p->move[p->n_move++];
		*m = (struct tn_move){.name = gt_xstrdup(o->name), .arch = gt_xstrdup(o->arch), .version = gt_xstrdup(o->version)};
		sizes_from(p, m, &p->offers);
	}
}

/* ---- notes ------------------------------------------------------------------------------------------------------------ */

static void notes(struct tn_prov *p)
{
	size_t upgrades = 0;

	for (size_t i = 0; i < p->n_move; i++)
		upgrades += p->move[i].old != NULL;
	if (upgrades)
		tn_prov_note(p, "packages that apt upgrades keep the new version when this is reverted");
	if (p->requested.n && !p->simulated && !gt_fs_is_live(p->fs))
		tn_prov_note(p, "not simulated, because this host is not live: dependencies of the packages are not included");
	if (gt_fs_is_live(p->fs) && p->offers.newest && time(NULL) - p->offers.newest > OLD_LISTS_S)
		tn_prov_note(p, "apt's lists are older than two weeks: run apt-get update first");
	if (tn_prov_wants_driver(p) && !p->opts.no_hold)
		tn_prov_note(p, "the driver's packages are put on hold, because an upgrade under a loaded module breaks NVML "
				"until a reboot. Install security updates by hand: apt-mark unhold, apt upgrade, reboot. With "
				"--no-hold apt upgrades them");
	if (tn_prov_wants_driver(p) && pr_or(p->host->secure_boot.on, 0) == 1 && !p->opts.gpu)
		tn_prov_note(p, "Secure Boot is on and DKMS's key is enrolled, so the module will be signed with it");
}

/* ---- the document ----------------------------------------------------------------------------------------------------- */

static const char *const status_names[] = {"present", "lacking", "not-here", "by-choice", "skipped", "unavailable",
					   "unknown"};

static json_t *names_array(const struct gt_strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(a, gt_json_str(v->v[i]));
	return a;
}

static json_t *parts_array(const struct tn_prov *p)
{
	json_t *a = json_array();

	for (size_t i = 0; tn_parts[i].id && !tn_prov_is_other(p->host); i++) /* the parts are Debian's packages */
		json_array_append_new(a, json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "id", tn_parts[i].id, "summary",
						   tn_parts[i].summary, "status", status_names[p->status[i]], "why",
						   tn_part_why(&tn_parts[i], p->host), "reason",
						   gt_json_str(p->reason[i]), "packages",
						   names_array(&p->packages[i])));
	return a;
}

static json_t *packages_array(const struct tn_prov *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->n_move; i++) {
		const struct tn_move *m = &p->move[i];

		json_array_append_new(a, json_pack("{s:s, s:s, s:s, s:o, s:b, s:o, s:I, s:I}", "name", m->name, "arch", m->arch,
						   "version", m->version, "old", gt_json_str(m->old), "requested",
						   gt_strv_has(&p->requested, m->name), "from", gt_json_str(m->from),
						   "download_bytes", (json_int_t)m->download_bytes, "disk_bytes",
						   (json_int_t)m->disk_bytes));
	}
	return a;
}

/* Module and libraries must have the same version, so new ones are held together. */
bool tn_is_driver_package(const char *name)
{
	return pr_is_driver_package(name) || !strcmp(name, "nvidia-smi") || gt_starts_with(name, "firmware-nvidia-gsp");
}

static void to_hold(const struct tn_prov *p, struct gt_strv *ret)
{
	for (size_t i = 0; !p->opts.no_hold && i < p->n_move; i++)
		if (!p->move[i].old && tn_is_driver_package(p->move[i].name))
			gt_strv_add(ret, p->move[i].name);
}

static json_t *command(const char *line)
{
	return gt_json_str(line);
}

static json_t *commands_array(const struct tn_prov *p, const struct gt_strv *hold, bool reboot)
{
	json_t *a = json_array();
	gt_auto_buf install = {0}, mark = {0};

	if (!p->n_move)
		return a;
	gt_buf_puts(&install, "apt-get install --no-install-recommends");
	for (size_t i = 0; i < p->n_move; i++)
		if (gt_strv_has(&p->requested, p->move[i].name))
			gt_buf_printf(&install, " %s=%s", p->move[i].name, p->move[i].version);
	json_array_append_new(a, command(install.s));
	if (hold->n) {
		gt_buf_puts(&mark, "apt-mark hold");
		for (size_t i = 0; i < hold->n; i++)
			gt_buf_printf(&mark, " %s", hold->v[i]);
		json_array_append_new(a, command(mark.s));
	}
	if (reboot)
		json_array_append_new(a, command("reboot"));
	return a;
}

/* Returns the commands of another distribution, which gputune does not run there. */
static json_t *other_commands(const struct tn_prov *p)
{
	static const char packages[] = "@{openblas}\n@{tcmalloc}\n@{training-tools}";
	gt_autofree char *lines = pr_for_distro(p->host, packages, "", "# ");
	gt_auto_json *driver = pr_driver_step(&p->context, &p->driver);
	gt_autofree char *all = gt_xasprintf("%s\n%s", lines, driver ? gt_json_get_str(driver, "lines", "") : "");
	gt_auto_strv commands = {0};

	gt_each_line(line, all)
		if (!gt_strv_has(&commands, line)) /* two steps may need the same repository */
			gt_strv_add(&commands, line);
	return names_array(&commands);
}

static json_t *options_object(const struct tn_provision_opts *o)
{
	static const struct gt_strv none;

	return json_pack("{s:o, s:o, s:I, s:b}", "with", names_array(o->with ? o->with : &none), "skip",
			 names_array(o->skip ? o->skip : &none), "gpu", (json_int_t)o->gpu, "no_hold", o->no_hold);
}

static void totals(const struct tn_prov *p, json_int_t *download, json_int_t *disk)
{
	*download = *disk = 0;
	for (size_t i = 0; i < p->n_move; i++) {
		*download += (json_int_t)p->move[i].download_bytes;
		*disk += p->move[i].disk_bytes;
	}
}

static json_t *document(struct tn_prov *p, json_t *wheels)
{
	const struct pr_host *h = p->host;
	json_int_t download, disk;
	gt_auto_strv hold = {0};
	bool reboot = tn_prov_wants_driver(p) && p->n_move;
	json_t *doc;

	to_hold(p, &hold);
	totals(p, &download, &disk);
	doc = json_pack("{s:s, s:{s:o, s:o, s:s}, s:o, s:o}", "schema", TN_PROVISION_SCHEMA, "basis", "host",
			gt_json_str(h->identity), "kernel", gt_json_str(h->kernel.release.v), "dpkg", p->dpkg.digest, "options",
			options_object(&p->opts), "parts", parts_array(p));
	json_object_set_new(doc, "refusals", json_incref(p->refusals));
	json_object_set_new(doc, "requested", names_array(&p->requested));
	json_object_set_new(doc, "packages", packages_array(p));
	json_object_set_new(doc, "simulated", json_boolean(p->simulated));
	json_object_set_new(doc, "download_bytes", json_integer(download));
	json_object_set_new(doc, "disk_bytes", json_integer(disk));
	json_object_set_new(doc, "hold", names_array(&hold));
	json_object_set_new(doc, "reboot", json_boolean(reboot));
	json_object_set_new(doc, "commands", tn_prov_is_other(h) ? other_commands(p) : commands_array(p, &hold, reboot));
	json_object_set_new(doc, "wheels", wheels);
	json_object_set_new(doc, "notes", json_incref(p->notes));
	return doc;
}

int tn_provision_plan(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_provision_opts *opts, json_t **ret,
		      struct gt_err *err)
{
	struct tn_prov p = {.fs = fs, .host = host, .context = {.host = host, .fs = fs}, .opts = *opts,
			    .refusals = json_array(), .notes = json_array()};
	json_t *wheels = json_array();
	gt_autofree char *packaged = NULL;
	gt_auto_strv names = {0};
	int r;

	tn_dpkg_load(fs, host, &p.dpkg);
	tn_sources_load(fs, &p.sources);
	names_of_parts(&p, &names);
	tn_offers_load(fs, p.dpkg.arch, &names, &p.offers);
	packaged = packaged_driver(&p);
	pr_driver_need(&p.context, packaged, opts->gpu, &p.driver);
	tn_prov_parts(&p);
	tn_prov_refusals(&p, false);
	if (tn_prov_is_other(host))
		gt_strv_clear(&p.requested);
	if (p.requested.n && !json_array_size(p.refusals) && gt_fs_is_live(fs))
		simulate(&p);
	else if (!gt_fs_is_live(fs))
		without_simulation(&p);
	if (p.simulated)
		tn_prov_refusals(&p, true);
	if (!tn_prov_is_other(host))
		notes(&p);
	r = pr_wheel_steps(&p.context, &p.driver, false, wheels, err);
	if (r < 0)
		json_decref(wheels);
	else
		*ret = document(&p, wheels);
	clear(&p);
	return r;
}
