/* SPDX-License-Identifier: Apache-2.0 */
/* The number of processes that a command starts. A wrong number multiplies the threads. */
#include <stdlib.h>
#include <string.h>
#include "tests/unit/tune_launch.h"
#include "tune/launch/wrapper.h"

/* Splits at most 15 words; the caller frees the returned text, into which they point. */
static char *split(const char *words, char *argv[16])
{
	char *copy = gt_xstrdup(words), *save = NULL;

	memset(argv, 0, 16 * sizeof(*argv));
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		*argv++ = w;
	return copy;
}

/*
 * An unknown command may start a process for each visible GPU, and all of them inherit thread count and CPUs. The
 * launchers in this table start eight ranks, or one per visible GPU.
 */
static const char *const commands[] = {
	"python3 train.py",
	"uv run train.py",
	"uv run --with torch torchrun --nproc-per-node=8 train.py",
	"poetry run accelerate launch train.py",
	"env HF_HUB_OFFLINE=1 python3 train.py",
	"/usr/bin/env -u HF_HOME -- torchrun --nproc-per-node 8 train.py",
	"env -S python3 train.py",
	"nohup python3 train.py",
	"nohup nice -n 5 torchrun --nproc-per-node=gpu train.py",
	"timeout -k 5 2h python3 train.py",
	"taskset -c 0-63 ./train.sh",
	"numactl --interleave=all accelerate launch train.py",
	"stdbuf -oL ./train.sh",
	"conda run -n env python train.py",
	"apptainer exec --nv image.sif torchrun --nproc-per-node 8 train.py",
	"singularity exec --nv image.sif bash train.sh",
	"docker run --gpus all image python train.py",
	"./train.sh",
	"bash train.sh",
	"bash -c torchrun",
	"vllm serve model --tensor-parallel-size 8",
	"composer train.py",
	"llamafactory-cli train x.yaml",
	"axolotl train x.yaml",
	"make train",
	"sudo -E torchrun --nproc-per-node 8 train.py",
	"ray start --head",
	"srun --ntasks-per-node=1 bash train.sh",
	"./train",
	"", /* none: gputune run --print-env */
};

/* A host of 8 GPUs and 32 cores, half of each per node. */
static const struct {
	const char *env, *gpus;
	int visible, threads;
	const char *cpus; /* of a command that is no launcher; "": unchanged */
} gpu_cases[] = {
	{ "X=1", NULL, 8, 4, "" },
	{ "CUDA_VISIBLE_DEVICES=0", NULL, 1, 16, "0-15,32-47" },
	{ "X=1", "6", 1, 16, "16-31,48-63" },
	{ "CUDA_VISIBLE_DEVICES=0,1,2,3", NULL, 4, 4, "0-15,32-47" }, /* CPUs of the node that all four GPUs are on */
	{ "CUDA_VISIBLE_DEVICES=3,4", NULL, 2, 16, "" },
};

START_TEST(an_unknown_command_gets_the_cores_of_one_gpu)
{
	char *argv[16];
	gt_autofree char *copy = split(commands[_i], argv);

	for (size_t i = 0; i < GT_ARRAY_SIZE(gpu_cases); i++) {
		char *env[] = { (char *)gpu_cases[i].env, NULL };
		struct tn_run_opts o = { .argv = argv[0] ? argv : NULL, .envp = env, .gpus = gpu_cases[i].gpus };
		int visible = gpu_cases[i].visible, threads;
		gt_autofree char *cpus = NULL;
		gt_auto(tn_run) *r = NULL;
		bool launcher;
		struct box b;

		box_open(&b, "server-8gpu");
		ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
		box_close(&b);
		cpus = gt_set_format(&r->cpus);
		threads = atoi(var(r, "OMP_NUM_THREADS")->value);
		launcher = r->processes_kind == TN_LAUNCHER;
		ck_assert_msg(threads <= 32 / visible, "%s, %s: %d threads", commands[_i], env[0], threads);
		ck_assert_msg(!strcmp(cpus, launcher ? "" : gpu_cases[i].cpus), "%s, %s: CPUs %s", commands[_i], env[0], cpus);
		ck_assert_uint_eq(gt_set_count(&r->mem_nodes), *cpus ? 1 : 0);
		ck_assert_str_ne(r->processes_reason, "");
		if (!launcher) {
			ck_assert_int_eq(r->processes_kind, visible > 1 ? TN_UNKNOWN_COMMAND : TN_ONE_PROCESS);
			ck_assert_msg(threads == gpu_cases[i].threads, "%s, %s: %d", commands[_i], env[0], threads);
		}
	}
}
END_TEST

