/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "tune/launch/rank_library.h"
#include "tune/launch/settings.h"

#define ASAN "verify_asan_link_order"

static void prepare_ranks(const struct tn_launch *c, struct tn_run *r)
{
	const char *user = tn_run_value(c, "LD_PRELOAD"), *asan = tn_run_value(c, "ASAN_OPTIONS");
	gt_autofree char *value = asan ? gt_xasprintf("%s:" ASAN "=0", asan) : gt_xstrdup(ASAN "=0");

	if (!c->rank_library)
		return;
	r->for_descendants = true;
	if (!user || !strstr(user, TN_RANK_LIBRARY))
		tn_run_preload(c, r, c->rank_library, "gives each rank that the command starts its CPUs, memory and threads");
	if (!asan || !strstr(asan, ASAN))
		tn_run_set(c, r, "ASAN_OPTIONS", value, "AddressSanitizer ends a program if a library is preloaded before it");
}

const struct tn_launch_setting tn_launch_ranks = {
	.id = "run.ranks",
	.summary = "settings for each rank, whatever starts it",
	.why = "If a script, uv or make starts a launcher, the command line does not show that there will be ranks. A preloaded "
	       "library recognises the first process of each rank by the launcher's variables, such as LOCAL_RANK. It executes "
	       "this process again with the settings of the rank. The launcher and all other programs are unchanged. "
	       "OMP_NUM_THREADS=1 by torchrun is replaced. A value that the user or a script has set is kept.",
	.hazard = "Programs that refuse preloaded libraries, and 32-bit programs, for which ld.so prints an error. The library "
		  "is removed from the environment of container runtimes and of launchers that name other hosts: use gputune "
		  "run there, in each rank.",
	.unit = "environment",
	.mechanism = "train.gpt",
	.prepare = prepare_ranks,
};
