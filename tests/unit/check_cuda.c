/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties: if something between this program and a GPU is missing, one message names it. Every kernel computes the
 * CPU's result, eagerly and captured. A failure in a step gives one message. Each case opens the device in a child
 * process whose libcuda.so.1 and libcublasLt.so.12 are stand-ins, which run the kernel sources on the CPU.
 */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/spawn.h"
#include "runtime/cuda/cuda.h"
#include "runtime/cuda/fatbin.h"
#include "runtime/cuda/meter.h"
#include "runtime/cuda/selfcheck.h"
#include "tests/unit/check_cuda.h"

static const char *self;

struct result run_with(const char *what, const char *var, const char *dir)
{
	gt_autofree char *path = gt_xasprintf("LD_LIBRARY_PATH=%s", dir);
	gt_autofree char *vars = gt_xstrdup(var ? var : "");
	static char policy[] = "OMP_WAIT_POLICY=passive"; /* threads of the CPU, which waits for ranks and for other tests */
	char *argv[] = {(char *)self, (char *)what, NULL}, *envp[8] = {path, policy}, *save = NULL;
	struct gt_spawn s = {.argv = argv, .envp = envp, .timeout_s = 900};
	struct result res = {-1, ""};
	struct gt_err err = {0};

	for (char *v = strtok_r(vars, " ", &save), **e = envp + 2; v; v = strtok_r(NULL, " ", &save))
		*e++ = v;
	ck_assert_msg(!gt_spawn(&s, &err), "%s", err.msg);
	res.status = s.status;
	snprintf(res.out, sizeof(res.out), "%s", s.out);
	gt_spawn_clear(&s);
	return res;
}

static struct result open_with(const char *var, const char *dir)
{
	return run_with("open", var, dir);
}

static int open_and_tell(void)
{
	gt_auto(rt_cuda) *c = NULL;
	struct gt_err err = {0};

	if (rt_cuda_open(&c, &err) < 0) {
		puts(err.msg);
		return 1;
	}
	printf("%s sm_%d CUDA %d", rt_cuda_name(c), rt_cuda_arch(c), rt_cuda_driver_version(c));
	rt_cuda_close(gt_take(c));
	puts(dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW) ? ", which stays" : ", which is gone");
	return 0;
}

static unsigned long contexts(void)
{
	unsigned long (*count)(void) = NULL;
	void *lib = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);

	if (lib)
		*(void **)&count = dlsym(lib, "standin_contexts");
	return count ? count() : 0;
}

static int check_and_tell(enum rt_check_type type, const char *only)
{
	gt_auto_json *rows = json_array();
	struct gt_err err = {0};
	json_t *row;
	size_t i;
	int r = rt_cuda_selfcheck(type, only, 7, rows, &err);

	json_array_foreach(rows, i, row) if (gt_json_get_str(row, "failure", NULL))
		printf("%s: %s\n", gt_json_get_str(row, "case", ""), gt_json_get_str(row, "failure", NULL));
	else if (!gt_json_get_bool(row, "ok", false))
		printf("%s %s: %g\n", gt_json_get_str(row, "case", ""), gt_json_get_str(row, "tensor", ""),
		       gt_json_get_real(row, "error", -1));
	if (r < 0)
		puts(err.msg);
	else
		printf("%zu compared, %d wrong, contexts: %lu\n", json_array_size(rows), r, contexts());
	return r != 0;
}

/* Checks that an interrupt in the middle of the first case ends the comparison. */
static int interrupted_and_tell(void)
{
	gt_auto_json *rows = json_array();
	struct gt_err err = {0};
	int r;

	gt_interrupted = 1;
	r = rt_cuda_selfcheck(RT_CHECK_F32, "linear.gelu", 7, rows, &err);
	printf("%d, %zu rows: %s\n", r, json_array_size(rows), err.msg);
	return 0;
}

