/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_COMM_H
#define CHECK_COMM_H
#include <check.h>
#include "lib/json.h"
#include "runtime/runtime.h"
#include "runtime/transport/comm.h"

/* Ranks check their own results and return an error; rt_group_run() passes it to the test. */
#define WANT(cond, ...)                                                                                                \
	do {                                                                                                           \
		if (!(cond))                                                                                           \
			return gt_fail(err, EPROTO, __VA_ARGS__);                                                      \
	} while (0)

/* Fails unless all ranks end without an error. */
void run(struct rt_group *g, rt_rank_main *fn, void *arg);

#define ROWS 8 /* rows of all ranks together */
#define STEPS	6

struct job {
	struct rt_options opt;
	int rows[4]; /* rows of each rank; 0: all ranks have the same number */
	bool weigh;  /* the batches contain their numbers of rows, which are the same for all ranks */
	const int *node; /* node of each rank; NULL: all ranks are on one node */
	int width;	 /* width of the model; 0: uses 32 */
	const char *load, *save; /* checkpoints before the first step and after the last */
	int steps;	 /* 0: STEPS */
	double prune;	 /* fraction of each weight that is pruned after the second step, with opt.sparse */
	double loss[STEPS];
};
struct together {
	const char *what;
	struct job job;
	int ranks;
};
#define ADAMW	{ .kind = RT_ADAMW, .lr = 1e-2, .weight_decay = 0.1 }

/* Trains a small GPT with all ranks; arg is a struct job. Fails unless all ranks have the same parameters bit for bit. */
int train(struct rt_comm *c, void *arg, struct gt_err *err);
/* Returns the losses of a run with this many ranks, and a hash of the final parameters. */
int64_t losses(struct job j, int ranks, double ret[STEPS]);
/* Checks that skipped updates do not affect a gradient shorter than a cache line. arg is an enum rt_compress. */
int few(struct rt_comm *c, void *arg, struct gt_err *err);

/* Sends messages of several sizes between neighbouring ranks, in both directions. */
int messages(struct rt_comm *c, void *arg, struct gt_err *err);

TCase *case_messages(void);
TCase *case_pipeline(void);
int pipelines_in_one_process(struct gt_err *err);
TCase *case_training(void);
TCase *case_compression(void);
TCase *case_groups(void);
TCase *case_grid(void);
int grids_in_one_process(struct gt_err *err);
TCase *case_tensor(void);
TCase *case_plan(void);
#endif
