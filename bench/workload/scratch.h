/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SCRATCH_H
#define BN_SCRATCH_H
/* Temporary files of a workload, in GPUBENCH_SCRATCH or else in the working directory. They have no name, so nothing
 * remains however the launch ends. */
#include "bench/workload/workload.h"

/* Opens a new unnamed file for reading and writing. Fails with exit status 64 if the directory does not permit it. */
int bn_scratch_open(struct gt_err *err);
/* Fills blocks of 4 KiB with a pattern of block number and seed, starting with number from_block. */
void bn_scratch_fill(unsigned char *buf, size_t bytes, uint64_t from_block, uint64_t seed);
/* Returns the number of blocks of the buffer that differ from bn_scratch_fill(). */
size_t bn_scratch_wrong(const unsigned char *buf, size_t bytes, uint64_t from_block, uint64_t seed);
/* Writes all of buf at the offset. Returns 0, or -1 and sets errno. */
int bn_scratch_write(int fd, const unsigned char *buf, size_t bytes, off_t at);
/* Records the type number of the file system in the notes. */
void bn_scratch_note(struct bn_launch *l, int fd);
#endif
