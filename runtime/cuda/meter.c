/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/math/simd.h"
#include "runtime/cuda/blas.h"
#include "runtime/cuda/meter.h"
#include "runtime/cuda/selfcheck.h"
#include "runtime/cuda/span.h"
#include "runtime/graph/ir.h"

struct rt_meter {
	struct rt_cuda *dev;
	struct rt_blas *blas;
	struct rt_span span;
	cu_ptr workspace;
	uint64_t free_bytes;
};

static int check(const struct rt_meter *m, cu_result code, const char *what, struct gt_err *err)
{
	return rt_cuda_check(m->dev, code, what, err);
}

int rt_meter_open(struct rt_meter **ret, struct gt_err *err)
{
	return rt_meter_open_device(0, ret, err);
}

int rt_meter_open_device(int index, struct rt_meter **ret, struct gt_err *err)
{
	gt_auto(rt_meter) *m = gt_xcalloc(1, sizeof(*m));
	const struct rt_driver *d;
	size_t available = 0, total;
	int r = rt_cuda_open_rank(index, 1, &m->dev, err);

	if (r)
		return r;
	d = &m->dev->d;
	r = check(m, d->mem_info(&available, &total), "cuMemGetInfo", err);
	m->free_bytes = available;
	if (!r)
		r = rt_span_open(m->dev, &m->span, err);
	if (!r)
		*ret = gt_take(m);
	return r;
}

void rt_meter_close(struct rt_meter *m)
{
	if (!m)
		return;
	if (m->dev) {
		const struct rt_driver *d = &m->dev->d;

		d->ctx_sync();
		rt_blas_close(m->blas);
		if (m->workspace)
			d->mem_free(m->workspace);
		rt_span_close(m->dev, &m->span);
	}
	rt_cuda_close(m->dev);
	free(m);
}

const char *rt_meter_card(const struct rt_meter *m)
{
	return rt_cuda_name(m->dev);
}

int rt_meter_devices(const struct rt_meter *m)
{
	return m->dev->visible;
}

uint64_t rt_meter_free_bytes(const struct rt_meter *m)
{
	return m->free_bytes;
}

int rt_meter_pin(struct rt_meter *m, void *host, size_t bytes, struct gt_err *err)
{
	return check(m, m->dev->d.host_register(host, bytes, 0), "cuMemHostRegister", err);
}

void rt_meter_unpin(struct rt_meter *m, void *host)
{
	m->dev->d.host_unregister(host);
}

static int begin(struct rt_meter *m, struct gt_err *err)
{
	return check(m, m->dev->d.event_record(m->span.from, m->span.stream), "cuEventRecord", err);
}

static int end(struct rt_meter *m, double *ret_s, struct gt_err *err)
{
	const struct rt_driver *d = &m->dev->d;
	float ms = 0;
	int r = check(m, d->event_record(m->span.to, m->span.stream), "cuEventRecord", err);

	if (!r)
		r = check(m, d->event_sync(m->span.to), "cuEventSynchronize", err);
	if (!r)
		r = check(m, d->event_elapsed(&ms, m->span.from, m->span.to), "cuEventElapsedTime", err);
	*ret_s = (double)ms * 1e-3;
	return r;
}

int rt_meter_null(struct rt_meter *m, double *ret_s, struct gt_err *err)
{
	enum { ROUNDS_OF_NOTHING = 32 };
	double sum = 0, s = 0;
	int r = 0;

	for (int i = -2; !r && i < ROUNDS_OF_NOTHING; i++) {
		r = begin(m, err);
		if (!r)
			r = end(m, &s, err);
		sum += i < 0 ? 0 : s;
	}
	*ret_s = sum / ROUNDS_OF_NOTHING;
	return r;
}

/* ---- copies ---- */
static void fill(uint64_t *p, size_t words, uint64_t seed)
{
	for (size_t i = 0; i < words; i++)
		p[i] = (i + seed) * 0x9e3779b97f4a7c15u;
}

static bool filled(const uint64_t *p, size_t words, uint64_t seed)
{
	uint64_t wrong = 0;

	for (size_t i = 0; i < words; i++)
		wrong |= p[i] ^ (i + seed) * 0x9e3779b97f4a7c15u;
	return !wrong;
}

