/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of one host: a parent process that supervises one child process per rank. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "runtime/transport/transport.h"

#define GRACE_S		2.0

/* Sent by a rank before it ends. The data of rt_comm_answer() follow. */
struct message {
	uint64_t answer_bytes;
	struct gt_err err;
};

struct child {
	pid_t pid;
	int fd; /* read end of the rank's pipe; -1: the rank has ended */
	struct gt_buf got;
	struct rt_place place;
};

struct group {
	struct rt_group *g;
	struct rt_shm *shm;
	size_t shm_bytes;
	int memory[RT_MAX_RANKS];
	struct child child[RT_MAX_RANKS];
	int nodes, node[RT_MAX_RANKS]; /* node of each rank, numbered in order of appearance */
	bool shared_cpus;
	double kill_at; /* 0: no failure yet */
	struct gt_err first;
};

/* ---- in the child ---- */

static struct rt_comm *join(const struct group *p, int rank, int answer_fd)
{
	struct rt_comm *c = gt_xcalloc(1, sizeof(*c));

	c->transport = &rt_transport_shm;
	c->rank = rank;
	c->size = p->g->ranks;
	c->nodes = p->nodes;
	c->hosts = 1;
	c->timeout_s = RT_TIMEOUT_S;
	c->home = -1;
	c->spin = !p->shared_cpus;
	c->shm = p->shm;
	c->answer_fd = answer_fd;
	for (int i = 0; i < c->size; i++) {
		c->node[i] = p->node[i];
		c->world[i] = i;
		c->weight[i] = 1.0f / (float)c->size;
		c->fd[i] = p->memory[i];
	}
	return c;
}

static struct gt_buf answer;

void rt_comm_answer(struct rt_comm *c, const char *text)
{
	if (c->rank == 0)
		gt_buf_puts(&answer, text);
}

/* Binds this rank. Runs in the child, because a process that has called the driver must not fork. */
static int place_near(const struct group *p, struct rt_comm *c, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	int home[RT_MAX_RANKS], node[RT_MAX_RANKS], r = rt_comm_gather(c, p->g->home(c->rank), of, err);
	struct rt_place all[RT_MAX_RANKS];
	bool shared = false;

	for (int i = 0; !r && i < c->size; i++)
		home[i] = (int)of[i];
	if (!r)
		r = rt_place_all(c->size, home, all, &shared, err);
	for (int i = 0; !r && i < c->size; i++)
		node[i] = p->g->node ? p->g->node[i] : all[i].node;
	if (r)
		return r;
	c->nodes = rt_place_index(node, c->size, c->node);
	c->spin = !shared;
	rt_place_put(c, &all[c->rank]);
	return 0;
}

_Noreturn static void be_rank(struct group *p, int rank, int fd, rt_rank_main *fn, void *arg)
{
	struct rt_comm *c = join(p, rank, fd);
	struct message m = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!p->g->no_pin && !p->g->home)
		rt_place_put(c, &p->child[rank].place);
	if ((p->g->no_pin || !p->g->home || place_near(p, c, &m.err) >= 0) && fn(c, arg, &m.err) >= 0)
		gt_err_clear(&m.err);
	else if (!m.err.code)
		gt_fail(&m.err, EIO, "it failed without a message");
	m.answer_bytes = answer.len;
	rt_comm_free(c);
	if (gt_fd_write(fd, (const char *)&m, sizeof(m)) == 0)
		gt_fd_write(fd, answer.s, answer.len);
	_exit(0);
}

/* ---- in the parent ---- */

