/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints: stored results that depend on parameters are updated, and only checkpoints of the same model are
 * accepted.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "tests/unit/check_runtime.h"

#define B	4
#define SIDE	8

static float images[B * SIDE * SIDE * 3];
static const int32_t labels[B] = { 1, 0, 3, 2 };
static char file[] = "/tmp/checkpointXXXXXX";

static void begin(void)
{
	int fd = mkstemp(file);

	ck_assert_int_ge(fd, 0);
	close(fd);
	for (size_t i = 0; i < GT_ARRAY_SIZE(images); i++)
		images[i] = rt_random_normal(1, 2, i);
}

static void end(void)
{
	unlink(file);
}

static struct rt_program *compiled(struct rt_graph *g, struct rt_node *loss, const struct rt_options *opt)
{
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(rt_compile(g, loss, opt, &p, &err) == 0, "%s", err.msg);
	return p;
}

static struct rt_program *resnet(struct rt_graph *g, const struct rt_options *opt)
{
	return compiled(g, rt_model_resnet_small(g, B, SIDE, 8, 10), opt);
}

static double evaluated(struct rt_program *p)
{
	double loss = 0;

	ck_assert_int_eq(rt_eval(p, (const void *[]){ images, labels }, &loss, NULL), 0);
	return loss;
}

static void steps(struct rt_program *p, int n)
{
	struct rt_metrics m;

	for (int i = 0; i < n; i++)
		ck_assert_int_eq(rt_step(p, (const void *[]){ images, labels }, &m, NULL), 0);
}

static void loaded(struct rt_program *p)
{
	struct gt_err err = { 0 };
	uint64_t ticket;

	ck_assert_msg(rt_load(p, file, &ticket, &err) == 0, "%s", err.msg);
}

static void refused(struct rt_program *p, int code, const char *part)
{
	struct gt_err err = { 0 };
	uint64_t ticket = 77;

	ck_assert_int_eq(rt_load(p, file, &ticket, &err), code);
	ck_assert_msg(strstr(err.msg, part) != NULL, "said: %s", err.msg);
	ck_assert_uint_eq(ticket, 77);
}

static const struct rt_options sgd = { .optimizer = { .kind = RT_SGD, .lr = 0.05 }, .threads = 2 };
static const struct rt_options adamw = { .optimizer = { .kind = RT_ADAMW, .lr = 0.01 }, .threads = 2 };

/* An inference program folds batchnorms into convolutions once; the folded weights are those of the file. */
START_TEST(inference_uses_the_loaded_parameters)
{
	gt_auto(rt_graph) *g = rt_graph_new(), *h = rt_graph_new(), *k = rt_graph_new();
	gt_auto(rt_program) *trained = resnet(g, &sgd), *used = resnet(h, &(struct rt_options){ .threads = 2 });
	gt_auto(rt_program) *fresh = resnet(k, &(struct rt_options){ .threads = 2 });
	double before, after;

	steps(trained, 5);
	ck_assert_int_eq(rt_save(trained, file, 5, NULL), 0);
	before = evaluated(used);
	loaded(used);
	after = evaluated(used);
	loaded(fresh);
	ck_assert_double_ne(before, after);
	ck_assert_double_eq(after, evaluated(fresh));
}
END_TEST

/* A file of a larger model is not accepted for a model that is a part of it. */
START_TEST(a_larger_model_is_another_model)
{
	gt_auto(rt_graph) *g = rt_graph_new(), *h = rt_graph_new();
	struct rt_gpt_config large = { .batch = 1, .seq = 8, .layers = 2, .width = 16, .heads = 2, .vocab = 32 }, small = large;
	gt_auto(rt_program) *a = compiled(g, rt_model_gpt(g, &large), &adamw), *b = NULL;

	small.layers = 1;
	b = compiled(h, rt_model_gpt(h, &small), &adamw);
	ck_assert_int_eq(rt_save(a, file, 0, NULL), 0);
	refused(b, -EINVAL, "the program has no tensor h1.");
	ck_assert_int_eq(rt_save(b, file, 0, NULL), 0);
	refused(a, -EINVAL, "it has no tensor h1.");
}
END_TEST

