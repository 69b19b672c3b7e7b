/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_LENGTHS_H
#define RT_LENGTHS_H
/*
 * Puts samples of different lengths into batches of few shapes. The padded lengths are chosen for the least padding. All
 * samples of a batch have the same padded length. In each epoch a keyed permutation selects which samples of a length
 * form a batch. Batch t can therefore be computed without reading ahead and without the batches before it.
 */
#include "runtime/data/loader.h"

struct rt_lengths {
	int n;
	struct rt_length of[RT_LENGTHS_MAX]; /* sorted by width */
	uint64_t first[RT_LENGTHS_MAX];	     /* first sample of the source with that length */
	uint64_t batches;      /* number of batches of an epoch */
	uint64_t tokens;      /* number of tokens of this part, without padding */
	uint64_t skipped;		     /* documents too short for a target */
};

/*
 * counts[i] is the number of samples with i + 1 units, i < n. Chooses at most k widths with the least padding, in units
 * and ascending, and returns their number. The last width is that of the longest sample.
 */
int rt_lengths_choose(const uint64_t *counts, int n, int k, int *ret);
/* Sets the rows of a batch of each width and the batches of an epoch. Requires widths and documents. -EINVAL: the
 * budget is too small for one sample. ranks: number of ranks that the rows are distributed to. */
int rt_lengths_set_rows(struct rt_lengths *l, const uint64_t *all_documents, int64_t rows, int64_t budget, uint64_t ranks,
			struct gt_err *err);
/* Returns the length of batch i of an epoch, i < batches, and its index among the batches of that length. */
int rt_lengths_find(const struct rt_lengths *l, uint64_t i, uint64_t *ret_batch);
#endif
