/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "bench/bench.h"
#include "bench/train/agree.h"
#include "bench/train/check_options.h"
#include "bench/train/collective.h"
#include "bench/train/models.h"
#include "bench/train/rank.h"
#include "bench/train/run.h"
#include "bench/train/stages.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/table.h"
#include "runtime/cuda/meter.h"
#include "runtime/runtime.h"

#define BALANCE_S		0.25 /* seconds, many times a time slice of the scheduler */
/* Plain evaluations reach about 1 Gflop/s, so this takes minutes. A difference beyond GRADIENT_CHECK_OFF, as a share of
 * the largest gradient, is an error and not f32 rounding. */
#define GRADIENT_CHECK_FLOPS	1e11
#define GRADIENT_CHECK_OFF	1e-3
#define PAGE			4096

static void graphs_clear(struct bn_training *r)
{
	for (int i = 0; i < RT_LENGTHS_MAX; i++) {
		rt_graph_free(r->graph[i]);
		r->graph[i] = NULL;
	}
}

static void run_clear(struct bn_training *r)
{
	rt_program_free(r->program);
	rt_mesh_close(&r->mesh);
	graphs_clear(r);
	bn_train_data_close(&r->data);
	free(r->input[0]);
	free(r->input[1]);
	free(r->step_s);
	json_decref(r->ranks);
	json_decref(r->stages);
	rt_units_free(r->removed);
}

/* Subtracts the cache from the memory limit of the program. */
static int reserve_cache(struct bn_train_options *o, struct gt_err *err)
{
	char cache[32], have[32];

	if (!o->memory_limit_bytes)
		return 0;
	if (o->cache_bytes < o->memory_limit_bytes) {
		o->memory_limit_bytes -= o->cache_bytes;
		return 0;
	}
	gt_format_bytes(cache, sizeof(cache), o->cache_bytes);
	gt_format_bytes(have, sizeof(have), o->memory_limit_bytes);
	return gt_fail(err, ENOMEM, "--cache %s does not fit in the memory limit of %s: use a smaller cache", cache, have);
}

static int apply_without(struct bn_train_options *o, struct rt_options *opt, struct gt_err *err)
{
	const struct bn_switch switches[] = {
		{ "fuse", &opt->debug.no_fuse },	   { "reuse", &opt->debug.no_reuse },
		{ "assign", &opt->debug.zero_gradients }, { "early-update", &opt->debug.no_early_update },
		{ "huge-pages", &opt->memory.no_huge_pages }, { "persistent", &o->restart_workers },
		{ "zero-copy", &o->copy_batches }, { "u8", &o->no_u8 },
		{ "pad", &opt->debug.no_pad }, { "winograd", &opt->debug.no_winograd },
	};

	return bn_apply_without(o->without, switches, GT_ARRAY_SIZE(switches), err);
}

/* Uses the same hyperparameters as the PyTorch comparison. */
static struct rt_optimizer optimizer_of(const struct bn_train_options *o)
{
	if (gt_streq(o->optimizer, "sgd"))
		return (struct rt_optimizer){ .kind = RT_SGD, .lr = o->lr, .momentum = 0.9 };
	if (gt_streq(o->optimizer, "adam"))
		return (struct rt_optimizer){ .kind = RT_ADAM, .lr = o->lr };
	return (struct rt_optimizer){ .kind = gt_streq(o->optimizer, "adamw8") ? RT_ADAMW8 : RT_ADAMW,
				      .lr = o->lr,
				      .weight_decay = 0.01 };
}

static enum rt_when when(const char *name)
{
	return gt_streq(name, "on") ? RT_WHEN_ON : gt_streq(name, "off") ? RT_WHEN_OFF : RT_WHEN_AUTO;
}

/* Returns the stage of --shard 1, 2 or 3; 0 for the other choices. */
static int shard_stage(const char *name)
{
	return name && name[0] >= '1' && name[0] <= '3' ? name[0] - '0' : 0;
}

static int compression(const char *name)
{
	static const char *const names[] = { "none", "fp16", "bf16", "int8", "powersgd", "onebit" };

	for (size_t i = 0; name && i < GT_ARRAY_SIZE(names); i++)
		if (gt_streq(name, names[i]))
			return (int)i;
	return RT_COMPRESS_NONE;
}

