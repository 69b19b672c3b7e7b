/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents in mapped files: text, or token ids with an end-of-document id.
 * The first pass finds their bounds. The second pass groups the samples by padded length, with eight bytes for each.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "runtime/data/lengths.h"
#include "runtime/data/loader_priv.h"
#include "runtime/data/tokens.h"
#include "runtime/runtime.h"

#define UNIT		8    /* widths are multiples of this, for vectors and for rows that start on cache lines */
#define UNITS_MAX	256  /* number of different widths */
/* A sample in 64 bits: its start among the ids of all files, and its number of targets less one. */
#define LEN_BITS	24
#define AT_MAX		(UINT64_C(1) << (64 - LEN_BITS))

static uint64_t pack(uint64_t at, uint64_t len)
{
	return at << LEN_BITS | (len - 1);
}

static uint64_t at_of(uint64_t sample)
{
	return sample >> LEN_BITS;
}

static uint64_t len_of(uint64_t sample)
{
	return (sample & ((UINT64_C(1) << LEN_BITS) - 1)) + 1;
}

/* ---- document bounds ---- */

static uint32_t id_at(const unsigned char *p, int bytes, uint64_t i)
{
	uint32_t id = 0;

	memcpy(&id, p + i * (uint64_t)bytes, (size_t)bytes);
	return id;
}

static uint64_t line_end(const unsigned char *p, uint64_t n, uint64_t at)
{
	const unsigned char *end = memchr(p + at, '\n', n - at);

	return end ? (uint64_t)(end - p) + 1 : n;
}

static bool blank(const unsigned char *p, uint64_t from, uint64_t to)
{
	while (from < to && (p[from] == ' ' || p[from] == '\t' || p[from] == '\r' || p[from] == '\n'))
		from++;
	return from == to;
}

uint64_t rt_document_end(const unsigned char *p, int bytes, uint64_t tokens, uint64_t at, const struct rt_documents *how,
			 uint64_t *ret_next)
{
	uint64_t end = at;

	switch (how->end) {
	case RT_DOCUMENTS_LINE:
		end = line_end(p, tokens, at);
		break;
	case RT_DOCUMENTS_PARAGRAPH:
		while (end < tokens) {
			uint64_t line = line_end(p, tokens, end);

			if (blank(p, end, line)) {
				*ret_next = line;
				return end;
			}
			end = line;
		}
		break;
	case RT_DOCUMENTS_TOKEN:
		while (end < tokens && id_at(p, bytes, end) != how->token)
			end++;
		end += end < tokens;
		break;
	default:
		end = tokens;
	}
	*ret_next = end;
	return end;
}

/* ---- list of all documents ---- */

struct list {
	uint64_t *sample;
	uint64_t n, cap;
	uint64_t skipped;
};

static int add(struct list *l, uint64_t at, uint64_t len, struct gt_err *err)
{
	if (l->n == l->cap) {
		uint64_t cap = l->cap ? l->cap + l->cap / 2 : 1024;
		uint64_t *more = realloc(l->sample, cap * sizeof(*more));

		if (!more)
			return gt_fail(err, ENOMEM, "no memory for the places of %" PRIu64 " documents", l->n);
		l->sample = more;
		l->cap = cap;
	}
	l->sample[l->n++] = pack(at, len);
	return 0;
}

/* A document of n ids has n - 1 targets. */
static int cut(struct list *l, uint64_t at, uint64_t ids, uint64_t seq, struct gt_err *err)
{
	int r = 0;

	l->skipped += ids < 2;
	for (uint64_t done = 0; !r && ids && done < ids - 1; done += seq)
		r = add(l, at + done, GT_MIN(seq, ids - 1 - done), err);
	return r;
}

struct search {
	const struct rt_token_map *f;
	const struct rt_documents *how;
	uint64_t at, end, next;
};

static void search(void *arg)
{
	struct search *s = arg;

	s->end = rt_document_end(s->f->map.bytes + s->f->head.at, s->f->head.bytes, s->f->head.tokens, s->at, s->how, &s->next);
}

static int find(const struct rt_tokens *t, const struct rt_documents *how, struct list *l, struct gt_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < t->n; i++) {
		struct search s = { .f = &t->file[i], .how = how };

		for (; !r && s.at < s.f->head.tokens; s.at = s.next) {
			r = rt_map_read(s.f->path, search, &s, err);
			if (!r)
				r = cut(l, s.f->first + s.at, s.end - s.at, (uint64_t)t->seq, err);
		}
	}
	return r;
}

/* ---- groups ---- */

static bool is_ours(enum rt_part part, uint64_t i)
{
	return part == RT_PART_ALL || (i % RT_EVERY == RT_EVERY - 1) == (part == RT_PART_HELD_OUT);
}

static int length_of(const struct rt_lengths *l, uint64_t sample)
{
	int k = 0;

	while ((uint64_t)l->of[k].width < len_of(sample))
		k++;
	return k;
}

