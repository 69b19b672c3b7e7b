/* SPDX-License-Identifier: Apache-2.0 */
/* Training steps. For real text the loss on held-out text must fall. For random samples the final loss must be lower
 * than that of guessing. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/train/train.h"
#include "bench/workload/workloads.h"
#include "lib/fsroot.h"
#include "runtime/runtime.h"

#define WARMUP	6

/* Copies members. Sizes belong to the definition; values that the run chose itself (threads, pages, instruction set) do
 * not. */
static void copy_members(const json_t *from, json_t *to, const char *const *names)
{
	for (; *names; names++)
		if (json_object_get(from, *names))
			json_object_set(to, *names, json_object_get(from, *names));
}

/* guess: the loss of an untrained model; 0 for text, where the held-out loss is checked instead. */
static void verify(struct bn_launch *l, const json_t *doc, double guess)
{
	double before = gt_json_get_real(doc, "heldout_loss_before", NAN), loss = gt_json_get_real(doc, "loss", NAN);
	double after = gt_json_get_real(doc, "heldout_loss_after", NAN);

	if (l->fault) {
		after = before;
		loss = guess;
	}
	if (guess > 0 && !(loss < guess))
		snprintf(l->wrong, sizeof(l->wrong), "the final loss is %.4f, but guessing has %.4f: the run is void", loss,
			 guess);
	else if (guess == 0 && (gt_json_get_bool(doc, "void", true) || !(after < before)))
		snprintf(l->wrong, sizeof(l->wrong),
			 "the held-out loss did not fall (%.4f before, %.4f after): the run is void", before, after);
}

static int train(struct bn_launch *l, const struct bn_workload *w, struct bn_train_options *o, enum bn_role role, double guess,
		 struct gt_err *err)
{
	static const char *const sizes[] = { "model", "batch", "seq", "parameters", "amp", "device", "lr", NULL };
	static const char *const chosen[] = { "threads", "blas", "isa", "pages", "placement", "heldout_loss_before",
					      "heldout_loss_after", "loss", "items_per_s", "max_rss_bytes", "planned_bytes",
					      "minor_faults_per_step", "warnings", NULL };
	gt_autofree double *step_s = gt_xcalloc(o->steps + WARMUP, sizeof(*step_s));
	uint64_t timed = o->steps;
	gt_auto_json *doc = NULL;
	size_t n = 0, i;
	json_t *v;
	int r;

	/* uses the seed of the pair, so that both arms have the same batches and initial parameters */
	o->seed = 1 + l->seed % 1000000;
	o->steps += WARMUP;
	o->warmup = 0;
	o->alone = true; /* ignores the launcher, which started the session and not this run */
	o->workers = 1; /* the same work, whatever the number of threads in an arm */
	r = bn_train(o, &doc, err);
	if (r < 0)
		return r;
	json_array_foreach(json_object_get(doc, "step_s"), i, v)
		if (n < timed + WARMUP)
			step_s[n++] = json_number_value(v);
	verify(l, doc, guess);
	copy_members(doc, l->params, sizes);
	json_object_set_new(l->params, "steps", json_integer((json_int_t)timed));
	if (guess == 0)
		json_object_set_new(l->params, "data", gt_json_str(o->data ? o->data : "licence texts of this host"));
	if (o->ranks > 1)
		json_object_set_new(l->params, "ranks", json_integer((json_int_t)o->ranks));
	copy_members(doc, l->notes, chosen);
	bn_series(l, w, "", role, step_s, n, WARMUP, true);
	return 0;
}

static int gpt_run(struct bn_launch *l, struct gt_err *err)
{
	struct bn_train_options o = { .model = "gpt", .lr = NAN, .data = l->data, .steps = 60 };

	return train(l, &bn_workload_train_gpt, &o, BN_PRIMARY, 0, err);
}

static int ddp_run(struct bn_launch *l, struct gt_err *err)
{
	struct bn_train_options o = { .model = "gpt", .lr = NAN, .data = l->data, .ranks = 2, .steps = 40 };

	return train(l, &bn_workload_train_ddp, &o, BN_EXPLORE, 0, err);
}

