/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks: collectives, and the loss of a rank. comm_p2p.c tests messages, comm_train.c joint training, comm_codec.c
 * compression. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/file.h"
#include "runtime/transport/transport.h"
#include "tests/unit/check_comm.h"

void run(struct rt_group *g, rt_rank_main *fn, void *arg)
{
	struct gt_err err = { 0 };

	ck_assert_msg(rt_group_run(g, fn, arg, &err) == 0, "%s", err.msg);
}

/* ---- collectives ---- */

static float value(int rank, int64_t i)
{
	return rt_random_normal(7, (uint64_t)rank, (uint64_t)i);
}

static int sums(struct rt_comm *c, void *arg, struct gt_err *err)
{
	static const int64_t counts[] = { 1, 15, 17, 1000, 70001 };
	int size = rt_comm_size(c), rank = rt_comm_rank(c);
	struct rt_window w = { 0 };
	float *x;
	int r = rt_window_map(c, 70001 * sizeof(float), false, &w, err);

	if (r)
		return r;
	r = rt_comm_set_weight(c, (double)(rank + 1) * 2 / (size * (size + 1)), err);
	x = (float *)(void *)w.base;
	for (size_t t = 0; !r && t < GT_ARRAY_SIZE(counts); t++) {
		struct rt_coll k = { .kind = RT_ALLREDUCE, .window = &w, .n = counts[t], .threads = 1 };

		r = rt_coll_init(&k, err);
		for (int round = 0; !r && round < 3; round++) {
			for (int64_t i = 0; i < k.n; i++)
				x[i] = value(rank, i + round);
			r = rt_coll_start(&k, err);
			if (!r)
				r = rt_coll_wait(&k, err);
			if (!r)
				r = rt_comm_agree(c, gt_hash64(x, (size_t)k.n * sizeof(float), 0), "the sum", err);
			for (int64_t i = 0; !r && i < k.n; i++) {
				double want = 0;

				for (int s = 0; s < size; s++)
					want += (double)value(s, i + round) * rt_comm_weight(c, s);
				WANT(fabs(want - (double)x[i]) < 1e-6, "n %lld element %lld is %g, not %g", (long long)k.n,
				     (long long)i, (double)x[i], want);
				WANT(!w.peer[0] || x[i] == ((float *)(void *)w.peer[0])[i], "element %lld differs between ranks",
				     (long long)i);
			}
			if (!r)
				r = rt_comm_agree(c, 1, "the end of a round", err);
		}
		rt_coll_clear(&k);
	}
	rt_window_unmap(&w);
	return r;
}

/*
 * Starts more consecutive collectives of several kinds than there are channels, while another collective keeps its
 * channel.
 */
static int one_after_the_other(struct rt_comm *c, void *arg, struct gt_err *err)
{
	int size = rt_comm_size(c), rank = rt_comm_rank(c), r;
	struct rt_window w = { 0 };
	struct rt_coll kept = { .kind = RT_ALLREDUCE, .window = &w, .offset = 1024, .n = 16, .threads = 1 };
	float *x, *y;

	r = rt_window_map(c, 2048, false, &w, err);
	if (!r)
		r = rt_coll_init(&kept, err);
	x = (float *)(void *)w.base;
	y = x + 256;
	for (int i = 0; !r && i < 3 * RT_CHANNELS; i++) {
		struct rt_coll k = { .kind = i % 3 ? RT_ALLREDUCE : RT_ALLGATHER, .window = &w, .threads = 1 };

		k.n = i % 3 ? 16 : 0;
		k.bytes = i % 3 ? 0 : 64;
		r = rt_coll_init(&k, err);
		for (int round = 0; !r && round < 1 + i % 4; round++) {
			double mean = i + round + (size - 1) / 2.0, got;

			x[0] = y[0] = (float)(i + round + rank);
			r = rt_coll_start(&kept, err);
			if (!r)
				r = rt_coll_start(&k, err);
			if (!r)
				r = rt_coll_wait(&k, err);
			if (!r)
				r = rt_coll_wait(&kept, err);
			got = r ? 0 : i % 3 ? (double)x[0] : (double)*(const float *)rt_coll_from(&k, size - 1);
			WANT(r || fabs(got - (i % 3 ? mean : i + round + size - 1)) < 1e-3, "collective %d round %d: %g", i, round,
			     got);
			WANT(r || fabs((double)y[0] - mean) < 1e-3, "collective %d round %d: %g in the one that stays", i, round,
			     (double)y[0]);
			if (!r) /* no rank writes before all have read */
				r = rt_comm_agree(c, 1, "the end of a round", err);
		}
		rt_coll_clear(&k);
		rt_coll_clear(&k);
	}
	rt_coll_clear(&kept);
	rt_window_unmap(&w);
	return r;
}

