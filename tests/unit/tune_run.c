/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher: right on every captured host, respectful of what the user has set. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/file.h"
#include "tests/unit/check_tune.h"
#include "tune/loader.h"
#include "tune/rank.h"
#include "tune/trust.h"

static struct tn_run *make(const char *host, char *const *argv, char *const *envp, const char *allocator)
{
	struct tn_run_opts o = { .argv = argv, .envp = envp, .allocator = allocator };
	struct tn_run *run = NULL;
	struct gt_err err = { 0 };
	struct box b;

	box_open(&b, host);
	ck_assert_msg(tn_run_make(b.fs, NULL, &o, &run, &err) == 0, "%s", err.msg);
	box_close(&b);
	return run;
}

static const struct tn_var *var(const struct tn_run *r, const char *name)
{
	for (size_t i = 0; i < r->n_var; i++)
		if (!strcmp(r->var[i].name, name))
			return &r->var[i];
	return NULL;
}

static char *no_env[] = { NULL };
static char *python[] = { "/usr/bin/python3", "train.py", NULL };

static const struct {
	const char *host;
	const char *env[4];
	const char *cpus, *nodes, *threads;
} cases[] = {
	{ "laptop-no-gpu", { NULL }, "0-7", "", "4" },
	{ "cpu-server", { NULL }, "0-15", "", "8" },
	{ "cpu-server", { "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2" }, "4-7,12-15", "1", "4" },
	{ "cpu-server", { "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=3" }, "0-1,8-9", "0", "2" },
	{ "cpu-server", { "LOCAL_RANK=20", "LOCAL_WORLD_SIZE=32" }, "4,12", "1", "1" },
	{ "cpu-server", { "LOCAL_RANK=9", "LOCAL_WORLD_SIZE=2" }, "0-15", "", "8" }, /* nonsense is not followed */
	{ "server-8gpu", { NULL }, "", "", "32" }, /* which of eight GPUs on two nodes? no guess */
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=6" }, "16-31,48-63", "1", "16" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=0,1" }, "0-15,32-47", "0", "16" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=" }, "0-63", "", "32" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=8" }, "", "", "32" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=MIG-1" }, "", "", "32" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=6,-1,0" }, "16-31,48-63", "1", "16" }, /* CUDA stops at -1 */
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=6,-1,0", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2" }, "", "", "32" },
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=6,6" }, "", "", "32" }, /* twice: no GPU is left */
	{ "server-8gpu", { "CUDA_VISIBLE_DEVICES=4,0", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2" }, "0-15,32-47", "0", "16" },
	{ "server-8gpu", { "SLURM_LOCALID=5", "SLURM_STEP_TASKS_PER_NODE=8(x2)" }, "20-23,52-55", "1", "4" },
	/* 8 tasks on the first host and 4 on the second, and the other way round: each has its own list of GPUs */
	{ "server-8gpu", { "SLURM_LOCALID=3", "SLURM_STEP_TASKS_PER_NODE=8,4", "SLURM_NODEID=1" }, "12-15,44-47", "0", "4" },
	{ "cpu-server", { "SLURM_LOCALID=3", "SLURM_STEP_TASKS_PER_NODE=8,4", "SLURM_NODEID=1" }, "6-7,14-15", "1", "2" },
	{ "cpu-server", { "SLURM_LOCALID=7", "SLURM_STEP_TASKS_PER_NODE=4(x2),8", "SLURM_NODEID=2" }, "7,15", "1", "1" },
	{ "cpu-server", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4(x2),2", "SLURM_NODEID=1" }, "2-3,10-11", "0", "2" },
	{ "cpu-server", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4,2" }, "0-15", "", "8" }, /* which host is not said */
	{ "cpu-server", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4(x2", "SLURM_NODEID=0" }, "0-15", "", "8" },
	{ "cpu-server", { "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4,2", "SLURM_NODEID=2" }, "0-15", "", "8" },
	{ "cpu-server", { "SLURM_LOCALID=1", "SLURM_NTASKS_PER_NODE=2", "SLURM_NODEID=3" }, "4-7,12-15", "1", "4" },
	{ "cpu-server", { "LOCAL_RANK=1", "LOCAL_SIZE=2" }, "4-7,12-15", "1", "4" }, /* deepspeed */
	{ "cpu-server", { "HOROVOD_LOCAL_RANK=1", "HOROVOD_LOCAL_SIZE=2" }, "4-7,12-15", "1", "4" },
	{ "server-8gpu", { "OMPI_COMM_WORLD_LOCAL_RANK=7", "OMPI_COMM_WORLD_LOCAL_SIZE=8" }, "28-31,60-63", "1", "4" },
	{ "server-8gpu", { "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=8" }, "0-3,32-35", "0", "4" },
	{ "vfio-all", { NULL }, "0-63", "", "32" }, /* set aside for virtual machines */
	{ "server-8gpu", { "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=8" }, "0-3,32-35", "0", "4" },
	{ "server-8gpu", { "LOCAL_RANK=5", "LOCAL_WORLD_SIZE=8" }, "20-23,52-55", "1", "4" },
	{ "container-cpuset", { NULL }, "16-19,48-51", "1", "4" },
	{ "gpu-lost-and-narrow", { NULL }, "", "", "32" }, /* the GPU's node is not known: no guess */
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

/* Between them the ranks have every core, and no two ranks the same one. */
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

/* A launcher is not bound to the first GPU's node, and does not give each of its ranks all the threads. */
START_TEST(a_launcher_is_left_free)
{
	static char *commands[][6] = { { "torchrun", "--nproc_per_node=8", "train.py", NULL },
				       { "/usr/bin/python3", "-m", "torch.distributed.run", "--nproc-per-node", "8", NULL },
				       { "mpirun", "-np", "8", "./train", NULL },
				       { "accelerate", "launch", "train.py", NULL } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(commands); i++) {
		gt_auto(tn_run) *r = make("server-8gpu", commands[i], no_env, NULL);

		ck_assert_uint_eq(gt_set_count(&r->cpus), 0);
		ck_assert_uint_eq(gt_set_count(&r->mem_nodes), 0);
		ck_assert_str_eq(var(r, "OMP_NUM_THREADS")->value, "4");
	}
}
END_TEST

START_TEST(a_gpu_is_known_by_its_uuid_too)
{
	static const struct {
		const char *visible, *cpus;
	} uuids[] = { { "GPU-aaaa-2222", "16-31,48-63" }, { "GPU-aaaa-1", "0-15,32-47" }, { "GPU-aaaa", "" }, { "GPU-", "" },
		      { "GPU-bbbb", "" } };
	struct box b;

	box_open(&b, "server-8gpu");
	box_put(&b, "/proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: x\nGPU UUID: \t GPU-aaaa-1111\n");
	box_put(&b, "/proc/driver/nvidia/gpus/0000:3f:00.0/information", "Model: x\nGPU UUID: \t GPU-aaaa-2222\n");
	for (size_t i = 0; i < GT_ARRAY_SIZE(uuids); i++) {
		gt_autofree char *visible = gt_xasprintf("CUDA_VISIBLE_DEVICES=%s", uuids[i].visible), *cpus = NULL;
		char *env[] = { visible, NULL };
		gt_auto(tn_run) *r = NULL;

		ck_assert_int_eq(tn_run_make(b.fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = env }, &r, NULL), 0);
		cpus = gt_set_format(&r->cpus);
		ck_assert_msg(!strcmp(cpus, uuids[i].cpus), "%s: %s", uuids[i].visible, cpus);
	}
	box_close(&b);
}
END_TEST

/* A captured host with more in it than the fixture has. */
static struct gt_fsroot *open_with(const char *host, const char *more)
{
	gt_autofree char *path = gt_xasprintf("%s/fixtures/%s.host", getenv("TESTDIR") ? getenv("TESTDIR") : "tests", host),
			 *text = NULL, *all = NULL;
	char file[] = "/tmp/check-run.XXXXXX";
	struct gt_fsroot *fs = NULL;
	struct gt_err err = { 0 };
	size_t len;
	int fd = mkstemp(file);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(gt_file_read(path, 64u << 20, &text, &len, NULL), 0);
	all = gt_xasprintf("%s%s", text, more);
	ck_assert_int_eq(write(fd, all, strlen(all)), (ssize_t)strlen(all));
	close(fd);
	ck_assert_msg(gt_fs_open(file, &fs, &err) == 0, "%s", err.msg);
	unlink(file);
	return fs;
}

#define MINOR(ADDRESS, N) "file /proc/driver/nvidia/gpus/0000:" ADDRESS "/information\n\tDevice Minor: \t " N "\n"
#define ALL_MINORS                                                                                                                \
	MINOR("17:00.0", "0") MINOR("1f:00.0", "1") MINOR("27:00.0", "2") MINOR("2f:00.0", "3") MINOR("37:00.0", "4")            \
	MINOR("3f:00.0", "5") MINOR("47:00.0", "6") MINOR("4f:00.0", "7")
#define DENY(N) "deny /dev/nvidia" N " EPERM\n"

static const struct {
	const char *name, *more, *env, *cpus; /* cpus "": nothing is bound */
} kept_cases[] = {
	{ "all are given", "file /dev/nvidia0\nfile /dev/nvidia1\nfile /dev/nvidia2\nfile /dev/nvidia3\nfile /dev/nvidia4\n"
			   "file /dev/nvidia5\nfile /dev/nvidia6\nfile /dev/nvidia7\n" ALL_MINORS,
	  "CUDA_VISIBLE_DEVICES=6", "16-31,48-63" },
	{ "no node yet: the first program makes them", "", "CUDA_VISIBLE_DEVICES=6", "16-31,48-63" },
	{ "docker --gpus device=6", "file /dev/nvidia6\n" MINOR("47:00.0", "6"), "CUDA_VISIBLE_DEVICES=0", "16-31,48-63" },
	{ "the same, one GPU and nobody says which", "file /dev/nvidia6\n" MINOR("47:00.0", "6"), "X=1", "16-31,48-63" },
	{ "the same, a number it does not have", "file /dev/nvidia6\n" MINOR("47:00.0", "6"), "CUDA_VISIBLE_DEVICES=6", "" },
	{ "a container in which /proc is the host's", "file /dev/nvidia6\n" ALL_MINORS, "CUDA_VISIBLE_DEVICES=0", "16-31,48-63" },
	{ "Slurm's ConstrainDevices",
	  DENY("0") DENY("1") DENY("2") DENY("3") DENY("4") DENY("5") "file /dev/nvidia6\n" DENY("7") ALL_MINORS,
	  "CUDA_VISIBLE_DEVICES=0", "16-31,48-63" },
	{ "minor numbers in another order than the bus", "file /dev/nvidia0\n" MINOR("17:00.0", "7") MINOR("4f:00.0", "0"),
	  "CUDA_VISIBLE_DEVICES=0", "16-31,48-63" },
	{ "which one is not said", "file /dev/nvidia6\n", "CUDA_VISIBLE_DEVICES=0", "" },
	{ "which one is said of nobody", "file /dev/nvidia6\n" MINOR("17:00.0", "?") MINOR("47:00.0", "?"),
	  "CUDA_VISIBLE_DEVICES=0", "" },
	{ "none may be opened: as the bus has it", DENY("0") DENY("1") ALL_MINORS, "CUDA_VISIBLE_DEVICES=6", "16-31,48-63" },
};

START_TEST(a_gpu_that_is_kept_from_us_has_no_number)
{
	struct gt_fsroot *fs = open_with("server-8gpu", kept_cases[_i].more);
	char *env[] = { (char *)kept_cases[_i].env, NULL };
	gt_auto(tn_run) *r = NULL;
	gt_autofree char *cpus = NULL;

	ck_assert_int_eq(tn_run_make(fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = env }, &r, NULL), 0);
	cpus = gt_set_format(&r->cpus);
	ck_assert_msg(!strcmp(cpus, kept_cases[_i].cpus), "%s: %s (%s)", kept_cases[_i].name, cpus, r->cpus_reason);
	gt_fs_close(fs);
}
END_TEST

START_TEST(half_a_word_of_a_launcher_is_said)
{
	char *env[] = { "LOCAL_RANK=3", NULL };
	gt_auto(tn_run) *r = make("server-8gpu", python, env, NULL);

	ck_assert_uint_eq(gt_set_count(&r->cpus), 0);
	ck_assert_msg(strstr(r->cpus_reason, "LOCAL_RANK is 3, but LOCAL_WORLD_SIZE does not say of how many"), "%s",
		      r->cpus_reason);
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
	{ { "WORLD_SIZE=16" }, false }, /* of how many hosts is not said */
};

START_TEST(a_job_on_several_hosts_is_known_by_its_launcher)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(worlds); i++) {
		struct tn_ctx c = { .envp = (char *const *)worlds[i].env };

		ck_assert_msg(tn_rank_many_hosts(&c) == worlds[i].many, "%s", worlds[i].env[0]);
	}
}
END_TEST

#define TUNABLES(MMAP, TRIM, PAD)                                                                                                 \
	"glibc.malloc.mmap_threshold=" MMAP ":glibc.malloc.trim_threshold=" TRIM ":glibc.malloc.top_pad=" PAD
#define GROUP(FILE, VALUE) "file /sys/fs/cgroup" FILE "\n\t" VALUE "\n"

static const struct {
	const char *more, *tunables; /* tunables NULL: none */
} limit_cases[] = {
	{ GROUP("/memory.max", "max"), TUNABLES("17179869184", "68719476736", "268435456") },
	{ GROUP("/memory.max", "8589934592"), TUNABLES("2147483648", "4294967296", "134217728") },
	{ GROUP("/memory.high", "8589934592") GROUP("/memory.max", "17179869184"),
	  TUNABLES("2147483648", "4294967296", "134217728") },
	{ GROUP("/memory/memory.limit_in_bytes", "9223372036854771712"), TUNABLES("17179869184", "68719476736", "268435456") },
	{ GROUP("/memory.max", "1073741824"), NULL },
};

START_TEST(malloc_keeps_no_more_than_the_control_group_allows)
{
	struct gt_fsroot *fs = open_with("cpu-server", limit_cases[_i].more);
	gt_auto(tn_run) *r = NULL;
	const char *value;

	ck_assert_int_eq(tn_run_make(fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = no_env }, &r, NULL), 0);
	value = var(r, "GLIBC_TUNABLES")->value;
	if (!limit_cases[_i].tunables)
		ck_assert_ptr_null(value);
	else
		ck_assert_msg(gt_starts_with(value, limit_cases[_i].tunables), "%s", value);
	gt_fs_close(fs);
}
END_TEST

START_TEST(the_users_memory_policy_is_kept)
{
	unsigned long nodes = 1;
	pid_t pid = fork();
	int st;

	if (pid == 0) {
		gt_auto(gt_fsroot) *live = NULL;
		gt_auto(tn_run) *r = NULL;
		int mode = -1;

		if (syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &nodes, 64ul) < 0)
			_exit(77);
		if (gt_fs_open(NULL, &live, NULL) < 0 ||
		    tn_run_make(live, NULL, &(struct tn_run_opts){ .argv = python, .envp = no_env }, &r, NULL) < 0)
			_exit(1);
		if (!r->mem_kept || !gt_streq(r->mem_reason, "set by the user: interleave:0") || tn_run_enter(r, NULL) < 0)
			_exit(2);
		syscall(SYS_get_mempolicy, &mode, NULL, 0ul, NULL, 0ul);
		_exit(mode == MPOL_INTERLEAVE ? 0 : 3);
	}
	waitpid(pid, &st, 0);
	ck_assert_msg(WIFEXITED(st) && (WEXITSTATUS(st) == 0 || WEXITSTATUS(st) == 77), "%d", st);
}
END_TEST

