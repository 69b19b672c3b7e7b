/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench data PATH: reads, decodes and batches every sample; reports the rate and the unusable samples. */
#include <errno.h>
#include <stdio.h>
#include "bench/cmd/cmds.h"
#include "bench/train/train_data.h"
#include "bench/train/load.h"
#include "lib/fsroot.h"
#include "lib/log.h"

static struct {
	uint64_t batch, seq, size, workers, prefetch, cache, batches, epochs, warmup, seed, max_corrupt;
	uint64_t buckets, token_budget;
	const char *tokens, *augment, *kind, *without, *documents;
	bool in_order;
} opt = { .workers = 1, .prefetch = 4, .max_corrupt = UINT64_MAX };

static const char *const ids[] = { "u16", "u32", NULL }, *const augments[] = { "none", "flip", "crop", NULL };
static const struct gt_opt opts[] = {
	{ 0, "as", "KIND", "read PATH as this kind of data (default: by its name)", GT_OPT_CHOICE, &opt.kind, rt_data_kinds },
	{ 0, "batch", "N", "use N samples per batch (default: 64 images, 16 sequences)", GT_OPT_COUNT, &opt.batch },
	{ 0, "seq", "N", "use N tokens per sequence (default: 1024)", GT_OPT_COUNT, &opt.seq },
	{ 0, "size", "N", "use images of N x N pixels (default: 224)", GT_OPT_COUNT, &opt.size },
	{ 0, "tokens", "TYPE", "read token files without header as u16 or u32 (default: u16)", GT_OPT_CHOICE, &opt.tokens, ids },
	{ 0, "documents", "END", "end samples at line, paragraph, file or a token id", GT_OPT_STR, &opt.documents },
	{ 0, "buckets", "N", "pad documents to N lengths (default: 8)", GT_OPT_COUNT, &opt.buckets },
	{ 0, "token-budget", "N", "limit batches of documents to N tokens instead of --batch", GT_OPT_COUNT, &opt.token_budget },
	{ 0, "augment", "HOW", "mirror images (flip), or crop and mirror them (crop)", GT_OPT_CHOICE, &opt.augment, augments },
	{ 0, "workers", "N", "use N loader threads (default: 1)", GT_OPT_UINT, &opt.workers },
	{ 0, "prefetch", "N", "prepare N batches in advance (default: 4)", GT_OPT_COUNT, &opt.prefetch },
	{ 0, "cache", "SIZE", "cache decoded images in SIZE memory, such as 2G (default: none)", GT_OPT_SIZE, &opt.cache },
	{ 0, "max-corrupt", "N", "stop after N unusable samples (default: no limit)", GT_OPT_UINT, &opt.max_corrupt },
	{ 0, "without", "LIST", "do not use huge-pages, persistent, zero-copy or u8 (see the man page)", GT_OPT_STR, &opt.without },
	{ 0, "in-order", NULL, "do not shuffle", GT_OPT_FLAG, &opt.in_order },
	{ 0, "epochs", "N", "read each sample N times (default: 1)", GT_OPT_COUNT, &opt.epochs },
	{ 0, "batches", "N", "time N batches instead of whole epochs", GT_OPT_COUNT, &opt.batches },
	{ 0, "warmup", "N", "read N batches before the timed ones", GT_OPT_UINT, &opt.warmup },
	{ 0, "seed", "N", "set the seed of the order", GT_OPT_UINT, &opt.seed },
	{ 0 },
};

static int index_of(const char *const *names, const char *name)
{
	for (int i = 0; name && names[i]; i++)
		if (gt_streq(names[i], name))
			return i;
	return -1;
}

static int leave_out(const char *list, struct rt_loader_options *l, struct gt_err *err)
{
	bool f32 = false;
	const struct bn_switch switches[] = { { "huge-pages", &l->no_huge_pages }, { "persistent", &l->restart_workers },
					      { "zero-copy", &l->copy_batches }, { "u8", &f32 } };
	int r = bn_apply_without(list, switches, GT_ARRAY_SIZE(switches), err);

	l->u8 = !f32; /* the loader passes images as bytes */
	return r;
}

static int show_progress(void *arg, uint64_t batch, uint64_t total)
{
	const struct gt_cli *cli = arg;

	if (!cli->quiet && batch % 64 == 0)
		gt_progress("reading", (double)batch, (double)total);
	return gt_interrupted;
}

