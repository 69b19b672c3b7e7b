/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effect of a checkpoint on concurrent steps. A step computes for a few milliseconds and writes 256 KiB (a log, a
 * cache of samples). In the second half of the launch another thread writes checkpoints all the time. When too many
 * pages are dirty the kernel makes every writer wait, including the step. The 99th percentile shows this.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "bench/workload/scratch.h"
#include "bench/workload/workloads.h"

#define STEPS	   250
#define WARMUP	   5
#define STEP_BYTES ((size_t)256 << 10)
#define TURNS	   400000 /* iterations of the loop, a few nanoseconds each */
#define CKPT_BYTES ((size_t)96 << 20)
#define CHUNK	   ((size_t)1 << 20)
#define CKPT_MAX   8 /* maximum number of checkpoints in a launch */

struct writer {
	_Atomic bool stop;
	uint64_t seed;
	unsigned written; /* complete checkpoints */
	size_t wrong;
	int error;
};

static int one_checkpoint(struct writer *w, unsigned char *buf)
{
	gt_autoclose int fd = bn_scratch_open(NULL);

	if (fd < 0)
		return -1;
	for (size_t at = 0; at < CKPT_BYTES && !atomic_load(&w->stop); at += CHUNK) {
		bn_scratch_fill(buf, CHUNK, at / 4096, w->seed);
		if (bn_scratch_write(fd, buf, CHUNK, (off_t)at) < 0)
			return -1;
	}
	if (atomic_load(&w->stop))
		return 0;
	if (fsync(fd) < 0 || pread(fd, buf, CHUNK, (off_t)(CKPT_BYTES - CHUNK)) != (ssize_t)CHUNK)
		return -1;
	w->wrong += bn_scratch_wrong(buf, CHUNK, (CKPT_BYTES - CHUNK) / 4096, w->seed);
	w->written++;
	return 0;
}

static void *write_checkpoints(void *arg)
{
	gt_autofree unsigned char *buf = gt_xcalloc(1, CHUNK);
	struct writer *w = arg;

	while (!atomic_load(&w->stop) && !w->error && w->written < CKPT_MAX)
		if (one_checkpoint(w, buf) < 0)
			w->error = errno;
	return NULL;
}

/* Does the same computation in every step of every launch. */
static double turns(size_t n)
{
	volatile double x = 1;

	for (size_t i = 0; i < n; i++)
		x = x * 1.0000001 + 1e-9;
	return x;
}

static int steps(int fd, unsigned char *buf, size_t first, uint64_t seed, double *s, struct gt_err *err)
{
	for (size_t i = 0; i < STEPS; i++) {
		double t0;

		bn_scratch_fill(buf, STEP_BYTES, (first + i) * (STEP_BYTES / 4096), seed);
		t0 = gt_now_s();
		turns(TURNS);
		if (bn_scratch_write(fd, buf, STEP_BYTES, (off_t)((first + i) * STEP_BYTES)) < 0)
			return gt_fail_errno(err, errno, "cannot write the log of the steps");
		s[i] = gt_now_s() - t0;
	}
	return 0;
}

static int check_log(int fd, unsigned char *buf, uint64_t seed, size_t *wrong, struct gt_err *err)
{
	for (size_t i = 0; i < 2 * STEPS; i++) {
		if (pread(fd, buf, STEP_BYTES, (off_t)(i * STEP_BYTES)) != (ssize_t)STEP_BYTES)
			return gt_fail_errno(err, errno, "cannot read the log of the steps");
		*wrong += bn_scratch_wrong(buf, STEP_BYTES, i * (STEP_BYTES / 4096), seed);
	}
	return 0;
}

static int measure(struct bn_launch *l, int fd, unsigned char *buf, struct writer *w, struct gt_err *err)
{
	double alone[STEPS], concurrent[STEPS];
	pthread_t thread;
	int r;

	r = steps(fd, buf, 0, l->seed, alone, err);
	if (r)
		return r;
	r = pthread_create(&thread, NULL, write_checkpoints, w);
	if (r)
		return gt_fail_errno(err, r, "cannot start a thread");
	r = steps(fd, buf, STEPS, l->seed, concurrent, err);
	atomic_store(&w->stop, true);
	pthread_join(thread, NULL);
	if (r)
		return r;
	if (w->error)
		return gt_fail_errno(err, w->error, "cannot write a checkpoint of %zu MiB", CKPT_BYTES >> 20);
	bn_series(l, &bn_workload_file_write, ".alone", BN_EXPLORE, alone, STEPS, WARMUP, true);
	bn_series(l, &bn_workload_file_write, ".checkpoint", BN_EXPLORE, concurrent, STEPS, WARMUP, true);
	return 0;
}

static int file_write_run(struct bn_launch *l, struct gt_err *err)
{
	gt_autofree unsigned char *buf = gt_xcalloc(1, STEP_BYTES);
	gt_autoclose int fd = bn_scratch_open(err);
	struct writer w = { .seed = l->seed + 1 };
	size_t wrong = 0;
	int r;

	if (fd < 0)
		return fd;
	r = measure(l, fd, buf, &w, err);
	if (r)
		return r;
	r = check_log(fd, buf, l->seed + l->fault, &wrong, err);
	if (r)
		return r;
	wrong += w.wrong;
	if (wrong)
		snprintf(l->wrong, sizeof(l->wrong), "%zu blocks of 4 KiB differ from the written data", wrong);
	bn_scratch_note(l, fd);
	json_object_set_new(l->notes, "checkpoints", json_integer((json_int_t)w.written));
	json_object_set_new(l->params, "step_bytes", json_integer((json_int_t)STEP_BYTES));
	json_object_set_new(l->params, "checkpoint_bytes", json_integer((json_int_t)CKPT_BYTES));
	return 0;
}

static const char *const knobs[] = { "vm.dirty_ratio", "vm.dirty_background_ratio", "vm.dirty_bytes", "vm.dirty_background_bytes",
				     "block.scheduler", NULL };

const struct bn_workload bn_workload_file_write = {
	.id	   = "file.writeback",
	.summary   = "a step with a small write, alone and while checkpoints are written",
	.unit	   = "s",
	.direction = BN_LOWER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .05,
	.verifies  = "the data of the steps and checkpoints can be read back",
	.overhead  = "two clock readings per step; the data is prepared before them",
	.knobs	   = knobs,
	.launch_s  = 4,
	.optional  = true,
	.run	   = file_write_run,
};
