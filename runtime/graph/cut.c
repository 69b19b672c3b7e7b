/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that the ranks of a group split (struct rt_cut). */
#include <string.h>
#include "runtime/graph/ir.h"
#include "runtime/math/team.h"

const struct rt_shape *rt_cut_whole(const struct rt_node *n)
{
	return n->cut.parts ? &n->cut.whole : &n->shape;
}

/* The products of the dimensions before and after the axis. */
static int64_t outer_of(const struct rt_cut *c)
{
	int64_t n = 1;

	for (int d = 0; d < c->axis; d++)
		n *= c->whole.d[d];
	return n;
}

static int64_t inner_of(const struct rt_cut *c)
{
	int64_t n = 1;

	for (int d = c->axis + 1; d < c->whole.n; d++)
		n *= c->whole.d[d];
	return n;
}

int64_t rt_cut_length(const struct rt_cut *c, int part)
{
	int64_t sum = 0;

	for (int b = 0; b < c->blocks; b++) {
		int64_t lo, hi;

		rt_part(c->len[b], 1, c->parts, part, &lo, &hi);
		sum += hi - lo;
	}
	return sum;
}

int64_t rt_cut_elements(const struct rt_cut *c, int part)
{
	return outer_of(c) * rt_cut_length(c, part) * inner_of(c);
}

/* A range of consecutive elements of a part: its first index in the whole tensor and in the part, and its length. */
struct run {
	int64_t whole, own, n;
};

/* Calls fn for each range of the part, in order, until fn returns true. */
static void each_run(const struct rt_cut *c, int part, bool (*fn)(const struct run *r, void *arg), void *arg)
{
	int64_t inner = inner_of(c), outer = outer_of(c), len = c->whole.d[c->axis], at = 0;

	for (int64_t o = 0; o < outer; o++)
		for (int64_t b = 0, begin = 0; b < c->blocks; begin += c->len[b++]) {
			int64_t lo, hi;
			struct run r;

			rt_part(c->len[b], 1, c->parts, part, &lo, &hi);
			r = (struct run){ (o * len + begin + lo) * inner, at, (hi - lo) * inner };
			at += r.n;
			if (fn(&r, arg))
				return;
		}
}

struct copy {
	size_t size;
	const char *from;
	char *to;
};

static bool take(const struct run *r, void *arg)
{
	const struct copy *c = arg;

	memcpy(c->to + (size_t)r->own * c->size, c->from + (size_t)r->whole * c->size, (size_t)r->n * c->size);
	return false;
}

static bool put(const struct run *r, void *arg)
{
	const struct copy *c = arg;

	memcpy(c->to + (size_t)r->whole * c->size, c->from + (size_t)r->own * c->size, (size_t)r->n * c->size);
	return false;
}

void rt_cut_take(const struct rt_cut *c, int part, size_t size, const void *whole, void *to)
{
	each_run(c, part, take, &(struct copy){ size, whole, to });
}

void rt_cut_put(const struct rt_cut *c, int part, size_t size, void *whole, const void *from)
{
	each_run(c, part, put, &(struct copy){ size, from, whole });
}

struct index {
	int64_t own, whole;
};

static bool find_index(const struct run *r, void *arg)
{
	struct index *i = arg;

	if (i->own >= r->own + r->n)
		return false;
	i->whole = r->whole + i->own - r->own;
	return true;
}

int64_t rt_cut_index(const struct rt_cut *c, int64_t i)
{
	int64_t row = rt_cut_length(c, c->part) * inner_of(c);
	struct index at = { .own = i % row };

	/* all rows along the axis are alike, so the search stays within the first one */
	each_run(c, c->part, find_index, &at);
	return at.whole + i / row * c->whole.d[c->axis] * inner_of(c);
}
