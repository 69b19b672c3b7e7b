/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of programs on the CPU. */
#include "tests/graphs/variants.h"

const enum rt_device variants_device = RT_CPU;
const int variants_programs = 24, variants_first = 1;
const bool gen_for_device = false;
const char *const variants_libraries = NULL;
const struct variant variants[] = {
	{ "alike", "2 and 4 ranks with the same batch train as one, to the bit", variant_ranks_alike, true },
	{ "apart", "2 and 4 ranks with batches of their own train by the weighted mean of all", variant_ranks_apart, true },
	{ "coded", "2 and 4 ranks with compressed gradients stay equal, near the uncompressed result, and reproducible",
	  variant_ranks_compressed, true },
	{ "split", "ranks that split the layers, the stages or both train like one", variant_split, true },
	{ "values", "values, losses, gradients and running statistics are those of the plain definitions", variant_values, false },
	{ "low", "mixed precision is within the error bound of its type", variant_reduced_values, false },
	{ "pixels", "inputs as bytes give the results of the numbers that they encode", variant_pixels, false },
	{ "inference", "a program without a backward pass gives the loss of the plain definitions", variant_inference, false },
	{ "trained", "updates are the plain optimizers', with weights, clipping and a loss scale that skips some", variant_trained,
	  false },
	{ "bits", "memory reuse, early updates, checkpointing, budgets and debug aids change no bit", variant_same_bits, false },
	{ "resumed", "a checkpoint between updates changes no bit", variant_resumed, false },
	{ "shapes", "a program of several batch shapes gives the bits of programs of one", variant_shapes, false },
	{ "accumulated", "batches of an update are averaged by their weights", variant_accumulated, false },
	{ "mixed", "batches of several shapes are averaged in one update", variant_mixed, false },
	{ "masked", "pruned weights are the smallest, stay 0, and change no other bit of an update", variant_masked, false },
	{ "smaller", "a program without units computes the loss of the program with zeroed units", variant_smaller, false },
	{ "int8", "INT8 products agree with the roundings of training, and memory reuse changes no bit", variant_int8, false },
	{ "refused", "a program that does not fit is rejected with a message", variant_refused, false },
};
const int n_variants = GT_ARRAY_SIZE(variants);
_Static_assert(GT_ARRAY_SIZE(variants) <= VARIANTS_MOST, "VARIANTS_MOST is too small");
