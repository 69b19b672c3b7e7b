/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "bench/bench.h"
#include "bench/feed.h"
#include "bench/models.h"
#include "bench/spin.h"
#include "bench/train.h"
#include "config.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/table.h"
#include "runtime/comm/comm.h"
#include "runtime/cuda/meter.h"
#include "runtime/runtime.h"

#define HELD_OUT_BATCHES	4
#define BALANCE_RUNS		6 /* the first warms up */
/* Plain evaluations make about 1 Gflop/s: minutes. A share of the largest gradient beyond which it is wrong, not f32. */
#define GRADIENT_CHECK_FLOPS	1e11
#define GRADIENT_CHECK_OFF	1e-3
#define DIM_MAX			(UINT64_C(1) << 24)

struct run {
	struct bn_train_options o; /* with defaults filled in */
	const struct bn_model *model;
	struct rt_graph *graph;
	struct rt_program *program;
	struct bn_feed feed;
	struct rt_comm *comm; /* NULL: alone */
	uint64_t rows, first_row, all_rows; /* of a batch: ours, where they begin, those of all ranks */
	void *input[2];	      /* of all ranks */
	size_t row_elements[2];
	double *step_s;
	double before, after, loss;
	json_t *ranks; /* what was measured over all of them */
	struct rt_metrics last;
	struct rt_peaks peaks;
	struct rt_gradient_check checked;
	uint64_t rss_bytes;
	uint64_t skipped; /* updates */
	uint64_t ticket;  /* updates done before, by the checkpoint */
	long faults;
};

static void run_clear(struct run *r)
{
	rt_program_free(r->program);
	rt_graph_free(r->graph);
	bn_feed_close(&r->feed);
	free(r->input[0]);
	free(r->input[1]);
	free(r->step_s);
	json_decref(r->ranks);
}

static uint64_t or_default(uint64_t given, uint64_t dflt)
{
	return given ? given : dflt;
}

static int usage(struct gt_err *err, const char *what)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s", what);
}

static int fill_defaults(struct run *r, const struct bn_train_options *o, struct gt_err *err)
{
	const struct bn_model *m = bn_model_find(o->model, err);

	if (!m)
		return -EINVAL;
	r->model = m;
	r->o = *o;
	r->o.batch = or_default(o->batch, m->batch);
	r->o.seq = or_default(o->seq, GT_MAX(m->seq, 1));
	r->o.layers = or_default(o->layers, m->layers);
	r->o.width = or_default(o->width, m->width);
	r->o.heads = or_default(o->heads, m->heads);
	r->o.vocab = or_default(o->vocab, m->vocab);
	r->o.size = or_default(o->size, m->size);
	r->o.steps = or_default(o->steps, m->steps);
	r->o.accum = or_default(o->accum, 1);
	r->o.optimizer = o->optimizer ? o->optimizer : m->optimizer;
	r->o.ranks = or_default(o->ranks, 1);
	r->o.seed = or_default(o->seed, 1);
	r->o.lr = o->lr > 0 ? o->lr : m->lr;
	if (o->warmup == UINT64_MAX)
		r->o.warmup = m->warmup;
	return 0;
}

