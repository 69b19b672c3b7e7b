/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBCUDA_H
#define LIBCUDA_H
/*
 * Interface between the parts of the stand-in driver: libcuda.c has devices, contexts, kernels and memory,
 * libcuda_streams.c the work.
 */
#include <stdbool.h>
#include <stdint.h>
#include "standin.h"

/* The CUresult values that are used here. */
enum {
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	INVALID_IMAGE = 200,
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	NOT_FOUND = 500,
	NOT_READY = 600,
	LAUNCH_OUT_OF_RESOURCES = 701,
	HOST_MEMORY_ALREADY_REGISTERED = 712,
	HOST_MEMORY_NOT_REGISTERED = 713,
	LAUNCH_FAILED = 719,
	CAPTURE_UNSUPPORTED = 900,
	CAPTURE_INVALIDATED = 901,
	CAPTURE_MERGE = 902,
	CAPTURE_UNMATCHED = 903,
	CAPTURE_UNJOINED = 904,
	CAPTURE_ISOLATION = 905,
	CAPTURED_EVENT = 907,
	CAPTURE_WRONG_THREAD = 908,
};

/* Returns 0, or the code of STANDIN_FAIL for this call; a missing context has precedence. */
int standin_verdict(const char *call);
int standin_fail(const char *call); /* the same without a context */
/* For calls that are forbidden during a capture: 900, which also invalidates the capture. */
int standin_unsafe(const char *call);
extern unsigned long standin_waited, standin_waited_events;
extern unsigned long standin_unpinned; /* copies of memory that is not pinned */

/* Checks a block's and a kernel's limits: 0, or the driver's code. */
int standin_may_launch(const struct emu_kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared);
bool standin_pinned(const void *p, size_t n);
int standin_device(void); /* device of the current context of this thread; -1: none */
/* Finds the allocation of p: 'd' (device) or 'h' (pinned), and its number in order of allocation, from 1. */
bool standin_find(const void *p, char *ret_kind, unsigned *ret_number, size_t *ret_offset);
void standin_drain_all(void);
#endif
