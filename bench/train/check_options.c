/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include "bench/train/check_options.h"
#include "bench/train/models.h"
#include "bench/train/prune.h"
#include "bench/train/train_data.h"
#include "lib/file.h"
#include "runtime/transport/comm.h"

#define DIM_MAX	(UINT64_C(1) << 24)

static uint64_t or_default(uint64_t given, uint64_t dflt)
{
	return given ? given : dflt;
}

static int usage(struct gt_err *err, const char *what)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s", what);
}

/* By default a batch has at most four microbatches per stage. */
static void fill_stages(const struct bn_train_options *o, struct bn_train_options *ret)
{
	ret->microbatches = or_default(o->microbatches, ret->pp > 1 ? GT_MIN(4 * ret->pp, ret->batch) : 1);
	while (!o->microbatches && ret->batch % ret->microbatches)
		ret->microbatches--;
}

static void fill_defaults(const struct bn_model *m, const struct bn_train_options *o, struct bn_train_options *ret)
{
	*ret = *o;
	ret->batch = or_default(o->batch, m->batch);
	ret->seq = or_default(o->seq, GT_MAX(m->seq, 1));
	ret->layers = or_default(o->layers, m->layers);
	ret->width = or_default(o->width, m->width);
	ret->heads = or_default(o->heads, m->heads);
	ret->kv_heads = or_default(o->kv_heads, o->heads && m->kv_heads ? ret->heads : m->kv_heads);
	ret->ffn = or_default(o->ffn, o->width && m->ffn ? (8 * ret->width / 3 + 63) / 64 * 64 : m->ffn);
	ret->vocab = or_default(o->vocab, m->vocab);
	ret->size = or_default(o->size, m->size);
	ret->patch = or_default(o->patch, m->patch);
	ret->steps = or_default(o->steps, m->steps);
	ret->accum = or_default(o->accum, 1);
	ret->optimizer = o->optimizer ? o->optimizer : m->optimizer;
	ret->tp = or_default(o->tp, 1);
	ret->pp = or_default(o->pp, 1);
	ret->ranks = or_default(o->ranks, ret->tp * ret->pp);
	ret->seed = or_default(o->seed, 1);
	fill_stages(o, ret);
	ret->lr = isnan(o->lr) ? m->lr : o->lr;
	if (o->warmup == UINT64_MAX)
		ret->warmup = m->warmup;
}

/* One model needs tp x pp ranks. Further ranks have other batches. */
static int check_ranks(const struct bn_train_options *o, struct gt_err *err)
{
	bool between_batches = o->compress || o->balance || o->overlap || o->shard || o->powersgd_rank;

	if (o->ranks > RT_MAX_RANKS || o->tp > RT_MAX_RANKS || o->pp > RT_MAX_RANKS)
		return usage(err, "--ranks, --tp and --pp take at most 64");
	if (o->ranks % (o->tp * o->pp))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--ranks %" PRIu64 " is not a multiple of --tp %" PRIu64
				    " times --pp %" PRIu64, o->ranks, o->tp, o->pp);
	if (o->ranks == 1 && between_batches)
		return usage(err, "--compress, --powersgd-rank, --balance, --overlap and --shard need --ranks of at least 2");
	if (o->ranks == o->tp * o->pp && between_batches)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--compress, --powersgd-rank, --balance, --overlap and --shard "
				    "need ranks with different batches: --ranks %" PRIu64 " with --tp %" PRIu64 " and --pp %" PRIu64
				    " has one batch", o->ranks, o->tp, o->pp);
	return 0;
}

