/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver library for tests on hosts without a GPU. STANDIN_FAIL=CALL:CODE makes that call return that code;
 * STANDIN_WRONG=1 makes the launch compute a wrong element; STANDIN_DEVICES=N sets the device count (1).
 * "Device" memory is host memory; the only kernel it can execute is rt_saxpy.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int verdict(const char *call)
{
	const char *spec = getenv("STANDIN_FAIL");
	size_t n = strlen(call);

	return spec && !strncmp(spec, call, n) && spec[n] == ':' ? atoi(spec + n + 1) : 0;
}

int cuInit(unsigned flags)
{
	return flags ? 1 : verdict("cuInit");
}

int cuDriverGetVersion(int *v)
{
	*v = 12040;
	return verdict("cuDriverGetVersion");
}

int cuDeviceGetCount(int *n)
{
	const char *s = getenv("STANDIN_DEVICES");

	*n = s ? atoi(s) : 1;
	return verdict("cuDeviceGetCount");
}

int cuDeviceGet(int *dev, int i)
{
	*dev = i;
	return verdict("cuDeviceGet");
}

int cuDeviceGetName(char *name, int len, int dev)
{
	snprintf(name, (size_t)len, "Stand-in GPU %d", dev);
	return verdict("cuDeviceGetName");
}

int cuDeviceTotalMem_v2(size_t *bytes, int dev)
{
	*bytes = (size_t)(dev + 1) << 34;
	return 0;
}

int cuDeviceGetAttribute(int *v, int attr, int dev)
{
	*v = attr == 75 ? 9 : dev;
	return verdict("cuDeviceGetAttribute");
}

int cuDevicePrimaryCtxRetain(void **ctx, int dev)
{
	static int context;

	*ctx = &context + dev;
	return verdict("cuDevicePrimaryCtxRetain");
}

int cuDevicePrimaryCtxRelease_v2(int dev)
{
	return dev;
}

int cuCtxSetCurrent(void *ctx)
{
	return ctx ? 0 : 201;
}

int cuCtxSynchronize(void)
{
	return verdict("cuCtxSynchronize");
}

int cuModuleLoadData(void **module, const void *image)
{
	static const unsigned char magic[] = { 0x50, 0xed, 0x55, 0xba }; /* a fatbin begins so */

	*module = (void *)image;
	return memcmp(image, magic, sizeof(magic)) ? 200 : verdict("cuModuleLoadData");
}

int cuModuleUnload(void *module)
{
	return module ? 0 : 400;
}

int cuModuleGetFunction(void **fn, void *module, const char *name)
{
	*fn = module;
	return strcmp(name, "rt_saxpy") ? 500 : verdict("cuModuleGetFunction");
}

int cuMemAlloc_v2(uint64_t *ptr, size_t bytes)
{
	int r = verdict("cuMemAlloc");

	if (!r)
		*ptr = (uintptr_t)calloc(1, bytes);
	return r;
}

int cuMemFree_v2(uint64_t ptr)
{
	free((void *)(uintptr_t)ptr);
	return 0;
}

int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t bytes)
{
	memcpy((void *)(uintptr_t)dst, src, bytes);
	return 0;
}

int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t bytes)
{
	memcpy(dst, (const void *)(uintptr_t)src, bytes);
	return 0;
}

int cuLaunchKernel(void *fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
		   void *stream, void **args, void **extra)
{
	unsigned n = *(unsigned *)args[0];
	float a = *(float *)args[1];
	const float *x = (const float *)(uintptr_t)*(uint64_t *)args[2];
	float *y = (float *)(uintptr_t)*(uint64_t *)args[3];

	if (!fn || !gx || gy != 1 || gz != 1 || !bx || by != 1 || bz != 1 || shared || stream || extra)
		return 1;
	for (unsigned i = 0; i < n; i++)
		y[i] += a * x[i];
	if (getenv("STANDIN_WRONG"))
		y[n - 1] += 1;
	return verdict("cuLaunchKernel");
}

int cuGetErrorName(int code, const char **name)
{
	*name = code == 100 ? "CUDA_ERROR_NO_DEVICE" :
		code == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" :
			      "CUDA_ERROR_OTHER";
	return 0;
}

int cuGetErrorString(int code, const char **text)
{
	*text = code == 100 ? "no CUDA-capable device is detected" : "some error";
	return 0;
}