/* Trains a small perceptron for some steps; the third batch's loss is infinite. Prints the change of its first weight. */
static int train_and_tell(void)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *loss = rt_model_mlp(g, 4, (const int64_t[]){3, 5, 2}, 3);
	const struct rt_options o = {.device = RT_CUDA, .optimizer = {.kind = RT_SGD, .lr = 0.1}};
	float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, before[15] = {0}, after[15] = {0};
	int32_t y[4] = {0, 1, 1, 0};
	struct gt_err err = {0};
	struct rt_metrics m = {0};
	int r = rt_compile(g, loss, &o, &p, &err);

	for (int i = 0; !r && i < 4; i++) {
		r = rt_read_value(p, rt_graph_leaf(g, 2), before, &err);
		x[5] = i == 2 ? HUGE_VALF : 6;
		y[3] = i == 3 ? 2 : 0;
		if (!r)
			r = rt_step(p, (const void *const[]){x, y}, &m, &err);
		if (r == -EDOM || r == -ERANGE) {
			puts(err.msg);
			r = rt_read_value(p, rt_graph_leaf(g, 2), after, &err);
			puts(memcmp(before, after, sizeof(before)) ? "changed" : "unchanged");
		}
	}
	if (r)
		puts(err.msg);
	printf("%lld steps\n", (long long)m.step);
	return r != 0;
}

/* Copies, launches and products of a meter, correct and corrupted. */
static int measure_and_tell(void)
{
	gt_auto(rt_meter) *m = NULL;
	gt_autofree char *host = gt_xcalloc(1, 1 << 16);
	struct gt_err err = {0};
	struct rt_peaks peaks = {0};
	double x[2];
	int r = rt_meter_open(&m, &err), good = 0;

	if (!r)
		r = rt_meter_pin(m, host, 1 << 16, &err);
	for (int spoil = 0; !r && spoil < 2; spoil++) {
		for (int kind = 0; kind < 6; kind++) {
			int is = rt_meter_copy(m, (enum rt_meter_copy)(kind % 3), host, 1 << 16, kind < 3, spoil, 2, x, &err);

			good += is == (spoil ? -EIO : 0) && x[1] > 0;
		}
		for (int kind = 0; kind < 3; kind++)
			good += rt_meter_launch(m, (enum rt_meter_launch)kind, 50, spoil, x, &err) == (spoil ? -EIO : 0);
		for (int kind = 0; kind < 4; kind++)
			good += rt_meter_product(m, kind == 3 ? RT_E4M3 : kind ? RT_F32 : RT_BF16, kind == 1, 144, spoil, 2, x,
						 &err) == (spoil ? -EIO : 0);
	}
	if (!r)
		rt_meter_unpin(m, host);
	if (!r)
		r = rt_meter_peaks(true, true, &peaks, &err);
	if (r)
		puts(err.msg);
	printf("%d of 26 as they should be; peaks %s\n", good,
	       peaks.flops_per_s > 0 && peaks.bf16_flops_per_s > 0 && peaks.fp8_flops_per_s > 0 && peaks.f16_flops_per_s > 0 &&
			       peaks.bytes_per_s > 0 ? "measured" : "missing");
	return r != 0;
}

static bool built(void)
{
	return *rt_cuda_built_archs();
}

START_TEST(a_build_without_kernels_reports_it)
{
	struct result r = open_with(NULL, STANDIN_DIR);

	ck_assert_int_eq(r.status, built() ? 0 : 1);
	ck_assert_msg(strstr(r.out, built() ? "Stand-in GPU 0 sm_90 CUDA 12040, which stays" : "built without CUDA kernels"), "%s",
		      r.out);
}
END_TEST

START_TEST(each_documented_failure_is_reported_in_one_sentence)
{
	static const struct {
		const char *var, *says;
	} t[] = {
		{"STANDIN_FAIL=cuInit:100", "cuInit failed with CUDA error 100, CUDA_ERROR_NO_DEVICE"},
		{"STANDIN_FAIL=cuInit:803", "reload the module or reboot"},
		{"STANDIN_FAIL=cuInit:804", "cuda-compat"},
		{"STANDIN_DEVICES=0", "no GPU is visible"},
		{"STANDIN_FAIL=cuDevicePrimaryCtxRetain:2", "cuDevicePrimaryCtxRetain failed with CUDA error 2"},
		{"STANDIN_FAIL=cuModuleLoadData:209", "this build has no kernels for the GPU"},
		{"STANDIN_FAIL=cuModuleLoadData:200 STANDIN_CUDA=99000", "; the driver cannot read this code: it is damaged"},
		{"STANDIN_FAIL=cuModuleLoadData:218 STANDIN_CUDA=99000", "; the driver cannot read this code: it is damaged"},
		{"STANDIN_FAIL=cuModuleLoadData:222 STANDIN_CUDA=99000", "newer than the driver: install a newer driver"},
		{"STANDIN_FAIL=cuMemAlloc:2", "cuMemAlloc failed"},
		{"STANDIN_FAIL=cuLaunchKernel:719", "cuLaunchKernel failed with CUDA error 719"},
		{"STANDIN_FAIL=cuCtxSynchronize:700", "cuCtxSynchronize failed"},
		{"STANDIN_WRONG=1", "wrong result in the self-test (element 4098"},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		struct result r = open_with(t[i].var, STANDIN_DIR);

		ck_assert_int_eq(r.status, 1);
		ck_assert_msg(strstr(r.out, t[i].says) != NULL, "%s: %s", t[i].var, r.out);
	}
}
END_TEST

