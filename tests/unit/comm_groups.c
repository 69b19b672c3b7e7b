/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of some of the ranks, and ranks in a grid. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "runtime/transport/transport.h"
#include "tests/unit/check_comm.h"

#define FLOATS	1000

static const struct grid {
	int ranks, size[RT_DIMS], node[8];
} grids[] = {
	{ 4, { 2, 2, 1 }, { 0 } },
	{ 6, { 3, 2, 1 }, { 0 } },
	{ 8, { 2, 2, 2 }, { 0, 0, 0, 0, 1, 1, 1, 1 } },
	{ 4, { 4, 1, 1 }, { 0 } }, /* the group of the first dimension is that of all ranks */
	{ 4, { 1, 1, 4 }, { 0 } },
};

/* Returns the sum of f(rank) over the ranks that differ from this one in dimension d only. */
static double expected_sum(const struct rt_mesh *m, int d, int64_t i)
{
	double sum = 0;
	int at[RT_DIMS];

	memcpy(at, m->at, sizeof(at));
	for (at[d] = 0; at[d] < m->size[d]; at[d]++)
		sum += (double)rt_random_normal(3, (uint64_t)rt_mesh_rank(m, at), (uint64_t)i);
	return sum;
}

/* Sums in the group of dimension d, `rounds` times with one collective. */
static int sum_in(const struct rt_mesh *m, int d, int rounds, struct gt_err *err)
{
	rt_auto_window w = { 0 };
	rt_auto_coll k = { .kind = RT_ALLREDUCE, .window = &w, .n = FLOATS, .unweighted = true };
	float *x;
	int r = rt_window_map(m->group[d], FLOATS * sizeof(float), false, &w, err);

	if (r)
		return r;
	r = rt_coll_init(&k, err);
	if (r)
		return r;
	x = (float *)(void *)w.base;
	for (int round = 0; round < rounds; round++) {
		for (int64_t i = 0; i < FLOATS; i++)
			x[i] = rt_random_normal(3, (uint64_t)rt_comm_rank(m->world), (uint64_t)(i + round));
		r = rt_coll_start(&k, err);
		if (r)
			return r;
		r = rt_coll_wait(&k, err);
		if (r)
			return r;
		for (int64_t i = 0; i < FLOATS; i++)
			WANT(fabs((double)x[i] - expected_sum(m, d, i + round)) < 1e-5, "dimension %d element %lld is %g, not %g",
			     d, (long long)i, (double)x[i], expected_sum(m, d, i + round));
		r = rt_comm_agree(m->group[d], gt_hash64(x, sizeof(float) * FLOATS, 0), "the sum", err);
		if (r)
			return r;
	}
	return 0;
}

/*
 * Every dimension sums on its own. Ranks call the groups of their dimensions a different number of times, as the stages
 * of a pipeline do, so their windows have different offsets and their channels different counts.
 */
static int sums_in_groups(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct grid *g = arg;
	rt_auto_mesh m = { 0 };
	int r = rt_mesh_open(c, g->size, &m, err);

	if (r)
		return r;
	WANT(rt_mesh_rank(&m, m.at) == rt_comm_rank(c), "rank %d has the coordinates of rank %d", rt_comm_rank(c),
	     rt_mesh_rank(&m, m.at));
	for (int round = 0; round < 3; round++)
		for (int d = 0; d < RT_DIMS; d++) {
			int rounds = 1 + round + 2 * m.at[(d + 1) % RT_DIMS];

			WANT(!m.group[d] == (m.size[d] == 1), "dimension %d of size %d", d, m.size[d]);
			if (!m.group[d])
				continue;
			WANT(rt_comm_rank(m.group[d]) == m.at[d] && rt_comm_size(m.group[d]) == m.size[d],
			     "dimension %d: rank %d of %d", d, rt_comm_rank(m.group[d]), rt_comm_size(m.group[d]));
			r = sum_in(&m, d, rounds, err);
			if (r)
				return r;
		}
	return 0;
}

START_TEST(groups_of_a_grid_work_on_their_own)
{
	struct grid g = grids[_i];

	run(&(struct rt_group){ .ranks = g.ranks, .node = g.node }, sums_in_groups, &g);
}
END_TEST

/* Splits groups of groups, frees them and makes them again. */
static int nested(struct rt_comm *c, void *arg, struct gt_err *err)
{
	for (int i = 0; i < 20; i++) {
		gt_auto(rt_comm) *half = NULL, *one = NULL;
		double all[RT_MAX_RANKS];
		int r = rt_comm_split(c, rt_comm_rank(c) / 3, &half, err);

		if (r)
			return r;
		r = rt_comm_gather(half, rt_comm_rank(c), all, err);
		if (r)
			return r;
		WANT((int)all[0] == rt_comm_rank(c) / 3 * 3, "the group of rank %d starts with %g", rt_comm_rank(c), all[0]);
		r = rt_comm_split(half, rt_comm_rank(half) == 2, &one, err);
		if (r)
			return r;
		WANT(rt_comm_size(one) == (rt_comm_rank(half) == 2 ? 1 : 2), "rank %d: %d", rt_comm_rank(c), rt_comm_size(one));
		r = rt_comm_agree(one, (uint64_t)i, "the round", err);
		if (r)
			return r;
		rt_comm_free(gt_take(one));
		rt_comm_free(gt_take(half));
		r = rt_comm_agree(c, (uint64_t)i, "the round", err);
		if (r)
			return r;
	}
	return 0;
}

