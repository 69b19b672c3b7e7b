/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <time.h>
#include "runtime/cuda/meter_ranks.h"
#include "runtime/cuda/nccl.h"
#include "runtime/cuda/span.h"

struct rt_reduce_meter {
	struct rt_comm *comm;
	struct rt_cuda *dev;
	struct rt_nccl *nccl;
	struct rt_span span;
	cu_ptr x;
	float *host;
	size_t bytes;
	uint64_t free_bytes;
};

static int check(const struct rt_reduce_meter *m, cu_result code, const char *what, struct gt_err *err)
{
	return rt_cuda_check(m->dev, code, what, err);
}

/* Gathers a value of each rank and returns the largest one, or the smallest. */
static int extreme(struct rt_comm *c, double mine, bool smallest, double *ret, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	int r = rt_comm_gather(c, mine, of, err);

	*ret = r ? 0 : of[0];
	for (int i = 1; !r && i < rt_comm_size(c); i++)
		*ret = smallest ? fmin(*ret, of[i]) : fmax(*ret, of[i]);
	return r;
}

static int open_device(struct rt_reduce_meter *m, struct gt_err *err)
{
	const struct rt_driver *d;
	size_t available = 0, total = 0;
	double least = 0;
	int r = rt_cuda_open_rank(rt_comm_local_rank(m->comm), false, &m->dev, err);

	if (r)
		return r;
	d = &m->dev->d;
	r = check(m, d->mem_info(&available, &total), "cuMemGetInfo", err);
	if (!r)
		r = extreme(m->comm, (double)available, true, &least, err);
	m->free_bytes = (uint64_t)least;
	if (!r)
		r = rt_span_open(m->dev, &m->span, err);
	return r;
}

int rt_reduce_meter_open(struct rt_comm *c, size_t bytes, struct rt_reduce_meter **ret, struct gt_err *err)
{
	gt_auto(rt_reduce_meter) *m = gt_xcalloc(1, sizeof(*m));
	int r;

	m->comm = c;
	r = open_device(m, err);
	if (r)
		return r;
	m->bytes = GT_MIN(bytes, (size_t)(m->free_bytes / 16));
	m->host = malloc(GT_MAX(m->bytes, 1u));
	if (!m->host)
		return gt_fail(err, ENOMEM, "no memory for %zu bytes", m->bytes);
	r = rt_nccl_open(m->dev, c, &m->nccl, err);
	if (!r)
		r = check(m, m->dev->d.mem_alloc(&m->x, m->bytes), "cuMemAlloc", err);
	if (!r)
		*ret = gt_take(m);
	return r;
}

void rt_reduce_meter_close(struct rt_reduce_meter *m)
{
	if (!m)
		return;
	rt_nccl_close(m->nccl);
	if (m->dev) {
		const struct rt_driver *d = &m->dev->d;

		if (m->x)
			d->mem_free(m->x);
		rt_span_close(m->dev, &m->span);
	}
	rt_cuda_close(m->dev);
	free(m->host);
	free(m);
}

uint64_t rt_reduce_meter_free_bytes(const struct rt_reduce_meter *m)
{
	return m->free_bytes;
}

const char *rt_reduce_meter_card(const struct rt_reduce_meter *m)
{
	return rt_cuda_name(m->dev);
}

int rt_reduce_meter_nccl(const struct rt_reduce_meter *m)
{
	return rt_nccl_version(m->nccl);
}

static int wait_for(struct rt_reduce_meter *m, struct gt_err *err)
{
	double t0 = gt_now_s(), checked = t0;

	for (;;) {
		cu_result code = m->dev->d.event_query(m->span.to);

		if (code != CU_NOT_READY)
			return check(m, code, "cuEventQuery", err);
		if (gt_now_s() - checked > 1e-3) {
			int r = rt_nccl_watch(&m->nccl, 1, gt_now_s() - t0, err);

			if (r)
				return r;
			checked = gt_now_s();
		}
		if (!rt_comm_spins(m->comm))
			nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
	}
}

/* Times `repeat` consecutive means; all ranks start together. */
static int sample(struct rt_reduce_meter *m, size_t bytes, int repeat, double *ret_s, struct gt_err *err)
{
	const struct rt_driver *d = &m->dev->d;
	double unused;
	float ms = 0;
	int r = extreme(m->comm, 0, false, &unused, err);

	if (!r)
		r = check(m, d->event_record(m->span.from, m->span.stream), "cuEventRecord", err);
	for (int i = 0; !r && i < repeat; i++)
		r = rt_nccl_mean(m->nccl, m->x, m->x, (int64_t)(bytes / sizeof(float)), m->span.stream, err);
	if (!r)
		r = check(m, d->event_record(m->span.to, m->span.stream), "cuEventRecord", err);
	rt_comm_arrive(m->comm);
	if (!r)
		r = wait_for(m, err);
	if (!r)
		r = check(m, d->event_elapsed(&ms, m->span.from, m->span.to), "cuEventElapsedTime", err);
	return r ? r : extreme(m->comm, (double)ms * 1e-3 / repeat, false, ret_s, err);
}

/* Small whole numbers that differ by multiples of the number of ranks: their mean is a whole number and exact. */
static float element(int rank, int ranks, size_t i)
{
	return (float)((i * 2654435761u >> 8 & 63) * (size_t)ranks + (size_t)(2 * rank));
}

static int first_mean(struct rt_reduce_meter *m, size_t bytes, bool spoil, double *ret_wrong, struct gt_err *err)
{
	int rank = rt_comm_rank(m->comm), ranks = rt_comm_size(m->comm), r;
	size_t n = bytes / sizeof(float);
	double s, wrong = 0, of[RT_MAX_RANKS];

	for (size_t i = 0; i < n; i++)
		m->host[i] = element(rank, ranks, i);
	r = rt_cuda_put(m->dev, m->x, m->host, bytes, err);
	if (!r)
		r = sample(m, bytes, 1, &s, err);
	if (!r)
		r = check(m, m->dev->d.copy_from(m->host, m->x, bytes), "cuMemcpyDtoH", err);
	if (spoil && !rank)
		m->host[n / 2] += 1;
	for (size_t i = 0; !r && i < n; i++)
		wrong += !(fabsf(m->host[i] - (element(0, ranks, i) + (float)(ranks - 1))) < 0.01f);
	if (!r)
		r = rt_comm_gather(m->comm, wrong, of, err);
	*ret_wrong = 0;
	for (int i = 0; !r && i < ranks; i++)
		*ret_wrong += of[i];
	return r;
}

int rt_reduce_meter_run(struct rt_reduce_meter *m, size_t bytes, int repeat, bool spoil, int n, double *ret_s, double *ret_wrong,
			struct gt_err *err)
{
	int r;

	if (bytes > m->bytes || bytes < sizeof(float))
		return gt_fail(err, EINVAL, "%zu bytes: 4 to %zu fit", bytes, m->bytes);
	r = first_mean(m, bytes, spoil, ret_wrong, err);
	for (int i = 0; !r && i < n; i++)
		r = sample(m, bytes, repeat, &ret_s[i], err);
	return r;
}
