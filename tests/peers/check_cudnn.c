/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the convolutions of ResNet-50, ResNet-20 and ViT-S/16, and some unusual ones, with NVIDIA's cuDNN for GPUs that
 * are not present. Since 9.8, cuDNN can plan from the properties of a GPU. Checks: the operation graph of every shape,
 * pass and type is accepted, the heuristics return engines, plans are finalized, their workspace is within bounds, and
 * invalid graphs are rejected. Two handles choose among the same configurations; the file of choices on disk depends on
 * this.
 * VENV=DIRECTORY: use the cuDNN of that Python environment. DNN_CARDS=all: also an A100, an L4 and a T4, not only the
 * H200.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "runtime/cuda/dnn_api.h"
#include "runtime/graph/ir.h"

#ifdef __SANITIZE_ADDRESS__
/*
 * Leaks of modules that are unloaded at exit: cuDNN and cuBLASLt leak memory. The stand-in libraries are used to find
 * leaks of this project.
 */
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

#define MAX_SHAPES	64
#define BATCH		256

/* NVIDIA's CUDA C++ Programming Guide, table of technical specifications per compute capability; data sheets. */
static const struct card {
	const char *name;
	int arch, sms, sm_khz, memory_khz, l2_mib, shared, blocks, threads, memory_gib;
} cards[] = {
	{ "NVIDIA H200", 900, 132, 1980000, 3201000, 60, 232448, 32, 2048, 140 },
	{ "NVIDIA A100-SXM4-80GB", 800, 108, 1410000, 1593000, 40, 166912, 32, 2048, 79 },
	{ "NVIDIA L4", 890, 58, 2040000, 6251000, 48, 101376, 24, 1536, 22 },
	{ "Tesla T4", 750, 40, 1590000, 5001000, 4, 65536, 16, 1024, 15 },
};

static char *properties_of(const struct card *c)
{
	return gt_xasprintf("{\"deviceName\": \"%s\", \"deviceVer\": %d, \"driverVer\": 13000, \"cudaDeviceId\": 0, "
			    "\"multiProcessorCount\": %d, \"smCountOrigin\": 0, \"smClockRateKHz\": %d, \"memClockRateKHz\": %d, "
			    "\"l2CacheSize\": %d, \"maxSharedMemoryPerBlock\": 49152, \"maxSharedMemoryPerBlockOptin\": %d, "
			    "\"oversizedSharedMemoryPerBlock\": 0, \"reservedSharedMemoryPerBlock\": %d, \"regsPerBlock\": 65536, "
			    "\"maxRegistersPerSM\": 65536, \"maxCtasPerSM\": %d, \"maxThreadsPerBlock\": 1024, "
			    "\"maxThreadsPerSM\": %d, \"warpSize\": 32, \"maxGridSize\": [2147483647, 65535, 65535], "
			    "\"maxBlockSize\": [1024, 1024, 64], \"pciDeviceId\": 0, \"isTccDriver\": 0, \"supportCoopLaunch\": 1, "
			    "\"totalGlobalMem\": %lld}",
			    c->name, c->arch, c->sms, c->sm_khz, c->memory_khz, c->l2_mib << 20, c->shared,
			    c->arch >= 800 ? 1024 : 0, c->blocks, c->threads, (long long)c->memory_gib << 30);
}

static const struct {
	const char *name;
	enum rt_dtype type;
	bool tf32;
} types[] = { { "f32", RT_F32, false }, { "tf32", RT_F32, true }, { "bf16", RT_BF16, false }, { "f16", RT_F16, false } };

struct shapes {
	struct rt_dnn_conv all[MAX_SHAPES];
	int n;
};

static void add(struct shapes *s, struct rt_dnn_conv k)
{
	for (int i = 0; i < s->n; i++)
		if (!memcmp(&s->all[i], &k, sizeof(k)))
			return;
	if (s->n < MAX_SHAPES)
		s->all[s->n++] = k;
}

/* Every convolution of a model's graph. */
static void add_model(struct shapes *s, struct rt_graph *g)
{
	for (int i = 0; i < g->ir.n_calls; i++) {
		const struct rt_call *c = g->ir.calls[i];
		const int64_t *x = c->in[0]->shape.d, *w, *y = c->out[0]->shape.d;

		if (c->op->id != RT_OP_CONV)
			continue;
		w = c->in[1]->shape.d;
		add(s, (struct rt_dnn_conv){ .n = x[0], .h = x[1], .w = x[2], .c = x[3], .o = y[3], .oh = y[1], .ow = y[2],
					     .kh = w[2], .kw = w[3], .stride = c->attr.stride, .pad = c->attr.pad,
					     .groups = c->attr.groups });
	}
	rt_graph_free(g);
}

