/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of `gputune run`. The CPUs come first, because threads and memory depend on them. */
#include <string.h>
#include "tune/launch/settings.h"

const struct tn_launch_setting *const tn_launch_settings[] = {
	&tn_launch_affinity,
	&tn_launch_mempolicy,
	&tn_launch_files,
	&tn_launch_omp_threads,
	&tn_launch_omp_bind,
	&tn_launch_blas,
	&tn_launch_kernels, /* for the BLAS selected by tn_launch_blas */
	&tn_launch_omp_spin, /* depends on the BLAS */
	&tn_launch_allocator,
	&tn_launch_malloc,
	&tn_launch_omp_runtime, /* after malloc, which searches LD_PRELOAD for an allocator */
	&tn_launch_cuda_order,
	&tn_launch_cuda_segments,
	&tn_launch_nccl_ifname,
	&tn_launch_leftovers,
	&tn_launch_loader,
	&tn_launch_ranks, /* last in LD_PRELOAD */
	NULL,
};

const struct tn_launch_setting *tn_launch_find(const char *id)
{
	for (size_t i = 0; tn_launch_settings[i]; i++)
		if (!strcmp(tn_launch_settings[i]->id, id))
			return tn_launch_settings[i];
	return NULL;
}