START_TEST(only_an_allocator_counts_as_one)
{
	static const struct {
		const char *preload, *with; /* what --allocator auto makes of it; NULL: it is kept */
		bool tunables;
	} preloads[] = {
		{ "", "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", true },
		{ "libm.so.6", "libm.so.6:/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", true },
		{ "libm.so.6 /opt/lib/libjemalloc.so.2", NULL, false },
		{ "/opt/malloc/libm.so.6", "/opt/malloc/libm.so.6:/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", true },
		{ "/usr/lib/libasan.so.8", NULL, false },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(preloads); i++) {
		gt_autofree char *preload = gt_xasprintf("LD_PRELOAD=%s", preloads[i].preload);
		char *env[] = { preload, "LD_LIBRARY_PATH=", NULL };
		gt_auto(tn_run) *plain = make("cpu-server", python, env, NULL);
		gt_auto(tn_run) *asked = make("cpu-server", python, env, "auto");
		const struct tn_var *v = var(asked, "LD_PRELOAD");

		ck_assert_int_eq(var(plain, "GLIBC_TUNABLES")->status, preloads[i].tunables ? TN_VAR_SET : TN_VAR_SKIPPED);
		ck_assert_int_eq(var(plain, "LD_LIBRARY_PATH")->status, TN_VAR_SET);
		ck_assert_int_eq(v->status, preloads[i].with ? TN_VAR_SET : TN_VAR_KEPT);
		ck_assert_str_eq(v->value, preloads[i].with ? preloads[i].with : preloads[i].preload);
	}
}
END_TEST