START_TEST(groups_can_be_divided_and_made_again)
{
	run(&(struct rt_group){ .ranks = 6 }, nested, NULL);
}
END_TEST

/* Rank 3 of the job is rank 1 of the second group. *arg: 0 it is killed, 1 it fails, 2 it hangs. */
static int lose_one(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const int *how = arg;
	rt_auto_mesh m = { 0 };
	int r;

	rt_comm_set_timeout(c, *how == 2 ? 0.3 : 60);
	r = rt_mesh_open(c, (const int[]){ 2, 2, 1 }, &m, err);
	for (int i = 0; !r && i < 100; i++) {
		double all[RT_MAX_RANKS];

		if (rt_comm_rank(c) == 3 && i == 50) {
			if (*how == 0)
				raise(SIGKILL);
			if (*how == 1)
				return gt_fail(err, ENOSPC, "the disk is full");
			pause();
		}
		r = rt_comm_gather(m.group[i % 2], i, all, err);
	}
	return r;
}

/* Rank 2 stops rank 3 while rank 3 waits for rank 2. Then all ranks wait, directly or not, for rank 3. */
static int stop_one(struct rt_comm *c, void *arg, struct gt_err *err)
{
	rt_auto_mesh m = { 0 };
	double pid[RT_MAX_RANKS];
	int r;

	(void)arg;
	rt_comm_set_timeout(c, 4);
	r = rt_mesh_open(c, (const int[]){ 2, 2, 1 }, &m, err);
	if (!r)
		r = rt_comm_gather(c, getpid(), pid, err);
	for (int i = 0; !r && i < 10; i++) {
		double all[RT_MAX_RANKS];

		if (rt_comm_rank(c) == 2 && i == 4) {
			while (!atomic_load(&c->shm->rank[3].waits_for))
				sched_yield();
			kill((pid_t)pid[3], SIGSTOP);
		}
		r = rt_comm_gather(m.group[i % 2], i, all, err);
	}
	return r;
}

START_TEST(a_rank_that_is_stopped_while_it_waits_is_named)
{
	struct gt_err err = { 0 };

	ck_assert_int_lt(rt_group_run(&(struct rt_group){ .ranks = 4, .grace_s = 0.5 }, stop_one, NULL, &err), 0);
	ck_assert_msg(strstr(err.msg, "rank 3 has not arrived for 4 s") != NULL, "%s", err.msg);
}
END_TEST

START_TEST(a_rank_lost_in_a_group_ends_all_ranks_with_its_name)
{
	static const char *const want[] = { "rank 3: killed by signal 9 (Killed)", "rank 3: the disk is full",
					    "rank 3 has not arrived for 0.3 s" };
	struct gt_err err = { 0 };
	int how = _i;
	double start = gt_now_s();

	ck_assert_int_lt(rt_group_run(&(struct rt_group){ .ranks = 4, .grace_s = 0.5 }, lose_one, &how, &err), 0);
	ck_assert_msg(strstr(err.msg, want[_i]) != NULL, "%s", err.msg);
	ck_assert(gt_now_s() - start < 50); /* the loss was detected, not waited for until the time limit */
}
END_TEST

static int other_size(struct rt_comm *c, void *arg, struct gt_err *err)
{
	rt_auto_mesh m = { 0 };
	int tensor = rt_comm_rank(c) == 2 ? 4 : 2;

	return rt_mesh_open(c, (const int[]){ tensor, 4 / tensor, 1 }, &m, err);
}

START_TEST(ranks_with_different_grids_are_reported)
{
	struct gt_err err = { 0 };

	ck_assert_int_eq(rt_group_run(&(struct rt_group){ .ranks = 4 }, other_size, NULL, &err), -EINVAL);
	ck_assert_msg(strstr(err.msg, "rank 0 has 2 tensor parallel ranks and rank 2 has 4: all ranks need the same options"),
		      "%s", err.msg);
}
END_TEST

static int wrong_size(struct rt_comm *c, void *arg, struct gt_err *err)
{
	rt_auto_mesh m = { 0 };
	struct gt_err e = { 0 };

	WANT(rt_mesh_open(c, (const int[]){ 2, 1, 1 }, &m, &e) == -EINVAL, "2 x 1 x 1 of 3 ranks");
	WANT(strcmp(e.msg, "3 ranks are not 2 tensor x 1 data x 1 pipeline parallel ranks") == 0, "%s", e.msg);
	WANT(rt_mesh_open(c, (const int[]){ 0, 1, 3 }, &m, &e) == -EINVAL, "0 ranks");
	WANT(rt_mesh_open(c, (const int[]){ 1, 1, 64 }, &m, &e) == -EINVAL, "64 ranks");
	return 0;
}

START_TEST(a_grid_of_another_size_is_refused)
{
	run(&(struct rt_group){ .ranks = 3 }, wrong_size, NULL);
}
END_TEST

TCase *case_groups(void)
{
	TCase *t = tcase_create("groups");

	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, groups_of_a_grid_work_on_their_own, 0, GT_ARRAY_SIZE(grids));
	tcase_add_test(t, groups_can_be_divided_and_made_again);
	tcase_add_loop_test(t, a_rank_lost_in_a_group_ends_all_ranks_with_its_name, 0, 3);
	tcase_add_test(t, a_rank_that_is_stopped_while_it_waits_is_named);
	tcase_add_test(t, ranks_with_different_grids_are_reported);
	tcase_add_test(t, a_grid_of_another_size_is_refused);
	return t;
}
