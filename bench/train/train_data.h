/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_TRAIN_DATA_H
#define BN_TRAIN_DATA_H
/* The training data of a run. */
#include "bench/train/models.h"
#include "lib/err.h"
#include "lib/json.h"
#include "runtime/data/loader.h"

struct bn_train_data {
	struct rt_loader *train; /* NULL: random numbers */
	double wait_before;		    /* time that the run waited for the loader before the timed steps */
	double wait_s, step_s;		    /* during the timed steps */
	/* sums over all ranks and timed steps if batches differ: tokens without and with padding, and computed flops */
	double tokens, padded, flops;
};
#define BN_BUCKETS	8   /* number of lengths that documents are padded to */
#define BN_LOADER_BOUND	.05 /* if waiting takes a larger share, the loader limits the run */

/* Returns whether the model reads data, by default or with --data. */
bool bn_train_data_wanted(const struct bn_model *m, const struct bn_train_options *o);
/* Returns whether the loader passes images as bytes: yes if they are read from data, unless --without excludes it. */
bool bn_train_data_u8(const struct bn_model *m, const struct bn_train_options *o);
/* Opens the loader for the rows first_row … of all_rows, after the first `had` samples or batches of documents. Returns
 * -EINVAL if the model cannot read this kind of data. */
int bn_train_data_open(struct bn_train_data *f, const struct bn_model *m, const struct bn_train_options *o, uint64_t rows,
		       uint64_t all_rows, uint64_t first_row, uint64_t consumed, struct gt_err *err);
/* Opens one part at its beginning, without workers. Batches are the same each time. */
int bn_train_data_part(const struct bn_model *m, const struct bn_train_options *o, enum rt_part part, uint64_t rows,
		       struct rt_loader **ret, struct gt_err *err);
/* Returns the number of batch shapes if samples are documents, otherwise 0. */
int bn_train_data_shapes(const struct bn_train_data *f, const struct rt_length **ret);
/* Parses "line", "paragraph", "file" or the id of a token; NULL: no documents. */
int bn_train_data_documents(const char *text, struct rt_documents *ret, struct gt_err *err);
struct bn_switch {
	const char *name;
	bool *off;
};
/* Sets the flag of each technique in list, the argument of --without (comma-separated); list may be NULL. */
int bn_apply_without(const char *list, const struct bn_switch *switches, size_t n, struct gt_err *err);
/* Prints two lines: the lengths and the share of padding. */
void bn_print_documents(const json_t *docs);
void bn_train_data_close(struct bn_train_data *f);
/* Returns "data" of the document and adds warnings. items: processed in the timed steps. */
json_t *bn_train_data_report(const struct bn_train_data *f, double items, json_t *warnings);
#endif
