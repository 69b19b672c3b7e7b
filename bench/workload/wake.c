/* SPDX-License-Identifier: Apache-2.0 */
/* Wake-up latency of a sleeping thread. Two threads pass a token back and forth and sleep until it arrives. One thread
 * sleeps until a given time, where idle states and timer slack have most effect. The frequency governor and the
 * scheduler affect both, as they affect every barrier and every data loader. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include "bench/stats/stats.h"
#include "bench/workload/workloads.h"

#define BATCHES	40
#define WARMUP	4
#define TURNS	500 /* round trips */
#define SLEEPS 50  /* sleeps of a batch; the next constant is their distance */
#define EVERY_NS 500000

struct token {
	sem_t back_sem, forth_sem;
	size_t back;
};

static void *partner(void *arg)
{
	struct token *c = arg;

	for (int i = 0; i < BATCHES * TURNS; i++) {
		while (sem_wait(&c->forth_sem) < 0 && errno == EINTR)
			;
		c->back++;
		sem_post(&c->back_sem);
	}
	return NULL;
}

/*
 * Measures how late a timer wakes this thread, in ns. The value of a batch is its median, which ignores single
 * interrupted sleeps.
 */
static void by_timer(struct bn_launch *l)
{
	double delay_ns[SLEEPS], ns[BATCHES];
	struct timespec next, now;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int b = 0; b < BATCHES; b++) {
		for (int i = 0; i < SLEEPS; i++) {
			next.tv_nsec += EVERY_NS;
			next.tv_sec += next.tv_nsec / 1000000000;
			next.tv_nsec %= 1000000000;
			while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
				;
			clock_gettime(CLOCK_MONOTONIC, &now);
			delay_ns[i] = (double)(now.tv_sec - next.tv_sec) * 1e9 + (double)(now.tv_nsec - next.tv_nsec);
			if (delay_ns[i] < 0)
				snprintf(l->wrong, sizeof(l->wrong), "a sleep ended %.0f ns before its time", -delay_ns[i]);
			if (delay_ns[i] > EVERY_NS) /* skips a missed time instead of catching up without sleep */
				next = now;
		}
		ns[b] = bn_median(delay_ns, SLEEPS);
	}
	bn_series(l, &bn_workload_wake, ".timer", BN_EXPLORE, ns, BATCHES, WARMUP, true);
}

static int wake_run(struct bn_launch *l, struct gt_err *err)
{
	struct token c = { .back = 0 };
	double ns[BATCHES];
	pthread_t thread;
	int r;

	sem_init(&c.back_sem, 0, 0);
	sem_init(&c.forth_sem, 0, 0);
	r = pthread_create(&thread, NULL, partner, &c);
	if (r)
		return gt_fail_errno(err, r, "cannot start a thread");
	for (int b = 0; b < BATCHES; b++) {
		double t0 = gt_now_s();

		for (int i = 0; i < TURNS; i++) {
			sem_post(&c.forth_sem);
			while (sem_wait(&c.back_sem) < 0 && errno == EINTR)
				;
		}
		ns[b] = (gt_now_s() - t0) / (2 * TURNS) * 1e9;
	}
	pthread_join(thread, NULL);
	if (c.back + l->fault != (size_t)BATCHES * TURNS)
		snprintf(l->wrong, sizeof(l->wrong), "the token came back %zu times, not %d", c.back + (size_t)l->fault,
			 BATCHES * TURNS);
	json_object_set_new(l->params, "turns", json_integer(TURNS));
	json_object_set_new(l->params, "sleep_ns", json_integer(EVERY_NS));
	bn_series(l, &bn_workload_wake, "", BN_EXPLORE, ns, BATCHES, WARMUP, true);
	by_timer(l);
	return 0;
}

static const char *const knobs[] = { "cpu.governor", "cpu.", "run.affinity", NULL };

const struct bn_workload bn_workload_wake = {
	.id	   = "sync.wake",
	.summary   = "a sleeping thread is woken by another, and by its timer",
	.unit	   = "ns",
	.direction = BN_LOWER,
	.role	   = BN_EXPLORE,
	.version   = 2,
	.margin	   = .03,
	.verifies  = "the token returns each time, and no sleep ends early",
	.overhead  = "two clock readings per 500 turns of the token, and one per sleep of the timer",
	.knobs	   = knobs,
	.launch_s  = 1.5,
	.optional  = true,
	.run	   = wake_run,
};
