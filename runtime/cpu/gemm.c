/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that knows which library multiplies matrices. */
#include "config.h"
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include "runtime/cpu/cpu.h"

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

/* OpenBLAS built with its own threads spins on the cores that OpenMP's team wants: measured 1.7 to 2.7 times slower. */
const char *rt_cpu_blas_warning(void)
{
	int (*parallel)(void) = (int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "openblas_get_parallel");

	if (parallel && parallel() == 1)
		return "OpenBLAS with its own threads (pthread flavour) is loaded beside OpenMP; libopenblas0-openmp would share "
		       "one team";
	return NULL;
}

/* A team costs about a microsecond when it spins and 50 when it sleeps; 4.5 Mflop take one core 50 us. */
#define TEAM_FLOPS	4.5e6

void rt_gemm(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	     int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	bool alone = 2.0 * (double)m * (double)n * (double)k < TEAM_FLOPS;

	if (alone)
		omp_set_num_threads(1);
	product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
	if (alone)
		omp_set_num_threads(cpu->threads);
}

void rt_gemm_one(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
		 int64_t ldb, float beta, float *c, int64_t ldc)
{
	product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
