/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of `gputune run`. CPUs come first: threads and memory follow from them. */
#include "tune/launch/settings.h"

const struct tn_knob *const tn_launch_settings[] = {
	&tn_knob_affinity,
	&tn_knob_mempolicy,
	&tn_knob_files,
	&tn_knob_omp_threads,
	&tn_knob_omp_bind,
	&tn_knob_blas,
	&tn_knob_kernels, /* of the BLAS that this one has chosen */
	&tn_knob_omp_spin, /* follows from the BLAS */
	&tn_knob_allocator,
	&tn_knob_malloc,
	&tn_knob_omp_runtime, /* after malloc, which looks for an allocator in LD_PRELOAD */
	&tn_knob_cuda_order,
	&tn_knob_cuda_segments,
	&tn_knob_nccl_ifname,
	&tn_knob_leftovers,
	NULL,
};
