/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that are built for a CUDA release: toolkit, cuDNN, NCCL. The driver must support the release, and it must have
 * code for the GPU, by the tables of probe/compat. The available packages are in apt's lists. */
#include <stdio.h>
#include <string.h>
#include "tune/provision/provision.h"

#define MAJOR_FIRST 11
#define MAJOR_LAST  14
#define MINOR_LAST  9

/* Suitable CUDA releases: limited by the driver that is or will be installed, and to those with code for the GPU. */
struct fit {
	char *first, *last; /* NULL: no limit known */
	char *why;	    /* source of the upper limit */
};

static void fit_clear(struct fit *f)
{
	free(f->first);
	free(f->last);
	free(f->why);
}
#define fit_auto __attribute__((cleanup(fit_clear))) struct fit

static struct fit fitting(const struct tn_prov *p)
{
	gt_autofree char *arch = gt_xasprintf("%d", p->driver.kind.arch), *span = NULL;
	const char *comma;
	struct fit f = {0};

	if (p->driver.cuda_driver && pr_compat_max_cuda(p->fs, p->driver.cuda_driver, &f.last, NULL) == 1)
		f.why = gt_xasprintf("driver %s supports CUDA %s", p->driver.cuda_driver, f.last);
	if (!p->driver.known || pr_compat_get(p->fs, &pr_gpu_arch, arch, &span, NULL) != 1 || !(comma = strchr(span, ',')))
		return f;
	f.first = gt_xstrndup(span, (size_t)(comma - span));
	if (!f.last || gt_version_cmp(comma + 1, f.last) < 0) {
		free(f.last);
		free(f.why);
		f.last = gt_xstrdup(comma + 1);
		f.why = strcmp(f.last, "99.99") ? gt_xasprintf("CUDA %s is the last release for this GPU", f.last) :
						  gt_xasprintf("this GPU needs CUDA %s or newer", f.first);
	}
	return f;
}

/* Compares "12.4", or a package version "12.4.131" of that release. */
static bool in(const struct fit *f, const char *cuda)
{
	if (f->first && gt_version_cmp(cuda, f->first) < 0)
		return false;
	return !f->last || gt_version_cmp(cuda, f->last) <= 0 ||
	       (gt_starts_with(cuda, f->last) && cuda[strlen(f->last)] == '.');
}

static bool major_in(const struct fit *f, int major)
{
	gt_autofree char *first = gt_xasprintf("%d.0", major), *last = gt_xasprintf("%d.99", major);

	return (!f->first || gt_version_cmp(last, f->first) >= 0) && (!f->last || gt_version_cmp(first, f->last) <= 0);
}

static char *toolkit_name(int major, int minor)
{
	return gt_xasprintf("cuda-toolkit-%d-%d", major, minor);
}

static char *cudnn_name(int major)
{
	return gt_xasprintf("libcudnn9-cuda-%d", major);
}

void tn_prov_cuda_names(struct gt_strv *names)
{
	static const char *const more[] = {"libcudnn8", "nvidia-cudnn", "nvidia-cuda-toolkit", "libnccl2"};

	for (int major = MAJOR_FIRST; major <= MAJOR_LAST; major++) {
		gt_strv_take(names, cudnn_name(major));
		for (int minor = 0; minor <= MINOR_LAST; minor++)
			gt_strv_take(names, toolkit_name(major, minor));
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(more); i++)
		if (!gt_strv_has(names, more[i]))
			gt_strv_add(names, more[i]);
}

/* ---- toolkit ------------------------------------------------------------------------------------------------------- */

/* Returns NVIDIA's newest suitable toolkit. NULL: none; *ret_others: whether there are unsuitable ones. */
static const struct tn_offer *nvidia_toolkit(const struct tn_prov *p, const struct fit *f, bool *ret_others)
{
	for (int major = MAJOR_LAST; major >= MAJOR_FIRST; major--)
		for (int minor = MINOR_LAST; minor >= 0; minor--) {
			gt_autofree char *name = toolkit_name(major, minor), *cuda = gt_xasprintf("%d.%d", major, minor);
			const struct tn_offer *o = tn_offer_best(&p->offers, name, TN_NVIDIA);

			if (o && in(f, cuda))
				return o;
			*ret_others |= o != NULL;
		}
	return NULL;
}

static bool has_toolkit(const struct tn_prov *p, char **reason)
{
	for (size_t i = 0; i < p->dpkg.n; i++)
		if (p->dpkg.deb[i].installed && (gt_starts_with(p->dpkg.deb[i].name, "cuda-toolkit-1") ||
						 !strcmp(p->dpkg.deb[i].name, "nvidia-cuda-toolkit"))) {
			*reason = gt_xasprintf("%s %s", p->dpkg.deb[i].name, p->dpkg.deb[i].version);
			return true;
		}
	return false;
}

