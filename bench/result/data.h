/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_DATA_H
#define BN_DATA_H
/*
 * The numbers of a result document. The document is untrusted input, and each member is checked here only. A missing
 * member or a value that is not a number becomes NaN with a warning. A file that is not a result document is an error.
 * The document owns the strings and must outlive the data.
 */
#include "bench/stats/metric.h"
#include "bench/stats/stats.h"
#include "lib/err.h"
#include "lib/json.h"

enum bn_kind { BN_KIND_AB, BN_KIND_AA, BN_KIND_SINGLE };
enum bn_arm { BN_ARM_A, BN_ARM_B }; /* in an A/A pair, the random order decides which launch is B */
extern const char *const bn_kind_name[];
/* Design of a session: unchanged and changed pairs, pairs of identical arms, one arm, two files. */
enum bn_session_design { BN_DESIGN_PAIRS, BN_DESIGN_AA, BN_DESIGN_SINGLE, BN_DESIGN_UNPAIRED };
extern const char *const bn_design_name[];
/* An unknown name, as in a file from another version, counts as pairs. */
enum bn_session_design bn_design_of(const char *name);

struct bn_metric {
	char *id;		/* id of the metric, with ".p99" for a tail */
	const char *series;	/* id of the series from which the metric is computed */
	const char *workload, *unit, *definition;
	enum bn_direction direction;
	enum bn_role role;
	double margin;
	bool tail;
};

struct bn_run {			/* one launch */
	int64_t seq, block;
	enum bn_kind kind;
	enum bn_arm arm;
	const char *workload;
	double t_s;		/* seconds since the start of the session */
	const char *failure;	/* why the launch gave no numbers, or NULL */
	const char *wrong;	/* why the launch's result is wrong, or NULL */
	bool unsteady;
	double *value; /* value of each metric; NaN: none */
};

struct bn_data {
	json_t *doc;		/* borrowed */
	enum bn_session_design design;
	struct bn_metric *metrics;
	size_t n_metrics;
	struct bn_run *runs;	/* sorted by seq */
	size_t n_runs;
	struct bn_interim *interims;	/* planned interim analyses; empty for single and unpaired */
	size_t n_interims;
	size_t blocks_done;	/* A/B blocks (A/A blocks in design "aa") with all launches */
	uint64_t seed;
	double block_s;		/* mean duration of a block; NaN: unknown */
	bool interrupted, clock_broken;
	const char *invalid;	/* why the session is invalid, or NULL */
	json_t *warnings;	/* array of {code, text, hint} found while reading */
};

#define BN_FILE_MAX	(64u << 20)
/* Read the data of a document. bn_data_from_doc() also replaces control characters in its strings; bn_data_read() does
 * not change the document. */
int bn_data_read(json_t *doc, const char *name, struct bn_data **ret, struct gt_err *err);
int bn_data_from_doc(json_t *doc, const char *name, struct bn_data **ret, struct gt_err *err);
void bn_data_free(struct bn_data *d);
GT_DEFINE_AUTO(bn_data, bn_data_free);
/* Reads and parses a result file. */
int bn_doc_load(const char *path, json_t **ret, struct gt_err *err);
/* Replaces control characters in the strings of the document by question marks, except in "resume". Fails with exit
 * status 64 if a member's name has control characters. */
int bn_doc_clean(json_t *doc, const char *name, struct gt_err *err);
/* Returns the metric with that id, or NULL. Tails are not found, because they are computed from the samples of another
 * metric. */
const json_t *bn_doc_metric(const json_t *doc, const char *id);
void bn_warning(json_t *warnings, const char *code, const char *hint, const char *fmt, ...) GT_PRINTF(4, 5);

/* Returns the number of warm-up samples of a series {samples}. */
size_t bn_warmup_of(const json_t *series);

/* Log-ratios ln(B/A) of one metric over the blocks of one kind, in the order of the launches. */
struct bn_pairs {
	double *d, *a, *b, *t_s;
	int64_t *block;
	size_t n;
	size_t dropped;		/* blocks where an arm gave no number */
	size_t failed_a, failed_b;
};
void bn_pairs_collect(const struct bn_data *data, size_t metric, enum bn_kind kind, struct bn_pairs *ret);
void bn_pairs_clear(struct bn_pairs *p);
#define bn_auto_pairs	__attribute__((cleanup(bn_pairs_clear))) struct bn_pairs
/* Stores all finite values of one metric in one arm over launches of that kind in *ret; the caller frees it. Returns
 * their number. */
size_t bn_values(const struct bn_data *data, size_t metric, enum bn_kind kind, enum bn_arm arm, double **ret);
#endif
