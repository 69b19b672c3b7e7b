/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a batch to a staging buffer of the device, on the copy stream, while the backward pass of the last step runs. Copies
 * it to the planned address after that pass. The source is the caller's memory if its pages are locked (rt_pin), otherwise a
 * copy in pinned memory. The caller may overwrite the batch when the step returns: the device has computed the loss by then,
 * and so has read the batch.
 */
#include <errno.h>
#include <numaif.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "runtime/cuda/engine.h"
#include "runtime/cuda/launch.h"

static bool is_pinned(const struct rt_engine *e, const void *at, size_t bytes)
{
	const char *p = at;

	for (int i = 0; i < e->inputs.n; i++)
		if (p >= e->inputs.list[i].base && p + bytes <= e->inputs.list[i].base + e->inputs.list[i].bytes)
			return true;
	return false;
}

/* Copies an input from `from` to offset `at` of a staging buffer. */
static int stage(struct rt_engine *e, const void *from, size_t bytes, int slot, uint64_t at, struct gt_err *err)
{
	bool direct = is_pinned(e, from, bytes);

	if (!direct)
		from = memcpy(e->pinned[slot] + at, from, bytes);
	e->inputs.direct += direct;
	e->inputs.copied += !direct;
	return rt_engine_check(e, e->dev->d.copy_to_async(e->staging[slot] + at, from, bytes, e->copy), "cuMemcpyHtoDAsync", err);
}

int rt_inputs_load(struct rt_program *p, const void *const *inputs, int slot, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	const struct rt_driver *d = &e->dev->d;
	uint64_t at = 0;
	int k = 0, r = 0;

	for (int i = 0; !r && i < p->plan.n_graph_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (n->role != RT_ROLE_INPUT)
			continue;
		if (inputs[k++])
			r = stage(e, inputs[k - 1], rt_node_bytes(n), slot, at, err);
		at += rt_engine_aligned(rt_node_bytes(n));
	}
	if (!at || r)
		return r;
	r = rt_engine_check(e, d->event_record(e->copied[slot], e->copy), "cuEventRecord", err);
	if (!r)
		r = rt_engine_check(e, d->stream_wait(e->stream, e->copied[slot], 0), "cuStreamWaitEvent", err);
	at = 0;
	k = 0;
	for (int i = 0; !r && i < p->plan.n_graph_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (n->role != RT_ROLE_INPUT)
			continue;
		if (inputs[k++] && n->first >= 0)
			r = rt_engine_check(e, d->copy_async(rt_at(n), e->staging[slot] + at, rt_node_bytes(n), e->stream),
					    "cuMemcpyDtoDAsync", err);
		at += rt_engine_aligned(rt_node_bytes(n));
	}
	return r;
}

/* ---- locked pages ---- */

/* Moves the pages that are completely inside the range to the device's NUMA node, before they are locked. Pages that
 * the kernel does not move stay where they are, with slower access. */
static void bring_near(const struct rt_engine *e, const void *base, size_t bytes)
{
	unsigned long node[16] = { 0 };
	const unsigned long word = sizeof(node[0]) * CHAR_BIT;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)base + page - 1) / page * page;
	uintptr_t to = ((uintptr_t)base + bytes) / page * page;

	if (e->dev->node < 0 || (unsigned long)e->dev->node >= sizeof(node) * CHAR_BIT || from >= to)
		return;
	node[(unsigned long)e->dev->node / word] = 1UL << (unsigned long)e->dev->node % word;
	mbind((void *)from, to - from, MPOL_PREFERRED, node, sizeof(node) * CHAR_BIT, MPOL_MF_MOVE);
}

int rt_engine_pin(struct rt_program *p, void *base, size_t bytes, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int r = rt_engine_check(e, e->dev->d.ctx_set(e->dev->ctx), "cuCtxSetCurrent", err);

	if (r)
		return r;
	bring_near(e, base, bytes);
	r = rt_engine_check(e, e->dev->d.host_register(base, bytes, 0), "cuMemHostRegister", err);
	if (r)
		return gt_fail_prefix(err, "batches are copied twice");
	e->inputs.list = gt_xrealloc(e->inputs.list, (size_t)(e->inputs.n + 1) * sizeof(*e->inputs.list));
	e->inputs.list[e->inputs.n].base = base;
	e->inputs.list[e->inputs.n++].bytes = bytes;
	return 0;
}

void rt_engine_unpin(struct rt_program *p, const void *base)
{
	struct rt_engine *e = p->state;

	for (int i = 0; i < e->inputs.n; i++) {
		if (e->inputs.list[i].base != base)
			continue;
		e->dev->d.ctx_set(e->dev->ctx);
		e->dev->d.stream_sync(e->copy);
		e->dev->d.host_unregister((void *)(uintptr_t)base);
		e->inputs.list[i] = e->inputs.list[--e->inputs.n];
		return;
	}
}

void rt_inputs_free(struct rt_engine *e)
{
	for (int i = 0; i < e->inputs.n; i++)
		e->dev->d.host_unregister((void *)(uintptr_t)e->inputs.list[i].base);
	free(e->inputs.list);
}
