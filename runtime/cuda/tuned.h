/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_TUNED_H
#define RT_CUDA_TUNED_H
/*
 * What timing has chosen, kept between runs: one small text file per library, its version and card, one line per shape:
 * the key, a tab, eight hexadecimal words (the library's algorithm), the workspace in bytes. A line that does not read, and a
 * directory that cannot be written, only mean that timing is done again. Programs of one process share what they find.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_TUNED_WORDS	8
struct rt_tuned;
struct rt_tuned *rt_tuned_open(const char *library, const char *card, int arch, size_t library_version);
/* Writes what is new, at once or not at all. */
void rt_tuned_close(struct rt_tuned *t);
bool rt_tuned_get(const struct rt_tuned *t, const char *key, uint64_t words[RT_TUNED_WORDS], size_t *ret_workspace);
void rt_tuned_put(struct rt_tuned *t, const char *key, const uint64_t words[RT_TUNED_WORDS], size_t workspace);
#endif
