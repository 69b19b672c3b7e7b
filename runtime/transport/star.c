/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks without a common parent, on one or several hosts. Each has a TCP connection to the first rank. The connections
 * carry single numbers, for ranks on devices whose gradients go over NCCL, and for ranks that then share memory. They
 * also show that a rank has ended: the first rank sees its connection close and notifies the others. All messages are
 * frames of one size; a rank that sends anything else is dropped.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runtime/transport/star.h"
#include "runtime/transport/transport.h"

#define BEAT_S   0.25 /* between the heartbeats of a waiting rank */
#define WATCH_MS 20
#define BEATS    8    /* to a peer that sent no heartbeat since: it computes, and unread frames must not accumulate */
#define SILENT_S 3.0
#define AT_ONCE  16 /* frames of one rank before the other ranks are served */

/* ---- frames ---- */

bool rt_frame_ok(const struct rt_frame *f, uint64_t job, int size)
{
	return f->magic == RT_FRAME_MAGIC && f->job == job && f->kind >= RT_HELLO && f->kind <= RT_BYE &&
	       f->rank < size;
}

static void lose(struct rt_comm *c, int rank, const char *why)
{
	struct rt_star *s = c->star;
	double who = rank;

	close(s->peer[rank].fd);
	s->peer[rank].fd = -1;
	if (s->ended || s->peer[rank].bye)
		return;
	snprintf(s->why, sizeof(s->why), "%s", why);
	s->ended = rank + 1;
	if (!c->rank)
		rt_star_tell_all(c, RT_GONE, &who, 1);
}

int rt_star_tell(struct rt_comm *c, int to, enum rt_frame_kind kind, const double *values, int n)
{
	struct rt_frame f = {
		.magic = RT_FRAME_MAGIC, .kind = (uint16_t)kind, .rank = (uint16_t)c->rank, .job = c->star->job};
	struct rt_peer *p = &c->star->peer[to];
	ssize_t sent;

	if (p->fd < 0)
		return -ENOTCONN;
	for (int i = 0; i < n; i++)
		f.value[i] = values[i];
	sent = send(p->fd, &f, sizeof(f), MSG_NOSIGNAL);
	if (sent == (ssize_t)sizeof(f))
		return 0;
	/* a closed connection is left to the reader, because its last frames may include a goodbye; a partial frame
	 * ends the connection */
	if (sent >= 0 || errno == EAGAIN)
		lose(c, to, "it does not read its messages");
	return -EPIPE;
}

void rt_star_tell_all(struct rt_comm *c, enum rt_frame_kind kind, const double *values, int n)
{
	for (int i = 0; i < c->size; i++)
		rt_star_tell(c, i, kind, values, n);
}