enum tn_part_status tn_prov_toolkit(struct tn_prov *p, struct gt_strv *packages, char **reason)
{
	fit_auto f = fitting(p);
	const struct tn_offer *debian = tn_offer_best(&p->offers, "nvidia-cuda-toolkit", TN_SECURITY), *o;
	gt_autofree char *own = debian ? gt_xstrndup(debian->version, strspn(debian->version, "0123456789.")) : NULL;
	bool others = debian != NULL;

	if (has_toolkit(p, reason))
		return TN_PART_PRESENT;
	o = nvidia_toolkit(p, &f, &others);
	if (!o && own && in(&f, own))
		o = debian;
	if (o) {
		gt_strv_add(packages, o->name);
		*reason = f.why ? gt_xasprintf("%s %s: %s", o->name, o->version, f.why) : NULL;
		return TN_PART_LACKING;
	}
	if (others) {
		*reason = gt_xasprintf("apt's sources have no suitable release: %s", f.why ? f.why : "");
		return TN_PART_ABSENT;
	}
	if (!p->offers.lists && !gt_fs_is_live(p->fs)) {
		*reason = gt_xstrdup("the capture does not contain this");
		return TN_PART_UNKNOWN;
	}
	*reason = gt_xstrdup("no source of apt has one; Debian's component non-free or NVIDIA's repository may. Use only one "
			     "of them, the same as for the driver");
	return TN_PART_ABSENT;
}

/* ---- cuDNN --------------------------------------------------------------------------------------------------------- */

enum tn_part_status tn_prov_cudnn(struct tn_prov *p, struct gt_strv *packages, char **reason)
{
	fit_auto f = fitting(p);
	bool others = false;

	for (int major = MAJOR_LAST; major >= MAJOR_FIRST; major--) {
		gt_autofree char *name = cudnn_name(major);
		bool fits = major_in(&f, major), offered = tn_offer_best(&p->offers, name, TN_NVIDIA);

		if (tn_dpkg_has(&p->dpkg, name)) {
			*reason = fits ? gt_xstrdup(name) : gt_xasprintf("%s, which fails here: %s", name, f.why);
			return TN_PART_PRESENT;
		}
		others |= offered && !fits;
		if (!offered || !fits)
			continue;
		gt_strv_add(packages, name);
		*reason = f.why ? gt_xasprintf("%s: %s", name, f.why) : NULL;
		return TN_PART_LACKING;
	}
	if (tn_dpkg_has(&p->dpkg, "libcudnn8") || tn_dpkg_has(&p->dpkg, "nvidia-cudnn"))
		return TN_PART_PRESENT;
	*reason = others ? gt_xasprintf("apt's sources have no suitable release: %s", f.why) :
			   gt_xstrdup("Debian's nvidia-cudnn downloads NVIDIA's archive during its configuration, which cannot "
				      "be simulated or undone: use the wheels, which contain cuDNN, or add NVIDIA's repository");
	return TN_PART_ABSENT;
}

/* ---- NCCL ---------------------------------------------------------------------------------------------------------- */

/* "2.28.3-1+cuda13.0" is for CUDA 13. Debian's own "2.22.3-1-1" is for the CUDA of Debian's toolkit. The minor release
 * does not matter. */
static bool nccl_fits(const struct tn_offer *o, const struct fit *f)
{
	const char *cuda = strstr(o->version, "+cuda");
	int major;

	return !cuda || sscanf(cuda + strlen("+cuda"), "%4d", &major) != 1 || major_in(f, major);
}

enum tn_part_status tn_prov_nccl(struct tn_prov *p, struct gt_strv *packages, char **reason)
{
	fit_auto f = fitting(p);
	const struct tn_offer *best = tn_offer_best(&p->offers, "libnccl2", TN_NVIDIA), *fits = NULL;
	const struct tn_deb *deb = tn_dpkg_find(&p->dpkg, "libnccl2");

	if (deb && deb->installed) {
		*reason = gt_xasprintf("%s %s", deb->name, deb->version);
		return TN_PART_PRESENT;
	}
	if (best && nccl_fits(best, &f)) {
		gt_strv_add(packages, "libnccl2");
		return TN_PART_LACKING;
	}
	for (size_t i = 0; best && i < p->offers.n; i++) {
		const struct tn_offer *o = &p->offers.offer[i];

		if (!strcmp(o->name, "libnccl2") && nccl_fits(o, &f) &&
		    (!fits || pr_deb_version_cmp(o->version, fits->version) > 0))
			fits = o;
	}
	if (best)
		*reason = gt_xasprintf("apt would install %s, which is for another CUDA: %s%s%s", best->version, f.why,
				       fits ? "; to install it by hand: apt-get install libnccl2=" : "", fits ? fits->version : "");
	else if (!p->offers.lists && !gt_fs_is_live(p->fs))
		*reason = gt_xstrdup("the capture does not contain this");
	else
		*reason = gt_xstrdup("no source of apt has libnccl2; Debian's component contrib may");
	return best || p->offers.lists || gt_fs_is_live(p->fs) ? TN_PART_ABSENT : TN_PART_UNKNOWN;
}
