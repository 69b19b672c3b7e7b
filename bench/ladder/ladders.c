/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of all ladders. A new ladder is one table here and one line in the list. */
#include "bench/ladder/ladder.h"

#define SMALL_GPT2 "gpt2", "--layers", "6", "--width", "384", "--heads", "6"

static const struct bn_rung precision[] = {
	{ .name = "FP32" },
	{ .name = "TF32", .options = { "--amp", "tf32" }, .gpu_only = true },
	{ .name = "AMP, bf16", .options = { "--amp", "bf16" } },
	{ .name = "AMP, bf16, vocabulary not padded", .options = { "--amp", "bf16", "--without", "pad" }, .gpu_only = true },
	{ .name = "AMP, fp16 with loss scaling", .options = { "--amp", "fp16" } },
	{ .name = NULL },
};

static const struct bn_rung techniques[] = {
	{ .name = "one thread, everything off",
	  .options = { "--threads", "1", "--without", "huge-pages,assign,fuse,reuse,early-update" } },
	{ .name = "+ all threads", .options = { "--without", "huge-pages,assign,fuse,reuse,early-update" } },
	{ .name = "+ huge pages", .options = { "--without", "assign,fuse,reuse,early-update" } },
	{ .name = "+ gradients assigned instead of cleared and added", .options = { "--without", "fuse,reuse,early-update" } },
	{ .name = "+ fusion", .options = { "--without", "reuse,early-update" } },
	{ .name = "+ memory planning", .options = { "--without", "early-update" } },
	{ .name = "+ updates inside the backward pass" },
	{ .name = "+ AMP, bf16", .options = { "--amp", "bf16" } },
	{ .name = "+ 8-bit moments", .options = { "--amp", "bf16", "--optimizer", "adamw8" } },
	{ .name = "+ checkpointing, 4 segments",
	  .options = { "--amp", "bf16", "--optimizer", "adamw8", "--checkpoint", "4" } },
	{ .name = NULL },
};

/* Techniques for convolutions: batchnorm is fused with sums and relus, and Winograd needs fewer multiplications for
 * 3x3. */
static const struct bn_rung images[] = {
	{ .name = "one thread, everything off",
	  .options = { "--threads", "1", "--without", "huge-pages,fuse,reuse,early-update,winograd" } },
	{ .name = "+ all threads", .options = { "--without", "huge-pages,fuse,reuse,early-update,winograd" } },
	{ .name = "+ huge pages", .options = { "--without", "fuse,reuse,early-update,winograd" } },
	{ .name = "+ fusion", .options = { "--without", "reuse,early-update,winograd" } },
	{ .name = "+ memory planning", .options = { "--without", "early-update,winograd" } },
	{ .name = "+ updates inside the backward pass", .options = { "--without", "winograd" } },
	{ .name = "+ Winograd for 3x3 convolutions" },
	{ .name = "+ AMP, bf16", .options = { "--amp", "bf16" } },
	{ .name = NULL },
};

#define RANKS "--ranks", "@ranks", "--batch", "@share"

/* The first rung sums as torch.nn.DataParallel does. */
static const struct bn_rung ranks[] = {
	{ .name = "DataParallel: rank 0 gathers gradients, updates, sends parameters", .options = { RANKS, "--reduce", "gather" },
	  .cpu_only = true },
	{ .name = "ranks, gradients reduced after backward",
	  .options = { RANKS, "--overlap", "off" } },
	{ .name = "DDP: buckets reduced during backward", .options = { RANKS, "--overlap", "on" } },
	{ .name = "DDP, sharded update", .options = { RANKS, "--shard", "on" }, .cpu_only = true },
	{ .name = "DDP, gradients sent as fp16", .options = { RANKS, "--compress", "fp16" } },
	{ .name = "DDP, gradients sent as bf16", .options = { RANKS, "--compress", "bf16" } },
	{ .name = "DDP, gradients sent as int8", .options = { RANKS, "--compress", "int8" } },
	{ .name = "DDP, PowerSGD of rank 1", .options = { RANKS, "--compress", "powersgd" } },
	{ .name = "DDP, 1 bit after 8 updates", .options = { RANKS, "--compress", "onebit", "--compress-after", "8" } },
	{ .name = "DDP, batches split by the measured speed of ranks", .options = { RANKS, "--balance" } },
	{ .name = "combined: overlapped, sent as fp16, split by speed",
	  .options = { RANKS, "--overlap", "on", "--compress", "fp16", "--balance" } },
	{ .name = "one process with all threads, for comparison" },
	{ .name = NULL },
};

