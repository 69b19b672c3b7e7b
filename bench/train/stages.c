/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements of the stages of a pipeline. */
#include <math.h>
#include "bench/train/stages.h"

static const char *const keys[] = { "stage", "in_flight", "window_bytes", "work_share", "span_s", "waited_s", "sent_bytes",
				    "updates" };

static int gather(struct rt_comm *c, double value, const char *key, json_t *ranks, double *ret_sum, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	int r = rt_comm_gather(c, value, of, err);

	if (r)
		return r;
	*ret_sum = 0;
	for (int i = 0; i < rt_comm_size(c); i++) {
		bool whole = of[i] >= 0 && of[i] < 1e15 && !(fabs(of[i] - floor(of[i])) > 0);

		json_object_set_new(json_array_get(ranks, (size_t)i), key,
				    whole ? json_integer((json_int_t)of[i]) : gt_json_real(of[i]));
		*ret_sum += of[i];
	}
	return 0;
}

/*
 * Returns the bubble that follows from counted work: a batch passes all stages once, and the longest stage then finishes
 * one microbatch after the other.
 */
static double planned_bubble(const json_t *ranks, double stages, double microbatches)
{
	double sum = 0, most = 0;
	json_t *rank;
	size_t i;

	json_array_foreach(ranks, i, rank) {
		double work = json_number_value(json_object_get(rank, "work_share"));

		most = fmax(most, work);
		sum += work;
	}
	sum /= (double)json_array_size(ranks) / stages; /* mean time of one pipeline */
	return 1 - microbatches * (sum / stages) / (sum + (microbatches - 1) * most);
}

int bn_train_measure_stages(struct bn_training *r, struct gt_err *err)
{
	gt_auto_json *report = rt_program_report(r->program), *ranks = json_array();
	const json_t *own = json_object_get(report, "pipeline");
	double span = 0, waited = 0, updates = 0, sum, n = (double)r->o.pp, m = (double)r->o.microbatches;
	int status;

	if (!own)
		return 0;
	for (int i = 0; i < rt_comm_size(r->comm); i++)
		json_array_append_new(ranks, json_object());
	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++) {
		status = gather(r->comm, gt_json_get_real(own, keys[i], NAN), keys[i], ranks, &sum, err);
		if (status)
			return status;
		span = gt_streq(keys[i], "span_s") ? sum : span;
		waited = gt_streq(keys[i], "waited_s") ? sum : waited;
		updates = gt_streq(keys[i], "updates") ? sum : updates;
	}
	status = gather(r->comm, (double)rt_program_planned_bytes(r->program), "planned_bytes", ranks, &sum, err);
	if (status)
		return status;
	status = gather(r->comm, (double)r->rss_bytes, "max_rss_bytes", ranks, &sum, err);
	if (status)
		return status;
	r->stages = json_pack("{s:I, s:s, s:I, s:o, s:o, s:o, s:O}", "stages", (json_int_t)r->o.pp, "schedule",
			      gt_streq(r->o.schedule, "gpipe") ? "gpipe" : "1f1b", "microbatches", (json_int_t)r->o.microbatches,
			      "bubble", gt_json_real(updates > 0 ? waited / span : NAN), "bubble_equal_stages",
			      gt_json_real((n - 1) / (m + n - 1)), "bubble_counted_work", gt_json_real(planned_bubble(ranks, n, m)),
			      "ranks", ranks);
	return 0;
}