/* Ten classes of random samples, the same in every step. */
static int resnet_run(struct bn_launch *l, struct gt_err *err)
{
	struct bn_train_options o = { .model = "resnet20", .lr = NAN, .batch = 32, .steps = 16 };

	return train(l, &bn_workload_train_resnet, &o, BN_EXPLORE, log(10), err);
}

static int mlp_run(struct bn_launch *l, struct gt_err *err)
{
	struct bn_train_options o = { .model = "mlp", .lr = NAN, .steps = 60 };

	return train(l, &bn_workload_train_mlp, &o, BN_EXPLORE, log(10), err);
}

static int gpu_run(struct bn_launch *l, struct gt_err *err)
{
	struct bn_train_options o = { .model = "gpt", .lr = NAN, .data = l->data, .device = "cuda", .steps = 120 };

	return train(l, &bn_workload_train_gpu, &o, BN_EXPLORE, 0, err);
}

/*
 * The models that are commonly used to measure GPUs. Before each run a slice of the model, with its original widths, is trained
 * for SLICE_STEPS updates. This is done on the CPU in f32 and on the device in its type. Both start from the same parameters
 * and batch. Their losses must agree within a share of the CPU's loss. On the CPU, bf16 changes the loss of the GPT-2 slice by
 * 0.01 %. It changes the loss of the ResNet-50 slice, whose last batchnorms have 32 samples, by 1.7 %. The limit for f32 is
 * narrower, and the slice learns faster in f32.
 */
#define SLICE_STEPS	3
struct slice {
	struct bn_train_options o;
	double max_difference; /* largest difference of the losses, as a share */
};

static int slice_loss(const struct bn_train_options *slice, const char *device, double *ret, struct gt_err *err)
{
	struct bn_train_options o = *slice;
	gt_auto_json *doc = NULL;
	int r;

	o.device = device;
	o.amp = device ? o.amp : NULL;
	r = bn_train(&o, &doc, err);
	*ret = gt_json_get_real(doc, "loss", NAN);
	return r;
}

static int compare_slice(struct bn_launch *l, const struct slice *s, struct gt_err *err)
{
	struct bn_train_options o = s->o;
	gt_autofree char *key = gt_xasprintf("slice_loss_%s", o.amp ? o.amp : "fp32");
	double cpu, device = NAN;
	int r;

	o.steps = SLICE_STEPS;
	o.seed = 1 + l->seed % 1000000;
	o.alone = true;
	o.workers = 1;
	r = slice_loss(&o, NULL, &cpu, err);
	if (r)
		return r;
	r = slice_loss(&o, "cuda", &device, err);
	if (r)
		return r;
	if (l->fault)
		device *= 1 + 2 * s->max_difference;
	json_object_set_new(l->notes, key, json_pack("{s:o, s:o}", "cuda", gt_json_real(device), "cpu", gt_json_real(cpu)));
	if (!(fabs(device - cpu) <= s->max_difference * fabs(cpu)))
		snprintf(l->wrong, sizeof(l->wrong),
			 "%d updates of a slice in %s end at a loss of %.4f, and on the CPU at %.4f: the run is void", SLICE_STEPS,
			 o.amp ? o.amp : "fp32", device, cpu);
	return 0;
}

static int device_run(struct bn_launch *l, const struct bn_workload *w, const struct slice *slices, size_t n,
		      struct bn_train_options *o, double guess, struct gt_err *err)
{
	for (size_t i = 0; i < n; i++) {
		int r = compare_slice(l, &slices[i], err);

		if (r || *l->wrong)
			return r;
	}
	o->device = "cuda";
	return train(l, w, o, BN_EXPLORE, guess, err);
}

static int gpu_gpt2_run(struct bn_launch *l, struct gt_err *err)
{
	static const struct slice slices[] = {
		{ { .model = "gpt2", .lr = NAN, .batch = 1, .seq = 64, .layers = 2, .amp = "bf16" }, .02 },
	};
	struct bn_train_options o = { .model = "gpt2", .lr = NAN, .amp = "bf16", .batch = 4, .seq = 1024, .steps = 40 };

	return device_run(l, &bn_workload_train_gpu_gpt2, slices, GT_ARRAY_SIZE(slices), &o, log(50257), err);
}