/* The batch over all ranks is 16 in each rung. */
static const struct bn_rung parallel[] = {
	{ .name = "one process", .options = { "--batch", "16" } },
	{ .name = "4 data parallel ranks", .options = { "--ranks", "4", "--batch", "4" } },
	{ .name = "the same, optimizer state sharded (ZeRO 1)", .options = { "--ranks", "4", "--batch", "4", "--shard", "1" } },
	{ .name = "+ gradients sharded (ZeRO 2)", .options = { "--ranks", "4", "--batch", "4", "--shard", "2" } },
	{ .name = "+ parameters sharded (ZeRO 3)", .options = { "--ranks", "4", "--batch", "4", "--shard", "3" } },
	{ .name = "4 tensor parallel ranks", .options = { "--ranks", "4", "--tp", "4", "--batch", "16" } },
	{ .name = "+ tokens split between layers", .options = { "--ranks", "4", "--tp", "4", "--batch", "16", "--sp" } },
	{ .name = "4 pipeline stages, GPipe", .options = { "--ranks", "4", "--pp", "4", "--batch", "16", "--schedule", "gpipe" } },
	{ .name = "4 pipeline stages, 1F1B", .options = { "--ranks", "4", "--pp", "4", "--batch", "16" } },
	{ .name = "2 data x 2 tensor", .options = { "--ranks", "4", "--tp", "2", "--batch", "8" } },
	{ .name = "2 data x 2 stages", .options = { "--ranks", "4", "--pp", "2", "--batch", "8" } },
	{ .name = "2 tensor x 2 stages", .options = { "--ranks", "4", "--tp", "2", "--pp", "2", "--batch", "16" } },
	{ .name = NULL },
};

static const struct bn_rung accumulation[] = {
	{ .name = "naive: each small batch is reduced and updated",
	  .options = { "--ranks", "@ranks", "--batch", "2" } },
	{ .name = "the same, sharded update", .options = { "--ranks", "@ranks", "--batch", "2", "--shard", "on" } },
	{ .name = "4 batches per update: reduced once",
	  .options = { "--ranks", "@ranks", "--batch", "2", "--accum", "4" } },
	{ .name = "4 batches per update, AMP bf16",
	  .options = { "--ranks", "@ranks", "--batch", "2", "--accum", "4", "--amp", "bf16" } },
	{ .name = "one batch of four times the size, to compare memory", .options = { "--ranks", "@ranks", "--batch", "8" } },
	{ .name = NULL },
};

/* The first rung loads as a naive framework loader does. Each further rung removes one cost. */
static const struct bn_rung data[] = {
	{ .name = "naive: read on demand, batches copied",
	  .options = { "--workers", "0", "--without", "zero-copy,persistent,huge-pages,u8" } },
	{ .name = "+ workers, restarted each epoch",
	  .options = { "--workers", "@cpus", "--prefetch", "1", "--without", "zero-copy,persistent,huge-pages,u8" } },
	{ .name = "+ 8 batches prefetched",
	  .options = { "--workers", "@cpus", "--prefetch", "8", "--without", "zero-copy,persistent,huge-pages,u8" } },
	{ .name = "+ persistent workers",
	  .options = { "--workers", "@cpus", "--prefetch", "8", "--without", "zero-copy,huge-pages,u8" } },
	{ .name = "+ zero-copy batches",
	  .options = { "--workers", "@cpus", "--prefetch", "8", "--without", "huge-pages,u8" } },
	{ .name = "+ pixels as bytes, converted by the model's first op",
	  .options = { "--workers", "@cpus", "--prefetch", "8", "--without", "huge-pages" } },
	{ .name = "+ huge pages", .options = { "--workers", "@cpus", "--prefetch", "8" } },
	{ .name = "+ cache of decoded images", .options = { "--workers", "@cpus", "--prefetch", "8", "--cache", "4G" } },
	{ .name = NULL },
};

/* The first rung ignores the documents' lengths and pads each document to the longest. */
static const struct bn_rung lengths[] = {
	{ .name = "naive: every document padded to the longest", .options = { "--batch", "16", "--buckets", "1" } },
	{ .name = "+ grouped by length, 8 lengths", .options = { "--batch", "16", "--buckets", "8" } },
	{ .name = "+ a token budget: short documents in larger batches",
	  .options = { "--buckets", "8", "--token-budget", "4096" } },
	{ .name = NULL },
};

