/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from rank to rank, and the loss of the other rank. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/check_comm.h"

#define MESSAGES 50

static uint32_t element(int from, int message, size_t i)
{
	return (uint32_t)(1000003 * from + 131 * message) + (uint32_t)i;
}

static int send_all(struct rt_p2p *q, uint32_t *x, struct gt_err *err)
{
	for (int m = 0; m < MESSAGES; m++) {
		int r;

		for (size_t i = 0; i < q->bytes / 4; i++)
			x[i] = element(q->from, m, i);
		r = rt_send(q, x, err);
		if (r)
			return r;
		memset(x, 0xff, q->bytes); /* the message is a copy */
	}
	return 0;
}

static int receive_all(struct rt_p2p *q, uint32_t *x, struct gt_err *err)
{
	for (int m = 0; m < MESSAGES; m++) {
		int r = rt_receive(q, x, err);

		if (r)
			return r;
		for (size_t i = 0; i < q->bytes / 4; i++)
			WANT(x[i] == element(q->from, m, i), "message %d of rank %d, element %zu: %u", m, q->from, i, x[i]);
	}
	return 0;
}

/*
 * The messages pass from rank 0 to the last rank and back. Each rank forwards them when all messages of the previous
 * rank have arrived.
 */
static int relay(struct rt_comm *c, const struct rt_p2p *like, struct gt_err *err)
{
	size_t queue = rt_p2p_bytes(like->bytes, like->slots);
	uint32_t *x = gt_xcalloc(1, like->bytes);
	int rank = rt_comm_rank(c), last = rt_comm_size(c) - 1, r;
	rt_auto_window w = { 0 };

	r = rt_window_map(c, 2 * queue, false, &w, err);
	for (int step = 0; !r && step < 2; step++) { /* a queue opened again continues */
		for (int back = 0; !r && back < 2; back++) {
			struct rt_p2p in = *like, out = *like;
			int from = back ? rank + 1 : rank - 1, to = back ? rank - 1 : rank + 1;

			in.window = out.window = &w;
			in.offset = out.offset = back ? queue : 0;
			in.tag = out.tag = back;
			in.from = from;
			in.to = out.from = rank;
			out.to = to;
			if (from >= 0 && from <= last) {
				r = rt_p2p_init(&in, err);
				if (!r)
					r = receive_all(&in, x, err);
				rt_p2p_clear(&in);
			}
			if (!r && to >= 0 && to <= last) {
				r = rt_p2p_init(&out, err);
				if (!r)
					r = send_all(&out, x, err);
				if (!r)
					r = rt_comm_alive(c, err);
				rt_p2p_clear(&out);
			}
		}
		if (!r)
			r = rt_comm_agree(c, 1, "the end of a round", err);
	}
	free(x);
	return r;
}

int messages(struct rt_comm *c, void *arg, struct gt_err *err)
{
	static const struct rt_p2p kinds[] = {
		{ .bytes = 4, .slots = 1 },
		{ .bytes = 4, .slots = 7 },
		{ .bytes = 65540, .slots = 2 },
		{ .bytes = 300000, .slots = 1 },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(kinds); i++) {
		int r = relay(c, &kinds[i], err);

		if (r)
			return r;
	}
	return 0;
}

START_TEST(messages_arrive_complete_and_in_order)
{
	run(&(struct rt_group){ .ranks = 2 + _i }, messages, NULL);
}
END_TEST

struct loss {
	int how;
	bool full; /* rank 0 waits for a free slot, not for a message */
};

/* Rank 1 ends or hangs in the middle while rank 0 waits for it. */
static int lose_the_other(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct loss *loss = arg;
	rt_auto_window w = { 0 };
	struct rt_p2p q = { .window = &w, .bytes = 64, .slots = 1, .from = !loss->full, .to = loss->full };
	char x[64] = { 0 };
	int r = rt_window_map(c, rt_p2p_bytes(64, 1), false, &w, err);

	if (!r)
		r = rt_p2p_init(&q, err);
	if (loss->how == 2)
		rt_comm_set_timeout(c, 0.2);
	for (int i = 0; !r && i < 10; i++) {
		if (rt_comm_rank(c) == 1 && i == 5) {
			if (loss->how == 0)
				raise(SIGKILL);
			if (loss->how == 1)
				return gt_fail(err, ENOSPC, "the disk is full");
			pause();
		}
		r = rt_comm_rank(c) == q.from ? rt_send(&q, x, err) : rt_receive(&q, x, err);
	}
	return r;
}

START_TEST(a_lost_rank_ends_the_one_that_waits_for_it)
{
	static const char *const want[] = { "rank 1: killed by signal 9 (Killed)", "rank 1: the disk is full",
					    "rank 0: rank 1 has not arrived for 0.2 s" };
	struct rt_group g = { .ranks = 2, .grace_s = 0.5 };
	struct loss loss = { .how = _i % 3, .full = _i >= 3 };
	struct gt_err err = { 0 };

	ck_assert_int_lt(rt_group_run(&g, lose_the_other, &loss, &err), 0);
	ck_assert_msg(strstr(err.msg, want[loss.how]) != NULL, "%s", err.msg);
}
END_TEST

static int open_badly(struct rt_comm *c, void *arg, struct gt_err *err)
{
	rt_auto_window w = { 0 };
	struct rt_p2p wide = { .window = &w, .bytes = 4096, .slots = 2, .to = 1 };
	struct rt_p2p self = { .window = &w, .bytes = 64, .slots = 1 };
	struct gt_err why = { 0 };
	int r = rt_window_map(c, 4096, false, &w, err);

	if (r)
		return r;
	WANT(rt_p2p_init(&wide, &why) == -EINVAL && strstr(why.msg, "does not fit its window of 4096"), "%s", why.msg);
	WANT(rt_p2p_init(&self, &why) == -EINVAL && strstr(why.msg, "from rank 0 to rank 0"), "%s", why.msg);
	return 0;
}

START_TEST(a_queue_that_does_not_fit_is_refused)
{
	run(&(struct rt_group){ .ranks = 2 }, open_badly, NULL);
}
END_TEST

TCase *case_messages(void)
{
	TCase *t = tcase_create("messages");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, messages_arrive_complete_and_in_order, 0, 3);
	tcase_add_loop_test(t, a_lost_rank_ends_the_one_that_waits_for_it, 0, 6);
	tcase_add_test(t, a_queue_that_does_not_fit_is_refused);
	return t;
}