/* A copy of pageable memory involves the host, so the host's clock is used. */
static int copy_once(struct rt_meter *m, enum rt_meter_copy kind, cu_ptr card, cu_ptr other, void *host, size_t bytes,
		     bool pinned, double *ret_s, struct gt_err *err)
{
	const struct rt_driver *d = &m->dev->d;
	double t0 = gt_now_s();
	int r;

	if (kind != RT_COPY_WITHIN && !pinned) {
		r = kind == RT_COPY_TO ? check(m, d->copy_to(card, host, bytes), "cuMemcpyHtoD", err) :
					 check(m, d->copy_from(host, card, bytes), "cuMemcpyDtoH", err);
		if (!r)
			r = check(m, d->ctx_sync(), "cuCtxSynchronize", err);
		*ret_s = gt_now_s() - t0;
		return r;
	}
	r = begin(m, err);
	if (!r && kind == RT_COPY_TO)
		r = check(m, d->copy_to_async(card, host, bytes, m->span.stream), "cuMemcpyHtoDAsync", err);
	else if (!r && kind == RT_COPY_FROM)
		r = check(m, d->copy_from_async(host, card, bytes, m->span.stream), "cuMemcpyDtoHAsync", err);
	else if (!r)
		r = check(m, d->copy_async(card, other, bytes, m->span.stream), "cuMemcpyDtoDAsync", err);
	return r ? r : end(m, ret_s, err);
}

int rt_meter_copy(struct rt_meter *m, enum rt_meter_copy kind, void *host, size_t bytes, bool pinned, bool spoil, int n,
		  double *ret_s, struct gt_err *err)
{
	static const char *const names[] = { "a copy to the GPU", "a copy from the GPU", "a copy within the GPU" };
	const struct rt_driver *d = &m->dev->d;
	cu_ptr card = 0, other = 0;
	int r = check(m, d->mem_alloc(&card, bytes), "cuMemAlloc", err);

	if (!r && kind == RT_COPY_WITHIN)
		r = check(m, d->mem_alloc(&other, bytes), "cuMemAlloc", err);
	fill(host, bytes / 8, bytes);
	if (!r && kind != RT_COPY_TO)
		r = rt_cuda_put(m->dev, kind == RT_COPY_WITHIN ? other : card, host, bytes, err);
	if (!r && kind != RT_COPY_TO)
		memset(host, 0xff, bytes);
	for (int i = 0; !r && i < n; i++)
		r = copy_once(m, kind, card, other, host, bytes, pinned, &ret_s[i], err);
	if (!r && kind != RT_COPY_FROM) {
		memset(host, 0xff, bytes);
		r = check(m, d->copy_from(host, card, bytes), "cuMemcpyDtoH", err);
	}
	if (!r && spoil)
		((uint64_t *)host)[bytes / 16]++;
	if (!r && !filled(host, bytes / 8, bytes))
		r = gt_fail(err, EIO, "%s of %zu bytes returned wrong data", names[kind], bytes);
	if (card)
		d->mem_free(card);
	if (other)
		d->mem_free(other);
	return r;
}

/* ---- launches ---- */
static int launch_some(struct rt_meter *m, cu_ptr x, cu_ptr y, int count, bool alone, struct gt_err *err)
{
	const struct rt_driver *d = &m->dev->d;
	unsigned n = 1;
	float a = 1;
	void *args[] = { &n, &a, &x, &y };
	int r = 0;

	for (int i = 0; !r && i < count; i++) {
		r = check(m, d->launch(m->dev->fn[RT_K_saxpy], 1, 1, 1, 32, 1, 1, 0, m->span.stream, args, NULL), "cuLaunchKernel",
			  err);
		if (!r && alone)
			r = check(m, d->stream_sync(m->span.stream), "cuStreamSynchronize", err);
	}
	return r;
}