static void fail_group(struct group *p, int rank, const struct gt_err *e)
{
	if (p->kill_at > 0)
		return;
	p->kill_at = gt_now_s() + (p->g->grace_s > 0 ? p->g->grace_s : GRACE_S);
	p->first = *e;
	snprintf(p->shm->why, sizeof(p->shm->why), "%.255s", e->msg);
	if (rank >= 0)
		gt_fail_prefix(&p->first, "rank %d", rank);
	atomic_store(&p->shm->dead, rank >= 0 ? rank + 1 : -1);
	atomic_fetch_add(&p->shm->bell, 1);
	syscall(SYS_futex, &p->shm->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Handles a closed pipe: the rank has ended, with or without success. */
static void reap(struct group *p, int rank)
{
	struct child *c = &p->child[rank];
	const struct message *m = (const struct message *)(const void *)c->got.s;
	struct gt_err e = { 0 };
	int status = 0;

	close(c->fd);
	c->fd = -1;
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
	if (WIFSIGNALED(status))
		gt_fail(&e, ECHILD, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) || c->got.len < sizeof(*m) || c->got.len != sizeof(*m) + m->answer_bytes)
		gt_fail(&e, ECHILD, "ended with status %d in the middle of its work", WEXITSTATUS(status));
	else if (m->err.code)
		e = m->err;
	if (e.code)
		fail_group(p, rank, &e);
}

static void read_some(struct group *p, int rank)
{
	struct child *c = &p->child[rank];
	char buf[65536];
	ssize_t n = read(c->fd, buf, sizeof(buf));

	if (n > 0)
		gt_buf_add(&c->got, buf, (size_t)n);
	else if (n == 0 || errno != EINTR)
		reap(p, rank);
}

static void kill_rest(struct group *p)
{
	for (int r = 0; r < p->g->ranks; r++)
		if (p->child[r].pid > 0)
			kill(p->child[r].pid, SIGKILL);
}

static void watch(struct group *p)
{
	for (;;) {
		struct pollfd fds[RT_MAX_RANKS];
		int rank[RT_MAX_RANKS], n = 0;

		for (int r = 0; r < p->g->ranks; r++)
			if (p->child[r].fd >= 0) {
				fds[n] = (struct pollfd){ .fd = p->child[r].fd, .events = POLLIN };
				rank[n++] = r;
			}
		if (!n)
			return;
		if (gt_interrupted && !(p->kill_at > 0)) {
			struct gt_err e = { 0 };

			gt_fail(&e, EINTR, "interrupted");
			fail_group(p, -1, &e);
		}
		if (p->kill_at > 0 && gt_now_s() > p->kill_at)
			kill_rest(p);
		if (poll(fds, (nfds_t)n, 100) <= 0)
			continue;
		for (int i = 0; i < n; i++)
			if (fds[i].revents)
				read_some(p, rank[i]);
	}
}

static int start_rank(struct group *p, int rank, rt_rank_main *fn, void *arg, struct gt_err *err)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return gt_fail_errno(err, errno, "cannot make a pipe for rank %d", rank);
	p->child[rank].pid = fork();
	if (p->child[rank].pid == 0) {
		/* close the pipes of the other ranks: an end that is open here would hide their death from the parent */
		for (int r = 0; r <= rank; r++)
			if (p->child[r].fd >= 0)
				close(p->child[r].fd);
		close(fd[0]);
		be_rank(p, rank, fd[1], fn, arg);
	}
	close(fd[1]);
	if (p->child[rank].pid < 0) {
		close(fd[0]);
		return gt_fail_errno(err, errno, "cannot start rank %d", rank);
	}
	p->child[rank].fd = fd[0];
	return 0;
}

static int place(struct group *p, struct gt_err *err)
{
	struct rt_place all[RT_MAX_RANKS];
	int node[RT_MAX_RANKS], r = rt_place_all(p->g->ranks, NULL, all, &p->shared_cpus, err);

	for (int i = 0; !r && i < p->g->ranks; i++) {
		p->child[i].place = all[i];
		/* memory is placed on the real node, even if a test sets node numbers */
		node[i] = p->g->node ? p->g->node[i] : all[i].node;
	}
	if (!r)
		p->nodes = rt_place_index(node, p->g->ranks, p->node);
	return r;
}

static int prepare(struct group *p, struct gt_err *err)
{
	p->shm_bytes = sizeof(*p->shm) + (size_t)p->g->ranks * sizeof(struct rt_shm_rank);
	p->shm = mmap(NULL, p->shm_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->shm == MAP_FAILED) {
		p->shm = NULL;
		return gt_fail_errno(err, errno, "cannot map memory for %d ranks", p->g->ranks);
	}
	for (int r = 0; r < p->g->ranks; r++) {
		p->memory[r] = memfd_create("gputune-rank", MFD_CLOEXEC);
		if (p->memory[r] < 0)
			return gt_fail_errno(err, errno, "cannot make shared memory for rank %d", r);
	}
	return place(p, err);
}