/* What the loader cannot put into a program is not preloaded: it would say so for each one that the command starts. */
START_TEST(a_library_that_does_not_load_is_found_out_first)
{
	char file[] = "/tmp/check-load.XXXXXX";
	int fd = mkstemp(file);

	ck_assert(fd >= 0 && write(fd, "\177ELF but no library", 19) == 19);
	close(fd);
	ck_assert(!tn_loader_tries(file));
	unlink(file);
	ck_assert(!tn_loader_tries(file));
	ck_assert(tn_loader_tries("libm.so.6"));
}
END_TEST

/* They are two words about one thing, and the CPUs follow from the option. */
START_TEST(the_option_gpu_goes_before_the_environment)
{
	char *env[] = { "CUDA_VISIBLE_DEVICES=0", NULL };
	struct tn_run_opts o = { .argv = python, .envp = env, .gpus = "7" };
	gt_auto(tn_run) *r = NULL;
	gt_autofree char *cpus = NULL;
	struct box b;

	box_open(&b, "server-8gpu");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
	cpus = gt_set_format(&r->cpus);
	ck_assert_str_eq(cpus, "16-31,48-63");
	ck_assert_int_eq(var(r, "CUDA_VISIBLE_DEVICES")->status, TN_VAR_SET);
	ck_assert_str_eq(var(r, "CUDA_VISIBLE_DEVICES")->value, "7");
	box_close(&b);
}
END_TEST