static int check_options(const struct run *r, struct gt_err *err)
{
	const struct bn_train_options *o = &r->o;
	const uint64_t dims[] = { o->batch, o->seq, o->layers, o->width, o->heads, o->vocab, o->size, o->steps,
				  o->warmup, o->accum, o->checkpoint, o->check_gradients };

	for (size_t i = 0; i < GT_ARRAY_SIZE(dims); i++)
		if (dims[i] > DIM_MAX)
			return usage(err, "sizes and step counts end at 16777216");
	if (o->ranks > RT_MAX_RANKS)
		return usage(err, "--ranks ends at 64");
	if (o->ranks == 1 && (o->compress || o->balance || o->no_overlap || o->powersgd_rank))
		return usage(err, "--compress, --powersgd-rank, --balance and --no-overlap are for --ranks of 2 and more");
	if (o->powersgd_rank && !gt_streq(o->compress, "powersgd"))
		return usage(err, "--powersgd-rank goes with --compress powersgd");
	if (o->powersgd_rank > 64)
		return usage(err, "--powersgd-rank ends at 64");
	if (o->compress_after > DIM_MAX)
		return usage(err, "sizes and step counts end at 16777216");
	if (!bn_feed_wanted(r->model, o) && (o->cache_bytes || o->augment || o->tokens || o->prefetch))
		return usage(err, "--cache, --augment, --tokens and --prefetch go with --data");
	if (o->save_every && !o->save)
		return usage(err, "--save-every goes with --save");
	if (o->threads > 4096)
		return usage(err, "--threads ends at 4096");
	if (!isfinite(o->clip_norm) || o->clip_norm < 0)
		return usage(err, "--clip must be a norm such as 1.0");
	if (!isfinite(o->lr) || o->lr > 1e6)
		return usage(err, "--lr must be a learning rate such as 0.001");
	return bn_model_check(r->model, o, err);
}

static enum rt_dtype amp_type(const char *name)
{
	if (gt_streq(name, "bf16"))
		return RT_BF16;
	return gt_streq(name, "fp16") ? RT_F16 : RT_F32;
}

/* Switch off what --without names. */
static int leave_out(struct bn_train_options *o, struct rt_options *opt, struct gt_err *err)
{
	const char *list = o->without;
	const struct {
		const char *name;
		bool *off;
	} switches[] = {
		{ "fuse", &opt->no_fuse },	   { "reuse", &opt->no_reuse },
		{ "assign", &opt->zero_gradients }, { "early-update", &opt->no_early_update },
		{ "huge-pages", &opt->no_huge_pages }, { "persistent", &o->restart_workers },
		{ "zero-copy", &o->copy_batches },
	};

	for (size_t len; list && *list; list += len + (list[len] == ',')) {
		size_t i = 0;

		len = strcspn(list, ",");
		while (i < GT_ARRAY_SIZE(switches) &&
		       (strlen(switches[i].name) != len || strncmp(switches[i].name, list, len) != 0))
			i++;
		if (i == GT_ARRAY_SIZE(switches))
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "--without %.*s: fuse, reuse, assign, early-update, huge-pages, persistent and "
					    "zero-copy can be left out", (int)len, list);
		*switches[i].off = true;
	}
	return 0;
}

/* With the hyperparameters that the PyTorch peer uses. */
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

static struct rt_ddp_options ddp_options(const struct run *r)
{
	return (struct rt_ddp_options){
		.comm = r->comm,
		.weight = (double)r->rows / (double)r->all_rows,
		.no_overlap = r->o.no_overlap,
		.compress = bn_train_compress(r->o.compress),
		.powersgd_rank = (int)r->o.powersgd_rank,
		.compress_after = (int64_t)r->o.compress_after,
	};
}

static int build(struct run *r, struct gt_err *err)
{
	struct bn_train_options ours = r->o;
	struct rt_options opt = {
		.device = gt_streq(r->o.device, "cuda") ? RT_CUDA : RT_CPU,
		.threads = (int)r->o.threads,
		.seed = r->o.seed,
		.memory_limit_bytes = r->o.memory_limit_bytes,
		.profile = r->o.profile,
		.amp = amp_type(r->o.amp),
		.trace = r->o.trace != NULL,
		.anomaly = r->o.anomaly,
		.tf32 = gt_streq(r->o.amp, "tf32"),
		.accum = (int)r->o.accum,
		.checkpoint = (int)r->o.checkpoint,
		.fit_bytes = r->o.fit_bytes,
		.clip_norm = r->o.clip_norm,
		.optimizer = optimizer_of(&r->o),
		.ddp = ddp_options(r),
	};
	int status = leave_out(&r->o, &opt, err);

	if (status)
		return status;
	r->o.no_huge_pages = opt.no_huge_pages;
	ours.batch = r->rows;
	rt_program_free(r->program);
	r->program = NULL;
	rt_graph_free(r->graph);
	r->graph = rt_graph_new();
	return rt_compile(r->graph, r->model->declare(r->graph, &ours), &opt, &r->program, err);
}

