/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader: a batch depends only on files, options and ticket. No OpenMP here, so that ThreadSanitizer sees all
 * synchronisation.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/file.h"
#include "runtime/data/ring.h"
#include "runtime/data/tokens.h"
#include "tests/unit/check_loader.h"

static char directory[] = "/tmp/check_loader.XXXXXX";

const char *gen_path(const char *name)
{
	static char path[32][256];
	static int next;
	char *p = path[next++ % 32];

	snprintf(p, sizeof(path[0]), "%s/%s", directory, name);
	return p;
}

const char *made(const char *name, const void *bytes, size_t len)
{
	const char *path = gen_path(name);
	struct gt_err err = { 0 };

	unlink(path);
	ck_assert_msg(gt_file_write(path, bytes, len, 0644, &err) == 0, "%s", err.msg);
	return path;
}

struct rt_loader *opened(const struct rt_loader_options *o)
{
	struct rt_loader *l = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(rt_loader_open(o, &l, &err) == 0, "%s", err.msg);
	return l;
}

char *batches(const struct rt_loader_options *o, int n, size_t *ret_len)
{
	struct rt_loader *l = opened(o);
	size_t x = (size_t)o->rows * rt_loader_row_bytes(l), y = (size_t)o->rows * 4 * (o->seq ? (size_t)o->seq : 1);
	char *all = calloc((size_t)n, x + y);

	for (int i = 0; i < n; i++) {
		struct gt_err err = { 0 };
		struct rt_batch b;

		ck_assert_msg(rt_loader_next(l, &b, &err) == 0, "%s", err.msg);
		ck_assert_uint_eq(b.ticket, o->start + (uint64_t)i);
		memcpy(all + (size_t)i * (x + y), b.x, x);
		memcpy(all + (size_t)i * (x + y) + x, b.y, y);
	}
	rt_loader_close(l);
	*ret_len = (size_t)n * (x + y);
	return all;
}

void refused(const struct rt_loader_options *o, int code, const char *part)
{
	struct rt_loader *l = NULL;
	struct gt_err err = { 0 };
	struct rt_batch b;
	int r = rt_loader_open(o, &l, &err);

	for (int i = 0; !r && i < 100; i++)
		r = rt_loader_next(l, &b, &err);
	ck_assert_msg(r == -code && strstr(err.msg, part), "answered %d: %s", r, err.msg);
	rt_loader_close(l);
}

/* ---- order ---- */

START_TEST(each_epoch_has_an_order_of_its_own)
{
	static const uint64_t sizes[] = { 1, 2, 3, 10, 64, 1000, 4097, 65537 };
	uint64_t n = sizes[_i], same = 0, other_seed = 0;
	char *seen = calloc(n, 1);

	for (uint64_t p = 0; p < n; p++) {
		uint64_t i = rt_order(7, 3, n, p);

		ck_assert_uint_lt(i, n);
		ck_assert_int_eq(seen[i]++, 0);
		same += i == rt_order(7, 4, n, p);
		other_seed += i == rt_order(8, 3, n, p);
	}
	/* in a random order, one sample on average keeps its position */
	ck_assert_msg(n < 10 || (same < 10 && other_seed < 10), "%d and %d of %d stay", (int)same, (int)other_seed, (int)n);
	free(seen);
}
END_TEST

/* The position of sample 0 is uniform: chi-square with 9 degrees of freedom, 0.1 %. */
START_TEST(orders_are_even)
{
	int at[10] = { 0 };
	double chi = 0;

	for (uint64_t epoch = 0; epoch < 10000; epoch++)
		at[rt_order(1, epoch, 1000, 0) / 100]++;
	for (int i = 0; i < 10; i++)
		chi += (at[i] - 1000.) * (at[i] - 1000.) / 1000;
	ck_assert_msg(chi < 27.9, "chi-square %g", chi);
}
END_TEST

/* ---- tokens ---- */

static uint16_t ids[100 * 16 + 1];