/* Trains the checkpoints that the rungs of compress read. A pruned model continues from the dense one. units: of --prune, which
 * depend on the model. */
#define AFTER_DENSE "--resume", "@dir/dense.st"
#define CHECKPOINTS(units) { \
	{ .name = "training the dense model", .options = { "--save", "@dir/dense.st" } }, \
	{ .name = "training it as long again", .options = { AFTER_DENSE, "--save", "@dir/longer.st" } }, \
	{ .name = "pruning 50 %", .options = { AFTER_DENSE, "--prune", "0.5", "--save", "@dir/half.st" } }, \
	{ .name = "pruning 80 %", .options = { AFTER_DENSE, "--prune", "0.8", "--save", "@dir/most.st" } }, \
	{ .name = "pruning to 2:4", .options = { AFTER_DENSE, "--prune", "2:4", "--save", "@dir/pattern.st" } }, \
	{ .name = "removing " units, .options = { AFTER_DENSE, "--prune", units, "--save", "@dir/smaller.st" } }, \
	{ .name = NULL }, \
}
static const struct bn_rung checkpoints[] = CHECKPOINTS("heads:1,neurons:0.5");
static const struct bn_rung image_checkpoints[] = CHECKPOINTS("channels:0.25");
static const struct bn_rung compress[] = {
	{ .name = "FP32", .options = { "--load", "@dir/dense.st" } },
	{ .name = "bf16", .options = { "--load", "@dir/dense.st", "--amp", "bf16" } },
	{ .name = "INT8, dynamic ranges", .options = { "--load", "@dir/dense.st", "--int8", "dynamic" } },
	{ .name = "INT8, static ranges", .options = { "--load", "@dir/dense.st", "--int8", "static" } },
	{ .name = "FP32, trained as long as the pruned models", .options = { "--load", "@dir/longer.st" } },
	{ .name = "50 % pruned", .options = { "--load", "@dir/half.st" } },
	{ .name = "80 % pruned", .options = { "--load", "@dir/most.st" } },
	{ .name = "80 % pruned, INT8, static ranges", .options = { "--load", "@dir/most.st", "--int8", "static" } },
	{ .name = "2:4 pruned", .options = { "--load", "@dir/pattern.st" } },
	{ .name = "2:4 pruned, INT8, static ranges", .options = { "--load", "@dir/pattern.st", "--int8", "static" } },
	{ .name = "smaller layers", .options = { "--load", "@dir/smaller.st" } },
	{ .name = "smaller layers, INT8, static ranges", .options = { "--load", "@dir/smaller.st", "--int8", "static" } },
	{ .name = NULL },
};

/* Six techniques, switched on one after another. */
static const struct bn_rung vit[] = {
	{ .name = "one thread, FP32, no technique",
	  .options = { "--threads", "1", "--without", "fuse,reuse,early-update,huge-pages" } },
	{ .name = "+ all threads", .options = { "--without", "fuse,reuse,early-update,huge-pages" } },
	{ .name = "+ fusion", .options = { "--without", "reuse,early-update,huge-pages" } },
	{ .name = "+ memory planning, early updates, huge pages", .options = { NULL } },
	{ .name = "+ AMP, bf16", .options = { "--amp", "bf16" } },
	{ .name = "+ 8-bit moments", .options = { "--amp", "bf16", "--optimizer", "adamw8" } },
	{ .name = "+ checkpointing, 4 segments",
	  .options = { "--amp", "bf16", "--optimizer", "adamw8", "--checkpoint", "4" } },
	{ .name = NULL },
};

/* Functions of gpubench op. */
static const struct bn_rung user_op[] = {
	{ .name = "composition of basic ops", .options = { "--way", "basic-ops" } },
	{ .name = "one user op, in plain C", .options = { "--way", "user-op" } },
	{ .name = "the library's op", .options = { "--way", "library" } },
	{ .name = NULL },
};

