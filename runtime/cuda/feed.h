/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_FEED_H
#define RT_CUDA_FEED_H
/*
 * Batches on their way to the first visible card as a training run moves them: from pinned memory, on a stream of their own,
 * into one of two places there, while the card still works on the batch before. The work is a sum of every word, so that what
 * arrived can be compared with what was sent.
 */
#include "runtime/cuda/cuda.h"

struct rt_feed;
/* most: bytes of the largest batch. passes: how often the card reads each, which is how long it works. */
int rt_feed_open(size_t most, unsigned passes, struct rt_feed **ret, struct gt_err *err);
void rt_feed_close(struct rt_feed *f);
GT_DEFINE_AUTO(rt_feed, rt_feed_close);
const char *rt_feed_card(const struct rt_feed *f);

/* rt_loader_options.pin and .unpin, with the feed as pin_arg. */
int rt_feed_pin(void *feed, void *base, size_t bytes, struct gt_err *err);
void rt_feed_unpin(void *feed, void *base, size_t bytes);

/* Send x and y, of lengths that are multiples of 4, as one batch. Returns when their memory may be written again, which is
 * before the card has worked on them. */
int rt_feed_put(struct rt_feed *f, const void *x, size_t x_bytes, const void *y, size_t y_bytes, struct gt_err *err);
/* Wait for all work; the sum of all batches since the last time. */
int rt_feed_sum(struct rt_feed *f, uint64_t *ret, struct gt_err *err);
/* What one batch adds to it, by the host. */
uint64_t rt_feed_expected(const void *x, size_t x_bytes, const void *y, size_t y_bytes, unsigned passes);
/* Seconds of one batch of 4 bytes from rt_feed_put() to the end of its work: what each costs beside its bytes. */
int rt_feed_null(struct rt_feed *f, double *ret_s, struct gt_err *err);
#endif
