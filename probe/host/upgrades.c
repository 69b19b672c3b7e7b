/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts the changes by the next boot and the next upgrade. Lists each installed kernel with its module and headers, and
 * newer packages in apt's lists on disk. Runs neither apt nor dkms. Reads only the lists of NVIDIA and of non-free, because
 * Debian's main list has fifty megabytes and no driver.
 */
#include <ctype.h>
#include <string.h>
#include "lib/file.h"
#include "probe/host/reading.h"

#define LISTS        "/var/lib/apt/lists"
#define LONGEST_LIST (16u << 20)

/* ---- versions, as dpkg orders them (deb-version(7)) ------------------------------------------------------------- */

static int order_of(char c)
{
	return c == '~' ? -1 : !c || isdigit((unsigned char)c) ? 0 : isalpha((unsigned char)c) ? c : c + 256;
}

static int compare_part(const char *a, size_t na, const char *b, size_t nb)
{
	const char *ea = a + na, *eb = b + nb;

	while (a < ea || b < eb) {
		unsigned long long x = 0, y = 0;

		while ((a < ea && !isdigit((unsigned char)*a)) || (b < eb && !isdigit((unsigned char)*b))) {
			int oa = order_of(a < ea ? *a : '\0'), ob = order_of(b < eb ? *b : '\0');

			if (oa != ob)
				return oa - ob;
			a += a < ea;
			b += b < eb;
		}
		for (; a < ea && isdigit((unsigned char)*a); a++)
			x = x * 10 + (unsigned)(*a - '0');
		for (; b < eb && isdigit((unsigned char)*b); b++)
			y = y * 10 + (unsigned)(*b - '0');
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

/* Splits a version into epoch, upstream version and revision. */
static void parts(const char *v, const char *at[3], size_t n[3])
{
	const char *colon = strchr(v, ':'), *dash;

	at[0] = colon ? v : "0";
	n[0] = colon ? (size_t)(colon - v) : 1;
	at[1] = colon ? colon + 1 : v;
	dash = strrchr(at[1], '-');
	n[1] = dash ? (size_t)(dash - at[1]) : strlen(at[1]);
	at[2] = dash ? dash + 1 : "0";
	n[2] = strlen(at[2]);
}

int pr_deb_version_cmp(const char *a, const char *b)
{
	const char *x[3], *y[3];
	size_t nx[3], ny[3];
	int r = 0;

	parts(a, x, nx);
	parts(b, y, ny);
	for (int i = 0; i < 3 && !r; i++)
		r = compare_part(x[i], nx[i], y[i], ny[i]);
	return r;
}

/* ---- apt's lists ---------------------------------------------------------------------------------------------- */

bool pr_is_driver_package(const char *name)
{
	static const char *const prefixes[] = {"nvidia-kernel-", "nvidia-open",   "nvidia-driver", "nvidia-tesla-",
					       "libcuda1",       "libnvidia-ml1", "cuda-drivers",  "libnvidia-tesla-"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(prefixes); i++)
		if (gt_starts_with(name, prefixes[i]))
			return true;
	return false;
}

static bool is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("+-.:~_", s[i]))
			return false;
	return n > 0 && n < 100;
}

/* Checks every version that the list has of the package. Within a paragraph, Version follows Package. */
static void find_candidate(struct pr_host *h, struct pr_package *p, const char *list)
{
	gt_autofree char *key = gt_xasprintf("\nPackage: %s\n", p->name);

	for (const char *at = gt_starts_with(list, key + 1) ? list : strstr(list, key); at; at = strstr(at + 1, key)) {
		const char *end = strstr(at + 1, "\n\n"), *version = strstr(at + 1, "\nVersion: ");
		gt_autofree char *v = NULL;
		size_t n;

		if (!version || (end && version > end))
			continue;
		version += strlen("\nVersion: ");
		n = strcspn(version, "\n");
		v = gt_xstrndup(version, n);
		if (is_plain(v, n) && pr_deb_version_cmp(v, p->candidate ? p->candidate : p->version) > 0)
			p->candidate = pr_own(h, gt_take(v));
	}
}

void pr_discover_upgrades(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_strv names = {0};
	bool any = false;

	for (size_t i = 0; i < h->n_package; i++)
		any |= pr_is_driver_package(h->package[i].name) && !h->package[i].candidate;
	if (!any || gt_fs_list(fs, LISTS, &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf(LISTS "/%s", names.v[i]), *list = NULL;
		gt_autoclose int fd = -1;

		/* apt does not install from backports by default: they have a lower priority than installed packages */
		if (!gt_ends_with(names.v[i], "_Packages") || strstr(names.v[i], "-backports") ||
		    (!strstr(names.v[i], "non-free_") && !strstr(names.v[i], "nvidia") && !strstr(names.v[i], "cuda")))
			continue;
		fd = gt_fs_open_part(fs, path); /* a capture records the result, not the list */
		if (fd < 0 || gt_read_up_to(fd, LONGEST_LIST, &list, NULL) < 0)
			continue;
		for (size_t k = 0; k < h->n_package; k++)
			if (pr_is_driver_package(h->package[k].name))
				find_candidate(h, &h->package[k], list);
	}
}

/* ---- kernels -------------------------------------------------------------------------------------------------- */

void pr_add_kernel(struct gt_fsroot *fs, struct pr_host *h, const char *release, struct pr_num module)
{
	gt_autofree char *build = gt_xasprintf("/lib/modules/%s/build", release), *tree = NULL, *log = NULL;
	struct pr_kernel k = {.release = pr_keep(h, release), .module = module};

	k.headers = pr_value(gt_fs_exists(fs, build));
	if (h->driver.dkms_source.v) {
		tree = gt_xasprintf("/var/lib/dkms/%s/%s", h->driver.dkms_source.v, release);
		log = gt_xasprintf("/var/lib/dkms/%s/build/make.log", h->driver.dkms_source.v);
		k.dkms = pr_value(gt_fs_exists(fs, tree));
		if (!pr_or(k.dkms, 0) && !pr_or(module, 0) && gt_fs_exists(fs, log))
			k.build_log = pr_own(h, gt_take(log));
	} else {
		k.dkms.state = PR_ABSENT;
	}
	h->kernels = gt_xrealloc(h->kernels, (h->n_kernels + 1) * sizeof(k));
	h->kernels[h->n_kernels++] = k;
}
