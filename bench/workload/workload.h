/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_WORKLOAD_H
#define BN_WORKLOAD_H
/*
 * gpubench measures the host. The unit of replication is the launch: a fresh process that runs one workload and answers
 * with one document (gpubench-launch/1) of raw samples. Everything else, the medians, pairs, intervals and verdicts, is
 * computed from those samples and can be computed again from the saved file.
 */
#include "bench/bench.h"
#include "bench/stats/metric.h"
#include "lib/err.h"
#include "lib/json.h"

struct gt_fsroot;

/* What a workload is asked to do and what it found; alive during one launch. */
struct bn_launch {
	struct gt_fsroot *fs;
	uint64_t seed;	       /* of the pair: both arms do the same work */
	uint64_t salt;	       /* of this launch alone */
	const char *data;      /* --data of the user, or NULL */
	uint64_t fault;	       /* test seam: GPUBENCH_FAULT; 0 none, 1 spoil the result before it is verified */
	json_t *metrics;       /* filled by bn_series() */
	json_t *params;	       /* object: problem sizes; part of the definition */
	json_t *notes;	       /* object: what is worth knowing but is not the definition (threads, losses) */
	const char *verify;    /* one sentence: what was checked */
	char wrong[256];       /* why the result is wrong; "" = verified */
};

struct bn_workload {
	const char *id;
	const char *summary;
	const char *unit;
	enum bn_direction direction;
	enum bn_role role;
	unsigned version;	   /* raised whenever numbers stop being comparable */
	double margin;		   /* smallest change that matters, as a share */
	const char *verifies;	   /* what makes a run void */
	const char *overhead;	   /* what of a sample is the harness' and not the work's */
	const char *const *knobs;  /* what should move it; NULL-terminated */
	double launch_s;	   /* about how long one launch takes: for the plan */
	bool optional;		   /* not part of the default list */
	bool gpu;		   /* runs on CUDA devices: what they do meanwhile is recorded */
	/* NULL: runs anywhere. Otherwise returns NULL when it can run, or why it cannot (one clause, static). */
	const char *(*unavailable)(struct gt_fsroot *fs);
	/* Measure. A wrong result is not an error: it is put into l->wrong. NULL: the session starts it by itself. */
	int (*run)(struct bn_launch *l, struct gt_err *err);
};

/* In the order in which they are listed and, with a coin toss per launch group, run. NULL-terminated. */
extern const struct bn_workload *const bn_workloads[];
const struct bn_workload *bn_workload_find(const char *id);
const char *bn_workload_word(size_t i); /* the i-th id; NULL behind the last */
int bn_no_workload(const char *id, struct gt_err *err); /* refuses it, and names the nearest */

/* What an empty step takes here, in ns: two clock readings and the store of a sample (the workload null). */
double bn_null_ns(void);
/* One series of samples under the workload's unit, direction, role and margin. suffix "" or ".node0"; the first
 * `warmup` samples are kept but not used. With tail, the 99th percentile becomes a metric of its own, a guard. role:
 * usually the workload's. */
void bn_series(struct bn_launch *l, const struct bn_workload *w, const char *suffix, enum bn_role role,
	       const double *samples, size_t n, size_t warmup, bool tail);
/* What another process of this program measured and answered (gpubench-launch/1) becomes this launch's own. */
void bn_launch_take(struct bn_launch *l, const json_t *answer);
#endif
