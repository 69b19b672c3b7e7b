/* SPDX-License-Identifier: Apache-2.0 */
/* How long a sleeping thread takes to run again: two threads hand a token to and fro, each sleeping until it comes. Idle
 * states, the frequency governor and the scheduler are felt here, as in every barrier and every data loader. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include "bench/workload/workloads.h"

#define BATCHES	40
#define WARMUP	4
#define TURNS	500 /* there and back */

struct court {
	sem_t here, there;
	size_t back;
};

static void *partner(void *arg)
{
	struct court *c = arg;

	for (int i = 0; i < BATCHES * TURNS; i++) {
		while (sem_wait(&c->there) < 0 && errno == EINTR)
			;
		c->back++;
		sem_post(&c->here);
	}
	return NULL;
}

static int wake_run(struct bn_launch *l, struct gt_err *err)
{
	struct court c = { .back = 0 };
	double ns[BATCHES];
	pthread_t thread;
	int r;

	sem_init(&c.here, 0, 0);
	sem_init(&c.there, 0, 0);
	r = pthread_create(&thread, NULL, partner, &c);
	if (r)
		return gt_fail_errno(err, r, "cannot start a thread");
	for (int b = 0; b < BATCHES; b++) {
		double t0 = gt_now_s();

		for (int i = 0; i < TURNS; i++) {
			sem_post(&c.there);
			while (sem_wait(&c.here) < 0 && errno == EINTR)
				;
		}
		ns[b] = (gt_now_s() - t0) / (2 * TURNS) * 1e9;
	}
	pthread_join(thread, NULL);
	if (c.back + l->fault != (size_t)BATCHES * TURNS)
		snprintf(l->wrong, sizeof(l->wrong), "the token came back %zu times, not %d", c.back + (size_t)l->fault,
			 BATCHES * TURNS);
	json_object_set_new(l->params, "turns", json_integer(TURNS));
	bn_series(l, &bn_workload_wake, "", BN_EXPLORE, ns, BATCHES, WARMUP, true);
	return 0;
}

static const char *const knobs[] = { "cpu.governor", "cpu.", "run.affinity", NULL };

const struct bn_workload bn_workload_wake = {
	.id	   = "sync.wake",
	.summary   = "a sleeping thread is woken by another",
	.unit	   = "ns",
	.direction = BN_LOWER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .03,
	.verifies  = "the token comes back each time",
	.knobs	   = knobs,
	.launch_s  = .4,
	.optional  = true,
	.run	   = wake_run,
};
