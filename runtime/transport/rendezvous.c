/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendezvous of ranks without a common parent. The first rank listens at a host and port that all ranks know, and the others
 * connect to it. As with every launcher's port, any process that can reach the port could pretend to be a rank. A connection
 * must therefore send one frame of fixed size within five seconds. The frame has a magic number, the job number and a missing
 * rank. Other connections are closed. When too many connections are pending, the oldest ones without a frame are closed. A real
 * rank sends its frame at once.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runtime/transport/star.h"
#include "runtime/transport/transport.h"

#define HELLO_S 5.0
#define PENDING 128 /* connections without a frame yet */
#define STEP_S  10  /* limit of one attempt to connect or to send */

/* Sends small messages at once, detects a vanished host within about ten seconds, and limits the time of a blocked send. */
static void set_up(int fd)
{
	const struct {
		int level, name, value;
	} o[] = {{IPPROTO_TCP, TCP_NODELAY, 1},  {SOL_SOCKET, SO_KEEPALIVE, 1},
		 {IPPROTO_TCP, TCP_KEEPIDLE, 5}, {IPPROTO_TCP, TCP_KEEPINTVL, 2},
		 {IPPROTO_TCP, TCP_KEEPCNT, 3},  {IPPROTO_TCP, TCP_USER_TIMEOUT, 12000}};
	const struct timeval limit = {.tv_sec = STEP_S};

	for (size_t i = 0; i < GT_ARRAY_SIZE(o); i++)
		setsockopt(fd, o[i].level, o[i].name, &o[i].value, sizeof(int));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static int resolve(const struct rt_rendezvous *m, struct addrinfo **ret, struct gt_err *err)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	char port[16];
	int r;

	snprintf(port, sizeof(port), "%d", m->port);
	r = getaddrinfo(m->host, port, &hints, ret);
	return r ? gt_fail(err, EHOSTUNREACH, "the host of rank 0, %.100s, cannot be resolved: %s", m->host,
			   gai_strerror(r))
		 : 0;
}

/* ---- the first rank ---- */

static bool is_loopback(const struct sockaddr *a)
{
	const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;

	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(six);
}

/* Returns whether the name means the loopback itself, not the host's own name mapped to it in /etc/hosts. */
static bool means_loopback(const char *host)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *a = NULL;

	if (gt_streq(host, "localhost"))
		return true;
	if (getaddrinfo(host, NULL, &hints, &a))
		return false;
	freeaddrinfo(a);
	return true;
}

static int listen_on(const struct sockaddr *a, socklen_t len)
{
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1, no = 0, code;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (a->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (bind(fd, a, len) == 0 && listen(fd, PENDING) == 0)
		return fd;
	code = errno;
	close(fd);
	return -code;
}

/* Listens at all addresses of this host. For a name that resolves to no address here, or to one that other hosts do not
 * reach. */
static int listen_everywhere(int port)
{
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = IN6ADDR_ANY_INIT};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = listen_on((const struct sockaddr *)&six, sizeof(six));

	return fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL ? listen_on((const struct sockaddr *)&four, sizeof(four))
							   : fd;
}

static int listen_at(const struct rt_rendezvous *m, int *ret, struct gt_err *err)
{
	struct addrinfo *list = NULL;
	int fd = -EADDRNOTAVAIL, r = resolve(m, &list, err);
	bool loopback = means_loopback(m->host);

	if (r)
		return r;
	for (const struct addrinfo *a = list; a && fd < 0 && fd != -EADDRINUSE; a = a->ai_next)
		if (loopback || !is_loopback(a->ai_addr))
			fd = listen_on(a->ai_addr, a->ai_addrlen);
	freeaddrinfo(list);
	if (fd == -EADDRNOTAVAIL || fd == -EAFNOSUPPORT)
		fd = listen_everywhere(m->port);
	if (fd < 0)
		return gt_fail_errno(err, -fd, "rank 0 cannot listen at %.100s port %d", m->host, m->port);
	*ret = fd;
	return 0;
}

