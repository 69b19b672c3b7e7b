/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses mixtures of packages that break, and hosts on which apt cannot work. Each refusal is a sentence and a remedy. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/check/distro.h"
#include "tune/provision/provision.h"

/* found() returns true for a refusal and puts its sentence and remedy into the two buffers. */
struct rule {
	const char *id;
	bool driver;    /* the rule applies only if the plan installs the driver */
	bool simulated; /* the rule is checked after the simulation */
	bool (*found)(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy);
};

/* ---- package manager --------------------------------------------------------------------------------------------- */

bool tn_prov_is_other(const struct pr_host *h)
{
	const char *family = pr_family(h);

	return family && strcmp(family, "debian");
}

static bool not_debian(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	const char *pretty = p->host->distro.pretty.v;

	if (p->dpkg.state != PR_ABSENT || !gt_fs_is_live(p->fs) || tn_prov_is_other(p->host))
		return false;
	gt_buf_printf(what, "%s has no dpkg: gputune installs Debian packages only", pretty ? pretty : "this host");
	return true;
}

static bool other_distribution(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	const char *pretty = p->host->distro.pretty.v;

	if (!tn_prov_is_other(p->host))
		return false;
	gt_buf_printf(what, "%s is not Debian: gputune lists the commands for it, but does not run them",
		      pretty ? pretty : "this host");
	return true;
}

static bool dpkg_broken(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	if (p->dpkg.state == PR_UNREADABLE || p->dpkg.state == PR_BROKEN)
		gt_buf_printf(what, "dpkg's list of packages cannot be read (%s)", pr_state_name(p->dpkg.state));
	else if (p->dpkg.broken)
		gt_buf_printf(what, "dpkg was interrupted: %s", p->dpkg.broken);
	else
		return false;
	gt_buf_puts(remedy, "dpkg --configure -a && apt-get -f install");
	return true;
}