/* Returns whether the command is one process: a Python script, also behind wrappers whose options are known. */
static bool is_one_process(const char *command)
{
	return !*command || (strstr(command, "python3 ") && !strstr(command, "-S"));
}

/* A shell or uv may start ranks or a pool of workers, and each process would inherit the number of threads. */
START_TEST(without_gpus_only_a_python_script_gets_all_cores)
{
	char *argv[16];
	gt_autofree char *copy = split(strstr(commands[_i], "nproc") ? "" : commands[_i], argv);
	gt_auto(tn_run) *r = make("cpu-server", argv[0] ? argv : NULL, no_env, NULL);
	bool one = is_one_process(commands[_i]) || strstr(commands[_i], "nproc") || strstr(commands[_i], "-c torchrun") ||
		   strstr(commands[_i], "accelerate");

	ck_assert_msg(gt_streq(var(r, "OMP_NUM_THREADS")->value, one ? "8" : NULL), "%s: %s", commands[_i],
		      var(r, "OMP_NUM_THREADS")->value);
}
END_TEST

/* The rank library gives each rank its own number. A single process behind a wrapper therefore keeps its default. */
START_TEST(with_the_rank_library_a_wrapper_gets_no_number)
{
	char *argv[16];
	gt_autofree char *copy = split(commands[_i], argv);
	struct tn_run_opts o = { .argv = argv[0] ? argv : NULL, .envp = no_env, .rank_library = "/usr/lib/libgputune-rank.so" };
	const char *command = commands[_i];
	bool wrapper = !is_one_process(command) && !strstr(command, "nproc") && !strstr(command, "-c torchrun") &&
		       !strstr(command, "accelerate");
	gt_auto(tn_run) *r = NULL;
	struct box b;

	box_open(&b, "server-8gpu");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
	ck_assert_msg(gt_streq(var(r, "OMP_NUM_THREADS")->value, wrapper ? NULL : "4"), "%s: %s", command,
		      var(r, "OMP_NUM_THREADS")->value);
	box_close(&b);
}
END_TEST

#define AMD(BUS) "file /sys/bus/pci/devices/0000:" BUS ":00.0/vendor\n\t0x1002\n"                                                  \
		 "file /sys/bus/pci/devices/0000:" BUS ":00.0/class\n\t0x120000\n"

START_TEST(gpus_of_another_maker_count_as_well)
{
	static const struct {
		char *env, *threads;
	} others[] = { { "X=1", "2" }, { "HIP_VISIBLE_DEVICES=0,1", "4" }, { "ROCR_VISIBLE_DEVICES=2", "8" } };
	struct gt_fsroot *fs = open_with("cpu-server", AMD("21") AMD("31") AMD("41") AMD("51"));

	for (size_t i = 0; i < GT_ARRAY_SIZE(others); i++) {
		char *env[] = { others[i].env, NULL };
		gt_auto(tn_run) *r = NULL;

		ck_assert_int_eq(tn_run_make(fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = env }, &r, NULL), 0);
		ck_assert_str_eq(var(r, "OMP_NUM_THREADS")->value, others[i].threads);
	}
	gt_fs_close(fs);
}
END_TEST

START_TEST(a_declared_single_process_gets_all_cores)
{
	char *argv[] = { "./train", NULL };
	struct tn_run_opts opts[] = { { .argv = argv, .envp = no_env, .program = TN_PROGRAM_OPENMP },
				      { .argv = argv, .envp = no_env, .ranks = 1 } };
	struct box b;

	for (size_t i = 0; i < GT_ARRAY_SIZE(opts); i++) {
		gt_auto(tn_run) *r = NULL;

		box_open(&b, "server-8gpu");
		ck_assert_int_eq(tn_run_make(b.fs, NULL, &opts[i], &r, NULL), 0);
		box_close(&b);
		ck_assert_int_eq(r->processes_kind, TN_ONE_PROCESS);
		ck_assert_str_eq(var(r, "OMP_NUM_THREADS")->value, i ? "16" : "32"); /* rank 0 runs next to its GPU */
	}
}
END_TEST

/*
 * gputune finds the command behind a wrapper if it knows all of the wrapper's options, with the environment that env
 * sets.
 */
