/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of different lengths: each occurs once, none spans two rows, and padding is small. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "lib/json.h"
#include "runtime/data/lengths.h"
#include "runtime/data/tokens.h"
#include "runtime/runtime.h"
#include "tests/unit/check_loader.h"

#define DOCUMENTS	400
#define SEQ		64

/* Document i consists of its number as four letters, and letters up to its length. */
static int letters(int i)
{
	return 4 + (i * 37) % 50 * ((i * 37) % 50) / 50;
}

static const char *lines(void)
{
	char *text = malloc(DOCUMENTS * 80), *p = text;
	const char *path;

	for (int i = 0; i < DOCUMENTS; i++) {
		p += sprintf(p, "%04d", i);
		for (int k = 4; k < letters(i); k++)
			*p++ = (char)('a' + (i + k) % 26);
		*p++ = '\n';
	}
	path = made("lines", text, (size_t)(p - text));
	free(text);
	return path;
}

static struct rt_loader_options documents(const char *path)
{
	return (struct rt_loader_options){ .path = path, .kind = RT_DATA_TEXT, .rows = 8, .seq = SEQ, .lengths = 4, .seed = 3,
					   .documents = { .end = RT_DOCUMENTS_LINE }, .prefetch = 3 };
}

/*
 * A row is one document and padding: y is x shifted by one, the last target the end mark. Returns its number, -1: all
 * padding.
 */
static int check_row(const int32_t *x, const int32_t *y, int64_t width)
{
	char number[5] = { 0 };
	int64_t n = 0;
	int i;

	while (n < width && y[n] != RT_IGNORE)
		n++;
	for (int64_t k = n; k < width; k++)
		ck_assert(x[k] == 0 && y[k] == RT_IGNORE);
	if (!n)
		return -1;
	for (int64_t k = 0; k + 1 < n; k++)
		ck_assert_int_eq(x[k + 1], y[k]);
	ck_assert_int_eq(y[n - 1], '\n');
	for (int k = 0; k < 4; k++)
		number[k] = (char)x[k];
	i = atoi(number);
	ck_assert_int_eq(n, letters(i));
	return i;
}

/* Counts each document of the batch. */
static uint64_t count_batch(const struct rt_loader *l, const struct rt_batch *b, int *seen)
{
	const struct rt_length *k;
	uint64_t tokens = 0;

	ck_assert_int_lt(b->length, rt_loader_lengths(l, &k));
	k += b->length;
	for (int64_t r = 0; r < k->rows; r++) {
		int i = check_row((const int32_t *)b->x + r * k->width, b->y + r * k->width, k->width);

		if (i >= 0) {
			seen[i]++;
			tokens += (uint64_t)letters(i);
			ck_assert_int_le(letters(i), k->width);
		}
	}
	ck_assert_uint_eq(tokens, b->tokens);
	return tokens;
}

static uint64_t epoch_batches(const struct rt_loader *l)
{
	const struct rt_length *k;
	uint64_t n = 0;

	for (int i = rt_loader_lengths(l, &k); i-- > 0;)
		n += k[i].batches;
	return n;
}

/* _i: rows of every length, or a token budget; one rank or three; with or without workers. */
START_TEST(each_document_occurs_once_per_epoch)
{
	int ranks = _i & 1 ? 3 : 1, seen[DOCUMENTS] = { 0 };
	struct rt_loader_options o = documents(lines());

	o.all_rows = o.rows * ranks;
	o.token_budget = _i & 2 ? 300 : 0;
	o.workers = _i & 4 ? 2 : 0;
	for (int rank = 0; rank < ranks; rank++) {
		struct rt_loader *l;
		uint64_t n;

		o.first_row = rank * o.rows;
		l = opened(&o);
		n = epoch_batches(l);
		for (uint64_t t = 0; t < n; t++) {
			struct gt_err err = { 0 };
			struct rt_batch b;

			ck_assert_msg(rt_loader_next(l, &b, &err) == 0, "%s", err.msg);
			ck_assert_uint_eq(b.epoch, 0);
			count_batch(l, &b, seen);
		}
		rt_loader_close(l);
	}
	for (int i = 0; i < DOCUMENTS; i++)
		ck_assert_msg(seen[i] == 1, "document %d came %d times", i, seen[i]);
}
END_TEST

START_TEST(batches_respect_the_budget_with_little_padding)
{
	struct rt_loader_options o = documents(lines());
	double one = 0, share[3];
	const struct rt_length *k;

	for (int way = 0; way < 3; way++) {
		struct rt_loader *l;
		json_t *report, *docs;

		o.lengths = way ? 6 : 1;
		o.token_budget = way == 2 ? 256 : 0;
		l = opened(&o);
		report = rt_loader_report(l);
		docs = json_object_get(report, "documents");
		share[way] = gt_json_get_real(docs, "padding_share", 1);
		one = gt_json_get_real(docs, "padding_share_one_length", 0);
		for (int i = rt_loader_lengths(l, &k); way == 2 && i-- > 0;)
			ck_assert(k[i].rows * k[i].width <= 256 && k[i].rows >= 1);
		json_decref(report);
		rt_loader_close(l);
	}
	ck_assert_msg(one > .5 && share[0] >= one && share[1] < .2 && share[2] < .2, "%g: %g, %g, %g", one, share[0], share[1],
		      share[2]);
}
END_TEST