/* Kernels of a newer toolkit run if the driver loads them. If it does not, the message has both versions. */
START_TEST(kernels_of_a_newer_toolkit_are_reported)
{
	static const char *const fails[] = {"cuModuleLoadData:200", "cuModuleLoadData:218", "cuModuleLoadData:222",
					    "cuModuleGetFunction:222"};
	int toolkit = rt_fatbin_toolkit(), older = toolkit - 1000;
	gt_autofree char *driver = gt_xasprintf("STANDIN_CUDA=%d", older), *says = NULL;
	struct result r = open_with(driver, STANDIN_DIR);

	ck_assert_int_ge(toolkit, 11000);
	ck_assert_msg(!r.status, "%s", r.out);
	says = gt_xasprintf("(some error); the kernels are built with CUDA %d.%d and this driver supports CUDA %d.%d: install a "
			    "newer driver, or configure with a toolkit of CUDA %d.%d or older\n", toolkit / 1000,
			    toolkit % 1000 / 10, older / 1000, older % 1000 / 10, older / 1000, older % 1000 / 10);
	for (size_t i = 0; i < GT_ARRAY_SIZE(fails); i++) {
		gt_autofree char *vars = gt_xasprintf("%s STANDIN_FAIL=%s", driver, fails[i]);

		r = open_with(vars, STANDIN_DIR);
		ck_assert_int_eq(r.status, 1);
		ck_assert_msg(strstr(r.out, says) != NULL, "%s: %s", fails[i], r.out);
	}
	r = open_with("STANDIN_FAIL=cuModuleLoadData:209 STANDIN_CUDA=11000", STANDIN_DIR);
	ck_assert_msg(!strstr(r.out, "built by"), "%s", r.out);
}
END_TEST

/* Matrix products also with a cuBLASLt that lacks epilogues. */
START_TEST(every_op_matches_the_cpu)
{
	static const struct {
		const char *what, *var;
	} t[] = {
		{"f32"}, {"bf16"}, {"f16"}, {"fp8"}, {"tf32"},
		{"bf16:linear", "STANDIN_LT_PLAIN=15"}, {"fp8:linear", "STANDIN_LT_PLAIN=7"},
	};
	struct result r = run_with(t[_i].what, t[_i].var, STANDIN_DIR);

	ck_assert_msg(!r.status && strstr(r.out, " compared, 0 wrong, contexts: 1\n"), "%s: %s", t[_i].what, r.out);
}
END_TEST

/* Large heads request more shared memory than the default. If that fails, one message says so. */
START_TEST(a_case_that_cannot_run_does_not_stop_others)
{
	struct result r = run_with("bf16:attention.full.1", "STANDIN_FAIL=cuFuncSetAttribute:1", STANDIN_DIR);

	ck_assert_msg(strstr(r.out, "attention.full.100: ") == r.out && strstr(r.out, " bytes of shared memory for rt_") &&
			      strstr(r.out, "cuFuncSetAttribute failed with CUDA error 1"), "%s", r.out);
	ck_assert_msg(strstr(r.out, " compared, 2 wrong") && !strstr(r.out, "\n1 compared"), "%s", r.out);
	r = run_with("f32:linear", "STANDIN_CUDA=11080", STANDIN_DIR);
	ck_assert_msg(strstr(r.out, "linear in f32: ") == r.out && !strstr(r.out, "compared"), "%s", r.out);
	r = run_with("bf16:relu", "STANDIN_LT_MAX=1", STANDIN_DIR);
	ck_assert_msg(strstr(r.out, "relu.nan: the fused relu of cuBLASLt 120400 turns NaN into a number: "
				    "--without fuse uses a separate kernel, which keeps NaN\n") == r.out
		      && strstr(r.out, ", 1 wrong"), "%s", r.out);
	r = run_with("interrupted", NULL, STANDIN_DIR);
	ck_assert_str_eq(r.out, "-4, 7 rows: interrupted: the cases after linear.gelu.even were not compared\n");
	r = run_with("f32:gelu", "STANDIN_FAIL=cuLaunchKernel:719:2", STANDIN_DIR);
	ck_assert_msg(strstr(r.out, "gelu in f32: ") == r.out && !strstr(r.out, "compared"), "%s", r.out);
}
END_TEST

