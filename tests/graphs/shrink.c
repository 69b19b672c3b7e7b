/* SPDX-License-Identifier: Apache-2.0 */
/* Shrinking of a counterexample: each step makes another valid program. */
#include <string.h>
#include "tests/graphs/generated.h"

static void rewire(struct gen_program *m, int from, int to)
{
	for (int i = 0; i < m->n; i++)
		for (int k = 0; k < GEN_INPUTS; k++)
			if (m->step[i].in[k] == from)
				m->step[i].in[k] = to;
}

static void drop(struct gen_program *m, int at)
{
	memmove(m->step + at, m->step + at + 1, (size_t)(m->n - at - 1) * sizeof(*m->step));
	m->n--;
	for (int i = 0; i < m->n; i++)
		for (int k = 0; k < GEN_INPUTS; k++)
			m->step[i].in[k] -= m->step[i].in[k] > at;
}

static bool is_read(const struct gen_program *m, int step)
{
	for (int i = 0; i < m->n; i++)
		for (int k = 0; k < GEN_INPUTS; k++)
			if (m->step[i].in[k] == step)
				return true;
	return false;
}

/* Removes steps that nothing reads. */
static void sweep(struct gen_program *m)
{
	for (int i = m->n - 2; i >= 0; i--)
		if (!is_read(m, i))
			drop(m, i);
}

/* Replaces a step by a parameter. */
static bool as_param(struct gen_program *m, int at)
{
	struct gen_graph mg;
	struct gen_step s = { .op = GEN_PARAM, .in = { -1, -1, -1, -1, -1 } };

	if (gen_is_leaf(m->step[at].op) || at == m->n - 1)
		return false;
	gen_build(m, GEN_ROWS, &mg, NULL);
	s.shape = mg.node[at]->shape;
	m->step[at] = s;
	gen_graph_free(&mg);
	sweep(m);
	return true;
}

/* Replaces a step by its first input. */
static bool skip(struct gen_program *m, int at)
{
	int in = m->step[at].in[0];

	if (in < 0 || at == m->n - 1)
		return false;
	rewire(m, at, in);
	sweep(m);
	return true;
}

static bool without_third(struct gen_program *m, int at)
{
	if ((m->step[at].op != GEN_LINEAR && m->step[at].op != GEN_CONV && m->step[at].op != GEN_EMBEDDING) ||
	    m->step[at].in[2] < 0)
		return false;
	m->step[at].in[2] = -1;
	sweep(m);
	return true;
}

/* Makes an input or a buffer a parameter; removes ignored ids. */
static bool plainer(struct gen_program *m, int at)
{
	struct gen_step *s = &m->step[at];

	if (s->op == GEN_IDS && s->a[1])
		s->a[1] = 0;
	else if (s->op == GEN_INPUT || s->op == GEN_BUFFER)
		s->op = GEN_PARAM;
	else
		return false;
	return true;
}

/* Replaces a dimension of a leaf by a smaller one, wherever that size occurs. */
static bool resize(struct gen_program *m, int at, int dim, int64_t to)
{
	int64_t from = m->step[at].shape.d[dim];

	if (!gen_is_leaf(m->step[at].op) || to < 1 || to >= from)
		return false;
	for (int i = 0; i < m->n; i++)
		for (int k = 0; k < m->step[i].shape.n; k++)
			if (m->step[i].shape.d[k] == from)
				m->step[i].shape.d[k] = to;
	return true;
}

/* Changes 0 to 3 apply to a whole step; further changes try four sizes for each dimension of a leaf. */
static bool change(struct gen_program *m, int at, int what)
{
	int dim = (what - 4) / 4;
	int64_t from = dim < m->step[at].shape.n ? m->step[at].shape.d[dim] : 0;

	switch (what < 4 ? what : 4 + what % 4) {
	case 0:
		return as_param(m, at);
	case 1:
		return skip(m, at);
	case 2:
		return without_third(m, at);
	case 3:
		return plainer(m, at);
	case 4:
		return resize(m, at, dim, 1);
	case 5:
		return resize(m, at, dim, 2);
	case 6:
		return resize(m, at, dim, from / 2);
	default:
		return resize(m, at, dim, from - 1);
	}
}

/* Keeps ids inside the range of their table or logits. */
static void limit_ids(struct gen_program *m, const struct gen_graph *mg)
{
	for (int i = 0; i < m->n; i++) {
		const struct gen_step *s = &m->step[i];
		bool loss = s->op == GEN_CROSS_ENTROPY;
		int64_t most;

		if (s->op != GEN_EMBEDDING && !loss)
			continue;
		most = loss ? rt_cols(mg->node[s->in[0]]) : mg->node[s->in[1]]->shape.d[0];
		m->step[s->in[loss]].a[0] = (int)GT_MIN(m->step[s->in[loss]].a[0], most);
	}
}

#define CHANGES 20

bool gen_shrink(const struct gen_program *m, int k, struct gen_program *ret)
{
	struct gen_graph mg;
	int at = m->n - 1 - k / CHANGES;
	bool fits;

	if (at < 0)
		return false;
	*ret = *m;
	ret->refused_at = 0;
	if (!change(ret, at, k % CHANGES)) {
		ret->n = 0; /* the step does not apply */
		return true;
	}
	fits = gen_build(ret, GEN_ROWS, &mg, NULL) == 0;
	if (fits)
		limit_ids(ret, &mg);
	else
		ret->n = 0;
	gen_graph_free(&mg);
	return true;
}
