/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties: the stand-in driver rejects the same calls as NVIDIA's, with the same codes (CUDA Driver API:
 * cuLaunchKernel, cuFuncSetAttribute, cuStreamBeginCapture, "API synchronization behavior"). Algorithms are chosen by
 * timing only if equal bits are not requested. Libraries are found in Python's directories.
 */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <numaif.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/json.h"
#include "runtime/cuda/dnn.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/vendor.h"
#include "runtime/runtime.h"
#include "runtime/transport/comm.h"
#include "tests/unit/check_cuda.h"

static int wrong;

static void expect(const char *what, int got, int want)
{
	if (got == want)
		return;
	printf("%s: %d, not %d\n", what, got, want);
	wrong++;
}

static void launches(struct rt_cuda *c, cu_ptr x)
{
	const struct rt_driver *d = &c->d;
	struct attention_shape {
		int len, heads, depth;
		float scale;
		int all_keys, kv_heads;
	} s = { 1, 1, 64, 1, 0, 1 };
	cu_ptr none = 0;
	void *few[] = { &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x }, *args[] = { &x, &none, &x, &s };
	void *attention = c->fn[RT_K_attention_64], *greedy = c->fn[RT_K_lowrank_p];
	struct gt_err err = { 0 };

	expect("48 KiB unasked", d->launch(attention, 1, 1, 1, 256, 1, 1, 48 << 10, NULL, args, NULL), 0);
	expect("more unasked", d->launch(attention, 1, 1, 1, 256, 1, 1, (48 << 10) + 4, NULL, args, NULL), 1);
	expect("asking for it", rt_cuda_allow_shared(c, RT_K_attention_64, (48 << 10) + 4, &err), 0);
	expect("so much asked", d->launch(attention, 1, 1, 1, 256, 1, 1, (48 << 10) + 4, NULL, args, NULL), 0);
	expect("more than asked", d->launch(attention, 1, 1, 1, 256, 1, 1, (48 << 10) + 8, NULL, args, NULL), 1);
	expect("more than there is", d->function_attribute(attention, CU_FUNC_ATTR_DYNAMIC_SHARED, (227 << 10) + 4), 1);
	expect("more threads than a block has", d->launch(c->fn[RT_K_fold], 1, 1, 1, 1024, 2, 1, 0, NULL, few, NULL), 1);
	expect("no thread", d->launch(c->fn[RT_K_fold], 1, 1, 1, 0, 1, 1, 0, NULL, few, NULL), 1);
	expect("a grid that is too high", d->launch(c->fn[RT_K_fold], 1, 65536, 1, 32, 1, 1, 0, NULL, few, NULL), 1);
	expect("more registers than there are", d->launch(greedy, 1, 1, 1, 1024, 1, 1, 0, NULL, few, NULL), 701);
}

/* A copy from pageable memory reads the memory at once; a copy from pinned memory reads it when the copy runs. */
static void copies(struct rt_cuda *c, cu_ptr x, cu_stream s)
{
	const struct rt_driver *d = &c->d;
	uint32_t one = 1, got = 0, *pinned = NULL;
	struct gt_err err = { 0 };

	expect("an allocation of nothing", d->mem_alloc(&(cu_ptr){ 0 }, 0), 1);
	expect("a copy beyond the memory", d->copy_to(x, &one, 1 << 20), 1);
	expect("pinned memory", d->host_alloc((void **)&pinned, 64, 0), 0);
	expect("pinned with odd flags", d->host_alloc((void **)&pinned, 64, 8), 1);
	expect("a fill", d->fill_async(x, 0, 4, s), 0);
	expect("", d->stream_sync(s), 0);
	expect("a copy", d->copy_to(x, &one, 4), 0);
	expect("looking from another stream", d->copy_from_async(pinned, x, 4, s), 0);
	expect("", d->stream_sync(s), 0);
	expect("what it has not waited for", (int)*pinned, 0);
	expect("the same waited for", rt_cuda_put(c, x, &one, 4, &err), 0);
	expect("looking again", d->copy_from_async(pinned, x, 4, s), 0);
	expect("", d->stream_sync(s), 0);
	expect("what was put", (int)*pinned, 1);
	*pinned = 2;
	expect("a copy of pinned memory", d->copy_to_async(x, pinned, 4, s), 0);
	*pinned = 3;
	expect("a stream that nobody waited for", d->copy_from(&got, x, 4), 0);
	expect("what is there", (int)got, 1);
	expect("", d->stream_sync(s), 0);
	expect("reading it", d->copy_from(&got, x, 4), 0);
	expect("what the pinned memory had when its turn came", (int)got, 3);
	expect("the end of pinned memory", d->host_free(pinned), 0);
	expect("and again", d->host_free(pinned), 1);
}