static struct rt_ddp_options ddp_options(const struct bn_training *r)
{
	return (struct rt_ddp_options){
		.comm = r->mesh.group[RT_DIM_DATA],
		.tensor = r->mesh.group[RT_DIM_TENSOR],
		.sequence = r->o.sp,
		.weight = (double)r->rows / (double)r->all_rows,
		.overlap = when(r->o.overlap),
		.shard = shard_stage(r->o.shard) ? RT_WHEN_ON : when(r->o.shard),
		.shard_stage = shard_stage(r->o.shard),
		.gather = gt_streq(r->o.reduce, "gather"),
		.compress = compression(r->o.compress),
		.powersgd_rank = (int)r->o.powersgd_rank,
		.compress_after = (int64_t)r->o.compress_after,
	};
}

/* Declares one graph for each shape of the batches, without the units that the model of the checkpoint has lost. */
static int declare(struct bn_training *r, struct gt_err *err)
{
	struct bn_train_options sized = r->o;
	const struct rt_length *shape;
	int n = bn_train_data_shapes(&r->data, &shape), status = 0;

	sized.positions = n ? r->o.seq : 0;
	graphs_clear(r);
	for (int i = 0; !status && i < GT_MAX(n, 1); i++) {
		sized.batch = n ? (uint64_t)shape[i].rows : r->rows;
		sized.seq = n ? (uint64_t)shape[i].width : r->o.seq;
		r->graph[i] = rt_graph_new();
		r->loss_node[i] = r->model->declare(r->graph[i], &sized);
		if (r->o.resume)
			status = gt_fail_as(err, GT_EXIT_USAGE, rt_graph_match_checkpoint(r->graph[i], r->o.resume, err));
	}
	r->n_graphs = GT_MAX(n, 1);
	return status;
}

static enum rt_attention_by attention_by(const char *name)
{
	return gt_streq(name, "own") ? RT_ATTENTION_OWN : gt_streq(name, "cudnn") ? RT_ATTENTION_CUDNN : RT_ATTENTION_FASTEST;
}

int bn_train_compile(struct bn_training *r, struct gt_err *err)
{
	struct rt_options opt = {
		.device = gt_streq(r->o.device, "cuda") ? RT_CUDA : RT_CPU,
		.threads = (int)r->o.threads,
		.seed = r->o.seed,
		.memory = { .limit_bytes = r->o.memory_limit_bytes,
			    .planned = r->comm && rt_comm_rank(r->comm) > 0 ? NULL : r->o.planned,
			    .planned_arg = r->o.arg,
			    .checkpoint = (int)r->o.checkpoint,
			    .fit_bytes = r->o.fit_bytes },
		.debug = { .profile = r->o.profile, .trace = r->o.trace != NULL, .anomaly = r->o.anomaly },
		.precision = bn_train_precision(&r->o),
		.attention_by = attention_by(r->o.attention),
		.deterministic = r->o.deterministic,
		.accum = (int)r->o.accum,
		.clip_norm = r->o.clip_norm,
		.sparse = r->pruning.use,
		.optimizer = optimizer_of(&r->o),
		.ranks = ddp_options(r),
		.pipeline = { .comm = r->mesh.group[RT_DIM_PIPELINE],
			      .schedule = gt_streq(r->o.schedule, "gpipe") ? RT_GPIPE : RT_1F1B },
	};
	int status = apply_without(&r->o, &opt, err);

	opt.precision.qat = r->o.qat;

	rt_keep_heap();
	if (status)
		return status;
	r->o.no_huge_pages = opt.memory.no_huge_pages;
	if (bn_train_data_u8(r->model, &r->o)) {
		opt.pixels.mean = RT_PIXEL_MEAN;
		opt.pixels.std = RT_PIXEL_STD;
	}
	rt_program_free(r->program);
	r->program = NULL;
	status = rt_compile_shapes((const struct rt_graph *const *)r->graph, r->loss_node, r->n_graphs, &opt, &r->program, err);
	if (status == -EINVAL && r->comm && err && !err->exit_status)
		err->exit_status = GT_EXIT_USAGE; /* the ranks cannot divide the model like this */
	return status;
}

static int build(struct bn_training *r, struct gt_err *err)
{
	int status = declare(r, err);

	return status ? status : bn_train_compile(r, err);
}

