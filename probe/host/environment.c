/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables that affect the GPU stack. On a captured host they are the fact "environment". */
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/host/reading.h"

static const char *const names[] = {
	"CONDA_PREFIX",
	"CUDA_HOME",
	"CUDA_LAUNCH_BLOCKING",
	"CUDA_MODULE_LOADING",
	"CUDA_VISIBLE_DEVICES",
	"HIP_VISIBLE_DEVICES",
	"LD_LIBRARY_PATH",
	"LD_PRELOAD",
	"NCCL_IB_DISABLE",
	"NCCL_NET_GDR_LEVEL",
	"NCCL_NET_PLUGIN",
	"NCCL_P2P_DISABLE",
	"NCCL_SHM_DISABLE",
	"NCCL_SOCKET_IFNAME",
	"NCCL_TOPO_FILE",
	"NVIDIA_DISABLE_REQUIRE",
	"NVIDIA_DRIVER_CAPABILITIES",
	"NVIDIA_REQUIRE_CUDA",
	"NVIDIA_VISIBLE_DEVICES",
	"OMP_NUM_THREADS",
	"OPENBLAS_CORETYPE",
	"ROCR_VISIBLE_DEVICES",
	"VIRTUAL_ENV",
};

static void take(struct pr_host *h, const char *name, const char *value)
{
	gt_strv_take(&h->environment, gt_xasprintf("%s=%s", name, value));
}

static void take_fact(struct pr_host *h, char *text)
{
	gt_each_line(line, text) {
		char *value = strchr(line, '=');

		if (!value)
			continue;
		*value++ = '\0';
		for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
			if (!strcmp(names[i], line))
				take(h, line, value);
	}
}

void pr_discover_environment(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *text = NULL;

	if (!h->live) {
		if (gt_fs_fact(fs, "environment", &text, NULL) >= 0)
			take_fact(h, text);
		return;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && !strchr(value, '\n'))
			take(h, names[i], value);
	}
}

const char *pr_getenv(const struct pr_host *h, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < h->environment.n; i++)
		if (!strncmp(h->environment.v[i], name, n) && h->environment.v[i][n] == '=')
			return h->environment.v[i] + n + 1;
	return NULL;
}

char *pr_environment_fact(const struct pr_host *h)
{
	struct gt_buf b = {0};

	for (size_t i = 0; i < h->environment.n; i++)
		gt_buf_printf(&b, "%s\n", h->environment.v[i]);
	return b.len ? gt_buf_take(&b) : NULL;
}
