/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how long OpenMP threads spin before they sleep. The defaults are some milliseconds in libgomp and 200 ms in
 * libomp. They suit dedicated cores, but slow a run down if another process uses a core. A spinning thread then takes CPU time
 * from a working thread. A limit near the cost of one sleep and wake-up is never much worse than the better of spinning and
 * sleeping. libomp counts in milliseconds, so its minimum is one. Both libraries read the variable before main(), so this
 * program executes itself again, once. Variables that the user has set are not changed.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
#include "bench/train/omp_spin.h"

#define MARK	"GPUBENCH_BOUNDED_SPIN"

/* If libomp is in the process (built with clang, or preloaded), it also implements libgomp's calls and reads its own
 * variables. */
static const struct runtime {
	const char *variable, *bound, *description; /* about 20 us; 1 ms */
	const char *user_variables[3]; /* variables with which the user may have set the waiting */
} gomp = { "GOMP_SPINCOUNT", "1000", "bounded to 1000 rounds by gpubench", { "OMP_WAIT_POLICY", "GOMP_SPINCOUNT" } },
  omp = { "KMP_BLOCKTIME", "1", "bounded to 1 ms by gpubench, for libomp", { "OMP_WAIT_POLICY", "KMP_BLOCKTIME", "KMP_LIBRARY" } };

static char **arguments;

void bn_omp_spin_begin(char **argv)
{
	arguments = argv;
}

static const struct runtime *loaded_runtime(void)
{
	return dlsym(RTLD_DEFAULT, "kmp_set_blocktime") ? &omp : &gomp;
}

static const char *set_by_user(const struct runtime *k)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(k->user_variables) && k->user_variables[i]; i++)
		if (getenv(k->user_variables[i]))
			return k->user_variables[i];
	return NULL;
}

void bn_omp_spin_bound(void)
{
	const struct runtime *k = loaded_runtime();

	if (!arguments || set_by_user(k))
		return;
	setenv(k->variable, k->bound, 1);
	setenv(MARK, k->variable, 1);
	execv("/proc/self/exe", arguments);
	/* if /proc is not mounted, the runtime's own default applies */
	unsetenv(k->variable);
	unsetenv(MARK);
}

char *bn_omp_spin_text(void)
{
	const struct runtime *k = loaded_runtime();
	const char *user = set_by_user(k);

	if (user && gt_streq(getenv(MARK), k->variable) && gt_streq(getenv(k->variable), k->bound))
		return gt_xstrdup(k->description);
	return user ? gt_xasprintf("set by %s=%s", user, getenv(user)) : gt_xstrdup("OpenMP's own default");
}
