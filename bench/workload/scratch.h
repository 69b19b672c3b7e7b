/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SCRATCH_H
#define BN_SCRATCH_H
/* Files that a workload writes: in GPUBENCH_SCRATCH, else where gpubench was started; without a name, so that nothing stays
 * behind however the launch ends. */
#include "bench/workload/workload.h"

/* A new nameless file, read and write; a folder that will not have it is the user's to mend: exit status 64. */
int bn_scratch_open(struct gt_err *err);
/* Blocks of 4 KiB, each filled with a pattern of its number and the seed, from `from` on. */
void bn_scratch_fill(unsigned char *buf, size_t bytes, uint64_t from_block, uint64_t seed);
/* How many blocks of the buffer are not what bn_scratch_fill() would have written. */
size_t bn_scratch_wrong(const unsigned char *buf, size_t bytes, uint64_t from_block, uint64_t seed);
/* All of buf at the offset; 0 or -1 and errno. */
int bn_scratch_write(int fd, const unsigned char *buf, size_t bytes, off_t at);
/* Into the notes: on which kind of file system (number of its type) the files lie. */
void bn_scratch_note(struct bn_launch *l, int fd);
#endif
