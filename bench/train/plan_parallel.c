/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each split is planned by rt_plan_rank(), stage by stage. Memory and messages are those of the programs that
 * `gpubench train` would run. Only the time is a model:
 *
 * A stage needs c seconds per microbatch: for each call the longer of the times of its flops and of its bytes, and then its
 * tensor parallel collectives and its messages. The step of stages c_i with M microbatches is sum(c_i) + (M - 1) max(c_i) in
 * both schedules. The reduction of gradients and the update follow. GPUs reduce during the backward pass, which is two
 * thirds of a microbatch's time; ranks on CPUs do not.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/train/check_options.h"
#include "bench/train/models.h"
#include "bench/train/plan_parallel.h"
#include "lib/cli.h"
#include "lib/file.h"
#include "runtime/transport/comm.h"

#define CONFIG_MAX	(UINT64_C(1) << 20)
#define LAYERS_MAX	1024
#define ELEMENTS_MAX	1e15

struct split {
	int dp, tp, pp, zero;
	uint64_t microbatches, rows; /* rows: of a microbatch */
	struct rt_rank_plan most;    /* plan of the rank that needs the most memory */
	double data_bytes, tensor_bytes, pipeline_bytes; /* bytes of the rank that sends the most */
	double step_s, bubble;
	bool fits;
};
struct planner {
	const struct bn_parallel_request *q;
	const struct bn_model *model;
	struct bn_train_options o; /* options of one rank, with defaults filled in */
	uint64_t batch;
	struct split *split;
	size_t n;
	json_t *impossible;
};

/* ---- the model ---- */

static int too_large(struct gt_err *err, const char *what, double value, double most)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "%s of %.4g is too large to plan: the limit is %.4g", what, value, most);
}

static int check_sizes(const struct planner *p, struct gt_err *err)
{
	const struct bn_train_options *o = &p->o;
	double widest = fmax(fmax((double)o->vocab, 4 * (double)o->width), 2 * (double)o->hf.size.ffn);
	double heads = ((double)o->hf.size.heads + 2 * (double)o->hf.size.kv_heads) * (double)o->hf.size.depth;
	double parameters = fmax(widest, heads) * (double)o->width * ((double)o->layers + 1);
	double elements = (double)p->batch * (double)o->seq * fmax(widest, heads);

	if (o->layers > LAYERS_MAX)
		return too_large(err, "a number of layers", (double)o->layers, LAYERS_MAX);
	if (elements > ELEMENTS_MAX)
		return too_large(err, "a number of activations", elements, ELEMENTS_MAX);
	if (parameters > ELEMENTS_MAX)
		return too_large(err, "a number of parameters", parameters, ELEMENTS_MAX);
	return 0;
}

static int resolve(struct planner *p, struct gt_err *err)
{
	const struct bn_parallel_request *q = p->q;
	struct bn_train_options one = q->model;
	int r;

	one.alone = true;
	one.batch = 0;
	one.sp = false;
	p->model = bn_model_find(one.model, err);
	if (!p->model)
		return -EINVAL;
	r = bn_train_check(&one, &p->o, err);
	if (r)
		return r;
	if (q->from_config)
		p->o.hf = q->model.hf;
	p->batch = q->model.batch ? q->model.batch : p->o.batch * q->ranks;
	return check_sizes(p, err);
}

static struct rt_options options_of(const struct planner *p, const struct split *k)
{
	static const struct {
		const char *name;
		enum rt_optimizer_kind kind;
	} optimizers[] = { { "sgd", RT_SGD }, { "adam", RT_ADAM }, { "adamw", RT_ADAMW }, { "adamw8", RT_ADAMW8 } };
	struct rt_options o = {
		.device = p->q->gpus ? RT_CUDA : RT_CPU,
		.threads = (int)p->o.threads,
		.seed = 1,
		.accum = (int)k->microbatches,
		.precision = bn_train_precision(&p->o),
		.optimizer = { .kind = RT_SGD, .lr = 1e-3, .momentum = 0.9 },
		.ranks = { .sequence = p->q->model.sp, .shard = k->zero ? RT_WHEN_ON : RT_WHEN_OFF, .shard_stage = k->zero },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(optimizers); i++)
		if (gt_streq(p->o.optimizer, optimizers[i].name))
			o.optimizer.kind = optimizers[i].kind;
	return o;
}