const struct bn_ladder bn_ladders[] = {
	{ .id = "precision", .title = "FP32 to AMP", .rung = precision,
	  .what = "Only the input type of matrix products differs.",
	  .model = { SMALL_GPT2, "--batch", "4", "--seq", "256", "--steps", "5", "--warmup", "2" } },
	{ .id = "techniques", .title = "Everything off to everything on", .rung = techniques,
	  .what = "Each rung adds one technique; the last two trade speed for memory.",
	  .model = { SMALL_GPT2, "--batch", "4", "--seq", "256", "--steps", "5", "--warmup", "2" } },
	{ .id = "images", .title = "A convolutional network, everything off to everything on", .rung = images,
	  .what = "Each rung adds one technique.",
	  .model = { "resnet20", "--batch", "64", "--steps", "20", "--warmup", "3" } },
	{ .id = "ranks", .title = "Data-parallel to DDP, overlapped and compressed", .rung = ranks, .batch = 16,
	  .what = "The same batch over all ranks; the rungs differ in when and how gradients are sent.",
	  .model = { "gpt", "--batch", "16", "--steps", "24", "--warmup", "4" } },
	{ .id = "parallel", .title = "One model among four ranks: data, tensor and pipeline parallel, ZeRO", .rung = parallel,
	  .what = "The same batch over all ranks, so the loss must be equal; a rank stores and sends different data in each rung.",
	  .model = { "gpt2", "--layers", "4", "--width", "128", "--heads", "4", "--vocab", "2048", "--seq", "128", "--steps",
		     "12", "--warmup", "4" } },
	{ .id = "accumulation", .title = "Gradient accumulation, naive to once per update", .rung = accumulation,
	  .what = "Small batches, as with little memory; the rungs differ in how often gradients are reduced and applied.",
	  .model = { "gpt", "--steps", "24", "--warmup", "4" } },
	{ .id = "lengths", .title = "Documents of different lengths, padded to budgeted", .rung = lengths,
	  .what = "The paragraphs of the licence texts; tokens per second without padding.",
	  .model = { "gpt", "--documents", "paragraph", "--seq", "256", "--steps", "60", "--warmup", "8" } },
	{ .id = "compress", .title = "Compressed models: FP32, bf16, INT8, pruned", .rung = compress, .setup = checkpoints,
	  .command = BN_LADDER_INFER, .cpu_only = true,
	  .what = "A GPT on the bytes of the licence texts. Pruned weights are stored with their zeros. Smaller layers: without "
		  "one of four heads and half of the neurons.",
	  .model = { "gpt" }, .train = { "--steps", "300" }, .infer = { "--batch", "8", "--runs", "30", "--evaluate" } },
	{ .id = "compress-images", .title = "Compressed models of images: FP32, bf16, INT8, pruned", .rung = compress,
	  .setup = image_checkpoints, .command = BN_LADDER_INFER, .data = BN_LADDER_IMAGES, .cpu_only = true,
	  .what = "A ResNet-20 on the images of --data. Pruned weights are stored with their zeros. Smaller layers: without a "
		  "quarter of the channels inside blocks.",
	  .model = { "resnet20", "--size", "8" }, .train = { "--steps", "300", "--lr", "0.05" },
	  .infer = { "--batch", "64", "--runs", "30", "--evaluate" } },
	{ .id = "vit", .title = "A vision transformer with six techniques", .rung = vit, .data = BN_LADDER_IMAGES,
	  .evaluate = true,
	  .what = "Each rung adds a technique and trains as long from new weights on the images of --data.",
	  .model = { "vit", "--size", "16", "--patch", "4", "--layers", "4", "--width", "96", "--heads", "4" },
	  .train = { "--batch", "64", "--steps", "300", "--warmup", "5", "--lr", "5e-4", "--save", "@dir/rung.st" },
	  .infer = { "--batch", "32", "--runs", "1", "--warmup", "0", "--load", "@dir/rung.st", "--evaluate" } },
	{ .id = "gelu", .title = "GELU, written in three ways", .rung = user_op, .command = BN_LADDER_OP,
	  .what = "A forward and a backward pass over 1024 x 1024 elements; each rung implements the function in another way.",
	  .model = { "gelu" } },
	{ .id = "softmax", .title = "Softmax, written in three ways", .rung = user_op, .command = BN_LADDER_OP,
	  .what = "A forward and a backward pass over 1024 rows of 1024; each rung implements the function in another way.",
	  .model = { "softmax" } },
	{ .id = "data", .title = "Data loading, naive to cached", .rung = data,
	  .command = BN_LADDER_DATA, .data = BN_LADDER_ANY_DATA,
	  .what = "Four epochs of the same data without a model; the rungs differ in workers, prefetching and memory.",
	  .model = { "--epochs", "4" } },
	{ .id = NULL },
};