START_TEST(channels_of_collectives_are_reused)
{
	run(&(struct rt_group){ .ranks = 3 }, one_after_the_other, NULL);
}
END_TEST

/*
 * Programs of 30 collectives each, compiled one after the other on the same ranks, with and without the collectives of
 * compression.
 */
static int many_programs(struct rt_comm *c, void *arg, struct gt_err *err)
{
	int r = 0;

	for (int i = 0; !r && i < 80; i++) {
		gt_auto(rt_graph) *g = rt_graph_new();
		gt_auto(rt_program) *p = NULL;
		struct rt_node *loss = rt_model_mlp(g, 2, (const int64_t[]){ 8, 8, 8, 8, 8, 8, 8, 4 }, 8);
		struct rt_options opt = { .threads = 1, .seed = 1, .optimizer = { .kind = RT_SGD, .lr = 0.1 },
					  .ranks = { .comm = c, .first_bucket_bytes = 1, .bucket_bytes = 1,
						   .compress = (enum rt_compress)(i % 6) } };
		const float x[16] = { 1, 2, 3 };

		r = rt_compile(g, loss, &opt, &p, err);
		for (int t = 0; !r && t < 2; t++)
			r = rt_step(p, (const void *[]){ x, (int32_t[]){ 1, 3 } }, &(struct rt_metrics){ 0 }, err);
	}
	return r;
}

START_TEST(programs_compiled_again_and_again_find_channels)
{
	run(&(struct rt_group){ .ranks = 2 }, many_programs, NULL);
}
END_TEST

/* Checks the memory of a rank: others still read an old window until all have requested the next one. */
static int windows(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct stat st = { 0 };
	const size_t bytes = 8 << 20;
	int r = 0;

	for (int i = 0; !r && i < 4; i++) {
		struct rt_window w = { 0 };
		const int *other;

		r = rt_window_map(c, bytes, false, &w, err);
		if (r)
			return r;
		memset(w.base, 7 + i, bytes);
		r = rt_comm_agree(c, 1, "the end of writing", err);
		other = (const int *)(const void *)w.peer[1 - rt_comm_rank(c)];
		WANT(r || other[1000] == 0x01010101 * (7 + i), "window %d: the other rank has %x", i, (unsigned)other[1000]);
		rt_window_unmap(&w);
	}
	WANT(r || fstat(c->fd[rt_comm_rank(c)], &st) == 0, "no memory file");
	WANT(r || (size_t)st.st_blocks * 512 <= bytes + (2 << 20), "%zu bytes of shared memory after four windows of %zu",
	     (size_t)st.st_blocks * 512, bytes);
	return r;
}

START_TEST(the_memory_of_an_unmapped_window_is_freed)
{
	run(&(struct rt_group){ .ranks = 2 }, windows, NULL);
}
END_TEST