static int plan_stage(const struct planner *p, const struct split *k, int stage, struct rt_rank_plan *ret, struct gt_err *err)
{
	const struct rt_split at = { .dp = k->dp, .tp = k->tp, .pp = k->pp, .stage = stage };
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_options opt = options_of(p, k);
	struct bn_train_options sized = p->o;

	sized.batch = k->rows;
	return rt_plan_rank(g, p->model->declare(g, &sized), &opt, &at, &p->q->rates, ret, err);
}

/* ---- time ---- */

/* Returns the seconds of a microbatch in a stage. */
static double microbatch_s(const struct planner *p, const struct split *k, const struct rt_rank_plan *s)
{
	double sent = s->tensor_bytes + s->pipeline_bytes;
	double messages = s->tensor_calls + (k->pp > 1 ? 2 * (double)k->microbatches : 0);

	return (s->batches_s + sent / p->q->link_bytes_per_s + messages * p->q->latency_s) / (double)k->microbatches;
}

/* Returns the seconds in which a stage reduces gradients after its last backward pass, and updates. */
static double end_s(const struct planner *p, const struct split *k, const struct rt_rank_plan *s)
{
	double reduce = s->data_bytes / p->q->link_bytes_per_s;
	double hidden = p->q->gpus ? 2.0 / 3 * s->batches_s / (k->zero >= 2 ? 1 : (double)k->microbatches) : 0;

	return fmax(reduce - hidden, 0) + s->update_s;
}

static int plan_split(const struct planner *p, struct split *k, struct gt_err *err)
{
	double sum = 0, most = 0, end = 0, m = (double)k->microbatches;

	k->most = (struct rt_rank_plan){ 0 };
	k->data_bytes = k->tensor_bytes = k->pipeline_bytes = 0;
	for (int stage = 0; stage < k->pp; stage++) {
		struct rt_rank_plan s;
		int r = plan_stage(p, k, stage, &s, err);
		double c;

		if (r)
			return r;
		if (s.planned_bytes > k->most.planned_bytes)
			k->most = s;
		k->data_bytes = fmax(k->data_bytes, s.data_bytes);
		k->tensor_bytes = fmax(k->tensor_bytes, s.tensor_bytes);
		k->pipeline_bytes = fmax(k->pipeline_bytes, s.pipeline_bytes);
		c = microbatch_s(p, k, &s);
		sum += c;
		most = fmax(most, c);
		end = fmax(end, end_s(p, k, &s));
	}
	k->fits = k->most.planned_bytes + p->q->reserve_bytes <= p->q->memory_bytes;
	k->step_s = sum + (m - 1) * most + end;
	k->bubble = k->pp > 1 ? 1 - m * sum / k->pp / (sum + (m - 1) * most) : 0;
	return 0;
}

/* ---- all splits ---- */

static int check_division(const struct planner *p, const struct split *k, struct gt_err *err)
{
	const struct rt_llama_config *size = &p->o.hf.size;

	if (p->batch % (uint64_t)k->dp)
		return gt_fail(err, EINVAL, "a batch of %" PRIu64 " cannot be divided among %d data parallel ranks", p->batch,
			       k->dp);
	if (p->model->heads && p->o.heads % (uint64_t)k->tp)
		return gt_fail(err, EINVAL, "%" PRIu64 " heads cannot be divided among %d tensor parallel ranks", p->o.heads,
			       k->tp);
	if (p->model->hf && size->kv_heads % k->tp)
		return gt_fail(err, EINVAL, "%" PRId64 " key/value heads cannot be divided among %d tensor parallel ranks",
			       size->kv_heads, k->tp);
	if (!p->model->heads && p->model->size && k->tp > 1)
		return gt_fail(err, EINVAL, "%s has no layers that %d tensor parallel ranks can split", p->model->name, k->tp);
	return 0;
}

