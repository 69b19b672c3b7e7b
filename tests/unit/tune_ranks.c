/* SPDX-License-Identifier: Apache-2.0 */
/* Rank, number of ranks, and the rank's GPU. CPUs and memory follow from them; without them nothing is guessed. */
#include <stdlib.h>
#include <string.h>
#include "tests/unit/tune_launch.h"
#include "tune/launch/launcher.h"

static const struct {
	const char *host;
	const char *env[5];
	const char *cpus, *nodes, *threads;
} cases[] = {
	{ "laptop-no-gpu", { NULL }, "0-7", "", "4" },
	{ "cpu-server", { NULL }, "0-15", "", "8" },
	{ "cpu-server", { "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2" }, "4-7,12-15", "1", "4" },
	{ "cpu-server", { "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=3" }, "0-1,8-9", "0", "2" },
	{ "cpu-server", { "LOCAL_RANK=20", "LOCAL_WORLD_SIZE=32" }, "4,12", "1", "1" },
	{ "cpu-server", { "LOCAL_RANK=9", "LOCAL_WORLD_SIZE=2" }, "0-15", "", "8" }, /* invalid values are ignored */
	{ "server-8gpu", { NULL }, "", "", "4" }, /* eight GPUs on two nodes: not bound, one process per GPU may start */
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=6" }, "16-31,48-63", "1", "16" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=0,1" }, "0-15,32-47", "0", "8" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=0,6" }, "", "", "16" }, /* on two nodes */
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=0,1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1" }, "0-15,32-47", "0", "8" },
	{ "server-8gpu", { "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=1" }, "", "", "4" }, /* one task with all GPUs */
	/* each of two tasks has four GPUs and may start a process for each */
	{ "server-8gpu",
	  { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=2", "SLURM_GPUS_PER_TASK=4", "CUDA_VISIBLE_DEVICES=4,5,6,7" },
	  "24-31,56-63", "1", "2" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=" }, "0-63", "", "32" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=8" }, "", "", "32" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=-1" }, "0-63", "", "32" }, /* no GPU is selected */
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=NoDevFiles", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=8" }, "12-15,44-47", "0", "4" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=MIG-1" }, "", "", "32" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=6,-1,0" }, "16-31,48-63", "1", "16" }, /* CUDA stops at -1 */
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=6,-1,0", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2" }, "", "", "16" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=6,6" }, "", "", "32" }, /* duplicate: no GPU is left */
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=4,0", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2" }, "0-15,32-47", "0", "16" },
	{ "server-8gpu", { "SLURM_LOCALID=5", "SLURM_STEP_TASKS_PER_NODE=8(x2)" }, "20-23,52-55", "1", "4" },
	/* 8 tasks on the first host and 4 on the second, and the other way round: each task has its own list of GPUs */
	{ "server-8gpu", { "SLURM_LOCALID=3", "SLURM_STEP_TASKS_PER_NODE=8,4", "SLURM_NODEID=1" }, "12-15,44-47", "0", "4" },
	{ "cpu-server", { "SLURM_LOCALID=3", "SLURM_STEP_TASKS_PER_NODE=8,4", "SLURM_NODEID=1" }, "6-7,14-15", "1", "2" },
	{ "cpu-server", { "SLURM_LOCALID=7", "SLURM_STEP_TASKS_PER_NODE=4(x2),8", "SLURM_NODEID=2" }, "7,15", "1", "1" },
	{ "cpu-server", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4(x2),2", "SLURM_NODEID=1" }, "2-3,10-11", "0", "2" },
	{ "cpu-server", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4,2" }, "0-15", "", "8" }, /* unknown host */
	{ "cpu-server", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4(x2", "SLURM_NODEID=0" }, "0-15", "", "8" },
	{ "cpu-server", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4,2", "SLURM_NODEID=2" }, "0-15", "", "8" },
	{ "cpu-server", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=2(x4)", "SLURM_NODEID=3" }, "4-7,12-15", "1", "4" },
	{ "cpu-server", { "SLURM_LOCALID=0", "SLURM_NTASKS_PER_NODE=2" }, "0-15", "", "8" }, /* a batch script is one process */
	{ "cpu-server", { "LOCAL_RANK=1", "LOCAL_SIZE=2" }, "4-7,12-15", "1", "4" }, /* deepspeed */
	{ "cpu-server", { "HOROVOD_LOCAL_RANK=1", "HOROVOD_LOCAL_SIZE=2" }, "4-7,12-15", "1", "4" },
	{ "server-8gpu", { "OMPI_COMM_WORLD_LOCAL_RANK=7", "OMPI_COMM_WORLD_LOCAL_SIZE=8" }, "28-31,60-63", "1", "4" },
	{ "server-8gpu", { "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=8" }, "0-3,32-35", "0", "4" },
	/* each rank sees one GPU: only the ranks whose GPUs are on the same node share that node */
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=5", "SLURM_LOCALID=5", "SLURM_STEP_TASKS_PER_NODE=8", "SLURM_GPUS_PER_TASK=1" },
	  "20-23,52-55", "1", "4" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=5", "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=8", "SLURM_GPUS_PER_TASK=1" },
	  "20-23,52-55", "1", "4" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=1", "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=2", "SLURM_GPUS_PER_TASK=1" },
	  "8-15,40-47", "0", "8" },
	/* or one GPU for all of them: the environment does not show the difference */
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=5", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=8" }, "22-23,54-55", "1", "2" },
	{ "vfio-all", { NULL }, "0-63", "", "32" }, /* set aside for virtual machines */
	{ "server-8gpu", { "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=8" }, "0-3,32-35", "0", "4" },
	{ "server-8gpu", { "LOCAL_RANK=5", "LOCAL_WORLD_SIZE=8" }, "20-23,52-55", "1", "4" },
	/* uneven nodes of 10, 8 and 8 cores: whole nodes if the number of ranks is divisible, otherwise even parts */
	{ "xeon-uneven-snc", { "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=3" }, "0-9,26-35", "0", "10" },
	{ "xeon-uneven-snc", { "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=3" }, "10-17,36-43", "1", "8" },
	{ "xeon-uneven-snc", { "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=3" }, "18-25,44-51", "2", "8" },
	{ "xeon-uneven-snc", { "LOCAL_RANK=6", "LOCAL_WORLD_SIZE=7" }, "22-25,48-51", "2", "4" },
	{ "xeon-uneven-snc", { "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2" }, "13-25,39-51", "", "13" },
	{ "epyc-nps4", { "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4" }, "16-31,80-95", "", "16" },
	/* numbers that alternate between the nodes */
	{ "interleaved-ids", { "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2" },
	  "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30", "0", "8" },
	{ "interleaved-ids", { "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=4" }, "1,3,5,7,17,19,21,23", "1", "4" },
	{ "interleaved-ids", { "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=3" }, "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31", "1", "8" },
	{ "container-cpuset", { NULL }, "16-19,48-51", "1", "4" },
	{ "gpu-lost-and-narrow", { NULL }, "", "", "16" }, /* the GPU's node is unknown: no guess */
	{ "cpuless-node", { NULL }, "0-7", "0", "8" },
};

START_TEST(cpus_memory_and_threads_follow_from_the_host)
{
	gt_auto(tn_run) *r = make(cases[_i].host, python, (char *const *)cases[_i].env, NULL);
	gt_autofree char *cpus = gt_set_format(&r->cpus), *nodes = gt_set_format(&r->mem_nodes);

	ck_assert_str_eq(cpus, cases[_i].cpus);
	ck_assert_str_eq(nodes, cases[_i].nodes);
	ck_assert_str_eq(var(r, "OMP_NUM_THREADS")->value, cases[_i].threads);
	ck_assert_ptr_nonnull(r->cpus_reason);
	ck_assert_ptr_nonnull(r->mem_reason);
}
END_TEST

/* Every core belongs to some rank, and no two ranks share one. */
START_TEST(ranks_share_out_the_cores)
{
	gt_auto(pr_host) *h = NULL;
	struct box b;

	box_open(&b, "server-8gpu");
	ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .no_nvml = true }, &h, NULL), 0);
	for (unsigned n = 1; n <= 16; n++) {
		gt_auto_set all = { 0 };
		unsigned sum = 0;

		for (unsigned k = 0; k < n; k++) {
			gt_autofree char *rank = gt_xasprintf("LOCAL_RANK=%u", k),
					 *size = gt_xasprintf("LOCAL_WORLD_SIZE=%u", n);
			char *env[] = { rank, size, NULL };
			gt_auto(tn_run) *r = NULL;

			ck_assert_int_eq(
				tn_run_make(b.fs, h, &(struct tn_run_opts){.argv = python, .envp = env}, &r, NULL), 0);
			sum += gt_set_count(&r->cpus);
			gt_set_or(&all, &r->cpus);
		}
		ck_assert_msg(sum == gt_set_count(&all), "%u ranks share CPUs", n);
		if (n >= 8)
			ck_assert_uint_eq(sum, 64);
	}
	box_close(&b);
}
END_TEST

