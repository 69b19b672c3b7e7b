/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RESULT_GPU_H
#define BN_RESULT_GPU_H
/* What a result says of its GPUs, recorded by bench/session/gpu_monitor.h. */
#include "lib/buf.h"
#include "lib/json.h"

/* Share of the time, in percent, that anything held the clocks of a launch with that env; NaN: not told. */
double bn_gpu_monitor_held_pct(const json_t *env);
/* "GPU: 1200 to 1980 MHz, …" of all launches of a result; nothing where none was recorded. */
void bn_text_gpu(const json_t *doc, struct gt_buf *out);
#endif
