/* SPDX-License-Identifier: Apache-2.0 */
/* `gpuprobe can torch==2.9+rocm6.4`: PyTorch's wheels for ROCm. */
#include <string.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/advice/can.h"
#include "probe/check/rocm.h"

void pr_can_rocm(struct pr_question *q, const char *release, const char *rocm)
{
	const struct pr_host *h = q->c->host;
	const char *gfx = pr_first_gfx(h);
	gt_autofree char *builds = NULL;
	enum pr_answer code;
	int r = pr_compat_get(q->c->fs, &pr_torch_rocm, release, &builds, NULL);

	if (r <= 0)
		pr_can_reason(q, PR_OPEN, "torch_rocm.tsv", "PyTorch %s with ROCm is not in this program's table", release);
	else if (gt_word_in(builds, ",", rocm))
		pr_can_reason(q, PR_YES, "torch_rocm.tsv", "PyTorch %s has wheels for ROCm %s", release, rocm);
	else
		pr_can_reason(q, PR_OPEN, "torch_rocm.tsv", "the table has wheels of PyTorch %s for ROCm %s, not %s", release,
				builds,
			      rocm);
	if (h->kernel.arch.v && strcmp(h->kernel.arch.v, "x86_64"))
		pr_can_reason(q, PR_NO, "PyTorch", "its ROCm wheels are for x86-64; this host is %s", h->kernel.arch.v);
	if (gfx) {
		code = (enum pr_answer)pr_rocm_code(q->c->fs, release, gfx);
		pr_can_reason(q, code, "torch_rocm_arch.tsv", code == PR_YES ? "it contains code for %s of GPU %s" :
							      code == PR_NO  ? "it contains no code for %s of GPU %s" :
								"it is unknown whether it contains code for %s of GPU %s",
			      gfx, pr_amd_with_gfx(h)->pci->address);
	} else if (h->amd.n) {
		pr_can_reason(q, PR_NO, "this host", "KFD lists no AMD GPU that it may use");
	} else {
		pr_can_reason(q, PR_NO, "this host", "ROCm needs an AMD GPU, and this host has none");
	}
	if (gfx && q->worst == PR_NO && !q->instead) {
		gt_autofree char *newest = NULL, *torch = pr_newest_rocm_torch(q->c->fs, gfx, &newest);

		q->instead = torch ? gt_xasprintf("torch==%s+rocm%s", torch, newest) : NULL;
	}
	pr_can_system(q, release);
}

/* Suggests the ROCm build of the release instead of one for CUDA. */
void pr_can_rocm_instead(struct pr_question *q, const char *release)
{
	gt_autofree char *builds = NULL;

	if (q->instead || !pr_first_gfx(q->c->host) || pr_compat_get(q->c->fs, &pr_torch_rocm, release, &builds, NULL) <= 0 ||
	    pr_rocm_code(q->c->fs, release, pr_first_gfx(q->c->host)) == PR_ROCM_NO)
		return;
	q->instead = gt_xasprintf("torch==%s+rocm%s", release, strrchr(builds, ',') ? strrchr(builds, ',') + 1 : builds);
}