START_TEST(the_caller_may_say_rank_and_gpu)
{
	struct tn_run_opts o = { .argv = python, .envp = no_env, .gpus = "7,2", .ranks = 2 };
	static const char *const cpus[] = { "16-31,48-63", "0-15,32-47" };
	struct box b;

	box_open(&b, "server-8gpu");
	for (o.rank = 0; o.rank < 2; o.rank++) {
		gt_auto(tn_run) *r = NULL;
		gt_autofree char *have = NULL;

		ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
		have = gt_set_format(&r->cpus);
		ck_assert_str_eq(have, cpus[o.rank]);
		ck_assert_str_eq(var(r, "CUDA_VISIBLE_DEVICES")->value, "7,2");
	}
	box_close(&b);
}
END_TEST

static const struct {
	const char *host, *env, *name, *value; /* value NULL: skipped */
} gpu_cases[] = {
	{ "server-8gpu", "X=1", "CUDA_DEVICE_ORDER", "PCI_BUS_ID" },
	{ "server-8gpu", "CUDA_VISIBLE_DEVICES=1", "CUDA_DEVICE_ORDER", "PCI_BUS_ID" }, /* all alike: nothing moves */
	{ "nouveau", "X=1", "CUDA_DEVICE_ORDER", NULL },
	{ "cpu-server", "X=1", "CUDA_DEVICE_ORDER", NULL },
	{ "server-8gpu", "X=1", "PYTORCH_CUDA_ALLOC_CONF", NULL },
	{ "server-8gpu", "SLURM_NNODES=1", "NCCL_SOCKET_IFNAME", NULL },
	{ "server-8gpu", "SLURM_NNODES=4", "NCCL_SOCKET_IFNAME", "^lo,docker,virbr,br-" },
	{ "server-8gpu", "SLURM_STEP_NUM_NODES=1", "NCCL_SOCKET_IFNAME", NULL },
	{ "server-8gpu", "OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT", NULL },
	{ "server-8gpu", "OMP_WAIT_POLICY=", "GOMP_SPINCOUNT", "3000" }, /* empty says nothing */
	{ "server-8gpu", "NCCL_SOCKET_IFNAME=", "NCCL_SOCKET_IFNAME", NULL },
	{ "server-8gpu", "X=1", "GOMP_SPINCOUNT", "3000" },
	{ "container-cpuset", "X=1", "GOMP_SPINCOUNT", "1000" }, /* a quota */
};