/* The loader, where the checkpoint left it. */
static int open_feed(struct run *r, struct gt_err *err)
{
	if (!bn_feed_wanted(r->model, &r->o))
		return 0;
	return bn_feed_open(&r->feed, r->model, &r->o, r->rows, r->all_rows, r->first_row, r->ticket * r->o.accum, err);
}

/* Input `which` (0, 1) of the model: random numbers, ids below what the model can tell apart. */
static void *random_input(const struct run *r, const struct rt_node *n, uint64_t which)
{
	size_t count = r->row_elements[which] * r->all_rows;
	int32_t *ids = calloc(count, 4);
	float *x = (float *)(void *)ids;
	uint64_t limit = r->model->classes ? r->model->classes : r->o.vocab;

	for (size_t i = 0; ids && i < count; i++)
		if (rt_node_dtype(n) == RT_I32)
			ids[i] = (int32_t)(rt_random_u64(r->o.seed, 100 + which, i) % limit);
		else
			x[i] = rt_random_normal(r->o.seed, 100 + which, i);
	return ids;
}

/* Inputs of their own memory, as a loader would hand them over. */
static int make_inputs(struct run *r, struct gt_err *err)
{
	int k = 0;

	r->step_s = calloc(r->o.steps, sizeof(double));
	for (int i = 0; i < rt_graph_leaves(r->graph); i++) {
		const struct rt_node *n = rt_graph_leaf(r->graph, i);

		if (!rt_node_is_param(n) && !rt_node_is_buffer(n) && k < 2) {
			r->row_elements[k] = (size_t)rt_shape_elements(rt_node_shape(n)) / r->rows;
			r->input[k] = random_input(r, n, (uint64_t)k);
			k++;
		}
	}
	if (!r->step_s || !r->input[0] || !r->input[1])
		return gt_fail(err, ENOMEM, "no memory for a batch of %" PRIu64, r->o.batch);
	return 0;
}

/* The batch of all ranks is the same as that of one rank with as many rows; each takes its part of it. */
static const void *const *our_rows(const struct run *r, const void *ret[2])
{
	for (int k = 0; k < 2; k++)
		ret[k] = (const char *)r->input[k] + r->first_row * r->row_elements[k] * 4;
	return ret;
}

/* Before training, on random inputs: what the program calls the gradient is one. */
static int check_gradients(struct run *r, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_options opt = { .threads = (int)r->o.threads, .seed = r->o.seed, .keep_gradients = true };
	struct bn_train_options ours = r->o;
	const void *rows[2];
	struct rt_node *loss;
	int status;

	if (!r->o.check_gradients)
		return 0;
	if (rt_program_flops(r->program) * (double)r->o.check_gradients > GRADIENT_CHECK_FLOPS)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--check-gradients: the plain definition of this model would take too long; take smaller "
				    "sizes or fewer elements");
	ours.batch = r->rows;
	loss = r->model->declare(g, &ours);
	status = rt_compile(g, loss, &opt, &p, err);
	if (!status)
		status = rt_check_gradients(g, loss, p, our_rows(r, rows), (int)r->o.check_gradients, &r->checked, err);
	if (!status && r->checked.worst > GRADIENT_CHECK_OFF)
		return gt_fail_exit(err, BN_EXIT_WRONG, EDOM, "the gradient of %s[%lld] is %g; differences say %g",
				    rt_node_name(r->checked.node), (long long)r->checked.element, r->checked.got,
				    r->checked.numeric);
	r->checked.node = NULL;
	return status;
}

/* The same batches each time. With ranks, the first one alone: the parameters are the same everywhere. */
static int held_out(struct run *r, double *ret, struct gt_err *err)
{
	gt_auto(rt_loader) *l = NULL;
	double sum = 0;
	int status;

	*ret = NAN;
	if (!r->feed.train || (r->comm && rt_comm_rank(r->comm) > 0))
		return 0;
	status = bn_feed_held_out(r->model, &r->o, r->rows, &l, err);
	for (uint64_t i = 0; !status && i < HELD_OUT_BATCHES; i++) {
		struct rt_batch b;
		double loss = 0;

		status = rt_loader_next(l, &b, err);
		if (!status)
			status = rt_eval(r->program, (const void *[]){ b.x, b.y }, &loss, err);
		sum += loss;
	}
	if (!status)
		*ret = sum / HELD_OUT_BATCHES;
	return status;
}

