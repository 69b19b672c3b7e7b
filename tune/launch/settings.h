/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LAUNCH_SETTINGS_H
#define TN_LAUNCH_SETTINGS_H
/* The settings of `gputune run`; tune/launch/list.c lists them in the order in which they are prepared. */
#include "tune/launch/context.h"

struct tn_launch_setting {
	const char *id, *summary;
	const char *why;       /* evidence for its benefit */
	const char *hazard;    /* when the setting is harmful */
	const char *unit;
	const char *mechanism; /* metric that improves if the mechanism is true; NULL: none */
	const char *unmoved;   /* why no workload shows the benefit; NULL: mechanism does */
	void (*prepare)(const struct tn_launch *c, struct tn_run *r);
};
extern const struct tn_launch_setting *const tn_launch_settings[]; /* NULL-terminated */
const struct tn_launch_setting *tn_launch_find(const char *id);

/* run_cpu.c */
extern const struct tn_launch_setting tn_launch_affinity, tn_launch_mempolicy, tn_launch_files;
/* run_omp.c */
extern const struct tn_launch_setting tn_launch_omp_threads, tn_launch_omp_bind, tn_launch_omp_spin;
/* run_gpu.c */
extern const struct tn_launch_setting tn_launch_cuda_order, tn_launch_cuda_segments, tn_launch_nccl_ifname, tn_launch_leftovers;
/* run_lib.c */
/* Checks whether a profile may set this value. If not, returns -EINVAL with a sentence that lists the possible values. */
int tn_launch_check_value(const struct tn_launch_setting *s, const char *value, struct gt_err *err);
extern const struct tn_launch_setting tn_launch_blas, tn_launch_allocator, tn_launch_malloc, tn_launch_omp_runtime;
/* run_ranks.c */
extern const struct tn_launch_setting tn_launch_ranks;
/* run_loader.c */
extern const struct tn_launch_setting tn_launch_loader;
/* run_kernels.c */
extern const struct tn_launch_setting tn_launch_kernels;
#endif
