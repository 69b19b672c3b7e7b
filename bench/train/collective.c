/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a batch among ranks, sums over ranks, and measures the duration of reductions. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/train/collective.h"
#include "runtime/runtime.h"
#include "runtime/transport/comm.h"

#define ROUNDS	15
#define FLOATS_MAX	6553600 /* elements of the largest timed allreduce */

/*
 * Splits the rows: each rank gets one row and the integer part of its share of the others. The remaining rows go to the
 * ranks with the largest fractions.
 */
int bn_train_split(struct rt_comm *c, double speed, uint64_t all, uint64_t *rows, struct gt_err *err)
{
	double of[RT_MAX_RANKS], sum = 0;
	int size = rt_comm_size(c), r = rt_comm_gather(c, speed, of, err);
	uint64_t given = 0, free_rows = all - (uint64_t)size;

	if (r)
		return r;
	for (int i = 0; i < size; i++) {
		if (!isfinite(of[i]) || of[i] <= 0)
			return gt_fail(err, EPROTO, "rank %d reports a speed of %g", i, of[i]);
		sum += of[i];
	}
	for (int i = 0; i < size; i++) {
		double share = (double)free_rows * of[i] / sum;

		rows[i] = 1 + (uint64_t)share;
		of[i] = share - floor(share);
		given += rows[i];
	}
	for (; given < all; given++) {
		int best = 0;

		for (int i = 1; i < size; i++)
			best = of[i] > of[best] ? i : best;
		rows[best]++;
		of[best] = -1;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int reduce_time(struct rt_coll *k, double *ret, struct gt_err *err)
{
	double s[ROUNDS], all[RT_MAX_RANKS];

	for (int i = -2; i < ROUNDS; i++) {
		int r = rt_comm_gather(k->window->comm, 0, all, err);
		double t0 = gt_now_s();

		if (r)
			return r;
		r = rt_coll_start(k, err);
		if (r)
			return r;
		r = rt_coll_wait(k, err);
		if (r)
			return r;
		if (i >= 0)
			s[i] = gt_now_s() - t0;
	}
	qsort(s, ROUNDS, sizeof(*s), by_value);
	*ret = s[ROUNDS / 2];
	return 0;
}

/* Adds the median time of an allreduce by bytes. Gradients are not sent over TCP, which is not measured. */
static int put_times(struct rt_comm *c, json_t *doc, struct gt_err *err)
{
	static const int64_t floats[] = { 1 << 18, 1 << 20, FLOATS_MAX };
	json_t *times = json_object();
	rt_auto_window w = { 0 };
	int r;

	json_object_set_new(doc, "allreduce_median_s_by_bytes", times);
	if (gt_streq(rt_comm_transport(c), "tcp"))
		return 0;
	r = rt_window_map(c, FLOATS_MAX * sizeof(float), true, &w, err);
	if (r)
		return r;
	for (size_t i = 0; i < GT_ARRAY_SIZE(floats); i++) {
		rt_auto_coll k = { .kind = RT_ALLREDUCE, .window = &w, .n = floats[i], .threads = GT_MAX(rt_comm_cpus(c), 1) };
		char name[32];
		double s;

		r = rt_coll_init(&k, err);
		if (r)
			return r;
		r = reduce_time(&k, &s, err);
		if (r)
			return r;
		snprintf(name, sizeof(name), "%lld", (long long)floats[i] * 4);
		json_object_set_new(times, name, gt_json_real(s));
	}
	return 0;
}

/* Sets doc[key] to the values of all ranks, null for NAN. */
static int put_all(struct rt_comm *c, double value, const char *key, json_t *doc, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	json_t *list;
	int r = rt_comm_gather(c, value, of, err);

	if (r)
		return r;
	list = json_array();
	for (int i = 0; i < rt_comm_size(c); i++)
		json_array_append_new(list, gt_json_real(of[i]));
	json_object_set_new(doc, key, list);
	return 0;
}

static int put_rows(struct rt_comm *c, uint64_t rows, json_t *doc, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	json_t *list;
	int r = rt_comm_gather(c, (double)rows, of, err);

	if (r)
		return r;
	list = json_array();
	json_object_set_new(doc, "rows", list);
	for (int i = 0; i < rt_comm_size(c); i++) {
		if (!(of[i] >= 0 && of[i] < 1e15))
			return gt_fail(err, EPROTO, "rank %d reports %g rows", i, of[i]);
		json_array_append_new(list, json_integer((json_int_t)of[i]));
	}
	return 0;
}

int bn_train_sum(struct rt_comm *c, double *x, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	int r = rt_comm_gather(c, *x, of, err);

	if (r)
		return r;
	*x = 0;
	for (int i = 0; i < rt_comm_size(c); i++)
		*x += of[i];
	return 0;
}

int bn_train_measure_ranks(struct rt_comm *c, const struct rt_program *p, uint64_t rows, json_t **ret, struct gt_err *err)
{
	gt_auto_json *doc = json_object();
	int r;

	r = put_rows(c, rows, doc, err);
	if (r)
		return r;
	r = put_all(c, rt_comm_home(c) < 0 ? NAN : rt_comm_home(c), "home_node", doc, err);
	if (r)
		return r;
	r = put_all(c, rt_program_pages_at(p, rt_comm_home(c)), "pages_at_home", doc, err);
	if (r)
		return r;
	r = put_times(c, doc, err);
	if (r)
		return r;
	*ret = gt_take(doc);
	return 0;
}
