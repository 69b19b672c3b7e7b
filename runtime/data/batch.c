/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a batch: selects its samples and their order, and replaces unusable samples. */
#include <errno.h>
#include <inttypes.h>
#include "runtime/data/image.h"
#include "runtime/data/loader_priv.h"
#include "runtime/runtime.h"

/* Maps sample i of the part to its index among all samples. */
static uint64_t sample_of(const struct rt_loader *l, uint64_t i)
{
	if (l->o.part == RT_PART_TRAIN)
		return i / (RT_EVERY - 1) * RT_EVERY + i % (RT_EVERY - 1);
	return l->o.part == RT_PART_HELD_OUT ? i * RT_EVERY + RT_EVERY - 1 : i;
}

/* Counts an unusable sample once and records the first ones by name. -EBADMSG if there are too many. */
static int note_corrupt(struct rt_loader *l, uint64_t sample, const struct gt_err *why, struct gt_err *err)
{
	struct rt_corrupt *c = &l->corrupt;
	uint64_t bit = UINT64_C(1) << sample % 64, count;
	gt_autofree char *where = NULL;

	if (atomic_fetch_or(&c->known[sample / 64], bit) & bit)
		return 0;
	count = atomic_fetch_add(&c->count, 1) + 1;
	where = l->source->ops->where(l->source, sample);
	pthread_mutex_lock(&c->lock);
	if (json_array_size(c->named) < RT_CORRUPT_NAMED)
		json_array_append_new(c->named, json_pack("{s:o, s:o}", "where", gt_json_str(where), "reason",
							  gt_json_str(why->msg)));
	pthread_mutex_unlock(&c->lock);
	if (count > l->o.max_corrupt)
		return gt_fail_exit(err, GT_EXIT_USAGE, EBADMSG,
			       "%" PRIu64 " unusable samples, more than the %" PRIu64 " allowed; the last one is %s: %s", count,
			       l->o.max_corrupt, where, why->msg);
	return 0;
}

/* Replaces an unusable sample by the next one in the part's order, which is the same in every run. Samples found
 * unusable before are tried again: a crop may exclude a damaged area, and a run that starts here does not know them. */
static int one_row(struct rt_loader *l, struct rt_worker *w, uint64_t epoch, uint64_t i, void *x, int32_t *y,
		   struct gt_err *err)
{
	struct gt_err why = { 0 };

	for (uint64_t tries = 0; tries < l->n; tries++, i = (i + 1) % l->n) {
		uint64_t sample = sample_of(l, i);
		int r;

		if (l->source->ops->tokens)
			return l->source->ops->tokens(l->source, sample, x, y, err);
		r = rt_image_sample(l, &w->scratch, epoch, sample, x, y, &why);
		if (r == -EBADMSG) {
			r = note_corrupt(l, sample, &why, err);
			if (r)
				return r;
			continue;
		}
		if (r)
			gt_fail(err, -r, "%s", why.msg);
		return r;
	}
	return gt_fail_exit(err, GT_EXIT_USAGE, EBADMSG, "%s: no sample can be used; the last one: %s", l->o.path, why.msg);
}

/*
 * Fills row `at`, an index among all rows with padded length k in this epoch. Rows after the last document are padding.
 */
static int document_row(struct rt_loader *l, int k, uint64_t epoch, uint64_t at, int32_t *x, int32_t *y, uint64_t *tokens,
			struct gt_err *err)
{
	const struct rt_lengths *all = l->source->lengths;
	uint64_t n = all->of[k].documents, found = 0;
	int r = 0;

	if (at >= n) {
		for (int64_t i = 0; i < all->of[k].width; i++) {
			x[i] = 0;
			y[i] = RT_IGNORE;
		}
		return 0;
	}
	if (!l->o.in_order)
		at = rt_order(l->o.seed + (uint64_t)k + 1, epoch, n, at);
	r = l->source->ops->document(l->source, all->first[k] + at, all->of[k].width, x, y, &found, err);
	*tokens += found;
	return r;
}

static void fill_documents(struct rt_loader *l, struct rt_slot *s, uint64_t ticket)
{
	const struct rt_lengths *all = l->source->lengths;
	uint64_t ranks = (uint64_t)(l->o.all_rows / l->o.rows), rank = (uint64_t)(l->o.first_row / l->o.rows), batch;
	uint64_t epoch = ticket / all->batches, i = ticket % all->batches;
	const struct rt_length *k;

	if (!l->o.in_order)
		i = rt_order(l->o.seed, epoch, all->batches, i);
	s->epoch = epoch;
	s->length = rt_lengths_find(all, i, &batch);
	s->tokens = 0;
	k = &all->of[s->length];
	for (int64_t b = 0; !s->status && b < k->rows; b++)
		/* rows alternate among the ranks, so that the padding at the end is distributed */
		s->status = document_row(l, s->length, epoch, (batch * (uint64_t)k->rows + (uint64_t)b) * ranks + rank,
					 (int32_t *)(void *)s->x + b * k->width, s->y + b * k->width, &s->tokens, &s->err);
}

void rt_loader_fill(struct rt_loader *l, struct rt_worker *w, uint64_t ticket)
{
	struct rt_slot *s = &l->slot[ticket % l->ring.n];
	uint64_t at = l->o.start_sample + ticket * (uint64_t)l->o.all_rows + (uint64_t)l->o.first_row;

	s->status = l->source->ops->check ? l->source->ops->check(l->source, ticket, &s->err) : 0;
	if (l->source->lengths) {
		fill_documents(l, s, ticket);
		return;
	}
	s->epoch = at / l->n;
	for (int64_t b = 0; !s->status && b < l->o.rows; b++, at++) {
		uint64_t epoch = at / l->n, i = at % l->n;

		if (!l->o.in_order)
			i = rt_order(l->o.seed, epoch, l->n, i);
		s->status = one_row(l, w, epoch, i, s->x + (size_t)b * l->row_x, s->y + (size_t)b * l->row_y / sizeof(*s->y),
				    &s->err);
	}
}

uint64_t rt_loader_epoch_end(const struct rt_loader *l, uint64_t ticket)
{
	uint64_t all = (uint64_t)l->o.all_rows, before = l->o.start_sample, epoch = (before + ticket * all) / l->n;

	if (l->source->lengths)
		return (ticket / l->source->lengths->batches + 1) * l->source->lengths->batches;
	return GT_MAX(((epoch + 1) * l->n - before + all - 1) / all, ticket + 1);
}
