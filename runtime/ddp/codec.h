/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CODEC_H
#define RT_CODEC_H
/*
 * Compression of gradients between ranks. One struct per method, after its publication:
 *  fp16, bf16  rounded to nearest even (torch's fp16_compress and bf16_compress hooks; the mean is formed before)
 *  int8        QSGD (Alistarh et al. 2017) with 127 levels and blocks of 512, with their largest magnitude as norm; stochastic
 *              rounding, so the expectation is exact
 *  onebit      the sign, times ||x||/sqrt(n); the error is added to the next gradient, on the sending side and on the summing
 *              side (1-bit Adam, Tang et al. 2021)
 * A bucket is divided into one segment per rank. Each rank receives its segment from all ranks, sums it in fp32, and sends the
 * sum to all, compressed by the same method. PowerSGD is in its own file.
 */
#include "lib/util.h"
#include "runtime/runtime.h"

struct rt_codec {
	enum rt_compress id;
	const char *name;
	bool feedback;
	size_t (*bytes)(int64_t n);
	/* Returns one number for the whole tensor that all its segments use. NULL: none. */
	float (*scale)(const float *x, int64_t n);
	/* key selects the random numbers: equal keys give equal bits. */
	void (*encode)(const float *x, int64_t n, float scale, uint64_t key, void *out);
	void (*decode)(const void *in, int64_t n, float *x);
};
extern const struct rt_codec *const rt_codecs[]; /* NULL-terminated */
const char *rt_compress_name(enum rt_compress id);
const struct rt_codec *rt_codec_find(enum rt_compress id);
#endif
