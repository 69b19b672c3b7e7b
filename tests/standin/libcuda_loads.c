/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that loads code and has no GPU: the calls that a library makes when it compiles at run time, before it
 * launches a kernel. An image must be an ELF file for machine 190, as NVIDIA's compilers make. Nothing can be launched;
 * every other call returns 801 (CUDA_ERROR_NOT_SUPPORTED).
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NOT_SUPPORTED 801
#define INVALID_IMAGE 200

static unsigned long loaded;

/* Images so far. */
unsigned long standin_loaded(void);
unsigned long standin_loaded(void)
{
	return loaded;
}

int cuLibraryLoadData(void **lib, const void *code, void **jit, void **jit_values, unsigned n_jit, void **opts,
		      void **opts_values, unsigned n_opts);
int cuLibraryLoadData(void **lib, const void *code, void **jit, void **jit_values, unsigned n_jit, void **opts,
		      void **opts_values, unsigned n_opts)
{
	static const unsigned char magic[] = { 0x7f, 'E', 'L', 'F', 2, 1 };
	uint16_t machine;

	memcpy(&machine, (const char *)code + 18, sizeof(machine));
	if (memcmp(code, magic, sizeof(magic)) != 0 || machine != 190)
		return INVALID_IMAGE;
	*lib = &loaded;
	loaded++;
	return 0;
}

int cuLibraryUnload(void *lib);
int cuLibraryUnload(void *lib)
{
	return lib == &loaded ? 0 : 400;
}

int cuLibraryGetKernel(void **kernel, void *lib, const char *name);
int cuLibraryGetKernel(void **kernel, void *lib, const char *name)
{
	*kernel = lib;
	return lib == &loaded && *name ? 0 : 400;
}

int cuKernelGetFunction(void **fn, void *kernel);
int cuKernelGetFunction(void **fn, void *kernel)
{
	*fn = kernel;
	return kernel ? 0 : 400;
}

int cuKernelSetAttribute(int attribute, int value, void *kernel, int device);
int cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
	return kernel && value >= 0 ? 0 : 1;
}

int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device);
int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device)
{
	*value = 0;
	return kernel ? 0 : 400;
}

int cuGetErrorName(int code, const char **name);
int cuGetErrorName(int code, const char **name)
{
	*name = code == INVALID_IMAGE ? "CUDA_ERROR_INVALID_IMAGE" : "CUDA_ERROR_NOT_SUPPORTED";
	return 0;
}

int cuGetErrorString(int code, const char **text);
int cuGetErrorString(int code, const char **text)
{
	*text = code == INVALID_IMAGE ? "no image for a GPU" : "this driver has no card";
	return 0;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

#define CANNOT(name) \
	int name(void); \
	int name(void) \
	{ \
		return NOT_SUPPORTED; \
	}
CANNOT(cuInit)
CANNOT(cuCtxGetCurrent)
CANNOT(cuCtxGetDevice)
CANNOT(cuCtxGetLimit)
CANNOT(cuCtxPopCurrent)
CANNOT(cuCtxPushCurrent)
CANNOT(cuDeviceGet)
CANNOT(cuDeviceGetAttribute)
CANNOT(cuDeviceGetCount)
CANNOT(cuDevicePrimaryCtxRelease)
CANNOT(cuDevicePrimaryCtxReset)
CANNOT(cuDevicePrimaryCtxRetain)
CANNOT(cuFuncGetAttribute)
CANNOT(cuFuncSetAttribute)
CANNOT(cuLaunchCooperativeKernel)
CANNOT(cuLaunchKernel)
CANNOT(cuLaunchKernelEx)
CANNOT(cuLibraryLoadFromFile)
CANNOT(cuLinkAddData)
CANNOT(cuLinkAddData_v2)
CANNOT(cuLinkAddFile_v2)
CANNOT(cuLinkComplete)
CANNOT(cuLinkCreate)
CANNOT(cuLinkCreate_v2)
CANNOT(cuLinkDestroy)
CANNOT(cuMemcpyDtoH_v2)
CANNOT(cuModuleGetFunction)
CANNOT(cuModuleGetGlobal_v2)
CANNOT(cuModuleLoadData)
CANNOT(cuModuleLoadDataEx)
CANNOT(cuModuleLoadFatBinary)
CANNOT(cuModuleUnload)
CANNOT(cuOccupancyMaxActiveBlocksPerMultiprocessor)
CANNOT(cuOccupancyMaxPotentialClusterSize)
CANNOT(cuStreamGetCtx)
CANNOT(cuStreamGetGreenCtx)
CANNOT(cuStreamSynchronize)
CANNOT(cuTensorMapEncodeTiled)