/*
 * A launcher is not bound to the first GPU's node, and its ranks do not each get all threads. Expected number of ranks
 * on a host of 8 GPUs, 32 cores and 64 CPUs. 0: no launcher, which may start one process per GPU. -1: not specified.
 */
static const struct {
	const char *words, *env;
	int ranks;
} launches[] = {
	{ "torchrun --nproc_per_node=8 train.py", NULL, 8 },
	{ "/usr/bin/python3 -u -m torch.distributed.run --nproc-per-node 8 train.py", NULL, 8 },
	{ "torchrun --nnodes 2 --nproc-per-node 4 train.py --nproc-per-node 16", NULL, 4 },
	{ "torchrun train.py", NULL, 1 },
	{ "torchrun train.py", "PET_NPROC_PER_NODE=4", 4 },
	{ "torchrun --standalone train.py -n 1000", NULL, 1 },
	{ "torchrun --nproc-per-node=gpu train.py -n 1000", NULL, 8 },
	{ "torchrun --nproc-per-node=gpu train.py", "CUDA_VISIBLE_DEVICES=0,1", 2 },
	{ "torchrun --nproc-per-node=auto train.py", "CUDA_VISIBLE_DEVICES=", 64 },
	{ "torchrun --nproc-per-node=cpu --no-python ./train", NULL, 64 },
	{ "torchrun --nproc-per-node=many train.py", NULL, -1 },
	{ "torchrun --nproc-per-node", NULL, 1 },
	{ "mpirun -np 8 ./train", NULL, 8 },
	{ "mpirun --bind-to none -x PATH -mca btl self,tcp --np 4 ./train -n 100", NULL, 4 },
	{ "mpiexec -n 4 -genv A B ./train", NULL, 4 },
	{ "mpirun ./train -np 8", NULL, -1 },
	{ "mpirun -np 16 --hostfile hosts ./train", NULL, -1 },
	{ "mpirun -np 16 -H a,b -ppn 8 ./train", NULL, 8 },
	{ "mpirun -np 16 ./train", "SLURM_NNODES=2", -1 },
	{ "mpirun -np 1 ./master : -np 3 ./worker", NULL, -1 },
	{ "mpirun --allow-run-as-root ./train", NULL, -1 },
	{ "accelerate launch train.py", NULL, 8 },
	{ "accelerate launch --multi_gpu --num_processes 4 train.py", NULL, 4 },
	{ "accelerate launch --num_processes 16 --num_machines 2 train.py", NULL, 8 },
	{ "accelerate launch --config_file two.yaml train.py", NULL, -1 },
	{ "/opt/venv/bin/accelerate-launch --num_processes 4 train.py", NULL, 4 },
	{ "accelerate config", NULL, 0 },
	{ "accelerate", NULL, 0 },
	{ "python3 -m accelerate.commands.launch --num_processes 4 train.py", NULL, 4 },
	{ "deepspeed train.py", NULL, 8 },
	{ "deepspeed --num_gpus=2 train.py", NULL, 2 },
	{ "deepspeed --include localhost:0,1 train.py", NULL, -1 },
	{ "srun -n8 ./train", NULL, 8 },
	{ "srun -l --ntasks=8 -c 4 ./train -n 2", NULL, 8 },
	{ "srun -N 2 -n 16 ./train", NULL, 8 },
	{ "srun -N 2-4 -n 16 ./train", NULL, -1 },
	{ "srun --ntasks-per-node=4 ./train", NULL, 4 },
	{ "srun ./train", NULL, 8 }, /* one task, which may start a process for each GPU */
	{ "srun ./train", "CUDA_VISIBLE_DEVICES=3", 1 },
	{ "srun -c8 ./train -n 4", NULL, 8 },
	{ "srun -lu ./train -n 4", NULL, 8 },
	{ "mpirun -n 1 ./train", NULL, 8 },
	{ "srun -n4 --ntasks-per-node=8 ./train", NULL, 4 },
	{ "srun -N2 --ntasks-per-node=1 torchrun --nproc_per_node=8 train.py", NULL, 8 },
	{ "srun -n 2 -- mpirun ./train", NULL, -1 },
	{ "mpirun --pernode ./train -n 8", NULL, -1 },
	{ "python3 -W ignore -X dev -m torch.distributed.run --nproc_per_node=8 train.py", NULL, 8 },
	{ "deepspeed --hostfile hosts train.py", NULL, -1 },
	{ "srun ./train", "SLURM_NTASKS=6", 6 },
	{ "horovodrun -np 4 -H localhost:4 ./train", NULL, -1 },
	{ "horovodrun -np 4 ./train", NULL, 4 },
	{ "python3 train.py -n 8", NULL, 0 },
	{ "./mpirun.sh -n 8", NULL, 0 },
};

