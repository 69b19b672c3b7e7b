/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long OpenMP's threads spin before they sleep. libgomp's own default, some milliseconds, is right on cores of one's own
 * and ruins a run when another process takes one: the waiting thread burns the time that the working one needs. A bound of
 * about what a sleep and a wake-up cost is never far from the better of the two. libgomp reads it before main, so that this
 * program starts itself again, once. What the user sets stands.
 */
#include <stdlib.h>
#include <unistd.h>
#include "bench/spin.h"

#define BOUND	"1000" /* about 20 us */
#define MARK	"GPUBENCH_BOUNDED_SPIN"

static const char *const users[] = { "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME" };

static const char *set_by_user(void)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(users); i++)
		if (getenv(users[i]))
			return users[i];
	return NULL;
}

void bn_spin_bound(char **argv)
{
	if (set_by_user())
		return;
	setenv("GOMP_SPINCOUNT", BOUND, 1);
	setenv(MARK, "1", 1);
	execv("/proc/self/exe", argv);
	/* without /proc everything works, with libgomp's own default */
	unsetenv("GOMP_SPINCOUNT");
	unsetenv(MARK);
}

char *bn_spin_text(void)
{
	const char *user = set_by_user();

	if (getenv(MARK))
		return gt_xstrdup("bounded to " BOUND " rounds by gpubench");
	return user ? gt_xasprintf("as %s=%s says", user, getenv(user)) : gt_xstrdup("OpenMP's own default");
}