/* Connections without a frame, the oldest first. */
struct pending {
	int n;
	struct guest {
		struct rt_peer p;
		double until;
	} list[PENDING];
};

static void turn_away(struct pending *q, int i)
{
	if (q->list[i].p.fd >= 0)
		close(q->list[i].p.fd);
	q->n--;
	memmove(&q->list[i], &q->list[i + 1], sizeof(*q->list) * (size_t)(q->n - i));
}

static void let_in(struct pending *q, int listener)
{
	for (int i = 0; i < PENDING; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (q->n == PENDING)
			turn_away(q, 0);
		q->list[q->n++] = (struct guest){.p = {.fd = fd}, .until = gt_now_s() + HELLO_S};
	}
}

/* Checks the frame of a connection: it must be from a missing rank of the job. */
static bool admit(struct rt_comm *c, const struct rt_peer *p)
{
	struct rt_star *s = c->star;
	int rank = p->in.rank;

	if (!rt_frame_ok(&p->in, s->job, c->size) || p->in.kind != RT_HELLO || !rank || s->peer[rank].fd >= 0)
		return false;
	s->peer[rank] = (struct rt_peer){.fd = p->fd, .heard = gt_now_s()};
	set_up(p->fd);
	return true;
}

static void hear(struct rt_comm *c, struct pending *q)
{
	for (int i = 0; i < q->n;) {
		int r = rt_star_receive(&q->list[i].p);

		if (r == 0 && gt_now_s() < q->list[i].until) {
			i++;
			continue;
		}
		if (r > 0 && admit(c, &q->list[i].p))
			q->list[i].p.fd = -1; /* the connection now belongs to the rank */
		turn_away(q, i);
	}
}

/* A rank that disconnects or sends an unexpected frame counts as missing again. */
static void miss(struct rt_comm *c)
{
	for (int i = 1; i < c->size; i++) {
		struct rt_peer *p = &c->star->peer[i];

		if (p->fd < 0 || !rt_star_receive(p))
			continue;
		close(p->fd);
		*p = (struct rt_peer){.fd = -1};
	}
}

static int first_missing(const struct rt_comm *c)
{
	for (int i = 1; i < c->size; i++)
		if (c->star->peer[i].fd < 0)
			return i;
	return -1;
}

static void await_any(const struct rt_comm *c, const struct pending *q, int listener)
{
	struct pollfd fds[1 + PENDING + RT_MAX_RANKS];
	nfds_t n = 0;

	fds[n++] = (struct pollfd){.fd = listener, .events = POLLIN};
	for (int i = 0; i < q->n; i++)
		fds[n++] = (struct pollfd){.fd = q->list[i].p.fd, .events = POLLIN};
	for (int i = 1; i < c->size; i++)
		fds[n++] = (struct pollfd){.fd = c->star->peer[i].fd, .events = POLLIN};
	poll(fds, n, 100);
}

static int receive_all(struct rt_comm *c, const struct rt_rendezvous *m, struct gt_err *err)
{
	struct pending *q = gt_xcalloc(1, sizeof(*q));
	double until = gt_now_s() + m->patience_s;
	int listener = -1, r = listen_at(m, &listener, err);

	while (!r && first_missing(c) >= 0) {
		await_any(c, q, listener);
		let_in(q, listener);
		hear(c, q);
		miss(c);
		if (gt_now_s() > until && first_missing(c) >= 0)
			r = gt_fail(err, ETIMEDOUT,
				    "rank %d of the %d that %s started has not connected to %.100s port %d for %g s",
				    first_missing(c), m->size, m->launcher, m->host, m->port, m->patience_s);
	}
	while (q->n)
		turn_away(q, 0);
	free(q);
	if (listener >= 0)
		close(listener);
	if (!r)
		rt_star_tell_all(c, RT_WELCOME, NULL, 0);
	return r;
}

/* ---- the other ranks ---- */

