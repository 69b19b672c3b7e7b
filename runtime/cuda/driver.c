/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <numaif.h>
#include <stdio.h>
#include <string.h>
#include "lib/dl.h"
#include "lib/visible.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/fatbin.h"

static const struct gt_dlsym driver_syms[] = {
	GT_DLSYM(rt_driver, init, cuInit),
	GT_DLSYM(rt_driver, driver_version, cuDriverGetVersion),
	GT_DLSYM(rt_driver, device_count, cuDeviceGetCount),
	GT_DLSYM(rt_driver, device_get, cuDeviceGet),
	GT_DLSYM(rt_driver, device_name, cuDeviceGetName),
	GT_DLSYM(rt_driver, device_memory, cuDeviceTotalMem_v2),
	GT_DLSYM(rt_driver, device_attribute, cuDeviceGetAttribute),
	GT_DLSYM(rt_driver, ctx_retain, cuDevicePrimaryCtxRetain),
	GT_DLSYM(rt_driver, ctx_release, cuDevicePrimaryCtxRelease_v2),
	GT_DLSYM(rt_driver, ctx_set, cuCtxSetCurrent),
	GT_DLSYM(rt_driver, ctx_sync, cuCtxSynchronize),
	GT_DLSYM(rt_driver, module_load, cuModuleLoadData),
	GT_DLSYM(rt_driver, module_unload, cuModuleUnload),
	GT_DLSYM(rt_driver, module_function, cuModuleGetFunction),
	GT_DLSYM(rt_driver, mem_alloc, cuMemAlloc_v2),
	GT_DLSYM(rt_driver, mem_free, cuMemFree_v2),
	GT_DLSYM(rt_driver, copy_to, cuMemcpyHtoD_v2),
	GT_DLSYM(rt_driver, copy_from, cuMemcpyDtoH_v2),
	GT_DLSYM(rt_driver, launch, cuLaunchKernel),
	GT_DLSYM(rt_driver, function_attribute, cuFuncSetAttribute),
	GT_DLSYM(rt_driver, mem_info, cuMemGetInfo_v2),
	GT_DLSYM(rt_driver, host_alloc, cuMemHostAlloc),
	GT_DLSYM(rt_driver, host_free, cuMemFreeHost),
	GT_DLSYM(rt_driver, host_register, cuMemHostRegister_v2),
	GT_DLSYM(rt_driver, host_unregister, cuMemHostUnregister),
	GT_DLSYM(rt_driver, copy_to_async, cuMemcpyHtoDAsync_v2),
	GT_DLSYM(rt_driver, copy_from_async, cuMemcpyDtoHAsync_v2),
	GT_DLSYM(rt_driver, copy_async, cuMemcpyDtoDAsync_v2),
	GT_DLSYM(rt_driver, fill_async, cuMemsetD8Async),
	GT_DLSYM(rt_driver, stream_create, cuStreamCreate),
	GT_DLSYM(rt_driver, stream_create_first, cuStreamCreateWithPriority),
	GT_DLSYM(rt_driver, priorities, cuCtxGetStreamPriorityRange),
	GT_DLSYM(rt_driver, stream_destroy, cuStreamDestroy_v2),
	GT_DLSYM(rt_driver, stream_sync, cuStreamSynchronize),
	GT_DLSYM(rt_driver, stream_wait, cuStreamWaitEvent),
	GT_DLSYM(rt_driver, event_create, cuEventCreate),
	GT_DLSYM(rt_driver, event_destroy, cuEventDestroy_v2),
	GT_DLSYM(rt_driver, event_record, cuEventRecord),
	GT_DLSYM(rt_driver, event_sync, cuEventSynchronize),
	GT_DLSYM(rt_driver, event_query, cuEventQuery),
	GT_DLSYM(rt_driver, event_elapsed, cuEventElapsedTime),
	GT_DLSYM(rt_driver, capture_begin, cuStreamBeginCapture_v2),
	GT_DLSYM(rt_driver, capture_end, cuStreamEndCapture),
	GT_DLSYM(rt_driver, graph_instantiate, cuGraphInstantiateWithFlags),
	GT_DLSYM(rt_driver, graph_launch, cuGraphLaunch),
	GT_DLSYM(rt_driver, graph_exec_destroy, cuGraphExecDestroy),
	GT_DLSYM(rt_driver, graph_destroy, cuGraphDestroy),
	GT_DLSYM(rt_driver, error_name, cuGetErrorName),
	GT_DLSYM(rt_driver, error_string, cuGetErrorString),
};