static void choose_widths(const struct list *list, int64_t seq, int64_t of, int k, struct rt_lengths *ret)
{
	uint64_t counts[UNITS_MAX] = { 0 };
	int64_t unit = GT_MAX(UNIT, (seq + UNITS_MAX - 1) / UNITS_MAX);
	int width[RT_LENGTHS_MAX];

	if (of)
		unit = (unit + of - 1) / of * of;
	for (uint64_t i = 0; i < list->n; i++)
		counts[(len_of(list->sample[i]) - 1) / (uint64_t)unit]++;
	ret->n = rt_lengths_choose(counts, UNITS_MAX, k, width);
	for (int i = 0; i < ret->n; i++)
		ret->of[i].width = GT_MIN(width[i] * unit, seq);
}

/* Sorts the samples of the part by length, in stable order. *ret_all counts those of both parts. */
static uint64_t *group(const struct list *list, enum rt_part part, struct rt_lengths *l, uint64_t *ret_all)
{
	uint64_t *grouped = malloc((list->n + 1) * sizeof(*grouped)), next[RT_LENGTHS_MAX] = { 0 };

	for (uint64_t i = 0; i < list->n; i++) {
		int k = length_of(l, list->sample[i]);

		ret_all[k]++;
		l->of[k].documents += is_ours(part, i);
		l->tokens += is_ours(part, i) ? len_of(list->sample[i]) : 0;
	}
	for (int k = 1; k < l->n; k++)
		l->first[k] = l->first[k - 1] + l->of[k - 1].documents;
	memcpy(next, l->first, sizeof(next));
	for (uint64_t i = 0; grouped && i < list->n; i++)
		if (is_ours(part, i))
			grouped[next[length_of(l, list->sample[i])]++] = list->sample[i];
	return grouped;
}

static int index_all(const struct rt_loader_options *o, struct rt_tokens *t, struct gt_err *err)
{
	struct rt_lengths *l = t->base.lengths = gt_xcalloc(1, sizeof(*l));
	uint64_t all[RT_LENGTHS_MAX] = { 0 };
	struct list list = { 0 };
	int r = find(t, &o->documents, &list, err);

	l->skipped = list.skipped;
	if (!r && list.n < RT_EVERY)
		r = gt_fail(err, ENODATA, "%s has too few documents: %" PRIu64 " of 2 tokens and more, 10 are needed",
			    o->path ? o->path : RT_DEFAULT_TEXT, list.n);
	if (!r) {
		choose_widths(&list, t->seq, o->width_unit, GT_MAX(o->lengths, 1), l);
		t->sample = group(&list, o->part, l, all);
		t->base.n = list.n;
		r = t->sample ? 0 : gt_fail(err, ENOMEM, "no memory for the places of %" PRIu64 " documents", list.n);
	}
	if (!r)
		r = rt_lengths_set_rows(l, all, o->rows, o->token_budget, (uint64_t)(o->all_rows / o->rows), err);
	free(list.sample);
	return r;
}

/* ---- the source ---- */

static int document(const struct rt_source *s, uint64_t i, int64_t width, int32_t *x, int32_t *y, uint64_t *ret_tokens,
		    struct gt_err *err)
{
	const struct rt_tokens *t = (const struct rt_tokens *)s;
	uint64_t at = at_of(t->sample[i]);
	int64_t len = (int64_t)len_of(t->sample[i]);
	const struct rt_token_map *f = rt_tokens_file(t, at);

	*ret_tokens = (uint64_t)len;
	for (int64_t k = len; k < width; k++) {
		x[k] = 0;
		y[k] = RT_IGNORE;
	}
	return rt_tokens_take(t, f, at - f->first, len, x, y, err);
}

static char *where(const struct rt_source *s, uint64_t i)
{
	const struct rt_tokens *t = (const struct rt_tokens *)s;
	const struct rt_token_map *f = rt_tokens_file(t, at_of(t->sample[i]));

	return gt_xasprintf("%s: token %" PRIu64, f->path, at_of(t->sample[i]) - f->first);
}

static const struct rt_source_ops documents_ops = {
	.name = "documents", .document = document, .check = rt_tokens_check, .where = where, .free = rt_tokens_free,
};

int rt_source_documents(const struct rt_loader_options *o, const struct gt_strv *files, bool text, struct rt_source **ret,
			struct gt_err *err)
{
	gt_auto(rt_source) *s = NULL;
	struct rt_tokens *t = NULL;
	int r;

	if (!text && (o->documents.end == RT_DOCUMENTS_LINE || o->documents.end == RT_DOCUMENTS_PARAGRAPH))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s contains tokens, not text: its documents end with a token, "
								"not with a line or paragraph", o->path);
	r = rt_tokens_open(o, files, text, &t, err);
	if (r)
		return r;
	s = &t->base;
	s->ops = &documents_ops;
	for (size_t i = 1; i < t->n; i++)
		t->file[i].first = t->file[i - 1].first + t->file[i - 1].head.tokens;
	if (t->tokens >= AT_MAX)
		return gt_fail(err, EFBIG, "%s has more than 2^40 tokens", o->path);
	r = index_all(o, t, err);
	if (r)
		return r;
	*ret = gt_take(s);
	return 0;
}
