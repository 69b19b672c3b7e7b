/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "runtime/ckpt/parts.h"
#include "runtime/ckpt/tensors.h"

#define CHUNK	((size_t)1 << 20) /* bytes of a part that are sent at a time */

int rt_parts_open(const struct rt_program *p, struct rt_parts *ret, struct gt_err *err)
{
	struct rt_comm *comm = p->opt.ranks.tensor;
	int r;

	*ret = (struct rt_parts){ 0 };
	if (!comm)
		return 0;
	r = rt_window_map(comm, 2 * CHUNK, false, &ret->window, err);
	if (r)
		return r;
	ret->comm = comm;
	for (int i = 0; i < 2; i++) {
		ret->gather[i] = (struct rt_coll){ .kind = RT_ALLGATHER, .window = &ret->window, .offset = (size_t)i * CHUNK,
						   .bytes = CHUNK };
		r = rt_coll_init(&ret->gather[i], err);
		if (r)
			return r;
	}
	return 0;
}

void rt_parts_close(struct rt_parts *s)
{
	if (!s->comm)
		return;
	rt_coll_clear(&s->gather[0]);
	rt_coll_clear(&s->gather[1]);
	rt_window_unmap(&s->window);
	s->comm = NULL;
}

static size_t part_bytes(const struct rt_node *n, int part)
{
	return (size_t)rt_cut_elements(&n->cut, part) * rt_dtype_bytes(n->dtype);
}

/*
 * Sends bytes at.. of every part. Two buffers are used in turn, so that a buffer is overwritten only after all ranks
 * have read it.
 */
static int gather_chunk(struct rt_parts *s, const struct rt_node *n, size_t at, const char *own, char *const *parts,
			struct gt_err *err)
{
	struct rt_coll *k = &s->gather[s->next];
	size_t mine = part_bytes(n, n->cut.part);
	int r;

	if (at < mine)
		memcpy(s->window.base + k->offset, own + at, GT_MIN(CHUNK, mine - at));
	s->next = !s->next;
	r = rt_coll_start(k, err);
	if (r)
		return r;
	r = rt_coll_wait(k, err);
	for (int i = 0; !r && parts && i < n->cut.parts; i++)
		if (at < part_bytes(n, i))
			memcpy(parts[i] + at, rt_coll_from(k, i), GT_MIN(CHUNK, part_bytes(n, i) - at));
	return r;
}

/* own: this rank's part of n as stored. whole: receives the tensor in the first rank; NULL in the others. */
static int gather(struct rt_parts *s, const struct rt_node *n, const void *own, void *whole, struct gt_err *err)
{
	char *parts[RT_MAX_RANKS] = { NULL };
	size_t most = 0;
	int r = 0;

	for (int i = 0; i < n->cut.parts; i++) {
		most = GT_MAX(most, part_bytes(n, i));
		parts[i] = whole ? gt_xcalloc(1, part_bytes(n, i)) : NULL;
	}
	for (size_t at = 0; !r && at < most; at += CHUNK)
		r = gather_chunk(s, n, at, own, whole ? parts : NULL, err);
	for (int i = 0; i < n->cut.parts; i++) {
		if (!r && whole)
			rt_cut_put(&n->cut, i, rt_dtype_bytes(n->dtype), whole, parts[i]);
		free(parts[i]);
	}
	return r;
}

bool rt_parts_is_first(const struct rt_parts *s)
{
	return !s->comm || rt_comm_rank(s->comm) == 0;
}

int rt_parts_whole(const struct rt_program *p, const struct rt_node *n, struct rt_parts *s, char **copy, const char **ret,
		   struct gt_err *err)
{
	gt_autofree char *own = NULL;
	int r;

	*ret = rt_parts_is_first(s) ? rt_ckpt_memory(p, n) : NULL;
	if (rt_ckpt_memory(p, n) || (!n->cut.parts && !rt_parts_is_first(s)))
		return 0;
	own = gt_xcalloc(1, rt_ckpt_own_bytes(n));
	r = p->backend->get(p, n, own, err);
	if (r)
		return r;
	if (!n->cut.parts)
		*copy = gt_take(own);
	else if (rt_parts_is_first(s))
		*copy = gt_xcalloc(1, rt_ckpt_bytes(n));
	*ret = *copy;
	return n->cut.parts ? gather(s, n, own, *copy, err) : 0;
}

int rt_parts_collect(const struct rt_program *p, const struct rt_node *n, struct rt_parts *s, char **copy, const char **ret,
		     struct gt_err *err)
{
	int stage = p->pipeline ? p->plan.stage->index : 0, r;

	*ret = NULL;
	if (n->stage == stage) {
		r = rt_parts_whole(p, n, s, copy, ret, err);
		if (!r && stage && *ret)
			r = rt_pipeline_give(p->pipeline, 0, *ret, rt_ckpt_bytes(n), err);
		return r;
	}
	if (stage || !rt_parts_is_first(s))
		return 0;
	*ret = *copy = gt_xcalloc(1, rt_ckpt_bytes(n));
	return rt_pipeline_take(p->pipeline, n->stage, *copy, rt_ckpt_bytes(n), err);
}
