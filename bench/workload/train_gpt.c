/* SPDX-License-Identifier: Apache-2.0 */
/* A small GPT learns the bytes of real text; what counts is the time of a step, and only if it really learned. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/train.h"
#include "bench/workload/workloads.h"

#define STEPS	60
#define WARMUP	6

/* Sizes belong to the definition; what the run chose for itself (threads, pages, instruction set) does not. */
static void keep(const json_t *from, json_t *to, const char *const *names)
{
	for (; *names; names++)
		if (json_object_get(from, *names))
			json_object_set(to, *names, json_object_get(from, *names));
}

static int train_gpt_run(struct bn_launch *l, struct gt_err *err)
{
	static const char *const sizes[] = { "model", "batch", "seq", "parameters", "amp", "device", "lr", NULL };
	static const char *const chosen[] = { "threads", "blas", "isa", "pages", "placement", "heldout_loss_before",
					      "heldout_loss_after", "items_per_s", "max_rss_bytes", "planned_bytes",
					      "minor_faults_per_step", "warnings", NULL };
	/* The seed of the pair: both arms train on the same batches from the same parameters. */
	struct bn_train_options o = { .model = "gpt", .data = l->data, .steps = STEPS + WARMUP, .warmup = 0,
				      .seed = 1 + l->seed % 1000000 };
	double step_s[STEPS + WARMUP], before, after;
	gt_auto_json *doc = NULL;
	json_t *list, *v;
	size_t n = 0, i;
	int r;

	r = bn_train(&o, &doc, err);
	if (r < 0)
		return r;
	list = json_object_get(doc, "step_s");
	json_array_foreach(list, i, v)
		if (n < GT_ARRAY_SIZE(step_s))
			step_s[n++] = json_number_value(v);
	before = gt_json_get_real(doc, "heldout_loss_before", NAN);
	after = gt_json_get_real(doc, "heldout_loss_after", NAN);
	if (l->fault)
		after = before;
	if (gt_json_get_bool(doc, "void", true) || !(after < before))
		snprintf(l->wrong, sizeof(l->wrong),
			 "the held-out loss did not fall (%.4f before, %.4f after): the run is void", before, after);
	keep(doc, l->params, sizes);
	json_object_set_new(l->params, "steps", json_integer(STEPS));
	json_object_set_new(l->params, "data", gt_json_str(l->data ? l->data : "licence texts of this host"));
	keep(doc, l->notes, chosen);
	bn_series(l, &bn_workload_train_gpt, "", BN_PRIMARY, step_s, n, WARMUP, true);
	return 0;
}

static const char *const knobs[] = {"omp.",         "run.", "thp.", "vm.swappiness", "kernel.numa_balancing",
				    "cpu.governor", NULL};

const struct bn_workload bn_workload_train_gpt = {
	.id	   = "train.gpt",
	.summary   = "one training step of a small GPT on the bytes of real text",
	.unit	   = "s",
	.direction = BN_LOWER,
	.role	   = BN_PRIMARY,
	.version   = 1,
	.margin	   = .01,
	.verifies  = "the loss on held-out text falls",
	.knobs	   = knobs,
	.launch_s  = 3,
	.run	   = train_gpt_run,
};
