/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks on devices train like one rank, compressed or not, and all end if one dies or hangs. */
#include <stdio.h>
#include <string.h>
#include "lib/spawn.h"
#include "runtime/cuda/cuda.h"
#include "runtime/cuda/meter_ranks.h"
#include "runtime/cuda/selfcheck.h"
#include "runtime/transport/comm.h"
#include "tests/unit/check_cuda.h"

/* One rank per device. */
static int ranks_and_tell(void)
{
	gt_auto_json *rows = json_array();
	struct gt_err err = {0};
	int r = rt_cuda_selfcheck_ranks(2, 11, rows, &err);

	if (r < 0)
		puts(err.msg);
	else
		printf("%zu compared, %d wrong\n", json_array_size(rows), r);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *tensor = gt_json_get_str(row, "tensor", "");
		double worst = gt_json_get_real(row, "worst", NAN);

		if (gt_streq(gt_json_get_str(row, "type", NULL), "f32") && !strncmp(tensor, "losses", 6))
			printf("%s %s %g\n", worst < 1e-6 ? "equal" : "different", tensor, worst);
	}
	return r != 0;
}

static int watched_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *loss = rt_model_mlp(g, 4, (const int64_t[]){3, 5, 2}, 3);
	const struct rt_options o = {.device = RT_CUDA, .optimizer = {.kind = RT_SGD, .lr = 0.1},
				     .ranks = {.comm = c, .compress = arg ? RT_COMPRESS_POWERSGD : RT_COMPRESS_NONE}};
	const float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	const int32_t y[4] = {0, 1, 1, 0};
	const char *fails = getenv("STANDIN_NCCL_FAIL");
	struct rt_metrics m = {0};
	int r;

	/* the wait for a missing rank is limited; a dead rank is reported on any load of the host */
	rt_comm_set_timeout(c, fails && strstr(fails, ":hang:") ? 3 : 120);
	r = rt_compile(g, loss, &o, &p, err);
	for (int i = 0; !r && i < 6; i++)
		r = rt_step(p, (const void *const[]){x, y}, &m, err);
	return r ? r : rt_wait(p, err);
}

static int watch_and_tell(bool powersgd)
{
	struct rt_group group = {.ranks = 3};
	struct gt_err err = {0};
	int r;

	setenv("STANDIN_DEVICES", "3", 1);
	r = rt_group_run(&group, watched_rank, powersgd ? &group : NULL, &err);
	puts(r ? err.msg : "all is well");
	free(group.answer);
	return r != 0;
}

/* Averages over three devices: once correct, once with a wrong element. */
static int reducing_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	gt_auto(rt_reduce_meter) *m = NULL;
	double s[2] = {0}, wrong[2] = {-1, -1};
	int r = rt_reduce_meter_open(c, 1 << 16, &m, err);
	char text[96];

	for (int i = 0; !r && i < 2; i++)
		r = rt_reduce_meter_run(m, 1 << 16, 2, i, 2, s, &wrong[i], err);
	snprintf(text, sizeof(text), "%g and %g wrong, %s", wrong[0], wrong[1], s[1] > 0 ? "timed" : "not timed");
	if (!r)
		rt_comm_answer(c, text);
	return r;
}

static int reduce_and_tell(void)
{
	struct rt_group group = {.ranks = 3};
	struct gt_err err = {0};
	int r = rt_group_run(&group, reducing_rank, NULL, &err);

	puts(r ? err.msg : group.answer);
	free(group.answer);
	return r != 0;
}

START_TEST(two_ranks_train_as_one_does)
{
	struct result r = run_with("ranks", "STANDIN_DEVICES=2", STANDIN_DIR);

	ck_assert_msg(!r.status && strstr(r.out, "18 compared, 0 wrong"), "%s", r.out);
	/* compressed or not; only a code with few bits can enlarge a rounding error of a gradient */
	for (const char *at = r.out; (at = strstr(at, "different losses")); at++)
		ck_assert_msg(gt_starts_with(at, "different losses, 1 bit") || gt_starts_with(at, "different losses, int8 "), "%s",
			      r.out);
	ck_assert_msg(strstr(r.out, "equal losses ") && strstr(r.out, "equal losses, int8, clipped"), "%s", r.out);
	/* only vectors and small matrices, for which compression does not pay */
	r = run_with("lowrank", NULL, STANDIN_DIR);
	ck_assert_msg(!r.status && gt_streq(r.out, "all is well\n"), "%s", r.out);
	r = run_with("ranks", "STANDIN_DEVICES=1", STANDIN_DIR);
	ck_assert_msg(r.status && strstr(r.out, "rank 1 has no device, 1 is visible"), "%s", r.out);
}
END_TEST