/* Batches are a function of their ticket, also those of the fifth epoch from a loader that starts there. */
START_TEST(a_run_over_documents_resumes_where_it_stopped)
{
	struct rt_loader_options o = documents(lines());
	struct rt_loader *l = opened(&o), *later;
	uint64_t start = epoch_batches(l) * 4 + 3;
	struct rt_batch a, b;

	o.start = start;
	o.workers = 2;
	later = opened(&o);
	for (uint64_t t = 0; t < start + 20; t++) {
		const struct rt_length *k;

		ck_assert_int_eq(rt_loader_next(l, &a, NULL), 0);
		if (t < start)
			continue;
		ck_assert_int_eq(rt_loader_next(later, &b, NULL), 0);
		rt_loader_lengths(l, &k);
		ck_assert(a.ticket == b.ticket && a.length == b.length && a.tokens == b.tokens && a.epoch == b.epoch);
		ck_assert_int_eq(memcmp(a.x, b.x, (size_t)(k[a.length].rows * k[a.length].width) * 4), 0);
		ck_assert_int_eq(memcmp(a.y, b.y, (size_t)(k[a.length].rows * k[a.length].width) * 4), 0);
	}
	rt_loader_close(l);
	rt_loader_close(later);
}
END_TEST

/* The held-out part does not depend on the grouping of documents. */
START_TEST(held_out_documents_are_never_trained_on)
{
	const char *path = lines();

	for (int lengths = 1; lengths <= 8; lengths += 7) {
		int seen[2][DOCUMENTS] = { { 0 } };

		for (int held = 0; held < 2; held++) {
			struct rt_loader_options o = documents(path);
			struct rt_loader *l;
			struct rt_batch b;

			o.part = held ? RT_PART_HELD_OUT : RT_PART_TRAIN;
			o.lengths = lengths;
			l = opened(&o);
			for (uint64_t n = epoch_batches(l); n-- > 0;) {
				ck_assert_int_eq(rt_loader_next(l, &b, NULL), 0);
				count_batch(l, &b, seen[held]);
			}
			rt_loader_close(l);
		}
		for (int i = 0; i < DOCUMENTS; i++)
			ck_assert(seen[0][i] == (i % 10 != 9) && seen[1][i] == (i % 10 == 9));
	}
}
END_TEST

/* A document longer than a sample is cut, and each of its ids but the first is predicted once. */
START_TEST(long_documents_are_cut)
{
	static uint16_t ids[20000];
	struct rt_loader_options o = { .rows = 4, .seq = 50, .lengths = 3, .documents = { RT_DOCUMENTS_TOKEN, 9999 } };
	struct rt_loader *l;
	uint64_t predicted = 0, want = 0;

	/* document k has 20 k + 1 ids and an end mark, which is also the first id of the next document; 9999 alone is no
	 * document */
	size_t n = 0;

	ids[n++] = 9999;
	for (int k = 1; k <= 20; k++) {
		for (int i = 0; i < 20 * k + 1; i++)
			ids[n++] = (uint16_t)(i % 100);
		ids[n++] = 9999;
		want += (uint64_t)(20 * k + 1);
	}
	o.path = made("ids.bin", ids, n * 2);
	l = opened(&o);
	for (uint64_t t = epoch_batches(l); t-- > 0;) {
		struct rt_batch b;

		ck_assert_int_eq(rt_loader_next(l, &b, NULL), 0);
		predicted += b.tokens;
	}
	ck_assert_uint_eq(predicted, want);
	rt_loader_close(l);
}
END_TEST

static const struct {
	enum rt_document_end end;
	uint32_t token;
	const char *text;
	uint64_t at, end_at, next;
} ends[] = {
	{ RT_DOCUMENTS_LINE, 0, "ab\ncd", 0, 3, 3 },
	{ RT_DOCUMENTS_LINE, 0, "ab\ncd", 3, 5, 5 },
	{ RT_DOCUMENTS_LINE, 0, "\n\n", 0, 1, 1 },
	{ RT_DOCUMENTS_PARAGRAPH, 0, "ab\ncd\n\nef", 0, 6, 7 },
	{ RT_DOCUMENTS_PARAGRAPH, 0, "ab\r\n \t\r\nef", 0, 4, 8 },
	{ RT_DOCUMENTS_PARAGRAPH, 0, "\n\nab", 0, 0, 1 },
	{ RT_DOCUMENTS_PARAGRAPH, 0, "ab\n  ", 0, 3, 5 },
	{ RT_DOCUMENTS_PARAGRAPH, 0, "ab", 0, 2, 2 },
	{ RT_DOCUMENTS_TOKEN, 'x', "abxcd", 0, 3, 3 },
	{ RT_DOCUMENTS_TOKEN, 'x', "abxcd", 3, 5, 5 },
	{ RT_DOCUMENTS_FILE, 0, "ab\n\nc", 0, 5, 5 },
};

