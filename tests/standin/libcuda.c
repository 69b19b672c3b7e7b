/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver library for tests without a GPU.
 * STANDIN_FAIL=CALL:CODE makes that call return that code; CALL:CODE:N the N+1st call and all later ones.
 * STANDIN_WRONG=1 makes launches compute a wrong element.
 * STANDIN_DEVICES=N sets the device count (1), STANDIN_MAJOR the major compute capability (9), STANDIN_SMS the number of
 * multiprocessors (4), STANDIN_MEMORY=N the bytes of device memory, STANDIN_SHARED=N the maximum shared memory per block
 * (227 KiB), STANDIN_CUDA=N the CUDA version (12040). STANDIN_TRACE=FILE records the calls (record.h).
 *
 * "Device" memory is host memory, poisoned when allocated. Kernels run on the CPU (emulate.h). Calls that NVIDIA's
 * driver rejects are rejected with the same code, as far as documented and possible for this program: calls without a
 * context, or during a capture; launches beyond a block's limits, beyond the requested shared memory, or beyond the
 * registers (kernels.res next to this library lists those of the compiled kernels).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "allocations.h"
#include "libcuda.h"
#include "record.h"

#define DEVICES	   16
#define OPT_IN	   (227 << 10) /* maximum shared memory per block in bytes, sm_90 */
#define UNASKED	   (48 << 10)  /* maximum without a request */
#define REGISTERS  65536       /* registers of a multiprocessor */
#define KERNELS	   1024

unsigned long standin_waited, standin_waited_events, standin_unpinned;

int standin_fail(const char *call)
{
	const char *spec = getenv("STANDIN_FAIL");
	size_t n = strlen(call);
	static unsigned calls;
	int code;
	unsigned spared = 0;

	if (!spec || strncmp(spec, call, n) || spec[n] != ':' || sscanf(spec + n + 1, "%d:%u", &code, &spared) < 1)
		return 0;
	return calls++ < spared ? 0 : code;
}

/* Number of waits for the device or its memory, and for one event. */
void standin_waits(unsigned long *ret_all, unsigned long *ret_events)
{
	*ret_all = standin_waited;
	*ret_events = standin_waited_events;
}

/* Number of copies of memory that is not pinned. */
unsigned long standin_pageable(void);
unsigned long standin_pageable(void)
{
	return standin_unpinned;
}

static size_t memory_limit(void)
{
	const char *s = getenv("STANDIN_MEMORY");

	return s ? strtoull(s, NULL, 10) : (size_t)1 << 34;
}

/* ---- devices ---- */
int cuInit(unsigned flags)
{
	standin_record("cuInit %u", flags);
	return flags ? INVALID_VALUE : standin_fail("cuInit");
}

int cuDriverGetVersion(int *v)
{
	const char *s = getenv("STANDIN_CUDA");

	*v = s ? atoi(s) : 12040;
	return standin_fail("cuDriverGetVersion");
}

int cuDeviceGetCount(int *n)
{
	const char *s = getenv("STANDIN_DEVICES");

	*n = s ? atoi(s) : 1;
	return standin_fail("cuDeviceGetCount");
}

int cuDeviceGet(int *dev, int i)
{
	*dev = i;
	standin_record("cuDeviceGet %d", i);
	return standin_fail("cuDeviceGet");
}

int cuDeviceGetName(char *name, int len, int dev)
{
	snprintf(name, (size_t)len, "Stand-in GPU %d", dev);
	return standin_fail("cuDeviceGetName");
}

int cuDeviceTotalMem_v2(size_t *bytes, int dev)
{
	*bytes = memory_limit() + ((size_t)dev << 34);
	return 0;
}

static unsigned opt_in(void)
{
	const char *s = getenv("STANDIN_SHARED");

	return s ? (unsigned)atoi(s) : OPT_IN;
}

int cuDeviceGetAttribute(int *v, int attr, int dev)
{
	const char *major = getenv("STANDIN_MAJOR"), *sms = getenv("STANDIN_SMS");

	switch (attr) {
	case 16:
		*v = sms ? atoi(sms) : 4;
		break;
	case 75:
		*v = major ? atoi(major) : 9;
		break;
	case 76:
		*v = 0;
		break;
	case 97:
		*v = (int)opt_in();
		break;
	case 134: /* its NUMA node; each device has a different one */
		*v = dev;
		break;
	default:
		return INVALID_VALUE;
	}
	return standin_fail("cuDeviceGetAttribute");
}

