/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_TUNED_H
#define RT_CUDA_TUNED_H
/*
 * Choices by timing, stored between runs: one small text file per library, library version and device, with one line
 * per shape. A line is the key, a tab, eight hexadecimal words (the library's algorithm), and the workspace in bytes.
 * If a line is invalid or the directory is not writable, the timing is only done again. Programs of one process share
 * their choices.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_TUNED_WORDS	8
struct rt_tuned;
struct rt_tuned *rt_tuned_open(const char *library, const char *card, int arch, size_t library_version);
/* Writes the new choices, atomically or not at all. */
void rt_tuned_close(struct rt_tuned *t);
bool rt_tuned_get(const struct rt_tuned *t, const char *key, uint64_t words[RT_TUNED_WORDS], size_t *ret_workspace);
void rt_tuned_put(struct rt_tuned *t, const char *key, const uint64_t words[RT_TUNED_WORDS], size_t workspace);
#endif
