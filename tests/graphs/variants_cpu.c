/* SPDX-License-Identifier: Apache-2.0 */
/* What programs promise on the CPU. */
#include "tests/graphs/variants.h"

const enum rt_device ways_device = RT_CPU;
const int ways_programs = 24, ways_first = 1;
const bool made_for_device = false;
const char *const ways_libraries = NULL;
const struct way ways[] = {
	{ "alike", "2 and 4 ranks with the same batch train as one, to the bit", way_ranks_alike, true },
	{ "apart", "2 and 4 ranks with batches of their own train by the weighted mean of all", way_ranks_apart, true },
	{ "coded", "2 and 4 ranks whose gradients travel coded stay alike, and near; again the same bits",
	  way_ranks_coded, true },
	{ "values", "values, losses, gradients and running statistics are those of the plain definitions", way_values, false },
	{ "low", "mixed precision is as near as its type", way_low_values, false },
	{ "pixels", "inputs as bytes are the numbers that they stand for", way_pixels, false },
	{ "inference", "a program without a backward pass gives the loss of the plain definitions", way_inference, false },
	{ "trained", "updates are the plain optimizers', with weights, clipping and a loss scale that skips some", way_trained,
	  false },
	{ "bits", "memory reuse, early updates, checkpointing, budgets and debug aids change no bit", way_same_bits, false },
	{ "resumed", "a checkpoint between updates changes no bit", way_resumed, false },
	{ "shapes", "a program of several batch shapes gives the bits of programs of one", way_shapes, false },
	{ "accumulated", "batches of an update are averaged by their weights", way_accumulated, false },
	{ "mixed", "batches of several shapes are averaged in one update", way_mixed, false },
	{ "refused", "what does not fit is refused by a sentence", way_refused, false },
};
const int n_ways = GT_ARRAY_SIZE(ways);
