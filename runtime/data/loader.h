/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_LOADER_H
#define RT_LOADER_H
/*
 * The loader: source -> order -> decode -> collate -> ring of complete batches.
 * Batches have tickets 0, 1, 2 …. The contents of a batch are a function of the files, the options and its ticket, for
 * any number of workers. Workers draw tickets and fill the slots of a ring. The reader gets the batches in order,
 * without a lock and without an allocation. It sleeps only if the next batch is not complete. To continue from a
 * checkpoint, start at its ticket.
 *   struct rt_loader *l;
 *   struct rt_batch b;
 *   rt_loader_open(&(struct rt_loader_options){ .path = "shards/", .rows = 64, .size = 32, .workers = 2 }, &l, &err);
 *   while (rt_loader_next(l, &b, &err) == 0)
 *           rt_step(program, (const void *[]){ b.x, b.y }, &metrics, &err);
 */
#include <jansson.h>
#include "lib/base.h"

RT_API_BEGIN

/*
 * The data at a path:
 *   text    a file, or the files of a directory, as bytes. Samples are windows of seq bytes; targets are shifted by one.
 *   tokens  the same with token files (.bin): llm.c's format with its header (GPT-2: u16, Llama 3: u32), or ids only.
 *   shards  tar files in the WebDataset layout: KEY.jpg, KEY.jpeg or KEY.png, and KEY.cls (a number) or KEY.json ("label").
 *   folder  one directory of image files per class, in version order of their names.
 * A path is a file, a directory, or a list in braces: train-{000000..000146}.tar.
 */
enum rt_data_kind { RT_DATA_AUTO, RT_DATA_TEXT, RT_DATA_TOKENS, RT_DATA_SHARDS, RT_DATA_FOLDER };
extern const char *const rt_data_kinds[]; /* "auto", "text", …, NULL */
/* Detects the kind of data at a path. -ENOENT or another errno on failure. path NULL: text. */
int rt_data_guess(const char *path, enum rt_data_kind *ret, struct gt_err *err);

enum rt_token_type { RT_TOKEN_AUTO, RT_TOKEN_U16, RT_TOKEN_U32 }; /* AUTO: from the header; u16 without a header */
enum rt_augment { RT_AUGMENT_NONE, RT_AUGMENT_FLIP, RT_AUGMENT_CROP };
enum rt_part { RT_PART_ALL, RT_PART_TRAIN, RT_PART_HELD_OUT }; /* every tenth sample is held out */

/*
 * Samples that are documents of different lengths instead of windows of a stream. Each is padded to one of a few
 * lengths (ids 0, targets RT_IGNORE). Documents longer than seq are truncated. No sample contains parts of two
 * documents.
 */
enum rt_document_end {
	RT_DOCUMENTS_NONE,	/* windows */
	RT_DOCUMENTS_FILE,	/* each file is a document */
	RT_DOCUMENTS_LINE,	/* text: each line */
	RT_DOCUMENTS_PARAGRAPH, /* text: separated by empty lines */
	RT_DOCUMENTS_TOKEN,	/* ended by an id, such as "end of text" */
};
struct rt_documents {
	enum rt_document_end end;
	uint32_t token;
};
#define RT_LENGTHS_MAX	32
struct rt_length {
	int64_t width, rows; /* shape of its batches: x, y (rows,width) */
	uint64_t documents, batches; /* numbers of an epoch */
};