static int gpu_resnet_run(struct bn_launch *l, struct gt_err *err)
{
	static const struct slice slices[] = {
		{ { .model = "resnet50", .batch = 4, .size = 64, .lr = 1e-3 }, .02 },
		{ { .model = "resnet50", .batch = 8, .size = 64, .lr = 1e-4, .amp = "bf16" }, .06 },
	};
	struct bn_train_options o = { .model = "resnet50", .lr = NAN, .amp = "bf16", .batch = 64, .steps = 40 };

	return device_run(l, &bn_workload_train_gpu_resnet, slices, GT_ARRAY_SIZE(slices), &o, log(1000), err);
}

static int gpu_mlp_run(struct bn_launch *l, struct gt_err *err)
{
	static const struct slice slices[] = { { { .model = "mlp", .lr = NAN, .batch = 32 }, .005 } };
	struct bn_train_options o = { .model = "mlp", .lr = NAN, .steps = 60 };

	return device_run(l, &bn_workload_train_gpu_mlp, slices, GT_ARRAY_SIZE(slices), &o, log(10), err);
}

static const char *const knobs[] = { "omp.", "run.", "thp.", "kernel.numa_balancing", "cpu.", NULL };
static const char *const gpu_knobs[] = { "gpu.", "cuda.", "run.affinity", "cpu.governor", NULL };

#define OVERHEAD "two clock readings per step; on a device one wait for it"
#define TRAIN(name, id_, role_, version_, summary_, verifies_, knobs_, seconds, optional_, gpu_, why_, run_)                   \
	const struct bn_workload bn_workload_train_##name = {                                                                  \
		.id = id_, .summary = summary_, .unit = "s", .direction = BN_LOWER, .role = role_, .version = version_,        \
		.margin = .01, .verifies = verifies_, .overhead = OVERHEAD, .knobs = knobs_, .launch_s = seconds,              \
		.optional = optional_, .gpu = gpu_, .unavailable = why_, .run = run_ }
#define HELD_OUT "the loss on held-out text falls"
#define GUESS	 "the loss falls below that of guessing"

TRAIN(gpt, "train.gpt", BN_PRIMARY, 2, "one training step of a small GPT on the bytes of real text", HELD_OUT, knobs, 3, false,
      false, NULL, gpt_run);
TRAIN(resnet, "train.resnet", BN_EXPLORE, 1, "one training step of ResNet-20 on random images", GUESS, knobs, 4, true, false,
      NULL, resnet_run);
TRAIN(mlp, "train.mlp", BN_EXPLORE, 1, "one training step of a 784-1024-1024-10 network on random samples", GUESS, knobs, 2,
      true, false, NULL, mlp_run);
TRAIN(ddp, "train.ddp", BN_EXPLORE, 2, "one training step of two ranks that average their gradients over shared memory",
      HELD_OUT, knobs, 5, true, false, NULL, ddp_run);
TRAIN(gpu, "train.gpu", BN_EXPLORE, 1, "one training step of a small GPT on the first CUDA device", HELD_OUT, gpu_knobs, 5, true,
      true, bn_no_cuda, gpu_run);
#define AS_CPU	"a slice trains as on the CPU, and " GUESS
TRAIN(gpu_gpt2, "train.gpu.gpt2", BN_EXPLORE, 1,
      "one training step of GPT-2 124M, 4 x 1024 tokens in bf16, on the first CUDA device", AS_CPU, gpu_knobs, 20, true, true,
      bn_no_cuda, gpu_gpt2_run);
TRAIN(gpu_resnet, "train.gpu.resnet", BN_EXPLORE, 1,
      "one training step of ResNet-50, 64 images of 224 x 224 in bf16, on the first CUDA device", AS_CPU, gpu_knobs, 25, true, true,
      bn_no_cuda, gpu_resnet_run);
TRAIN(gpu_mlp, "train.gpu.mlp", BN_EXPLORE, 1, "one training step of a 784-1024-1024-10 network on the first CUDA device", AS_CPU,
      gpu_knobs, 5, true, true, bn_no_cuda, gpu_mlp_run);