/* Pinned memory is on the device's node, and the thread's own policy is unchanged. */
static void places(struct rt_cuda *c)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW), *p = NULL;
	int (*from)(void) = NULL, mode[2] = { 0 };
	unsigned long nodes[2][16] = { { 0 } };
	struct gt_err err = { 0 };
	bool may = !get_mempolicy(&mode[0], nodes[0], sizeof(nodes[0]) * 8, NULL, 0) &&
		   !set_mempolicy(mode[0], mode[0] ? nodes[0] : NULL, mode[0] ? sizeof(nodes[0]) * 8 : 0);

	*(void **)&from = dlsym(lib, "standin_pinned_from");
	expect("pinned memory beside the card", rt_cuda_pinned(c, &p, 4096, &err), 0);
	expect("the node that it is of", from(), may ? c->node : -1);
	get_mempolicy(&mode[1], nodes[1], sizeof(nodes[1]) * 8, NULL, 0);
	expect("the policy afterwards", mode[0] == mode[1] && !memcmp(nodes[0], nodes[1], sizeof(nodes[0])), 1);
	c->d.host_free(p);
	dlclose(lib);
}

static void begin(const struct rt_driver *d, cu_stream s)
{
	expect("beginning a capture", d->capture_begin(s, CU_CAPTURE_THREAD_LOCAL), 0);
}

static void end(const struct rt_driver *d, cu_stream s, int want, const char *what)
{
	void *graph = NULL;

	expect(what, d->capture_end(s, &graph), want);
	if (graph)
		d->graph_destroy(graph);
}

static void captures(struct rt_cuda *c, cu_ptr x, cu_stream s, cu_stream other)
{
	const struct rt_driver *d = &c->d;
	cu_event event = NULL, before = NULL;
	uint32_t pageable = 0;
	cu_ptr y = 0;

	expect("events", d->event_create(&event, CU_EVENT_DISABLE_TIMING) | d->event_create(&before, CU_EVENT_DEFAULT), 0);
	begin(d, s);
	expect("allocating", d->mem_alloc(&y, 64), 900);
	end(d, s, 901, "a capture that allocated");
	begin(d, s);
	expect("waiting for the device", d->ctx_sync(), 900);
	end(d, s, 901, "a capture that waited");
	begin(d, s);
	expect("a synchronous copy", d->copy_from(&pageable, x, 4), 900);
	end(d, s, 901, "a capture that copied");
	begin(d, s);
	expect("a copy of pageable memory", d->copy_to_async(x, &pageable, 4, s), 900);
	end(d, s, 901, "a capture of pageable memory");
	expect("an event before", d->event_record(before, other), 0);
	begin(d, s);
	expect("waiting for what is outside", d->stream_wait(s, before, 0), 905);
	end(d, s, 901, "a capture that depends on what is outside");
	begin(d, s);
	expect("forking", d->event_record(event, s) | d->stream_wait(other, event, 0) | d->fill_async(x, 0, 4, other), 0);
	end(d, s, 904, "a fork that was not joined");
	begin(d, s);
	expect("forking and joining", d->event_record(event, s) | d->stream_wait(other, event, 0) |
	       d->fill_async(x, 0, 4, other) | d->event_record(event, other) | d->stream_wait(s, event, 0), 0);
	end(d, s, 0, "a fork that was joined");
	expect("asking for a captured event", d->event_query(event), 907);
	expect("waiting for it outside", d->stream_wait(other, event, 0), 907);
	begin(d, s);
	expect("asking for any event", d->event_query(before), 900);
	end(d, s, 901, "a capture that asked");
	expect("timing without times", d->event_elapsed(&(float){ 0 }, event, event), 400);
}