static size_t to_pages(size_t elements)
{
	return GT_MAX((elements * 4 + PAGE - 1) / PAGE, (size_t)1) * PAGE;
}

/* Returns input `which` (0, 1) of the model: random numbers, or ids below the number of classes or tokens. */
static void *random_input(const struct bn_training *r, const struct rt_node *n, uint64_t which)
{
	size_t count = r->row_elements[which] * r->all_rows * r->parts;
	int32_t *ids = aligned_alloc(PAGE, to_pages(count));
	float *x = (float *)(void *)ids;
	uint64_t limit = r->model->classes ? r->model->classes : r->o.vocab;

	for (size_t i = 0; ids && i < count; i++)
		if (rt_node_dtype(n) == RT_I32)
			ids[i] = (int32_t)(rt_random_u64(r->o.seed, 100 + which, i) % limit);
		else
			x[i] = rt_random_normal(r->o.seed, 100 + which, i);
	return ids;
}

/* Allocates inputs in their own memory, as a loader does. */
static int make_inputs(struct bn_training *r, struct gt_err *err)
{
	int k = 0;

	r->step_s = calloc(r->o.steps, sizeof(double));
	for (int i = 0; i < rt_graph_leaves(r->graph[0]); i++) {
		const struct rt_node *n = rt_graph_leaf(r->graph[0], i);

		if (!rt_node_is_param(n) && !rt_node_is_buffer(n) && k < 2) {
			r->row_elements[k] = r->o.documents ? r->o.seq :
							      (size_t)rt_shape_elements(rt_node_shape(n)) / r->rows;
			r->input[k] = random_input(r, n, (uint64_t)k);
			k++;
		}
	}
	if (!r->step_s || !r->input[0] || !r->input[1])
		return gt_fail(err, ENOMEM, "no memory for a batch of %" PRIu64, r->o.batch);
	return 0;
}

/* Returns this rank's rows of a microbatch. The batch of all ranks together equals that of one rank with as many rows. */
static const void *const *rank_input(const struct bn_training *r, uint64_t part, const void *ret[2])
{
	for (int k = 0; k < 2; k++)
		ret[k] = (const char *)r->input[k] + (part * r->all_rows + r->first_row) * r->row_elements[k] * 4;
	return ret;
}

/* Pins the batches, because a device copies them directly. Memory that cannot be pinned is copied through a staging
 * buffer, which the device's report shows. */
void bn_train_pin_batches(struct bn_training *r)
{
	struct gt_err why = { 0 };
	void *base[2] = { r->input[0], r->input[1] };
	size_t bytes[2] = { to_pages(r->row_elements[0] * r->all_rows * r->parts),
			    to_pages(r->row_elements[1] * r->all_rows * r->parts) };
	int n = 2;

	if (r->data.train) {
		rt_loader_memory(r->data.train, &base[0], &bytes[0]);
		n = 1;
	}
	for (int i = 0; i < n; i++)
		if (rt_pin(r->program, base[i], bytes[i], &why) < 0)
			gt_info("%s", why.msg);
}

/* Compares the program's gradients with finite differences on random inputs, before training. */
static int check_gradients(struct bn_training *r, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_options opt = { .threads = (int)r->o.threads, .seed = r->o.seed, .debug.keep_gradients = true };
	struct bn_train_options sized = r->o;
	const void *input[2];
	struct rt_node *loss;
	int status;

	if (!r->o.check_gradients)
		return 0;
	if (rt_program_flops(r->program) * (double)r->o.check_gradients > GRADIENT_CHECK_FLOPS)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--check-gradients: the plain definition of this model would take too long; take smaller "
				    "sizes or fewer elements");
	sized.batch = r->rows;
	loss = r->model->declare(g, &sized);
	status = rt_compile(g, loss, &opt, &p, err);
	if (status)
		return status;
	status = rt_check_gradients(g, loss, p, rank_input(r, 0, input), (int)r->o.check_gradients, &r->checked, err);
	if (status)
		return status;
	if (r->checked.worst > GRADIENT_CHECK_OFF)
		return gt_fail_exit(err, BN_EXIT_WRONG, EDOM, "the gradient of %s[%lld] is %g, but finite differences give %g",
				    rt_node_name(r->checked.node), (long long)r->checked.element, r->checked.got,
				    r->checked.numeric);
	r->checked.node = NULL;
	return 0;
}