static const struct layout {
	int ranks, node[6];
} layouts[] = {
	{ 1, { 0 } },
	{ 2, { 0, 0 } },
	{ 3, { 0, 0, 0 } },
	{ 4, { 0, 0, 0, 0 } },
	{ 2, { 0, 1 } },
	{ 4, { 0, 0, 1, 1 } },
	{ 4, { 5, 2, 5, 2 } },	  /* nodes in any order */
	{ 6, { 0, 0, 1, 1, 2, 2 } },
	{ 3, { 0, 0, 1 } },	  /* unequal numbers: flat */
};

START_TEST(allreduce_is_the_weighted_sum_on_any_layout)
{
	run(&(struct rt_group){ .ranks = layouts[_i].ranks, .node = layouts[_i].node }, sums, NULL);
}
END_TEST

static int exchanges(struct rt_comm *c, void *arg, struct gt_err *err)
{
	int size = rt_comm_size(c), rank = rt_comm_rank(c), r;
	struct rt_window w = { 0 };
	struct rt_coll all = { .kind = RT_ALLTOALL, .window = &w, .bytes = 64 };
	struct rt_coll gather = { .kind = RT_ALLGATHER, .window = &w, .offset = 1024, .bytes = 64 };

	r = rt_window_map(c, 2048, false, &w, err);
	if (!r)
		r = rt_coll_init(&all, err);
	if (!r)
		r = rt_coll_init(&gather, err);
	for (int i = 0; !r && i < size; i++)
		memset(w.base + i * 64, 16 * rank + i, 64);
	if (!r)
		r = rt_coll_start(&all, err);
	if (!r)
		r = rt_coll_wait(&all, err);
	for (int i = 0; !r && i < size; i++)
		WANT(((const char *)rt_coll_from(&all, i))[63] == 16 * i + rank, "alltoall from %d", i);
	memset(w.base + 1024, 100 + rank, 64);
	if (!r)
		r = rt_coll_start(&gather, err);
	if (!r)
		r = rt_coll_wait(&gather, err);
	for (int i = 0; !r && i < size; i++)
		WANT(((const char *)rt_coll_from(&gather, i))[0] == 100 + i, "allgather from %d", i);
	rt_coll_clear(&all);
	rt_coll_clear(&gather);
	rt_window_unmap(&w);
	return r;
}

START_TEST(every_rank_gets_the_data_of_the_others)
{
	run(&(struct rt_group){ .ranks = 3 }, exchanges, NULL);
}
END_TEST

/* Returns the pages of the mappings that contain the window, of all ranks: huge pages if the kernel supports them. */
static uint64_t huge_bytes_of(const struct rt_window *w, int size)
{
	gt_autofree char *text = NULL;
	uint64_t sum = 0;
	size_t len;
	bool ours = false;

	ck_assert_int_eq(gt_file_read("/proc/self/smaps", 1 << 24, &text, &len, NULL), 0);
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long long from, to, kib;

		if (sscanf(line, "%llx-%llx ", &from, &to) == 2) {
			ours = false;
			for (int i = 0; i < size; i++)
				ours |= (uintptr_t)w->peer[i] >= from && (uintptr_t)w->peer[i] < to;
		} else if (ours && sscanf(line, "ShmemPmdMapped: %llu kB", &kib) == 1) {
			sum += kib * 1024;
		}
	}
	return sum;
}

static int look_at_pages(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const bool *huge = arg;
	const size_t bytes = (size_t)5 << 20;
	struct rt_window w = { 0 };
	double all[RT_MAX_RANKS];
	uint64_t got;
	int r = rt_window_map(c, bytes, *huge, &w, err);

	if (!r)
		r = rt_comm_gather(c, w.huge_pages, all, err);
	if (r)
		return r;
	got = huge_bytes_of(&w, 2);
	WANT(*huge || !w.huge_pages, "huge pages that nobody asked for");
	WANT(!(all[0] > 0 && all[1] > 0) || got == 2 * ((uint64_t)6 << 20), "of both windows %llu bytes lie in huge pages",
	     (unsigned long long)got);
	WANT(*huge || got == 0, "%llu bytes lie in huge pages", (unsigned long long)got);
	rt_window_unmap(&w);
	return 0;
}

