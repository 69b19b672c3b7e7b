/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input that a rank receives over its connection, and Slurm's host list. The first byte selects: 'h': a host list, which
 * is rejected or has a first host with valid characters; otherwise frames to the first rank (even) or to another rank
 * (odd).
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runtime/transport/star.h"
#include "runtime/transport/transport.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 4000;

#define SIZE      4
#define BYTES_MAX (20 * sizeof(struct rt_frame)) /* bytes that a socket buffers without a reader */

static void judge_list(const uint8_t *data, size_t size)
{
	gt_autofree char *list = gt_xstrndup((const char *)data, size);
	struct gt_err err = {0};
	char name[32];

	if (rt_first_host(list, name, sizeof(name), &err) < 0) {
		FUZZ_ASSERT(strstr(err.msg, "set MASTER_ADDR"));
		return;
	}
	FUZZ_ASSERT(*name && strlen(name) < sizeof(name));
	for (const char *s = name; *s; s++)
		FUZZ_ASSERT(isalnum((unsigned char)*s) || strchr("-._", *s));
}

/* Sends all frames of another rank and closes the connection. */
static void judge_frames(int rank, const uint8_t *data, size_t size)
{
	struct rt_star star = {.job = 77};
	struct rt_comm c = {.transport = &rt_transport_star, .rank = rank, .size = SIZE, .star = &star};
	int pair[2], from = rank ? 0 : 1, r;
	size_t frames = 0;

	FUZZ_ASSERT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (int i = 0; i < RT_MAX_RANKS; i++)
		star.peer[i].fd = -1;
	star.peer[from].fd = pair[0];
	FUZZ_ASSERT(send(pair[1], data, size, MSG_NOSIGNAL) == (ssize_t)size);
	shutdown(pair[1], SHUT_WR);
	while (star.peer[from].fd >= 0) {
		r = rt_star_receive(&star.peer[from]);
		if (r < 0)
			break;
		if (!r)
			continue;
		frames++;
		rt_star_take(&c, from);
		FUZZ_ASSERT(star.ended >= 0 && star.ended <= SIZE && star.awaited >= 0 && star.awaited <= SIZE);
		FUZZ_ASSERT(star.peer[from].arrivals < 1000000000000000u);
		FUZZ_ASSERT(star.peer[from].fd >= 0 || star.ended == from + 1 || star.peer[from].bye ||
			    (rank && star.ended));
	}
	FUZZ_ASSERT(frames <= size / sizeof(struct rt_frame));
	FUZZ_ASSERT(!star.ended || frames);
	if (star.peer[from].fd >= 0)
		close(pair[0]);
	close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] == 'h')
		judge_list(data + 1, size - 1);
	else if (size > 1)
		judge_frames(data[0] & 1, data + 1, GT_MIN(size - 1, BYTES_MAX));
	return 0;
}