static void *nowhere(void *arg)
{
	const struct rt_cuda *c = arg;
	cu_ptr x;

	expect("a thread without a context", c->d.mem_alloc(&x, 64), 201);
	return NULL;
}

static int rules_and_tell(void)
{
	gt_auto(rt_cuda) *c = NULL;
	struct gt_err err = { 0 };
	cu_stream s = NULL, other = NULL;
	pthread_t thread;
	cu_ptr x = 0;
	int r = rt_cuda_open(&c, &err);

	if (r) {
		puts(err.msg);
		return 1;
	}
	expect("memory", c->d.mem_alloc(&x, 1 << 16), 0);
	expect("filled", c->d.fill_async(x, 0, 1 << 16, NULL), 0);
	expect("streams", c->d.stream_create(&s, CU_STREAM_NON_BLOCKING) | c->d.stream_create(&other, CU_STREAM_NON_BLOCKING), 0);
	launches(c, x);
	copies(c, x, s);
	places(c);
	captures(c, x, s, other);
	expect("a thread", pthread_create(&thread, NULL, nowhere, c) | pthread_join(thread, NULL), 0);
	c->d.mem_free(x);
	printf("%d wrong\n", wrong);
	return wrong != 0;
}

/* In a model whose gradients are summed over batches, no product uses the library's first proposal without timing. */
static int accumulate_and_tell(void)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *loss = rt_model_mlp(g, 4, (const int64_t[]){ 3, 5, 2 }, 3);
	const struct rt_options o = { .device = RT_CUDA, .accum = 3, .optimizer = { .kind = RT_SGD, .lr = 0.1 } };
	const float x[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	const int32_t y[4] = { 0, 1, 1, 0 };
	gt_auto_json *report = NULL;
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };
	int r = rt_compile(g, loss, &o, &p, &err);

	for (int i = 0; !r && i < 6; i++)
		r = rt_step(p, (const void *const[]){ x, y }, &m, &err);
	if (r) {
		puts(err.msg);
		return 1;
	}
	report = rt_program_report(p);
	printf("%lld guessed\n", (long long)gt_json_get_int(json_object_get(report, "products"), "guessed", -1));
	return 0;
}

static bool alike(float a, float b)
{
	return fabsf(a - b) <= 1e-4f * (1 + fabsf(a));
}

/* Returns the number of equal running statistics of the model; -1 on failure. */
static int buffers_alike(struct rt_graph *g, struct rt_program *const *p, struct gt_err *err)
{
	int n = 0;

	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *b = rt_graph_leaf(g, i);
		float x[2][64];
		bool same = rt_node_is_buffer(b);

		if (!same)
			continue;
		for (int k = 0; k < 2; k++)
			if (rt_read_value(p[k], b, x[k], err))
				return -1;
		for (int64_t j = 0; j < rt_shape_elements(rt_node_shape(b)); j++)
			same &= alike(x[0][j], x[1][j]);
		n += same;
	}
	return n;
}

/*
 * Compares a small residual network on both devices: losses, running statistics, the loss with these. Last, a loss that
 * is not a number.
 */
