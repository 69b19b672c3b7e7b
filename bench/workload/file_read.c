/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequential reads of a file: from the disk through the page cache (cold: read-ahead has an effect), from the disk with
 * O_DIRECT (direct), and from the page cache (warm). The disk is measured only if the pages could be dropped from the
 * cache. A file system in memory, or one without O_DIRECT, has no such series.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "bench/workload/scratch.h"
#include "bench/workload/workloads.h"

#define BYTES	((size_t)256 << 20)
#define CHUNK	((size_t)1 << 20)
#define SAMPLES	16 /* samples of a series; each reads BYTES / SAMPLES */
#define WARMUP	1
#define PIECE	(BYTES / SAMPLES)

struct file {
	int fd;
	unsigned char *buf; /* PIECE, aligned for O_DIRECT */
	uint64_t seed;
	size_t wrong;
};

static int write_file(const struct file *f, struct gt_err *err)
{
	for (size_t at = 0; at < BYTES; at += CHUNK) {
		bn_scratch_fill(f->buf, CHUNK, at / 4096, f->seed);
		if (bn_scratch_write(f->fd, f->buf, CHUNK, (off_t)at) < 0)
			return gt_fail_errno(err, errno, "cannot write %zu MiB to the scratch file", BYTES >> 20);
	}
	if (fsync(f->fd) < 0)
		return gt_fail_errno(err, errno, "cannot sync the scratch file");
	return 0;
}

/*
 * Reads all requests of a sample without a pause and checks the data afterwards. In a pause the kernel would read ahead
 * without being measured, and a busy host would give the CPU to another program.
 */
static int read_series(struct file *f, double *gbs, struct gt_err *err)
{
	for (size_t s = 0; s < SAMPLES; s++) {
		double t0 = gt_now_s();

		for (size_t done = 0; done < PIECE;) {
			size_t end = (done / CHUNK + 1) * CHUNK;
			ssize_t n = pread(f->fd, f->buf + done, end - done, (off_t)(s * PIECE + done));

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				return gt_fail_errno(err, n ? errno : EIO, "cannot read the scratch file");
			done += (size_t)n;
		}
		gbs[s] = (double)PIECE / (gt_now_s() - t0) / 1e9;
		f->wrong += bn_scratch_wrong(f->buf, PIECE, s * PIECE / 4096, f->seed);
	}
	return 0;
}

/* Returns the share of the file's pages in the page cache, or 1 if it cannot be determined. */
static double cached(int fd)
{
	gt_autofree unsigned char *vec = gt_xcalloc(BYTES / 4096, 1);
	void *p = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	size_t n = 0, pages = BYTES / (size_t)sysconf(_SC_PAGESIZE);

	if (p == MAP_FAILED || mincore(p, BYTES, vec) < 0)
		n = pages;
	else
		for (size_t i = 0; i < pages; i++)
			n += vec[i] & 1;
	if (p != MAP_FAILED)
		munmap(p, BYTES);
	return (double)n / (double)pages;
}

static bool drop(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return cached(fd) < .01;
}

static int measure(struct bn_launch *l, struct file *f, struct gt_err *err)
{
	int flags = fcntl(f->fd, F_GETFL), r;
	bool cold = drop(f->fd), direct = cold && fcntl(f->fd, F_SETFL, flags | O_DIRECT) == 0;
	double gbs[SAMPLES];

	json_object_set_new(l->notes, "cold", json_boolean(cold));
	json_object_set_new(l->notes, "direct", json_boolean(direct));
	if (direct) {
		r = read_series(f, gbs, err);
		fcntl(f->fd, F_SETFL, flags);
		if (r)
			return r;
		bn_series(l, &bn_workload_file_read, ".direct", BN_EXPLORE, gbs, SAMPLES, WARMUP, false);
	}
	if (cold) {
		posix_fadvise(f->fd, 0, 0, POSIX_FADV_NORMAL);
		drop(f->fd);
		r = read_series(f, gbs, err);
		if (r)
			return r;
		bn_series(l, &bn_workload_file_read, ".cold", BN_EXPLORE, gbs, SAMPLES, WARMUP, false);
	}
	r = read_series(f, gbs, err); /* fills the page cache */
	if (r)
		return r;
	r = read_series(f, gbs, err);
	if (r)
		return r;
	bn_series(l, &bn_workload_file_read, ".warm", BN_EXPLORE, gbs, SAMPLES, WARMUP, false);
	return 0;
}

static int file_read_run(struct bn_launch *l, struct gt_err *err)
{
	gt_autoclose int fd = bn_scratch_open(err);
	gt_autofree unsigned char *buf = NULL;
	struct file f = { .fd = fd, .seed = l->seed };
	int r;

	if (fd < 0)
		return fd;
	f.buf = buf = aligned_alloc(4096, PIECE);
	if (!buf)
		return gt_fail(err, ENOMEM, "no memory for the buffer");
	r = write_file(&f, err);
	if (r)
		return r;
	f.seed += l->fault;
	r = measure(l, &f, err);
	if (r)
		return r;
	bn_scratch_note(l, fd);
	if (f.wrong)
		snprintf(l->wrong, sizeof(l->wrong), "%zu blocks of 4 KiB differ from the written data", f.wrong);
	json_object_set_new(l->params, "bytes", json_integer((json_int_t)BYTES));
	json_object_set_new(l->params, "chunk_bytes", json_integer((json_int_t)CHUNK));
	return 0;
}

static const char *const knobs[] = { "block.read_ahead", "block.scheduler", "vm.min_free_kbytes", NULL };

const struct bn_workload bn_workload_file_read = {
	.id	   = "file.read",
	.summary   = "sequential file reads: from disk, from disk with O_DIRECT, and from the page cache",
	.unit	   = "GB/s",
	.direction = BN_HIGHER,
	.role	   = BN_EXPLORE,
	.version   = 2,
	.margin	   = .03,
	.verifies  = "every word read equals the word written",
	.overhead  = "two clock readings per piece of the file; the data is checked afterwards",
	.knobs	   = knobs,
	.launch_s  = 4,
	.optional  = true,
	.run	   = file_read_run,
};
