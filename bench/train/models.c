/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "bench/train/models.h"
#include "lib/buf.h"

#define CLASSES_SMALL	10
#define CLASSES		1000

static struct rt_gpt_config tokens_of(const struct bn_train_options *o)
{
	return (struct rt_gpt_config){
		.batch = (int64_t)o->batch, .seq = (int64_t)o->seq, .layers = (int64_t)o->layers, .width = (int64_t)o->width,
		.heads = (int64_t)o->heads, .vocab = (int64_t)o->vocab, .cache = (int64_t)o->cache,
	};
}

static struct rt_node *gpt2(struct rt_graph *g, const struct bn_train_options *o)
{
	struct rt_gpt_config c = tokens_of(o);

	c.positions = o->hf.size.context;
	c.ffn = o->hf.size.ffn;
	return rt_model_gpt(g, &c);
}

static struct rt_node *llama(struct rt_graph *g, const struct bn_train_options *o)
{
	struct rt_llama_config c = o->hf.size;

	c.batch = (int64_t)o->batch;
	c.seq = (int64_t)o->seq;
	c.cache = (int64_t)o->cache;
	return rt_model_llama(g, &c);
}

static struct rt_node *gpt(struct rt_graph *g, const struct bn_train_options *o)
{
	struct rt_gpt_config c = tokens_of(o);

	c.positions = (int64_t)o->positions;
	return rt_model_gpt(g, &c);
}

static struct rt_node *bert(struct rt_graph *g, const struct bn_train_options *o)
{
	struct rt_gpt_config c = tokens_of(o);

	c.positions = GT_MAX(c.seq, 512);
	return rt_model_bert(g, &c);
}

static struct rt_node *mlp(struct rt_graph *g, const struct bn_train_options *o)
{
	static const int64_t sizes[] = { 784, 1024, 1024, CLASSES_SMALL };

	return rt_model_mlp(g, (int64_t)o->batch, sizes, GT_ARRAY_SIZE(sizes));
}

static struct rt_node *resnet20(struct rt_graph *g, const struct bn_train_options *o)
{
	return rt_model_resnet_small(g, (int64_t)o->batch, (int64_t)o->size, 20, CLASSES_SMALL);
}

static struct rt_node *resnet50(struct rt_graph *g, const struct bn_train_options *o)
{
	return rt_model_resnet50(g, (int64_t)o->batch, (int64_t)o->size, CLASSES);
}

static struct rt_node *vit(struct rt_graph *g, const struct bn_train_options *o)
{
	return rt_model_vit(g, &(struct rt_vit_config){
		.batch = (int64_t)o->batch, .size = (int64_t)o->size, .patch = (int64_t)o->patch, .layers = (int64_t)o->layers,
		.width = (int64_t)o->width, .heads = (int64_t)o->heads, .classes = CLASSES });
}