/* Checks that `gpubench train` accepts the split on CPUs. */
static int check_train(const struct planner *p, const struct split *k, struct gt_err *err)
{
	static const char *const stages[] = { NULL, "1", "2", "3" };
	struct bn_train_options o = p->q->model, full;

	if (p->q->gpus)
		return 0;
	o.batch = p->batch / (uint64_t)k->dp;
	o.ranks = (uint64_t)k->dp * (uint64_t)k->tp * (uint64_t)k->pp;
	o.tp = (uint64_t)k->tp;
	o.sp = k->tp > 1 && p->q->model.sp;
	o.pp = (uint64_t)k->pp;
	o.shard = stages[k->zero];
	return bn_train_check(&o, &full, err);
}

/* Plans with the fewest microbatches that fit, from the default of `gpubench train`: at most four per stage. */
static int choose_microbatches(const struct planner *p, struct split *k, struct gt_err *err)
{
	uint64_t all = p->batch / (uint64_t)k->dp, m = k->pp > 1 ? GT_MIN(4 * (uint64_t)k->pp, all) : 1;

	while (all % m)
		m--;
	for (; m <= all && !k->fits; m++) {
		int r;

		if (all % m)
			continue;
		k->microbatches = m;
		k->rows = all / m;
		r = plan_split(p, k, err);
		if (r)
			return r;
	}
	return 0;
}

static void add_split(struct planner *p, struct split k)
{
	struct gt_err err = { 0 };
	int r = check_division(p, &k, &err);

	r = r ? r : check_train(p, &k, &err);
	r = r ? r : choose_microbatches(p, &k, &err);
	if (r)
		json_array_append_new(p->impossible, json_pack("{s:i, s:i, s:i, s:i, s:o}", "dp", k.dp, "tp", k.tp, "pp", k.pp,
							       "zero", k.zero, "reason", gt_json_str(err.msg)));
	if (r)
		return;
	p->split = gt_xrealloc(p->split, (p->n + 1) * sizeof(*p->split));
	p->split[p->n++] = k;
}

static void add_all(struct planner *p)
{
	int ranks = (int)p->q->ranks;

	for (int tp = 1; tp <= ranks; tp++)
		for (int pp = 1; ranks % tp == 0 && pp <= ranks / tp; pp++) {
			int dp = ranks / tp / pp;

			for (int zero = 0; dp * tp * pp == ranks && zero <= (dp > 1 ? 3 : 0); zero++)
				add_split(p, (struct split){ .dp = dp, .tp = tp, .pp = pp, .zero = zero });
		}
}

static int by_time(const void *a, const void *b)
{
	const struct split *x = a, *y = b;

	if (x->fits != y->fits)
		return x->fits ? -1 : 1;
	if (x->fits && fabs(x->step_s - y->step_s) > 0)
		return x->step_s < y->step_s ? -1 : 1;
	if (x->most.planned_bytes != y->most.planned_bytes)
		return x->most.planned_bytes < y->most.planned_bytes ? -1 : 1;
	return x->tp != y->tp ? x->tp - y->tp : x->pp != y->pp ? x->pp - y->pp : x->zero - y->zero;
}

/* ---- the document ---- */

static json_t *bytes_json(double v)
{
	return json_integer((json_int_t)llround(v));
}

static json_t *split_json(const struct split *k)
{
	const struct rt_rank_plan *m = &k->most;

	return json_pack("{s:i, s:i, s:i, s:i, s:I, s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "dp", k->dp, "tp",
			 k->tp, "pp", k->pp, "zero", k->zero, "microbatches", (json_int_t)k->microbatches, "rows",
			 (json_int_t)k->rows, "fits", k->fits, "memory_bytes", bytes_json((double)m->planned_bytes),
			 "parameter_bytes", bytes_json((double)m->parameter_bytes), "gradient_bytes",
			 bytes_json((double)m->gradient_bytes), "optimizer_bytes", bytes_json((double)m->optimizer_bytes),
			 "activation_bytes", bytes_json((double)m->activation_bytes), "data_sent_bytes", bytes_json(k->data_bytes),
			 "tensor_sent_bytes", bytes_json(k->tensor_bytes), "pipeline_sent_bytes", bytes_json(k->pipeline_bytes),
			 "step_s", gt_json_real(k->step_s), "bubble", gt_json_real(k->bubble));
}

