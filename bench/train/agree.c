/* SPDX-License-Identifier: Apache-2.0 */
/* Options and files of the ranks of a run, which must be equal. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "bench/train/agree.h"
#include "bench/train/train_data.h"
#include "lib/cli.h"
#include "runtime/data/files.h"

#define LETTERS	6 /* of one gathered number: a double has 53 bits */
#define WORD	(3 * LETTERS)
#define PATH	(16 * LETTERS) /* printed characters of a path, the last ones */
/* Compared parts of files. Checkpoints of two steps differ in each block of a parameter, and in their first block. */
#define FILES	16
#define BLOCKS	16
#define BLOCK	4096

struct number {
	const char *option;
	double value;
};
struct word {
	const char *option, *value;
};

static int fail_different(const char *option, const char *first, int rank, const char *other, struct gt_err *err)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "rank 0 has %s %s and rank %d has %s %s: all ranks need the same options",
			    option, first, rank, option, other);
}

static int check_number(struct rt_comm *c, const struct number *n, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	int r = rt_comm_gather(c, n->value, of, err);

	for (int i = 1; !r && i < rt_comm_size(c); i++)
		if (fabs(of[i] - of[0]) > 0) {
			gt_autofree char *first = gt_xasprintf("%.10g", of[0]), *other = gt_xasprintf("%.10g", of[i]);

			r = fail_different(n->option, first, i, other, err);
		}
	return r;
}

static double encode(const char *word, size_t at)
{
	size_t len = strlen(word);
	uint64_t bits = 0;

	for (size_t i = at; i < at + LETTERS; i++)
		bits = bits << 8 | (i < len ? (unsigned char)word[i] : 0);
	return (double)bits;
}

static void decode(double x, char *to)
{
	uint64_t bits = (uint64_t)x;

	for (int i = LETTERS - 1; i >= 0; i--, bits >>= 8)
		to[i] = (char)(bits & 255);
}

/* ret: of each rank, the first `len` characters, at most PATH. */
static int gather_text(struct rt_comm *c, const char *own, size_t len, char ret[RT_MAX_RANKS][PATH + 1], struct gt_err *err)
{
	memset(ret, 0, RT_MAX_RANKS * sizeof(ret[0]));
	for (size_t at = 0; at < len; at += LETTERS) {
		double part[RT_MAX_RANKS];
		int r = rt_comm_gather(c, encode(own, at), part, err);

		if (r)
			return r;
		for (int i = 0; i < rt_comm_size(c); i++)
			decode(part[i], ret[i] + at);
	}
	return 0;
}

/* Compares the first WORD characters. */
static int check_word(struct rt_comm *c, const struct word *w, struct gt_err *err)
{
	char of[RT_MAX_RANKS][PATH + 1];
	int r = gather_text(c, w->value, WORD, of, err);

	if (r)
		return r;
	for (int i = 1; i < rt_comm_size(c); i++)
		if (!gt_streq(of[i], of[0]))
			return fail_different(w->option, of[0], i, of[i], err);
	return 0;
}

static const char *or_default(const char *given, const char *dflt)
{
	return given ? given : dflt;
}

static int check_words(struct rt_comm *c, const struct bn_train_options *o, struct gt_err *err)
{
	const struct word all[] = {
		{ "model", o->model }, { "--optimizer", o->optimizer }, { "--amp", or_default(o->amp, "fp32") },
		{ "--shard", or_default(o->shard, "auto") }, { "--overlap", or_default(o->overlap, "auto") },
		{ "--compress", or_default(o->compress, "none") }, { "--reduce", or_default(o->reduce, "all-reduce") },
		{ "--schedule", or_default(o->schedule, "1f1b") }, { "--prune", or_default(o->prune, "none") },
		{ "--documents", or_default(o->documents, "none") }, { "--device", or_default(o->device, "cpu") },
		{ "--tokens", or_default(o->tokens, "auto") }, { "--augment", or_default(o->augment, "none") },
	};
	int r = 0;

	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(all); i++)
		r = check_word(c, &all[i], err);
	return r;
}

/* ---- files ---- */

/* Adds the size and some blocks of a file to the hash. */
static int hash_file(const char *path, uint64_t *hash, struct gt_err *err)
{
	char block[BLOCK];
	uint64_t size = 0;
	int fd = -1, r = rt_file_open(path, &fd, &size, err);

	if (r)
		return r;
	*hash = gt_hash64(&size, sizeof(size), *hash);
	for (uint64_t i = 0; !r && i < BLOCKS; i++) {
		size_t n = GT_MIN(size, BLOCK);

		r = rt_file_read_at(fd, path, (size - n) / (BLOCKS - 1) * i, block, n, err);
		*hash = gt_hash64(block, n, *hash);
	}
	close(fd);
	return r;
}

static int hash_size(const char *path, uint64_t *hash, struct gt_err *err)
{
	uint64_t size = 0;
	int r = rt_file_size(path, &size, err);

	*hash = gt_hash64(&size, sizeof(size), *hash);
	return r;
}

