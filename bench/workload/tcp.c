/* SPDX-License-Identifier: Apache-2.0 */
/* One TCP stream over the loopback device, as rendezvous and data services on one host use it. Buffer limits and
 * congestion settings have an effect; the network card has none. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "bench/workload/workloads.h"

#define ROUNDS	  24
#define WARMUP	  4
#define CHUNK_MAX ((size_t)4 << 20)
#define ROUND	  ((size_t)16 << 20)

/* Bytes per send and requested socket buffers. 0 leaves the buffers to the kernel's autotuning (net.ipv4.tcp_rmem and
 * tcp_wmem). Other sizes are limited by net.core.rmem_max and wmem_max. */
static const struct variant {
	const char *suffix;
	size_t chunk;
	int buffer;
} variants[] = {
	{ "", 256 << 10, 0 },
	{ ".send4k", 4 << 10, 0 },
	{ ".send4m", 4 << 20, 0 },
	{ ".buffer64k", 256 << 10, 64 << 10 },
	{ ".buffer4m", 256 << 10, 4 << 20 },
};

struct stream {
	int fd;
	size_t bytes;
	uint64_t damaged;
};

static void *receive(void *arg)
{
	struct stream *s = arg;
	gt_autofree unsigned char *buf = gt_xcalloc(1, CHUNK_MAX);
	ssize_t n;

	/* The receiver acknowledges every round with one byte, so that a round ends when the data has arrived, not with
	 * the last send. */
	while (s->bytes < ROUNDS * ROUND && (n = recv(s->fd, buf, CHUNK_MAX, 0)) > 0) {
		size_t before = s->bytes / ROUND;

		for (ssize_t i = 0; i < n; i++)
			s->damaged += buf[i] != 0x5a;
		s->bytes += (size_t)n;
		if (s->bytes / ROUND != before && send(s->fd, "k", 1, 0) != 1)
			break;
	}
	return NULL;
}

/* Call before connecting, because connecting negotiates the window. */
static void set_buffers(int fd, int bytes)
{
	if (bytes) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	}
}

static int connect_pair(int buffer, int *ret_a, int *ret_b, struct gt_err *err)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	gt_autoclose int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	gt_autoclose int a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(addr);
	int b;

	set_buffers(listener, buffer);
	set_buffers(a, buffer);
	if (listener < 0 || a < 0 || bind(listener, (struct sockaddr *)&addr, len) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) < 0 || connect(a, (struct sockaddr *)&addr, len) < 0)
		return gt_fail_errno(err, errno, "cannot connect over the loopback device");
	b = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (b < 0)
		return gt_fail_errno(err, errno, "cannot accept over the loopback device");
	*ret_a = a;
	*ret_b = b;
	a = -1;
	return 0;
}

static int send_round(int fd, const unsigned char *buf, size_t chunk, struct gt_err *err)
{
	char ack;

	for (size_t sent = 0; sent < ROUND;) {
		ssize_t n = send(fd, buf, GT_MIN(chunk, ROUND - sent), MSG_NOSIGNAL);

		if (n < 0)
			return gt_fail_errno(err, errno, "cannot send over the loopback device");
		sent += (size_t)n;
	}
	return recv(fd, &ack, 1, MSG_WAITALL) == 1 ? 0 : gt_fail(err, EIO, "the stream ended early");
}

static void note_granted(struct bn_launch *l, const struct variant *v, int fd)
{
	gt_autofree char *name = gt_xasprintf("granted_bytes%s", v->suffix);
	int granted = 0;
	socklen_t len = sizeof(granted);

	if (v->buffer && getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &granted, &len) == 0)
		json_object_set_new(l->notes, name, json_integer(granted));
}

static int one_stream(struct bn_launch *l, const struct variant *v, const unsigned char *buf, struct gt_err *err)
{
	gt_autoclose int a = -1, b = -1;
	struct stream s = { 0 };
	double rate[ROUNDS];
	pthread_t thread;
	int r = connect_pair(v->buffer, &a, &b, err);

	if (r < 0)
		return r;
	s.fd = b;
	r = pthread_create(&thread, NULL, receive, &s);
	if (r)
		return gt_fail_errno(err, r, "cannot start a thread");
	for (int i = 0; i < ROUNDS && r == 0; i++) {
		double t0 = gt_now_s();

		r = send_round(a, buf, v->chunk, err);
		rate[i] = (double)ROUND / (gt_now_s() - t0) / 1e9;
	}
	note_granted(l, v, a);
	shutdown(a, SHUT_RDWR);
	pthread_join(thread, NULL);
	if (r < 0)
		return r;
	if (s.bytes != ROUNDS * ROUND || s.damaged + l->fault)
		snprintf(l->wrong, sizeof(l->wrong), "%zu bytes arrived, %llu of them damaged", s.bytes,
			 (unsigned long long)(s.damaged + l->fault));
	bn_series(l, &bn_workload_tcp, v->suffix, BN_EXPLORE, rate, ROUNDS, WARMUP, false);
	return 0;
}

static int tcp_run(struct bn_launch *l, struct gt_err *err)
{
	gt_autofree unsigned char *buf = gt_xcalloc(1, CHUNK_MAX);
	int r = 0;

	memset(buf, 0x5a, CHUNK_MAX);
	for (size_t i = 0; i < GT_ARRAY_SIZE(variants) && !r; i++)
		r = one_stream(l, &variants[i], buf, err);
	json_object_set_new(l->params, "round_bytes", json_integer((json_int_t)ROUND));
	return r;
}

static const char *const knobs[] = { "net.", "cpu.governor", NULL };

const struct bn_workload bn_workload_tcp = {
	.id	   = "tcp.stream",
	.summary   = "one TCP stream over the loopback device, by size of a send and of the socket buffers",
	.unit	   = "GB/s",
	.direction = BN_HIGHER,
	.role	   = BN_EXPLORE,
	.version   = 2,
	.margin	   = .03,
	.verifies  = "every byte arrives as it was sent",
	.overhead  = "two clock readings per round of megabytes; the sender waits while the receiver checks the data",
	.knobs	   = knobs,
	.launch_s  = 2.5,
	.optional  = true,
	.run	   = tcp_run,
};