static void print_text(const json_t *doc)
{
	const json_t *corrupt = json_object_get(doc, "corrupt"), *cache = json_object_get(doc, "cache");
	double seconds = gt_json_get_real(doc, "seconds", 0);
	char bytes[32], rate[32];
	json_t *v;
	size_t i;

	gt_format_bytes(bytes, sizeof(bytes), (uint64_t)gt_json_get_int(doc, "bytes", 0));
	gt_format_bytes(rate, sizeof(rate), (uint64_t)gt_json_get_real(doc, "bytes_per_s", 0));
	printf("data       %s, %lld samples in %lld files, %s\n", gt_json_get_str(doc, "kind", ""),
	       (long long)gt_json_get_int(doc, "samples", 0), (long long)gt_json_get_int(doc, "files", 0), bytes);
	printf("loader     %lld worker%s, %lld batches of %lld ahead, %s pages\n", (long long)gt_json_get_int(doc, "workers", 0),
	       gt_json_get_int(doc, "workers", 0) == 1 ? "" : "s",
	       (long long)gt_json_get_int(doc, "prefetch", 0), (long long)gt_json_get_int(doc, "batch", 0),
	       gt_json_get_str(doc, "pages", ""));
	if (json_is_object(json_object_get(doc, "documents")))
		bn_print_documents(json_object_get(doc, "documents"));
	printf("speed      %.0f %s/s (%lld batches in %.2f s, %s/s handed over)\n",
	       gt_json_get_real(doc, "items_per_s", 0), gt_json_get_str(doc, "unit", ""),
	       (long long)gt_json_get_int(doc, "timed_batches", 0), seconds, rate);
	if (json_is_object(cache)) {
		gt_format_bytes(bytes, sizeof(bytes), (uint64_t)gt_json_get_int(cache, "used_bytes", 0));
		printf("cache      %lld images in %s, %lld hits, %lld misses\n",
		       (long long)gt_json_get_int(cache, "images", 0), bytes,
		       (long long)gt_json_get_int(cache, "hits", 0), (long long)gt_json_get_int(cache, "misses", 0));
	}
	json_array_foreach(json_object_get(doc, "truncated"), i, v)
		printf("cut short  %s\n", json_string_value(v));
	printf("unusable   %lld samples\n", (long long)gt_json_get_int(corrupt, "count", 0));
	json_array_foreach(json_object_get(corrupt, "samples"), i, v)
		printf("  %s: %s\n", gt_json_get_str(v, "where", ""), gt_json_get_str(v, "reason", ""));
}

static int run_data(struct gt_cli *cli, int argc, char **argv)
{
	struct bn_load_options o = { .batches = opt.batches,
				     .epochs = GT_MIN(opt.epochs, 1u << 20),
				     .warmup = opt.warmup, .progress = show_progress, .arg = cli };
	gt_auto_json *doc = NULL;
	int r = gt_fs_require_live(cli->fs, "reading data", &cli->err);

	o.loader = (struct rt_loader_options){
		.path = argc ? argv[0] : NULL,
		.kind = (enum rt_data_kind)GT_MAX(index_of(rt_data_kinds, opt.kind), 0),
		.rows = (int64_t)GT_MIN(opt.batch, UINT32_MAX),
		.seq = (int64_t)GT_MIN(opt.seq, UINT32_MAX),
		.size = (int64_t)GT_MIN(opt.size, UINT32_MAX),
		.token_type = (enum rt_token_type)(index_of(ids, opt.tokens) + 1),
		.lengths = opt.documents ? (int)GT_MIN(opt.buckets ? opt.buckets : BN_BUCKETS, 1u << 20) : 0,
		.token_budget = (int64_t)GT_MIN(opt.token_budget, INT64_MAX),
		.augment = (enum rt_augment)GT_MAX(index_of(augments, opt.augment), 0),
		.workers = (int)GT_MIN(opt.workers, 1u << 20),
		.prefetch = (int)GT_MIN(opt.prefetch, 1u << 20),
		.cache_bytes = opt.cache,
		.max_corrupt = opt.max_corrupt,
		.in_order = opt.in_order,
		.seed = opt.seed,
	};
	if (r == 0)
		r = bn_train_data_documents(opt.documents, &o.loader.documents, &cli->err);
	if (r == 0 && !opt.documents && (opt.buckets || opt.token_budget))
		r = gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "--buckets and --token-budget need --documents");
	if (r == 0 && opt.batch && opt.token_budget)
		r = gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				 "--token-budget and --batch exclude each other");
	if (r == 0)
		r = leave_out(opt.without, &o.loader, &cli->err);
	if (r == 0)
		r = bn_load(&o, &doc, &cli->err);
	gt_progress_end();
	if (r < 0)
		return r;
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print_text(doc);
	return GT_EXIT_OK;
}

const struct gt_cmd bn_cmd_data = {
	.name = "data",
	.args = "[PATH]",
	.group = "Train and infer",
	.summary = "Measure the data loader and find unusable samples",
	.help = "PATH is text, token files, directories of images or tar shards, as for gpubench train --data (default: the "
		"licence texts of the host). Reads, decodes and batches each sample once, without a model, and prints the "
		"rate and the unusable samples.",
	.ignores = GT_ROOT_IGNORED,
	.opts = opts,
	.min_args = 0,
	.max_args = 1,
	.run = run_data,
};