static bool no_lists(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	if (!gt_fs_is_live(p->fs) || p->dpkg.state != PR_PRESENT)
		return false;
	if (p->offers.unreadable)
		gt_buf_printf(what, "apt's list of available packages cannot be read: %s", p->offers.unreadable);
	else if (!p->sources.n)
		gt_buf_puts(
			what,
			"apt has no source of packages: none is enabled in /etc/apt/sources.list or sources.list.d");
	else if (!p->offers.lists)
		gt_buf_puts(what, "apt has no list of available packages, so nothing can be planned");
	else
		return false;
	gt_buf_puts(remedy, "apt-get update");
	return true;
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static const struct tn_source *source_of(const struct tn_prov *p, enum tn_origin origin)
{
	for (size_t i = 0; i < p->sources.n; i++)
		if (p->sources.source[i].origin == origin)
			return &p->sources.source[i];
	return NULL;
}

/* Adds the required form of each line for a Debian source. A paragraph with several suites has one such line. */
static void lines_with(const struct tn_prov *p, const char *const *components, struct gt_buf *b)
{
	const struct tn_source *printed = NULL;

	for (size_t i = 0; i < p->sources.n; i++) {
		const struct tn_source *s = &p->sources.source[i];
		gt_auto_buf missing = {0};

		if ((s->origin != TN_DEBIAN && s->origin != TN_SECURITY) ||
		    (printed && printed->line == s->line && !strcmp(printed->file, s->file)))
			continue;
		for (size_t k = 0; components[k]; k++)
			if (!tn_source_has(s, components[k]))
				gt_buf_printf(&missing, " %s", components[k]);
		if (!missing.len)
			continue;
		gt_buf_printf(b, "in %s, line %u:\n  %s%s\n", s->file, s->line, s->text, missing.s);
		printed = s;
	}
	gt_buf_puts(b, "apt-get update");
}

static bool components(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	static const char *const since_12[] = {"contrib", "non-free", "non-free-firmware", NULL};
	static const char *const before[] = {"contrib", "non-free", NULL};
	const char *const *need = gt_streq(p->host->distro.version_id.v, "11") ? before : since_12;
	bool none = false;

	if (!p->driver.packages || !p->offers.lists)
		return false;
	for (size_t i = 0; i < p->requested.n; i++)
		none |= !tn_offer_best(&p->offers, p->requested.v[i], TN_NVIDIA) &&
			strncmp(p->requested.v[i], "linux-headers-", 14);
	if (!none)
		return false;
	gt_buf_puts(what, "the driver is in Debian's components contrib, non-free and non-free-firmware, but apt's sources "
			  "lack them");
	lines_with(p, need, remedy);
	return true;
}

/* If two branches are installed, the alternative "nvidia" selects the newest, which does not support this GPU. */
static bool other_branch(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	if (p->driver.state != PR_DRIVER_LEGACY || p->opts.gpu || !tn_dpkg_has(&p->dpkg, "nvidia-alternative"))
		return false;
	gt_buf_printf(what, "Debian's newer driver %s is installed and would remain the loaded one",
		      tn_dpkg_find(&p->dpkg, "nvidia-alternative")->version);
	gt_buf_puts(remedy, "apt-get remove nvidia-alternative, and plan again; or install the older branch next to it and "
			    "select that one: gpuprobe can");
	return true;
}

static bool two_repositories(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	const struct tn_source *nvidia = source_of(p, TN_NVIDIA), *debian = NULL;

	for (size_t i = 0; i < p->sources.n; i++)
		if (p->sources.source[i].origin != TN_NVIDIA && p->sources.source[i].origin != TN_OTHER &&
		    tn_source_has(&p->sources.source[i], "non-free"))
			debian = &p->sources.source[i];
	if (!nvidia || !debian)
		return false;
	gt_buf_printf(
		what,
		"two repositories have a driver, Debian's non-free (%s:%u) and NVIDIA's (%s:%u): packages with equal names and "
		"different versions would be mixed",
		debian->file, debian->line, nvidia->file, nvidia->line);
	gt_buf_printf(remedy, "disable one of the two lines, then apt-get update");
	return true;
}

static bool nvidia_only(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	if (p->driver.state != PR_DRIVER_NVIDIA)
		return false;
	if (p->status[0] == TN_PART_ABSENT) { /* a source has the package, but not for this GPU */
		gt_buf_puts(what, p->reason[0]);
		gt_buf_puts(remedy, "apt-get update, and plan again; or train on the CPU (--skip driver)");
		return true;
	}
	if (source_of(p, TN_NVIDIA))
		return false;
	gt_buf_printf(what,
		      "%s; only NVIDIA's own repository may have one for it, but it is not among apt's sources",
		      p->driver.why);
	gt_buf_puts(remedy, "add NVIDIA's repository (package cuda-keyring of this release) and remove non-free from Debian's "
			    "lines, then apt-get update");
	return true;
}

/* Packages installed from backports must not be older than those of stable. */
static bool old_backports(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	static const char *const names[] = {"nvidia-kernel-dkms", "nvidia-driver", "libcuda1", "libnvidia-ml1"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++) {
		const struct tn_offer *stable = tn_offer_best(&p->offers, names[i], TN_SECURITY);
		const struct tn_deb *here = tn_dpkg_find(&p->dpkg, names[i]);
		const char *bpo = here && here->installed ? strstr(here->version, "~bpo") : NULL;

		for (size_t k = 0; !bpo && k < p->n_move; k++)
			if (!strcmp(p->move[k].name, names[i]))
				bpo = strstr(p->move[k].version, "~bpo") ? p->move[k].version : NULL;
		if (!bpo || !stable)
			continue;
		bpo = here && here->installed ? here->version : bpo;
		if (pr_deb_version_cmp(bpo, stable->version) >= 0)
			continue;
		gt_buf_printf(what,
			      "%s would come from backports in version %s, which is older than stable's %s: the rest of the "
			      "driver would not match",
			      names[i], bpo, stable->version);
		gt_buf_printf(remedy, "apt-get install %s/%s, and remove the pin on backports", names[i],
			      stable->suite);
		return true;
	}
	return false;
}

/* ---- driver ------------------------------------------------------------------------------------------------------ */

static bool no_driver(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	if (p->driver.state != PR_DRIVER_NONE)
		return false;
	gt_buf_puts(what, p->driver.why);
	gt_buf_puts(remedy, "train on the CPU (--skip driver), or remove the GPU");
	return true;
}

static bool rt_kernel(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	if (!p->host->kernel.preempt_rt || p->opts.gpu)
		return false;
	gt_buf_printf(what, "kernel %s is PREEMPT_RT, and NVIDIA's module does not build for it",
		      p->host->kernel.release.v);
	gt_buf_printf(remedy, "apt-get install linux-image-%s, select it at boot, and plan again", pr_deb_arch(p->host));
	return true;
}

static bool run_file(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	bool nvidia = false;

	for (size_t i = 0; i < p->requested.n; i++)
		nvidia |= strstr(p->requested.v[i], "nvidia") || strstr(p->requested.v[i], "cuda");
	if (!nvidia || !gt_fs_exists(p->fs, "/usr/bin/nvidia-uninstall"))
		return false;
	gt_buf_puts(what, "a driver was installed by NVIDIA's .run file (/usr/bin/nvidia-uninstall exists): packages would "
			  "overwrite a part of it");
	gt_buf_puts(remedy, "nvidia-uninstall, reboot, and plan again");
	return true;
}

/* Returns whether DKMS's public key is among the keys enrolled in the firmware's shim. */
static bool key_enrolled(struct tn_prov *p)
{
	static const char *const keys[] = {"/var/lib/dkms/mok.pub", "/var/lib/shim-signed/mok/MOK.der"};
	gt_autofree char *list = NULL;
	size_t n;

	if (gt_fs_read(p->fs, "/sys/firmware/efi/efivars/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23", &list, &n) <
	    0)
		return false;
	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++) {
		gt_autofree char *key = NULL;
		size_t len;

		if (gt_fs_read(p->fs, keys[i], &key, &len) >= 0 && len && memmem(list, n, key, len))
			return true;
	}
	return false;
}