static int images_and_tell(bool exact)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_resnet_small(g, 2, 8, 8, 10);
	struct rt_program *p[2] = {NULL};
	float x[2 * 8 * 8 * 3];
	int32_t y[2] = {3, 7};
	const void *inputs[] = {x, y};
	struct gt_err err = {0};
	int same = 0, r = 0;

	for (size_t i = 0; i < GT_ARRAY_SIZE(x); i++)
		x[i] = rt_random_normal(5, 1, i);
	for (int k = 0; !r && k < 2; k++) {
		struct rt_options o = {.device = k ? RT_CUDA : RT_CPU, .deterministic = exact,
				       .optimizer = {.kind = RT_SGD, .lr = 0.01, .momentum = 0.9}};

		r = rt_compile(g, loss, &o, &p[k], &err);
	}
	for (int i = 0; !r && i < 5; i++) {
		struct rt_metrics m[2] = {{0}};
		double at[2] = {0};

		x[0] = i == 4 ? HUGE_VALF : x[0];
		for (int k = 0; !r && k < 2; k++)
			r = i == 3 ? rt_eval(p[k], inputs, &at[k], &err) : rt_step(p[k], inputs, &m[k], &err);
		if (r && i == 4) {
			r = rt_step(p[1], inputs, &m[1], &err) == -EDOM ? 0 : -EINVAL;
			break;
		}
		same += alike((float)m[0].loss, (float)m[1].loss) && alike((float)at[0], (float)at[1]);
	}
	if (!r)
		printf("%d losses and %d buffers alike\n", same, buffers_alike(g, p, &err));
	if (p[1]) {
		gt_auto_json *report = rt_program_report(p[1]);
		const json_t *products = json_object_get(report, "products");

		printf("%s: %d timed, %d from disk\n", gt_json_get_str(report, "dnn", "none"),
		       (int)gt_json_get_int(products, "timed", -1), (int)gt_json_get_int(products, "from_disk", -1));
	}
	if (r)
		puts(err.msg);
	for (int k = 0; k < 2; k++)
		rt_program_free(p[k]);
	return r != 0;
}

static struct rt_node *dense(struct rt_graph *g, const char *name, struct rt_node *x, int64_t in, int64_t out)
{
	return rt_linear(g, x, rt_param(g, name, RT_SHAPE(out, in), RT_INIT_NORMAL(0.1f)), NULL);
}

/* A convolution, which all tensor parallel ranks compute, and linear layers, which they split. */
static struct rt_node *partly_split(struct rt_graph *g)
{
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(2, 8, 8, 3)), *y = rt_input(g, "y", RT_I32, RT_SHAPE(2));

	x = rt_conv2d(g, x, rt_param(g, "conv", RT_SHAPE(8, 3, 3, 3), RT_INIT_NORMAL(0.1f)), NULL,
		      (struct rt_conv2d){.stride = 1, .pad = 1});
	x = rt_reshape(g, x, RT_SHAPE(2, 8 * 8 * 8));
	return rt_cross_entropy(g, dense(g, "down", rt_gelu(g, dense(g, "up", x, 512, 16)), 16, 10), y);
}

static int split_images(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct rt_options o = {.device = RT_CUDA, .optimizer = {.kind = RT_SGD, .lr = 0.01},
				     .ranks = {.tensor = rt_comm_size(c) > 1 ? c : NULL}};
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_auto_json *report = NULL;
	const json_t *products;
	char text[64];
	int r = rt_compile(g, partly_split(g), &o, &p, err);

	(void)arg;
	if (r)
		return r;
	report = rt_program_report(p);
	products = json_object_get(report, "products");
	snprintf(text, sizeof(text), "%d timed, %d from disk", (int)gt_json_get_int(products, "timed", -1),
		 (int)gt_json_get_int(products, "from_disk", -1));
	rt_comm_answer(c, text);
	return 0;
}

static int split_images_and_tell(int ranks)
{
	struct rt_group group = {.ranks = ranks};
	struct gt_err err = {0};
	int r = rt_group_run(&group, split_images, NULL, &err);

	puts(r ? err.msg : group.answer);
	free(group.answer);
	return r != 0;
}

START_TEST(the_stand_in_enforces_the_rules_of_the_driver)
{
	struct result r = run_with("rules", NULL, STANDIN_DIR);

	ck_assert_msg(!r.status && strstr(r.out, "0 wrong"), "%s", r.out);
}
END_TEST

