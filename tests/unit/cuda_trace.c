/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of a step, and sources of its times: events of the trace, kernels timed by CUPTI. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/json.h"
#include "runtime/runtime.h"
#include "tests/unit/check_cuda.h"

/* Events of a trace: one per call and step, consecutive. */
static int look_at_trace(const struct rt_program *p, int steps)
{
	gt_auto_json *trace = rt_program_trace(p);
	double end = 0;
	json_t *e;
	size_t i;
	int n = 0, bad = 0;

	json_array_foreach(json_object_get(trace, "traceEvents"), i, e) {
		double ts = gt_json_get_real(e, "ts", -1);

		if (!gt_streq(gt_json_get_str(e, "ph", ""), "X") || gt_json_get_int(e, "tid", 0) != 1)
			continue;
		bad += ts < end - 2 || gt_json_get_real(e, "dur", -1) < 0;
		end = ts + gt_json_get_real(e, "dur", 0);
		n++;
	}
	return bad ? -1 : n / steps * !(n % steps);
}

/*
 * Returns the number of kernel rows in the report. Returns -1 if their times do not add up to those of their ops, or if
 * an event is outside that of its call.
 */
static int look_at_kernels(const struct rt_program *p, const json_t *report)
{
	gt_auto_json *trace = rt_program_trace(p);
	const json_t *rows = json_object_get(report, "kernels");
	double ops = 0, kernels = 0;
	json_t *e;
	size_t i;
	int events = 0;

	json_array_foreach(json_object_get(report, "ops"), i, e) ops += gt_json_get_real(e, "seconds", 0);
	json_array_foreach(rows, i, e) if (gt_json_get_str(e, "op", NULL))
		kernels += gt_json_get_real(e, "seconds", 0);
	json_array_foreach(json_object_get(trace, "traceEvents"), i, e)
		events += gt_streq(gt_json_get_str(e, "cat", ""), "kernel") &&
			  gt_json_get_str(json_object_get(e, "args"), "op", NULL);
	if (rows && (fabs(ops - kernels) > 1e-6 * ops || !events))
		return -1;
	return (int)json_array_size(rows);
}

/* The op of each kernel that can be fused into its product. */
static void tell_behind(const json_t *report)
{
	static const char *const behind[] = {"rt_bias_act", "rt_act_bwd", "rt_column_sums"};
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(report, "kernels"), i, row)
		for (size_t k = 0; k < GT_ARRAY_SIZE(behind); k++)
			if (strstr(gt_json_get_str(row, "kernel", ""), behind[k]))
				printf("%s apart in %s\n", behind[k], gt_json_get_str(row, "op", "none"));
}

/* Waits of the host per step of a captured GPT, in the given type. */
static int loop_and_tell(const char *how)
{
	const int seq = strstr(how, ".128") ? 128 : 16;
	const struct rt_gpt_config c = {.batch = 2, .seq = seq, .layers = 1, .width = 32, .heads = 2, .vocab = 64};
	const bool trace = gt_streq(how, "trace"), low = !gt_streq(how, "loop"), eight = gt_streq(how, "loop8");
	const bool dnn = !strncmp(how, "loopd", 5), half = gt_streq(how, "looph");
	const struct rt_options o = {.device = RT_CUDA, .precision = { .amp = half ? RT_F16 : low ? RT_BF16 : RT_F32,
								       .fp8 = {.use = eight} },
				     .attention_by = dnn ? RT_ATTENTION_CUDNN : RT_ATTENTION_FASTEST,
				     .deterministic = eight, .debug = { .trace = trace, .profile = trace },
				     .optimizer = {.kind = RT_ADAMW, .lr = 0.01}};
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	void (*waits)(unsigned long *, unsigned long *) = NULL, *lib = NULL;
	unsigned long all[2] = {0}, events[2] = {0};
	gt_auto_json *report = NULL;
	struct rt_metrics m = {0};
	struct gt_err err = {0};
	int32_t ids[256];
	int r = rt_compile(g, rt_model_gpt(g, &c), &o, &p, &err);

	for (int i = 0; i < 2 * seq; i++)
		ids[i] = i * 7 % 64;
	for (int i = 0; !r && i < 6; i++) {
		r = rt_step(p, (const void *const[]){ids, ids}, &m, &err);
		lib = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
		if (lib)
			*(void **)&waits = dlsym(lib, "standin_waits");
		if (waits)
			waits(&all[i > 1], &events[i > 1]);
	}
	if (r)
		puts(err.msg);
	if (r || !waits)
		return 1;
	report = rt_program_report(p);
	printf("%lu waits and %lu for events in 4 steps, %lld products timed, host %s, loss %s\n", all[1] - all[0],
	       events[1] - events[0],
	       (long long)gt_json_get_int(json_object_get(report, "products"), "timed", -1),
	       gt_json_get_real(report, "host_s_per_step", 0) > 0 ? "counted" : "missing", m.loss < 4.1 ? "fell" : "stayed");
	if (low && !trace) {
		gt_autofree char *text = json_dumps(json_object_get(report, "attention"), JSON_COMPACT | JSON_SORT_KEYS);

		printf("attention %s\n", text ? text : "missing");
	}
	if (trace) {
		const json_t *by = json_object_get(report, "timed_by");

		printf("%d events of %zu calls\n", look_at_trace(p, 6), json_array_size(json_object_get(report, "ops")));
		printf("%d kernels by %s; %s\n", look_at_kernels(p, report), gt_json_get_str(by, "how", "nothing"),
		       gt_json_get_str(by, "why", "no reason"));
		tell_behind(report);
	}
	return 0;
}

