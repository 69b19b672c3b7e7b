/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "probe/host/machine_fingerprint.h"
#include "probe/host/visible.h"

static bool is_usable(const struct pr_gpu *g)
{
	return !g->inaccessible && pr_on_bus(g);
}

size_t pr_usable_gpus(const struct pr_host *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_gpu; i++)
		n += is_usable(&h->gpu[i]);
	return n;
}

const struct pr_gpu *pr_usable_gpu(const struct pr_host *h, size_t nth)
{
	for (size_t i = 0; i < h->n_gpu; i++)
		if (is_usable(&h->gpu[i]) && nth-- == 0)
			return &h->gpu[i];
	return NULL;
}

bool pr_one_model(const struct pr_host *h)
{
	const struct pr_gpu *first = pr_usable_gpu(h, 0), *gpu;

	for (size_t i = 1; (gpu = pr_usable_gpu(h, i)); i++)
		if (gpu->pci->device != first->pci->device)
			return false;
	return true;
}

void pr_visible(struct gt_fsroot *fs, const struct pr_host *h, const char *list, struct gt_visible *ret)
{
	size_t usable = pr_usable_gpus(h), n = GT_MAX(usable, (size_t)GT_MIN(GT_MAX(pr_or(h->nvml.count, 0), 0), 256));
	gt_autofree struct gt_gpu_name *gpus = gt_xcalloc(n + 1, sizeof(*gpus));

	for (size_t i = 0; i < n; i++) {
		const struct pr_gpu *gpu = pr_usable_gpu(h, i);

		gpus[i].mig = gpu ? (int)pr_or(gpu->mig, -1) : -1;
		gpus[i].uuid = gpu && fs && list && strstr(list, "GPU-") ? pr_gpu_uuid(fs, gpu) : NULL;
	}
	gt_visible_parse(list, gpus, n, ret);
	for (size_t i = 0; i < n; i++)
		free((char *)gpus[i].uuid);
}