static const char *const kernel_names[RT_N_KERNELS] = { RT_KERNEL_NAMES };

static const char *remedy(cu_result code)
{
	switch (code) {
	case CU_NO_DEVICE:
		return "; no GPU is visible to this process (CUDA_VISIBLE_DEVICES, permissions, or no GPU is installed)";
	case CU_SYSTEM_DRIVER_MISMATCH:
		return "; libcuda and the loaded kernel module differ in version: reload the module or reboot";
	case CU_COMPAT_NOT_SUPPORTED_ON_DEVICE:
		return "; a cuda-compat libcuda comes first on the library path but this GPU does not support it";
	case CU_OUT_OF_MEMORY:
		return "; the GPU's memory is full: use a smaller batch or model, or end other programs that use the GPU";
	case CU_ECC_UNCORRECTABLE:
		return "; the GPU's memory has an uncorrectable error: see gpuprobe and the kernel log";
	case CU_ILLEGAL_ADDRESS:
	case CU_LAUNCH_FAILED:
		return "; the work of this process on the GPU is lost; the kernel log shows whether the GPU is lost, too";
	case CU_NO_BINARY_FOR_GPU:
		return "; this build has no kernels for the GPU: configure with a toolkit that supports it";
	case CU_INVALID_IMAGE:
	case CU_INVALID_PTX:
		return "; the driver cannot read this code: it is damaged, or was built with a toolkit that is newer than the "
		       "driver";
	case CU_UNSUPPORTED_PTX_VERSION:
		return "; this code was built with a toolkit that is newer than the driver: install a newer driver";
	default:
		return "";
	}
}

static int fail(const struct rt_cuda *c, cu_result code, const char *what, const char *do_this, struct gt_err *err)
{
	const char *name = NULL, *text = NULL;

	c->d.error_name(code, &name);
	c->d.error_string(code, &text);
	return gt_fail(err, code == CU_OUT_OF_MEMORY ? ENOMEM : ENODEV, "%s failed with CUDA error %d, %s (%s)%s",
		       what, code, name ? name : "unknown", text ? text : "no text", do_this);
}

int rt_cuda_check(const struct rt_cuda *c, cu_result code, const char *what, struct gt_err *err)
{
	return code == CU_SUCCESS ? 0 : fail(c, code, what, remedy(code), err);
}

int rt_cuda_put(const struct rt_cuda *c, cu_ptr to, const void *from, size_t bytes, struct gt_err *err)
{
	int r = rt_cuda_check(c, c->d.copy_to(to, from, bytes), "cuMemcpyHtoD", err);

	return r ? r : rt_cuda_check(c, c->d.stream_sync(NULL), "cuStreamSynchronize", err);
}

/* The memory policy of this thread selects the node of the pages during the allocation. If the kernel permits no
 * policy, its default applies. */