START_TEST(variables_of_gpus_and_waiting_follow_from_host_and_job)
{
	char *env[] = { (char *)gpu_cases[_i].env, NULL };
	gt_auto(tn_run) *r = NULL;
	const struct tn_var *v;
	struct box b;

	box_open(&b, gpu_cases[_i].host);
	box_put(&b, "/sys/class/net/virbr0/mtu", "1500\n");
	box_put(&b, "/sys/class/net/br-1f/mtu", "1500\n");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = env }, &r, NULL), 0);
	v = var(r, gpu_cases[_i].name);
	ck_assert_ptr_nonnull(v);
	ck_assert_int_eq(v->status, gpu_cases[_i].value ? TN_VAR_SET : TN_VAR_SKIPPED);
	ck_assert(gt_streq(v->value, gpu_cases[_i].value));
	box_close(&b);
}
END_TEST

START_TEST(what_debugging_left_behind_is_pointed_out_and_kept)
{
	char *env[] = { "CUDA_LAUNCH_BLOCKING=1", "NCCL_DEBUG=WARN", "NCCL_PROTO=Simple", NULL };
	gt_auto(tn_run) *r = make("server-8gpu", python, env, NULL);

	ck_assert_int_eq(var(r, "CUDA_LAUNCH_BLOCKING")->status, TN_VAR_KEPT);
	ck_assert_int_eq(var(r, "NCCL_PROTO")->status, TN_VAR_KEPT);
	ck_assert_ptr_null(var(r, "NCCL_DEBUG"));
}
END_TEST

/* Where the better BLAS is missing, OpenMP's threads at least do not fight for the cores. */
START_TEST(the_blas_that_the_loader_would_take_counts)
{
	char *own[] = { "LD_LIBRARY_PATH=$PLATFORM/x:/opt/$LIB/none:/opt/blas", NULL };
	struct tn_run_opts o = { .argv = python, .envp = no_env };
	gt_auto(tn_run) *without = NULL, *alien = NULL, *openmp = NULL;
	struct box b;

	box_open(&b, "cpu-server");
	box_put(&b, "/opt/blas/libblas.so.3", "");
	o.envp = own;
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &alien, NULL), 0);
	ck_assert_int_eq(var(alien, "LD_LIBRARY_PATH")->status, TN_VAR_SKIPPED);
	o.envp = no_env;
	box_remove(&b, "/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &without, NULL), 0);
	ck_assert_int_eq(var(without, "LD_LIBRARY_PATH")->status, TN_VAR_SKIPPED);
	ck_assert(without->two_pools);
	ck_assert_ptr_nonnull(strstr(var(without, "GOMP_SPINCOUNT")->reason, "BLAS"));
	/* the alternative says one thing, the loader's own directory another: the loader is asked */
	box_put(&b, "/usr/lib/x86_64-linux-gnu/blis-openmp/libblas.so.3", "");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &openmp, NULL), 0);
	ck_assert_str_eq(var(openmp, "LD_LIBRARY_PATH")->value, "/usr/lib/x86_64-linux-gnu/blis-openmp");
	ck_assert(!openmp->two_pools);
	box_close(&b);
}
END_TEST

START_TEST(a_runtime_is_preloaded_beside_an_allocator)
{
	struct tn_run_opts o = { .argv = python, .envp = no_env, .allocator = "jemalloc", .runtime = "libomp" };
	gt_auto(tn_run) *both = NULL, *none = NULL;
	struct box b;

	box_open(&b, "cpu-server");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &none, NULL), 0);
	ck_assert_ptr_null(var(none, "KMP_BLOCKTIME")); /* not installed */
	box_put(&b, "/usr/lib/llvm-14/lib/libomp.so.5", "");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &both, NULL), 0);
	ck_assert_str_eq(var(both, "LD_PRELOAD")->value,
			 "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2:/usr/lib/llvm-14/lib/libomp.so.5");
	ck_assert_str_eq(var(both, "KMP_BLOCKTIME")->value, "1");
	box_close(&b);
}
END_TEST

