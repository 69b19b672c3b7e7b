/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_TRAIN_RUN_H
#define BN_TRAIN_RUN_H
/* A training run under way, and the document that it ends in. */
#include "bench/train/train_data.h"
#include "runtime/transport/comm.h"

struct bn_training {
	struct bn_train_options o; /* with defaults filled in */
	const struct bn_model *model;
	struct rt_graph *graph[RT_LENGTHS_MAX]; /* one, or one for each length of documents */
	struct rt_program *program;
	struct bn_train_data feed;
	struct rt_comm *comm; /* NULL: alone */
	uint64_t rows, first_row, all_rows; /* of a batch: ours, where they begin, those of all ranks */
	void *input[2];	      /* of all ranks */
	size_t row_elements[2];
	double *step_s;
	double before, after, loss;
	double flops_per_s, all_flops_per_s; /* ours, and those of all ranks */
	json_t *ranks; /* what was measured over all of them */
	struct rt_metrics last;
	struct rt_peaks peaks;
	struct rt_gradient_check checked;
	uint64_t rss_bytes;
	uint64_t skipped; /* updates */
	uint64_t ticket;  /* updates done before, by the checkpoint */
	uint64_t had;	  /* samples, or batches of documents, that all ranks together had before */
	char resumed[192]; /* what is to be known of how this run goes on; "": nothing */
	long faults;
};
/* The loader, where the checkpoint left it. Documents decide what is compiled: their loader is there before. -EINVAL: of these
 * data the checkpoint has seen what no part of this run's order is. */
int bn_train_open_data(struct bn_training *r, bool compiled, struct gt_err *err);
/* For the next checkpoint: after so many updates of this run. */
void bn_train_note_position(const struct bn_training *r, uint64_t done);
double bn_train_median(const double *v, size_t n);
/* What the run was and made, as bench/train/train.h describes it. */
json_t *bn_train_document(const struct bn_training *r);
/* Into that document: peaks, MFU and the share of them that each op and kernel reached. */
void bn_train_put_peaks(json_t *doc, const struct bn_training *r);
#endif
