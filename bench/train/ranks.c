/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench train --ranks N: the same run in N processes, their split, and how fast they reduce. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/train/train.h"
#include "lib/log.h"
#include "runtime/cuda/cuda.h"
#include "runtime/runtime.h"
#include "runtime/transport/comm.h"

#define ROUNDS	15

int bn_train_compress(const char *name)
{
	static const char *const names[] = { "none", "fp16", "bf16", "int8", "powersgd", "onebit" };

	for (size_t i = 0; name && i < GT_ARRAY_SIZE(names); i++)
		if (gt_streq(name, names[i]))
			return (int)i;
	return RT_COMPRESS_NONE;
}

/* Everybody gets one row and the whole part of his share of the rest; what remains goes to the largest fractions. */
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

/* doc[key]: everybody's value, null for NAN. */
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
	if (tcp) /* no gradients go over it */
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

static int part(struct rt_comm *c, const struct bn_train_options *all, json_t **ret, struct gt_err *err)
{
	struct bn_train_options o = *all;

	if (rt_comm_rank(c) > 0)
		o.progress = NULL;
	if (o.rank_timeout_s > 0)
		rt_comm_set_timeout(c, o.rank_timeout_s);
	if (!o.threads && rt_comm_cpus(c) && !getenv("OMP_NUM_THREADS"))
		o.threads = (uint64_t)rt_comm_cpus(c);
	o.memory_limit_bytes /= (uint64_t)rt_comm_size(rt_comm_local(c));
	return bn_train_rank(&o, c, ret, err);
}

static int one_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	gt_auto_json *doc = NULL;
	int r = part(c, arg, &doc, err);

	if (!r && doc) {
		gt_autofree char *text = gt_json_text(doc);

		rt_comm_answer(c, text);
	}
	return r;
}

int bn_train_ranks(const struct bn_train_options *o, json_t **ret, struct gt_err *err)
{
	struct rt_group g = { .ranks = (int)o->ranks,
			      .no_pin = o->no_pin,
			      .home = gt_streq(o->device, "cuda") ? rt_cuda_home : NULL };
	struct bn_train_options copy = *o;
	int r = rt_group_run(&g, one_rank, &copy, err);

	if (!r)
		r = gt_json_parse(g.answer ? g.answer : "", g.answer ? strlen(g.answer) : 0, "the answer of rank 0", ret, err);
	free(g.answer);
	return r;
}

/* mpirun ends the other ranks when one calls it off; without it they see that its connection ends. The sentence is printed here,
 * for nobody returns to main. */
_Noreturn static void call_off(struct rt_comm *c, struct gt_err *err)
{
	if (c)
		gt_fail_prefix(err, "rank %d%s%s", rt_comm_rank(c), *rt_comm_place(c) ? ", " : "", rt_comm_place(c));
	gt_progress_end();
	gt_log(GT_LOG_ERROR, "%s", err->msg);
	fflush(NULL);
	rt_comm_abort(c, err->exit_status ? err->exit_status : GT_EXIT_INTERNAL);
}

int bn_train_started(const struct bn_train_options *o, json_t **ret, struct gt_err *err)
{
	struct bn_train_options mine = *o;
	struct gt_err why = { 0 };
	struct rt_comm *c = NULL;
	bool mpi = rt_mpi_started();
	int r;

	if (o->ranks)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--ranks: %s has started the ranks, it says how many",
				    mpi ? "mpirun" : "srun or torchrun");
	if (!mpi && !gt_streq(o->device, "cuda"))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "ranks that srun or torchrun started go with --device cuda: on CPUs take --ranks or mpirun, "
				    "or unset RANK and SLURM_PROCID for one alone");
	r = mpi ? rt_comm_mpi(o->no_pin, &c, &why) : rt_comm_env(o->no_pin, rt_cuda_home_own, &c, &why);
	if (!r) {
		mine.ranks = (uint64_t)rt_comm_size(c);
		r = part(c, &mine, ret, &why);
	}
	if (r)
		call_off(c, &why);
	rt_comm_free(c);
	return 0;
}