/* A rank that dies or hangs stops the others, while they join or in the middle of a step. */
START_TEST(a_lost_rank_ends_the_others_by_name)
{
	static const struct {
		const char *var, *says;
	} t[] = {
		{"STANDIN_NCCL_FAIL=9:kill:1", "all is well\n"},
		{"STANDIN_NCCL_VERSION=21205", "all is well\n"},
		{"STANDIN_NCCL_FAIL=1:kill:init", "rank 1: killed by signal 9"},
		{"STANDIN_NCCL_FAIL=0:kill:1", "rank 0: killed by signal 9"},
		{"STANDIN_NCCL_FAIL=2:kill:7", "rank 2: killed by signal 9"},
		{"STANDIN_NCCL_FAIL=2:kill:7 STANDIN_NCCL_VERSION=21205", "rank 2: killed by signal 9"},
		{"STANDIN_NCCL_FAIL=1:hang:init", ": rank 1 has not arrived for 3 s"},
		{"STANDIN_NCCL_FAIL=0:hang:7", ": rank 0 has not arrived for 3 s"},
		{"STANDIN_NCCL_FAIL=1:1:7", "rank 1: a collective of NCCL 2.22.3 failed: unhandled cuda error"},
		{"STANDIN_NCCL_FAIL=1:2:7", "rank 1: a collective of NCCL 2.22.3 failed: unhandled system error"},
		{"STANDIN_NCCL_FAIL=1:3:7", "rank 1: a collective of NCCL 2.22.3 failed: internal error"},
		{"STANDIN_NCCL_FAIL=1:4:7", "rank 1: a collective of NCCL 2.22.3 failed: invalid argument"},
		{"STANDIN_NCCL_FAIL=1:5:7", "rank 1: a collective of NCCL 2.22.3 failed: invalid usage"},
		{"STANDIN_NCCL_FAIL=1:6:7", "rank 1: a collective of NCCL 2.22.3 failed: remote process exited"},
		{"STANDIN_NCCL_FAIL=1:2:init", "rank 1: ncclCommInitRankConfig of NCCL 2.22.3 failed: unhandled system"},
		{"STANDIN_NCCL_VERSION=20900", "NCCL 2.9.0 cannot compute means: install 2.10 or newer"},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		struct result r = run_with("watch", t[i].var, STANDIN_DIR);

		ck_assert_msg(strstr(r.out, t[i].says) != NULL, "%s: %s", t[i].var, r.out);
	}
}
END_TEST

START_TEST(paths_between_devices_are_checked)
{
	struct result r = run_with("reduce", "STANDIN_DEVICES=3 STANDIN_MEMORY=40000000", STANDIN_DIR);

	ck_assert_msg(!r.status && strstr(r.out, "0 and 1 wrong, timed"), "%s", r.out);
	r = run_with("reduce", "STANDIN_DEVICES=3 STANDIN_MEMORY=40000000 STANDIN_NCCL_FAIL=2:kill:3", STANDIN_DIR);
	ck_assert_msg(r.status && strstr(r.out, "rank 2: killed by signal 9"), "%s", r.out);
	r = run_with("reduce", "STANDIN_DEVICES=3 STANDIN_MEMORY=40000000 STANDIN_CUDA=11080", STANDIN_DIR);
	ck_assert_msg(r.status && strstr(r.out, "NCCL 2.22.3 is built for CUDA 12.4 and this driver supports CUDA 11.8: install a "
						"newer driver or the NCCL of CUDA 11"), "%s", r.out);
}
END_TEST

void add_ranks_tests(TCase *tc)
{
	tcase_add_test(tc, two_ranks_train_as_one_does);
	tcase_add_test(tc, paths_between_devices_are_checked);
	tcase_add_test(tc, a_lost_rank_ends_the_others_by_name);
}

int child_ranks(const char *what)
{
	if (gt_streq(what, "ranks"))
		return ranks_and_tell();
	if (gt_streq(what, "watch"))
		return watch_and_tell(false);
	if (gt_streq(what, "lowrank"))
		return watch_and_tell(true);
	return gt_streq(what, "reduce") ? reduce_and_tell() : -1;
}