static struct rt_loader_options tokens(int64_t rows)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(ids); i++)
		ids[i] = (uint16_t)i;
	return (struct rt_loader_options){ .path = made("ids.bin", ids, sizeof(ids)), .rows = rows, .seq = 16, .seed = 5,
					   .prefetch = 2 };
}

START_TEST(batches_do_not_depend_on_the_workers)
{
	static const struct {
		int workers, prefetch;
		bool restart, copy, base_pages;
	} ways[] = { { 1, 1 }, { 1, 4 }, { 3, 2 }, { 4, 7 }, { 2, 3, true }, { 0, 3, true }, { 2, 2, false, true },
		     { 2, 2, true, true }, { 1, 2, false, false, true } };
	struct rt_loader_options o = tokens(7);
	size_t len, len_other;
	char *want = batches(&o, 60, &len), *got;

	o.workers = ways[_i].workers;
	o.prefetch = ways[_i].prefetch;
	o.restart_workers = ways[_i].restart;
	o.copy_batches = ways[_i].copy;
	o.no_huge_pages = ways[_i].base_pages;
	got = batches(&o, 60, &len_other);
	ck_assert_uint_eq(len, len_other);
	ck_assert(memcmp(want, got, len) == 0);
	free(want);
	free(got);
}
END_TEST

START_TEST(a_run_resumes_where_it_stopped)
{
	struct rt_loader_options o = tokens(7);
	size_t len, rest;
	char *want = batches(&o, 60, &len), *got;

	o.start = 23;
	o.workers = 2;
	got = batches(&o, 37, &rest);
	ck_assert(memcmp(want + len / 60 * 23, got, rest) == 0);
	free(want);
	free(got);
}
END_TEST

/*
 * Continues after 23 batches of 7, with batches of 5 and two ranks. In this and the following epochs each sample occurs
 * once.
 */
START_TEST(other_batches_resume_after_the_last_sample)
{
	enum { BEFORE = 23 * 7, BATCHES = 40, X = 16 * 4 };
	struct rt_loader_options one = tokens(1), part = tokens(5);
	size_t len;
	char *want = batches(&one, BEFORE + 10 * BATCHES, &len), *got;

	for (int rank = 0; rank < 2; rank++) {
		part.all_rows = 10;
		part.first_row = 5 * rank;
		part.start_sample = BEFORE;
		part.workers = rank;
		part.restart_workers = rank > 0;
		got = batches(&part, BATCHES, &len);
		for (int i = 0; i < 5 * BATCHES; i++) {
			const char *w = want + (BEFORE + i / 5 * 10 + 5 * rank + i % 5) * 2 * X;

			ck_assert_mem_eq(got + i / 5 * 10 * X + i % 5 * X, w, X);
			ck_assert_mem_eq(got + i / 5 * 10 * X + (5 + i % 5) * X, w + X, X);
		}
		free(got);
	}
	free(want);
}
END_TEST

/* Four ranks of 5 rows equal one rank of 20, row by row: no sample twice in an epoch. */
START_TEST(ranks_share_an_epoch)
{
	struct rt_loader_options o = tokens(20), part = o;
	struct rt_loader *all = opened(&o), *rank[4];
	char seen[100] = "";

	for (int r = 0; r < 4; r++) {
		part.rows = 5;
		part.all_rows = 20;
		part.first_row = 5 * r;
		part.workers = r;
		rank[r] = opened(&part);
	}
	for (int i = 0; i < 5; i++) {
		struct rt_batch b, p;

		ck_assert_int_eq(rt_loader_next(all, &b, NULL), 0);
		ck_assert_uint_eq(b.epoch, 0);
		for (int r = 0; r < 4; r++) {
			ck_assert_int_eq(rt_loader_next(rank[r], &p, NULL), 0);
			ck_assert(memcmp(p.x, (const int32_t *)b.x + 80 * r, 320) == 0);
			for (int row = 0; row < 5; row++)
				ck_assert_int_eq(seen[((const int32_t *)p.x)[16 * row] / 16]++, 0);
		}
	}
	for (int r = 0; r < 4; r++)
		rt_loader_close(rank[r]);
	rt_loader_close(all);
}
END_TEST

