/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of some of the ranks. The control block of a group is in a window of the group that it is split from, in the
 * memory of its first rank. Its windows are in the memory that each rank shares anyway.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/transport/transport.h"

/* ---- shared memory ---- */

static size_t control_bytes(int ranks)
{
	return sizeof(struct rt_shm) + (size_t)ranks * sizeof(struct rt_shm_rank);
}

static struct rt_comm *member(struct rt_comm *c, const struct rt_team *team, struct rt_window *control)
{
	struct rt_comm *s = gt_xcalloc(1, sizeof(*s));
	int node[RT_MAX_RANKS];

	s->transport = c->transport;
	s->rank = team->me;
	s->size = team->n;
	s->hosts = 1;
	s->timeout_s = c->timeout_s;
	s->cpus = c->cpus;
	s->home = c->home;
	s->spin = c->spin;
	s->one_process = c->one_process;
	s->answer_fd = -1;
	s->root = rt_comm_root(c);
	s->parent = c;
	s->control = control;
	s->shm = (struct rt_shm *)(void *)control->peer[team->rank[0]];
	memcpy(s->place, c->place, sizeof(s->place));
	for (int i = 0; i < team->n; i++) {
		s->fd[i] = c->fd[team->rank[i]];
		s->in_root[i] = c->root ? c->in_root[team->rank[i]] : team->rank[i];
		s->world[i] = c->world[team->rank[i]];
		s->weight[i] = 1.0f / (float)team->n;
		node[i] = c->node[team->rank[i]];
	}
	s->nodes = rt_place_index(node, s->size, s->node);
	return s;
}

int rt_shm_split(struct rt_comm *c, const struct rt_team *team, struct rt_comm **ret, struct gt_err *err)
{
	gt_autofree struct rt_window *control = gt_xcalloc(1, sizeof(*control));
	int r = rt_window_map(c, control_bytes(c->size), false, control, err);

	if (r)
		return r;
	*ret = member(c, team, gt_take(control));
	return 0;
}

void rt_shm_leave(struct rt_comm *c)
{
	rt_shm_free_unmapped(c);
	rt_window_unmap(c->control);
	free(c->control);
	free(c);
}

/* ---- groups of any transport ---- */

int rt_comm_split(struct rt_comm *c, int color, struct rt_comm **ret, struct gt_err *err)
{
	struct rt_team team = { 0 };
	double all[RT_MAX_RANKS];
	int r = rt_comm_gather(c, color, all, err);

	if (r)
		return r;
	if (!c->transport->split)
		return gt_fail(err, ENOSYS, "%d ranks over %s cannot be divided into groups: use ranks of one host", c->size,
			       c->transport->name);
	for (int i = 0; i < c->size; i++) {
		if (fabs(all[i] - color) > 0)
			continue;
		if (i == c->rank)
			team.me = team.n;
		team.rank[team.n++] = i;
	}
	return c->transport->split(c, &team, ret, err);
}

/* ---- grids ---- */

int rt_mesh_rank(const struct rt_mesh *m, const int at[RT_DIMS])
{
	int rank = 0;

	for (int d = RT_DIMS; d-- > 0;)
		rank = rank * m->size[d] + at[d];
	return rank;
}

/* Returns the rank with coordinate 0 in dimension d, which is different for each group of the dimension. */
static int first_of(const struct rt_mesh *m, int d)
{
	int at[RT_DIMS];

	memcpy(at, m->at, sizeof(at));
	at[d] = 0;
	return rt_mesh_rank(m, at);
}

/* Fails in every rank unless all ranks passed the same sizes. */
static int agree(struct rt_comm *world, const int size[RT_DIMS], struct gt_err *err)
{
	static const char *const names[RT_DIMS] = { [RT_DIM_TENSOR] = "tensor", [RT_DIM_DATA] = "data",
						    [RT_DIM_PIPELINE] = "pipeline" };

	for (int d = 0; d < RT_DIMS; d++) {
		double all[RT_MAX_RANKS];
		int r = rt_comm_gather(world, size[d], all, err);

		if (r)
			return r;
		for (int i = 1; i < world->size; i++)
			if (fabs(all[i] - all[0]) > 0)
				return gt_fail(err, EINVAL, "rank 0 has %g %s parallel ranks and rank %d has %g: all ranks need "
					       "the same options", all[0], names[d], i, all[i]);
	}
	return 0;
}

static int open_groups(struct rt_mesh *m, struct gt_err *err)
{
	for (int d = 0; d < RT_DIMS; d++) {
		int r = 0;

		if (m->size[d] == m->world->size && m->size[d] > 1)
			m->group[d] = m->world;
		else if (m->size[d] > 1)
			r = rt_comm_split(m->world, first_of(m, d), &m->group[d], err);
		if (r)
			return r;
	}
	return 0;
}

int rt_mesh_open(struct rt_comm *world, const int size[RT_DIMS], struct rt_mesh *ret, struct gt_err *err)
{
	struct rt_mesh m = { .world = world };
	int rest = world->rank, r = agree(world, size, err);

	if (r)
		return r;
	for (int d = 0; d < RT_DIMS; d++) {
		if (size[d] < 1 || size[d] > world->size)
			return gt_fail(err, EINVAL, "a dimension of %d ranks: 1 to %d are possible", size[d], world->size);
		m.size[d] = size[d];
		m.at[d] = rest % size[d];
		rest /= size[d];
	}
	if (size[RT_DIM_TENSOR] * size[RT_DIM_DATA] * size[RT_DIM_PIPELINE] != world->size)
		return gt_fail(err, EINVAL, "%d ranks are not %d tensor x %d data x %d pipeline parallel ranks", world->size,
			       size[RT_DIM_TENSOR], size[RT_DIM_DATA], size[RT_DIM_PIPELINE]);
	r = open_groups(&m, err);
	if (r) {
		rt_mesh_close(&m);
		return r;
	}
	*ret = m;
	return 0;
}

void rt_mesh_close(struct rt_mesh *m)
{
	for (int d = RT_DIMS; d-- > 0;) {
		if (m->group[d] && m->group[d] != m->world)
			rt_comm_free(m->group[d]);
		m->group[d] = NULL;
	}
}