/* With --deterministic and among tensor parallel ranks nothing is timed, and earlier choices by timing are not used. */
START_TEST(images_train_as_on_the_cpu_and_choices_are_cached)
{
	struct result exact, split;
	gt_autofree char *dir = gt_xasprintf("/tmp/check-cuda-%d", (int)getpid()), *home = gt_xasprintf("XDG_CACHE_HOME=%s", dir);
	gt_autofree char *files = gt_xasprintf("%s/gputune/*", dir), *inner = gt_xasprintf("%s/gputune", dir);
	gt_autofree char *two = gt_xasprintf("%s STANDIN_DEVICES=2", home);
	glob_t found = {0};

	for (int again = 0; again < 2; again++) {
		struct result r = run_with("images", home, STANDIN_DIR);

		ck_assert_msg(!r.status && strstr(r.out, "4 losses and 14 buffers alike\ncuDNN 9.16.0: "), "%s", r.out);
		ck_assert_msg((strstr(r.out, ": 0 timed") != NULL) == again && (strstr(r.out, ", 0 from disk") != NULL) == !again,
			      "%s", r.out);
	}
	exact = run_with("images-exact", home, STANDIN_DIR);
	ck_assert_msg(!exact.status && strstr(exact.out, ": 0 timed, 0 from disk"), "%s", exact.out);
	for (int again = 0; again < 2; again++) {
		split = run_with("one-image", two, STANDIN_DIR);
		ck_assert_msg(!split.status && (strstr(split.out, ", 0 from disk") != NULL) == !again, "%s", split.out);
	}
	split = run_with("two-images", two, STANDIN_DIR);
	ck_assert_str_eq(split.out, "0 timed, 0 from disk\n");
	ck_assert_int_eq(glob(files, 0, NULL, &found), 0);
	ck_assert_int_eq(found.gl_pathc, 2);
	for (size_t i = 0; i < found.gl_pathc; i++)
		unlink(found.gl_pathv[i]);
	globfree(&found);
	rmdir(inner);
	rmdir(dir);
}
END_TEST

START_TEST(products_that_add_are_timed_too)
{
	struct result r = run_with("accumulate", "XDG_CACHE_HOME=/nonexistent/cache", STANDIN_DIR);

	ck_assert_msg(!r.status && strstr(r.out, "0 guessed"), "%s", r.out);
}
END_TEST

/*
 * Backward pass of GPT-2 124M at a batch of 86: its sums are 258 MiB. Plans are counted, not run: used, left out, and
 * the workspace reserved.
 */
static int plans_and_tell(bool exact)
{
	const struct rt_dnn_attention k = { .backward = true, .batch = 86, .len = 1024, .heads = 12, .depth = 64, .type = RT_BF16,
					    .any_order = !exact, .alone = true };
	gt_auto(rt_cuda) *c = NULL;
	struct rt_dnn_info info = { 0 };
	struct rt_dnn *d = NULL;
	struct gt_err err = { 0 };
	int r = rt_cuda_open(&c, &err);

	if (!r)
		r = rt_dnn_open(c, false, &d, &err);
	if (!r)
		r = rt_dnn_attention_plan(d, &k, &info, &err);
	printf("%s%d kept, %d too large\n", err.msg, info.accepted, info.too_large);
	rt_dnn_close(d);
	return r != 0;
}

/*
 * Workspace for the sums of all rows does not exclude a plan. Workspace for all scores does, and so does the same size
 * where these sums are not needed.
 */
