/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated step times with a known effect, to test the statistics and the exit codes. The host is not measured, and
 * the report says so. GPUBENCH_SIM is "effect=.05,sd=.01,step=.1,wrong=0,fail=0": the median changes by `effect`,
 * launches vary by `sd` (both as shares).
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bench/stats/rng.h"
#include "bench/workload/workloads.h"
#include "lib/parse.h"
#include "lib/text.h"

#define STEPS	32

struct sim {
	double effect, sd, step, wrong, fail;
};

static int sim_parse(const char *text, struct sim *s, struct gt_err *err)
{
	const struct {
		const char *name;
		double *dest;
	} keys[] = { { "effect", &s->effect }, { "sd", &s->sd }, { "step", &s->step }, { "wrong", &s->wrong },
		     { "fail", &s->fail } };

	gt_each_word(item, text, ",") {
		char *eq = strchr(item, '=');
		bool known = false;

		if (!eq)
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "GPUBENCH_SIM: \"%s\" is not NAME=NUMBER",
					    item);
		*eq++ = '\0';
		for (size_t k = 0; k < GT_ARRAY_SIZE(keys); k++)
			if (strcmp(item, keys[k].name) == 0)
				known = gt_parse_double(eq, keys[k].dest) == 0;
		if (!known)
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "GPUBENCH_SIM: \"%s=%s\" is not understood",
					    item, eq);
	}
	if (!(s->step > 0) || !(s->sd >= 0) || !(s->effect > -1))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "GPUBENCH_SIM: step > 0, sd >= 0 and effect > -1 are needed");
	return 0;
}

static int sim_run(struct bn_launch *l, struct gt_err *err)
{
	struct sim s = { .effect = 0, .sd = .005, .step = .1 };
	const char *text = getenv("GPUBENCH_SIM");
	double x[STEPS], launch;
	struct bn_rng rng;
	int r;

	r = text ? sim_parse(text, &s, err) : 0;
	if (r < 0)
		return r;
	if (s.fail > 0)
		return gt_fail(err, EIO, "simulated failure");
	bn_rng_seed(&rng, l->salt);
	launch = s.step * (1 + s.effect) * exp(s.sd * bn_rng_normal(&rng));
	for (int i = 0; i < STEPS; i++)
		x[i] = launch * exp(.002 * bn_rng_normal(&rng));
	if (s.wrong > 0 || l->fault)
		snprintf(l->wrong, sizeof(l->wrong), "simulated wrong result");
	json_object_set_new(l->params, "steps", json_integer(STEPS));
	bn_series(l, &bn_workload_sim, "", BN_PRIMARY, x, STEPS, 2, true);
	return 0;
}

static const char *const knobs[] = { NULL };

const struct bn_workload bn_workload_sim = {
	.id	   = "sim",
	.summary   = "simulated step times with a known effect (GPUBENCH_SIM), to test the statistics",
	.unit	   = "s",
	.direction = BN_LOWER,
	.role	   = BN_PRIMARY,
	.version   = 1,
	.margin	   = .01,
	.verifies  = "nothing: no work is done",
	.overhead  = "nothing is measured",
	.knobs	   = knobs,
	.launch_s  = .03,
	.optional  = true,
	.run	   = sim_run,
};
