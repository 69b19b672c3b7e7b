/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks started by mpirun, on one or several hosts. The ranks of a host share memory. The first rank of each host
 * exchanges data with the first ranks of the other hosts over MPI. Each byte leaves a host once, for any number of
 * ranks. On one host the result is the group over shared memory itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "lib/log.h"
#include "runtime/transport/mpi_lib.h"
#include "runtime/transport/star.h"
#include "runtime/transport/transport.h"

/* ---- joining ---- */

static struct rt_comm *flat_comm(const struct rt_mpi_lib *lib, rt_mpi_comm comm)
{
	struct rt_comm *c = gt_xcalloc(1, sizeof(*c));

	c->transport = &rt_transport_mpi_flat;
	c->lib = lib;
	c->mpi_comm = comm;
	c->timeout_s = RT_TIMEOUT_S;
	lib->comm_rank(comm, &c->rank);
	lib->comm_size(comm, &c->size);
	c->hosts = c->nodes = c->size;
	for (int i = 0; i < c->size && i < RT_MAX_RANKS; i++) {
		c->weight[i] = 1.0f / (float)c->size;
		c->world[i] = i;
	}
	return c;
}

static int gather_ints(struct rt_comm *c, int own, int *ret, struct gt_err *err)
{
	double all[RT_MAX_RANKS];
	int r = rt_comm_gather(c, own, all, err);

	if (r)
		return r;
	for (int i = 0; i < c->size; i++)
		ret[i] = (int)all[i];
	return 0;
}

/* Returns the shared memory group of the ranks that are on this host according to MPI. */
static int join_host(struct rt_comm *world, struct rt_comm **ret, struct gt_err *err)
{
	const struct rt_mpi_lib *lib = world->lib;
	uint64_t key = 0;
	rt_mpi_comm here;
	int rank, size, fd = -1, r = 0, at[RT_MAX_RANKS];

	lib->comm_split_type(world->mpi_comm, RT_MPI_SHARED, world->rank, lib->no_info, &here);
	lib->comm_rank(here, &rank);
	lib->comm_size(here, &size);
	if (rank == 0) {
		if (getrandom(&key, sizeof(key), 0) != sizeof(key))
			r = gt_fail_errno(err, errno, "cannot get a random number");
		if (!r)
			r = rt_local_listen(key, &fd, err);
		key = r ? 0 : key;
	}
	lib->bcast(&key, sizeof(key), lib->byte, 0, here);
	lib->comm_free(&here);
	if (!r && !key)
		r = gt_fail(err, ECONNREFUSED, "the first rank of this host could not start");
	if (!r)
		r = rt_local_join(fd, key, rank, size, NULL, ret, err);
	if (fd >= 0)
		close(fd);
	if (r)
		return r;
	r = gather_ints(*ret, world->rank, at, err);
	if (r)
		return r;
	for (int i = 0; i < size; i++)
		(*ret)->world[i] = at[i];
	return 0;
}

/* Keeps the binding if mpirun has bound the ranks. If all ranks may use all CPUs, each gets its part. */
static int place(struct rt_comm *local, bool no_pin, struct gt_err *err)
{
	struct rt_place all[RT_MAX_RANKS], now;
	int where[RT_MAX_RANKS], node[RT_MAX_RANKS], r = rt_place_now(&now, err);
	bool same = true, separate = true, shared = false;

	if (r)
		return r;
	r = gather_ints(local, (int)(gt_hash64(&now.cpus, sizeof(now.cpus), 0) & 0x7fffffff), where, err);
	if (r)
		return r;
	for (int i = 1; i < local->size; i++) {
		same &= where[i] == where[0];
		for (int k = 0; k < i; k++)
			separate &= where[i] != where[k];
	}
	if (same && !no_pin) {
		r = rt_place_all(local->size, NULL, all, &shared, err);
		if (r)
			return r;
		now = all[local->rank];
		separate = !shared;
	}
	r = gather_ints(local, now.node, node, err);
	if (r)
		return r;
	local->nodes = rt_place_index(node, local->size, local->node);
	local->spin = separate;
	if (!no_pin)
		rt_place_put(local, &now);
	return 0;
}

/* Fills host[] for all ranks and counts the hosts, and the NUMA nodes over all of them. */
static int count_hosts(struct rt_comm *c, struct gt_err *err)
{
	int first[RT_MAX_RANKS], nodes[RT_MAX_RANKS], r = gather_ints(c->flat, c->local->world[0], first, err);

	if (r)
		return r;
	r = gather_ints(c->flat, c->local->rank ? 0 : c->local->nodes, nodes, err);
	if (r)
		return r;
	c->hosts = rt_place_index(first, c->size, c->host);
	c->nodes = 0;
	for (int i = 0; i < c->size; i++)
		c->nodes += nodes[i];
	return 0;
}

static struct rt_comm *between_hosts(const struct rt_comm *c)
{
	const struct rt_mpi_lib *lib = c->lib;
	bool first = c->local->rank == 0;
	struct rt_comm *across;
	rt_mpi_comm comm;

	lib->comm_split(c->mpi_comm, first ? 0 : RT_MPI_UNDEFINED, c->rank, &comm);
	if (!first)
		return NULL;
	across = flat_comm(lib, comm);
	for (int i = 0, at = 0; i < c->size; i++) {
		bool seen = false;

		for (int k = 0; k < i; k++)
			seen |= c->host[k] == c->host[i];
		if (!seen)
			across->world[at++] = c->world[i];
	}
	/* their sums are already weighted */
	for (int i = 0; i < across->size; i++)
		across->weight[i] = 1;
	across->spin = c->local->spin;
	return across;
}

