/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STANDIN_RECORD_H
#define STANDIN_RECORD_H
/*
 * STANDIN_TRACE=FILE: the stand-in libraries append one line per call, "DEVICE CALL arguments". A line does not depend
 * on addresses or times, so that the traces of two programs can be compared. Calls that poll (cuEventQuery,
 * ncclCommGetAsyncError) are left out, because their number depends on time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "standin.h"
#ifdef __cplusplus
extern "C" {
#endif
bool standin_records(void);
void standin_record(const char *format, ...) __attribute__((format(printf, 1, 2)));
unsigned standin_stream(const void *stream); /* its number; 0: the NULL stream */
/* Returns "d3+0x100" for device memory, "h1+0" for pinned memory, "null", "host"; valid until the 16th next call. */
const char *standin_at(const void *p);
/* Does the same for a word that may be an address, and records a number otherwise. */
const char *standin_word(uint64_t word);
/* args: the kernel's arguments in sequence, each at a multiple of 8 bytes. */
void standin_record_launch(const struct emu_kernel *k, const unsigned grid[3], const unsigned block[3], size_t shared,
			   const char *args, const void *stream);
/* Hash of the bytes; addresses of device or pinned memory enter by name. */
uint64_t standin_hash(const void *p, size_t bytes);
#ifdef __cplusplus
}
#endif
#endif