START_TEST(windows_report_their_page_size)
{
	bool huge = _i;

	run(&(struct rt_group){ .ranks = 2 }, look_at_pages, &huge);
}
END_TEST

/* ---- loss of a rank ---- */

static int lose_one(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const int *how = arg;
	double all[RT_MAX_RANKS];

	if (*how == 2)
		rt_comm_set_timeout(c, 0.2);
	for (int i = 0; i < 100; i++) {
		int r;

		if (rt_comm_rank(c) == 1 && i == 50) {
			if (*how == 0)
				raise(SIGKILL);
			if (*how == 1)
				return gt_fail(err, ENOSPC, "the disk is full");
			if (*how == 3)
				_exit(3);
			pause();
		}
		r = rt_comm_gather(c, i, all, err);
		if (r)
			return r;
	}
	return 0;
}

START_TEST(a_lost_rank_ends_the_others_with_its_name)
{
	static const char *const want[] = { "rank 1: killed by signal 9 (Killed)", "rank 1: the disk is full",
					    "rank 1 has not arrived for 0.2 s",
					    "rank 1: ended with status 3 in the middle of its work" };
	struct rt_group g = { .ranks = 3, .grace_s = 0.5 };
	struct gt_err err = { 0 };
	int how = _i;

	ck_assert_int_lt(rt_group_run(&g, lose_one, &how, &err), 0);
	ck_assert_msg(strstr(err.msg, want[_i]) != NULL, "%s", err.msg);
	ck_assert_ptr_null(g.answer);
}
END_TEST

static int disagree(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct rt_window w;

	return rt_window_map(c, rt_comm_rank(c) ? 4096 : 8192, false, &w, err);
}

START_TEST(ranks_with_different_programs_are_reported)
{
	struct rt_group g = { .ranks = 2 }, none = { .ranks = 0 };
	struct gt_err err = { 0 };

	ck_assert_int_eq(rt_group_run(&g, disagree, NULL, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.msg, "do not agree on the size of a window"));
	ck_assert_int_eq(rt_group_run(&none, disagree, NULL, &err), -EINVAL);
}
END_TEST

/* ---- as a rank under mpirun: tests/peers/check_mpi.py ---- */

static int under_mpirun(void)
{
	struct gt_err err = { 0 };
	struct job j = { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 }, .ranks = { .bucket_bytes = 5000 } } };
	gt_auto(rt_comm) *c = NULL;
	int r = rt_comm_mpi(false, &c, &err);

	if (!r)
		r = sums(c, NULL, &err);
	if (!r)
		r = exchanges(c, NULL, &err);
	if (!r)
		r = messages(c, NULL, &err);
	if (!r)
		r = train(c, &j, &err);
	for (int k = RT_COMPRESS_NONE; !r && k <= RT_COMPRESS_ONEBIT; k++)
		r = few(c, &(enum rt_compress){ (enum rt_compress)k }, &err);
	if (r) {
		fprintf(stderr, "check_comm: %s\n", err.msg);
		rt_comm_abort(c, 1);
	}
	if (rt_comm_rank(c) == 0)
		printf("%d ranks on %d hosts over %s\n", rt_comm_size(c), rt_comm_hosts(c), rt_comm_transport(c));
	return 0;
}

/* ---- as threads of one process: make check-tsan, make check-valgrind ---- */

/* The same, with a separate job for each rank. */
static int train_mine(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct job *all = arg;

	return train(c, &all[rt_comm_rank(c)], err);
}