static void several_hosts(struct rt_comm *c)
{
	char name[RT_MPI_NAME_MAX];
	int len = 0;

	c->across = between_hosts(c);
	c->cpus = c->local->cpus;
	c->spin = c->flat->spin = c->local->spin;
	c->lib->processor_name(name, &len);
	snprintf(c->place, sizeof(c->place), "%.50s%s%.*s", c->local->place, *c->local->place ? " of " : "",
		 GT_MIN(len, 40), name);
}

bool rt_mpi_started(void)
{
	return getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

int rt_comm_mpi_alone(struct rt_comm **ret, struct gt_err *err)
{
	const struct rt_mpi_lib *lib;
	int level = 0, r = rt_mpi_lib_open(&lib, err);

	if (r)
		return r;
	lib->init_thread(NULL, NULL, RT_MPI_FUNNELED, &level);
	*ret = flat_comm(lib, lib->world);
	if ((*ret)->size > RT_MAX_RANKS || level < RT_MPI_FUNNELED)
		r = gt_fail(err, EINVAL, "mpirun started %d ranks: at most %d ranks, and OpenMPI with thread support, are "
					 "required",
			    (*ret)->size, RT_MAX_RANKS);
	return r; /* the process ends then, because the library cannot be joined twice */
}

int rt_comm_mpi(bool no_pin, struct rt_comm **ret, struct gt_err *err)
{
	const struct rt_mpi_lib *lib;
	struct rt_comm *c;
	int r = rt_comm_mpi_alone(&c, err);

	if (r)
		return r;
	lib = c->lib;
	c->flat = flat_comm(lib, lib->world);
	c->transport = &rt_transport_mpi;
	r = join_host(c->flat, &c->local, err);
	if (r)
		return r;
	r = place(c->local, no_pin, err);
	if (r)
		return r;
	r = count_hosts(c, err);
	if (r)
		return r;
	if (c->hosts > 1) {
		several_hosts(c);
		*ret = c;
		return 0;
	}
	c->local->lib = lib;
	free(c->flat);
	*ret = c->local;
	free(c);
	return 0;
}

/* ---- groups of some of the ranks ---- */

static struct rt_comm *group_comm(struct rt_comm *c, const struct rt_team *team, rt_mpi_comm comm)
{
	struct rt_comm *g = flat_comm(c->lib, comm);

	g->timeout_s = c->timeout_s;
	for (int i = 0; i < team->n; i++)
		g->world[i] = c->world[team->rank[i]];
	return g;
}

/* Returns the ranks of the team on this host as ranks of c->local. */
static struct rt_team team_here(const struct rt_comm *c, const struct rt_team *team)
{
	struct rt_team here = { 0 };

	for (int i = 0; i < team->n; i++)
		for (int k = 0; k < c->local->size; k++) {
			if (rt_comm_outer_rank(c, k) != team->rank[i])
				continue;
			if (team->rank[i] == c->rank)
				here.me = here.n;
			here.rank[here.n++] = k;
		}
	return here;
}

/* A group on one host is a group over shared memory. */
int rt_mpi_split(struct rt_comm *c, const struct rt_team *team, struct rt_comm **ret, struct gt_err *err)
{
	struct rt_team here = team_here(c, team);
	struct rt_comm *local, *g;
	rt_mpi_comm comm;
	int r;

	c->lib->comm_split(c->mpi_comm, team->rank[0], c->rank, &comm);
	r = rt_shm_split(c->local, &here, &local, err);
	if (r)
		return r;
	if (here.n == team->n) {
		c->lib->comm_free(&comm);
		*ret = local;
		return 0;
	}
	g = group_comm(c, team, comm);
	g->transport = &rt_transport_mpi;
	g->root = rt_comm_root(c);
	g->parent = c;
	g->local = local;
	g->flat = group_comm(c, team, comm);
	r = count_hosts(g, err);
	if (r)
		return r;
	several_hosts(g);
	if (g->across)
		g->across->timeout_s = c->timeout_s;
	*ret = g;
	return 0;
}

static void leave_group(struct rt_comm *c)
{
	rt_comm_free(c->local);
	if (c->across)
		c->lib->comm_free(&c->across->mpi_comm);
	c->lib->comm_free(&c->flat->mpi_comm);
	free(c->across);
	free(c->flat);
	free(c);
}

void rt_comm_free(struct rt_comm *c)
{
	const struct rt_mpi_lib *lib = c ? c->lib : NULL;

	if (!c)
		return;
	if (c->root && c->local) {
		leave_group(c);
		return;
	}
	if (c->root) {
		rt_shm_leave(c);
		return;
	}
	if (c->transport == &rt_transport_star) {
		rt_star_leave(c, true);
		return;
	}
	if (c->local) {
		rt_local_leave(c->local);
		free(c->across);
		free(c->flat);
		free(c);
	} else if ((lib || c->star) && c->transport == &rt_transport_shm) {
		if (c->star)
			rt_star_leave(c, true);
		rt_local_leave(c);
	} else {
		free(c);
	}
	if (lib)
		lib->finalize();
}

void rt_comm_abort(struct rt_comm *c, int status)
{
	if (c && c->lib)
		c->lib->abort(c->lib->world, status);
	_exit(status);
}