START_TEST(a_launcher_is_left_free)
{
	char *env[] = { (char *)launches[_i].env, NULL }, *argv[16] = { NULL };
	char *copy = gt_xstrdup(launches[_i].words), *save = NULL;
	const char *words = launches[_i].words;
	int ranks = launches[_i].ranks, threads = 32 / (ranks ? GT_MAX(ranks, 1) : 8);
	gt_auto(tn_run) *r = NULL;
	const struct tn_var *v;
	size_t n = 0;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	r = make("server-8gpu", argv, env, NULL);
	v = var(r, "OMP_NUM_THREADS");
	if (ranks) {
		ck_assert_msg(!gt_set_count(&r->cpus) && !gt_set_count(&r->mem_nodes), "%s", words);
		ck_assert_msg(strstr(r->cpus_reason, "it starts the ranks itself") != NULL, "%s: %s", words, r->cpus_reason);
	}
	else
		ck_assert_msg(!strstr(r->cpus_reason, "it starts the ranks itself"), "%s: %s", words, r->cpus_reason);
	ck_assert_msg(v->status == (ranks < 0 ? TN_VAR_SKIPPED : TN_VAR_SET), "%s: %s", words, v->reason);
	ck_assert_msg(ranks < 0 || atoi(v->value) == GT_MAX(threads, 1), "%s: %s", words, v->value);
	free(copy);
}
END_TEST