/*
 * With the shared memory per block of sm_75 and sm_86, fewer rows are kept and tiles are smaller. A kernel that does not
 * fit is refused before its launch.
 */
START_TEST(cards_with_less_shared_memory_compute_the_same)
{
	static const char *const how[] = {"bf16:cross_entropy", "f32:cross_entropy", "bf16:layernorm", "f32:layernorm",
					  "f32:attention"};
	struct result r = run_with(how[_i / 2], _i % 2 ? "STANDIN_SHARED=101376" : "STANDIN_SHARED=65536", STANDIN_DIR);
	const char *line = r.out, *tile = "a tile of its heads does not fit into the GPU's shared memory";
	int refused = _i == 8 ? 5 : 0; /* heads of more than 64 columns */

	for (int i = 0; i < refused; i++) {
		ck_assert_msg((line = strstr(line, tile)) != NULL, "%s", r.out);
		line++;
	}
	ck_assert_msg(!strstr(line, tile) && strstr(line, refused ? " compared, 5 wrong" : " compared, 0 wrong"), "%s", r.out);
}
END_TEST

START_TEST(a_failure_in_a_step_is_one_sentence)
{
	static const struct {
		const char *var, *says;
	} t[] = {
		{"STANDIN_FAIL=cuGraphLaunch:719:3", "cuGraphLaunch failed with CUDA error 719"},
		{"STANDIN_FAIL=cuEventSynchronize:700:3", "cuEventSynchronize failed with CUDA error 700"},
		{"STANDIN_FAIL=cuStreamEndCapture:900", "cuStreamEndCapture failed with CUDA error 900"},
		{"STANDIN_FAIL=cuMemHostAlloc:2", "cuMemHostAlloc failed with CUDA error 2"},
		{"STANDIN_FAIL=cuMemcpyHtoDAsync:214:1", "the GPU's memory has an uncorrectable error"},
		{"STANDIN_MEMORY=1000000", ": use a smaller batch or model"},
		/* also a driver that is too old for every other library of this host */
		{"STANDIN_CUDA=11080", "cuBLASLt 120400 is built for CUDA 12 and this driver supports CUDA 11.8"},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		struct result r = run_with("train", t[i].var, STANDIN_DIR);

		ck_assert_int_eq(r.status, 1);
		ck_assert_msg(strstr(r.out, t[i].says) != NULL, "%s: %s", t[i].var, r.out);
	}
}
END_TEST