int rt_cuda_pinned(const struct rt_cuda *c, void **ret, size_t bytes, struct gt_err *err)
{
	unsigned long was[16] = { 0 }, beside[16] = { 0 };
	const unsigned long bits = sizeof(was) * CHAR_BIT, word = sizeof(was[0]) * CHAR_BIT;
	int mode = MPOL_DEFAULT, r;
	bool moved = c->node >= 0 && (unsigned long)c->node < bits && !get_mempolicy(&mode, was, bits, NULL, 0);

	if (moved) {
		beside[(unsigned long)c->node / word] = 1UL << (unsigned long)c->node % word;
		moved = !set_mempolicy(MPOL_PREFERRED, beside, bits);
	}
	r = rt_cuda_check(c, c->d.host_alloc(ret, bytes, 0), "cuMemHostAlloc", err);
	if (moved)
		set_mempolicy(mode, mode == MPOL_DEFAULT ? NULL : was, mode == MPOL_DEFAULT ? 0 : bits);
	return r;
}

const char *rt_cuda_kernel_name(enum rt_kernel_id kernel)
{
	return kernel_names[kernel];
}

int rt_cuda_allow_shared(struct rt_cuda *c, enum rt_kernel_id kernel, size_t bytes, struct gt_err *err)
{
	int r;

	if (bytes <= c->shared[kernel])
		return 0;
	r = rt_cuda_check(c, c->d.function_attribute(c->fn[kernel], CU_FUNC_ATTR_DYNAMIC_SHARED, (int)bytes), "cuFuncSetAttribute",
			  err);
	if (r)
		return gt_fail_prefix(err, "%zu bytes of shared memory for %s", bytes, kernel_names[kernel]);
	c->shared[kernel] = (unsigned)bytes;
	return 0;
}

/* The driver's error does not mention that CUDA_VISIBLE_DEVICES hides the devices. */
static int no_device(const struct rt_cuda *c, cu_result code, const char *what, struct gt_err *err)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	struct gt_visible seen;

	gt_visible_parse(list, NULL, GT_GPUS_UNKNOWN, &seen);
	if (code != CU_NO_DEVICE || !list)
		return rt_cuda_check(c, code, what, err);
	if (!seen.n)
		return gt_fail(err, ENODEV, "CUDA_VISIBLE_DEVICES=\"%.60s\" hides every GPU from this process: unset it, or name "
			       "one", list);
	return gt_fail(err, ENODEV, "CUDA_VISIBLE_DEVICES=\"%.60s\" selects no GPU: name one that gpuprobe shows, or unset it",
			       list);
}

static int open_device(struct rt_cuda *c, int index, bool own, struct gt_err *err)
{
	int n = 0, major = 0, minor = 0, r;

	r = no_device(c, c->d.init(0), "cuInit", err);
	if (!r)
		r = rt_cuda_check(c, c->d.driver_version(&c->version), "cuDriverGetVersion", err);
	if (!r)
		r = rt_cuda_check(c, c->d.device_count(&n), "cuDeviceGetCount", err);
	if (!r && !n)
		r = no_device(c, CU_NO_DEVICE, "cuDeviceGetCount", err);
	if (own && n == 1)
		index = 0;
	if (!r && index >= n)
		r = gt_fail(err, ENODEV, "rank %d has no device, %d %s visible: use at most as many ranks as devices", index,
			    n, n == 1 ? "is" : "are");
	if (!r)
		r = rt_cuda_check(c, c->d.device_get(&c->device, index), "cuDeviceGet", err);
	if (!r)
		r = rt_cuda_check(c, c->d.device_name(c->name, sizeof(c->name), c->device), "cuDeviceGetName", err);
	if (!r)
		r = rt_cuda_check(c, c->d.device_memory(&c->memory_bytes, c->device), "cuDeviceTotalMem", err);
	if (!r)
		r = rt_cuda_check(c, c->d.device_attribute(&major, CU_ATTR_CC_MAJOR, c->device), "cuDeviceGetAttribute", err);
	if (!r)
		r = rt_cuda_check(c, c->d.device_attribute(&minor, CU_ATTR_CC_MINOR, c->device), "cuDeviceGetAttribute", err);
	if (!r)
		r = rt_cuda_check(c, c->d.device_attribute(&c->sms, CU_ATTR_SMS, c->device), "cuDeviceGetAttribute", err);
	if (!r)
		r = rt_cuda_check(c, c->d.device_attribute(&c->max_shared, CU_ATTR_MAX_SHARED_OPTIN, c->device),
				  "cuDeviceGetAttribute", err);
	if (!r && c->d.device_attribute(&c->node, CU_ATTR_HOST_NODE, c->device))
		c->node = -1;
	c->arch = major * 10 + minor;
	c->visible = n;
	return r;
}