#define RT_PIXEL_MEAN	.45f /* typical for photographs, the same for all channels */
#define RT_PIXEL_STD	.225f
struct rt_loader_options {
	const char *path; /* NULL: the licence texts that every Debian host has */
	enum rt_data_kind kind;
	enum rt_part part;
	int64_t rows;   /* rows of a batch of this rank */
	int64_t all_rows;	  /* rows of a batch over all ranks; 0: rows */
	int64_t first_row;	  /* index of this rank's first row among them; ranks use disjoint samples */
	/* text, tokens: x, y (rows,seq) i32 */
	int64_t seq;
	int64_t vocab;		  /* ids >= vocab are refused; 0: no limit */
	enum rt_token_type token_type;
	struct rt_documents documents; /* rows and all_rows are then upper limits, and first_row distinguishes the ranks */
	int lengths;		  /* number of padded lengths, chosen for the least padding; 0: one */
	int64_t width_unit;	  /* unit of widths below seq; 0: 8, or more for long ones */
	int64_t token_budget;	  /* limit of rows * width; rows is then ignored; 0: the same rows for every length */
	/* shards, folder: x (rows,size,size,channels) f32, (v / 255 - mean) / std; y (rows) i32 */
	int64_t size, channels;	  /* channels 1 (luma) or 3; 0: 3 */
	int64_t classes;	  /* a sample with label >= classes is unusable; 0: no limit */
	bool planes;		  /* x (rows,channels,size,size) */
	bool u8;		  /* x is u8, as decoded; rt_options.pixels converts it */
	float mean, std;	  /* 0, 0: RT_PIXEL_MEAN and RT_PIXEL_STD */
	/* NONE: the whole image. FLIP: mirrored with probability 1/2. CROP: also a crop with 8 to 100 % of the area and
	 * an aspect ratio of 3:4 to 4:3. A function of (seed, epoch, sample). */
	enum rt_augment augment;
	bool in_order;		  /* not shuffled; otherwise each epoch has its own order, a function of (seed, epoch) */
	uint64_t seed;
	uint64_t start;		  /* ticket of the first batch */
	uint64_t start_sample;	  /* samples before ticket 0, if a run continues other batches; not for documents */
	int workers;		  /* number of threads; 0: rt_loader_next makes the batches */
	int prefetch;		  /* batches made in advance; 0: one */
	uint64_t cache_bytes;	  /* for decoded images; 0: none */
	uint64_t max_corrupt;	  /* limit of unusable samples before the loader fails; UINT64_MAX: none */
	const char *cpus;	  /* CPUs of the workers, such as "0-3,8"; NULL: those of the caller */
	bool no_huge_pages;
	/* Behaviour of other loaders, to measure its cost: new threads each epoch, and a copy of each batch in new
	 * memory. */
	bool restart_workers, copy_batches;
	/* pin is called with the ring's memory once, before the first batch, and unpin at the end. A device that copies
	 * from this memory by itself registers it there. Either may be NULL. */
	int (*pin)(void *arg, void *base, size_t bytes, struct gt_err *err);
	void (*unpin)(void *arg, void *base, size_t bytes);
	void *pin_arg;
};

struct rt_batch {
	const void *x;
	const int32_t *y;
	uint64_t ticket, epoch; /* epoch of its first row */
	int length;	    /* for documents: index in rt_loader_lengths(); rows after the last document are padding */
	uint64_t tokens;    /* for documents: targets other than padding */
};

struct rt_loader;
/* -ENOENT or another errno: no such path. -ENODATA: not enough samples. -EBADMSG: not in the expected format. -ENOSYS:
 * built without the library that decodes it. -EINVAL: invalid options. Maps and touches all memory and starts the
 * workers. */
int rt_loader_open(const struct rt_loader_options *o, struct rt_loader **ret, struct gt_err *err);
void rt_loader_close(struct rt_loader *l);
GT_DEFINE_AUTO(rt_loader, rt_loader_close);
/* Returns the next batch, valid until the next call. Continues with the next epoch without end. -EBADMSG: more than
 * max_corrupt unusable samples. -ERANGE: a token outside the vocabulary. -EIO or another errno: a file is no longer
 * readable. For one reader. */
int rt_loader_next(struct rt_loader *l, struct rt_batch *ret, struct gt_err *err);
/* Returns the memory of all batches, for rt_pin(). Does not include the copies of options.copy_batches. */
void rt_loader_memory(const struct rt_loader *l, void **ret_base, size_t *ret_bytes);
uint64_t rt_loader_samples(const struct rt_loader *l); /* number of samples of the selected part */
enum rt_data_kind rt_loader_kind(const struct rt_loader *l);
size_t rt_loader_row_bytes(const struct rt_loader *l); /* bytes of a row of x; for documents: of the longest length */
/* Returns the shapes of batches of documents, sorted by width, and their number; 0 if all samples have the same length. */
int rt_loader_lengths(const struct rt_loader *l, const struct rt_length **ret);
uint64_t rt_loader_epoch_batches(const struct rt_loader *l); /* batches of an epoch, if samples are documents */
double rt_loader_wait_s(const struct rt_loader *l); /* time that the reader waited; with 0 workers, time of making batches */
/*
 * { "path", "kind", "samples", "files", "bytes", "workers", "prefetch", "cpus", "buffer_bytes", "pages", "batch_bytes"
 * (of x), "batches", "epoch", "wait_s", "waits" (batches that were not complete in time), "work_s" (of all workers), "corrupt": {
 * "count", "samples": [{ "where", "reason" }] (the first 32) }, "cache": { "bytes", "used_bytes", "images", "hits",
 * "misses" } or null, "truncated": [ … ] (truncated shards), "documents": { "tokens" (of an epoch), "skipped" (too short),
 * "lengths": [{ "width", "rows", "documents", "batches" }], "padding_share", "padding_share_one_length" (with all samples
 * padded to the longest), "tokens_read", "tokens_read_padded" } or null }
 */
json_t *rt_loader_report(const struct rt_loader *l);

/* Returns the sample at position p of an epoch's order: a permutation of 0 … n-1 from (seed, epoch), computed without a
 * table. */
uint64_t rt_order(uint64_t seed, uint64_t epoch, uint64_t n, uint64_t p);
RT_API_END
#endif
