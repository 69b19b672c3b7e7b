/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of compute-sanitizer without a GPU: the kernels are compiled with the compiler's hooks for every memory
 * access (-fsanitize=thread), and this file defines the hooks. An access must be aligned to its size, and be in
 * allocated device memory, in the block's shared memory as launched, or on the thread's own stack. If two threads access
 * the same byte of shared memory and one writes, a barrier of the block must be between them, or of the warp if both are
 * in it. Only data written in the same block may be read there. The first violation is reported and ends the process.
 */
#include <cstdio>
#include <cstdlib>
#include <link.h>
#include <vector>
#include "emulate.h"

#define WARP 32

struct touch {
	unsigned epoch, warp_epoch;
	unsigned short thread;
	bool several, warps; /* read since the last barrier: by others of its warp; since the block's: by other warps */
};
struct cell {
	unsigned wrote_in, read_in; /* number of the block; 0: never */
	touch write, read;
};
struct region {
	uintptr_t begin, end;
	std::vector<cell> cells;
};

static bool watching;
static unsigned block_number;
static region dynamic, fixed; /* shared memory: of the launch, and of variables */
static uintptr_t code_begin, code_end; /* this library's constants */
static emu_state now;

static void fault(const void *p, size_t n, bool write, const char *what)
{
	watching = false;
	fprintf(stderr, "%s, block (%u,%u), thread %u: %s of %zu bytes at %p: %s\n", now.kernel, blockIdx.x, blockIdx.y,
		now.thread, write ? "write" : "read", n, p, what);
	fflush(stderr);
	abort();
}

static int find_segments(dl_phdr_info *info, size_t, void *)
{
	uintptr_t mine = (uintptr_t)&threadIdx;
	bool here = false;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		here |= info->dlpi_phdr[i].p_type == PT_LOAD && mine >= at && mine < at + info->dlpi_phdr[i].p_memsz;
	}
	if (!here)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const auto *h = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + h->p_vaddr;

		if (h->p_type != PT_LOAD)
			continue;
		if (mine >= at && mine < at + h->p_memsz) {
			fixed.begin = at;
			fixed.end = at + h->p_memsz;
		} else if (!(h->p_flags & PF_W)) {
			code_begin = code_begin ? code_begin : at;
			code_end = at + h->p_memsz;
		}
	}
	return 1;
}

void emu_block_begins(const char *kernel, size_t shared)
{
	if (!fixed.begin) {
		dl_iterate_phdr(find_segments, nullptr);
		fixed.cells.resize(fixed.end - fixed.begin);
	}
	now.kernel = kernel;
	dynamic.begin = (uintptr_t)emu_shared;
	dynamic.end = dynamic.begin + shared;
	if (dynamic.cells.size() < shared)
		dynamic.cells.resize(shared);
	block_number++;
}

void emu_watch(bool on)
{
	watching = on;
}

static bool ordered(const touch *before)
{
	return before->epoch != now.epoch ||
	       (before->thread / WARP == now.thread / WARP && before->warp_epoch != now.warp_epoch);
}

static void look_at(cell *c, const void *p, size_t n, bool write)
{
	if (c->wrote_in == block_number && c->write.thread != now.thread && !ordered(&c->write))
		fault(p, n, write, "another thread wrote it and there was no barrier since");
	if (!write && c->wrote_in != block_number)
		fault(p, n, write, "nobody wrote this shared memory in this block");
	if (write && c->read_in == block_number && c->read.epoch == now.epoch &&
	    (c->read.warps || (!ordered(&c->read) && (c->read.thread != now.thread || c->read.several))))
		fault(p, n, write, "another thread read it and there was no barrier since");
}

static void note(cell *c, bool write)
{
	touch t = { now.epoch, now.warp_epoch, (unsigned short)now.thread, false, false };

	if (write) {
		c->wrote_in = block_number;
		c->write = t;
		return;
	}
	if (c->read_in == block_number && c->read.epoch == now.epoch) {
		t.warps = c->read.warps || c->read.thread / WARP != now.thread / WARP;
		t.several = c->read.warp_epoch == now.warp_epoch && (c->read.several || c->read.thread != now.thread);
	}
	c->read_in = block_number;
	c->read = t;
}

static void shared(region *r, const void *p, size_t n, bool write)
{
	for (size_t i = 0; i < n; i++) {
		cell *c = &r->cells[(uintptr_t)p - r->begin + i];

		look_at(c, p, n, write);
		note(c, write);
	}
}

static bool within(uintptr_t at, size_t n, uintptr_t begin, uintptr_t end)
{
	return at >= begin && at + n <= end;
}

/* Stand-ins for hardware registers. */
static bool is_register(uintptr_t at)
{
	const void *const words[] = { &threadIdx, &blockIdx, &blockDim, &gridDim };

	for (const void *w : words)
		if (within(at, 1, (uintptr_t)w, (uintptr_t)w + sizeof(emu_dim)))
			return true;
	return within(at, 1, (uintptr_t)&emu_shared, (uintptr_t)(&emu_shared + 1));
}

static void touched(const void *p, size_t n, bool write)
{
	uintptr_t at = (uintptr_t)p;

	emu_look(&now);
	if (within(at, n, now.stack, now.stack_end) || (!write && within(at, n, code_begin, code_end)) || is_register(at))
		return;
	if (within(at, n, (uintptr_t)emu_shared, (uintptr_t)emu_shared + EMU_SHARED_MAX)) {
		if (!within(at, n, dynamic.begin, dynamic.end))
			fault(p, n, write, "beyond the shared memory of this launch");
		shared(&dynamic, p, n, write);
	} else if (within(at, n, fixed.begin, fixed.end)) {
		shared(&fixed, p, n, write);
	} else if (!standin_allocated(p, n)) {
		fault(p, n, write, "it is not in device memory");
	}
}

void emu_touch(const void *p, size_t n, bool write)
{
	bool was = watching;

	watching = false;
	touched(p, n, write);
	watching = was;
}

static inline void hook(void *p, size_t n, bool write, bool aligned)
{
	if (!watching)
		return;
	watching = false;
	emu_look(&now);
	if (aligned && (uintptr_t)p % n)
		fault(p, n, write, "the address is no multiple of the size");
	touched(p, n, write);
	watching = true;
}

#define HOOK(n)                                                                                                        \
	extern "C" void __tsan_read##n(void *p) { hook(p, n, false, true); }                                           \
	extern "C" void __tsan_write##n(void *p) { hook(p, n, true, true); }                                           \
	extern "C" void __tsan_unaligned_read##n(void *p) { hook(p, n, false, false); }                                \
	extern "C" void __tsan_unaligned_write##n(void *p) { hook(p, n, true, false); }
HOOK(1)
HOOK(2)
HOOK(4)
HOOK(8)
HOOK(16)
extern "C" void __tsan_read_range(void *p, size_t n)
{
	hook(p, n, false, false);
}
extern "C" void __tsan_write_range(void *p, size_t n)
{
	hook(p, n, true, false);
}
extern "C" void __tsan_init(void)
{
}
extern "C" void __tsan_func_entry(void *)
{
}
extern "C" void __tsan_func_exit(void)
{
}
extern "C" void __tsan_vptr_update(void **, void *)
{
}
extern "C" void __tsan_vptr_read(void **)
{
}