START_TEST(parts_do_not_overlap)
{
	struct rt_loader_options o = tokens(10);
	struct rt_loader *train, *held;
	struct rt_batch b;

	o.part = RT_PART_TRAIN;
	train = opened(&o);
	o.part = RT_PART_HELD_OUT;
	held = opened(&o);
	ck_assert_uint_eq(rt_loader_samples(train), 90);
	ck_assert_uint_eq(rt_loader_samples(held), 10);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(rt_loader_next(train, &b, NULL), 0);
		for (int row = 0; row < 10; row++)
			ck_assert_int_ne(((const int32_t *)b.x)[16 * row] / 16 % 10, 9);
		ck_assert_int_eq(rt_loader_next(held, &b, NULL), 0);
		for (int row = 0; row < 10; row++)
			ck_assert_int_eq(((const int32_t *)b.x)[16 * row] / 16 % 10, 9);
	}
	rt_loader_close(train);
	rt_loader_close(held);
}
END_TEST

/* The same ids are read from llm.c's u16 and u32 files, from plain id files, and from text. */
START_TEST(token_files_of_all_kinds)
{
	struct rt_loader_options o = tokens(10);
	uint32_t u32[256 + GT_ARRAY_SIZE(ids)] = { 20240801, 7, GT_ARRAY_SIZE(ids) };
	uint32_t u16[256 + GT_ARRAY_SIZE(ids) / 2 + 1] = { 20240520, 1, GT_ARRAY_SIZE(ids) };
	unsigned char text[GT_ARRAY_SIZE(ids)];
	size_t len, k;
	char *want = batches(&o, 10, &len), *got;

	memcpy(u16 + 256, ids, sizeof(ids));
	for (size_t i = 0; i < GT_ARRAY_SIZE(ids); i++) {
		u32[256 + i] = ids[i];
		text[i] = (unsigned char)ids[i];
	}
	o.path = made("u32.bin", u32, sizeof(u32));
	got = batches(&o, 10, &k);
	ck_assert(k == len && memcmp(want, got, len) == 0);
	free(got);
	o.path = made("u16.bin", u16, 1024 + sizeof(ids));
	got = batches(&o, 10, &k);
	ck_assert(k == len && memcmp(want, got, len) == 0);
	free(got);
	o.path = made("alone32.bin", u32 + 256, sizeof(ids) * 2);
	o.token_type = RT_TOKEN_U32;
	got = batches(&o, 10, &k);
	ck_assert(k == len && memcmp(want, got, len) == 0);
	free(got);
	o.path = made("text", text, sizeof(text));
	got = batches(&o, 10, &k);
	for (size_t i = 0; i < len / 4; i++)
		ck_assert_int_eq(((int32_t *)(void *)want)[i] % 256, ((int32_t *)(void *)got)[i]);
	free(got);
	free(want);
}
END_TEST

START_TEST(a_list_of_files_is_one_set)
{
	struct rt_loader_options o = tokens(10);
	struct rt_loader *l;

	o.in_order = true;
	for (int i = 8; i < 11; i++) {
		char name[32];

		snprintf(name, sizeof(name), "list-%02d.bin", i);
		made(name, ids, sizeof(ids));
	}
	o.path = gen_path("list-{08..10}.bin");
	l = opened(&o);
	ck_assert_uint_eq(rt_loader_samples(l), 300);
	rt_loader_close(l);
	o.path = gen_path("list-{08..11}.bin");
	refused(&o, ENOENT, "list-11.bin");
	o.path = gen_path("list-{10..08}.bin");
	refused(&o, EINVAL, "braces contain a range");
}
END_TEST

