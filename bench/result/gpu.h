/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RESULT_GPU_H
#define BN_RESULT_GPU_H
/* The GPU readings of a result, recorded by bench/session/gpu_monitor.h. */
#include "lib/buf.h"
#include "lib/json.h"

/* Returns the share of the time, in percent, that any limit reduced the GPU clocks of a launch with that env. NaN: not
 * recorded. */
double bn_gpu_limited_pct(const json_t *env);
/* Prints "GPU: 1200 to 1980 MHz, …" over all launches of a result. Prints nothing if no GPU was recorded. */
void bn_text_gpu(const json_t *doc, struct gt_buf *out);
#endif