static struct rt_dnn_conv conv(int64_t n, int64_t h, int64_t w, int64_t c, int64_t o, int64_t k, int64_t stride, int64_t pad,
			       int64_t groups)
{
	return (struct rt_dnn_conv){ .n = n, .h = h, .w = w, .c = c, .o = o, .oh = (h + 2 * pad - k) / stride + 1,
				     .ow = (w + 2 * pad - k) / stride + 1, .kh = k, .kw = k, .stride = stride, .pad = pad,
				     .groups = groups };
}

/* The cases of gpubench check-device. */
static void add_odd(struct shapes *s)
{
	add(s, conv(2, 9, 7, 5, 7, 3, 1, 1, 1));
	add(s, conv(3, 8, 8, 16, 32, 3, 1, 1, 1));
	add(s, conv(2, 7, 5, 24, 16, 1, 1, 0, 1));
	add(s, conv(2, 11, 8, 8, 16, 3, 2, 1, 1));
	add(s, conv(2, 9, 10, 16, 24, 1, 2, 0, 1));
	add(s, conv(2, 17, 14, 3, 8, 7, 2, 3, 1));
	add(s, conv(2, 6, 7, 32, 16, 3, 1, 1, 2));
}

/* ---- results, as TAP ---- */
static int tests, failed;

static void check(bool good, const char *name, const char *why)
{
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++tests, name);
	if (!good)
		printf("# %s\n", why);
	failed += !good;
	fflush(stdout);
}

/* All shapes of one kind in one type. */
static void plan_all(struct rt_dnn *d, const char *card, const char *model, const struct shapes *s, size_t type)
{
	int suggested = 0, accepted = 0, refused = 0;
	size_t most = 0;
	struct gt_err err = { 0 }, first = { 0 };
	gt_autofree char *name = NULL;

	for (int i = 0; i < s->n; i++)
		for (int pass = RT_DNN_FORWARD; pass <= RT_DNN_FILTER; pass++) {
			struct rt_dnn_conv k = s->all[i];
			struct rt_dnn_info info = { 0 };
			int r;

			k.pass = (enum rt_dnn_pass)pass;
			k.type = types[type].type;
			k.tf32 = types[type].tf32;
			r = rt_dnn_plan(d, &k, &info, &err);
			if (r && !refused++)
				first = err;
			suggested += info.suggested;
			accepted += info.accepted;
			most = GT_MAX(most, info.workspace);
		}
	name = gt_xasprintf("%s, %s in %s: %d shapes, 3 ways each; %d configurations suggested, %d plans, workspace to %zu KiB",
			    card, model, types[type].name, s->n, suggested, accepted, most >> 10);
	check(!refused && accepted >= 3 * s->n && most <= RT_DNN_WORKSPACE, name,
	     refused ? first.msg : "too few plans, or too much workspace");
}

/* The same shape with another handle: the same configurations in the same order. */
static void compare(struct rt_dnn *d, const char *properties, const struct rt_dnn_conv *like)
{
	struct rt_dnn *other = NULL;
	struct rt_dnn_conv k = *like;
	struct rt_dnn_info info[2];
	struct gt_err err = { 0 };
	int r;

	k.type = RT_F16;
	k.pass = RT_DNN_FILTER;
	r = rt_dnn_plan(d, &k, &info[0], &err);
	if (!r)
		r = rt_dnn_open_for(properties, &other, &err);
	if (!r)
		r = rt_dnn_plan(other, &k, &info[1], &err);
	for (int i = 0; !r && i < d->n_convs; i++)
		if (gt_streq(d->convs[i]->c.name, other->convs[0]->c.name))
			for (int j = 0; j < info[0].accepted; j++)
				if (memcmp(d->convs[i]->c.candidates[j].words, other->convs[0]->c.candidates[j].words,
					   sizeof(d->convs[i]->c.candidates[j].words)) != 0)
					r = gt_fail(&err, EBADMSG, "way %d of %s is another one", j, d->convs[i]->c.name);
	check(!r && info[0].accepted == info[1].accepted, "another handle has the same ways in the same order", err.msg);
	rt_dnn_close(other);
}

