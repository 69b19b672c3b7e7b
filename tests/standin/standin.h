/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STANDIN_H
#define STANDIN_H
/* Interface between the stand-in libraries: kernels by name (emulate.cc), work on streams (libcuda.c). */
#include <stddef.h>
#ifdef __cplusplus
#include <atomic>
using std::atomic_int;
#else
#include <stdatomic.h>
#endif

struct emu_kernel {
	const char *name;
	void (*call)(void **args);
	size_t n_args;
	const size_t *sizes;
};
#ifdef __cplusplus
extern "C" {
#endif
const struct emu_kernel *emu_find(const char *name);
/* Returns 0, or 1: not every thread of the block reached a barrier. */
int emu_run(const struct emu_kernel *k, const unsigned grid[3], const unsigned block[3], size_t shared, void **args);
/* Is [p, p + n) inside one allocation of device memory? */
int standin_allocated(const void *p, size_t n);
unsigned long standin_contexts(void); /* created so far */
void standin_waits(unsigned long *ret_all, unsigned long *ret_events);
/* Enqueues run(copy of data) on the stream. */
int standin_enqueue(void *stream, void (*run)(void *), const void *data, size_t size);
/*
 * Work that may have to wait for another process: called again with the same data until it returns 1. *holders (may be
 * NULL): number of graphs that contain it, captured or instantiated.
 */
int standin_enqueue_polled(void *stream, int (*poll)(void *), const void *data, size_t size, atomic_int *holders);
/* Callbacks of a tracer: for each piece of work when it is enqueued (returns the work's number), and when it has run. */
struct standin_activity {
	int kind; /* CUPTI's: 1 copy, 2 fill, 10 kernel */
	unsigned correlation;
	unsigned long start, end, bytes; /* ns */
	const char *name;
	unsigned copy_kind;
};
void standin_trace(unsigned (*enqueued)(void), void (*ran)(const struct standin_activity *a));
unsigned long standin_now(void);
#ifdef __cplusplus
}
#endif
#endif