START_TEST(what_the_user_has_set_is_kept)
{
	char *env[] = {"OMP_NUM_THREADS=3", "GLIBC_TUNABLES=glibc.malloc.check=1", "LD_PRELOAD=/libmimalloc.so",
		       "LD_LIBRARY_PATH=/opt/lib", NULL};
	gt_auto(tn_run) *r = make("cpu-server", python, env, "auto");

	ck_assert_int_eq(var(r, "OMP_NUM_THREADS")->status, TN_VAR_KEPT);
	ck_assert_str_eq(var(r, "OMP_NUM_THREADS")->value, "3");
	ck_assert_int_eq(var(r, "LD_PRELOAD")->status, TN_VAR_KEPT);
	ck_assert_int_ne(var(r, "GLIBC_TUNABLES")->status, TN_VAR_SET);
	/* a search path can be added to; the user's own comes first */
	ck_assert_int_eq(var(r, "LD_LIBRARY_PATH")->status, TN_VAR_SET);
	ck_assert_str_eq(var(r, "LD_LIBRARY_PATH")->value, "/opt/lib:/usr/lib/x86_64-linux-gnu/openblas-openmp");
}
END_TEST

START_TEST(python_is_never_bound_by_openmp)
{
	static char *commands[][2] = { { "python3", NULL }, { "/opt/venv/bin/python3.11", NULL }, { "torchrun", NULL },
				       { "./train.py", NULL } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(commands); i++) {
		gt_auto(tn_run) *r = make("cpu-server", commands[i], no_env, NULL);

		ck_assert_int_eq(var(r, "OMP_PROC_BIND")->status, TN_VAR_SKIPPED);
		ck_assert_ptr_null(var(r, "OMP_PLACES"));
	}
}
END_TEST

START_TEST(an_openmp_program_is_bound_unless_the_user_binds_it)
{
	char *gomp[] = { "GOMP_CPU_AFFINITY=0-3", NULL };
	struct tn_run_opts o = { .envp = no_env, .program = TN_PROGRAM_OPENMP };
	gt_auto(tn_run) *r = NULL, *by_user = NULL;
	struct box b;

	box_open(&b, "cpu-server");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
	ck_assert_str_eq(var(r, "OMP_PLACES")->value, "cores");
	ck_assert_str_eq(var(r, "OMP_PROC_BIND")->value, "spread"); /* two nodes */
	o.envp = gomp;
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &by_user, NULL), 0);
	ck_assert_int_eq(var(by_user, "OMP_PROC_BIND")->status, TN_VAR_SKIPPED);
	box_close(&b);
}
END_TEST

START_TEST(libraries_are_taken_by_choice_and_by_soname)
{
	gt_auto(tn_run) *plain = make("cpu-server", python, no_env, NULL);
	gt_auto(tn_run) *any = make("cpu-server", python, no_env, "auto");
	gt_auto(tn_run) *jemalloc = make("cpu-server", python, no_env, "jemalloc");
	gt_auto(tn_run) *none = make("laptop-no-gpu", python, no_env, "auto");

	ck_assert_int_eq(var(plain, "LD_PRELOAD")->status, TN_VAR_SKIPPED);
	ck_assert_int_eq(var(plain, "GLIBC_TUNABLES")->status, TN_VAR_SET);
	ck_assert_str_eq(var(plain, "LD_LIBRARY_PATH")->value, "/usr/lib/x86_64-linux-gnu/openblas-openmp");
	ck_assert_str_eq(var(any, "LD_PRELOAD")->value, "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4");
	ck_assert_int_eq(var(any, "GLIBC_TUNABLES")->status, TN_VAR_SKIPPED);
	ck_assert_str_eq(var(jemalloc, "LD_PRELOAD")->value, "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2");
	ck_assert_ptr_nonnull(var(jemalloc, "MALLOC_CONF"));
	ck_assert_int_eq(var(none, "LD_PRELOAD")->status, TN_VAR_SKIPPED);
	ck_assert_int_eq(var(none, "LD_LIBRARY_PATH")->status, TN_VAR_SKIPPED); /* openblas-openmp is not there */
}
END_TEST

START_TEST(every_captured_host_gets_cpus_it_may_use)
{
	gt_auto_strv names = box_fixtures();

	for (size_t i = 0; i < names.n; i++) {
		gt_auto(tn_run) *r = make(names.v[i], python, no_env, NULL);
		gt_auto(pr_host) *h = NULL;
		gt_auto_set in = { 0 };
		struct box b;
		uint64_t threads;

		box_open(&b, names.v[i]);
		ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .no_nvml = true }, &h, NULL), 0);
		gt_set_copy(&in, &r->cpus);
		gt_set_and(&in, &h->cpu.allowed);
		ck_assert_msg(gt_set_equal(&in, &r->cpus), "%s: CPUs that are not allowed", names.v[i]);
		ck_assert_int_eq(gt_parse_u64(var(r, "OMP_NUM_THREADS")->value, &threads), 0);
		ck_assert_msg(threads >= 1 && threads <= gt_set_count(&h->cpu.allowed), "%s: %lu threads", names.v[i],
			      threads);
		box_close(&b);
	}
}
END_TEST