/* The faster implementation is chosen for each pass and stored. If cuDNN is not usable the report names the reason. */
START_TEST(attention_is_by_the_faster_kernels)
{
	gt_autofree char *dir = gt_xasprintf("/tmp/check-cuda-%d-a", (int)getpid()), *home = gt_xasprintf("XDG_CACHE_HOME=%s", dir);
	gt_autofree char *files = gt_xasprintf("%s/gputune/*", dir), *inner = gt_xasprintf("%s/gputune", dir);
	static const char ours[] = "{\"backward\":{\"cudnn\":0,\"own\":1},\"forward\":{\"cudnn\":0,\"own\":1}}";
	static const char timed[] = "{\"backward\":{\"cudnn\":0,\"own\":1,\"too_large\":1},"
				    "\"forward\":{\"cudnn\":0,\"own\":1,\"too_large\":1}}";
	static const char theirs[] = "{\"backward\":{\"cudnn\":1,\"own\":0,\"too_large\":1},"
				     "\"forward\":{\"cudnn\":1,\"own\":0,\"too_large\":1}}";
	static const struct {
		const char *how, *var, *says;
		bool keeps;
	} t[] = {
		{"loop16", "STANDIN_DNN_SLOW=300000", timed, true},
		{"loop16", NULL, ours, true},
		{"loopd", NULL, theirs, false},
		{"loopd.128", "STANDIN_DNN_VERSION=90600", theirs, false},
		{"loop8", NULL, ours, false},
		{"loop16", "STANDIN_DNN_VERSION=90500", "cuDNN 9.5.0 is too old for attention: install 9.6 or newer", false},
		{"loop16", "STANDIN_DNN_VERSION=91001", "cuDNN 9.10.1 has known bugs in attention: install 9.10.2 or newer", false},
		{"loop16", "STANDIN_DNN_VERSION=91500",
		 "cuDNN 9.15.0 may read beyond its memory in replays of attention backward 2 x 16", false},
		{"loop16", "STANDIN_DNN_FAIL=create:1008", "cudnnCreate of cuDNN 9.16.0 failed with status 1008", false},
		{"loop16", "STANDIN_DNN_FAIL=none:1", "cuDNN 9.16.0 has no usable plan for attention", false},
		{"loop16", "STANDIN_DNN_FAIL=execute:5000", "{\"backward\":{\"cudnn\":0,\"own\":1,", false},
		{"loopd", "STANDIN_DNN_VERSION=90500", "is too old for attention", false},
		{"loopd", "STANDIN_DNN_FAIL=execute:5000", "failed with status 5000", false},
	};
	glob_t found = {0};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_autofree char *vars = gt_xasprintf("%s %s", t[i].keeps ? home : "NONE=1", t[i].var ? t[i].var : "NOTHING=1");
		struct result r = run_with(t[i].how, vars, STANDIN_DIR);

		ck_assert_msg(strstr(r.out, t[i].says) != NULL, "%s with %s: %s", t[i].how, t[i].var ? t[i].var : "nothing", r.out);
	}
	glob(files, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		unlink(found.gl_pathv[i]);
	globfree(&found);
	rmdir(inner);
	rmdir(dir);
}
END_TEST

START_TEST(each_failure_of_cudnn_is_reported_in_one_sentence)
{
	static const struct {
		const char *var, *says;
	} t[] = {
		{"STANDIN_DNN_VERSION=8907", "cuDNN 8.9.7 is too old for convolutions: install 9.0 or newer"},
		{"STANDIN_DNN_CUDART=13000", "cuDNN 9.16.0 is built for CUDA 13 and this driver supports CUDA 12.4"},
		{"STANDIN_MAJOR=7", "cuDNN 9.16.0 has code from sm_75 on and Stand-in GPU 0 is sm_70: install cuDNN 9.10"},
		{"STANDIN_DNN_FAIL=create:1008",
		 "cudnnCreate of cuDNN 9.16.0 failed with status 1008 (CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED): the stand-in"},
		{"STANDIN_DNN_FAIL=finalize:3001",
		 "forward x 2,8,8,3 w 16,3,3 stride 1 pad 1 groups 1 f32: the operation graph of cuDNN 9.16.0 failed"},
		{"STANDIN_DNN_FAIL=none:1", "cuDNN 9.16.0 has no usable plan for forward x 2,8,8,3 w 16,3,3"},
		{"STANDIN_DNN_FAIL=plan:4003", "workspace: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"},
		{"STANDIN_DNN_FAIL=execute:5000", "failed with status 5000 (CUDNN_STATUS_EXECUTION_FAILED)"},
		{"STANDIN_MEMORY=1000000", "the limit is "},
		{"STANDIN_FAIL=cuEventElapsedTime:719:9", "cuEventElapsedTime failed with CUDA error 719"},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		struct result r = run_with("images", t[i].var, STANDIN_DIR);

		ck_assert_int_eq(r.status, 1);
		ck_assert_msg(strstr(r.out, t[i].says) != NULL, "%s: %s", t[i].var, r.out);
	}
}
END_TEST

START_TEST(a_loss_that_is_nan_changes_no_parameter)
{
	struct result r = run_with("train", NULL, STANDIN_DIR);

	ck_assert_msg(strstr(r.out, "the loss of step 3 is ") &&
			      strstr(r.out, "first not finite: x; no parameter was changed\nunchanged"),
		      "%s", r.out);
	ck_assert_msg(strstr(r.out, "y[3] is 2; cross_entropy takes 0 to 1\nunchanged") ||
			      strstr(r.out, "y[3] is 2; linear_cross_entropy takes 0 to 1\nunchanged"),
		      "%s", r.out);
	ck_assert_msg(strstr(r.out, "2 steps") != NULL, "%s", r.out);
}
END_TEST