static void clear(struct group *p)
{
	for (int r = 0; r < p->g->ranks; r++) {
		gt_buf_clear(&p->child[r].got);
		if (p->memory[r] >= 0)
			close(p->memory[r]);
	}
	if (p->shm)
		munmap(p->shm, p->shm_bytes);
	free(p);
}

int rt_group_run(struct rt_group *g, rt_rank_main *fn, void *arg, struct gt_err *err)
{
	struct group *p;
	int r;

	if (g->ranks < 1 || g->ranks > RT_MAX_RANKS)
		return gt_fail(err, EINVAL, "%d ranks: 1 to %d are supported", g->ranks, RT_MAX_RANKS);
	p = gt_xcalloc(1, sizeof(*p));
	p->g = g;
	for (int i = 0; i < RT_MAX_RANKS; i++)
		p->memory[i] = p->child[i].fd = -1;
	r = prepare(p, err);
	fflush(NULL);
	for (int i = 0; !r && i < g->ranks; i++) {
		r = start_rank(p, i, fn, arg, err);
		if (r)
			kill_rest(p);
	}
	watch(p);
	if (!r && p->kill_at > 0) {
		r = -p->first.code;
		if (err)
			*err = p->first;
	} else if (!r && p->child[0].got.len > sizeof(struct message)) {
		g->answer = gt_xstrndup(p->child[0].got.s + sizeof(struct message),
					p->child[0].got.len - sizeof(struct message));
	}
	clear(p);
	return r;
}

/* ---- ranks as threads ---- */

struct thread {
	struct group *p;
	struct rt_comm *c;
	int rank, status;
	rt_rank_main *fn;
	void *arg;
	struct gt_err err;
	pthread_t id;
};

static void *be_thread(void *arg)
{
	struct thread *t = arg;
	t->c->one_process = true;
	t->c->spin = false;
	omp_set_num_threads(1);
	t->status = t->fn(t->c, t->arg, &t->err);
	if (t->status < 0) {
		int none = 0;

		atomic_compare_exchange_strong(&t->p->shm->dead, &none, t->rank + 1);
	}
	return NULL;
}

static void end_thread(struct thread *t)
{
	for (struct rt_mapping *k = t->c->mappings, *next; k; k = next) {
		next = k->next;
		if (k->base)
			munmap(k->base, k->bytes);
		free(k);
	}
	rt_shm_free_unmapped(t->c);
	free(t->c);
}

int rt_group_threads(struct rt_group *g, rt_rank_main *fn, void *arg, struct gt_err *err)
{
	struct group *p = gt_xcalloc(1, sizeof(*p));
	struct thread all[RT_MAX_RANKS];
	int r, started = 0, first = -1;

	p->g = g;
	for (int i = 0; i < RT_MAX_RANKS; i++)
		p->memory[i] = p->child[i].fd = -1;
	r = prepare(p, err);
	for (; !r && started < g->ranks; started++) {
		all[started] = (struct thread){ .p = p, .c = join(p, started, -1), .rank = started, .fn = fn, .arg = arg };
		r = -pthread_create(&all[started].id, NULL, be_thread, &all[started]);
		if (r) {
			atomic_store(&p->shm->dead, -1);
			gt_fail_errno(err, -r, "cannot start rank %d", started);
			end_thread(&all[started]);
			break;
		}
	}
	for (int i = 0; i < started; i++) {
		pthread_join(all[i].id, NULL);
		if (all[i].status < 0 && (first < 0 || all[first].status == -ECONNRESET))
			first = i;
	}
	for (int i = 0; i < started; i++)
		end_thread(&all[i]);
	if (!r && first >= 0) {
		r = all[first].status;
		if (err)
			*err = all[first].err;
		gt_fail_prefix(err, "rank %d", first);
	}
	if (!r && answer.len)
		g->answer = gt_xstrndup(answer.s, answer.len);
	gt_buf_clear(&answer);
	clear(p);
	return r;
}