/* Adds the names of the classes and of their images to the hash. */
static int hash_folder(const char *path, uint64_t *hash, struct gt_err *err)
{
	gt_auto_strv classes = { 0 };
	int r = rt_files_directories(path, &classes, err);

	for (size_t i = 0; !r && i < classes.n; i++) {
		gt_autofree char *directory = gt_xasprintf("%s/%s", path, classes.v[i]);
		gt_auto_strv images = { 0 };

		r = rt_files_list_into(directory, NULL, &images, err);
		for (size_t k = 0; k < images.n; k++) /* with the name of the class */
			*hash = gt_hash64(images.v[k] + strlen(path), strlen(images.v[k]) - strlen(path), *hash);
	}
	return r;
}

static int hash_files(const char *path, const char *const *suffixes, uint64_t *hash, struct gt_err *err)
{
	gt_auto_strv files = { 0 };
	int r = rt_files_list(path, suffixes, &files, err);

	for (size_t i = 0; !r && i < files.n; i++)
		r = (i % GT_MAX(files.n / FILES, 1u) ? hash_size : hash_file)(files.v[i], hash, err);
	return r;
}

static int hash_data(const char *path, uint64_t *hash, struct gt_err *err)
{
	static const char *const tar[] = { ".tar", NULL }, *const bin[] = { ".bin", NULL };
	enum rt_data_kind kind;
	int r = rt_data_guess(path, &kind, err);

	if (r)
		return r;
	if (kind == RT_DATA_FOLDER)
		return hash_folder(path, hash, err);
	return hash_files(path, kind == RT_DATA_SHARDS ? tar : kind == RT_DATA_TOKENS ? bin : NULL, hash, err);
}

struct file {
	const char *option, *path; /* path NULL: none */
	uint64_t hash;
};

/* Compares the hashes, and returns the first rank whose hash differs from that of rank 0; 0: none. */
static int find_different(struct rt_comm *c, uint64_t hash, int *ret, struct gt_err *err)
{
	const double half[2] = { (double)(uint32_t)(hash >> 32), (double)(uint32_t)hash };
	int first = rt_comm_size(c), r = 0;

	for (int h = 0; !r && h < 2; h++) {
		double of[RT_MAX_RANKS];

		r = rt_comm_gather(c, half[h], of, err);
		for (int i = 1; !r && i < first; i++)
			if (fabs(of[i] - of[0]) > 0)
				first = i;
	}
	*ret = first % rt_comm_size(c);
	return r;
}

static int check_file(struct rt_comm *c, const struct file *f, struct gt_err *err)
{
	const char *path = f->path ? f->path : "none";
	char of[RT_MAX_RANKS][PATH + 1];
	int rank = 0, r = find_different(c, f->hash, &rank, err);

	if (r || !rank)
		return r;
	path += strlen(path) > PATH ? strlen(path) - PATH : 0;
	r = gather_text(c, path, PATH, of, err);
	if (r)
		return r;
	if (gt_streq(of[0], "none") || gt_streq(of[rank], "none"))
		return fail_different(f->option, of[0], rank, of[rank], err);
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s: %s of rank 0 and %s of rank %d have different contents: all ranks "
			    "need the same files", f->option, of[0], of[rank], rank);
}

static int check_files(struct rt_comm *c, const struct bn_train_options *o, struct gt_err *err)
{
	static const char *const weights[] = { "config.json", ".index.json", ".safetensors", NULL };
	const struct bn_model *m = bn_model_find(o->model, err);
	struct file all[] = { { "--resume", o->resume, 0 }, { "--weights", o->weights, 0 }, { "--data", o->data, 0 } };
	int r = 0;

	if (!m)
		return -EINVAL;
	if (bn_train_data_wanted(m, o) && !o->data)
		all[2].path = RT_DEFAULT_TEXT;
	if (all[0].path)
		r = hash_file(all[0].path, &all[0].hash, err);
	if (!r && all[1].path)
		r = hash_files(all[1].path, weights, &all[1].hash, err);
	if (!r && all[2].path)
		r = hash_data(all[2].path, &all[2].hash, err);
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(all); i++)
		r = check_file(c, &all[i], err);
	return r;
}

int bn_train_agree(struct rt_comm *c, const struct bn_train_options *o, struct gt_err *err)
{
	const struct number all[] = {
		{ "--tp", (double)o->tp }, { "--sp", o->sp }, { "--pp", (double)o->pp },
		{ "--microbatches", (double)o->microbatches }, { "--batch", (double)o->batch }, { "--accum", (double)o->accum },
		{ "--steps", (double)o->steps }, { "--warmup", (double)o->warmup }, { "--seq", (double)o->seq },
		{ "--layers", (double)o->layers }, { "--width", (double)o->width }, { "--heads", (double)o->heads },
		{ "--vocab", (double)o->vocab }, { "--size", (double)o->size }, { "--patch", (double)o->patch },
		{ "--seed", (double)o->seed }, { "--lr", o->lr }, { "--clip", o->clip_norm }, { "--balance", o->balance },
		{ "--compress-after", (double)o->compress_after }, { "--powersgd-rank", (double)o->powersgd_rank },
		{ "--kv-heads", (double)o->kv_heads }, { "--ffn", (double)o->ffn }, { "--buckets", (double)o->buckets },
		{ "--token-budget", (double)o->token_budget },
	};
	int r = check_words(c, o, err);

	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(all); i++)
		r = check_number(c, &all[i], err);
	return r ? r : check_files(c, o, err);
}