static int check_tensor(const struct bn_model *m, const struct bn_train_options *o, struct gt_err *err)
{
	if (o->tp == 1)
		return o->sp ? usage(err, "--sp needs --tp of at least 2") : 0;
	if (o->balance)
		return usage(err, "--balance and --tp exclude each other");
	if (o->check_gradients)
		return usage(err, "--check-gradients and --tp exclude each other");
	if (gt_streq(o->optimizer, "adamw8"))
		return usage(err, "--optimizer adamw8 and --tp exclude each other: use adamw");
	if (m->heads && o->heads % o->tp)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--heads %" PRIu64 " cannot be divided among --tp %" PRIu64 " ranks", o->heads, o->tp);
	if (m->kv_heads && o->kv_heads % o->tp)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--kv-heads %" PRIu64 " cannot be divided among --tp %" PRIu64 " ranks", o->kv_heads, o->tp);
	if (m->size && !m->heads)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s has no layers that --tp can split", m->name);
	return 0;
}

static bool is_sharded(const struct bn_train_options *o)
{
	return o->shard && !gt_streq(o->shard, "off") && !gt_streq(o->shard, "auto");
}

/* Rank 0 sums the gradients in the same pass over memory as its update. */
static int check_reduce(const struct bn_train_options *o, struct gt_err *err)
{
	bool compressed = o->compress && !gt_streq(o->compress, "none");

	if (!gt_streq(o->reduce, "gather"))
		return 0;
	if (o->ranks == o->tp * o->pp)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--reduce gather needs ranks with different batches: --ranks "
				    "%" PRIu64 " with --tp %" PRIu64 " and --pp %" PRIu64 " has one batch", o->ranks, o->tp, o->pp);
	if (gt_streq(o->device, "cuda"))
		return usage(err, "--reduce gather needs --device cpu: NCCL reduces the gradients of CUDA devices");
	if (is_sharded(o) || compressed || o->prune)
		return usage(err, "--reduce gather excludes --shard, --compress and --prune");
	if (o->clip_norm > 0 || gt_streq(o->amp, "fp16"))
		return usage(err, "--reduce gather excludes --clip and --amp fp16: rank 0 sums gradients while it updates");
	return 0;
}

/* Gradients and parameters are sharded by bucket within a batch, and no rank has them all. */
static int check_shard(const struct bn_train_options *o, struct gt_err *err)
{
	if (!gt_streq(o->shard, "2") && !gt_streq(o->shard, "3"))
		return 0;
	if (gt_streq(o->schedule, "gpipe"))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--shard %s and --schedule gpipe exclude each other: use 1f1b",
				    o->shard);
	if (o->compress && !gt_streq(o->compress, "none"))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--shard %s and --compress %s exclude each other: use --shard 1",
				    o->shard, o->compress);
	return 0;
}

static int check_microbatches(const struct bn_train_options *o, struct gt_err *err)
{
	if (o->microbatches == 1)
		return 0;
	if (o->accum > 1)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--accum %" PRIu64 " and --microbatches %" PRIu64 " exclude each "
				    "other: the microbatches of an update are accumulated", o->accum, o->microbatches);
	if (o->batch % o->microbatches)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--microbatches %" PRIu64 " does not divide --batch %" PRIu64,
				    o->microbatches, o->batch);
	if (o->documents || o->balance)
		return usage(err, "--microbatches and --pp need batches of one shape: not with --documents or --balance");
	return 0;
}

/* Counts the places where the model can be cut, before any rank starts. */
static int check_cuts(const struct bn_model *m, const struct bn_train_options *o, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct bn_train_options sized = *o;
	int most, r;

	sized.batch = o->batch / o->microbatches;
	m->declare(g, &sized);
	r = rt_graph_error(g, err);
	if (r) {
		err->exit_status = GT_EXIT_USAGE;
		return r;
	}
	most = rt_pipeline_most_stages(g);
	if (o->pp > (uint64_t)most)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--pp %" PRIu64 ": %s can be cut into at most %d stages", o->pp,
				    m->name, most);
	return 0;
}

