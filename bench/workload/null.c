/* SPDX-License-Identifier: Apache-2.0 */
/* An empty step. It measures the harness and is the control that no setting should change. */
#include "bench/workload/workloads.h"

#define BATCHES	64
#define STEPS	2000

double bn_null_ns(void)
{
	double t0 = gt_now_s();

	/* two clock readings and the store of a sample, as in every timed step */
	for (int i = 0; i < STEPS; i++) {
		volatile double s = gt_now_s();

		s = gt_now_s() - s;
		(void)s;
	}
	return (gt_now_s() - t0) / STEPS * 1e9;
}

static int null_run(struct bn_launch *l, struct gt_err *err)
{
	double ns[BATCHES];

	for (int b = 0; b < BATCHES; b++) {
		ns[b] = bn_null_ns();
		if (!(ns[b] > 0))
			snprintf(l->wrong, sizeof(l->wrong), "the monotonic clock did not advance in %d readings",
				 2 * STEPS);
	}
	json_object_set_new(l->params, "steps", json_integer(STEPS));
	bn_series(l, &bn_workload_null, "", BN_CONTROL, ns, BATCHES, 4, false);
	return 0;
}

static const char *const knobs[] = { NULL };

const struct bn_workload bn_workload_null = {
	.id	   = "null",
	.summary   = "an empty step: the harness itself",
	.unit	   = "ns",
	.direction = BN_LOWER,
	.role	   = BN_CONTROL,
	.version   = 1,
	.margin	   = .05,
	.verifies  = "the clock advances",
	.overhead  = "it is the overhead of all others: two clock readings and the store of a sample",
	.knobs	   = knobs,
	.launch_s  = .05,
	.run	   = null_run,
};
