/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_LOADER_H
#define RT_LOADER_H
/*
 * The loader: source -> order -> decode -> collate -> a ring of ready batches.
 *
 * Batches have tickets 0, 1, 2 …; what is in a batch is a function of the files, the options and its ticket alone, whatever
 * the number of workers. Workers draw tickets and fill the slots of a ring; the reader takes them in order, without a lock and
 * without an allocation, and sleeps only when the next one is not ready. To go on from a checkpoint is to start at its ticket.
 *
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
 * What lies at a path:
 *   text    a file, or the files of a directory, as bytes. Samples are windows of seq bytes, targets one further.
 *   tokens  token files (.bin) the same way: llm.c's, with their header (GPT-2: u16, Llama 3: u32), or ids and nothing else.
 *   shards  tar files in the WebDataset layout: KEY.jpg, KEY.jpeg or KEY.png, and KEY.cls (a number) or KEY.json ("label").
 *   folder  one directory per class, in version order of their names; image files in them.
 * A path is a file, a directory, or a list in braces: train-{000000..000146}.tar.
 */
enum rt_data_kind { RT_DATA_AUTO, RT_DATA_TEXT, RT_DATA_TOKENS, RT_DATA_SHARDS, RT_DATA_FOLDER };
extern const char *const rt_data_kinds[]; /* "auto", "text", …, NULL */
/* What the samples of a path are; -ENOENT and the like with a sentence. path NULL: text. */
int rt_data_guess(const char *path, enum rt_data_kind *ret, struct gt_err *err);

enum rt_token_type { RT_TOKEN_AUTO, RT_TOKEN_U16, RT_TOKEN_U32 }; /* AUTO: by the header, u16 without one */
enum rt_augment { RT_AUGMENT_NONE, RT_AUGMENT_FLIP, RT_AUGMENT_CROP };
enum rt_part { RT_PART_ALL, RT_PART_TRAIN, RT_PART_HELD_OUT }; /* every tenth sample is held out */

/*
 * Samples that are documents of their own length instead of windows of a stream: each is padded to one of a few lengths (ids 0,
 * targets RT_IGNORE), documents longer than seq are cut, and nothing crosses from one into the next.
 */
enum rt_document_end {
	RT_DOCUMENTS_NONE,	/* windows */
	RT_DOCUMENTS_FILE,	/* a file is a document */
	RT_DOCUMENTS_LINE,	/* text */
	RT_DOCUMENTS_PARAGRAPH, /* text: ended by an empty line */
	RT_DOCUMENTS_TOKEN,	/* ended by that id, "end of text", say */
};
struct rt_documents {
	enum rt_document_end end;
	uint32_t token;
};
#define RT_LENGTHS_MAX	32
struct rt_length {
	int64_t width, rows; /* of its batches: x, y (rows,width) */
	uint64_t documents, batches; /* of an epoch */
};

#define RT_PIXEL_MEAN	.45f /* of photographs, all channels alike */
#define RT_PIXEL_STD	.225f
struct rt_loader_options {
	const char *path; /* NULL: the licence texts that every Debian host has */
	enum rt_data_kind kind;
	enum rt_part part;
	int64_t rows;		  /* of a batch */
	int64_t all_rows;	  /* of the batches of all ranks together; 0: rows */
	int64_t first_row;	  /* where among them ours begin: ranks take disjoint samples */
	/* text, tokens: x, y (rows,seq) i32 */
	int64_t seq;
	int64_t vocab;		  /* ids from here on are refused; 0: any */
	enum rt_token_type token_type;
	struct rt_documents documents; /* rows and all_rows are then the most that a batch has, and first_row tells ranks apart */
	int lengths;		  /* that documents are padded to, chosen so that little is padding; 0: one */
	int64_t width_unit;	  /* that widths shorter than seq are multiples of; 0: 8, or more for long ones */
	int64_t token_budget;	  /* most that rows * width may be, and rows says nothing; 0: rows of every length */
	/* shards, folder: x (rows,size,size,channels) f32, (v / 255 - mean) / std; y (rows) i32 */
	int64_t size, channels;	  /* channels 1 (luma) or 3; 0: 3 */
	int64_t classes;	  /* a label from here on makes a sample unusable; 0: any */
	bool planes;		  /* x (rows,channels,size,size) */
	bool u8;		  /* x is u8, as decoded: rt_options.pixels converts it */
	float mean, std;	  /* 0, 0: RT_PIXEL_MEAN and RT_PIXEL_STD */
	/* NONE: the whole image. FLIP: half of them mirrored. CROP: mirrored, and 8 to 100 % of the area in a shape of 3:4 to 4:3.
	 * A function of (seed, epoch, sample). */
	enum rt_augment augment;
	bool in_order;		  /* not shuffled. Else each epoch has an order of its own, by (seed, epoch) */
	uint64_t seed;
	uint64_t start;		  /* ticket of the first batch */
	uint64_t start_sample;	  /* samples before ticket 0: where other batches stopped, whatever their size; none of documents */
	int workers;		  /* threads; 0: batches are made inside rt_loader_next */
	int prefetch;		  /* batches made ahead of the reader; 0: one */
	uint64_t cache_bytes;	  /* for decoded images; 0: none */
	uint64_t max_corrupt;	  /* unusable samples before the loader gives up; UINT64_MAX: any number */
	const char *cpus;	  /* CPUs that workers run on: "0-3,8"; NULL: those of the caller */
	bool no_huge_pages;
	/* What other loaders do, to measure what it costs: threads made anew each epoch, a copy of each batch in new memory. */
	bool restart_workers, copy_batches;
	/* The ring's memory is handed to pin once, before the first batch, and to unpin at the end: a device that copies from it
	 * by itself registers it there. Either may be NULL. */
	int (*pin)(void *arg, void *base, size_t bytes, struct gt_err *err);
	void (*unpin)(void *arg, void *base, size_t bytes);
	void *pin_arg;
};