START_TEST(plans_of_large_batches_are_cached)
{
	static const struct {
		const char *how, *var, *says;
	} t[] = {
		{ "plans", "STANDIN_DNN_WORKSPACE=270532736", "4 kept, 1 too large\n" },
		{ "plans", "STANDIN_DNN_WORKSPACE=2164260864", "3 kept, 2 too large\n" },
		{ "plans-exact", "STANDIN_DNN_WORKSPACE=270532736", "2 kept, 2 too large\n" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		struct result r = run_with(t[i].how, t[i].var, STANDIN_DIR);

		ck_assert_msg(gt_streq(r.out, t[i].says), "%s: %s", t[i].var, r.out);
	}
}
END_TEST

/* Libraries that the dynamic loader does not find: in a conda environment, among wheels, and in Debian's Python. */
START_TEST(libraries_are_found_in_python_environments)
{
	static const struct gt_dlsym syms[] = { { .name = "cuInit" } };
	static const char *const names[] = { "libgputune-wheel.so.1", NULL };
	static const char *const places[] = { "lib", "lib/python3.11/dist-packages/nvidia/cudnn/lib",
					      "lib/python3.12/site-packages/nvidia/cudnn/lib", "share" };
	char dir[] = "/tmp/check-cuda-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (size_t i = 0; i < GT_ARRAY_SIZE(places); i++) {
		gt_autofree char *env = gt_xasprintf("%s/%zu", dir, i);
		gt_autofree char *make = gt_xasprintf("mkdir -p '%s/%s' && ln -s '%s/libcuda.so.1' '%s/%s/%s'", env, places[i],
						      STANDIN_DIR, env, places[i], names[0]);
		struct gt_err err = { 0 };
		void *table[1] = { NULL }, *lib = NULL;
		const struct rt_vendor v = { .names = names, .syms = syms, .n_syms = 1, .table = table };
		int r;

		ck_assert_int_eq(system(make), 0);
		setenv("VIRTUAL_ENV", env, 1);
		r = rt_vendor_open(&v, &lib, &err);
		ck_assert_msg(i == 3 ? r == -ENOENT && strstr(err.msg, env) : !r && table[0], "%s: %s", places[i], err.msg);
	}
	gt_autofree char *drop = gt_xasprintf("rm -r '%s'", dir);
	ck_assert_int_eq(system(drop), 0);
}
END_TEST

static char *copied(const char *from, const char *env, const char *to)
{
	gt_autofree char *path = gt_xasprintf("%s/%s", env, to);
	gt_autofree char *make = gt_xasprintf("mkdir -p \"$(dirname '%s')\" && cp '%s/%s' '%s'", path, STANDIN_DIR, from, path);

	ck_assert_int_eq(system(make), 0);
	return gt_take(path);
}

struct judged {
	void *table[1];
	const char *refuse;
	int asked;
};

static int judge(void *arg, struct gt_err *err)
{
	struct judged *j = arg;
	Dl_info info;

	j->asked++;
	ck_assert(dladdr(j->table[0], &info) != 0);
	return strstr(info.dli_fname, j->refuse) ? gt_fail(err, ERANGE, "not %s", info.dli_fname) : 0;
}

/*
 * An unsuitable library does not hide a later suitable one. A library that a child process examines is never loaded into
 * this process.
 */
START_TEST(an_unsuitable_library_is_skipped)
{
	static const struct gt_dlsym syms[] = { { .name = "cuInit" } };
	static const char *const names[] = { "libgputune-none.so", "libgputune-judged.so.1", "libgputune-judged.so", NULL };
	char dir[] = "/tmp/check-cuda-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (int apart = 0; apart < 2; apart++) {
		gt_autofree char *env = gt_xasprintf("%s/%d", dir, apart), *later = NULL, *wheel = NULL;
		struct judged j = { .refuse = "/site-packages/" };
		const struct rt_vendor v = { .names = names, .syms = syms, .n_syms = 1, .table = j.table, .suits = judge,
					     .arg = &j, .in_child = apart };
		struct gt_err err = { 0 };
		void *lib = NULL, *taken;

		wheel = copied("libcuda.so.1", env, "lib/python3.11/site-packages/nvidia/first/lib/libgputune-judged.so.1");
		later = copied("libcuda.so.1", env, "lib/libgputune-judged.so");
		setenv("VIRTUAL_ENV", env, 1);
		ck_assert_msg(!rt_vendor_open(&v, &lib, &err), "%s", err.msg);
		taken = dlopen(later, RTLD_NOW | RTLD_NOLOAD);
		ck_assert(lib && lib == taken);
		ck_assert_int_eq(dlopen(wheel, RTLD_NOW | RTLD_NOLOAD) != NULL, !apart);
		ck_assert_int_eq(j.asked, apart ? 1 : 2); /* in this process */
		j.refuse = "/";
		lib = NULL;
		ck_assert_int_eq(rt_vendor_open(&v, &lib, &err), -ERANGE);
		ck_assert_msg(!lib && strstr(err.msg, "not ") == err.msg && strstr(err.msg, "/site-packages/"), "%s", err.msg);
	}
	gt_autofree char *drop = gt_xasprintf("rm -r '%s'", dir);
	ck_assert_int_eq(system(drop), 0);
}
END_TEST