START_TEST(measured_transfers_are_verified)
{
	struct result r = run_with("measure", "STANDIN_MEMORY=400000000", STANDIN_DIR);

	ck_assert_msg(!r.status && strstr(r.out, "26 of 26 as they should be; peaks measured"), "%s", r.out);
	r = run_with("measure", "STANDIN_FAIL=cuMemHostRegister:2", STANDIN_DIR);
	ck_assert_msg(r.status && strstr(r.out, "cuMemHostRegister failed with CUDA error 2"), "%s", r.out);
}
END_TEST

START_TEST(a_missing_driver_library_is_named)
{
	struct result r = open_with(NULL, "/nonexistent");

	/* on a host with a driver the open may succeed */
	if (r.status)
		ck_assert_msg(strstr(r.out, "libcuda.so.1") || strstr(r.out, "CUDA error"), "%s", r.out);
}
END_TEST

int main(int argc, char **argv)
{
	static int (*const child[])(const char *what) = { child_memory, child_ranks, child_driver, child_own, child_compressed,
							child_eight, child_trace, child_outputs, child_tensor };
	Suite *s;
	TCase *tc, *images, *ranks, *driver;
	SRunner *sr;
	int failed;

	for (size_t i = 0; argc > 1 && i < GT_ARRAY_SIZE(child); i++) {
		failed = child[i](argv[1]);
		if (failed >= 0)
			return failed;
	}
	if (argc > 1 && gt_streq(argv[1], "open"))
		return open_and_tell();
	if (argc > 1 && gt_streq(argv[1], "train"))
		return train_and_tell();
	if (argc > 1 && gt_streq(argv[1], "interrupted"))
		return interrupted_and_tell();
	if (argc > 1 && gt_streq(argv[1], "measure"))
		return measure_and_tell();
	for (enum rt_check_type type = 0; argc > 1 && type < RT_N_CHECK_TYPES; type++) {
		size_t n = strlen(rt_check_type_name(type));

		if (!strncmp(argv[1], rt_check_type_name(type), n) && (!argv[1][n] || argv[1][n] == ':'))
			return check_and_tell(type, argv[1][n] ? argv[1] + n + 1 : argc > 2 ? argv[2] : NULL);
	}
	if (argc > 1) {
		fprintf(stderr, "check_cuda: %s is none of its parts\n", argv[1]);
		return 64;
	}
	self = argv[0];
	s = suite_create("cuda");
	tc = tcase_create("all");
	images = tcase_create("images");
	ranks = tcase_create("ranks");
	driver = tcase_create("driver");
	tcase_add_test(tc, a_build_without_kernels_reports_it);
	if (built()) { /* without kernels the first missing part is always the same */
		tcase_add_test(driver, each_documented_failure_is_reported_in_one_sentence);
		tcase_add_test(driver, kernels_of_a_newer_toolkit_are_reported);
		tcase_add_test(tc, a_missing_driver_library_is_named);
		tcase_add_loop_test(tc, every_op_matches_the_cpu, 0, 7);
		tcase_add_loop_test(tc, cards_with_less_shared_memory_compute_the_same, 0, 10);
		add_ranks_tests(ranks);
		add_tensor_tests(ranks);
		add_driver_tests(driver, images);
		add_memory_tests(tc, images);
		add_own_tests(tc);
		add_outputs_tests(tc);
		add_compressed_tests(tc);
		add_eight_tests(tc);
		add_trace_tests(tc, images);
		tcase_add_test(tc, measured_transfers_are_verified);
		tcase_add_test(images, attention_is_by_the_faster_kernels);
		tcase_add_test(images, each_failure_of_cudnn_is_reported_in_one_sentence);
		tcase_add_test(tc, a_case_that_cannot_run_does_not_stop_others);
		tcase_add_test(tc, a_failure_in_a_step_is_one_sentence);
		tcase_add_test(tc, a_loss_that_is_nan_changes_no_parameter);
	}
	tcase_set_timeout(tc, 900);
	tcase_set_timeout(images, 900);
	tcase_set_timeout(ranks, 900);
	tcase_set_timeout(driver, 900);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, images);
	suite_add_tcase(s, ranks);
	suite_add_tcase(s, driver);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