/* What is read for a launch is a part of the whole, not another opinion. */
START_TEST(the_launcher_sees_the_same_host)
{
	gt_auto_strv names = box_fixtures();

	for (size_t i = 0; i < names.n; i++) {
		gt_auto(pr_host) *all = NULL, *few = NULL;
		struct box b;

		box_open(&b, names.v[i]);
		ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .no_nvml = true }, &all, NULL), 0);
		ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .launch = true }, &few, NULL), 0);
		ck_assert_uint_eq(few->cpu.n_cpu, all->cpu.n_cpu);
		for (size_t k = 0; k < all->cpu.n_cpu; k++)
			ck_assert_msg(gt_set_equal(&few->cpu.cpu[k].siblings, &all->cpu.cpu[k].siblings), "%s: CPU %d", names.v[i],
				      all->cpu.cpu[k].id);
		ck_assert(gt_set_equal(&few->cpu.allowed, &all->cpu.allowed));
		ck_assert(gt_set_equal(&few->cpu.isolated, &all->cpu.isolated));
		ck_assert(gt_set_equal(&few->cpu.efficiency, &all->cpu.efficiency));
		ck_assert_int_eq(few->cpu.quota_millicpu.v, all->cpu.quota_millicpu.v);
		ck_assert_int_eq(few->mem.total_bytes.v, all->mem.total_bytes.v);
		ck_assert_msg(few->n_node == all->n_node, "%s: %zu nodes, not %zu", names.v[i], few->n_node, all->n_node);
		for (size_t k = 0; k < all->n_node; k++) {
			ck_assert_int_eq(few->node[k].id, all->node[k].id);
			ck_assert_msg(gt_set_equal(&few->node[k].cpus, &all->node[k].cpus), "%s: node %d", names.v[i],
				      all->node[k].id);
			ck_assert_int_eq(pr_or(few->node[k].mem_bytes, 0) > 0, pr_or(all->node[k].mem_bytes, 0) > 0);
		}
		ck_assert_uint_eq(few->n_gpu, all->n_gpu);
		for (size_t k = 0; k < all->n_gpu; k++) {
			ck_assert_str_eq(few->gpu[k].pci->address, all->gpu[k].pci->address);
			ck_assert_int_eq(few->gpu[k].pci->numa_node.v, all->gpu[k].pci->numa_node.v);
			ck_assert(gt_streq(few->gpu[k].pci->driver.v, all->gpu[k].pci->driver.v));
		}
		ck_assert(gt_streq(few->blas.v, all->blas.v));
		box_close(&b);
	}
}
END_TEST

/* On the machine itself: the mask and the environment are there, and a refused mask is no failure. */
START_TEST(entering_sets_what_was_computed)
{
	struct tn_run_opts o = { .argv = python, .envp = no_env };
	gt_auto(gt_fsroot) *live = NULL;
	gt_auto(tn_run) *r = NULL;
	struct gt_err err = { 0 };
	pid_t pid;
	int st;

	ck_assert_int_eq(gt_fs_open(NULL, &live, NULL), 0);
	ck_assert_msg(tn_run_make(live, NULL, &o, &r, &err) == 0, "%s", err.msg);
	pid = fork();
	if (pid == 0) {
		gt_auto_set have = { 0 };
		cpu_set_t mask;

		unsetenv("OMP_NUM_THREADS");
		if (tn_run_enter(r, NULL) < 0 || sched_getaffinity(0, sizeof(mask), &mask) < 0)
			_exit(1);
		for (unsigned i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &mask))
				gt_set_add(&have, i);
		if (gt_set_count(&r->cpus) && !gt_set_equal(&have, &r->cpus))
			_exit(2);
		_exit(gt_streq(getenv("OMP_NUM_THREADS"), var(r, "OMP_NUM_THREADS")->value) ? 0 : 3);
	}
	waitpid(pid, &st, 0);
	ck_assert_int_eq(st, 0);
	gt_set_clear(&r->cpus);
	gt_set_add(&r->cpus, 4095); /* no such CPU */
	gt_set_add(&r->mem_nodes, 511);
	pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO);
		_exit(tn_run_enter(r, NULL) < 0);
	}
	waitpid(pid, &st, 0);
	ck_assert_int_eq(st, 0);
}
END_TEST

