/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_H
#define RT_CUDA_H
/*
 * The CUDA device behind the runtime: libcuda opened at run time, the kernels of this build loaded into the card.
 * The same binary runs with and without a GPU; a build without kernels has this device in its lists too and says why
 * it cannot be had.
 */
#include "lib/err.h"

struct rt_cuda;

/* Architectures whose kernels are built in, such as "75 80 … 121", "" for none. */
const char *rt_cuda_built_archs(void);

/*
 * Open the first device that CUDA_VISIBLE_DEVICES leaves and prove that it works: the embedded kernels are loaded and
 * one saxpy is computed and compared. On failure the sentence says which link is missing (kernels not built, no driver
 * library, the driver's own error by name, no device, no kernel for this architecture, a wrong result).
 * May take seconds; with a hung driver it may never return: callers that only want to know call it in a child.
 */
int rt_cuda_open(struct rt_cuda **ret, struct gt_err *err);
/* The same of the device of a rank: the one of that index. own: a launcher may have left each rank a device of its own, which is
 * then the first that it sees. */
int rt_cuda_open_rank(int rank, bool own, struct rt_cuda **ret, struct gt_err *err);
/* The NUMA node that the device of a rank is beside, -1: the driver does not say; for rt_group_run(), and with `own` as above for
 * rt_comm_env(). */
int rt_cuda_home(int rank);
int rt_cuda_home_own(int rank);
/* Devices that CUDA_VISIBLE_DEVICES leaves; opens none. A process that has counted must not fork ranks. */
int rt_cuda_count(int *ret, struct gt_err *err);
void rt_cuda_close(struct rt_cuda *c);
GT_DEFINE_AUTO(rt_cuda, rt_cuda_close);

const char *rt_cuda_name(const struct rt_cuda *c);	 /* "NVIDIA H200" */
int rt_cuda_arch(const struct rt_cuda *c);		 /* 90 for sm_90 */
int rt_cuda_driver_version(const struct rt_cuda *c);	 /* CUDA version that the driver carries: 12040 is 12.4 */
uint64_t rt_cuda_memory_bytes(const struct rt_cuda *c);
#endif
