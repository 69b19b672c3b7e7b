/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_TRAIN_DATA_H
#define BN_TRAIN_DATA_H
/* What a training run is fed with. */
#include "bench/train/models.h"
#include "lib/err.h"
#include "lib/json.h"
#include "runtime/data/loader.h"

struct bn_train_data {
	struct rt_loader *train; /* NULL: random numbers */
	double wait_before;		    /* until the timed steps began */
	double wait_s, step_s;		    /* of the timed steps */
	/* of the timed steps, of all ranks, where batches differ: tokens that count, and with padding; what was computed */
	double tokens, padded, flops;
};
#define BN_BUCKETS	8   /* lengths that documents are padded to */
#define BN_LOADER_BOUND	.05 /* share of the time beyond which a run waits for its data */

/* Whether the model reads data at all: told to, or by itself. */
bool bn_train_data_wanted(const struct bn_model *m, const struct bn_train_options *o);
/* Are its images handed over as bytes? On the CPU, unless left out. */
bool bn_train_data_u8(const struct bn_model *m, const struct bn_train_options *o);
/* The batches of rows `first_row` … of all_rows, behind the first `had` samples, or batches of documents. threads: of the
 * training team, near which the workers run. -EINVAL: data of another kind than the model reads. */
int bn_train_data_open(struct bn_train_data *f, const struct bn_model *m, const struct bn_train_options *o, uint64_t rows,
		       uint64_t all_rows, uint64_t first_row, uint64_t had, struct gt_err *err);
/* The part that is held out, from its beginning. */
int bn_train_data_held_out(const struct bn_model *m, const struct bn_train_options *o, uint64_t rows, struct rt_loader **ret,
			   struct gt_err *err);
/* The shapes that batches have, if samples are documents; how many, else 0. */
int bn_train_data_shapes(const struct bn_train_data *f, const struct rt_length **ret);
/* "line", "paragraph", "file" or the id of a token; NULL: no documents. */
int bn_train_data_documents(const char *text, struct rt_documents *ret, struct gt_err *err);
struct bn_switch {
	const char *name;
	bool *off;
};
/* Sets what the words of a --without name, with commas between them; NULL: none. */
int bn_leave_out(const char *list, const struct bn_switch *switches, size_t n, struct gt_err *err);
/* Two lines of text: the lengths, and how much is padding. */
void bn_print_documents(const json_t *docs);
void bn_train_data_close(struct bn_train_data *f);
/* "data" of the document, and sentences into warnings; items: per timed step. */
json_t *bn_train_data_report(const struct bn_train_data *f, double items, json_t *warnings);
#endif
