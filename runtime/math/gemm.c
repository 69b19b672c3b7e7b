/* SPDX-License-Identifier: Apache-2.0 */
/* f32 matrix products. Only this file depends on the linked library. */
#include "config.h"
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include "runtime/math/gemm.h"
#include "runtime/runtime.h"

#ifdef HAVE_DNNL
#include <oneapi/dnnl/dnnl.h>

static void product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
		    const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

const char *rt_cpu_blas(void)
{
	static char name[64];
	const dnnl_version_t *v = dnnl_version();

	snprintf(name, sizeof(name), "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
	return name;
}
#else
#include <cblas.h>

static void product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
		    const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n,
		    (blasint)k, alpha, a, (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
}

const char *rt_cpu_blas(void)
{
	static char name[160];

	snprintf(name, sizeof(name), "%.150s", openblas_get_config());
	return name;
}
#endif

/* Minimum work for a team. Starting a team costs about 1 us if it spins and 50 us if it sleeps. One core does 4.5 Mflop
 * in 50 us. */
#define TEAM_FLOPS	4.5e6

/*
 * The runtime's own tiles are used for y = x w^T, where they are faster. The bias and activation are applied while a
 * tile is in cache, and no thread waits at a library's barriers. Measured on two cores of Zen 4 against oneDNN 2.6,
 * interleaved: forward pass of an MLP 196 against 148 Gflop/s, of GPT-2 124M 195 against 168. The other two products of
 * training read their operands from memory and use the library. With own tiles they are 8 to 15 % slower in GPT-2 and
 * equal in the MLP.
 */
static bool tiles_win(bool ta, bool tb)
{
	return !ta && tb;
}

void rt_gemm_then(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha,
		  const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc,
		  const struct rt_gemm_end *end)
{
	bool alone = 2.0 * (double)m * (double)n * (double)k < TEAM_FLOPS;

	if (tiles_win(ta, tb) && alpha == 1 && (beta == 0 || beta == 1) &&
	    rt_gemm_own(cpu, alone ? 1 : cpu->threads, m, n, k, a, lda, b, ldb, beta != 0, c, ldc, end))
		return;
	if (alone)
		omp_set_num_threads(1);
	product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
	if (alone)
		omp_set_num_threads(cpu->threads);
	if (end)
		rt_gemm_finish(cpu, end, m, n);
}

void rt_gemm_finish(const struct rt_cpu *cpu, const struct rt_gemm_end *end, int64_t m, int64_t n)
{
	int team = rt_cpu_team(cpu, 8.0 * (double)m * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(m, 1, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		if (hi > lo)
			end->run(end, lo, hi - lo, 0, n);
	}
}

void rt_gemm(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	     int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	rt_gemm_then(cpu, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, NULL);
}

void rt_gemm_one(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
		 int64_t ldb, float beta, float *c, int64_t ldc)
{
	product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