/* NCCL's interfaces matter only for jobs on several hosts; the command line may show these. */
static const struct {
	const char *words, *env;
	bool several;
} host_cases[] = {
	{ "torchrun --nnodes 2 --nproc-per-node 8 train.py", NULL, true },
	{ "torchrun --nnodes=1:4 train.py", NULL, true },
	{ "torchrun --nnodes 1 train.py --nnodes 2", NULL, false },
	{ "torchrun train.py", "PET_NNODES=2", true },
	{ "torchrun --nnodes 1 train.py", "PET_NNODES=2", false },
	{ "accelerate launch --num_machines 2 train.py", NULL, true },
	{ "srun -N2 ./train", NULL, true },
	{ "srun -N 1-4 ./train", NULL, true },
	{ "srun --ntasks-per-gpu=2 ./train", NULL, false },
	{ "srun -n1 torchrun --nnodes 2 train.py", NULL, true },
	{ "mpirun -np 16 -H a:8,b:8 ./train", NULL, true },
	{ "mpirun -np 8 -H a:8 ./train", NULL, false },
	{ "mpirun -np 8 --hostfile hosts ./train", NULL, true },
	{ "horovodrun -np 16 -H a:8,b:8 ./train", NULL, true },
	{ "deepspeed --num_nodes 2 train.py", NULL, true },
	{ "deepspeed --include a:0,1@b:0,1 train.py", NULL, true },
	{ "deepspeed --include localhost:0,1 train.py", NULL, false },
	{ "python3 train.py --nnodes 2", NULL, false },
};