static void refuse(struct rt_dnn *d, const char *name, struct rt_dnn_conv k)
{
	struct rt_dnn_info info;
	struct gt_err err = { 0 };
	int r = rt_dnn_plan(d, &k, &info, &err);

	check(r < 0 && strstr(err.msg, "cuDNN") && strchr(err.msg, '('), name, r ? err.msg : "it was accepted");
}

/* ---- attention ---- */
static const struct {
	const char *name;
	int64_t len, heads, depth;
	bool all_keys;
} models[] = {
	{ "GPT-2 124M", 1024, 12, 64, false },	 { "GPT-2 1558M", 1024, 25, 64, false }, { "heads of 128", 2048, 16, 128, false },
	{ "heads of 72", 140, 2, 72, false },	 { "heads of 24", 9, 3, 24, false },	 { "heads of 16", 24, 3, 16, false },
	{ "BERT base", 128, 12, 64, true },	 { "ViT-S/16", 196, 6, 64, true },	 { "all keys by 128", 2048, 16, 128, true },
	{ "all keys by 24", 9, 3, 24, true },	 { "all keys by 16", 25, 3, 16, true },
};

/*
 * Both passes at several batch sizes; forward with the same bits in each run. Every plan is considered, because it may
 * be the fastest.
 */
static void plan_attention(struct rt_dnn *d, const struct card *card, size_t i, enum rt_dtype type)
{
	static const int64_t batches[] = { 4, 64 };
	int suggested = 0, accepted = 0, refused = 0, too_large = 0;
	struct gt_err err = { 0 }, first = { 0 };
	gt_autofree char *name = NULL;
	size_t most = 0;

	for (size_t n = 0; n < 2 * GT_ARRAY_SIZE(batches); n++) {
		struct rt_dnn_attention k = { .backward = n % 2, .batch = batches[n / 2], .len = models[i].len,
					      .heads = models[i].heads, .depth = models[i].depth,
					      .all_keys = models[i].all_keys, .type = type,
					      .any_order = n % 2, .alone = true };
		struct rt_dnn_info info = { 0 };
		int r = rt_dnn_attention_plan(d, &k, &info, &err);

		if (r && !refused++)
			first = err;
		suggested += info.suggested;
		accepted += info.accepted;
		too_large += info.too_large;
		most = GT_MAX(most, info.workspace);
	}
	name = gt_xasprintf("%s, attention of %s in %s, both passes: %d suggested, %d plans, scratch to %zu MiB, %d too large",
			    card->name, models[i].name, rt_dtype_name(type), suggested, accepted, most >> 20, too_large);
	check(!refused && !too_large && accepted >= 2 * (int)GT_ARRAY_SIZE(batches), name,
	     refused ? first.msg : "too few plans");
}

/* cuDNN's notes state which backward candidates are deterministic: both answers are valid. */
static void plan_deterministic(struct rt_dnn *d, const char *card)
{
	struct rt_dnn_attention k = { .backward = true, .batch = 4, .len = 1024, .heads = 12, .depth = 64, .type = RT_BF16,
				      .alone = true };
	struct rt_dnn_info info = { 0 };
	struct gt_err err = { 0 };
	int r = rt_dnn_attention_plan(d, &k, &info, &err);
	gt_autofree char *name = gt_xasprintf("%s, attention backward, the same bits in each run: %d ways", card,
					      info.accepted);

	check(r == 0 || r == -ENOTSUP, name, err.msg);
}

static void refuse_attention(struct rt_dnn *d, const char *name, struct rt_dnn_attention k)
{
	struct rt_dnn_info info;
	struct gt_err err = { 0 };
	int r = rt_dnn_attention_plan(d, &k, &info, &err);

	check(r < 0 && strstr(err.msg, "cuDNN") && strstr(err.msg, "attention forward"), name, r ? err.msg : "it was accepted");
}

