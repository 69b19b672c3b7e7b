/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench train: one process, several processes on this host, or one process of a launcher. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/train/check_options.h"
#include "bench/train/rank.h"
#include "bench/train/train.h"
#include "lib/cli.h"
#include "lib/log.h"
#include "runtime/cuda/cuda.h"
#include "runtime/runtime.h"
#include "runtime/transport/comm.h"

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
	gt_autofree char *text = NULL;
	int r = part(c, arg, &doc, err);

	if (r || !doc)
		return r;
	text = gt_json_text(doc);
	rt_comm_answer(c, text);
	return 0;
}

/* Runs the processes of --ranks, or one per stage. The document is that of rank 0. */
static int own_ranks(const struct bn_train_options *o, json_t **ret, struct gt_err *err)
{
	struct rt_group g = { .no_pin = o->no_pin,
			      .home = gt_streq(o->device, "cuda") ? rt_cuda_home : NULL };
	gt_autofree char *answer = NULL;
	struct bn_train_options full;
	int r;

	r = bn_train_resolve(o, &full, err);
	if (r < 0)
		return r;
	g.ranks = (int)full.ranks;
	r = rt_group_run(&g, one_rank, &full, err);
	answer = g.answer;
	return r ? r : gt_json_parse(answer ? answer : "", answer ? strlen(answer) : 0, "the answer of rank 0", ret, err);
}

/* Ends all ranks after an error. mpirun ends the others when one aborts; without it they detect the closed connection.
 * The message is printed here, because no rank returns to main(). */
_Noreturn static void abort_ranks(struct rt_comm *c, struct gt_err *err)
{
	if (c)
		gt_fail_prefix(err, "rank %d%s%s", rt_comm_rank(c), *rt_comm_place(c) ? ", " : "", rt_comm_place(c));
	gt_progress_end();
	gt_log(GT_LOG_ERROR, "%s", err->msg);
	fflush(NULL);
	rt_comm_abort(c, err->exit_status ? err->exit_status : GT_EXIT_INTERNAL);
}

/* Runs this rank's part in a process that mpirun, srun or torchrun started. The first rank gets the document, the
 * others NULL. An error ends all ranks and does not return. */
static int started_ranks(const struct bn_train_options *o, json_t **ret, struct gt_err *err)
{
	struct bn_train_options own = *o;
	struct gt_err why = { 0 };
	struct rt_comm *c = NULL;
	bool mpi = rt_mpi_started(), cuda = gt_streq(o->device, "cuda");
	int r;

	if (o->ranks)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--ranks: %s started the ranks and sets their number",
				    mpi ? "mpirun" : "srun or torchrun");
	r = mpi ? rt_comm_mpi(o->no_pin, &c, &why) :
		  rt_comm_env(o->no_pin, !cuda || o->tp > 1 || o->pp > 1, cuda ? rt_cuda_home_own : NULL, &c, &why);
	if (r)
		abort_ranks(c, &why);
	own.ranks = (uint64_t)rt_comm_size(c);
	if (part(c, &own, ret, &why))
		abort_ranks(c, &why);
	rt_comm_free(c);
	return 0;
}

int bn_train(const struct bn_train_options *o, json_t **ret, struct gt_err *err)
{
	if (o->batch && o->token_budget)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--token-budget and --batch exclude each other");
	if (!o->alone && (rt_mpi_started() || rt_env_started()))
		return started_ranks(o, ret, err);
	return o->ranks > 1 || o->tp > 1 || o->pp > 1 ? own_ranks(o, ret, err) : bn_train_rank(o, NULL, ret, err);
}
