/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_FEED_H
#define RT_CUDA_FEED_H
/*
 * Sends batches to the first visible device as a training run does. The copy is from pinned memory, on a separate stream, into
 * one of two buffers, while the device still works on the previous batch. The work is a sum of every word, so that the received
 * data can be compared with the sent data.
 */
#include "runtime/cuda/cuda.h"

struct rt_feed;
/*
 * most: size of the largest batch in bytes. passes: number of times that the device reads each batch; determines how
 * long its work takes.
 */
int rt_feed_open(size_t most, unsigned passes, struct rt_feed **ret, struct gt_err *err);
void rt_feed_close(struct rt_feed *f);
GT_DEFINE_AUTO(rt_feed, rt_feed_close);
const char *rt_feed_card(const struct rt_feed *f);

/* rt_loader_options.pin and .unpin, with the feed as pin_arg. */
int rt_feed_pin(void *feed, void *base, size_t bytes, struct gt_err *err);
void rt_feed_unpin(void *feed, void *base, size_t bytes);

/* Sends x and y as one batch; their sizes must be multiples of 4. Returns when their memory may be overwritten, which
 * is before the device has finished its work. */
int rt_feed_put(struct rt_feed *f, const void *x, size_t x_bytes, const void *y, size_t y_bytes, struct gt_err *err);
/* Waits for all work and returns the sum of all batches since the last call. */
int rt_feed_sum(struct rt_feed *f, uint64_t *ret, struct gt_err *err);
/* Computes on the host what one batch adds to the sum. */
uint64_t rt_feed_expected(const void *x, size_t x_bytes, const void *y, size_t y_bytes, unsigned passes);
/* Measures the time of a batch of 4 bytes from rt_feed_put() to the end of its work: the fixed cost of a batch. */
int rt_feed_null(struct rt_feed *f, double *ret_s, struct gt_err *err);
#endif