int rt_star_receive(struct rt_peer *p)
{
	ssize_t n = recv(p->fd, (char *)&p->in + p->have, sizeof(p->in) - p->have, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	p->have += (size_t)n;
	if (p->have < sizeof(p->in))
		return 0;
	p->have = 0;
	return 1;
}

/* ---- while the ranks run ---- */

/* Checks a number from another rank before it is converted. Returns a valid rank, or -1. */
static int rank_of(const struct rt_comm *c, double value)
{
	return value >= 0 && value < c->size ? (int)value : -1;
}

static void take_count(const struct rt_comm *c, struct rt_peer *p)
{
	const double *v = p->in.value;

	if (v[0] >= 0 && v[0] < 1e15)
		p->arrivals = (uint64_t)v[0];
	if (c->rank)
		c->star->awaited = rank_of(c, v[1]) + 1;
}

void rt_star_take(struct rt_comm *c, int from)
{
	struct rt_star *s = c->star;
	struct rt_peer *p = &s->peer[from];
	const struct rt_frame *f = &p->in;
	int who = rank_of(c, f->value[0]);

	if (!rt_frame_ok(f, s->job, c->size) || f->rank != from) {
		lose(c, from, "it sent an invalid message");
		return;
	}
	p->heard = gt_now_s();
	p->beats = 0;
	if (f->kind == RT_VALUE && !c->rank) {
		p->brought = true;
		p->value = f->value[0];
	} else if (f->kind == RT_ALL && c->rank) {
		memcpy(s->all, f->value, sizeof(s->all));
		s->have_all = true;
	} else if (f->kind == RT_CAME) {
		take_count(c, p);
	} else if (f->kind == RT_GONE && c->rank && who >= 0 && !s->ended) {
		snprintf(s->why, sizeof(s->why), "its connection to rank 0 has ended");
		s->ended = who + 1;
	} else if (f->kind == RT_BYE) {
		p->bye = true;
	}
}

/* Receives pending frames. wait_ms: time to wait for the first one. */
static void pump(struct rt_comm *c, int wait_ms)
{
	struct rt_star *s = c->star;
	struct pollfd fds[RT_MAX_RANKS];

	for (int i = 0; i < c->size; i++)
		fds[i] = (struct pollfd){.fd = s->peer[i].fd, .events = POLLIN};
	if (poll(fds, (nfds_t)c->size, wait_ms) <= 0)
		return;
	for (int i = 0; i < c->size; i++) {
		int r = fds[i].revents ? 1 : 0;

		for (int n = 0; r > 0 && s->peer[i].fd >= 0 && n < AT_ONCE; n++) {
			r = rt_star_receive(&s->peer[i]);
			if (r > 0)
				rt_star_take(c, i);
			else if (r < 0)
				lose(c, i, "its connection has ended");
		}
	}
}

static int ended(const struct rt_comm *c, struct gt_err *err)
{
	const struct rt_star *s = c->star;

	return s->ended ? gt_fail(err, ECONNRESET, "rank %d has ended: %s", s->ended - 1, s->why) : 0;
}

static int star_missing_rank(struct rt_comm *c)
{
	const struct rt_star *s = c->star;

	for (int i = 0; i < c->size; i++)
		if (s->peer[i].fd >= 0 && s->peer[i].arrivals < s->arrivals)
			return i;
	for (int i = 0; i < c->size; i++)
		if (s->peer[i].fd >= 0 && gt_now_s() - s->peer[i].heard > SILENT_S)
			return i;
	/* reported by the first rank, for ranks that are not connected to this one */
	return s->awaited - 1 == c->rank ? -1 : s->awaited - 1;
}

static void beat(struct rt_comm *c)
{
	struct rt_star *s = c->star;
	double values[2] = {(double)s->arrivals, -1};

	if (gt_now_s() - s->last_beat < BEAT_S)
		return;
	s->last_beat = gt_now_s();
	if (!c->rank)
		values[1] = star_missing_rank(c);
	for (int i = 0; i < c->size; i++)
		if (s->peer[i].beats < BEATS && !rt_star_tell(c, i, RT_CAME, values, 2))
			s->peer[i].beats++;
}

static int star_alive(struct rt_comm *c, struct gt_err *err)
{
	pump(c, 0);
	beat(c);
	return ended(c, err);
}

int rt_star_watch(struct rt_comm *c, struct gt_err *err)
{
	struct rt_star *s = c->star;
	int64_t now_ms = (int64_t)(gt_now_s() * 1e3);

	if (now_ms - s->watched_ms >= WATCH_MS && !atomic_exchange(&s->busy, true)) {
		pump(c, 0);
		s->watched_ms = now_ms;
		atomic_store(&s->busy, false);
	}
	return ended(c, err);
}

static void star_arrive(struct rt_comm *c)
{
	c->star->arrivals++;
	beat(c);
}

/* Returns a rank whose value the first rank does not have. All other ranks wait for the first one. -1: none. */
static int missing(const struct rt_comm *c)
{
	if (c->rank)
		return c->star->have_all ? -1 : 0;
	for (int i = 1; i < c->size; i++)
		if (!c->star->peer[i].brought)
			return i;
	return -1;
}

static int await_all(struct rt_comm *c, struct gt_err *err)
{
	const struct rt_star *s = c->star;
	double until = gt_now_s() + c->timeout_s + (c->rank ? 2 : 0); /* the first rank waits less: it can name the missing one */
	int who, r = 0;

	while (!r && (who = missing(c)) >= 0) {
		pump(c, 100);
		beat(c);
		if (missing(c) < 0)
			break;
		r = ended(c, err);
		if (!r && s->peer[who].bye)
			r = gt_fail(err, ECONNRESET, "rank %d has ended before the others", who);
		if (!r && gt_now_s() > until)
			r = gt_fail(err, ETIMEDOUT, "rank %d has not arrived for %g s", who, c->timeout_s);
	}
	return r;
}

/* Sends the value to the first rank, which distributes all values. */
static int star_gather(struct rt_comm *c, double own, double *ret, struct gt_err *err)
{
	struct rt_star *s = c->star;
	int r;

	if (c->rank)
		rt_star_tell(c, 0, RT_VALUE, &own, 1);
	r = await_all(c, err);
	if (r)
		return r;
	s->have_all = false;
	if (!c->rank) {
		s->all[0] = own;
		for (int i = 1; i < c->size; i++) {
			s->all[i] = s->peer[i].value;
			s->peer[i].brought = false;
		}
		rt_star_tell_all(c, RT_ALL, s->all, c->size);
	}
	memcpy(ret, s->all, sizeof(*ret) * (size_t)c->size);
	return 0;
}

static int star_map(struct rt_comm *c, struct rt_window *w, struct gt_err *err)
{
	return gt_fail(err, ENOSYS, "rank %d has no memory in common with the others for a window of %zu bytes",
		       c->rank, w->bytes);
}

const struct rt_transport rt_transport_star = {
	.name = "tcp",
	.map = star_map,
	.gather = star_gather,
	.alive = star_alive,
	.arrive = star_arrive,
	.missing_rank = star_missing_rank,
};

void rt_star_leave(struct rt_comm *c, bool well)
{
	if (well) {
		pump(c, 0); /* if unread input remained, closing would reset the connection and discard the last sent frames */
		rt_star_tell_all(c, RT_BYE, NULL, 0);
	}
	for (int i = 0; i < c->size; i++)
		if (c->star->peer[i].fd >= 0) {
			shutdown(c->star->peer[i].fd, SHUT_WR);
			close(c->star->peer[i].fd);
		}
	free(c->star);
	c->star = NULL;
	if (c->transport == &rt_transport_star)
		free(c);
}