/*
 * Distributes rows in proportion to the ranks' forward speeds, measured while all ranks run. The measurement takes many
 * time slices of the scheduler, so it includes preemption. The fastest of a few runs would not.
 */
static int balance(struct bn_training *r, struct gt_err *err)
{
	const void *input[2];
	double start = 0, seconds = 0, loss;
	uint64_t rows[RT_MAX_RANKS], runs = 0;
	int status;

	for (; runs < 2 || seconds < BALANCE_S; runs++) {
		status = rt_eval(r->program, rank_input(r, 0, input), &loss, err);
		if (status)
			return status;
		if (!runs) /* the first run allocates buffers */
			start = gt_now_s();
		seconds = gt_now_s() - start;
	}
	status = bn_train_split(r->comm, (double)(r->rows * (runs - 1)) / seconds, r->all_rows, rows, err);
	if (status)
		return status;
	r->first_row = 0;
	for (int i = 0; i < rt_comm_rank(r->comm); i++)
		r->first_row += rows[i];
	r->rows = rows[rt_comm_rank(r->comm)];
	return build(r, err);
}

static long minor_faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt;
}

static uint64_t resident_bytes(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_maxrss * 1024;
}

/* Sets the exit status: a loss that is not finite is a wrong result, not an internal error. */
static int mark_wrong(int status, struct gt_err *err)
{
	if (status == -EDOM && err)
		err->exit_status = BN_EXIT_WRONG;
	return status;
}

/* Weights a batch of documents by its tokens, as a share of the largest batch, so that the loss scale keeps its
 * meaning. */
static void take_shape(struct bn_training *r, const struct rt_batch *b)
{
	const struct rt_length *shape;
	double most = 1, all;

	for (int i = bn_train_data_shapes(&r->data, &shape); i-- > 0;)
		most = fmax(most, (double)shape[i].rows * (double)shape[i].width);
	rt_use_shape(r->program, b->length);
	rt_set_weight(r->program, (double)b->tokens / most);
	all = (double)shape[b->length].rows * (double)shape[b->length].width;
	r->data.tokens += (double)b->tokens;
	r->data.padded += all;
	r->data.flops += rt_program_flops(r->program);
}

static int next_input(struct bn_training *r, uint64_t part, const void *input[2], struct gt_err *err)
{
	struct rt_batch b;
	int status;

	if (!r->data.train) {
		rank_input(r, part, input);
		return 0;
	}
	status = rt_loader_next(r->data.train, &b, err);
	if (status)
		return status;
	input[0] = b.x;
	input[1] = b.y;
	if (r->o.documents)
		take_shape(r, &b);
	return 0;
}

/* Runs one update from accum batches. Only the runtime is timed; waiting for the loader is measured separately. */
static int update(struct bn_training *r, double *ret_s, struct gt_err *err)
{
	double seconds = 0;

	for (uint64_t i = 0; i < r->o.accum; i++) {
		const void *input[2];
		int status = next_input(r, i % r->parts, input, err);
		double t0 = gt_now_s();

		if (status)
			return status;
		status = mark_wrong(rt_step(r->program, input, &r->last, err), err);
		if (status)
			return status;
		seconds += gt_now_s() - t0;
	}
	r->loss = r->last.update_loss;
	*ret_s = seconds;
	return 0;
}

/* Writes a checkpoint. All data parallel ranks have the same parameters, so the first one writes, with the ranks that
 * split its model. */
static int save(const struct bn_training *r, uint64_t done, bool last, struct gt_err *err)
{
	if (!r->o.save || r->data_rank > 0 || !(last || (r->o.save_every && done % r->o.save_every == 0)))
		return 0;
	bn_train_note_position(r, done);
	return rt_save(r->program, r->o.save, r->ticket + done, err);
}

/* Loads a checkpoint. An unusable checkpoint is a usage error. */
static int load_checkpoint(struct bn_training *r, struct gt_err *err)
{
	int status;

	if (r->o.weights)
		return gt_fail_as(err, GT_EXIT_USAGE, rt_hf_load(r->program, &r->o.hf, r->o.weights, err));
	if (!r->o.resume)
		return 0;
	status = rt_load(r->program, r->o.resume, &r->ticket, err);
	if (status && status != -ENOMEM && err && !err->exit_status)
		err->exit_status = GT_EXIT_USAGE;
	return status;
}