/* As Docker's default filter does without SYS_NICE. */
static bool refuse_mempolicy(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_mempolicy, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { GT_ARRAY_SIZE(code), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

START_TEST(a_container_that_refuses_memory_policies_is_no_failure)
{
	pid_t pid = fork();
	int st;

	if (pid == 0) {
		struct tn_run r = { 0 };

		gt_set_add(&r.mem_nodes, 0);
		if (!refuse_mempolicy())
			_exit(77);
		if (syscall(SYS_set_mempolicy, 0, NULL, 0ul) == 0)
			_exit(2); /* the filter does not hold */
		close(STDERR_FILENO);
		_exit(tn_run_enter(&r, NULL) < 0);
	}
	waitpid(pid, &st, 0);
	ck_assert(WIFEXITED(st) && (WEXITSTATUS(st) == 0 || WEXITSTATUS(st) == 77));
}
END_TEST

START_TEST(open_files_are_raised_as_far_as_they_may_be)
{
	static const struct {
		const char *text;
		int64_t want;
	} limits[] = { { "Max open files            1024                 524288               files\n", 524288 },
		      { "Max open files            1024                 2000000              files\n", 1048576 },
		      { "Max open files            4096                 4096                 files\n", 0 },
		      { "Max open files            unlimited            unlimited            files\n", 0 },
		      { "Max locked memory         1                    2                    bytes\n", 0 } };
	struct box b;

	box_open(&b, "cpu-server");
	for (size_t i = 0; i < GT_ARRAY_SIZE(limits); i++) {
		gt_auto(tn_run) *r = NULL;

		box_put(&b, "/proc/self/limits", limits[i].text);
		ck_assert_int_eq(tn_run_make(b.fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = no_env }, &r, NULL), 0);
		ck_assert_int_eq(r->files, limits[i].want);
		ck_assert_ptr_nonnull(r->files_reason);
	}
	box_close(&b);
}
END_TEST

/* As the loader will open it: by its path, when we are long gone. */
START_TEST(what_is_preloaded_lies_where_only_root_can_put_files)
{
	char dir[] = "/tmp/gputune-way-XXXXXX";
	gt_autofree char *open = NULL, *lib = NULL, *link = NULL;
	gt_auto(gt_fsroot) *live = NULL;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	open = gt_xasprintf("%s/open", dir);
	lib = gt_xasprintf("%s/open/lib.so", dir);
	link = gt_xasprintf("%s/lib.so", dir);
	ck_assert_int_eq(mkdir(open, 0755), 0);
	ck_assert_int_eq(mknod(lib, S_IFREG | 0644, 0), 0);
	ck_assert_int_eq(symlink("open/lib.so", link), 0);
	ck_assert_int_eq(gt_fs_open(NULL, &live, NULL), 0);
	if (geteuid() == 0)
		ck_assert_ptr_null(tn_distrust_way(live, lib));
	else
		ck_assert_ptr_nonnull(strstr(tn_distrust_way(live, lib), "does not belong to root"));
	ck_assert_int_eq(chmod(open, 0775), 0);
	ck_assert_ptr_nonnull(tn_distrust_way(live, lib));
	ck_assert_ptr_nonnull(tn_distrust_way(live, link)); /* the way of its link */
	ck_assert_ptr_null(tn_distrust_way(live, "/bin/true"));
	ck_assert_ptr_nonnull(tn_distrust_way(live, "lib.so"));
	unlink(link);
	unlink(lib);
	rmdir(open);
	rmdir(dir);
}
END_TEST

TCase *tune_run_case(void)
{
	TCase *tc = tcase_create("run");
	const TTest *const tests[] = {
		what_is_preloaded_lies_where_only_root_can_put_files,
		half_a_word_of_a_launcher_is_said,
		a_job_on_several_hosts_is_known_by_its_launcher,
		the_users_memory_policy_is_kept,
		only_an_allocator_counts_as_one,
		a_library_that_does_not_load_is_found_out_first,
		the_option_gpu_goes_before_the_environment,
		ranks_share_out_the_cores,
		a_launcher_is_left_free,
		a_gpu_is_known_by_its_uuid_too,
		the_caller_may_say_rank_and_gpu,
		what_debugging_left_behind_is_pointed_out_and_kept,
		the_blas_that_the_loader_would_take_counts,
		a_runtime_is_preloaded_beside_an_allocator,
		what_the_user_has_set_is_kept,
		python_is_never_bound_by_openmp,
		an_openmp_program_is_bound_unless_the_user_binds_it,
		libraries_are_taken_by_choice_and_by_soname,
		every_captured_host_gets_cpus_it_may_use,
		the_launcher_sees_the_same_host,
		entering_sets_what_was_computed,
		a_container_that_refuses_memory_policies_is_no_failure,
		open_files_are_raised_as_far_as_they_may_be,
	};

	tcase_add_loop_test(tc, cpus_memory_and_threads_follow_from_the_host, 0, GT_ARRAY_SIZE(cases));
	tcase_add_loop_test(tc, a_gpu_that_is_kept_from_us_has_no_number, 0, GT_ARRAY_SIZE(kept_cases));
	tcase_add_loop_test(tc, malloc_keeps_no_more_than_the_control_group_allows, 0, GT_ARRAY_SIZE(limit_cases));
	tcase_add_loop_test(tc, variables_of_gpus_and_waiting_follow_from_host_and_job, 0, GT_ARRAY_SIZE(gpu_cases));
	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	return tc;
}