/* Writes the same file with another word in its metadata. */
static void rewrite(const char *key, const char *value)
{
	gt_autofree char *text = NULL, *head = NULL;
	gt_auto_json *header = NULL;
	gt_auto_buf out = { 0 };
	size_t n = 0, old, len;

	ck_assert_int_eq(gt_file_read(file, 1 << 24, &text, &n, NULL), 0);
	memcpy(&old, text, sizeof(old)); /* assumes little-endian hosts, as all tested ones are */
	header = json_loadb(text + 8, old, 0, NULL);
	ck_assert_ptr_nonnull(header);
	json_object_set_new(json_object_get(header, "__metadata__"), key, json_string(value));
	head = json_dumps(header, JSON_COMPACT);
	len = strlen(head);
	gt_buf_add(&out, (const char *)&len, sizeof(len));
	gt_buf_add(&out, head, len);
	gt_buf_add(&out, text + 8 + old, n - 8 - old);
	ck_assert_int_eq(gt_file_write(file, out.s, out.len, 0600, NULL), 0);
}

/* Numbers that would make derived values overflow, and NaN. */
START_TEST(counts_that_overflow_are_refused)
{
	static const char *const keys[] = { "step", "ticket", "loss_scale_held" };
	static const char *const values[] = { "9223372036854775807", "18446744073709551616", "-1", "x", "1099511627777" };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = resnet(g, &adamw);
	struct rt_metrics m;

	steps(p, 1);
	for (size_t i = 0; i < GT_ARRAY_SIZE(values); i++) {
		ck_assert_int_eq(rt_save(p, file, 1, NULL), 0);
		rewrite(keys[_i], values[i]);
		refused(p, -EBADMSG, "not a count from 0 to 2^40");
	}
	rewrite(keys[_i], "1099511627776");
	loaded(p);
	ck_assert_int_eq(rt_save(p, file, 1, NULL), 0);
	rewrite("step", "1");
	loaded(p);
	ck_assert_int_eq(rt_step(p, (const void *[]){ images, labels }, &m, NULL), 0);
	ck_assert_int_eq(m.step, 2);
}
END_TEST

/* Runs three updates of each program with the same batches. */
static void go_on_alike(struct rt_program *one, struct rt_program *other, const void *x, const void *y)
{
	struct rt_metrics a, b;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(rt_step(one, (const void *[]){ x, y }, &a, NULL), 0);
		ck_assert_int_eq(rt_step(other, (const void *[]){ x, y }, &b, NULL), 0);
		ck_assert_double_eq(a.loss, b.loss);
		ck_assert_int_eq(a.step, b.step);
	}
}

/* A file with weights only: the optimizer starts again, also in a program that has run steps. */
START_TEST(an_optimizer_without_state_starts_again)
{
	gt_auto(rt_graph) *g = rt_graph_new(), *h = rt_graph_new(), *k = rt_graph_new();
	gt_auto(rt_program) *plain = resnet(g, &(struct rt_options){ .threads = 2 });
	gt_auto(rt_program) *stepped = resnet(h, &adamw), *fresh = resnet(k, &adamw);

	ck_assert_int_eq(rt_save(plain, file, 0, NULL), 0); /* a program without an optimizer */
	steps(stepped, 3);
	loaded(stepped);
	loaded(fresh);
	go_on_alike(stepped, fresh, images, labels);
}
END_TEST

