/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of programs on the CUDA device. */
#include "tests/graphs/variants.h"

const enum rt_device variants_device = RT_CUDA;
const int variants_programs = 6, variants_first = 1;
const bool gen_for_device = true;
const char *const variants_libraries = STANDIN_DIR;
const struct variant variants[] = {
	{ "alike", "2 and 4 ranks with the same batch train as one, to the bit", variant_ranks_alike, true },
	{ "values", "values, losses, gradients and running statistics are those of the plain definitions",
	  variant_values_cuda, false },
	{ "low", "TF32, bf16, f16 and fp8 are within the error bounds of their types", variant_reduced_values_cuda, false },
	{ "pixels", "inputs as bytes give the results of the numbers that they encode", variant_pixels, false },
	{ "inference", "a program without a backward pass gives the loss of the plain definitions", variant_inference, false },
	{ "rules", "each update follows the rule of its optimizer", variant_rules, false },
	{ "bits", "captured or not, memory reuse, checkpointing, budgets and debug aids change no bit", variant_same_bits, false },
	{ "resumed", "a checkpoint between updates changes no bit", variant_resumed, false },
	{ "shapes", "a program of several batch shapes gives the bits of programs of one", variant_shapes, false },
	{ "accumulated", "batches of an update are averaged by their weights", variant_accumulated, false },
	{ "mixed", "batches of several shapes are averaged in one update", variant_mixed, false },
};
const int n_variants = GT_ARRAY_SIZE(variants);
_Static_assert(GT_ARRAY_SIZE(variants) <= VARIANTS_MOST, "VARIANTS_MOST is too small");