/* Saves the weights by the first data parallel rank, with the ranks that split its model. */
static int save_weights(const struct bn_training *r, struct gt_err *err)
{
	struct rt_hf_config c = r->o.hf;
	int status;

	if (!r->o.save_weights || r->data_rank > 0)
		return 0;
	status = rt_hf_match_graph(&c, r->graph[0], err);
	return status ? status : rt_hf_save(r->program, &c, r->o.save_weights, r->o.weights_shard_bytes, err);
}

void bn_train_restart_timing(struct bn_training *r)
{
	r->n_timed = 0;
	r->faults = minor_faults();
	r->data.wait_before = r->data.train ? rt_loader_wait_s(r->data.train) : 0;
	r->data.tokens = r->data.padded = r->data.flops = r->data.step_s = 0;
}

/* Runs the warm-up and the timed steps. */
static int train(struct bn_training *r, struct gt_err *err)
{
	uint64_t total = r->o.warmup + r->o.steps;

	for (uint64_t i = 0; i < total; i++) {
		double seconds;
		int status = bn_train_shrink(r, i, total, err);

		if (status)
			return status;
		if (i == r->o.warmup)
			bn_train_restart_timing(r);
		status = update(r, &seconds, err);
		if (status)
			return status;
		status = bn_prune(&r->pruning, r->program, i + 1, total, err);
		if (status)
			return status;
		status = save(r, i + 1, i + 1 == total, err);
		if (status)
			return status;
		if (i >= r->o.warmup) {
			r->step_s[r->n_timed++] = seconds;
			r->data.step_s += seconds;
		}
		if (r->o.progress && r->o.progress(r->o.arg, i + 1, total, r->loss))
			return gt_fail(err, EINTR, "interrupted after step %" PRIu64, i + 1);
	}
	if (rt_wait(r->program, err) < 0)
		return -ENODEV;
	r->skipped = (uint64_t)rt_skipped_updates(r->program);
	r->faults = minor_faults() - r->faults;
	r->data.wait_s = r->data.train ? rt_loader_wait_s(r->data.train) - r->data.wait_before : 0;
	return 0;
}

static int write_trace(const struct bn_training *r, struct gt_err *err)
{
	gt_auto_json *trace = NULL;
	gt_autofree char *text = NULL;

	if (!r->o.trace)
		return 0;
	trace = rt_program_trace(r->program);
	text = gt_json_text(trace);
	return gt_file_write(r->o.trace, text, strlen(text), 0644, err);
}

static int measure_peaks(struct bn_training *r, struct gt_err *err)
{
	if (gt_streq(r->o.device, "cuda"))
		return rt_meter_peaks(gt_streq(r->o.amp, "tf32"), gt_streq(r->o.amp, "fp16"), &r->peaks, err);
	rt_keep_heap();
	return rt_measure_peaks((int)r->o.threads, &r->peaks, err);
}

/* Computes the flops per second of this rank and of all ranks together, in the timed steps. */
static int add_up_ranks(struct bn_training *r, struct gt_err *err)
{
	double flops = r->o.documents ? r->data.flops : rt_program_flops(r->program) * (double)r->o.accum;
	double seconds = r->o.documents ? r->data.step_s : bn_train_median(r->step_s, r->n_timed);
	double *const sums[] = { &flops, &r->data.tokens, &r->data.padded };
	double same = r->mesh.world ? r->mesh.size[RT_DIM_TENSOR] : 1; /* ranks that read the same batches */

	r->flops_per_s = flops / seconds;
	for (size_t i = 0; r->comm && i < GT_ARRAY_SIZE(sums); i++) {
		int status = bn_train_sum(r->comm, sums[i], err);

		if (status)
			return status;
	}
	r->data.tokens /= same;
	r->data.padded /= same;
	r->all_flops_per_s = flops / seconds;
	return 0;
}

/*
 * Arranges the ranks: neighbours split the layers of a model, the next dimension is the stages, and each complete model
 * has its own batches.
 */