static bool secure_boot(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	if (p->opts.gpu || pr_or(p->host->secure_boot.on, 0) != 1 || pr_or(p->host->secure_boot.shim_off, 0) == 1 ||
	    key_enrolled(p))
		return false;
	gt_buf_puts(what, "Secure Boot is on and DKMS's signing key is not enrolled: the module would be built but not loaded, "
			  "and the installed driver disables nouveau");
	gt_buf_puts(remedy, "apt-get install dkms mokutil openssl && dkms generate_mok\nmokutil --import "
			    "/var/lib/dkms/mok.pub\nreboot; a blue screen requests the password; then plan again. Or switch "
			    "Secure Boot off");
	return true;
}

static bool no_headers(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	const char *release = p->host->kernel.release.v ? p->host->kernel.release.v : "";
	gt_autofree char *own = gt_xasprintf("linux-headers-%s", release);

	if (!p->offers.lists || !gt_strv_has(&p->requested, own) || tn_offer_best(&p->offers, own, TN_OTHER))
		return false;
	gt_buf_printf(what,
		      "no source of apt has %s, the headers of the running kernel, so DKMS cannot build the module",
		      own);
	gt_buf_printf(remedy, "apt-get update, then apt-get install linux-image-%s, boot that kernel, and plan again",
		      pr_deb_arch(p->host));
	return true;
}

/* ---- after the simulation ---------------------------------------------------------------------------------------- */

static void join(struct gt_buf *b, const struct gt_strv *names)
{
	for (size_t i = 0; i < names->n && i < 8; i++)
		gt_buf_printf(b, "%s%s", i ? ", " : "", names->v[i]);
	if (names->n > 8)
		gt_buf_printf(b, " and %zu more", names->n - 8);
}

static bool removes(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	if (!p->removals.n)
		return false;
	gt_buf_puts(what, "apt would remove ");
	join(what, &p->removals);
	gt_buf_puts(what, ", which could not be undone");
	gt_buf_puts(remedy, "remove them by hand if they are not needed, or --skip the part that conflicts");
	return true;
}