static const struct {
	const char *words, *command; /* command: its first word */
	const char *variables;	     /* CUDA_VISIBLE_DEVICES and A in its environment; "-": not set */
} wrapper_cases[] = {
	{ "env python3 x.py", "python3", "0 a" },
	{ "env CUDA_VISIBLE_DEVICES=3 A= ./x", "./x", "3 " },
	{ "env LD_PRELOAD=x ./x", "./x", "0 a" },
	{ "env -u A --unset=CUDA_VISIBLE_DEVICES ./x", "./x", "- -" },
	{ "env -uA -u CUDA_VISIBLE_DEVICES ./x", "./x", "- -" },
	{ "env --unset A ./x", "./x", "0 -" },
	{ "env -i ./x", "./x", "- -" },
	{ "env - A=b ./x", "./x", "- b" },
	{ "env -vi A=b ./x", "./x", "- b" },
	{ "env --ignore-environment -- A=b ./x", "./x", "- b" },
	{ "env --debug ./x", "./x", "0 a" },
	{ "env -ui ./x", "./x", "0 a" }, /* -u i */
	{ "env -C /tmp ./x", "env", "0 a" },
	{ "env -S ./x", "env", "0 a" },
	{ "env A=b", "env", "0 b" },
	{ "env -u", "env", "0 a" },
	{ "nohup env A=b nice -n 3 ./x", "./x", "0 b" },
	{ "nice -5 ./x", "./x", "0 a" },
	{ "nice --adjustment 5 ./x", "./x", "0 a" },
	{ "nice", "nice", "0 a" },
	{ "ionice -c2 -n 0 ./x", "./x", "0 a" },
	{ "ionice -c 3 -p 17", "ionice", "0 a" },
	{ "taskset -c 0-3,8 ./x", "./x", "0 a" },
	{ "taskset ff ./x", "./x", "0 a" },
	{ "taskset -p 17", "taskset", "0 a" },
	{ "numactl -N 0 --membind=0 -l ./x", "./x", "0 a" },
	{ "numactl --hardware", "numactl", "0 a" },
	{ "timeout --kill-after=5 -s KILL 1.5h ./x", "./x", "0 a" },
	{ "timeout ./x", "timeout", "0 a" },
	{ "/usr/bin/time -v -o out ./x", "./x", "0 a" },
	{ "stdbuf -oL -e0 ./x", "./x", "0 a" },
	{ "setsid -w ./x", "./x", "0 a" },
	{ "chrt -b 0 ./x", "./x", "0 a" },
	{ "chrt -f ./x", "chrt", "0 a" },
	{ "strace ./x", "strace", "0 a" },
};

START_TEST(the_command_is_found_behind_wrappers_with_known_options)
{
	const char *words = wrapper_cases[_i].words, *gpus, *a;
	char *env[] = { "CUDA_VISIBLE_DEVICES=0", "A=a", NULL }, *argv[16];
	gt_autofree char *copy = split(words, argv), *have = NULL;
	struct tn_command command;
	struct tn_launch c = { 0 };

	tn_command_find(argv, env, &command);
	c.envp = command.envp;
	gpus = tn_run_user(&c, "CUDA_VISIBLE_DEVICES");
	a = tn_run_user(&c, "A");
	have = gt_xasprintf("%s %s", gpus ? gpus : "-", a ? a : "-");
	ck_assert_msg(!strcmp(command.argv[0], wrapper_cases[_i].command), "%s: %s", words, command.argv[0]);
	ck_assert_msg(!strcmp(have, wrapper_cases[_i].variables), "%s: %s", words, have);
	tn_command_clear(&command);
}
END_TEST

TCase *tune_command_case(void)
{
	TCase *tc = tcase_create("command");

	tcase_add_loop_test(tc, an_unknown_command_gets_the_cores_of_one_gpu, 0, GT_ARRAY_SIZE(commands));
	tcase_add_loop_test(tc, without_gpus_only_a_python_script_gets_all_cores, 0, GT_ARRAY_SIZE(commands));
	tcase_add_loop_test(tc, with_the_rank_library_a_wrapper_gets_no_number, 0, GT_ARRAY_SIZE(commands));
	tcase_add_loop_test(tc, the_command_is_found_behind_wrappers_with_known_options, 0, GT_ARRAY_SIZE(wrapper_cases));
	tcase_add_test(tc, gpus_of_another_maker_count_as_well);
	tcase_add_test(tc, a_declared_single_process_gets_all_cores);
	tcase_set_timeout(tc, 120);
	return tc;
}
