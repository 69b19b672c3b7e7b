/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CODEC_H
#define RT_CODEC_H
/*
 * How gradients travel. One struct per way; each follows its publication:
 *  fp16, bf16  rounded to nearest even (torch's fp16_compress and bf16_compress hooks; the mean is formed before)
 *  int8        QSGD (Alistarh et al. 2017) with 127 levels, blocks of 512 and their largest magnitude as norm: rounded up or
 *              down by chance so that the expectation is exact
 *  onebit      the sign, times ||x||/sqrt(n); what is lost is added to the next gradient, on the sending side and on the
 *              summing side (1-bit Adam, Tang et al. 2021)
 * A bucket is cut into one segment per rank: segments go to their rank, which sums them in fp32 and sends the sum in the same
 * coding to all. PowerSGD has a file of its own.
 */
#include "lib/util.h"
#include "runtime/runtime.h"

struct rt_codec {
	enum rt_compress id;
	const char *name;
	bool feedback;
	size_t (*bytes)(int64_t n);
	/* One number for the whole tensor that all its segments share; NULL: none. */
	float (*scale)(const float *x, int64_t n);
	/* key picks the random numbers: the same bits for the same key. */
	void (*encode)(const float *x, int64_t n, float scale, uint64_t key, void *out);
	void (*decode)(const void *in, int64_t n, float *x);
};
extern const struct rt_codec *const rt_codecs[]; /* NULL-terminated */
const char *rt_compress_name(enum rt_compress id);
const struct rt_codec *rt_codec_find(enum rt_compress id);
#endif
