/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_TRAIN_OPTIONS_H
#define BN_TRAIN_OPTIONS_H
/* The options of one training run. */
#include <stdbool.h>
#include <stdint.h>
#include "runtime/runtime.h"

/* Zero means the model's own default; for warmup it is UINT64_MAX. */
struct bn_train_options {
	const char *model;	/* "gpt2", "gpt" (trains on bytes of text) …: see bench/train/models.c */
	const char *device;	/* "cpu" or "cuda"; NULL: cpu */
	const char *amp;	/* "tf32" (cuda), "bf16", "fp16", "fp8" (cuda): input type of matrix products; NULL: fp32 */
	const char *attention;	/* "fastest", "own", "cudnn": implementation of attention on cuda; NULL: fastest */
	const char *master;	/* "fp32" (also NULL), "none": bf16 parameters without an fp32 copy (cuda) */
	uint64_t fp8_history, fp8_margin; /* struct rt_fp8 */
	bool deterministic;
	const char *data; /* runtime/data/loader.h; NULL: gpt reads licence texts of this host, the others random numbers */
	const char *tokens;	/* "u16", "u32": type of the ids in token files without a header */
	const char *augment;	/* "flip", "crop" */
	const char *documents;	/* "line", "paragraph", "file" or the id of the end token; NULL: windows of --seq tokens */
	uint64_t buckets;	/* number of lengths that documents are padded to; 0: 8 */
	uint64_t token_budget;	/* tokens per batch of documents, including padding; 0: batch rows of each length */
	uint64_t positions;	/* rows of the position table; 0: seq */
	uint64_t cache;		/* tokens per row of a cache of keys and values; 0: none; see struct rt_gpt_config */
	uint64_t workers;	/* loader threads; 0: none, UINT64_MAX: one per four training threads */
	uint64_t prefetch;	/* batches; 0: 4 */
	uint64_t cache_bytes;
	uint64_t max_corrupt;	/* UINT64_MAX: 100 */
	bool restart_workers, copy_batches, no_huge_pages, no_u8; /* set by `without` */
	const char *optimizer;	/* "sgd", "adam", "adamw", "adamw8"; NULL: the model's own */
	uint64_t accum;		/* batches per update */
	uint64_t checkpoint;	/* segments; 0: none */
	uint64_t fit_bytes;	/* memory limit for which the segments are chosen */
	double clip_norm;	/* 0: no clipping */
	uint64_t batch, seq, layers, width, heads, vocab, size, threads, ranks, steps, warmup, seed;
	uint64_t patch;		/* vit: width and height of a patch in pixels */
	uint64_t kv_heads, ffn;	/* llama: key/value heads, width of the MLP */
	bool tied;		/* llama: the output projection is the token table */
	const char *weights, *save_weights; /* directories in the Hugging Face layout, or NULL */
	uint64_t weights_shard_bytes;	/* largest file of save_weights; 0: 5 GiB */
	struct rt_hf_config hf; /* sizes of llama and gpt2; filled in by bn_train_check() */
	bool qat;		/* quantisation-aware training */
	const char *prune;	/* "0.5", "2:4": see bench/train/prune.h; NULL: no pruning */
	double lr;		/* 0: no training; NAN: the model's own */
	const char *without;	/* techniques to leave out, separated by commas: fuse, reuse, assign, early-update,
				 * huge-pages, persistent, zero-copy, u8, pad, winograd */
	bool profile;		/* times every op and compares it with this host's peaks */
	uint64_t check_gradients; /* number of elements to check before training; fails if one differs by more than 1e-3 */
	bool anomaly;		/* checks every written tensor for non-finite values */
	const char *trace;	/* file for a Chrome trace of the last steps */
	const char *save, *resume; /* checkpoint files, or NULL */
	uint64_t save_every;	/* updates between two checkpoints; 0: saves at the end only */
	const char *compress;	/* NULL: gradients are sent uncompressed */
	uint64_t powersgd_rank, compress_after;
	double rank_timeout_s;	/* 0: 300 */
	const char *reduce; /* "all-reduce", "gather"; NULL: all-reduce */
	const char *overlap, *shard; /* "on", "off"; shard also "1", "2", "3"; NULL, "auto": chosen automatically */
	uint64_t tp;		/* number of tensor parallel ranks; 0 means 1 */
	bool sp;		/* sequence parallelism among the tensor parallel ranks */
	uint64_t pp;		/* number of pipeline stages; 0 means 1 */
	uint64_t microbatches;	/* parts of a batch; 0: with stages a default, otherwise 1 */
	const char *schedule;	/* "1f1b" (also NULL), "gpipe" */
	bool balance, no_pin;	/* only with ranks */
	bool alone;		/* ignore the launcher that started this process */
	uint64_t memory_limit_bytes;
	/* Called before device memory is allocated; may be NULL. */
	void (*planned)(void *arg, const struct rt_memory *m);
	/* Called after each step; may be NULL. A non-zero return value ends the run with -EINTR. */
	int (*progress)(void *arg, uint64_t step, uint64_t total, double loss);
	void *arg;
};
#endif