START_TEST(documents_end_at_their_end_marks)
{
	const struct rt_documents how = { ends[_i].end, ends[_i].token };
	uint64_t next = 77;

	ck_assert_uint_eq(rt_document_end((const unsigned char *)ends[_i].text, 1, strlen(ends[_i].text), ends[_i].at, &how, &next),
			  ends[_i].end_at);
	ck_assert_uint_eq(next, ends[_i].next);
}
END_TEST

/* Checks the chosen widths against all choices of three of ten widths. */
START_TEST(the_chosen_lengths_pad_least)
{
	uint64_t counts[10];
	int got[3], n;
	double best = 1e300, cost = 0;

	for (uint64_t i = 0; i < 10; i++)
		counts[i] = rt_random_u64(9, (uint64_t)_i, i) % 50 * (i % 3 != (uint64_t)_i % 3);
	if (_i == 7)
		memset(counts, 0, sizeof(counts));
	counts[7] += _i == 7;
	for (int a = 1; a <= 10; a++)
		for (int b = a; b <= 10; b++)
			for (int c = b; c <= 10; c++) {
				double x = 0;

				for (int i = 1; i <= 10; i++)
					x += (double)counts[i - 1] * (i <= a ? a : i <= b ? b : i <= c ? c : 1e9);
				best = x < best ? x : best;
			}
	n = rt_lengths_choose(counts, 10, 3, got);
	ck_assert(n >= 1 && n <= 3);
	for (int i = 1, k = 0; i <= 10; i++) {
		k += k < n - 1 && i > got[k];
		cost += (double)counts[i - 1] * (i <= got[k] ? got[k] : 1e9);
	}
	ck_assert_double_eq(cost, best);
	ck_assert(counts[got[n - 1] - 1] > 0);
}
END_TEST

START_TEST(widths_are_multiples_of_the_request)
{
	struct rt_loader_options o = documents(lines());
	gt_auto(rt_loader) *l = NULL;
	const struct rt_length *of;
	struct gt_err err = { 0 };
	int n;

	o.lengths = 6;
	o.width_unit = 16;
	ck_assert_msg(!rt_loader_open(&o, &l, &err), "%s", err.msg);
	n = rt_loader_lengths(l, &of);
	ck_assert_int_gt(n, 1);
	for (int i = 0; i < n; i++)
		ck_assert_msg(of[i].width % 16 == 0 || of[i].width == SEQ, "%lld", (long long)of[i].width);
}
END_TEST

START_TEST(impossible_documents_are_refused)
{
	struct rt_loader_options o = documents(lines());

	o.token_budget = SEQ / 4;
	refused(&o, EINVAL, "is too small for a sample");
	o = documents(lines());
	o.documents.end = RT_DOCUMENTS_FILE;
	o.seq = 100000;
	refused(&o, ENODATA, "too few documents: 1 of 2");
	o.documents.end = RT_DOCUMENTS_NONE;
	refused(&o, EINVAL, "apply only to documents");
	o = documents(made("t.bin", "abcdefgh", 8));
	o.kind = RT_DATA_TOKENS;
	refused(&o, EINVAL, "end with a token");
	o = documents(lines());
	o.vocab = 'f';
	refused(&o, ERANGE, "the vocabulary has");
	o = documents(lines());
	o.all_rows = 12;
	refused(&o, EINVAL, "equal parts");
	o = documents(lines());
	o.lengths = 33;
	refused(&o, EINVAL, "1 to 32 lengths");
}
END_TEST

TCase *case_documents(void)
{
	TCase *t = tcase_create("documents");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, each_document_occurs_once_per_epoch, 0, 8);
	tcase_add_test(t, widths_are_multiples_of_the_request);
	tcase_add_test(t, batches_respect_the_budget_with_little_padding);
	tcase_add_test(t, a_run_over_documents_resumes_where_it_stopped);
	tcase_add_test(t, held_out_documents_are_never_trained_on);
	tcase_add_test(t, long_documents_are_cut);
	tcase_add_loop_test(t, documents_end_at_their_end_marks, 0, GT_ARRAY_SIZE(ends));
	tcase_add_loop_test(t, the_chosen_lengths_pad_least, 0, 9);
	tcase_add_test(t, impossible_documents_are_refused);
	return t;
}