/* ---- contexts: the device's primary one, current or not in each thread ---- */
static int retained[DEVICES];
static unsigned long contexts; /* created so far */
static __thread int *current;

unsigned long standin_contexts(void)
{
	return contexts;
}

int standin_device(void)
{
	return current ? (int)(current - retained) : -1;
}

int standin_verdict(const char *call)
{
	return current && *current > 0 ? standin_fail(call) : INVALID_CONTEXT;
}

int cuDevicePrimaryCtxRetain(void **ctx, int dev)
{
	int r = dev < 0 || dev >= DEVICES ? INVALID_VALUE : standin_fail("cuDevicePrimaryCtxRetain");

	if (r)
		return r;
	contexts += !retained[dev]++;
	*ctx = &retained[dev];
	standin_record("cuDevicePrimaryCtxRetain %d", dev);
	return 0;
}

static void free_all(void);

/* The last release destroys it and frees its memory. */
int cuDevicePrimaryCtxRelease_v2(int dev)
{
	if (dev < 0 || dev >= DEVICES || !retained[dev])
		return INVALID_CONTEXT;
	standin_record("cuDevicePrimaryCtxRelease %d", dev);
	if (!--retained[dev]) {
		standin_drain_all();
		free_all();
	}
	return 0;
}

int cuCtxSetCurrent(void *ctx)
{
	if (ctx && *(int *)ctx <= 0)
		return INVALID_CONTEXT;
	current = ctx;
	return 0;
}

/* ---- priorities of streams: lower numbers run first ---- */
#define GREATEST (-5)
int cuStreamCreate(void **stream, unsigned flags);

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = GREATEST;
	standin_record("cuCtxGetStreamPriorityRange");
	return standin_verdict("cuCtxGetStreamPriorityRange");
}

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	return priority > 0 || priority < GREATEST ? INVALID_VALUE : cuStreamCreate(stream, flags);
}

/* ---- kernels ---- */
static struct function {
	const struct emu_kernel *kernel;
	const void *module;
	unsigned registers, fixed; /* registers of a thread; bytes of shared memory; 0: unknown */
	unsigned most;		   /* maximum dynamic shared memory in bytes */
} functions[KERNELS];
static size_t n_functions;

static struct function *function_of(const struct emu_kernel *k)
{
	for (size_t i = 0; i < n_functions; i++)
		if (functions[i].kernel == k)
			return &functions[i];
	return NULL;
}

/* Resources of the compiled kernels by kernels.res next to this library: name, registers, bytes. */
static struct resources {
	char name[128];
	unsigned registers, fixed;
} *resources; /* ends with an empty name; NULL: no such file */