static int in_one_process(void)
{
	static const int two_nodes[] = { 0, 0, 1, 1 };
	static const struct together quick[] = {
		{ "sgd", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 } } }, 2 },
		{ "many buckets, 4 ranks", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 },
						      .ranks = { .first_bucket_bytes = 1, .bucket_bytes = 5000 } } }, 4 },
		{ "two nodes, overlapped, 4 ranks", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 },
							       .ranks = { .overlap = RT_WHEN_ON, .shard = RT_WHEN_ON,
								        .bucket_bytes = 5000 } },
						      .node = two_nodes }, 4 },
		{ "the update shared out", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 },
						      .ranks = { .shard = RT_WHEN_ON } } }, 2 },
		{ "the update shared out, clipped", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 }, .clip_norm = 0.5,
							       .ranks = { .shard = RT_WHEN_ON } } }, 2 },
		{ "fp16", { .opt = { .ranks = { .compress = RT_COMPRESS_FP16 }, .optimizer = { .kind = RT_SGD, .lr = 0.1 } } }, 2 },
		{ "int8", { .opt = { .ranks = { .compress = RT_COMPRESS_INT8 }, .optimizer = { .kind = RT_SGD, .lr = 0.1 } } }, 4 },
		{ "powersgd", { .opt = { .ranks = { .compress = RT_COMPRESS_POWERSGD },
					 .optimizer = { .kind = RT_SGD, .lr = 0.1 } } }, 2 },
		{ "onebit", { .opt = { .ranks = { .compress = RT_COMPRESS_ONEBIT },
				       .optimizer = { .kind = RT_SGD, .lr = 0.1 } } }, 2 },
	};
	struct gt_err err = { 0 };
	int r = 0;

	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(layouts); i++)
		r = rt_group_threads(&(struct rt_group){ .ranks = layouts[i].ranks, .node = layouts[i].node }, sums, NULL, &err);
	if (!r)
		r = rt_group_threads(&(struct rt_group){ .ranks = 3 }, exchanges, NULL, &err);
	if (!r)
		r = rt_group_threads(&(struct rt_group){ .ranks = 3 }, messages, NULL, &err);
	if (!r)
		r = pipelines_in_one_process(&err);
	if (!r)
		r = grids_in_one_process(&err);
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(quick); i++) {
		struct job j[4] = { quick[i].job, quick[i].job, quick[i].job, quick[i].job };
		struct rt_group g = { .ranks = quick[i].ranks, .node = quick[i].job.node };

		r = rt_group_threads(&g, train_mine, j, &err);
		free(g.answer);
		printf("%s %s\n", r ? "not ok" : "ok", quick[i].what);
	}
	if (!r && (rt_group_threads(&(struct rt_group){ .ranks = 2 }, disagree, NULL, &err) != -EINVAL))
		r = gt_fail(&err, EPROTO, "ranks with different programs went on");
	else if (r)
		fprintf(stderr, "check_comm: %s\n", err.msg);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	Suite *s = suite_create("comm");
	TCase *t = tcase_create("ranks");
	SRunner *r;
	int failed;

	if (rt_mpi_started())
		return under_mpirun();
	if (argc > 1 && gt_streq(argv[1], "--one-process"))
		return in_one_process();
	tcase_set_timeout(t, 300);
	tcase_add_test(t, channels_of_collectives_are_reused);
	tcase_add_test(t, programs_compiled_again_and_again_find_channels);
	tcase_add_test(t, the_memory_of_an_unmapped_window_is_freed);
	tcase_add_loop_test(t, allreduce_is_the_weighted_sum_on_any_layout, 0, GT_ARRAY_SIZE(layouts));
	tcase_add_test(t, every_rank_gets_the_data_of_the_others);
	tcase_add_loop_test(t, windows_report_their_page_size, 0, 2);
	tcase_add_loop_test(t, a_lost_rank_ends_the_others_with_its_name, 0, 4);
	tcase_add_test(t, ranks_with_different_programs_are_reported);
	suite_add_tcase(s, t);
	suite_add_tcase(s, case_messages());
	suite_add_tcase(s, case_groups());
	suite_add_tcase(s, case_pipeline());
	suite_add_tcase(s, case_tensor());
	suite_add_tcase(s, case_grid());
	suite_add_tcase(s, case_plan());
	suite_add_tcase(s, case_training());
	suite_add_tcase(s, case_compression());
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
