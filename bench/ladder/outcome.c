/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "bench/ladder/outcome.h"

/* Returns the bytes that the first rank sends per update, with those of the stage that sends most. NAN: one process, or a run
 * on data, whose evaluations send tensors too. */
static double sent_bytes(const json_t *doc)
{
	const json_t *groups = json_object_get(json_object_get(doc, "groups"), "tensor"), *ranks, *rank;
	double updates = (double)json_array_size(json_object_get(doc, "step_s")) + gt_json_get_real(doc, "warmup", 0);
	double reads = gt_json_get_real(groups, "sent_bytes", 0), stage = 0;

	if (gt_json_get_int(doc, "ranks", 1) < 2 || (reads > 0 && json_is_object(json_object_get(doc, "data"))))
		return NAN;
	ranks = json_object_get(json_object_get(doc, "pipeline"), "ranks");
	for (size_t i = 0; i < json_array_size(ranks); i++) {
		rank = json_array_get(ranks, i);
		stage = fmax(stage, gt_json_get_real(rank, "sent_bytes", 0));
	}
	return gt_json_get_real(json_object_get(doc, "ddp"), "sent_bytes_per_step", 0) + reads / updates + stage;
}

/* Copies the member if the document has it. */
static void copy(json_t *launch, const char *as, const json_t *doc, const char *member)
{
	json_t *v = json_object_get(doc, member);

	if (v)
		json_object_set(launch, as, v);
}

void bn_ladder_evaluation(const json_t *doc, json_t *launch)
{
	const json_t *held_out = json_object_get(doc, "evaluated");

	copy(launch, "heldout_loss", held_out, "loss");
	copy(launch, "accuracy", held_out, "accuracy");
}

/* A document of gpubench infer has one batch here. */
static void add_inference(const json_t *doc, json_t *launch)
{
	const json_t *batch = json_array_get(json_object_get(doc, "batches"), 0);

	copy(launch, "items_per_s", batch, "items_per_s");
	copy(launch, "latency_s", batch, "p50_s");
	copy(launch, "planned_bytes", batch, "planned_bytes");
	copy(launch, "weight_bytes", doc, "weight_bytes");
	bn_ladder_evaluation(doc, launch);
}

void bn_ladder_outcome(const json_t *doc, json_t *launch)
{
	static const char *const members[] = { "items_per_s", "median_step_s", "planned_bytes", "max_rss_bytes", "threads", "loss",
					       "error", "gradient_error", "bytes_per_element", "env", "gpu", "gpu_trouble" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(members); i++)
		copy(launch, members[i], doc, members[i]);
	copy(launch, "heldout_loss", doc, "heldout_loss_after");
	if (json_object_get(doc, "batches"))
		add_inference(doc, launch);
	if (isfinite(sent_bytes(doc)))
		json_object_set_new(launch, "sent_bytes", gt_json_real(sent_bytes(doc)));
}
