/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_SELFCHECK_H
#define RT_CUDA_SELFCHECK_H
/*
 * The device against the CPU: every op forward and backward on random input of odd and of even sizes, outputs poisoned
 * first; then the same with memory reused and the step captured, which must give the same bits; then short training runs.
 */
#include "lib/json.h"
#include "runtime/runtime.h"

enum rt_check_type { RT_CHECK_F32, RT_CHECK_TF32, RT_CHECK_BF16, RT_CHECK_F16, RT_CHECK_FP8, RT_N_CHECK_TYPES };
const char *rt_check_type_name(enum rt_check_type t);

/*
 * rows: array of { "case", "type", "tensor", "error" (relative 2-norm), "worst" (largest error in units of the tensor's root
 * mean square), "limit", "ok" }, one per compared tensor, added to; of what could not be compared "failure" says why. Returns how
 * many failed, or a negative errno when the device cannot be used at all, or no longer. seed chooses the numbers. only: cases whose
 * names start so; NULL: all, and what the next functions check.
 */
int rt_cuda_selfcheck(enum rt_check_type type, const char *only, uint64_t seed, json_t *rows, struct gt_err *err);
/*
 * So many ranks, a device each, in f32, bf16 and f16, against one program on the CPU; a single rank has a real communicator too.
 * Forks: before the process has opened a device or run an OpenMP team. Rows and result as above.
 */
int rt_cuda_selfcheck_ranks(int ranks, uint64_t seed, json_t *rows, struct gt_err *err);
/* A part of it: what compression lost, through skipped updates and a checkpoint. */
int rt_check_lost(int ranks, uint64_t seed, json_t *rows, struct gt_err *err);

/* The casts to 8 bits, bit by bit: every bf16 number and random floats of all sizes, NaN and infinities, under several scales, as
 * they are and turned; and the scales that follow from a history. Rows and result as above; -ENOSYS: the card is too old. */
int rt_cuda_selfcheck_fp8(uint64_t seed, json_t *rows, struct gt_err *err);
/* Parameters in bf16 alone: steps of an eighth of what they can tell apart arrive on average, the same seed gives the same bits and
 * another one others. Rows and result as above. */
int rt_cuda_selfcheck_rounding(uint64_t seed, json_t *rows, struct gt_err *err);
/* AdamW with moments of 8 bits beside the CPU's: weights, codes, scales; f32 and bf16. Rows and result as above. */
int rt_cuda_selfcheck_adam8(enum rt_check_type type, uint64_t seed, json_t *rows, struct gt_err *err);
/* The loss scale of f16 beside the CPU's, through overflows. Rows and result as above. */
int rt_cuda_selfcheck_scaler(uint64_t seed, json_t *rows, struct gt_err *err);
/* Batches of several shapes with padding and accumulation, images as bytes, and programs that do not train, with batchnorms taken
 * into the products before them. Rows and result as above. */
int rt_cuda_selfcheck_batch(enum rt_check_type type, uint64_t seed, json_t *rows, struct gt_err *err);
/* A layernorm of one long row, in f32: fewer bits do not show what sums over it lose. Rows and result as above. */
int rt_cuda_selfcheck_long(uint64_t seed, json_t *rows, struct gt_err *err);
/* What is no number, before a relu that a product does with it. A row as above, or one whose failure names the library. */
int rt_cuda_selfcheck_nan(enum rt_check_type type, uint64_t seed, json_t *rows, struct gt_err *err);
/* x as E4M3 or E5M2 by looking for the nearest of all their numbers: ties to the even code, what is too large becomes the
 * largest, NaN is 0x7f. */
uint8_t rt_fp8_nearest(float x, bool e5m2);
double rt_fp8_value(unsigned code, bool e5m2); /* of a finite number */

/* One row, of the case `name`; kink: a value on the other side of zero changes a gradient by all of itself. Is it right? */
bool rt_check_compare(enum rt_check_type type, const char *name, bool kink, const char *tensor, const float *want,
		      const float *got, int64_t n, json_t *rows);
/* The same for bits, whatever the type. */
bool rt_check_bits(enum rt_check_type type, const char *name, const char *tensor, const float *want, const float *got, int64_t n,
		   json_t *rows);
void rt_check_set_type(enum rt_check_type t, struct rt_options *o);
#endif