/* Returns whether the socket is connected to itself: the kernel may assign the target port as the local port if no
 * process listens there. */
static bool is_ourselves(int fd)
{
	struct sockaddr_storage here = {0}, there = {0};
	socklen_t a = sizeof(here), b = sizeof(there);

	return getsockname(fd, (struct sockaddr *)&here, &a) == 0 &&
	       getpeername(fd, (struct sockaddr *)&there, &b) == 0 && a == b && memcmp(&here, &there, a) == 0;
}

static int connect_to(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), code;

	if (fd < 0)
		return -errno;
	set_up(fd); /* the send timeout also limits the time to connect */
	errno = 0;
	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 && !is_ourselves(fd))
		return fd;
	code = errno == EINPROGRESS ? ETIMEDOUT : errno ? errno : ECONNREFUSED;
	close(fd);
	return -code;
}

static int connect_once(const struct rt_rendezvous *m, int *ret, struct gt_err *err)
{
	struct addrinfo *list = NULL;
	int fd = -EADDRNOTAVAIL, r = resolve(m, &list, err);

	if (r)
		return r;
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
		fd = connect_to(a);
	freeaddrinfo(list);
	if (fd < 0)
		return gt_fail_errno(err, -fd, "rank 0 cannot be reached at %.100s port %d", m->host, m->port);
	*ret = fd;
	return 0;
}

/* Retries, because the first rank may not be listening yet. */
static int go_to_first(struct rt_comm *c, const struct rt_rendezvous *m, struct gt_err *err)
{
	struct rt_peer *p = &c->star->peer[0];
	double until = gt_now_s() + m->patience_s;
	int r;

	while ((r = connect_once(m, &p->fd, err)) && gt_now_s() < until)
		usleep(100000);
	if (r)
		return gt_fail_prefix(err, "after %g s", m->patience_s);
	p->heard = gt_now_s();
	rt_star_tell(c, 0, RT_HELLO, NULL, 0);
	until = gt_now_s() + m->patience_s + 2; /* shorter for the first rank, because it can name the missing rank */
	while (!r) {
		struct pollfd f = {.fd = p->fd, .events = POLLIN};

		poll(&f, 1, 100);
		r = rt_star_receive(p);
		if (r > 0 && rt_frame_ok(&p->in, c->star->job, c->size) && p->in.kind == RT_WELCOME && !p->in.rank)
			return 0;
		if (!r && gt_now_s() > until)
			return gt_fail(err, ETIMEDOUT, "not all of the %d ranks have connected to %.100s port %d for %g s",
				       m->size, m->host, m->port, m->patience_s);
	}
	if (r > 0)
		return gt_fail(err, EPROTO,
			       "the program that listens at %.100s port %d is not a rank of this job: set MASTER_PORT to a "
			       "free port",
			       m->host, m->port);
	return gt_fail(err, ECONNREFUSED,
		       "rank 0 at %.100s port %d has ended, or belongs to another job, or already has a rank %d", m->host,
		       m->port, m->rank);
}

int rt_star_join(const struct rt_rendezvous *m, struct rt_comm **ret, struct gt_err *err)
{
	struct rt_comm *c = gt_xcalloc(1, sizeof(*c));
	int r;

	c->transport = &rt_transport_star;
	c->rank = m->rank;
	c->size = m->size;
	c->nodes = c->hosts = 1;
	c->timeout_s = RT_TIMEOUT_S;
	c->home = -1;
	c->star = gt_xcalloc(1, sizeof(*c->star));
	c->star->job = m->job;
	for (int i = 0; i < RT_MAX_RANKS; i++)
		c->star->peer[i].fd = -1;
	for (int i = 0; i < c->size; i++) {
		c->world[i] = i;
		c->weight[i] = 1.0f / (float)c->size;
	}
	r = c->rank ? go_to_first(c, m, err) : receive_all(c, m, err);
	if (r)
		rt_star_leave(c, false);
	else
		*ret = c;
	return r;
}