/* Kernels of a newer toolkit are not rejected because of its version: a driver runs many of them. */
static int check_load(const struct rt_cuda *c, cu_result code, const char *what, struct gt_err *err)
{
	int toolkit = rt_fatbin_toolkit(), have = c->version;
	char text[256];

	if (toolkit <= have || (code != CU_INVALID_IMAGE && code != CU_INVALID_PTX && code != CU_UNSUPPORTED_PTX_VERSION))
		return rt_cuda_check(c, code, what, err);
	snprintf(text, sizeof(text),
		 "; the kernels are built with CUDA %d.%d and this driver supports CUDA %d.%d: install a newer driver, or "
		 "configure with a toolkit of CUDA %d.%d or older",
		 toolkit / 1000, toolkit % 1000 / 10, have / 1000, have % 1000 / 10, have / 1000, have % 1000 / 10);
	return fail(c, code, what, text, err);
}

static int load_kernels(struct rt_cuda *c, struct gt_err *err)
{
	int r = rt_cuda_check(c, c->d.ctx_retain(&c->ctx, c->device), "cuDevicePrimaryCtxRetain", err);

	if (!r)
		r = rt_cuda_check(c, c->d.ctx_set(c->ctx), "cuCtxSetCurrent", err);
	if (!r)
		r = check_load(c, c->d.module_load(&c->module, rt_fatbin), "cuModuleLoadData", err);
	for (int i = 0; !r && i < RT_N_KERNELS; i++)
		r = check_load(c, c->d.module_function(&c->fn[i], c->module, kernel_names[i]), kernel_names[i], err);
	return r;
}

#define SELFTEST_N	4099u /* a prime, so that no block size divides it */

/* Computes y = 2 x + y on the device, with poison in all places that must be overwritten, and compares every element. */
static int run_selftest(struct rt_cuda *c, cu_ptr x, cu_ptr y, struct gt_err *err)
{
	float hx[SELFTEST_N], hy[SELFTEST_N], a = 2;
	unsigned n = SELFTEST_N;
	void *args[] = { &n, &a, &x, &y };
	int r;

	for (unsigned i = 0; i < n; i++) {
		hx[i] = (float)i;
		hy[i] = (float)(n - i);
	}
	r = rt_cuda_put(c, x, hx, sizeof(hx), err);
	if (!r)
		r = rt_cuda_put(c, y, hy, sizeof(hy), err);
	if (!r)
		r = rt_cuda_check(c, c->d.launch(c->fn[RT_K_saxpy], 3, 1, 1, 128, 1, 1, 0, NULL, args, NULL),
				  "cuLaunchKernel", err);
	if (!r)
		r = rt_cuda_check(c, c->d.ctx_sync(), "cuCtxSynchronize", err);
	if (!r)
		r = rt_cuda_check(c, c->d.copy_from(hy, y, sizeof(hy)), "cuMemcpyDtoH", err);
	for (unsigned i = 0; !r && i < n; i++)
		if (hy[i] != (float)(n + i))
			r = gt_fail(err, EIO, "%s computed a wrong result in the self-test (element %u: %g, not %u)",
				    c->name, i, (double)hy[i], n + i);
	return r;
}

