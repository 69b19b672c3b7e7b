/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_LENGTHS_H
#define RT_LENGTHS_H
/*
 * Samples of different lengths in batches of few shapes. The lengths that samples are padded to are chosen so that as little as
 * possible is padding; a batch holds samples of one of them. Which samples meet is drawn anew in each epoch from all of the same
 * length, by a keyed permutation: nothing is read ahead, and batch t is known without the batches before it.
 */
#include "runtime/data/loader.h"

struct rt_lengths {
	int n;
	struct rt_length of[RT_LENGTHS_MAX]; /* by width */
	uint64_t first[RT_LENGTHS_MAX];	     /* sample of the source */
	uint64_t batches;		     /* of an epoch */
	uint64_t tokens;		     /* of our part, without padding */
	uint64_t skipped;		     /* documents too short to predict anything */
};

/* counts[i] samples are i + 1 units long, i below n. The at most k widths, in units and rising, that pad least; returns how
 * many. The last one is the longest sample's. */
int rt_lengths_choose(const uint64_t *counts, int n, int k, int *ret);
/* How many rows a batch of each width has, and how many batches an epoch: after widths and documents are known. -EINVAL: the
 * budget does not hold one sample. ranks: among which rows are dealt out. */
int rt_lengths_set_rows(struct rt_lengths *l, const uint64_t *all_documents, int64_t rows, int64_t budget, uint64_t ranks,
			struct gt_err *err);
/* Batch i of an epoch: its length, and which of that length's batches. i below batches. */
int rt_lengths_find(const struct rt_lengths *l, uint64_t i, uint64_t *ret_batch);
#endif
