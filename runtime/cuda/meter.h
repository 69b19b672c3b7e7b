/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_METER_H
#define RT_CUDA_METER_H
/*
 * Measures the first visible device and its link: copies, launches, matrix products. Times are in seconds between two
 * events on the device, or of the host where the host is measured. Every function checks its result and fails with -EIO
 * if it is wrong.
 */
#include "runtime/cuda/cuda.h"
#include "runtime/runtime.h"

struct rt_meter;
int rt_meter_open(struct rt_meter **ret, struct gt_err *err);
/* Opens the visible device with that index, from 0. */
int rt_meter_open_device(int index, struct rt_meter **ret, struct gt_err *err);
void rt_meter_close(struct rt_meter *m);
GT_DEFINE_AUTO(rt_meter, rt_meter_close);
const char *rt_meter_card(const struct rt_meter *m);
int rt_meter_devices(const struct rt_meter *m); /* number of visible devices */
uint64_t rt_meter_free_bytes(const struct rt_meter *m); /* free memory of the device at open */

/* Measures the time between two events with nothing in between, which every device time includes. */
int rt_meter_null(struct rt_meter *m, double *ret_s, struct gt_err *err);

/* Locks `bytes` of host memory, so that the device copies from it directly. */
int rt_meter_pin(struct rt_meter *m, void *host, size_t bytes, struct gt_err *err);
void rt_meter_unpin(struct rt_meter *m, void *host);

enum rt_meter_copy { RT_COPY_TO, RT_COPY_FROM, RT_COPY_WITHIN };
/*
 * Copies `bytes` (a multiple of 8) n times; ret_s[i] is the time of copy i. host: memory of that size, pinned or not;
 * it is overwritten. WITHIN the device: host receives the data for comparison. spoil: changes one byte before the
 * check.
 */
int rt_meter_copy(struct rt_meter *m, enum rt_meter_copy kind, void *host, size_t bytes, bool pinned, bool spoil, int n,
		  double *ret_s, struct gt_err *err);

enum rt_meter_launch { RT_LAUNCH_ALONE, RT_LAUNCH_ROW, RT_LAUNCH_GRAPH };
/* Measures `count` launches of the smallest kernel, in seconds per launch: ALONE, with a wait after each; in a ROW; as
 * a captured GRAPH. */
int rt_meter_launch(struct rt_meter *m, enum rt_meter_launch kind, int count, bool spoil, double *ret_s, struct gt_err *err);

/* Measures side x side products in flop/s with the best of a few algorithms: E4M3 (if the device supports it; bf16
 * result), bf16, f32, or f32 by TF32. ret_flops_per_s (n). */
int rt_meter_product(struct rt_meter *m, enum rt_dtype type, bool tf32, int64_t side, bool spoil, int n,
		     double *ret_flops_per_s, struct gt_err *err);
bool rt_meter_has_fp8(const struct rt_meter *m);
/* Returns a side that uses all multiprocessors of the device. */
int64_t rt_meter_side(const struct rt_meter *m);

/* Measures the device's peaks for profiles, as rt_measure_peaks() does for the CPU. tf32: measure flops_per_s with TF32. */
int rt_meter_peaks(bool tf32, bool f16, struct rt_peaks *ret, struct gt_err *err);
#endif
