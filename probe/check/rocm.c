/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's wheels for ROCm, and whether the installed PyTorch uses the AMD GPUs. */
#include <string.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/check/list.h"
#include "probe/check/rocm.h"
#include "probe/host/python.h"

const struct pr_amd_gpu *pr_amd_with_gfx(const struct pr_host *h)
{
	for (size_t i = 0; i < h->amd.n; i++)
		if (h->amd.gpu[i].gfx.v)
			return &h->amd.gpu[i];
	return NULL;
}

const char *pr_first_gfx(const struct pr_host *h)
{
	const struct pr_amd_gpu *g = pr_amd_with_gfx(h);

	return g ? g->gfx.v : NULL;
}

/* Rows of torch_rocm_arch.tsv next to a release: 1 contains the architecture, 0 does not, -1 no such row. */
struct neighbours {
	const char *torch, *gfx;
	int exact, before, after;
};

static int compare_row(void *arg, const char *key, const char *value)
{
	struct neighbours *n = arg;
	int order = gt_version_cmp(key, n->torch), has = gt_word_in(value, ",", n->gfx);

	if (!order)
		n->exact = has;
	else if (order < 0)
		n->before = has;
	else if (n->after < 0)
		n->after = has;
	return 0;
}

enum pr_rocm_code pr_rocm_code(struct gt_fsroot *fs, const char *torch, const char *gfx)
{
	struct neighbours n = { .torch = torch, .gfx = gfx, .exact = -1, .before = -1, .after = -1 };

	if (pr_compat_each(fs, &pr_torch_rocm_arch, compare_row, &n, NULL) < 0)
		return PR_ROCM_UNKNOWN;
	if (n.exact >= 0)
		return n.exact ? PR_ROCM_YES : PR_ROCM_NO;
	if (n.before == 1 && n.after) /* a later row that lacks it would end its support */
		return PR_ROCM_YES;
	return n.before <= 0 && !n.after ? PR_ROCM_NO : PR_ROCM_UNKNOWN;
}

struct newest {
	struct gt_fsroot *fs;
	const char *gfx;
	char *torch, *rocm;
};

static int take_newer(void *arg, const char *key, const char *value)
{
	struct newest *n = arg;
	const char *comma = strrchr(value, ',');

	if ((n->torch && gt_version_cmp(key, n->torch) <= 0) || pr_rocm_code(n->fs, key, n->gfx) != PR_ROCM_YES)
		return 0;
	free(n->torch);
	free(n->rocm);
	n->torch = gt_xstrdup(key);
	n->rocm = gt_xstrdup(comma ? comma + 1 : value);
	return 0;
}

char *pr_newest_rocm_torch(struct gt_fsroot *fs, const char *gfx, char **ret_rocm)
{
	struct newest n = { .fs = fs, .gfx = gfx };

	pr_compat_each(fs, &pr_torch_rocm, take_newer, &n, NULL);
	*ret_rocm = n.rocm;
	return n.torch;
}

/* Judges one PyTorch on a host whose only GPUs are of AMD. Returns true if it set the result. */
static bool judge_torch(const struct pr_context *c, const struct pr_pyenv *e, const struct pr_dist *d, struct pr_finding *f)
{
	const char *gfx = pr_first_gfx(c->host);
	gt_autofree char *release = pr_release_of(d->version), *rocm = NULL, *torch = pr_newest_rocm_torch(c->fs, gfx, &rocm);
	bool built = strstr(d->version, "+rocm");

	if (!built && (e->torch_cuda || strstr(d->version, "+cpu"))) {
		pr_set(f, PR_FAIL, "PyTorch %s in %s is built for %s, so it does not use the AMD GPUs", d->version, e->prefix,
		       e->torch_cuda ? "CUDA" : "CPUs");
		if (torch)
			pr_remedy(f, "  %s/bin/python3 -m pip install --force-reinstall 'torch==%s.*' --index-url "
				     "https://download.pytorch.org/whl/rocm%s", e->prefix, torch, rocm);
		return true;
	}
	if (built && pr_rocm_code(c->fs, release, gfx) == PR_ROCM_NO) {
		pr_set(f, PR_FAIL, "PyTorch %s in %s contains no code for the AMD GPUs (%s)", d->version, e->prefix, gfx);
		if (torch)
			pr_remedy(f, "  %s/bin/python3 -m pip install --force-reinstall 'torch==%s.*' --index-url "
				     "https://download.pytorch.org/whl/rocm%s", e->prefix, torch, rocm);
		return true;
	}
	return false;
}

static void torch_rocm(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t found = 0, unknown = 0;

	if (!pr_first_gfx(h) || h->n_gpu) {
		pr_set(f, PR_SKIP, h->n_gpu ? "the host has NVIDIA GPUs" : "no AMD GPU that KFD lists");
		return;
	}
	for (size_t i = 0; i < h->n_pyenv; i++) {
		const struct pr_pyenv *e = &h->pyenv[i];
		const struct pr_dist *d = pr_pyenv_dist(e, "torch");
		gt_autofree char *release = d ? pr_release_of(d->version) : NULL;

		if (!d)
			continue;
		found++;
		unknown += !strstr(d->version, "+rocm") || pr_rocm_code(c->fs, release, pr_first_gfx(h)) == PR_ROCM_UNKNOWN;
		if (judge_torch(c, e, d, f))
			return;
	}
	if (unknown)
		pr_set(f, PR_NOT_KNOWN, "it is unknown whether the installed PyTorch contains code for the AMD GPUs (%s)",
		       pr_first_gfx(h));
	else
		pr_set(f, found ? PR_PASS : PR_SKIP, found ? "PyTorch is built for ROCm and for these GPUs" :
				"PyTorch is not installed");
}
const struct pr_check pr_check_torch_rocm = {
	.id = "python.rocm",
	.title = "PyTorch does not use the AMD GPUs",
	.after = (const char *const[]){ "amd.driver", NULL },
	.story = "pip's default PyTorch is built for CUDA and finds no AMD GPU. The builds for ROCm are in indexes of their "
			"own, and "
		 "each contains code for a list of GPUs.",
	.messages = "RuntimeError: No HIP GPUs are available\nHIP error: invalid device function\nhipErrorNoBinaryForGpu: "
			"Unable to find "
		    "code object for all current devices!",
	.run = torch_rocm,
};
