/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the number of checkpointing segments, and of recomputed segments, so that the program fits into memory. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "lib/parse.h"
#include "runtime/exec/program.h"

struct search {
	struct rt_program *p;
	const struct rt_graph *g;
	struct rt_outputs out;
	uint64_t limit;
	/* the best choice so far */
	int segments, recomputed;
	double flops;
	uint64_t bytes;
	/* the choice with the least memory, used if none fits */
	int least_segments;
	uint64_t least_bytes;
};

static uint64_t plan_bytes(const struct rt_program *p)
{
	return p->backend->plan_bytes(p);
}

static int plan_with(struct search *s, int segments, int recomputed, bool *ret_fits, struct gt_err *err)
{
	double flops;
	int r;

	s->p->opt.memory.checkpoint = segments;
	s->p->opt.memory.recomputed = recomputed;
	r = rt_program_plan(s->p, s->g, s->out, err);
	if (r)
		return r;
	*ret_fits = plan_bytes(s->p) <= s->limit;
	flops = rt_program_flops(s->p);
	if (plan_bytes(s->p) < s->least_bytes) {
		s->least_bytes = plan_bytes(s->p);
		s->least_segments = segments;
	}
	if (*ret_fits && (!s->segments || flops < s->flops)) {
		s->segments = segments;
		s->recomputed = recomputed;
		s->flops = flops;
		s->bytes = plan_bytes(s->p);
	}
	return 0;
}

/* Finds the smallest number of recomputed segments that fits, by bisection. More recomputed segments need less memory. */
static int search_recomputed(struct search *s, int segments, struct gt_err *err)
{
	int lo = 1, hi = segments - 1;
	bool fits = false;
	int r = plan_with(s, segments, hi, &fits, err);

	if (r)
		return r;
	while (fits && lo < hi) {
		int middle = (lo + hi) / 2;
		bool enough = false;

		r = plan_with(s, segments, middle, &enough, err);
		if (r)
			return r;
		lo = enough ? lo : middle + 1;
		hi = enough ? middle : hi;
	}
	return 0;
}

static int search(struct search *s, struct gt_err *err)
{
	static const int cuts[] = { 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64 };

	s->least_bytes = UINT64_MAX;
	for (size_t i = 0; i < GT_ARRAY_SIZE(cuts) && cuts[i] <= s->g->ir.n_calls; i++) {
		int r = search_recomputed(s, cuts[i], err);

		if (r)
			return r;
	}
	return 0;
}

/* Returns " (about 3 of the 8 rows of a batch would fit)" in buf, or "" if no row fits. Memory that is not
 * kept between batches grows with the rows. */
static const char *rows_that_fit(const struct search *s, uint64_t need, uint64_t persistent, int64_t rows, char *buf, size_t size)
{
	double share = (double)(s->limit > persistent ? s->limit - persistent : 0) / (double)(need - persistent);
	int64_t fit = (int64_t)(share * (double)rows);

	buf[0] = 0;
	if (need > persistent && fit >= 1 && fit < rows)
		snprintf(buf, size, " (about %lld of the %lld rows of a batch would fit)", (long long)fit,
			 (long long)rows);
	return buf;
}

/* Returns the bytes of the plan that do not depend on the batch size. */
static uint64_t persistent_bytes(const struct rt_program *p)
{
	uint64_t bytes = 0;

	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (n->first >= 0 && n->storage == n && (n->shared || rt_is_persistent(n)))
			bytes += n->bytes;
	}
	return bytes + plan_bytes(p) - p->plan.arena_bytes - p->plan.window_bytes;
}

static int64_t batch_rows(const struct rt_graph *g)
{
	for (int i = 0; i < g->ir.n_nodes; i++)
		if (g->ir.nodes[i]->role == RT_ROLE_INPUT)
			return g->ir.nodes[i]->shape.d[0];
	return 0;
}

static int fail_too_large(const struct search *s, uint64_t need, uint64_t persistent, struct gt_err *err)
{
	char want[32], have[32], least[32], rows[96];

	rows_that_fit(s, need, persistent, batch_rows(s->g), rows, sizeof(rows));
	gt_format_bytes(want, sizeof(want), need);
	gt_format_bytes(have, sizeof(have), s->limit);
	gt_format_bytes(least, sizeof(least), s->segments ? s->bytes : s->least_bytes);
	if (s->segments)
		return gt_fail(err, ENOMEM, "the program needs %s of memory and the limit is %s: checkpointing in %d "
			       "segments would need %s%s", want, have, s->segments, least, rows);
	if (s->least_bytes < need)
		return gt_fail(err, ENOMEM, "the program needs %s of memory and the limit is %s: checkpointing in %d "
			       "segments would still need %s; use a smaller batch or model%s", want, have, s->least_segments,
			       least, rows);
	return gt_fail(err, ENOMEM, "the program needs %s of memory and the limit is %s: use a smaller batch or model%s", want,
		       have, rows);
}

int rt_program_fit(struct rt_program *p, const struct rt_graph *g, struct rt_outputs out, struct gt_err *err)
{
	uint64_t machine = p->opt.memory.limit_bytes, need = plan_bytes(p), persistent = persistent_bytes(p);
	struct search s = { .p = p, .g = g, .out = out };
	bool fits;
	int r;

	if (!machine)
		machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	s.limit = p->opt.memory.fit_bytes ? GT_MIN(p->opt.memory.fit_bytes, machine) : machine;
	if (need <= s.limit)
		return 0;
	r = search(&s, err);
	if (r)
		return r;
	if (!p->opt.memory.fit_bytes || !s.segments)
		return fail_too_large(&s, need, persistent, err);
	return plan_with(&s, s.segments, s.recomputed, &fits, err);
}
