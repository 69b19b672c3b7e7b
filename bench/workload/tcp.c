/* SPDX-License-Identifier: Apache-2.0 */
/* One TCP stream over the loopback device, as rendezvous and data services between processes of a host use it. Buffer limits
 * and the congestion settings are felt; the network card is not. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "bench/workload/workloads.h"

#define ROUNDS	24
#define WARMUP	4
#define CHUNK	((size_t)256 << 10)
#define CHUNKS	64 /* per round: 16 MiB */

struct stream {
	int fd;
	size_t bytes;
	uint64_t damaged;
};

static void *receive(void *arg)
{
	struct stream *s = arg;
	gt_autofree unsigned char *buf = gt_xcalloc(1, CHUNK);
	ssize_t n;

	/* every round is acknowledged by one byte, so that its end is the arrival and not the last send */
	while (s->bytes < (size_t)ROUNDS * CHUNKS * CHUNK && (n = recv(s->fd, buf, CHUNK, 0)) > 0) {
		size_t before = s->bytes / (CHUNKS * CHUNK);

		for (ssize_t i = 0; i < n; i++)
			s->damaged += buf[i] != 0x5a;
		s->bytes += (size_t)n;
		if (s->bytes / (CHUNKS * CHUNK) != before && send(s->fd, "k", 1, 0) != 1)
			break;
	}
	return NULL;
}

static int connect_pair(int *ret_a, int *ret_b, struct gt_err *err)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	gt_autoclose int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	gt_autoclose int a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(addr);
	int b;

	if (door < 0 || a < 0 || bind(door, (struct sockaddr *)&addr, len) < 0 || listen(door, 1) < 0 ||
	    getsockname(door, (struct sockaddr *)&addr, &len) < 0 || connect(a, (struct sockaddr *)&addr, len) < 0)
		return gt_fail_errno(err, errno, "cannot connect over the loopback device");
	b = accept4(door, NULL, NULL, SOCK_CLOEXEC);
	if (b < 0)
		return gt_fail_errno(err, errno, "cannot accept over the loopback device");
	*ret_a = a;
	*ret_b = b;
	a = -1;
	return 0;
}

static int send_round(int fd, const unsigned char *buf, struct gt_err *err)
{
	char ack;

	for (size_t sent = 0; sent < CHUNKS * CHUNK;) {
		ssize_t n = send(fd, buf, GT_MIN(CHUNK, CHUNKS * CHUNK - sent), MSG_NOSIGNAL);

		if (n < 0)
			return gt_fail_errno(err, errno, "cannot send over the loopback device");
		sent += (size_t)n;
	}
	return recv(fd, &ack, 1, MSG_WAITALL) == 1 ? 0 : gt_fail(err, EIO, "the stream ended early");
}

static int tcp_run(struct bn_launch *l, struct gt_err *err)
{
	gt_autofree unsigned char *buf = gt_xcalloc(1, CHUNK);
	gt_autoclose int a = -1, b = -1;
	struct stream s = { 0 };
	double rate[ROUNDS];
	pthread_t thread;
	int r = connect_pair(&a, &b, err);

	if (r < 0)
		return r;
	memset(buf, 0x5a, CHUNK);
	s.fd = b;
	r = pthread_create(&thread, NULL, receive, &s);
	if (r)
		return gt_fail_errno(err, r, "cannot start a thread");
	for (int i = 0; i < ROUNDS && r == 0; i++) {
		double t0 = gt_now_s();

		r = send_round(a, buf, err);
		rate[i] = (double)(CHUNKS * CHUNK) / (gt_now_s() - t0) / 1e9;
	}
	shutdown(a, SHUT_RDWR);
	pthread_join(thread, NULL);
	if (r < 0)
		return r;
	if (s.bytes != (size_t)ROUNDS * CHUNKS * CHUNK || s.damaged + l->fault)
		snprintf(l->wrong, sizeof(l->wrong), "%zu bytes came through, %llu of them damaged", s.bytes,
			 (unsigned long long)(s.damaged + l->fault));
	json_object_set_new(l->params, "round_bytes", json_integer((json_int_t)(CHUNKS * CHUNK)));
	bn_series(l, &bn_workload_tcp, "", BN_EXPLORE, rate, ROUNDS, WARMUP, false);
	return 0;
}

static const char *const knobs[] = { "net.", "cpu.governor", NULL };

const struct bn_workload bn_workload_tcp = {
	.id	   = "tcp.stream",
	.summary   = "one TCP stream over the loopback device",
	.unit	   = "GB/s",
	.direction = BN_HIGHER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .03,
	.verifies  = "every byte arrives as it was sent",
	.knobs	   = knobs,
	.launch_s  = .6,
	.optional  = true,
	.run	   = tcp_run,
};