static json_t *document(const struct planner *p)
{
	const struct bn_parallel_request *q = p->q;
	json_t *rows = json_array();

	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(rows, split_json(&p->split[i]));
	return json_pack("{s:s, s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:b, "
			 "s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:O}",
			 "schema", BN_PLAN_PARALLEL_SCHEMA, "model", p->model->name, "parameters",
			 (json_int_t)p->split[0].most.parameters, "layers", (json_int_t)p->o.layers, "device",
			 q->gpus ? "gpu" : "cpu", "ranks", (json_int_t)q->ranks, "batch", (json_int_t)p->batch, "seq",
			 (json_int_t)p->o.seq, "sp", q->model.sp,
			 "amp", p->o.amp ? p->o.amp : "fp32", "optimizer", p->o.optimizer, "memory_bytes",
			 (json_int_t)q->memory_bytes, "reserve_bytes", (json_int_t)q->reserve_bytes, "flops_per_s",
			 gt_json_real(q->rates.flops_per_s), "reduced_flops_per_s", gt_json_real(q->rates.reduced_flops_per_s),
			 "bytes_per_s", gt_json_real(q->rates.bytes_per_s), "link_bytes_per_s", gt_json_real(q->link_bytes_per_s),
			 "latency_s", gt_json_real(q->latency_s), "source", q->source, "splits", rows, "impossible", p->impossible);
}

int bn_parallel_check(const struct bn_parallel_request *q, struct gt_err *err)
{
	struct planner p = { .q = q };

	return resolve(&p, err);
}

int bn_plan_parallel(const struct bn_parallel_request *q, json_t **ret, struct gt_err *err)
{
	gt_auto_json *impossible = json_array();
	struct planner p = { .q = q, .impossible = impossible };
	int r = resolve(&p, err);

	if (r)
		return r;
	add_all(&p);
	if (!p.n)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "no split among %" PRIu64 " ranks is possible: %s", q->ranks,
				    gt_json_get_str(json_array_get(impossible, 0), "reason", ""));
	qsort(p.split, p.n, sizeof(*p.split), by_time);
	*ret = document(&p);
	free(p.split);
	return 0;
}

/* ---- config.json ---- */

int bn_parallel_parse_config(struct bn_parallel_request *q, const char *text, size_t len, const char *name, struct gt_err *err)
{
	struct bn_train_options *o = &q->model;
	const struct rt_llama_config *c = &o->hf.size;
	int r = gt_fail_as(err, GT_EXIT_USAGE, rt_hf_parse_sizes(text, len, name, &o->hf, err));

	if (r)
		return r;
	q->from_config = true;
	o->model = o->hf.family == RT_HF_LLAMA ? "llama" : "gpt2";
	o->layers = (uint64_t)c->layers;
	o->width = (uint64_t)c->width;
	o->heads = (uint64_t)c->heads;
	o->vocab = (uint64_t)c->vocab;
	o->seq = o->seq ? o->seq : (uint64_t)GT_MIN(c->context, 4096);
	if (o->seq > (uint64_t)c->context)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--seq %" PRIu64 " is longer than the context of %" PRId64 " of %s",
				    o->seq, c->context, name);
	if (o->hf.family == RT_HF_GPT2)
		return 0;
	o->kv_heads = (uint64_t)c->kv_heads;
	o->ffn = (uint64_t)c->ffn;
	o->tied = c->tied;
	return 0;
}

int bn_parallel_read_config(struct bn_parallel_request *q, const char *path, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	size_t len = 0;
	int r = gt_fail_as(err, GT_EXIT_USAGE, gt_file_read(path, CONFIG_MAX, &text, &len, err));

	return r ? r : bn_parallel_parse_config(q, text, len, path, err);
}