/* One event per step: the loss is ready. */
START_TEST(a_step_waits_only_for_its_loss)
{
	static const char *const how[] = {"loop", "loop16", "loop8", "looph"};
	struct result r = run_with(how[_i], NULL, STANDIN_DIR);

	ck_assert_msg(strstr(r.out, "0 waits and 4 for events in 4 steps") && strstr(r.out, "host counted, loss fell"), "%s: %s",
		      how[_i], r.out);
	ck_assert_msg(!!strstr(r.out, ", 0 products timed") == (_i == 2), "%s: %s", how[_i], r.out); /* deterministic */
}
END_TEST

START_TEST(a_trace_has_every_call_of_the_device)
{
	struct result r = run_with("trace", NULL, STANDIN_DIR);
	int events = 0, rows = 0;
	const char *at = strstr(r.out, "\n");

	ck_assert_msg(at && sscanf(at, " %d events of %d calls", &events, &rows) == 2 && rows > 0 && events > rows, "%s", r.out);
}
END_TEST

/*
 * Every kernel has its row and its event in the trace. Without CUPTI one message gives the reason, and events are used.
 */
START_TEST(kernels_are_timed_by_cupti_or_their_calls_by_events)
{
	static const struct {
		const char *var, *says;
	} t[] = {
		{NULL, " kernels by CUPTI 26; no reason"},
		{"STANDIN_CUPTI_FAIL=enable:35", "0 kernels by events; the driver permits only root to profile the device (CUPTI"},
		{"STANDIN_CUPTI_FAIL=enable:39", "0 kernels by events; another profiler is attached to this process"},
		{"STANDIN_CUPTI_VERSION=130001",
		 "0 kernels by events; CUPTI is built for CUDA 13.0 and this driver supports CUDA 12.4: "},
		{"STANDIN_CUPTI_FAIL=enable:33",
		 "0 kernels by events; the hypervisor does not permit guests to profile the device"},
		{"STANDIN_CUPTI_FAIL=enable:40",
		 "0 kernels by events; the hypervisor does not permit guests to profile the device"},
		{"STANDIN_CUPTI_FAIL=register:999",
		 "0 kernels by events; cuptiActivityRegisterCallbacks of CUPTI 26 failed with status 999 (CUPTI_ERROR_UNKNOWN)"},
		{"STANDIN_CUPTI_FAIL=drop:1", "CUPTI dropped "},
		{"STANDIN_CUPTI_FAIL=push:999", "cuptiActivityPushExternalCorrelationId of CUPTI 26 failed"},
		{"STANDIN_CUPTI_FAIL=flush:999", "cuptiActivityFlushAll of CUPTI 26 failed"},
	};
	static const char *const others[] = {"libcuda.so.1", "libcublasLt.so.12", "libcudnn.so.9"};
	gt_autofree char *dir = gt_xasprintf("/tmp/check-cuda-%d-p", (int)getpid());
	struct result r;
	int kernels = 0;

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		r = run_with("trace", t[i].var, STANDIN_DIR);
		ck_assert_msg(strstr(r.out, t[i].says) != NULL, "%s: %s", t[i].var ? t[i].var : "nothing", r.out);
		if (!i)
			ck_assert_msg(sscanf(strstr(r.out, "calls\n"), "calls %d kernels", &kernels) == 1 && kernels > 15, "%s",
				      r.out);
	}
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	for (size_t i = 0; i < GT_ARRAY_SIZE(others); i++) {
		gt_autofree char *from = gt_xasprintf("%s/%s", STANDIN_DIR, others[i]), *to = gt_xasprintf("%s/%s", dir, others[i]);

		ck_assert_int_eq(symlink(from, to), 0);
	}
	r = run_with("trace", NULL, dir);
	/* no version, or that of a toolkit on this host that is newer than the stand-in's driver */
	ck_assert_msg(strstr(r.out, "0 kernels by events; libcupti.so") ||
			      strstr(r.out, "0 kernels by events; CUPTI is built for CUDA "), "%s", r.out);
	for (size_t i = 0; i < GT_ARRAY_SIZE(others); i++) {
		gt_autofree char *to = gt_xasprintf("%s/%s", dir, others[i]);

		unlink(to);
	}
	rmdir(dir);
}
END_TEST

/* The library's fused product is timed against two separate kernels, forward and backward. The slower way is not used. */
START_TEST(a_slow_epilogue_is_not_taken)
{
	static const char *const apart[] = {"rt_bias_act apart in linear\n", "rt_act_bwd apart in linear_bwd_x\n",
					    "rt_column_sums apart in linear_bwd_w\n"};
	struct result r = run_with("trace", "STANDIN_LT_SLOW=30000", STANDIN_DIR);

	for (size_t i = 0; i < GT_ARRAY_SIZE(apart); i++)
		ck_assert_msg(!r.status && strstr(r.out, apart[i]) != NULL, "no %s: %s", apart[i], r.out);
}
END_TEST

void add_trace_tests(TCase *tc, TCase *slow)
{
	tcase_add_loop_test(tc, a_step_waits_only_for_its_loss, 0, 4);
	tcase_add_test(tc, a_trace_has_every_call_of_the_device);
	tcase_add_test(tc, a_slow_epilogue_is_not_taken);
	tcase_add_test(slow, kernels_are_timed_by_cupti_or_their_calls_by_events);
}

int child_trace(const char *what)
{
	return !strncmp(what, "loop", 4) || gt_streq(what, "trace") ? loop_and_tell(what) : -1;
}
