/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_WORKLOAD_H
#define BN_WORKLOAD_H
/*
 * gpubench measures the host. The unit of replication is the launch: a new process that runs one workload and returns
 * one document (gpubench-launch/1) of raw samples. Medians, pairs, intervals and verdicts are computed from these
 * samples. They can be computed again from the saved file.
 */
#include "bench/bench.h"
#include "bench/stats/metric.h"
#include "lib/err.h"
#include "lib/json.h"

struct gt_fsroot;

/* The parameters and results of one launch. */
struct bn_launch {
	struct gt_fsroot *fs;
	uint64_t seed;	       /* seed of the pair: both arms do the same work */
	uint64_t salt;	       /* seed of this launch only */
	const char *data;      /* argument of --data, or NULL */
	uint64_t fault;	       /* test seam: GPUBENCH_FAULT; 0: none, 1: corrupt the result before it is verified */
	json_t *metrics;       /* filled by bn_series() */
	json_t *params;	       /* JSON object: problem sizes, part of the definition */
	json_t *notes;	       /* JSON object: facts that are not part of the definition (threads, losses) */
	const char *verify;    /* one sentence: what was verified; NULL: w->verifies */
	char wrong[256];       /* why the result is wrong; "": verified */
};

struct bn_workload {
	const char *id;
	const char *summary;
	const char *unit;
	enum bn_direction direction;
	enum bn_role role;
	unsigned version;	   /* version; increased when results are no longer comparable with older ones */
	double margin;		   /* smallest relevant change, as a share */
	const char *verifies;	   /* what is verified; a wrong result voids the run */
	const char *overhead;	   /* share of a sample that is spent in the harness */
	const char *const *knobs;  /* settings that may change it; NULL-terminated */
	double launch_s;	   /* approximate duration of a launch, for the plan */
	bool optional;		   /* not in the default list */
	bool gpu;		   /* runs on CUDA devices: GPU readings are recorded meanwhile */
	/* Returns NULL if the workload can run, otherwise the reason (one clause, static). NULL: runs anywhere. */
	const char *(*unavailable)(struct gt_fsroot *fs);
	/* Measures. A wrong result is not an error; it is described in l->wrong. NULL: the session starts the command
	 * itself. */
	int (*run)(struct bn_launch *l, struct gt_err *err);
};

/* In list order. Each launch group runs them in a random order. NULL-terminated. */
extern const struct bn_workload *const bn_workloads[];
const struct bn_workload *bn_workload_find(const char *id);
const char *bn_workload_word(size_t i); /* the i-th id; NULL after the last */
int bn_no_workload(const char *id, struct gt_err *err); /* fails with a message that suggests the nearest id */

/* Returns the duration of an empty step on this host in ns: two clock readings and the store of a sample (workload
 * null). */
double bn_null_ns(void);
/* Adds a series of samples with the workload's unit, direction and margin. suffix: "" or for example ".node0". The
 * first `warmup` samples are stored but not used. tail: the 99th percentile becomes a separate metric, a guard. role:
 * usually the workload's. */
void bn_series(struct bn_launch *l, const struct bn_workload *w, const char *suffix, enum bn_role role,
	       const double *samples, size_t n, size_t warmup, bool tail);
/* Copies the results of another gpubench process (gpubench-launch/1) to this launch. */
void bn_launch_take(struct bn_launch *l, const json_t *answer);
#endif