static int selftest(struct rt_cuda *c, struct gt_err *err)
{
	size_t bytes = SELFTEST_N * sizeof(float);
	cu_ptr x = 0, y = 0;
	int r = rt_cuda_check(c, c->d.mem_alloc(&x, bytes), "cuMemAlloc", err);

	if (!r)
		r = rt_cuda_check(c, c->d.mem_alloc(&y, bytes), "cuMemAlloc", err);
	if (!r)
		r = run_selftest(c, x, y, err);
	if (x)
		c->d.mem_free(x);
	if (y)
		c->d.mem_free(y);
	return r;
}

int rt_cuda_count(int *ret, struct gt_err *err)
{
	static const char *const names[] = { "libcuda.so.1", NULL };
	struct rt_cuda c = { 0 };
	int n = 0, r = gt_dl_open(names, driver_syms, GT_ARRAY_SIZE(driver_syms), &c.d, &c.lib, err);

	if (r < 0)
		return gt_fail_prefix(err, "no NVIDIA driver library");
	r = rt_cuda_check(&c, c.d.init(0), "cuInit", err);
	if (!r)
		r = rt_cuda_check(&c, c.d.device_count(&n), "cuDeviceGetCount", err);
	if (!r)
		*ret = n;
	dlclose(c.lib);
	return r;
}

static int home_of(const struct rt_driver *d, int index, bool own)
{
	cu_device device;
	int n = 0, node = -1;

	if (d->init(0) || d->device_count(&n))
		return -1;
	index = own && n == 1 ? 0 : index;
	if (index >= n || d->device_get(&device, index) || d->device_attribute(&node, CU_ATTR_HOST_NODE, device))
		return -1;
	return node;
}

static int home(int index, bool own)
{
	static const char *const names[] = { "libcuda.so.1", NULL };
	struct gt_err ignored = { 0 };
	struct rt_cuda c = { 0 };
	int node;

	if (gt_dl_open(names, driver_syms, GT_ARRAY_SIZE(driver_syms), &c.d, &c.lib, &ignored) < 0)
		return -1;
	node = home_of(&c.d, index, own);
	dlclose(c.lib);
	return node < 0 ? -1 : node;
}

int rt_cuda_home(int rank)
{
	return home(rank, false);
}

int rt_cuda_home_own(int rank)
{
	return home(rank, true);
}

int rt_cuda_open(struct rt_cuda **ret, struct gt_err *err)
{
	return rt_cuda_open_rank(0, false, ret, err);
}

int rt_cuda_open_rank(int rank, bool own, struct rt_cuda **ret, struct gt_err *err)
{
	static const char *const names[] = { "libcuda.so.1", NULL };
	gt_auto(rt_cuda) *c = gt_xcalloc(1, sizeof(*c));
	int r;

	if (!rt_fatbin_present())
		return gt_fail(err, ENOSYS, "built without CUDA kernels: configure did not find nvcc (--with-cuda=DIR)");
	r = gt_dl_open(names, driver_syms, GT_ARRAY_SIZE(driver_syms), &c->d, &c->lib, err);
	if (r < 0)
		return gt_fail_prefix(err, "no NVIDIA driver library");
	r = open_device(c, rank, own, err);
	if (!r)
		r = load_kernels(c, err);
	if (!r)
		r = selftest(c, err);
	if (r < 0)
		return r;
	*ret = gt_take(c);
	return 0;
}

void rt_cuda_close(struct rt_cuda *c)
{
	if (!c)
		return;
	if (c->module)
		c->d.module_unload(c->module);
	if (c->ctx)
		c->d.ctx_release(c->device);
	if (c->lib)
		dlclose(c->lib);
	free(c);
}

const char *rt_cuda_built_archs(void)
{
	return rt_fatbin_archs();
}

const char *rt_cuda_name(const struct rt_cuda *c)
{
	return c->name;
}

int rt_cuda_arch(const struct rt_cuda *c)
{
	return c->arch;
}

int rt_cuda_driver_version(const struct rt_cuda *c)
{
	return c->version;
}

uint64_t rt_cuda_memory_bytes(const struct rt_cuda *c)
{
	return c->memory_bytes;
}