START_TEST(a_launcher_that_names_several_hosts_is_heard)
{
	gt_autofree char *copy = gt_xstrdup(host_cases[_i].words);
	char *env[] = { (char *)host_cases[_i].env, NULL }, *argv[16] = { NULL }, *save = NULL;
	gt_auto(tn_run) *r = NULL;
	struct box b;
	size_t n = 0;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	box_open(&b, "server-8gpu");
	box_put(&b, "/sys/class/net/virbr0/mtu", "1500\n");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &(struct tn_run_opts){ .argv = argv, .envp = env }, &r, NULL), 0);
	ck_assert_msg(gt_streq(var(r, "NCCL_SOCKET_IFNAME")->value, host_cases[_i].several ? "^lo,docker,virbr" : NULL), "%s",
		      host_cases[_i].words);
	box_close(&b);
}
END_TEST

/* Launchers read these files and gputune does not. If one exists, gputune sets no number. */
static const struct {
	const char *file, *program, *more; /* more: an option that sets the number anyway */
	const char *env[3];
} configured_cases[] = {
	{ "/job/hostfile", "deepspeed", "--num_gpus=2", { "HOME=/ann" } },
	{ "/ann/.cache/huggingface/accelerate/default_config.yaml", "accelerate-launch", "--num_processes=2", { "HOME=/ann" } },
	{ "/hf/accelerate/default_config.yaml", "accelerate-launch", "--num_processes=2", { "HOME=/x", "HF_HOME=/hf" } },
};

START_TEST(a_launchers_own_file_is_not_guessed_at)
{
	char *plain[] = { (char *)configured_cases[_i].program, "train.py", NULL };
	char *said[] = { plain[0], (char *)configured_cases[_i].more, "train.py", NULL };
	struct tn_run_opts o = { .argv = plain, .envp = (char *const *)configured_cases[_i].env };
	const char *file = configured_cases[_i].file;
	gt_auto(tn_run) *r = NULL;
	struct box b;

	box_open(&b, "server-8gpu");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
	ck_assert_msg(gt_streq(var(r, "OMP_NUM_THREADS")->value, "4"), "%s, without its file", plain[0]);
	tn_run_free(r);
	r = NULL;
	box_put(&b, file, "x\n");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
	ck_assert_msg(var(r, "OMP_NUM_THREADS")->status == TN_VAR_SKIPPED, "%s", file);
	tn_run_free(r);
	r = NULL;
	o.argv = said;
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
	ck_assert_msg(gt_streq(var(r, "OMP_NUM_THREADS")->value, "16"), "%s, with %s", file, said[1]);
	box_close(&b);
}
END_TEST

/* Without a number of ranks the value that the user set is still kept. */
START_TEST(an_unsaid_number_of_ranks_changes_nothing)
{
	char *argv[] = { "mpirun", "./train", NULL }, *env[] = { "OMP_NUM_THREADS=3", NULL };
	gt_auto(tn_run) *r = make("server-8gpu", argv, env, NULL);

	ck_assert_int_eq(var(r, "OMP_NUM_THREADS")->status, TN_VAR_KEPT);
	ck_assert_str_eq(var(r, "OMP_NUM_THREADS")->value, "3");
}
END_TEST