/* gpt is small enough to learn in seconds on two cores. The PyTorch comparison trains the others. */
const struct bn_model bn_models[] = {
	{ .name = "gpt2", .unit = "tokens", .batch = 4, .seq = 256, .layers = 12, .width = 768, .heads = 12, .vocab = 50257,
	  .steps = 8, .warmup = 2, .lr = 1e-4, .optimizer = "adamw", .tokens = true, .hf = 1 + RT_HF_GPT2,
	  .declare = gpt2 },
	{ .name = "llama", .unit = "tokens", .batch = 4, .seq = 256, .layers = 12, .width = 768, .heads = 12, .kv_heads = 4,
	  .ffn = 2048, .vocab = 32000, .steps = 8, .warmup = 2, .lr = 1e-4, .optimizer = "adamw", .tokens = true,
	  .hf = 1 + RT_HF_LLAMA, .declare = llama },
	{ .name = "gpt", .unit = "tokens", .batch = 8, .seq = 128, .layers = 4, .width = 128, .heads = 4, .vocab = 256,
	  .steps = 60, .warmup = 3, .lr = 1e-3, .optimizer = "adamw", .tokens = true, .text = true, .declare = gpt },
	{ .name = "bert", .unit = "tokens", .batch = 8, .seq = 128, .layers = 12, .width = 768, .heads = 12, .vocab = 30522,
	  .steps = 4, .warmup = 2, .lr = 1e-4, .optimizer = "adamw", .declare = bert },
	{ .name = "vit", .unit = "samples", .batch = 8, .layers = 12, .width = 384, .heads = 6, .size = 224,
	  .patch = 16, .classes = CLASSES, .steps = 4, .warmup = 2, .lr = 1e-4, .optimizer = "adamw", .declare = vit },
	{ .name = "resnet20", .unit = "samples", .batch = 64, .size = 32, .classes = CLASSES_SMALL, .steps = 30, .warmup = 3,
	  .lr = 0.01, .optimizer = "sgd", .declare = resnet20 },
	{ .name = "resnet50", .unit = "samples", .batch = 8, .size = 224, .classes = CLASSES, .steps = 4, .warmup = 2,
	  .lr = 0.01, .optimizer = "sgd", .declare = resnet50 },
	{ .name = "mlp", .unit = "samples", .batch = 256, .classes = CLASSES_SMALL, .steps = 50, .warmup = 3, .lr = 0.01,
	  .optimizer = "sgd", .declare = mlp },
	{ .name = NULL },
};

const char *bn_model_word(size_t i)
{
	return bn_models[i].name;
}

const struct bn_model *bn_model_find(const char *name, struct gt_err *err)
{
	gt_auto_buf names = { 0 };

	for (const struct bn_model *m = bn_models; m->name; m++) {
		if (gt_streq(name, m->name))
			return m;
		gt_buf_printf(&names, "%s%s", m == bn_models ? "" : m[1].name ? ", " : " and ", m->name);
	}
	gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "no model %s: %s can be trained", name, names.s);
	return NULL;
}

static int misfit(struct gt_err *err, const char *what)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s", what);
}

int bn_model_check(const struct bn_model *m, const struct bn_train_options *o, struct gt_err *err)
{
	const struct {
		const char *option;
		uint64_t given, has;
	} sizes[] = {
		{ "seq", m->seq ? 0 : o->seq > 1, m->seq }, { "layers", o->layers, m->layers }, { "width", o->width, m->width },
		{ "heads", o->heads, m->heads }, { "vocab", o->vocab, m->vocab }, { "size", o->size, m->size },
		{ "kv-heads", o->kv_heads, m->kv_heads }, { "ffn", o->ffn, m->ffn }, { "tied", o->tied, m->kv_heads },
		{ "patch", o->patch, m->patch },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(sizes); i++)
		if (sizes[i].given && !sizes[i].has)
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s takes no --%s", m->name, sizes[i].option);
	if (m->heads && !o->weights && o->width % o->heads) /* config.json may have a head_dim */
		return misfit(err, "--width must be a multiple of --heads");
	if (m->kv_heads && o->heads % o->kv_heads)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--heads %llu must be a multiple of --kv-heads %llu",
				    (unsigned long long)o->heads, (unsigned long long)o->kv_heads);
	if (m->kv_heads && o->hf.size.depth % 2)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--width %llu with --heads %llu: the width of a head, %lld, must be even",
				    (unsigned long long)o->width, (unsigned long long)o->heads, (long long)o->hf.size.depth);
	if (!m->hf && (o->weights || o->save_weights))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s has no Hugging Face layout: llama and gpt2 have", m->name);
	if (!m->tokens && !m->classes && o->data)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s trains on random samples: it takes no --data", m->name);
	if (m->text && !o->data && o->vocab < 256)
		return misfit(err, "--vocab must be at least 256 to train on bytes of text");
	if (m->patch && o->size % o->patch)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--size %llu must be a multiple of --patch %llu: the model cuts images into such patches",
				    (unsigned long long)o->size, (unsigned long long)o->patch);
	if (m->size && (o->size < 8 || o->size > 4096))
		return misfit(err, "--size must be 8 to 4096 pixels");
	return 0;
}
