/* SPDX-License-Identifier: Apache-2.0 */
/* Reads installed packages from dpkg's status file, and from apt's list of automatically installed ones. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/provision/deb.h"

#define EXTENDED_STATES "/var/lib/apt/extended_states"
#define UPDATES_DIR	"/var/lib/dpkg/updates"

struct load {
	struct tn_dpkg *d;
	uint64_t sum;
};

static struct tn_deb *add(struct tn_dpkg *d)
{
	if (!(d->n & (d->n - 1)))
		d->deb = gt_xrealloc(d->deb, GT_MAX(2 * d->n, 1u) * sizeof(*d->deb));
	d->deb[d->n] = (struct tn_deb){0};
	return &d->deb[d->n++];
}

/* Returns "Pre-Depends" and "Depends" as one list. */
static char *depends_of(const char *p)
{
	gt_autofree char *pre = tn_deb_field(p, "Pre-Depends"), *depends = tn_deb_field(p, "Depends");

	if (pre && depends)
		return gt_xasprintf("%s, %s", pre, depends);
	return pre ? gt_take(pre) : gt_take(depends);
}

/* Notes a half-installed package: its state is not one of those at rest, such as "install ok installed". */
static void note_broken(struct tn_dpkg *d, const char *name, const char *want, const char *flag, const char *state)
{
	if (d->broken || (!strcmp(flag, "ok") && (!strcmp(state, "installed") || !strcmp(state, "config-files") ||
						  !strcmp(state, "not-installed"))))
		return;
	d->broken = gt_xasprintf("package %s is %s (%s %s)", name, state, want, flag);
}

static int take_status(void *arg, char *p)
{
	struct load *l = arg;
	gt_autofree char *name = tn_deb_field(p, "Package"), *version = tn_deb_field(p, "Version"),
			 *status = tn_deb_field(p, "Status"), *arch = NULL, *size = NULL, *mark = NULL;
	char want[32], flag[32], state[32];
	uint64_t kib = 0;
	struct tn_deb *deb;

	if (!name || !status || !tn_deb_is_name(name) || sscanf(status, "%31s %31s %31s", want, flag, state) != 3)
		return 0;
	note_broken(l->d, name, want, flag, state);
	if (!version || !tn_deb_is_version(version) || !strcmp(state, "not-installed"))
		return 0;
	arch = tn_deb_field(p, "Architecture");
	size = tn_deb_field(p, "Installed-Size");
	deb = add(l->d);
	deb->name = gt_take(name);
	deb->arch = arch ? gt_take(arch) : gt_xstrdup("");
	deb->version = gt_take(version);
	deb->depends = depends_of(p);
	deb->provides = tn_deb_field(p, "Provides");
	deb->installed = strcmp(state, "config-files") != 0;
	deb->held = !strcmp(want, "hold");
	if (size && !gt_parse_u64(size, &kib) && kib < UINT64_MAX / 1024)
		deb->installed_bytes = kib * 1024;
	mark = gt_xasprintf("%s %s %s %s", deb->name, deb->arch, deb->version, status);
	l->sum += gt_hash64(mark, strlen(mark), 0);
	return 0;
}

static int take_extended(void *arg, char *p)
{
	struct tn_dpkg *d = arg;
	gt_autofree char *name = tn_deb_field(p, "Package"), *automatic = tn_deb_field(p, "Auto-Installed"),
			 *arch = tn_deb_field(p, "Architecture");

	for (size_t i = 0; name && gt_streq(automatic, "1") && i < d->n; i++)
		if (!strcmp(d->deb[i].name, name) && (!arch || !strcmp(d->deb[i].arch, arch) || !strcmp(d->deb[i].arch, "all")))
			d->deb[i].automatic = true;
	return 0;
}

/* Notes files that an interrupted dpkg left. */
static void note_updates(struct gt_fsroot *fs, struct tn_dpkg *d)
{
	gt_auto_strv names = {0};

	if (!d->broken && gt_fs_list(fs, UPDATES_DIR, &names) >= 0 && names.n)
		d->broken = gt_xasprintf("unfinished work is left in %s", UPDATES_DIR);
}

static void from_host(const struct pr_host *h, struct load *l)
{
	for (size_t i = 0; i < h->n_package; i++) {
		struct tn_deb *deb = add(l->d);
		gt_autofree char *mark = gt_xasprintf("%s %s", h->package[i].name, h->package[i].version);

		*deb = (struct tn_deb){.name = gt_xstrdup(h->package[i].name), .version = gt_xstrdup(h->package[i].version),
				       .arch = gt_xstrdup(""), .installed = true, .held = h->package[i].held};
		l->sum += gt_hash64(mark, strlen(mark), deb->held);
	}
	l->d->state = h->packages;
}

void tn_dpkg_load(struct gt_fsroot *fs, const struct pr_host *host, struct tn_dpkg *ret)
{
	struct load l = {.d = ret};
	const struct tn_deb *dpkg;
	int r;

	*ret = (struct tn_dpkg){0};
	r = tn_deb_paragraphs(fs, PR_DPKG_STATUS, take_status, &l);
	ret->state = pr_state_of(r);
	if (r == -ENOENT && host && !gt_fs_is_live(fs))
		from_host(host, &l);
	tn_deb_paragraphs(fs, EXTENDED_STATES, take_extended, ret);
	note_updates(fs, ret);
	dpkg = tn_dpkg_find(ret, "dpkg");
	ret->arch = gt_xstrdup(dpkg ? dpkg->arch : "");
	snprintf(ret->digest, sizeof(ret->digest), "%016llx", (unsigned long long)l.sum);
}

void tn_dpkg_clear(struct tn_dpkg *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->deb[i].name);
		free(d->deb[i].arch);
		free(d->deb[i].version);
		free(d->deb[i].depends);
		free(d->deb[i].provides);
	}
	free(d->deb);
	free(d->arch);
	free(d->broken);
	*d = (struct tn_dpkg){0};
}

/* If two architectures have the name, the host's own counts. */
const struct tn_deb *tn_dpkg_find(const struct tn_dpkg *d, const char *name)
{
	const struct tn_deb *found = NULL;

	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->deb[i].name, name) &&
		    (!found || (d->arch && (!strcmp(d->deb[i].arch, d->arch) || !strcmp(d->deb[i].arch, "all")))))
			found = &d->deb[i];
	return found;
}

bool tn_dpkg_has(const struct tn_dpkg *d, const char *name)
{
	const struct tn_deb *deb = tn_dpkg_find(d, name);

	return deb && deb->installed;
}
