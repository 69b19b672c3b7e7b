/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_DRIVER_H
#define RT_CUDA_DRIVER_H
/* The used part of the driver API, declared here so that a build without a toolkit compiles the same code. Names,
 * values and signatures: CUDA Driver API reference, cuda.h. */
#include "lib/err.h"
#include "runtime/cuda/cuda.h"
#include "runtime/cuda/kernel/kernels.h"

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_ptr;
typedef void *cu_stream;
typedef void *cu_event;
enum {
	CU_SUCCESS = 0,
	CU_OUT_OF_MEMORY = 2,
	CU_NO_DEVICE = 100,
	CU_INVALID_IMAGE = 200,
	CU_NO_BINARY_FOR_GPU = 209,
	CU_ECC_UNCORRECTABLE = 214,
	CU_INVALID_PTX = 218,
	CU_UNSUPPORTED_PTX_VERSION = 222,
	CU_NOT_FOUND = 500,
	CU_NOT_READY = 600,
	CU_ILLEGAL_ADDRESS = 700,
	CU_LAUNCH_FAILED = 719,
	CU_SYSTEM_DRIVER_MISMATCH = 803,
	CU_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
	CU_ATTR_SMS = 16,
	CU_ATTR_CC_MAJOR = 75,
	CU_ATTR_CC_MINOR = 76,
	CU_ATTR_MAX_SHARED_OPTIN = 97,
	CU_ATTR_HOST_NODE = 134, /* exists since CUDA 12.2 */
	CU_FUNC_ATTR_DYNAMIC_SHARED = 8,
	CU_STREAM_NON_BLOCKING = 1,
	CU_EVENT_DEFAULT = 0,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_CAPTURE_THREAD_LOCAL = 1,
};

struct rt_driver {
	cu_result (*init)(unsigned);
	cu_result (*driver_version)(int *);
	cu_result (*device_count)(int *);
	cu_result (*device_get)(cu_device *, int);
	cu_result (*device_name)(char *, int, cu_device);
	cu_result (*device_memory)(size_t *, cu_device);
	cu_result (*device_attribute)(int *, int, cu_device);
	cu_result (*ctx_retain)(void **, cu_device);
	cu_result (*ctx_release)(cu_device);
	cu_result (*ctx_set)(void *);
	cu_result (*ctx_sync)(void);
	cu_result (*module_load)(void **, const void *);
	cu_result (*module_unload)(void *);
	cu_result (*module_function)(void **, void *, const char *);
	cu_result (*function_attribute)(void *, int, int);
	cu_result (*mem_alloc)(cu_ptr *, size_t);
	cu_result (*mem_free)(cu_ptr);
	cu_result (*mem_info)(size_t *, size_t *);
	cu_result (*host_alloc)(void **, size_t, unsigned);
	cu_result (*host_free)(void *);
	cu_result (*host_register)(void *, size_t, unsigned);
	cu_result (*host_unregister)(void *);
	cu_result (*copy_to)(cu_ptr, const void *, size_t);
	cu_result (*copy_from)(void *, cu_ptr, size_t);
	cu_result (*copy_to_async)(cu_ptr, const void *, size_t, cu_stream);
	cu_result (*copy_from_async)(void *, cu_ptr, size_t, cu_stream);
	cu_result (*copy_async)(cu_ptr, cu_ptr, size_t, cu_stream);
	cu_result (*fill_async)(cu_ptr, unsigned char, size_t, cu_stream);
	cu_result (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cu_stream, void **,
			    void **);
	cu_result (*stream_create)(cu_stream *, unsigned);
	cu_result (*stream_create_first)(cu_stream *, unsigned, int);
	cu_result (*priorities)(int *, int *);
	cu_result (*stream_destroy)(cu_stream);
	cu_result (*stream_sync)(cu_stream);
	cu_result (*stream_wait)(cu_stream, cu_event, unsigned);
	cu_result (*event_create)(cu_event *, unsigned);
	cu_result (*event_destroy)(cu_event);
	cu_result (*event_record)(cu_event, cu_stream);
	cu_result (*event_sync)(cu_event);
	cu_result (*event_query)(cu_event);
	cu_result (*event_elapsed)(float *, cu_event, cu_event);
	cu_result (*capture_begin)(cu_stream, int);
	cu_result (*capture_end)(cu_stream, void **);
	cu_result (*graph_instantiate)(void **, void *, unsigned long long);
	cu_result (*graph_launch)(void *, cu_stream);
	cu_result (*graph_exec_destroy)(void *);
	cu_result (*graph_destroy)(void *);
	cu_result (*error_name)(cu_result, const char **);
	cu_result (*error_string)(cu_result, const char **);
};

struct rt_cuda {
	struct rt_driver d;
	void *lib, *ctx, *module;
	cu_device device;
	int arch, version, sms;
	int visible; /* number of visible devices, including this one */
	int node; /* NUMA node of the device; -1: not reported (driver before 12.2, or no NUMA) */
	int max_shared; /* shared memory limit of a block, in bytes */
	size_t memory_bytes;
	char name[256];
	void *fn[RT_N_KERNELS];
	unsigned shared[RT_N_KERNELS]; /* dynamic shared memory limit set for each kernel, in bytes */
};

/* Returns 0, or -ENODEV (-ENOMEM if memory is short) with a message that names the call, the error and the remedy. */
int rt_cuda_check(const struct rt_cuda *c, cu_result code, const char *what, struct gt_err *err);
/* Copies host memory to the device and waits until it is there. For memory that is not pinned, cuMemcpyHtoD alone
 * guarantees only that the source was read. The streams of this program do not wait for the NULL stream (CUDA, "API
 * synchronization behavior"). */
int rt_cuda_put(const struct rt_cuda *c, cu_ptr to, const void *from, size_t bytes, struct gt_err *err);
/* Allocates pinned memory with cuMemHostAlloc, on the device's NUMA node if that is known and has space. */
int rt_cuda_pinned(const struct rt_cuda *c, void **ret, size_t bytes, struct gt_err *err);
const char *rt_cuda_kernel_name(enum rt_kernel_id kernel);
/* Allows blocks of this kernel that amount of dynamic shared memory. The driver's default is 48 KiB minus the kernel's
 * static shared memory, so the full amount is requested. */
int rt_cuda_allow_shared(struct rt_cuda *c, enum rt_kernel_id kernel, size_t bytes, struct gt_err *err);
#endif