/* Rows in proportion to how fast each rank goes forward while the others do the same. */
static int balance(struct run *r, struct gt_err *err)
{
	const void *input[2];
	double best = INFINITY, loss;
	uint64_t rows[RT_MAX_RANKS];
	int status = 0;

	for (int i = 0; !status && i < BALANCE_RUNS; i++) {
		double t0 = gt_now_s();

		status = rt_eval(r->program, our_rows(r, input), &loss, err);
		best = i ? fmin(best, gt_now_s() - t0) : best;
	}
	if (!status)
		status = bn_train_split(r->comm, (double)r->rows / best, r->all_rows, rows, err);
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

/* A loss that is no number is a wrong result, not a broken tool. */
static int wrong(int status, struct gt_err *err)
{
	if (status == -EDOM && err)
		err->exit_status = BN_EXIT_WRONG;
	return status;
}

static int next_input(struct run *r, const void *input[2], struct gt_err *err)
{
	struct rt_batch b;
	int status;

	if (!r->feed.train) {
		our_rows(r, input);
		return 0;
	}
	status = rt_loader_next(r->feed.train, &b, err);
	if (!status) {
		input[0] = b.x;
		input[1] = b.y;
	}
	return status;
}

/* One update from accum batches; only the runtime's part is timed, what the loader makes wait is told apart. */
static int update(struct run *r, double *ret_s, struct gt_err *err)
{
	double seconds = 0;

	for (uint64_t i = 0; i < r->o.accum; i++) {
		const void *input[2];
		int status = next_input(r, input, err);
		double t0 = gt_now_s();

		if (!status)
			status = wrong(rt_step(r->program, input, &r->last, err), err);
		if (status)
			return status;
		seconds += gt_now_s() - t0;
	}
	r->skipped += r->last.skipped;
	r->loss = r->last.update_loss;
	*ret_s = seconds;
	return 0;
}

/* Ranks hold the same parameters: the first one writes them. */
static int save(const struct run *r, uint64_t done, bool last, struct gt_err *err)
{
	if (!r->o.save || (r->comm && rt_comm_rank(r->comm) > 0) || !(last || (r->o.save_every && done % r->o.save_every == 0)))
		return 0;
	return rt_save(r->program, r->o.save, r->ticket + done, err);
}

/* Warm-up, then timed steps. */
static int train(struct run *r, struct gt_err *err)
{
	uint64_t total = r->o.warmup + r->o.steps;

	for (uint64_t i = 0; i < total; i++) {
		double seconds;
		int status;

		if (i == r->o.warmup) {
			r->faults = minor_faults();
			r->feed.wait_before = r->feed.train ? rt_loader_wait_s(r->feed.train) : 0;
		}
		status = update(r, &seconds, err);
		if (!status)
			status = save(r, i + 1, i + 1 == total, err);
		if (status)
			return status;
		if (i >= r->o.warmup) {
			r->step_s[i - r->o.warmup] = seconds;
			r->feed.step_s += seconds;
		}
		if (r->o.progress && r->o.progress(r->o.arg, i + 1, total, r->loss))
			return gt_fail(err, EINTR, "interrupted after step %" PRIu64, i + 1);
	}
	if (rt_wait(r->program, err) < 0)
		return -ENODEV;
	r->faults = minor_faults() - r->faults;
	r->feed.wait_s = r->feed.train ? rt_loader_wait_s(r->feed.train) - r->feed.wait_before : 0;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *v, size_t n)
{
	gt_autofree double *s = gt_xcalloc(n, sizeof(*s));

	memcpy(s, v, n * sizeof(*s));
	qsort(s, n, sizeof(*s), by_value);
	return n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

static void put_real(json_t *doc, const char *key, double v)
{
	json_object_set_new(doc, key, gt_json_real(v));
}

static void put_int(json_t *doc, const char *key, uint64_t v)
{
	json_object_set_new(doc, key, json_integer((json_int_t)v));
}

static void put_times(json_t *doc, const struct run *r)
{
	double med = median(r->step_s, r->o.steps);
	json_t *times = json_array();

	for (uint64_t i = 0; i < r->o.steps; i++)
		json_array_append_new(times, gt_json_real(r->step_s[i]));
	json_object_set_new(doc, "step_s", times);
	put_real(doc, "median_step_s", med);
	put_real(doc, "items_per_s", (double)(r->all_rows * r->o.seq * r->o.accum) / med);
	json_object_set_new(doc, "unit", json_string(r->model->unit));
	put_int(doc, "max_rss_bytes", r->rss_bytes);
	put_real(doc, "heldout_loss_before", r->before);
	put_real(doc, "heldout_loss_after", r->after);
	json_object_set_new(doc, "void", json_boolean(r->feed.train && r->model->tokens && !(r->after < r->before)));
	put_real(doc, "minor_faults_per_step", (double)r->faults / (double)r->o.steps);
	put_real(doc, "flops_per_s", rt_program_flops(r->program) * (double)r->o.accum / med);
}

/* What share of the best that was measured here the step reached (MFU: its flops alone, against products of its type), and
 * each row: the longer of the time that its flops and its bytes need at least, over
 * the time that it took. */
static void put_peaks(json_t *doc, const struct rt_peaks *k)
{
	double low_peak = k->bf16_flops_per_s > 0 ? k->bf16_flops_per_s : k->flops_per_s;
	json_t *row;
	size_t i;

	json_object_set_new(doc, "peaks",
			    json_pack("{s:o, s:o, s:o}", "flops_per_s", gt_json_real(k->flops_per_s), "bf16_flops_per_s",
				      gt_json_real(k->bf16_flops_per_s), "bytes_per_s", gt_json_real(k->bytes_per_s)));
	put_real(doc, "mfu", gt_json_get_real(doc, "flops_per_s", NAN) /
				     (gt_streq(gt_json_get_str(doc, "amp", ""), "bf16") ? low_peak : k->flops_per_s));
	json_array_foreach(json_object_get(doc, "ops"), i, row) {
		double flops = gt_json_get_real(row, "flops", 0), low = gt_json_get_real(row, "low_flops", 0);
		double least = fmax((flops - low) / k->flops_per_s + low / low_peak,
				    gt_json_get_real(row, "bytes", 0) / k->bytes_per_s);

		put_real(row, "of_peak", least / gt_json_get_real(row, "seconds", NAN));
	}
}

static int write_trace(const struct run *r, struct gt_err *err)
{
	gt_auto_json *trace = NULL;
	gt_autofree char *text = NULL;

	if (!r->o.trace)
		return 0;
	trace = rt_program_trace(r->program);
	text = gt_json_text(trace);
	return gt_file_write(r->o.trace, text, strlen(text), 0644, err);
}

static json_t *document(const struct run *r)
{
	static const char *const from_report[] = {
		"flops_per_step", "bytes_per_step", "planned_bytes", "unplanned_bytes", "blas", "isa", "pages", "placement",
		"pages_on_node", "pages_by_kind", "threads_on_node", "passes", "ddp", "warnings", "ops" };
	gt_auto_json *report = rt_program_report(r->program);
	json_t *doc = json_object();
	gt_autofree char *spin = NULL;

	json_object_set_new(doc, "schema", json_string("gpubench-train/1"));
	json_object_set_new(doc, "framework", json_string("gputune " PACKAGE_VERSION));
	json_object_set_new(doc, "model", json_string(r->model->name));
	json_object_set(doc, "device", json_object_get(report, "device"));
	put_int(doc, "batch", r->o.batch);
	put_int(doc, "seq", r->o.seq);
	put_int(doc, "layers", r->o.layers);
	put_int(doc, "width", r->o.width);
	put_int(doc, "heads", r->o.heads);
	put_int(doc, "vocab", r->o.vocab);
	put_int(doc, "size", r->o.size);
	put_int(doc, "ranks", r->o.ranks);
	put_int(doc, "threads", (uint64_t)rt_program_threads(r->program));
	json_object_set_new(doc, "amp", gt_json_str(r->o.amp ? r->o.amp : "fp32"));
	spin = bn_spin_text();
	json_object_set_new(doc, "spin", gt_json_str(spin));
	json_object_set_new(doc, "optimizer", json_string(r->o.optimizer));
	put_int(doc, "accum", r->o.accum);
	put_real(doc, "clip_norm", r->o.clip_norm > 0 ? r->o.clip_norm : NAN);
	put_real(doc, "grad_norm", r->last.grad_norm);
	put_real(doc, "loss_scale", r->last.loss_scale);
	put_int(doc, "skipped_updates", r->skipped);
	put_int(doc, "seed", r->o.seed);
	put_real(doc, "lr", r->o.lr);
	put_int(doc, "parameters", (uint64_t)rt_program_parameters(r->program));
	put_real(doc, "loss", r->loss);
	put_times(doc, r);
	for (size_t i = 0; i < GT_ARRAY_SIZE(from_report); i++)
		if (r->o.profile || strcmp(from_report[i], "ops") != 0)
			json_object_set(doc, from_report[i], json_object_get(report, from_report[i]));
	json_object_set_new(doc, "data", bn_feed_report(&r->feed, (double)(r->all_rows * r->o.seq * r->o.accum * r->o.steps),
							json_object_get(doc, "warnings")));
	if (r->peaks.flops_per_s > 0)
		put_peaks(doc, &r->peaks);
	if (r->ranks)
		json_object_update(json_object_get(doc, "ddp"), r->ranks);
	if (r->o.check_gradients)
		json_object_set_new(doc, "gradient_check", json_pack("{s:i, s:o}", "checked", r->checked.checked, "worst",
								     gt_json_real(r->checked.worst)));
	return doc;
}

int bn_train_rank(const struct bn_train_options *o, struct rt_comm *comm, json_t **ret, struct gt_err *err)
{
	struct run r = { 0 };
	int status = fill_defaults(&r, o, err), rank = comm ? rt_comm_rank(comm) : 0;

	if (!status)
		status = check_options(&r, err);
	if (!status && r.o.ranks > 1 && !comm)
		return bn_train_ranks(&r.o, ret, err);
	r.comm = comm;
	r.rows = r.o.batch;
	r.all_rows = r.o.batch * r.o.ranks;
	r.first_row = r.rows * (uint64_t)rank;
	if (!status)
		status = build(&r, err);
	if (!status)
		status = make_inputs(&r, err);
	if (!status && r.o.balance)
		status = balance(&r, err);
	if (!status && r.o.resume)
		status = rt_load(r.program, r.o.resume, &r.ticket, err);
	if (!status)
		status = check_gradients(&r, err);
	if (!status)
		status = open_feed(&r, err);
	if (!status)
		status = held_out(&r, &r.before, err);
	if (!status)
		status = train(&r, err);
	if (!status)
		status = held_out(&r, &r.after, err);
	if (!status && comm)
		status = bn_train_measure_ranks(comm, r.program, r.rows, &r.ranks, err);
	if (!status)
		status = rank ? 0 : write_trace(&r, err);
	r.rss_bytes = resident_bytes();
	if (!status && (r.o.profile || gt_streq(r.o.device, "cuda")) && !rank)
		status = gt_streq(r.o.device, "cuda") ? rt_meter_peaks(gt_streq(r.o.amp, "tf32"), &r.peaks, err) :
							rt_measure_peaks((int)r.o.threads, &r.peaks, err);
	if (!status && !rank)
		*ret = document(&r);
	run_clear(&r);
	return status;
}

int bn_train(const struct bn_train_options *o, json_t **ret, struct gt_err *err)
{
	if (rt_mpi_started())
		return bn_train_mpi(o, ret, err);
	return bn_train_rank(o, NULL, ret, err);
}