/* The only state of SGD without momentum is the step number, which dropout uses. */
START_TEST(a_step_without_state_is_restored)
{
	gt_auto(rt_graph) *g = rt_graph_new(), *h = rt_graph_new();
	struct rt_gpt_config c = { .batch = 1, .seq = 4, .layers = 1, .width = 16, .heads = 2, .vocab = 32, .dropout = 0.3f };
	gt_auto(rt_program) *whole = compiled(g, rt_model_gpt(g, &c), &sgd), *rest = compiled(h, rt_model_gpt(h, &c), &sgd);
	const int32_t x[4] = { 1, 2, 3, 4 }, y[4] = { 2, 3, 4, 5 };
	struct rt_metrics a;

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(rt_step(whole, (const void *[]){ x, y }, &a, NULL), 0);
	ck_assert_int_eq(rt_save(whole, file, 3, NULL), 0);
	loaded(rest);
	go_on_alike(whole, rest, x, y);
}
END_TEST

/* Truncated at any position: an error message, and no signal. */
START_TEST(a_truncated_file_is_refused)
{
	static const off_t most[] = { 0, 7, 8, 100, 20000, 100000 };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = resnet(g, &adamw);

	ck_assert_int_eq(rt_save(p, file, 0, NULL), 0);
	ck_assert_int_eq(truncate(file, most[_i]), 0);
	refused(p, -EBADMSG, _i < 2 ? "not a safetensors file" : file);
}
END_TEST

/* ---- leftovers of a killed writer ---- */

static bool there(const char *name)
{
	return access(name, F_OK) == 0;
}

static void touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

/* A child whose write the kernel stops in the middle. Returns the name of its leftover. */
static char *killed_while_saving(struct rt_program *p)
{
	pid_t child = fork();
	int status;

	if (!child) {
		const struct rlimit little = { 1000, 1000 }, no_core = { 0, 0 };

		signal(SIGXFSZ, SIG_DFL);
		setrlimit(RLIMIT_CORE, &no_core);
		setrlimit(RLIMIT_FSIZE, &little);
		rt_save(p, file, 1, NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
	return gt_xasprintf("%s.%ld.saving", file, (long)child);
}

/* The old file stays. The next write removes the leftover of the interrupted one, and no other file. */
START_TEST(leftovers_of_a_killed_save_are_removed)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = resnet(g, &(struct rt_options){ .optimizer = { .kind = RT_SGD, .lr = 0.1 } });
	gt_autofree char *left = NULL, *link_name = gt_xasprintf("%s.7.saving", file), *held = gt_xasprintf("%s.8.saving", file);
	gt_autofree char *users = gt_xasprintf("%s.9x.saving", file), *twice = gt_xasprintf("%s.10.saving", file);
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd;

	ck_assert_int_eq(rt_save(p, file, 5, NULL), 0);
	left = killed_while_saving(p);
	ck_assert(there(left));
	loaded(p);
	touch(users);
	ck_assert_int_eq(symlink(users, link_name), 0);
	ck_assert_int_eq(link(users, twice), 0);
	touch(held);
	fd = open(held, O_WRONLY);
	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &whole), 0); /* acts as another running writer */
	ck_assert_int_eq(rt_save(p, file, 6, NULL), 0);
	ck_assert(!there(left));
	ck_assert(there(users) && there(link_name) && there(twice) && there(held));
	close(fd);
	ck_assert_int_eq(rt_save(p, file, 7, NULL), 0);
	ck_assert(!there(held));
	unlink(users);
	unlink(link_name);
	unlink(twice);
}
END_TEST

TCase *case_checkpoint(void)
{
	TCase *t = tcase_create("checkpoint");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, inference_uses_the_loaded_parameters);
	tcase_add_test(t, a_larger_model_is_another_model);
	tcase_add_loop_test(t, counts_that_overflow_are_refused, 0, 3);
	tcase_add_test(t, an_optimizer_without_state_starts_again);
	tcase_add_test(t, a_step_without_state_is_restored);
	tcase_add_loop_test(t, a_truncated_file_is_refused, 0, 6);
	tcase_add_test(t, leftovers_of_a_killed_save_are_removed);
	return t;
}
