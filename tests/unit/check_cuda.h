/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_CUDA_H
#define CHECK_CUDA_H
#include <check.h>

struct result {
	int status;
	char out[2048];
};
/* Runs this program again with additional variables and the stand-in's directory first in the library path. */
struct result run_with(const char *what, const char *var, const char *dir);

/*
 * cuda_memory.c: memory, anomalies, checkpoints, checked kernels. Runs the named case in the child; returns -1 for an
 * unknown name.
 */
int child_memory(const char *what);
void add_memory_tests(TCase *tc, TCase *slow);

/* cuda_driver.c: the driver's rules, choices by timing, places of libraries. Returns -1 for an unknown name. */
int child_driver(const char *what);
void add_driver_tests(TCase *tc, TCase *slow);

/* cuda_own.c: user ops. Returns -1 for an unknown name. */
int child_own(const char *what);
void add_own_tests(TCase *tc);

/* cuda_outputs.c: programs with outputs. Returns -1 for an unknown name. */
int child_outputs(const char *what);
void add_outputs_tests(TCase *tc);

/* cuda_compressed.c: removed units, refused ops. Returns -1 for an unknown name. */
int child_compressed(const char *what);
void add_compressed_tests(TCase *tc);

/* cuda_eight.c: 8-bit products. Returns -1 for an unknown name. */
int child_eight(const char *what);
void add_eight_tests(TCase *tc);

/* cuda_trace.c: waits of a step, and sources of its times. Returns -1 for an unknown name. */
int child_trace(const char *what);
void add_trace_tests(TCase *tc, TCase *slow);

/* cuda_ranks.c: ranks on devices. Returns -1 for an unknown name. */
int child_ranks(const char *what);
void add_ranks_tests(TCase *tc);

/* cuda_tensor.c: ranks that split a model. Returns -1 for an unknown name. */
int child_tensor(const char *what);
void add_tensor_tests(TCase *tc);
#endif