static int check_stages(const struct bn_model *m, const struct bn_train_options *o, struct gt_err *err)
{
	int r = check_microbatches(o, err);

	if (r)
		return r;
	if (o->pp == 1)
		return o->schedule ? usage(err, "--schedule needs --pp of at least 2") : 0;
	if (o->overlap || o->check_gradients)
		return usage(err, "--overlap and --check-gradients exclude --pp");
	if (gt_streq(o->amp, "fp16"))
		return usage(err, "--amp fp16 excludes --pp: the stages do not agree on a loss scale, so use bf16");
	if (gt_streq(o->amp, "fp8"))
		return usage(err, "--amp fp8 excludes --pp: use bf16");
	return check_cuts(m, o, err);
}

static int check_qat(const struct bn_train_options *o, struct gt_err *err)
{
	if (!o->qat)
		return 0;
	if (gt_streq(o->device, "cuda"))
		return usage(err, "--qat needs --device cpu: the device has no kernels for roundings to INT8");
	if (o->amp && !gt_streq(o->amp, "fp32"))
		return usage(err, "--qat rounds f32 operands: it takes no --amp");
	return o->tp > 1 ? usage(err, "--qat and --tp exclude each other") : 0;
}

/* Checks that --save-weights can store the sizes of g, before or without the removal of units by p. */
static int check_saved_sizes(const struct bn_train_options *o, const struct bn_pruning *p, const struct rt_graph *g,
			     struct gt_err *err)
{
	struct rt_hf_config c = o->hf;

	if (p->remove[RT_UNIT_HEADS] > 0 && c.family == RT_HF_GPT2)
		return usage(err, "--prune of heads excludes --save-weights of gpt2: the heads of that layout have n_embd / n_head "
				  "columns. Use --save, or prune neurons");
	return gt_fail_as(err, GT_EXIT_USAGE, rt_hf_match_graph(&c, g, err));
}

/* Counts the units of the model, or of its checkpoint, before any rank starts. */
static int check_units(const struct bn_model *m, const struct bn_train_options *o, const struct bn_pruning *p, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	int r;

	m->declare(g, o);
	r = o->resume ? gt_fail_as(err, GT_EXIT_USAGE, rt_graph_match_checkpoint(g, o->resume, err)) : 0;
	if (r)
		return r;
	r = p->structured ? bn_prune_check_units(p, g, err) : 0;
	if (r)
		return gt_fail_prefix(err, "--prune %s", o->prune);
	return o->save_weights ? check_saved_sizes(o, p, g, err) : 0;
}

static int check_pruning(const struct bn_model *m, const struct bn_train_options *o, struct gt_err *err)
{
	struct bn_pruning p;
	int r = bn_prune_parse(o->prune, &p, err);

	if (r)
		return r;
	if (p.use && gt_streq(o->device, "cuda"))
		return usage(err, "--prune needs --device cpu: the device has no kernel for masks");
	if (o->prune && (o->tp > 1 || o->pp > 1 || gt_streq(o->shard, "3")))
		return usage(err, "--prune needs whole weights: it excludes --tp, --pp and --shard 3");
	if (p.structured && is_sharded(o))
		return usage(err, "--prune of units needs whole optimizer state: it excludes --shard");
	return p.structured || (o->resume && o->save_weights) ? check_units(m, o, &p, err) : 0;
}

