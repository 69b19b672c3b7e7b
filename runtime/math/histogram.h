/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_HISTOGRAM_H
#define RT_HISTOGRAM_H
/* A histogram of the values of a tensor over many batches, and the range that 8 bits should represent. */
#include <stdint.h>
#include "runtime/runtime.h"

#define RT_HISTOGRAM_BINS	4096
/* Bins of equal width from -limit to limit. All zero: no values. */
struct rt_histogram {
	float lo, hi; /* smallest and largest value, and 0 */
	float limit;  /* a power of two */
	float bad;    /* number of values that are not finite; not counted elsewhere */
	float total;  /* number of values */
	float count[RT_HISTOGRAM_BINS];
};
#define RT_HISTOGRAM_FLOATS	((int64_t)(sizeof(struct rt_histogram) / sizeof(float)))

void rt_histogram_add(struct rt_histogram *h, const float *x, int64_t n);
/* Returns the range that this method chooses; *lo <= 0 <= *hi. percentile: in (50,100]. */
void rt_histogram_range(const struct rt_histogram *h, enum rt_calibration method, double percentile, float *lo, float *hi);
#endif