static int open_mesh(struct bn_training *r, struct gt_err *err)
{
	int size[RT_DIMS] = { [RT_DIM_TENSOR] = (int)r->o.tp, [RT_DIM_DATA] = (int)(r->o.ranks / r->o.tp / r->o.pp),
			      [RT_DIM_PIPELINE] = (int)r->o.pp };
	int status;

	r->data_ranks = 1;
	if (!r->comm)
		return 0;
	status = bn_train_agree(r->comm, &r->o, err);
	if (status)
		return status;
	status = rt_mesh_open(r->comm, size, &r->mesh, err);
	if (status)
		return status;
	r->data_ranks = (uint64_t)r->mesh.size[RT_DIM_DATA];
	r->data_rank = (uint64_t)r->mesh.at[RT_DIM_DATA];
	return 0;
}

/* Compiles the program, sets its parameters and opens the data. */
static int prepare(struct bn_training *r, struct gt_err *err)
{
	int status;

	status = open_mesh(r, err);
	if (status)
		return status;
	status = reserve_cache(&r->o, err);
	if (status)
		return status;
	r->parts = r->o.microbatches;
	r->o.accum *= r->parts;
	r->rows = r->o.batch / r->parts;
	r->all_rows = r->rows * r->data_ranks;
	r->first_row = r->rows * r->data_rank;
	status = bn_train_open_data(r, false, err);
	if (status)
		return status;
	status = build(r, err);
	if (status)
		return status;
	status = make_inputs(r, err);
	if (status)
		return status;
	status = r->o.balance ? balance(r, err) : 0;
	if (status)
		return status;
	status = load_checkpoint(r, err);
	if (status)
		return status;
	r->pruning.start = rt_pruned_fraction(r->program);
	status = check_gradients(r, err);
	if (status)
		return status;
	status = bn_train_open_data(r, true, err);
	if (status)
		return status;
	bn_train_pin_batches(r);
	return 0;
}

static int run(struct bn_training *r, struct gt_err *err)
{
	int status;

	status = bn_train_held_out(r, &r->before, err);
	if (status)
		return status;
	status = train(r, err);
	if (status)
		return status;
	status = bn_train_held_out(r, &r->after, err);
	if (status)
		return status;
	r->rss_bytes = resident_bytes(); /* read first, because the measurements below allocate memory */
	status = save_weights(r, err);
	if (status)
		return status;
	status = add_up_ranks(r, err);
	if (status || !r->comm)
		return status;
	status = bn_train_measure_stages(r, err);
	if (status)
		return status;
	return bn_train_measure_ranks(r->comm, r->program, r->rows, &r->ranks, err);
}

/* Another program may use the memory that the measurement needs. The run itself is valid then. */
static int add_peaks(struct bn_training *r, json_t *doc, struct gt_err *err)
{
	int status;

	if (!r->o.profile && !gt_streq(r->o.device, "cuda"))
		return 0;
	status = measure_peaks(r, err);
	if (status == -ENOMEM)
		json_array_append_new(json_object_get(doc, "warnings"),
				      json_string("no memory was left to measure the GPU's peaks: no MFU"));
	else if (status)
		return status;
	if (r->peaks.flops_per_s > 0)
		bn_train_put_peaks(doc, r);
	return 0;
}

int bn_train_rank(const struct bn_train_options *o, struct rt_comm *comm, json_t **ret, struct gt_err *err)
{
	__attribute__((cleanup(run_clear))) struct bn_training r = { .comm = comm };
	gt_auto_json *doc = NULL;
	int rank = comm ? rt_comm_rank(comm) : 0, status;

	status = rank ? bn_train_check(o, &r.o, err) : bn_train_resolve(o, &r.o, err);
	if (status)
		return status;
	status = bn_prune_parse(r.o.prune, &r.pruning, err);
	if (status)
		return status;
	r.model = bn_model_find(o->model, err);
	status = prepare(&r, err);
	if (status)
		return status;
	status = run(&r, err);
	if (status || rank)
		return status;
	status = write_trace(&r, err);
	if (status)
		return status;
	doc = bn_train_document(&r);
	rt_program_free(r.program); /* it may fill the device memory that the measurement of the peaks needs */
	r.program = NULL;
	status = add_peaks(&r, doc, err);
	if (status)
		return status;
	*ret = gt_take(doc);
	return 0;
}