static int check_options(const struct bn_model *m, const struct bn_train_options *o, struct gt_err *err)
{
	const struct {
		const char *option;
		uint64_t value;
	} dims[] = { { "batch", o->batch }, { "seq", o->seq }, { "layers", o->layers }, { "width", o->width },
		     { "heads", o->heads }, { "kv-heads", o->kv_heads }, { "ffn", o->ffn },
		     { "vocab", o->vocab }, { "size", o->size }, { "patch", o->patch }, { "steps", o->steps },
		     { "warmup", o->warmup }, { "accum", o->accum }, { "microbatches", o->microbatches },
		     { "checkpoint", o->checkpoint },
		     { "check-gradients", o->check_gradients }, { "compress-after", o->compress_after } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(dims); i++)
		if (dims[i].value > DIM_MAX)
			return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "--%s ends at %" PRIu64, dims[i].option, DIM_MAX);
	if (check_ranks(o, err) || check_tensor(m, o, err) || check_reduce(o, err))
		return -EINVAL;
	if (o->powersgd_rank && !gt_streq(o->compress, "powersgd"))
		return usage(err, "--powersgd-rank needs --compress powersgd");
	if (!isfinite(o->rank_timeout_s) || o->rank_timeout_s < 0)
		return usage(err, "--rank-timeout takes seconds, such as 30");
	if (o->ranks == 1 && o->rank_timeout_s > 0)
		return usage(err, "--rank-timeout needs --ranks of at least 2");
	if (o->powersgd_rank > 64)
		return usage(err, "--powersgd-rank takes at most 64");
	if (!bn_train_data_wanted(m, o) && (o->cache_bytes || o->augment || o->tokens || o->prefetch))
		return usage(err, "--cache, --augment, --tokens and --prefetch need --data");
	if (!o->documents && (o->buckets || o->token_budget))
		return usage(err, "--buckets and --token-budget need --documents");
	if (o->documents && (!m->tokens || !bn_train_data_wanted(m, o)))
		return usage(err, "--documents needs --data and a model that reads text: gpt or gpt2");
	if (o->documents && o->balance)
		return usage(err, "--documents has batches of several shapes, which --balance does not support");
	if (o->documents && o->ranks > 1 && gt_streq(o->device, "cuda"))
		return usage(err, "--documents does not support several ranks on CUDA devices: use one rank, or --device cpu");
	if (o->buckets > RT_LENGTHS_MAX)
		return usage(err, "--buckets takes at most 32");
	if (o->token_budget > 64 * DIM_MAX)
		return usage(err, "--token-budget takes at most 1073741824");
	if ((o->fp8_history || o->fp8_margin) && !gt_streq(o->amp, "fp8"))
		return usage(err, "--fp8-history and --fp8-margin need --amp fp8");
	if (o->fp8_history > 4096 || o->fp8_margin > 64)
		return usage(err, "--fp8-history takes at most 4096, --fp8-margin at most 64");
	if (o->weights && o->resume)
		return usage(err, "--weights and --resume exclude each other");
	if (o->save_every && !o->save)
		return usage(err, "--save-every needs --save");
	if (o->threads > 4096)
		return usage(err, "--threads takes at most 4096");
	if (!isfinite(o->clip_norm) || o->clip_norm < 0)
		return usage(err, "--clip must be a norm such as 1.0");
	if (!isfinite(o->lr) || o->lr < 0 || o->lr > 1e6)
		return usage(err, "--lr must be a learning rate such as 0.001");
	if (bn_model_check(m, o, err) || check_shard(o, err) || check_pruning(m, o, err) || check_qat(o, err))
		return -EINVAL;
	return check_stages(m, o, err);
}

/* Takes the sizes from --weights. A size that is also an option must be equal. */
static int use_config(const struct bn_model *m, const struct bn_train_options *o, struct bn_train_options *ret, struct gt_err *err)
{
	struct rt_llama_config *c = &ret->hf.size;
	int r = gt_fail_as(err, GT_EXIT_USAGE, rt_hf_read_config(o->weights, &ret->hf, err));
	const struct {
		const char *option;
		uint64_t given, *size;
		int64_t has;
	} sizes[] = { { "layers", o->layers, &ret->layers, c->layers }, { "width", o->width, &ret->width, c->width },
		      { "heads", o->heads, &ret->heads, c->heads }, { "kv-heads", o->kv_heads, &ret->kv_heads, c->kv_heads },
		      { "ffn", o->ffn, &ret->ffn, c->ffn }, { "vocab", o->vocab, &ret->vocab, c->vocab } };

	if (r < 0)
		return r;
	if (m->hf != 1 + (int)ret->hf.family)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s/config.json is of %s, not of %s", o->weights,
				    ret->hf.family == RT_HF_LLAMA ? "llama" : "gpt2", m->name);
	for (size_t i = 0; i < GT_ARRAY_SIZE(sizes); i++) {
		if (sizes[i].given && sizes[i].given != (uint64_t)sizes[i].has)
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "--%s %" PRIu64 " differs from the %" PRId64 " of %s/config.json",
					    sizes[i].option, sizes[i].given, sizes[i].has, o->weights);
		if (m->kv_heads || !(gt_streq(sizes[i].option, "kv-heads") || gt_streq(sizes[i].option, "ffn")))
			*sizes[i].size = (uint64_t)sizes[i].has;
	}
	ret->tied = c->tied && m->kv_heads;
	if (ret->seq > (uint64_t)c->context)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--seq %" PRIu64 " is longer than the context of %" PRId64 " tokens of %s", ret->seq,
				    c->context, o->weights);
	return 0;
}