static void check_attention(struct rt_dnn *d, const struct card *card)
{
	struct rt_dnn_attention wrong = { .batch = 2, .len = 64, .heads = 2, .depth = 64, .type = RT_F32, .alone = true };

	if (card->arch < 800)
		return;
	for (size_t i = 0; i < GT_ARRAY_SIZE(models); i++) {
		plan_attention(d, card, i, RT_BF16);
		if (!i || getenv("DNN_CARDS"))
			plan_attention(d, card, i, RT_F16);
	}
	plan_deterministic(d, card->name);
	refuse_attention(d, "attention of f32 is refused", wrong);
	wrong.type = RT_BF16;
	wrong.len = 0;
	refuse_attention(d, "attention of no tokens is refused", wrong);
}

static void check_card(const struct card *card)
{
	gt_autofree char *properties = properties_of(card);
	struct shapes large = { .n = 0 }, small = { .n = 0 }, odd = { .n = 0 };
	struct rt_graph *g[] = { rt_graph_new(), rt_graph_new(), rt_graph_new() };
	struct rt_dnn_conv wrong;
	struct gt_err err = { 0 };
	struct rt_dnn *d;
	int r = rt_dnn_open_for(properties, &d, &err);

	check(!r, card->name, err.msg);
	if (r)
		return;
	rt_model_resnet50(g[0], BATCH, 224, 1000);
	rt_model_resnet_small(g[1], BATCH, 32, 20, 10);
	add_model(&large, g[0]);
	rt_model_vit(g[2], &(struct rt_vit_config){ .batch = BATCH, .size = 224, .patch = 16, .layers = 1, .width = 384, .heads = 6,
						    .classes = 1000 });
	add_model(&small, g[1]);
	add_model(&odd, g[2]);
	add_odd(&odd);
	for (size_t t = 0; t < GT_ARRAY_SIZE(types); t++) {
		if (types[t].type == RT_BF16 && card->arch < 800)
			continue;
		plan_all(d, card->name, "ResNet-50", &large, t);
		plan_all(d, card->name, "ResNet-20", &small, t);
		plan_all(d, card->name, "patches and odd sizes", &odd, t);
	}
	compare(d, properties, &large.all[1]);
	wrong = odd.all[1];
	wrong.oh++;
	refuse(d, "a result of the wrong height is refused", wrong);
	wrong = odd.all[1];
	wrong.stride = 0;
	refuse(d, "a stride of nothing is refused", wrong);
	check_attention(d, card);
	rt_dnn_close(d);
}

/*
 * Restarts the program: the loader's path is read only when a program starts. The driver that loads compiled code, and
 * the libraries of a Python environment with their compilers, must come first in it.
 */
static void start_again(char **argv)
{
	const char *venv = getenv("VENV"), *own = getenv("LD_LIBRARY_PATH");
	gt_autofree char *pattern = gt_xasprintf("%s/lib/python3*/site-packages/nvidia/*/lib", venv ? venv : "/nowhere");
	gt_autofree char *dnn = gt_xasprintf("%s/libcudnn.so.9", pattern), *path = gt_xstrdup(LOADS_DIR);
	glob_t found = { 0 }, libs = { 0 };

	if (getenv("DNN_STARTED"))
		return;
	if (venv && glob(dnn, 0, NULL, &found) != 0) {
		printf("1..0 # SKIP no cuDNN in %s\n", venv);
		exit(0);
	}
	if (venv && glob(pattern, 0, NULL, &libs) == 0)
		for (size_t i = 0; i < libs.gl_pathc; i++) {
			char *more = gt_xasprintf("%s:%s", path, libs.gl_pathv[i]);

			free(path);
			path = more;
		}
	if (own) {
		char *more = gt_xasprintf("%s:%s", path, own);

		free(path);
		path = more;
	}
	setenv("LD_LIBRARY_PATH", path, 1);
	setenv("DNN_STARTED", "1", 1);
	execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	gt_autofree char *properties = properties_of(&cards[0]);
	const char *which = getenv("DNN_CARDS");
	struct gt_err err = { 0 };
	struct rt_dnn *d;
	int r;

	start_again(argv);
	r = rt_dnn_open_for(properties, &d, &err);
	if (r == -ENOENT || r == -ENOSYS) {
		printf("1..0 # SKIP %s\n", err.msg);
		return 0;
	}
	if (!r) {
		printf("# cuDNN %s\n", rt_dnn_version(d));
		rt_dnn_close(d);
	}
	for (size_t i = 0; i < (which && gt_streq(which, "all") ? GT_ARRAY_SIZE(cards) : 1); i++)
		check_card(&cards[i]);
	printf("1..%d\n", tests);
	return failed != 0;
}