START_TEST(wrong_token_files_are_named)
{
	struct rt_loader_options o = tokens(2);
	uint32_t head[300] = { 20240520, 1, 100000 };

	o.vocab = 1000;
	refused(&o, ERANGE, "vocabulary has 1000: are the ids really u16?");
	o = tokens(2);
	o.path = made("odd.bin", ids, 33);
	refused(&o, EBADMSG, "no whole number of u16 ids");
	o.path = made("cut.bin", head, sizeof(head));
	refused(&o, EBADMSG, "cut short");
	head[1] = 9;
	o.path = made("version.bin", head, sizeof(head));
	refused(&o, EBADMSG, "version 9");
	head[1] = 1;
	head[2] = 80;
	o.token_type = RT_TOKEN_U32;
	o.path = made("type.bin", head, sizeof(head));
	refused(&o, EINVAL, "its header says u16 ids, not u32");
	o.token_type = RT_TOKEN_AUTO;
	refused(&o, ENODATA, "too few tokens");
	o.path = "/nonexistent/data";
	refused(&o, ENOENT, "/nonexistent/data");
	o.path = "/dev/null";
	refused(&o, EINVAL, "is not a regular file");
}
END_TEST

START_TEST(wrong_options_are_refused)
{
	struct rt_loader_options o = tokens(0);

	refused(&o, EINVAL, "rows");
	o = tokens(4);
	o.all_rows = 3;
	refused(&o, EINVAL, "rows");
	o = tokens(4);
	o.workers = 5000;
	refused(&o, EINVAL, "0 to 1024 workers");
	o = tokens(4);
	o.prefetch = 1 << 24;
	refused(&o, EINVAL, "batches in advance");
	o = tokens(4);
	o.seq = 0;
	refused(&o, EINVAL, "sequences");
	o = tokens(1 << 24);
	o.prefetch = 65536;
	refused(&o, ENOMEM, "batches");
}
END_TEST

START_TEST(a_file_that_shrinks_ends_the_run)
{
	struct rt_loader_options o = tokens(2);
	struct rt_loader *l = opened(&o);
	struct gt_err err = { 0 };
	struct rt_batch b;

	ck_assert_int_eq(rt_loader_next(l, &b, &err), 0);
	ck_assert_int_eq(truncate(o.path, 100), 0);
	ck_assert_int_eq(rt_loader_next(l, &b, &err), -EIO);
	ck_assert(strstr(err.msg, "has become shorter"));
	rt_loader_close(l);
}
END_TEST

/* With many files, a batch does not check all of them. The last file loses its pages. */
START_TEST(one_of_many_files_that_shrinks_ends_the_run)
{
	enum { FILES = 30, IDS = 8192 };
	static const off_t most[] = { 0, 4096, 4100 };
	static uint16_t many[IDS];
	gt_autofree char *folder = NULL, *last = NULL;
	struct rt_loader_options o = { .rows = 4, .seq = 64, .seed = 5, .workers = _i % 2 };
	struct gt_err err = { 0 };
	struct rt_loader *l;
	struct rt_batch b;
	int r = 0;

	for (int i = 0; i < FILES; i++) {
		gt_autofree char *name = gt_xasprintf("ids-%02d.bin", i);

		free(last);
		last = gt_xstrdup(made(name, many, sizeof(many)));
	}
	folder = gt_xasprintf("%.*s/ids-{00..29}.bin", (int)(strrchr(last, '/') - last), last);
	o.path = folder;
	o.kind = RT_DATA_TOKENS;
	l = opened(&o);
	ck_assert_int_eq(rt_loader_next(l, &b, &err), 0);
	ck_assert_int_eq(truncate(last, most[_i]), 0);
	for (int i = 0; !r && i < 1000; i++)
		r = rt_loader_next(l, &b, &err);
	ck_assert_int_eq(r, -EIO);
	ck_assert_msg(strstr(err.msg, "ids-29.bin has become shorter") != NULL, "said: %s", err.msg);
	rt_loader_close(l);
}
END_TEST

/* ---- the ring ---- */

START_TEST(the_reader_may_stop_at_any_time)
{
	struct rt_loader_options o = tokens(1);

	for (int i = 0; i < 60; i++) {
		struct rt_loader *l;
		struct rt_batch b;

		o.workers = 1 + i % 4;
		o.prefetch = 1 + i % 5;
		l = opened(&o);
		for (int k = 0; k < i % 7; k++)
			ck_assert_int_eq(rt_loader_next(l, &b, NULL), 0);
		rt_loader_close(l);
	}
}
END_TEST

