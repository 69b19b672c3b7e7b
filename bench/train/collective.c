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

/* Each rank gets one row and the integer part of its share of the others. The remaining rows go to the largest
 * fractions. */
int bn_train_split(struct rt_comm *c, double speed, uint64_t all, uint64_t *rows, struct gt_err *err)
{
	double of[RT_MAX_RANKS], sum = 0;
	int size = rt_comm_size(c), r = rt_comm_gather(c, speed, of, err);
	uint64_t given = 0, free_rows = all - (uint64_t)size;

	if (r)
		return r;
	for (int i = 0; i < size; i++) {
		if (!isfinite(of[i]) || of[i] <= 0)
			return gt_fail(err, EPROTO, "rank %d says that its speed is %g", i, of[i]);
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

		if (!r)
			r = rt_coll_start(k, err);
		if (!r)
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

static int measure(struct rt_comm *c, struct rt_window *w, json_t *doc, struct gt_err *err)
{
	static const int64_t floats[] = { 1 << 18, 1 << 20, 6553600 };
	json_t *times = json_object();

	json_object_set_new(doc, "allreduce_median_s_by_bytes", times);
	for (size_t i = 0; i < GT_ARRAY_SIZE(floats); i++) {
		struct rt_coll k = { .kind = RT_ALLREDUCE, .window = w, .n = floats[i], .threads = GT_MAX(rt_comm_cpus(c), 1) };
		char name[32];
		double s = 0;
		int r = rt_coll_init(&k, err);

		if (!r)
			r = reduce_time(&k, &s, err);
		rt_coll_clear(&k);
		if (r)
			return r;
		snprintf(name, sizeof(name), "%lld", (long long)floats[i] * 4);
		json_object_set_new(times, name, gt_json_real(s));
	}
	return 0;
}

/* Sets doc[key] to the values of all ranks, null for NAN. */
static int put_all(struct rt_comm *c, double mine, const char *key, json_t *doc, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	json_t *list = json_array();
	int r = rt_comm_gather(c, mine, of, err);

	for (int i = 0; !r && i < rt_comm_size(c); i++)
		json_array_append_new(list, gt_json_real(of[i]));
	json_object_set_new(doc, key, list);
	return r;
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
	struct rt_window w = { 0 };
	double of[RT_MAX_RANKS];
	json_t *doc = json_object(), *list = json_array();
	bool tcp = gt_streq(rt_comm_transport(c), "tcp");
	int r = rt_comm_gather(c, (double)rows, of, err);

	json_object_set_new(doc, "rows", list);
	for (int i = 0; !r && i < rt_comm_size(c); i++) {
		if (!(of[i] >= 0 && of[i] < 1e15))
			r = gt_fail(err, EPROTO, "rank %d says that it has %g rows", i, of[i]);
		else
			json_array_append_new(list, json_integer((json_int_t)of[i]));
	}
	if (!r)
		r = put_all(c, rt_comm_home(c) < 0 ? NAN : rt_comm_home(c), "home_node", doc, err);
	if (!r)
		r = put_all(c, rt_program_pages_at(p, rt_comm_home(c)), "pages_at_home", doc, err);
	if (tcp) /* gradients are not sent over TCP */
		json_object_set_new(doc, "allreduce_median_s_by_bytes", json_object());
	if (!r && !tcp)
		r = rt_window_map(c, 6553600 * sizeof(float), true, &w, err);
	if (!r && !tcp) {
		r = measure(c, &w, doc, err);
		rt_window_unmap(&w);
	}
	if (r)
		json_decref(doc);
	else
		*ret = doc;
	return r;
}