struct rt_batch {
	const void *x;
	const int32_t *y;
	uint64_t ticket, epoch; /* epoch of its first row */
	int length;	    /* of documents: which of rt_loader_lengths(); rows beyond the last document are all padding */
	uint64_t tokens;    /* of documents: targets that count */
};

struct rt_loader;
/* -ENOENT …: no such path; -ENODATA: fewer samples than one; -EBADMSG: not what it claims to be; -ENOSYS: built without the
 * library that decodes it; -EINVAL: options. All memory is mapped and touched here, and the workers start. */
int rt_loader_open(const struct rt_loader_options *o, struct rt_loader **ret, struct gt_err *err);
void rt_loader_close(struct rt_loader *l);
GT_DEFINE_AUTO(rt_loader, rt_loader_close);
/* The next batch, valid until the next call. Never ends: epoch follows epoch. -EBADMSG: more than max_corrupt unusable samples;
 * -ERANGE: a token outside the vocabulary; -EIO …: a file that can no longer be read. One reader. */
int rt_loader_next(struct rt_loader *l, struct rt_batch *ret, struct gt_err *err);
/* Where all batches lie, with options.copy_batches apart; for rt_pin(). */
void rt_loader_memory(const struct rt_loader *l, void **ret_base, size_t *ret_bytes);
uint64_t rt_loader_samples(const struct rt_loader *l); /* of the part that is read */
enum rt_data_kind rt_loader_kind(const struct rt_loader *l);
size_t rt_loader_row_bytes(const struct rt_loader *l); /* of x; of documents: of the longest */
/* The shapes that batches of documents have, by width; returns how many, 0 where all samples have the same length. */
int rt_loader_lengths(const struct rt_loader *l, const struct rt_length **ret);
uint64_t rt_loader_epoch_batches(const struct rt_loader *l); /* of documents */
double rt_loader_wait_s(const struct rt_loader *l); /* that the reader has waited so far, or with 0 workers worked */
/*
 * { "path", "kind", "samples", "files", "bytes", "workers", "prefetch", "cpus", "buffer_bytes", "pages", "batch_bytes"
 * (of x), "batches", "epoch", "wait_s", "waits" (batches that were not ready), "work_s" (of all workers), "corrupt": {
 * "count", "samples": [{ "where", "reason" }] (the first 32) }, "cache": { "bytes", "used_bytes", "images", "hits",
 * "misses" } or null, "truncated": [ … ] (shards that end early), "documents": { "tokens" (of an epoch), "skipped" (too
 * short), "lengths": [{ "width", "rows", "documents", "batches" }], "padding_share", "padding_share_one_length" (if all
 * were as long as the longest), "tokens_read", "tokens_read_padded" } or null }
 */
json_t *rt_loader_report(const struct rt_loader *l);

/* Position p of an epoch's order of n samples: a permutation of 0 … n-1, by (seed, epoch), without a table. */
uint64_t rt_order(uint64_t seed, uint64_t epoch, uint64_t n, uint64_t p);
RT_API_END
#endif