/*
 * The toolkit in the loader's path is too new for the driver, and the environment has a suitable one. No other library
 * of this host is old enough.
 */
START_TEST(libraries_for_this_driver_are_found_after_newer_ones)
{
	char dir[] = "/tmp/check-cuda-XXXXXX";
	gt_autofree char *lt = NULL, *dnn = NULL, *nccl = NULL, *vars = NULL, *older = NULL, *drop = NULL;
	struct result r;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	lt = copied("libcublasLt.so.12", dir, "lib/python3.11/site-packages/nvidia/cublas/lib/libcublasLt.so.12");
	dnn = copied("libcudnn.so.9", dir, "lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9");
	nccl = copied("libnccl.so.2", dir, "lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
	older = gt_xasprintf("sed -i s/+cuda12.4/+cuda11.4/ '%s'", nccl);
	ck_assert_int_eq(system(older), 0);
	vars = gt_xasprintf("VIRTUAL_ENV=%s STANDIN_CUDA=11080 STANDIN_LT_VERSION=110800:/site-packages/ "
			    "STANDIN_DNN_CUDART=11080:/site-packages/ STANDIN_DNN_VERSION=91700:/site-packages/", dir);
	r = run_with("images-exact", vars, STANDIN_DIR);
	ck_assert_msg(!r.status && strstr(r.out, "4 losses and 14 buffers alike\ncuDNN 9.17.0: "), "%s", r.out);
	free(vars);
	vars = gt_xasprintf("VIRTUAL_ENV=%s STANDIN_CUDA=11080 STANDIN_DEVICES=3 STANDIN_MEMORY=40000000", dir);
	r = run_with("reduce", vars, STANDIN_DIR);
	ck_assert_msg(!r.status && strstr(r.out, "0 and 1 wrong, timed"), "%s", r.out);
	drop = gt_xasprintf("rm -r '%s'", dir);
	ck_assert_int_eq(system(drop), 0);
}
END_TEST

void add_driver_tests(TCase *tc, TCase *slow)
{
	tcase_add_test(tc, the_stand_in_enforces_the_rules_of_the_driver);
	tcase_add_test(slow, images_train_as_on_the_cpu_and_choices_are_cached);
	tcase_add_test(tc, products_that_add_are_timed_too);
	tcase_add_test(tc, plans_of_large_batches_are_cached);
	tcase_add_test(tc, libraries_are_found_in_python_environments);
	tcase_add_test(tc, an_unsuitable_library_is_skipped);
	tcase_add_test(slow, libraries_for_this_driver_are_found_after_newer_ones);
}

int child_driver(const char *what)
{
	if (gt_streq(what, "rules"))
		return rules_and_tell();
	if (!strncmp(what, "images", 6))
		return images_and_tell(gt_streq(what, "images-exact"));
	if (gt_streq(what, "one-image") || gt_streq(what, "two-images"))
		return split_images_and_tell(gt_streq(what, "one-image") ? 1 : 2);
	if (!strncmp(what, "plans", 5))
		return plans_and_tell(gt_streq(what, "plans-exact"));
	return gt_streq(what, "accumulate") ? accumulate_and_tell() : -1;
}