static bool held(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	for (size_t i = 0; i < p->n_move; i++) {
		const struct tn_deb *deb = tn_dpkg_find(&p->dpkg, p->move[i].name);

		if (!deb || !deb->installed || !deb->held)
			continue;
		gt_buf_printf(what, "%s is on hold at %s but would have to become %s", deb->name, deb->version,
			      p->move[i].version);
		gt_buf_printf(remedy, "apt-mark unhold %s, if it may change", deb->name);
		return true;
	}
	return false;
}

/* Returns whether the file system of dir lacks the needed bytes. */
static bool lacks_room(struct tn_prov *p, const char *dir, uint64_t need, struct gt_buf *what)
{
	struct statvfs v;
	char have[32], want[32];

	if (gt_fs_statvfs(p->fs, dir, &v) < 0 || (uint64_t)v.f_bavail * v.f_frsize >= need)
		return false;
	gt_format_bytes(have, sizeof(have), (uint64_t)v.f_bavail * v.f_frsize);
	gt_format_bytes(want, sizeof(want), need);
	gt_buf_printf(what, "%s is needed below %s, but only %s is free", want, dir, have);
	return true;
}

static bool no_room(struct tn_prov *p, struct gt_buf *what, struct gt_buf *remedy)
{
	uint64_t download = 0, disk = 0;
	struct statvfs cache, usr;
	bool same;

	for (size_t i = 0; i < p->n_move; i++) {
		download += p->move[i].download_bytes;
		disk += p->move[i].disk_bytes > 0 ? (uint64_t)p->move[i].disk_bytes : 0;
	}
	disk += disk / 10; /* for the module that DKMS builds, and copies of dpkg */
	same = gt_fs_statvfs(p->fs, "/var/cache/apt", &cache) >= 0 && gt_fs_statvfs(p->fs, "/usr", &usr) >= 0 &&
	       cache.f_fsid == usr.f_fsid;
	if (!lacks_room(p, "/usr", disk + (same ? download : 0), what) &&
	    !lacks_room(p, "/var/cache/apt", download, what))
		return false;
	gt_buf_puts(remedy, "free some space (apt-get clean), or --skip a part");
	return true;
}

static const struct rule rules[] = {
	{"not-debian", false, false, not_debian},
	{"other-distribution", false, false, other_distribution},
	{"dpkg-broken", false, false, dpkg_broken},
	{"no-lists", false, false, no_lists},
	{"run-file", false, false, run_file},
	{"no-driver", true, false, no_driver},
	{"rt-kernel", true, false, rt_kernel},
	{"two-repositories", true, false, two_repositories},
	{"other-branch", true, false, other_branch},
	{"nvidia-repository", true, false, nvidia_only},
	{"components", true, false, components},
	{"no-headers", true, false, no_headers},
	{"secure-boot", true, false, secure_boot},
	{"old-backports", false, false, old_backports}, /* installed packages */
	{"old-backports", false, true, old_backports},  /* packages that apt would install */
	{"removes", false, true, removes},
	{"held", false, true, held},
	{"no-room", false, true, no_room},
};

void tn_prov_refuse(struct tn_prov *p, const char *id, const char *what, const char *remedy)
{
	json_array_append_new(p->refusals, json_pack("{s:s, s:o, s:o}", "id", id, "what", gt_json_str(what), "do",
						     gt_json_str(remedy && *remedy ? remedy : NULL)));
}

void tn_prov_note(struct tn_prov *p, const char *note)
{
	json_array_append_new(p->notes, gt_json_str(note));
}

void tn_prov_refusals(struct tn_prov *p, bool simulated)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(rules); i++) {
		gt_auto_buf what = {0}, remedy = {0};

		if (tn_prov_is_other(p->host) && rules[i].found != other_distribution)
			continue; /* the other rules are about apt and Debian's packages */
		if (rules[i].simulated != simulated || (rules[i].driver && !tn_prov_wants_driver(p)))
			continue;
		if (rules[i].found(p, &what, &remedy))
			tn_prov_refuse(p, rules[i].id, what.s, remedy.s);
	}
}
