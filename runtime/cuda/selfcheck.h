/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_SELFCHECK_H
#define RT_CUDA_SELFCHECK_H
/*
 * Compares the device with the CPU: every op forward and backward on random input of odd and even sizes, with poisoned
 * outputs. Then the same with reused memory and a captured step, which must give the same bits. Then short training
 * runs.
 */
#include "lib/json.h"
#include "runtime/runtime.h"

enum rt_check_type { RT_CHECK_F32, RT_CHECK_TF32, RT_CHECK_BF16, RT_CHECK_F16, RT_CHECK_FP8, RT_N_CHECK_TYPES };
const char *rt_check_type_name(enum rt_check_type t);

/*
 * rows: an array of { "case", "type", "tensor", "error" (relative 2-norm), "worst" (largest error in units of the
 * tensor's root mean square), "limit", "ok" }. One object per compared tensor is appended. If a tensor could not be
 * compared, "failure" has the reason. Returns the number of failures, or a negative errno if the device cannot be used,
 * or not any more. seed selects the numbers. only: prefix of the cases to run; NULL: all cases and the checks below.
 */
int rt_cuda_selfcheck(enum rt_check_type type, const char *only, uint64_t seed, json_t *rows, struct gt_err *err);
/*
 * Compares `ranks` ranks with one device each, in f32, bf16 and f16, with one program on the CPU. A single rank also
 * has a real communicator. Forks, so call it before the process opens a device or runs an OpenMP team. Rows and result
 * as above.
 */
int rt_cuda_selfcheck_ranks(int ranks, uint64_t seed, json_t *rows, struct gt_err *err);
/* Runs only the part about the error feedback of compression, across skipped updates and a checkpoint. */
int rt_check_residual(int ranks, uint64_t seed, json_t *rows, struct gt_err *err);

/* Checks the casts to 8 bits, bit by bit: every bf16 number and random floats of all sizes, NaN and infinities, under
 * several scales, plain and transposed. Also checks the scales that follow from a history. Rows and result as above;
 * -ENOSYS: the device is too old. */
int rt_cuda_selfcheck_fp8(uint64_t seed, json_t *rows, struct gt_err *err);
/* Checks parameters in bf16 only: steps of one eighth of the distance of two numbers take effect on average. Equal
 * seeds give equal bits, different seeds different bits. Rows and result as above. */
int rt_cuda_selfcheck_rounding(uint64_t seed, json_t *rows, struct gt_err *err);
/* Compares AdamW with 8-bit moments with the CPU: weights, codes, scales; f32 and bf16. Rows and result as above. */
int rt_cuda_selfcheck_adam8(enum rt_check_type type, uint64_t seed, json_t *rows, struct gt_err *err);
/* Compares the loss scale of f16 with the CPU, across overflows. Rows and result as above. */
int rt_cuda_selfcheck_scaler(uint64_t seed, json_t *rows, struct gt_err *err);
/* Checks batches of several shapes with padding and accumulation, images as bytes, and programs that do not train, with
 * batchnorms folded into the preceding products. Rows and result as above. */
int rt_cuda_selfcheck_batch(enum rt_check_type type, uint64_t seed, json_t *rows, struct gt_err *err);
/* Checks a layernorm of one long row, in f32: lower precision would hide the error of its sums. Rows and result as
 * above. */
int rt_cuda_selfcheck_long(uint64_t seed, json_t *rows, struct gt_err *err);
/* Checks that a NaN stays a NaN through a relu in a product's epilogue. Adds a row as above, or one whose failure names
 * the library. */
int rt_cuda_selfcheck_nan(enum rt_check_type type, uint64_t seed, json_t *rows, struct gt_err *err);
/* Rounds x to E4M3 or E5M2 by searching all numbers of the format: ties to the even code, too large values to the
 * largest number, NaN to 0x7f. */
uint8_t rt_fp8_nearest(float x, bool e5m2);
double rt_fp8_value(unsigned code, bool e5m2); /* the code must be a finite number */

/*
 * Compares a tensor and adds a row of case `name`. kink: rounding may move a value across zero, which changes a gradient
 * completely. Returns whether the tensor is right.
 */
bool rt_check_compare(enum rt_check_type type, const char *name, bool kink, const char *tensor, const float *want,
		      const float *got, int64_t n, json_t *rows);
/* The same, bit by bit, for any type. */
bool rt_check_bits(enum rt_check_type type, const char *name, const char *tensor, const float *want, const float *got, int64_t n,
		   json_t *rows);
void rt_check_set_type(enum rt_check_type t, struct rt_options *o);
#endif