__attribute__((constructor)) static void read_resources(void)
{
	struct resources r = { 0 };
	char path[4096];
	size_t n = 0;
	Dl_info info;
	FILE *f;

	if (!dladdr((void *)&standin_waited, &info) || !strrchr(info.dli_fname, '/'))
		return;
	snprintf(path, sizeof(path), "%.*s/kernels.res", (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
	f = fopen(path, "re");
	if (!f)
		return;
	do {
		if (fscanf(f, "%127s %u %u", r.name, &r.registers, &r.fixed) != 3)
			r.name[0] = 0;
		resources = realloc(resources, (n + 1) * sizeof(*resources));
		resources[n++] = r;
	} while (r.name[0]);
	fclose(f);
}

/* Returns false if the kernel is not listed. */
static bool find_resources(const char *name, struct function *f)
{
	const struct resources *r = resources;

	while (r && r->name[0] && strcmp(r->name, name))
		r++;
	if (!r || !r->name[0])
		return !r;
	f->registers = r->registers;
	f->fixed = r->fixed;
	return true;
}

/*
 * Programs that load the same image share its functions until the last one unloads it. Returns the number of users; -1:
 * too many images.
 */
static int hold(const void *image, int more)
{
	static struct {
		const void *image;
		int loads;
	} images[64];
	size_t i = 0;

	while (i < 64 && images[i].image && images[i].image != image)
		i++;
	if (i == 64)
		return -1;
	images[i].image = image;
	return images[i].loads += more;
}

int cuModuleLoadData(void **module, const void *image)
{
	static const unsigned char magic[] = { 0x50, 0xed, 0x55, 0xba }; /* start of a fatbin */
	int r = standin_unsafe("cuModuleLoadData");

	if (r || memcmp(image, magic, sizeof(magic)))
		return r ? r : INVALID_IMAGE;
	*module = (void *)image;
	standin_record("cuModuleLoadData");
	return hold(image, 1) < 0 ? OUT_OF_MEMORY : 0;
}

int cuModuleUnload(void *module)
{
	int r = standin_unsafe("cuModuleUnload");
	size_t left = 0;

	standin_record("cuModuleUnload");
	if (r || !module || hold(module, -1) > 0)
		return r ? r : module ? 0 : INVALID_HANDLE;
	for (size_t i = 0; i < n_functions; i++)
		if (functions[i].module != module)
			functions[left++] = functions[i];
	n_functions = left;
	return 0;
}

int cuModuleGetFunction(void **fn, void *module, const char *name)
{
	const struct emu_kernel *k = emu_find(name);
	struct function f = { .kernel = k, .module = module };
	int r = standin_verdict("cuModuleGetFunction");

	standin_record("cuModuleGetFunction %s", name);
	if (r)
		return r;
	if (!k || !module || !find_resources(name, &f) || n_functions == KERNELS)
		return NOT_FOUND;
	f.most = UNASKED - f.fixed;
	if (!function_of(k))
		functions[n_functions++] = f;
	*fn = (void *)(uintptr_t)k;
	return 0;
}

int cuFuncSetAttribute(void *fn, int attribute, int value)
{
	struct function *f = function_of(fn);
	int r = standin_verdict("cuFuncSetAttribute");

	if (r)
		return r;
	if (!f)
		return INVALID_HANDLE;
	standin_record("cuFuncSetAttribute %s attribute %d = %d", f->kernel->name, attribute, value);
	if (attribute != 8 || value < 0 || (unsigned)value + f->fixed > opt_in())
		return INVALID_VALUE;
	f->most = (unsigned)value;
	return 0;
}

/* Registers of a warp are allocated in units of 256, and warps in units of four. */
static bool registers_suffice(const struct function *f, unsigned threads)
{
	unsigned warps = (threads + 127) / 128 * 4, each = (f->registers * 32 + 255) / 256 * 256;

	return warps * each <= REGISTERS;
}

int standin_may_launch(const struct emu_kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared)
{
	const struct function *f = function_of(k);
	unsigned threads = block[0] * block[1] * block[2];

	if (!f)
		return INVALID_HANDLE;
	if (!grid[0] || !grid[1] || !grid[2] || grid[0] > INT32_MAX || grid[1] > 65535 || grid[2] > 65535)
		return INVALID_VALUE;
	if (!threads || block[0] > 1024 || block[1] > 1024 || block[2] > 64 || threads > 1024)
		return INVALID_VALUE;
	if (shared > f->most)
		return INVALID_VALUE;
	return registers_suffice(f, threads) ? 0 : LAUNCH_OUT_OF_RESOURCES;
}

/* ---- memory ---- */
static struct allocation *spare; /* the largest freed one, whose pages the next one reuses */

int cuMemAlloc_v2(uint64_t *ptr, size_t bytes)
{
	int r = standin_unsafe("cuMemAlloc");
	size_t size = (bytes + 511) / 256 * 256, room = size;
	static unsigned number;
	struct allocation *a;

	standin_waited++;
	if (r)
		return r;
	if (!bytes)
		return INVALID_VALUE;
	if (allocated + size > memory_limit())
		return OUT_OF_MEMORY;
	if (spare && spare->room >= size) {
		a = spare;
		room = spare->room;
		spare = NULL;
	} else {
		a = aligned_alloc(HEAD, size);
	}
	*a = (struct allocation){ allocations, size, room, bytes, ++number };
	allocations = a;
	memset((char *)a + HEAD, 0xff, size - HEAD);
	allocated += size;
	*ptr = (uintptr_t)a + HEAD;
	standin_record("cuMemAlloc %zu: d%u", bytes, number);
	return 0;
}

/* Waits for work that may still use the memory. */
int cuMemFree_v2(uint64_t ptr)
{
	struct allocation *a = (struct allocation *)(void *)((char *)(uintptr_t)ptr - HEAD), **at = &allocations;
	int r = standin_unsafe("cuMemFree");

	if (r)
		return r;
	while (*at && *at != a)
		at = &(*at)->next;
	if (!*at)
		return INVALID_VALUE;
	standin_record("cuMemFree d%u", a->number);
	standin_drain_all();
	*at = a->next;
	allocated -= a->size;
	if (!spare || a->room > spare->room) {
		free(spare);
		spare = a;
	} else {
		free(a);
	}
	return 0;
}

static void free_all(void)
{
	while (allocations) {
		struct allocation *next = allocations->next;

		free(allocations);
		allocations = next;
	}
	free(spare);
	spare = NULL;
	allocated = 0;
}

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
	*total = memory_limit();
	*available = *total - allocated;
	standin_record("cuMemGetInfo");
	return standin_verdict("cuMemGetInfo");
}

/* ---- pinned memory ---- */
static struct pinned {
	struct pinned *next;
	const char *base;
	size_t bytes;
	bool ours;
	unsigned number;
} *pins;

static void pin(const void *base, size_t bytes, bool ours)
{
	struct pinned *p = malloc(sizeof(*p));
	static unsigned number;

	*p = (struct pinned){ pins, base, bytes, ours, ++number };
	pins = p;
	standin_record("%s %zu: h%u", ours ? "cuMemHostAlloc" : "cuMemHostRegister", bytes, number);
}

static struct pinned **find_pin(const void *base, bool ours)
{
	struct pinned **at = &pins;

	while (*at && ((*at)->base != base || (*at)->ours != ours))
		at = &(*at)->next;
	return at;
}

static void unpin(struct pinned **at)
{
	struct pinned *p = *at;

	standin_record("%s h%u", p->ours ? "cuMemFreeHost" : "cuMemHostUnregister", p->number);
	*at = p->next;
	free(p);
}

bool standin_pinned(const void *p, size_t n)
{
	for (const struct pinned *x = pins; x; x = x->next)
		if ((const char *)p >= x->base && (const char *)p + n <= x->base + x->bytes)
			return true;
	return false;
}

bool standin_find(const void *p, char *ret_kind, unsigned *ret_number, size_t *ret_offset)
{
	const struct allocation *a = find_allocation(p);

	if (a) {
		*ret_kind = 'd';
		*ret_number = a->number;
		*ret_offset = (size_t)((const char *)p - (const char *)a - HEAD);
		return true;
	}
	for (const struct pinned *x = pins; x; x = x->next) {
		if ((const char *)p < x->base || (const char *)p > x->base + x->bytes)
			continue;
		*ret_kind = 'h';
		*ret_number = x->number;
		*ret_offset = (size_t)((const char *)p - x->base);
		return true;
	}
	return false;
}

/* Node of the last pinned allocation, -1 if none was requested. */
int standin_pinned_from(void);
static int pinned_from = -1;
int standin_pinned_from(void)
{
	return pinned_from;
}

int cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
	unsigned long nodes[16] = { 0 };
	int r = standin_unsafe("cuMemHostAlloc"), mode = 0;

	if (r || flags & ~7u || !bytes)
		return r ? r : INVALID_VALUE;
	syscall(SYS_get_mempolicy, &mode, nodes, sizeof(nodes) * 8, NULL, 0);
	pinned_from = mode == 1 ? __builtin_ffsl((long)nodes[0]) - 1 : -1; /* MPOL_PREFERRED */
	*p = calloc(1, bytes);
	pin(*p, bytes, true);
	return 0;
}

int cuMemFreeHost(void *p)
{
	struct pinned **at = find_pin(p, true);
	int r = standin_unsafe("cuMemFreeHost");

	if (r || !*at)
		return r ? r : INVALID_VALUE;
	standin_drain_all();
	unpin(at);
	free(p);
	return 0;
}

int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
	int r = standin_unsafe("cuMemHostRegister");

	if (r || flags || !p || !bytes)
		return r ? r : INVALID_VALUE;
	if (standin_pinned(p, 1))
		return HOST_MEMORY_ALREADY_REGISTERED;
	pin(p, bytes, false);
	return 0;
}

int cuMemHostUnregister(void *p)
{
	struct pinned **at = find_pin(p, false);
	int r = standin_unsafe("cuMemHostUnregister");

	if (r || !*at)
		return r ? r : HOST_MEMORY_NOT_REGISTERED;
	standin_drain_all();
	unpin(at);
	return 0;
}

/* ---- error texts ---- */
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

unsigned long standin_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}