/* PyTorch's GPT-2 has at least 1024 positions. The runtime pads them for documents. */
static void fill_config(const struct bn_model *m, struct bn_train_options *o)
{
	bool llama = m->hf == 1 + RT_HF_LLAMA;

	o->hf = (struct rt_hf_config){
		.family = llama ? RT_HF_LLAMA : RT_HF_GPT2,
		.size = { .layers = (int64_t)o->layers, .width = (int64_t)o->width, .heads = (int64_t)o->heads,
			  .kv_heads = (int64_t)(llama ? o->kv_heads : o->heads), .ffn = (int64_t)(llama ? o->ffn : 4 * o->width),
			  .vocab = (int64_t)o->vocab, .depth = o->heads ? (int64_t)(o->width / o->heads) : 0,
			  .context = (int64_t)GT_MAX(GT_MAX(o->seq, o->positions), llama ? 2048u : 1024u), .rope_base = 10000,
			  .eps = 1e-5f, .tied = llama ? o->tied : true },
	};
}

void bn_train_warn_of_keys(const struct bn_train_options *o, json_t *warnings)
{
	gt_autofree char *text = NULL;

	if (!o->weights || !*o->hf.unknown)
		return;
	text = gt_xasprintf("%s/config.json: the effect of %s is not known: results differ if it changes the model", o->weights,
			    o->hf.unknown);
	json_array_append_new(warnings, gt_json_str(text));
}

int bn_train_check(const struct bn_train_options *o, struct bn_train_options *ret, struct gt_err *err)
{
	const struct bn_model *m = bn_model_find(o->model, err);
	struct bn_train_options full;
	int status;

	if (!m)
		return -EINVAL;
	fill_defaults(m, o, &full);
	if (m->hf)
		fill_config(m, &full);
	status = o->weights && m->hf ? use_config(m, o, &full, err) : 0;
	if (status < 0)
		return status;
	status = check_options(m, &full, err);
	if (status < 0)
		return status;
	*ret = full;
	return 0;
}

int bn_train_resolve(const struct bn_train_options *o, struct bn_train_options *ret, struct gt_err *err)
{
	struct bn_train_options full;
	int status;

	status = bn_train_check(o, &full, err);
	if (status < 0)
		return status;
	status = gt_file_try(full.save, err);
	if (status < 0)
		return status;
	status = full.save_weights ? gt_fail_as(err, GT_EXIT_USAGE, rt_hf_try(full.save_weights, err)) : 0;
	if (status < 0)
		return status;
	status = gt_file_try(full.trace, err);
	if (status < 0)
		return status;
	*ret = full;
	return 0;
}

static enum rt_dtype amp_type(const char *name)
{
	if (gt_streq(name, "bf16") || gt_streq(name, "fp8"))
		return RT_BF16;
	return gt_streq(name, "fp16") ? RT_F16 : RT_F32;
}

struct rt_precision bn_train_precision(const struct bn_train_options *o)
{
	return (struct rt_precision){
		.amp = amp_type(o->amp),
		.tf32 = gt_streq(o->amp, "tf32"),
		.fp8 = { gt_streq(o->amp, "fp8"), (int)o->fp8_history, (int)o->fp8_margin },
		.no_master = gt_streq(o->master, "none"),
	};
}
