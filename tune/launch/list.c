/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of `gputune run`. CPUs come first: threads and memory follow from them. */
#include <string.h>
#include "tune/launch/settings.h"

const struct tn_launch_setting *const tn_launch_settings[] = {
	&tn_launch_affinity,
	&tn_launch_mempolicy,
	&tn_launch_files,
	&tn_launch_omp_threads,
	&tn_launch_omp_bind,
	&tn_launch_blas,
	&tn_launch_kernels, /* of the BLAS that this one has chosen */
	&tn_launch_omp_spin, /* follows from the BLAS */
	&tn_launch_allocator,
	&tn_launch_malloc,
	&tn_launch_omp_runtime, /* after malloc, which looks for an allocator in LD_PRELOAD */
	&tn_launch_cuda_order,
	&tn_launch_cuda_segments,
	&tn_launch_nccl_ifname,
	&tn_launch_leftovers,
	NULL,
};

const struct tn_launch_setting *tn_launch_find(const char *id)
{
	for (size_t i = 0; tn_launch_settings[i]; i++)
		if (!strcmp(tn_launch_settings[i]->id, id))
			return tn_launch_settings[i];
	return NULL;
}
