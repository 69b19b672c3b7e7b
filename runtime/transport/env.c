/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks started by srun, torchrun or another launcher: reads their rank and size from the environment and forms the
 * group. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "lib/fsroot.h"
#include "lib/parse.h"
#include "runtime/transport/star.h"
#include "runtime/transport/transport.h"

#define PATIENCE_S 60.0

/* Variables of each launcher, the innermost launcher first: torchrun can run under srun, and both under mpiexec. `job`
 * may be unset. */
static const struct launcher {
	const char *name, *rank, *size, *local_rank, *job[2];
} launchers[] = {
	{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
	{"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", {"PMI_JOBID"}},
};

static const char *get(const char *name)
{
	const char *v = name ? getenv(name) : NULL;

	return v && *v ? v : NULL;
}

static int number(const char *name, uint64_t most, int *ret, struct gt_err *err)
{
	const char *v = get(name);
	uint64_t n = 0;

	if (!v)
		return gt_fail(err, EINVAL,
			       "%s is not set, but other variables show several ranks", name);
	if (gt_parse_u64(v, &n) || n > most)
		return gt_fail(err, EINVAL, "%s=%.40s is not a number from 0 to %llu", name, v, (unsigned long long)most);
	*ret = (int)n;
	return 0;
}

/* ---- host and port of the first rank ---- */

/*
 * Returns the length of a bracket expression of numbers and ranges, with both brackets. Returns 0 if s does not start
 * with one. The first number is ret[0..*digits).
 */
static size_t brackets(const char *s, size_t *digits)
{
	size_t n = 1;

	*digits = strspn(s + 1, "0123456789");
	for (;;) {
		size_t k = strspn(s + n, "0123456789");

		n += k;
		if (k && s[n] == '-') {
			k = strspn(s + n + 1, "0123456789");
			n += k + 1;
		}
		if (!k)
			return 0;
		if (s[n] == ']')
			return n + 1;
		if (s[n++] != ',')
			return 0;
	}
}

int rt_first_host(const char *list, char *ret, size_t size, struct gt_err *err)
{
	const char *s = list;
	size_t len = 0;

	while (*s && *s != ',') {
		size_t digits = 0, skip = *s == '[' ? brackets(s, &digits) : 1;
		const char *from = *s == '[' ? s + 1 : s;
		size_t n = *s == '[' ? digits : 1;

		if (!skip || len + n >= size || (*s != '[' && !isalnum((unsigned char)*s) && !strchr("-._", *s)))
			break;
		memcpy(ret + len, from, n);
		len += n;
		s += skip;
	}
	if (!len || (*s && *s != ','))
		return gt_fail(err, EINVAL, "%.60s is not a list of hosts in Slurm's notation: set MASTER_ADDR", list);
	ret[len] = '\0';
	return 0;
}

/* Returns MASTER_ADDR, or the host of the first rank from Slurm's list. */
static int find_host(struct rt_rendezvous *m, struct gt_err *err)
{
	const char *host = get("MASTER_ADDR"), *list = get("SLURM_STEP_NODELIST");

	if (host && strlen(host) >= sizeof(m->host))
		return gt_fail(err, EINVAL, "MASTER_ADDR is longer than any host's name");
	if (host) {
		snprintf(m->host, sizeof(m->host), "%s", host);
		return 0;
	}
	if (!list || !gt_streq(m->launcher, "srun"))
		return gt_fail(err, EINVAL,
			       "%s started %d ranks, but MASTER_ADDR, the host of rank 0, is not set",
			       m->launcher, m->size);
	return rt_first_host(list, m->host, sizeof(m->host), err);
}

/* If torchrun itself listens at MASTER_PORT, the next port is used. Under Slurm, the port is derived from the job
 * number. */
static int find_port(struct rt_rendezvous *m, struct gt_err *err)
{
	const char *own = get("TORCHELASTIC_USE_AGENT_STORE");
	int r;

	if (!get("MASTER_PORT") && gt_streq(m->launcher, "srun")) {
		m->port = 20000 + (int)(m->job % 10000);
		return 0;
	}
	r = number("MASTER_PORT", 65534, &m->port, err);
	if (!r && !m->port)
		return gt_fail(err, EINVAL, "MASTER_PORT=0 is not a port that other ranks could find");
	if (!r && own && (gt_streq(own, "True") || gt_streq(own, "1")))
		m->port++;
	return r;
}

/* ---- rank and job ---- */

/* Returns a number that all ranks of a job share and that differs between jobs with high probability. */
static uint64_t job_of(const struct launcher *l, int size)
{
	uint64_t hash = gt_hash64(&size, sizeof(size), 0);

	for (size_t i = 0; i < GT_ARRAY_SIZE(l->job); i++) {
		const char *v = get(l->job[i]);

		hash = v ? gt_hash64(v, strlen(v), hash) : hash;
	}
	return hash;
}

/* Fails if variables show several ranks but not the number of this rank. */
static int check_incomplete(struct gt_err *err)
{
	const char *size = get("WORLD_SIZE");
	uint64_t n = 0;

	if (size && (gt_parse_u64(size, &n) || n > 1))
		return gt_fail(
			err, EINVAL,
			"WORLD_SIZE=%.20s shows several ranks, but RANK is not set: unset WORLD_SIZE, or start the ranks with "
			"torchrun, srun or mpirun",
			size);
	if (get("PMIX_RANK") && !get("OMPI_COMM_WORLD_SIZE"))
		return gt_fail(
			err, EINVAL,
			"PMIX_RANK=%.20s shows several ranks, but their number is unknown: set RANK, WORLD_SIZE, MASTER_ADDR "
			"and MASTER_PORT, or unset PMIX_RANK for a single process",
			get("PMIX_RANK"));
	return 0;
}

int rt_rendezvous_from_environment(struct rt_rendezvous *ret, struct gt_err *err)
{
	struct rt_rendezvous m = {.local_rank = -1, .patience_s = PATIENCE_S};
	const struct launcher *l = NULL;
	int r;

	for (size_t i = 0; !l && i < GT_ARRAY_SIZE(launchers); i++)
		l = get(launchers[i].rank) && get(launchers[i].size) ? &launchers[i] : NULL;
	if (!l)
		return check_incomplete(err);
	r = number(l->size, 1u << 20, &m.size, err);
	if (r || m.size < 2)
		return r;
	if (m.size > RT_MAX_RANKS)
		return gt_fail(err, EINVAL, "%s started %d ranks: at most %d are supported", l->name, m.size,
			       RT_MAX_RANKS);
	m.launcher = l->name;
	m.job = job_of(l, m.size);
	r = number(l->rank, (uint64_t)m.size - 1, &m.rank, err);
	if (r)
		return r;
	if (get(l->local_rank)) {
		r = number(l->local_rank, (uint64_t)m.size - 1, &m.local_rank, err);
		if (r)
			return r;
	}
	r = find_host(&m, err);
	if (r)
		return r;
	r = find_port(&m, err);
	if (r)
		return r;
	*ret = m;
	return 1;
}

bool rt_env_started(void)
{
	struct rt_rendezvous m;
	struct gt_err ignored = {0};

	return rt_rendezvous_from_environment(&m, &ignored) != 0;
}

/* ---- hosts and CPUs ---- */

/* Gathers small numbers of all ranks. Values from other ranks are checked before they are converted. */
static int gather_ints(struct rt_comm *c, uint64_t own, int *ret, struct gt_err *err)
{
	double all[RT_MAX_RANKS];
	int r = rt_comm_gather(c, (double)(own & 0x7fffffff), all, err);

	if (r)
		return r;
	for (int i = 0; i < c->size; i++) {
		if (!(all[i] >= 0 && all[i] <= 0x7fffffff))
			return gt_fail(err, EPROTO, "rank %d sent no valid location", i);
		ret[i] = (int)all[i];
	}
	return 0;
}

/* Returns how many ranks before rank `before` are on this host. */
static int local(const struct rt_comm *c, int before)
{
	int n = 0;

	for (int i = 0; i < before; i++)
		n += c->host[i] == c->host[c->rank];
	return n;
}

/* Finds the ranks on this host by host name, and the local rank of this one. */
static int find_hosts(struct rt_comm *c, int local_rank, struct gt_err *err)
{
	char name[256] = "";
	int host[RT_MAX_RANKS], r;

	gethostname(name, sizeof(name) - 1);
	r = gather_ints(c, gt_hash64(name, strlen(name), 0), host, err);
	if (r)
		return r;
	c->nodes = c->hosts = rt_place_index(host, c->size, c->host);
	for (int i = 0; i < c->size; i++)
		c->node[i] = c->host[i];
	c->local_rank = local_rank >= 0 ? local_rank : local(c, c->rank);
	return 0;
}

/* Returns this rank's part of the CPUs of this host, which all its ranks may use. */
static int share_cpus(struct rt_comm *c, int (*home)(int), struct rt_place *ret, bool *ret_shared, struct gt_err *err)
{
	int of[RT_MAX_RANKS], near[RT_MAX_RANKS], n = 0;
	struct rt_place all[RT_MAX_RANKS];
	int r = gather_ints(c, (uint64_t)(home ? home(c->local_rank) + 1 : 0), of, err);

	if (r)
		return r;
	for (int i = 0; i < c->size; i++)
		if (c->host[i] == c->host[c->rank])
			near[n++] = of[i] - 1;
	r = rt_place_all(n, near, all, ret_shared, err);
	if (!r)
		*ret = all[local(c, c->rank)];
	return r;
}

/* Fails if the ranks cannot reach each other by a local socket: they are on several hosts, or in several network
 * namespaces. */
static int check_local(struct rt_comm *c, struct gt_err *err)
{
	gt_auto(gt_fsroot) *fs = NULL;
	gt_autofree char *boot = NULL, *net = NULL, *id = NULL;
	int where[RT_MAX_RANKS], r = gt_fs_open("/", &fs, NULL);

	if (!r)
		gt_fs_read_line(fs, "/proc/sys/kernel/random/boot_id", &boot);
	if (!r)
		gt_fs_readlink(fs, "/proc/self/ns/net", &net);
	id = gt_xasprintf("%s %s", boot ? boot : "", net ? net : "");
	r = gather_ints(c, gt_hash64(id, strlen(id), 0), where, err);
	for (int i = 1; !r && i < c->size; i++)
		if (where[i] != where[0])
			return gt_fail_exit(err, GT_EXIT_USAGE, ENOSYS,
					    "ranks 0 and %d are on different hosts and share no memory: start them by mpirun", i);
	return r;
}

/* Replaces the group by one over shared memory if any rank wants that. The new group keeps the connections to detect
 * ended ranks. */
static int share_memory(bool wanted, struct rt_comm **c, struct gt_err *err)
{
	struct rt_comm *star = *c, *local = NULL;
	int want[RT_MAX_RANKS], low[RT_MAX_RANKS], high[RT_MAX_RANKS], fd = -1, r = gather_ints(star, wanted, want, err), shared;
	uint64_t key = 0;

	for (int i = 0; !r && i < star->size; i++)
		wanted |= want[i] != 0;
	if (r || !wanted)
		return r;
	r = check_local(star, err);
	if (r)
		return r;
	if (!star->rank) {
		if (getrandom(&key, sizeof(key), 0) != sizeof(key))
			r = gt_fail_errno(err, errno, "cannot get a random number");
		key = (key & (UINT64_MAX >> 2)) | 1;
		if (!r)
			r = rt_local_listen(key, &fd, err);
		key = r ? 0 : key;
	}
	/* the other ranks wait for the key even if there is none */
	shared = gather_ints(star, key & 0x7fffffff, low, r ? NULL : err);
	if (!shared)
		shared = gather_ints(star, key >> 31, high, r ? NULL : err);
	if (!r)
		r = shared;
	if (!r && !low[0])
		r = gt_fail(err, ECONNREFUSED, "the first rank could not start");
	if (!r)
		r = rt_local_join(fd, (uint64_t)high[0] << 31 | (uint64_t)low[0], star->rank, star->size, star, &local, err);
	if (fd >= 0)
		close(fd);
	if (r)
		return r;
	local->star = star->star;
	local->local_rank = star->local_rank;
	free(star);
	*c = local;
	return 0;
}

/* Keeps the binding if the launcher has bound the ranks. If all ranks of a host may use all its CPUs, each gets its
 * part. */
static int find_place(struct rt_comm *c, bool no_pin, int (*home)(int), struct gt_err *err)
{
	struct rt_place now, own;
	bool same = true, separate = true, shared = false;
	int where[RT_MAX_RANKS], r = rt_place_now(&now, err);

	if (!r)
		r = gather_ints(c, gt_hash64(&now.cpus, sizeof(now.cpus), 0), where, err);
	if (r)
		return r;
	for (int i = 0; i < c->size; i++) {
		bool alike = where[i] == where[c->rank];

		if (i == c->rank || c->host[i] != c->host[c->rank])
			continue;
		same &= alike;
		separate &= !alike;
	}
	r = share_cpus(c, home, &own, &shared, err); /* called by all ranks, because it is collective */
	if (r)
		return r;
	c->spin = same && !no_pin ? !shared : separate;
	if (same && !no_pin)
		now = own;
	if (!no_pin)
		rt_place_put(c, &now);
	if (c->transport != &rt_transport_shm)
		return 0;
	r = gather_ints(c, (uint64_t)now.node, where, err);
	if (!r)
		c->nodes = rt_place_index(where, c->size, c->node);
	return r;
}

int rt_comm_env(bool no_pin, bool memory, int (*home)(int local_rank), struct rt_comm **ret, struct gt_err *err)
{
	struct rt_rendezvous m;
	struct rt_comm *c = NULL;
	int r = rt_rendezvous_from_environment(&m, err);

	if (r < 0 && err)
		err->exit_status = GT_EXIT_USAGE;
	if (r < 0)
		return r;
	if (!r)
		return gt_fail(err, EINVAL, "no launcher started this process as one of several ranks");
	r = rt_star_join(&m, &c, err);
	if (!r)
		r = find_hosts(c, m.local_rank, err);
	if (!r)
		r = share_memory(memory, &c, err);
	if (!r)
		r = find_place(c, no_pin, home, err);
	if (r && c)
		rt_star_leave(c, false);
	if (!r)
		*ret = c;
	return r;
}