/* More tickets than any other test, so that sleeps and wake-ups occur in every order. */
START_TEST(every_batch_is_returned)
{
	struct rt_loader_options o = tokens(1);
	struct rt_loader *l;

	o.workers = 3;
	o.prefetch = 1;
	o.in_order = true;
	l = opened(&o);
	for (int i = 0; i < 6000; i++) {
		struct rt_batch b;

		ck_assert_int_eq(rt_loader_next(l, &b, NULL), 0);
		ck_assert_int_eq(*(const int32_t *)b.x, i % 100 * 16);
	}
	rt_loader_close(l);
}
END_TEST

static struct {
	void *base;
	size_t bytes;
	int pins, unpins, fail;
} pinned;

static int pin(void *arg, void *base, size_t bytes, struct gt_err *err)
{
	pinned.base = base;
	pinned.bytes = bytes;
	pinned.pins++;
	return pinned.fail ? gt_fail(err, ENOMEM, "nothing can be pinned") : 0;
}

static void unpin(void *arg, void *base, size_t bytes)
{
	ck_assert(base == pinned.base && bytes == pinned.bytes);
	pinned.unpins++;
}

START_TEST(batches_lie_in_pinned_pages)
{
	struct rt_loader_options o = tokens(3);
	struct rt_loader *l;
	struct rt_batch b;

	o.pin = pin;
	o.unpin = unpin;
	l = opened(&o);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(rt_loader_next(l, &b, NULL), 0);
		ck_assert((uintptr_t)b.x % 4096 == 0 && (uintptr_t)b.y % 4096 == 0);
		ck_assert((char *)b.x >= (char *)pinned.base && (char *)(b.y + 48) <= (char *)pinned.base + pinned.bytes);
	}
	rt_loader_close(l);
	ck_assert(pinned.pins == 1 && pinned.unpins == 1);
	pinned.fail = 1;
	refused(&o, ENOMEM, "nothing can be pinned");
	ck_assert(pinned.pins == 2 && pinned.unpins == 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("loader");
	TCase *t = tcase_create("order"), *k = tcase_create("tokens"), *r = tcase_create("ring");

	tcase_add_loop_test(t, each_epoch_has_an_order_of_its_own, 0, 8);
	tcase_add_test(t, orders_are_even);
	tcase_add_loop_test(k, batches_do_not_depend_on_the_workers, 0, 9);
	tcase_add_test(k, a_run_resumes_where_it_stopped);
	tcase_add_test(k, other_batches_resume_after_the_last_sample);
	tcase_add_test(k, ranks_share_an_epoch);
	tcase_add_test(k, parts_do_not_overlap);
	tcase_add_test(k, token_files_of_all_kinds);
	tcase_add_test(k, a_list_of_files_is_one_set);
	tcase_add_test(k, wrong_token_files_are_named);
	tcase_add_test(k, wrong_options_are_refused);
	tcase_add_test(k, a_file_that_shrinks_ends_the_run);
	tcase_add_loop_test(k, one_of_many_files_that_shrinks_ends_the_run, 0, 3);
	tcase_add_test(r, the_reader_may_stop_at_any_time);
	tcase_add_test(r, every_batch_is_returned);
	tcase_add_test(r, batches_lie_in_pinned_pages);
	suite_add_tcase(s, t);
	suite_add_tcase(s, k);
	suite_add_tcase(s, r);
	suite_add_tcase(s, case_images());
	suite_add_tcase(s, case_documents());
	return s;
}

int main(void)
{
	SRunner *runner;
	int failed;

	if (!mkdtemp(directory))
		return 99;
	runner = srunner_create(suite());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	if (fork() == 0)
		execl("/bin/rm", "rm", "-rf", directory, (char *)NULL);
	return failed != 0;
}