#define SLURM(TASKS) "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=" TASKS
#define SRUN_BINDS "SLURM_CPU_BIND_TYPE=mask_cpu:"
#define OMPI_BINDS "OMPI_MCA_orte_bound_at_launch=1"
#define OMPI(TASKS) "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=" TASKS
static const struct {
	const char *name, *host, *allowed, *cpuset; /* cpuset NULL: unknown */
	const char *env[5];
	const char *cpus, *nodes, *threads, *by; /* by NULL: not bound, cpus is a share */
} bound_cases[] = {
	{ "srun -c 4", "cpu-server", "4-7", NULL, { SLURM("4"), SRUN_BINDS }, "4-7", "1", "4", "srun" },
	{ "srun --cpu-bind=none in a job of four CPUs", "cpu-server", "4-7", "4-7", { SLURM("4"), "SLURM_CPU_BIND_TYPE=none" },
	  "5", "1", "1", NULL },
	{ "task/cgroup alone", "cpu-server", "4-7", "4-7", { SLURM("4") }, "5", "1", "1", NULL },
	{ "a mask within the job's CPUs, and no word", "cpu-server", "4-7", "0-15", { SLURM("4") },
	  "4-7", "1", "4", "its launcher" },
	{ "a word without a mask: TaskPlugin=task/none", "cpu-server", "0-15", NULL, { SLURM("2"), SRUN_BINDS },
	  "4-7,12-15", "1", "4", NULL },
	{ "mpirun --bind-to core", "cpu-server", "1,9", "0-15", { OMPI("8"), OMPI_BINDS }, "1,9", "0", "1",
	  "mpirun" },
	{ "mpirun --bind-to numa: four ranks on each node", "cpu-server", "4-7,12-15", NULL,
	  { OMPI("8"), OMPI_BINDS }, "4-7,12-15", "1", "1", "mpirun" },
	{ "the same with two ranks: a node each", "cpu-server", "4-7,12-15", NULL, { OMPI("2"), OMPI_BINDS },
	  "4-7,12-15", "1", "4", "mpirun" },
	{ "mpirun --bind-to none in a cpuset", "cpu-server", "4-7,12-15", "4-7,12-15", { OMPI("2") }, "6-7,14-15", "1", "2", NULL },
	{ "torchrun in a task of srun's shares out what that has", "cpu-server", "4-7,12-15", NULL,
	  { "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "SLURM_LOCALID=0", SRUN_BINDS }, "6-7,14-15", "1", "2", NULL },
	{ "one rank", "cpu-server", "4-7", "0-15", { "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=1", SRUN_BINDS },
	  "4-7", "1", "4", NULL },
	{ "away from its GPU", "server-8gpu", "8-15", "0-63", { "SLURM_LOCALID=5", "SLURM_STEP_TASKS_PER_NODE=8",
	  SRUN_BINDS }, "8-15", "0", "8", "srun, not changed, although GPU 0000:3f:00.0 is at node 1" },
	{ "small cores too, which the launcher has counted", "hybrid-laptop", "8-11", "0-15", { SLURM("4"), SRUN_BINDS },
	  "8-11", "", "4", "srun" },
};

START_TEST(a_launchers_binding_is_not_divided_again)
{
	gt_autofree char *status = gt_xasprintf("Name:\tx\nCpus_allowed_list:\t%s\n", bound_cases[_i].allowed);
	gt_autofree char *cpus = NULL, *nodes = NULL;
	struct tn_run_opts o = { .argv = python, .envp = (char *const *)bound_cases[_i].env };
	const char *by = bound_cases[_i].by;
	gt_auto(tn_run) *r = NULL;
	struct box b;

	box_open(&b, bound_cases[_i].host);
	box_put(&b, "/proc/self/status", status);
	if (bound_cases[_i].cpuset)
		box_put(&b, "/sys/fs/cgroup/cpuset.cpus.effective", bound_cases[_i].cpuset);
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
	cpus = gt_set_format(&r->cpus);
	nodes = gt_set_format(&r->mem_nodes);
	ck_assert_msg(!strcmp(cpus, bound_cases[_i].cpus), "%s: %s (%s)", bound_cases[_i].name, cpus, r->cpus_reason);
	ck_assert_msg(!strcmp(nodes, bound_cases[_i].nodes), "%s: node %s", bound_cases[_i].name, nodes);
	ck_assert_msg(gt_streq(var(r, "OMP_NUM_THREADS")->value, bound_cases[_i].threads), "%s: %s threads", bound_cases[_i].name,
		      var(r, "OMP_NUM_THREADS")->value);
	if (by) {
		gt_autofree char *said = gt_xasprintf("bound by %s", by);

		ck_assert_msg(strstr(r->cpus_reason, said) != NULL, "%s: %s", bound_cases[_i].name, r->cpus_reason);
	} else {
		ck_assert_msg(!strstr(r->cpus_reason, "bound by"), "%s: %s", bound_cases[_i].name, r->cpus_reason);
	}
	box_close(&b);
}
END_TEST

/* CPU time and memory limits of the control group apply to all ranks together. */
static const struct {
	const char *host, *quota, *limit; /* of the control group; NULL: as in the fixture */
	unsigned ranks;
	const char *launches, *threads, *tunables; /* tunables NULL: not checked; "": none */
} group_cases[] = {
	{ "container-cpuset", NULL, NULL, 0, NULL, "4", NULL },
	{ "container-cpuset", NULL, NULL, 2, NULL, "2", NULL },
	{ "container-cpuset", "200000 100000\n", NULL, 0, NULL, "2", NULL },
	{ "container-cpuset", "200000 100000\n", NULL, 2, NULL, "1", NULL },
	{ "container-cpuset", "200000 100000\n", NULL, 3, NULL, "1", NULL },
	{ "container-cpuset", "600000 100000\n", NULL, 2, NULL, "2", NULL }, /* only four cores exist */
	{ "container-cpuset", NULL, NULL, 0, "--nproc-per-node=2", "2", NULL },
	{ "container-cpuset", "300000 100000\n", NULL, 0, "--nproc-per-node=2", "1", NULL },
	{ "cpu-server", NULL, NULL, 0, NULL, "8", "17179869184:68719476736" },
	{ "cpu-server", NULL, NULL, 8, NULL, "1", "2147483648:8589934592" },
	{ "cpu-server", NULL, NULL, 0, "--nproc-per-node=8", "1", "2147483648:8589934592" },
	{ "cpu-server", NULL, "17179869184\n", 4, NULL, "2", "1073741824:2147483648" }, /* half of the limit */
	{ "cpu-server", NULL, "17179869184\n", 16, NULL, "1", "" }, /* 1 GiB each: nothing is kept */
};

START_TEST(a_quota_and_memory_are_shared_by_the_ranks)
{
	char *torchrun[] = { "torchrun", (char *)group_cases[_i].launches, "x.py", NULL };
	struct tn_run_opts o = { .argv = torchrun[1] ? torchrun : python, .envp = no_env, .ranks = group_cases[_i].ranks };
	const char *want = group_cases[_i].tunables;
	gt_auto(tn_run) *r = NULL;
	struct box b;

	box_open(&b, group_cases[_i].host);
	if (group_cases[_i].quota)
		box_put(&b, "/sys/fs/cgroup/docker/abc/cpu.max", group_cases[_i].quota);
	if (group_cases[_i].limit)
		box_put(&b, "/sys/fs/cgroup/memory.max", group_cases[_i].limit);
	for (o.rank = 0; o.rank < GT_MAX(1u, o.ranks); o.rank++) {
		gt_autofree char *have = NULL;
		uint64_t mmap, trim;

		tn_run_free(r);
		ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
		ck_assert_str_eq(var(r, "OMP_NUM_THREADS")->value, group_cases[_i].threads);
		if (want && !*want)
			ck_assert_int_eq(var(r, "GLIBC_TUNABLES")->status, TN_VAR_SKIPPED);
		if (!want || !*want)
			continue;
		ck_assert_int_eq(sscanf(var(r, "GLIBC_TUNABLES")->value,
					"glibc.malloc.mmap_threshold=%lu:glibc.malloc.trim_threshold=%lu", &mmap, &trim), 2);
		have = gt_xasprintf("%lu:%lu", mmap, trim);
		ck_assert_str_eq(have, want);
	}
	box_close(&b);
}
END_TEST

/* The program starts the ranks itself, on one node or several. In a batch script the program is not a rank. */
static const struct {
	const char *host, *env[4];
	const char *cpus, *threads;
} launcher_cases[] = {
	{ "data-sets", { NULL }, "0-7", "2" },
	{ "data-sets", { "SLURM_LOCALID=0", "SLURM_NTASKS_PER_NODE=4" }, "0-7", "2" }, /* sbatch */
	{ "data-sets", { "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=1(x2)", "SLURM_NODEID=1" }, "0-7", "2" },
	{ "data-sets", { "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=2" }, "0-7", "1" }, /* srun starts two of them */
	{ "offline-cpus", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=2" }, "0,2,4,6-7", "1" },
	{ "hybrid-laptop", { NULL }, "0-7", "2" }, /* without the small cores, for a launcher too */
	{ "cpu-server", { "SLURM_LOCALID=0", "SLURM_NTASKS_PER_NODE=2" }, "", "4" },
	{ "cpu-server", { "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=2" }, "", "2" },
};

START_TEST(a_launcher_is_left_free_wherever_it_runs)
{
	static char *torchrun[] = { "torchrun", "--nproc-per-node", "2", "x.py", NULL };
	gt_auto(tn_run) *r = make(launcher_cases[_i].host, torchrun, (char *const *)launcher_cases[_i].env, NULL);
	gt_autofree char *cpus = gt_set_format(&r->cpus);

	ck_assert_msg(!strcmp(cpus, launcher_cases[_i].cpus), "%s: %s (%s)", launcher_cases[_i].host, cpus, r->cpus_reason);
	ck_assert_str_eq(var(r, "OMP_NUM_THREADS")->value, launcher_cases[_i].threads);
	ck_assert_ptr_null(strstr(r->cpus_reason, "a share of"));
}
END_TEST

START_TEST(incomplete_launcher_variables_are_reported)
{
	char *env[] = { "LOCAL_RANK=3", NULL }, *batch[] = { "SLURM_LOCALID=0", "SLURM_NTASKS_PER_NODE=8", "SLURM_JOB_ID=7", NULL };
	gt_auto(tn_run) *r = make("server-8gpu", python, env, NULL), *whole = make("server-8gpu", python, batch, NULL);

	ck_assert_uint_eq(gt_set_count(&r->cpus), 0);
	ck_assert_msg(strstr(r->cpus_reason, "LOCAL_RANK is 3, but LOCAL_WORLD_SIZE does not give the number of ranks"), "%s",
		      r->cpus_reason);
	ck_assert_msg(strstr(whole->cpus_reason, "LOCAL_RANK selects one") != NULL, "%s", whole->cpus_reason);
}
END_TEST

static const struct {
	const char *env[3];
	bool many;
} worlds[] = {
	{ { "OMPI_COMM_WORLD_SIZE=16", "OMPI_COMM_WORLD_LOCAL_SIZE=8" }, true },
	{ { "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_SIZE=8" }, false },
	{ { "PMI_SIZE=16", "MPI_LOCALNRANKS=8" }, true },
	{ { "WORLD_SIZE=16", "LOCAL_SIZE=8" }, true },
	{ { "WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8" }, true },
	{ { "WORLD_SIZE=16" }, false }, /* unknown number of hosts */
};

START_TEST(a_job_on_several_hosts_is_recognised_by_its_launcher)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(worlds); i++) {
		struct tn_launch c = { .envp = (char *const *)worlds[i].env };

		ck_assert_msg(tn_job_has_many_hosts(&c) == worlds[i].many, "%s", worlds[i].env[0]);
	}
}
END_TEST

TCase *tune_ranks_case(void)
{
	TCase *tc = tcase_create("ranks");
	const TTest *const tests[] = {
		ranks_share_out_the_cores,
		an_unsaid_number_of_ranks_changes_nothing,
		incomplete_launcher_variables_are_reported,
		a_job_on_several_hosts_is_recognised_by_its_launcher,
	};

	tcase_add_loop_test(tc, cpus_memory_and_threads_follow_from_the_host, 0, GT_ARRAY_SIZE(cases));
	tcase_add_loop_test(tc, a_launchers_binding_is_not_divided_again, 0, GT_ARRAY_SIZE(bound_cases));
	tcase_add_loop_test(tc, a_quota_and_memory_are_shared_by_the_ranks, 0, GT_ARRAY_SIZE(group_cases));
	tcase_add_loop_test(tc, a_launcher_is_left_free, 0, GT_ARRAY_SIZE(launches));
	tcase_add_loop_test(tc, a_launcher_that_names_several_hosts_is_heard, 0, GT_ARRAY_SIZE(host_cases));
	tcase_add_loop_test(tc, a_launchers_own_file_is_not_guessed_at, 0, GT_ARRAY_SIZE(configured_cases));
	tcase_add_loop_test(tc, a_launcher_is_left_free_wherever_it_runs, 0, GT_ARRAY_SIZE(launcher_cases));
	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	return tc;
}