static int captured_launches(struct rt_meter *m, cu_ptr x, cu_ptr y, int count, void **ret, struct gt_err *err)
{
	const struct rt_driver *d = &m->dev->d;
	void *graph = NULL;
	int r = check(m, d->capture_begin(m->span.stream, CU_CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture", err), ended;

	if (r)
		return r;
	r = launch_some(m, x, y, count, false, err);
	ended = d->capture_end(m->span.stream, &graph);
	if (!r)
		r = check(m, ended, "cuStreamEndCapture", err);
	if (!r)
		r = check(m, d->graph_instantiate(ret, graph, 0), "cuGraphInstantiate", err);
	if (graph)
		d->graph_destroy(graph);
	return r;
}

/* y += 1 at each launch */
int rt_meter_launch(struct rt_meter *m, enum rt_meter_launch kind, int count, bool spoil, double *ret_s, struct gt_err *err)
{
	const struct rt_driver *d = &m->dev->d;
	const float start[2] = { 1, 0 };
	float y = 0;
	void *graph = NULL;
	cu_ptr at = 0;
	double t0;
	int r = check(m, d->mem_alloc(&at, 512), "cuMemAlloc", err);

	if (!r && kind == RT_LAUNCH_GRAPH)
		r = captured_launches(m, at, at + 4, count, &graph, err);
	if (!r)
		r = rt_cuda_put(m->dev, at, start, sizeof(start), err);
	t0 = gt_now_s();
	if (!r && graph)
		r = check(m, d->graph_launch(graph, m->span.stream), "cuGraphLaunch", err);
	else if (!r)
		r = launch_some(m, at, at + 4, count, kind == RT_LAUNCH_ALONE, err);
	if (!r)
		r = check(m, d->stream_sync(m->span.stream), "cuStreamSynchronize", err);
	*ret_s = (gt_now_s() - t0) / count;
	if (!r)
		r = check(m, d->copy_from(&y, at + 4, sizeof(y)), "cuMemcpyDtoH", err);
	y -= spoil;
	if (!r && (int)y != count)
		r = gt_fail(err, EIO, "of %d launches %g ran", count, (double)y);
	if (graph)
		d->graph_exec_destroy(graph);
	if (at)
		d->mem_free(at);
	return r;
}

/* ---- products ---- */
#define CHECKED 24 /* checked elements of the result */

int64_t rt_meter_side(const struct rt_meter *m)
{
	return GT_MIN(8192, 64 * (int64_t)m->dev->sms / 128 * 128 + 128);
}

static float value_of(enum rt_dtype type, const void *row, int64_t i)
{
	uint32_t bits;
	float f;

	if (type == RT_F16) {
		rt_simd_best()->from_f16(&f, (const uint16_t *)row + i, 1);
		return f;
	}
	if (type == RT_F32)
		return ((const float *)row)[i];
	if (type == RT_E4M3)
		return (float)rt_fp8_value(((const uint8_t *)row)[i], false);
	bits = (uint32_t)((const uint16_t *)row)[i] << 16;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

static enum rt_dtype result_type(enum rt_dtype type)
{
	return type == RT_E4M3 ? RT_BF16 : type;
}

/* Checks some elements of c = a b^T against sums in double of their rows. */
static int check_product(struct rt_meter *m, enum rt_dtype type, bool tf32, int64_t side, const struct rt_gemm_args *x,
			 bool spoil, struct gt_err *err)
{
	enum rt_dtype result = result_type(type);
	size_t row = (size_t)side * rt_dtype_bytes(type);
	gt_autofree char *a = gt_xcalloc(2, row);
	char *b = a + row;
	double limit = result == RT_BF16 ? 2e-2 : result == RT_F16 ? 5e-3 : tf32 ? 5e-3 : 1e-4;
	int r = 0;

	for (int k = 0; !r && k < CHECKED; k++) {
		int64_t i = (int64_t)(rt_random_u64(3, 0, (uint64_t)k) % (uint64_t)side);
		int64_t j = (int64_t)(rt_random_u64(3, 1, (uint64_t)k) % (uint64_t)side);
		uint32_t raw = 0;
		double sum = 0, squares = 0, got;

		r = check(m, m->dev->d.copy_from(a, x->a + (cu_ptr)i * row, row), "cuMemcpyDtoH", err);
		if (!r)
			r = check(m, m->dev->d.copy_from(b, x->b + (cu_ptr)j * row, row), "cuMemcpyDtoH", err);
		if (!r)
			r = check(m, m->dev->d.copy_from(&raw, x->c + (cu_ptr)(i * side + j) * rt_dtype_bytes(result),
							 rt_dtype_bytes(result)), "cuMemcpyDtoH", err);
		for (int64_t t = 0; t < side; t++) {
			double p = (double)value_of(type, a, t) * (double)value_of(type, b, t);

			sum += p;
			squares += p * p;
		}
		got = (double)value_of(result, &raw, 0) + (spoil ? 1e3 * sqrt(squares) : 0);
		if (!r && !(fabs(got - sum) <= limit * (fabs(sum) + sqrt(squares))))
			r = gt_fail(err, EIO, "element (%lld,%lld) of a product is %g, not %g", (long long)i, (long long)j, got,
				    sum);
	}
	return r;
}

/* Fills with normally distributed numbers in a repeated pattern: products of zeros would be faster. */
static int fill_normally(struct rt_meter *m, cu_ptr at, size_t bytes, enum rt_dtype type, uint64_t seed, struct gt_err *err)
{
	enum { VALUES = 1 << 18 };
	gt_autofree float *f = gt_xcalloc(VALUES, sizeof(*f));
	gt_autofree uint16_t *low = gt_xcalloc(VALUES, sizeof(*low));
	gt_autofree uint8_t *eight = gt_xcalloc(VALUES, sizeof(*eight));
	const void *from = type == RT_F32 ? (void *)f : type == RT_E4M3 ? (void *)eight : (void *)low;
	size_t size = VALUES * rt_dtype_bytes(type);
	int r = 0;

	for (uint64_t i = 0; i < VALUES; i++) {
		uint32_t bits;

		f[i] = rt_random_normal(seed, 0, i);
		memcpy(&bits, &f[i], sizeof(bits));
		low[i] = (uint16_t)(bits >> 16);
		eight[i] = rt_fp8_nearest(f[i], false);
	}
	if (type == RT_F16)
		rt_simd_best()->to_f16(low, f, VALUES);
	for (size_t done = 0, n; !r && done < bytes; done += n) {
		n = GT_MIN(size, bytes - done);
		r = rt_cuda_put(m->dev, at + done, from, n, err);
	}
	return r;
}

static int open_blas(struct rt_meter *m, struct gt_err *err)
{
	int r = 0;

	if (m->blas)
		return 0;
	r = rt_blas_open(m->dev, &m->blas, err);
	if (!r)
		r = check(m, m->dev->d.mem_alloc(&m->workspace, RT_BLAS_WORKSPACE), "cuMemAlloc", err);
	if (!r)
		rt_blas_set_workspace(m->blas, m->workspace);
	return r;
}

bool rt_meter_has_fp8(const struct rt_meter *m)
{
	return m->dev->arch >= 89;
}

int rt_meter_product(struct rt_meter *m, enum rt_dtype type, bool tf32, int64_t side, bool spoil, int n,
		     double *ret_flops_per_s, struct gt_err *err)
{
	const struct rt_gemm g = { .tb = true, .m = side, .n = side, .k = side, .lda = side, .ldb = side, .ldc = side,
				   .ab = type, .c = result_type(type), .tf32 = tf32, .fast = type == RT_E4M3 };
	size_t bytes = (size_t)(side * side) * rt_dtype_bytes(type), result = (size_t)(side * side) * rt_dtype_bytes(g.c);
	struct rt_gemm_args x = { 0 };
	cu_ptr base = 0;
	int r = open_blas(m, err);

	if (!r)
		r = check(m, m->dev->d.mem_alloc(&base, 2 * bytes + result), "cuMemAlloc", err);
	x.a = base;
	x.b = base + bytes;
	x.c = base + 2 * bytes;
	if (!r)
		r = fill_normally(m, x.a, bytes, type, 1, err);
	if (!r)
		r = fill_normally(m, x.b, bytes, type, 2, err);
	if (!r)
		r = rt_blas_gemm(m->blas, &g, &x, m->span.stream, true, err); /* chooses the algorithm by timing */
	for (int i = 0; !r && i < n; i++) {
		double s = 0;

		r = begin(m, err);
		if (!r)
			r = rt_blas_gemm(m->blas, &g, &x, m->span.stream, true, err);
		if (!r)
			r = end(m, &s, err);
		ret_flops_per_s[i] = 2.0 * (double)side * (double)side * (double)side / s;
	}
	if (!r)
		r = check_product(m, type, tf32, side, &x, spoil, err);
	if (base)
		m->dev->d.mem_free(base);
	return r;
}

/* ---- peaks ---- */
#define ROUNDS 12

static double best(const double *x, int n)
{
	double most = 0;

	for (int i = 0; i < n; i++)
		most = fmax(most, x[i]);
	return most;
}

int rt_meter_peaks(bool tf32, bool f16, struct rt_peaks *ret, struct gt_err *err)
{
	size_t bytes;
	gt_auto(rt_meter) *m = NULL;
	gt_autofree char *host = NULL;
	struct rt_peaks peaks = { 0 };
	double x[ROUNDS], s[ROUNDS];
	int r = rt_meter_open(&m, err);

	if (r)
		return r;
	bytes = (size_t)GT_MIN(m->free_bytes / 16, UINT64_C(1) << 28) / 4096 * 4096;
	host = gt_xcalloc(1, bytes);
	r = rt_meter_product(m, RT_F32, tf32, rt_meter_side(m), false, ROUNDS, x, err);
	peaks.flops_per_s = best(x, ROUNDS);
	if (!r)
		r = rt_meter_product(m, RT_BF16, false, rt_meter_side(m), false, ROUNDS, x, err);
	peaks.bf16_flops_per_s = best(x, ROUNDS);
	if (!r && f16) {
		r = rt_meter_product(m, RT_F16, false, rt_meter_side(m), false, ROUNDS, x, err);
		peaks.f16_flops_per_s = best(x, ROUNDS);
	}
	if (!r && rt_meter_has_fp8(m)) {
		r = rt_meter_product(m, RT_E4M3, false, rt_meter_side(m), false, ROUNDS, x, err);
		peaks.fp8_flops_per_s = best(x, ROUNDS);
	}
	if (!r)
		r = rt_meter_copy(m, RT_COPY_WITHIN, host, bytes, false, false, ROUNDS, s, err);
	for (int i = 0; i < ROUNDS; i++)
		x[i] = 2 * (double)bytes / s[i];
	peaks.bytes_per_s = best(x, ROUNDS);
	if (!r)
		*ret = peaks;
	return r;
}
