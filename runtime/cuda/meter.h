/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_METER_H
#define RT_CUDA_METER_H
/*
 * What the first visible card and the link to it can do: copies, launches, matrix products. Times are seconds between two
 * events on the card, or of the host where the host itself is what is measured. Every function looks at its result and fails
 * with -EIO and a sentence when it is wrong.
 */
#include "runtime/cuda/cuda.h"
#include "runtime/runtime.h"

struct rt_meter;
int rt_meter_open(struct rt_meter **ret, struct gt_err *err);
/* The visible device of that index, from 0. */
int rt_meter_open_device(int index, struct rt_meter **ret, struct gt_err *err);
void rt_meter_close(struct rt_meter *m);
GT_DEFINE_AUTO(rt_meter, rt_meter_close);
const char *rt_meter_card(const struct rt_meter *m);
int rt_meter_devices(const struct rt_meter *m); /* that are visible, this one among them */
uint64_t rt_meter_free_bytes(const struct rt_meter *m); /* of the card's memory, when it was opened */

/* Seconds between two events with nothing between them: what every time on the card has too much. */
int rt_meter_null(struct rt_meter *m, double *ret_s, struct gt_err *err);

/* Fix `bytes` of the host's memory in place, for copies without a detour. */
int rt_meter_pin(struct rt_meter *m, void *host, size_t bytes, struct gt_err *err);
void rt_meter_unpin(struct rt_meter *m, void *host);

enum rt_meter_copy { RT_COPY_TO, RT_COPY_FROM, RT_COPY_WITHIN };
/*
 * Copy `bytes` (a multiple of 8) n times, ret_s[i] the seconds of copy i. host: that much memory, pinned or not; its content
 * is lost. WITHIN the card: host holds what is compared. spoil: change one byte before the result is looked at.
 */
int rt_meter_copy(struct rt_meter *m, enum rt_meter_copy kind, void *host, size_t bytes, bool pinned, bool spoil, int n,
		  double *ret_s, struct gt_err *err);

enum rt_meter_launch { RT_LAUNCH_ALONE, RT_LAUNCH_ROW, RT_LAUNCH_GRAPH };
/* Seconds for each of `count` launches of the smallest kernel: ALONE, each waited for; in a ROW; as a captured GRAPH. */
int rt_meter_launch(struct rt_meter *m, enum rt_meter_launch kind, int count, bool spoil, double *ret_s, struct gt_err *err);

/* Flop/s of side x side products with the best algorithm of a few: E4M3 (where the card has it; the result is bf16), bf16, f32, or
 * f32 by TF32. ret_flops_per_s (n). */
int rt_meter_product(struct rt_meter *m, enum rt_dtype type, bool tf32, int64_t side, bool spoil, int n,
		     double *ret_flops_per_s, struct gt_err *err);
bool rt_meter_has_fp8(const struct rt_meter *m);
/* A side that keeps all of the card's multiprocessors busy. */
int64_t rt_meter_side(const struct rt_meter *m);

/* The card's yardstick for profiles, as rt_measure_peaks() for the CPU. tf32: what flops_per_s is of. */
int rt_meter_peaks(bool tf32, bool f16, struct rt_peaks *ret, struct gt_err *err);
#endif
