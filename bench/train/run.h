/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_TRAIN_RUN_H
#define BN_TRAIN_RUN_H
/* The state of a training run, and its document. */
#include "bench/train/prune.h"
#include "bench/train/train_data.h"
#include "runtime/transport/comm.h"

/* Measurements around the removal of units. NAN: not measured. */
struct bn_size {
	int64_t parameters;
	double flops; /* operations of an update */
	double step_s, heldout;
};
struct bn_shrink {
	struct bn_size before, after;
};
struct bn_training {
	struct bn_train_options o; /* options with defaults filled in */
	const struct bn_model *model;
	struct rt_graph *graph[RT_LENGTHS_MAX]; /* one graph, or one for each length of documents */
	struct rt_node *loss_node[RT_LENGTHS_MAX]; /* the loss of each graph */
	int n_graphs;
	struct rt_program *program;
	struct bn_train_data data;
	struct bn_pruning pruning;
	struct rt_units *removed; /* units that this run removed; NULL: none */
	struct bn_shrink shrink;
	struct rt_comm *comm; /* NULL: a single process */
	struct rt_mesh mesh;  /* all members are zero in a single process */
	/* Ranks with their own batches, and this rank among them. The ranks that split a model get the same batches. */
	uint64_t data_ranks, data_rank;
	/* Part of a batch or microbatch: rows of this rank, index of its first row, rows of all ranks. */
	uint64_t rows, first_row, all_rows;
	uint64_t parts; /* microbatches of a batch */
	void *input[2];	      /* inputs of all ranks */
	size_t row_elements[2];
	double *step_s;
	uint64_t n_timed; /* timed steps so far, since units were removed */
	double before, after, loss;
	double flops_per_s, all_flops_per_s; /* rate of this rank, and of all ranks together */
	json_t *ranks; /* measurements over all ranks */
	json_t *stages; /* measurements of the stages of a pipeline; NULL: one stage */
	struct rt_metrics last;
	struct rt_peaks peaks;
	struct rt_gradient_check checked;
	uint64_t rss_bytes;
	uint64_t skipped; /* skipped updates */
	uint64_t ticket;  /* updates before this run, from the checkpoint */
	uint64_t consumed;	  /* samples, or batches of documents, that all ranks together read before this run */
	char resumed[192]; /* a warning about the position after resuming; "": none */
	long faults;
};
/* Opens the loader at the checkpoint's position. Documents determine the compiled shapes, so their loader is opened
 * before compilation. Returns -EINVAL if the checkpoint's position does not exist in this run's order. */
int bn_train_open_data(struct bn_training *r, bool compiled, struct gt_err *err);
/* Compiles a new program of the graphs, with initial parameters. */
int bn_train_compile(struct bn_training *r, struct gt_err *err);
/* Computes the loss on held-out batches; NAN: no data, or another rank does it. */
int bn_train_held_out(struct bn_training *r, double *ret, struct gt_err *err);
void bn_train_pin_batches(struct bn_training *r);
/* Restarts the measurements of the timed steps. */
void bn_train_restart_timing(struct bn_training *r);
/* Removes units after `done` updates of `total`, if the time has come: rebuilds the program without them. */
int bn_train_shrink(struct bn_training *r, uint64_t done, uint64_t total, struct gt_err *err);
/* Returns "pruning" of the document, or NULL. */
json_t *bn_train_pruning(const struct bn_training *r);
/* Stores the position after `done` updates of this run for the next checkpoint. */
void bn_train_note_position(const struct bn_training *r, uint64_t done);
double bn_train_median(const double *v, size_t n);
/* Returns the document that bench/train/train.h describes. */
json_t *bn_train_document(const struct bn_training *r);
/* Adds peaks, MFU and the share of the peaks that each op and kernel reached. */
void bn_train_put_peaks(json_t *doc, const struct bn_training *r);
#endif
