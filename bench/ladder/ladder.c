/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the speed-up of each rung from its launches. */
#include <math.h>
#include "bench/ladder/ladder.h"
#include "bench/stats/stats.h"

static double round_value(const json_t *rung, int64_t round, const char *key)
{
	json_t *l;
	size_t i;

	json_array_foreach(json_object_get(rung, "launches"), i,
			   l) if (gt_json_get_int(l, "round", -1) == round &&
				  !gt_json_get_str(l, "failure", NULL)) return gt_json_get_real(l, key, NAN);
	return NAN;
}

static double median_of(const json_t *rung, const char *key)
{
	double x[BN_LADDER_ROUNDS_MAX];
	size_t i, n = 0;
	json_t *l;

	json_array_foreach(json_object_get(rung, "launches"), i, l)
	{
		double v = gt_json_get_str(l, "failure", NULL) ? NAN : gt_json_get_real(l, key, NAN);

		if (isfinite(v) && n < BN_LADDER_ROUNDS_MAX)
			x[n++] = v;
	}
	return bn_median(x, n);
}

static void compare(json_t *rung, const json_t *base, int64_t rounds, uint64_t seed)
{
	double d[BN_LADDER_ROUNDS_MAX] = {0};
	struct bn_effect e;
	size_t n = 0;

	for (int64_t k = 0; k < GT_MIN(rounds, BN_LADDER_ROUNDS_MAX); k++) {
		double v = log(round_value(rung, k, "items_per_s") / round_value(base, k, "items_per_s"));

		if (isfinite(v))
			d[n++] = v;
	}
	e = bn_signflip(d, n, .05, seed);
	json_object_set_new(rung, "speedup", gt_json_real(n ? exp(e.est) : NAN));
	json_object_set_new(rung, "speedup_low", gt_json_real(exp(e.lo)));
	json_object_set_new(rung, "speedup_high", gt_json_real(exp(e.hi)));
	json_object_set_new(rung, "rounds", json_integer((json_int_t)n));
}

void bn_ladder_analyze(json_t *doc)
{
	static const char *const levels[] = { "items_per_s", "latency_s", "planned_bytes", "max_rss_bytes", "weight_bytes",
					      "sent_bytes", "loss", "heldout_loss", "accuracy", "error", "gradient_error",
					      "bytes_per_element" };
	const json_t *run = json_object_get(doc, "run");
	json_t *l, *rung;
	size_t i, k;

	json_array_foreach(json_object_get(doc, "ladders"), i, l)
	{
		json_t *rungs = json_object_get(l, "rungs");

		json_array_foreach(rungs, k, rung)
		{
			for (size_t m = 0; m < GT_ARRAY_SIZE(levels); m++)
				json_object_set_new(rung, levels[m], gt_json_real(median_of(rung, levels[m])));
			compare(rung, json_array_get(rungs, 0), gt_json_get_int(run, "rounds", 0),
				(uint64_t)gt_json_get_int(run, "seed", 1));
		}
	}
}
