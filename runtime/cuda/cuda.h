/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_H
#define RT_CUDA_H
/*
 * The CUDA device of the runtime. libcuda is opened at run time, and the kernels of this build are loaded into the
 * device. The same binary runs with and without a GPU. A build without kernels also lists this device and reports why
 * it is not available.
 */
#include "lib/err.h"

struct rt_cuda;

/* Returns the architectures of the built-in kernels, such as "75 80 … 121", or "" for none. */
const char *rt_cuda_built_archs(void);

/*
 * Opens the first device of CUDA_VISIBLE_DEVICES and tests it: the embedded kernels are loaded, and one saxpy is
 * computed and compared. On failure the message names the cause: kernels not built, no driver library, the driver's
 * error by name, no device, no kernel for this architecture, or a wrong result. May take seconds. With a hung driver it
 * may never return, so call it in a child process if it is only a test.
 */
int rt_cuda_open(struct rt_cuda **ret, struct gt_err *err);
/*
 * The same for the device of the rank with index `rank`. own: a launcher may have restricted each rank to its own
 * device, which is then the only visible one and has index 0.
 */
int rt_cuda_open_rank(int rank, bool own, struct rt_cuda **ret, struct gt_err *err);
/* Return the NUMA node of a rank's device, or -1 if the driver does not report it. For rt_group_run(), and for
 * rt_comm_env() with `own` as above. */
int rt_cuda_home(int rank);
int rt_cuda_home_own(int rank);
/* Counts the devices of CUDA_VISIBLE_DEVICES without opening one. The process must not fork ranks afterwards. */
int rt_cuda_count(int *ret, struct gt_err *err);
void rt_cuda_close(struct rt_cuda *c);
GT_DEFINE_AUTO(rt_cuda, rt_cuda_close);

const char *rt_cuda_name(const struct rt_cuda *c);	 /* "NVIDIA H200" */
int rt_cuda_arch(const struct rt_cuda *c);		 /* 90 for sm_90 */
int rt_cuda_driver_version(const struct rt_cuda *c);	 /* CUDA version of the driver: 12040 is 12.4 */
uint64_t rt_cuda_memory_bytes(const struct rt_cuda *c);
#endif
