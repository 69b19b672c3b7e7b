/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bf16 products with oneDNN's matmul, which uses AVX512_BF16 or AMX. Hides the differences of its 2.x and 3.x
 * interfaces. A primitive is created once per shape and cached; the first step creates all of them.
 */
#include "config.h"
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cpu/reduced.h"

#if defined(HAVE_DNNL) && defined(__x86_64__)
#include <oneapi/dnnl/dnnl.h>

struct key {
	int64_t m, n, k, lda, ldb, ldc;
	int ta, tb, add, threads;
};
struct product {
	struct key key;
	dnnl_primitive_t primitive;
	dnnl_memory_t a, b, c;
};
/* One model has a few dozen shapes, times at most 32 lengths of documents. A full table is cleared. */
#define PRODUCTS	4096
static struct product products[PRODUCTS];
static int16_t head[PRODUCTS], next[PRODUCTS]; /* hash chains, indices from 1; 0: end */
static int n_products;
static int64_t created;
static dnnl_engine_t engine;
static dnnl_stream_t stream;
/* about 50 us of work on one core */
#define TEAM_FLOPS	9e6
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t memory_of(dnnl_memory_t *ret, dnnl_memory_desc_t *md, dnnl_data_type_t type, const dnnl_dims_t dims,
			       const dnnl_dims_t strides)
{
	dnnl_status_t s = dnnl_memory_desc_create_with_strides(md, 2, dims, type, strides);

	return s == dnnl_success ? dnnl_memory_create(ret, *md, engine, DNNL_MEMORY_NONE) : s;
}

static dnnl_status_t matmul_of(dnnl_primitive_desc_t *ret, dnnl_memory_desc_t a, dnnl_memory_desc_t b, dnnl_memory_desc_t c,
			       const_dnnl_primitive_attr_t attr)
{
	dnnl_status_t s = dnnl_matmul_primitive_desc_create(ret, engine, a, b, NULL, c, attr);

	dnnl_memory_desc_destroy(a);
	dnnl_memory_desc_destroy(b);
	dnnl_memory_desc_destroy(c);
	return s;
}

static dnnl_status_t add_sum(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_sum(ops, 1, 0, dnnl_data_type_undef);
}
#else
static dnnl_status_t memory_of(dnnl_memory_t *ret, dnnl_memory_desc_t *md, dnnl_data_type_t type, const dnnl_dims_t dims,
			       const dnnl_dims_t strides)
{
	dnnl_status_t s = dnnl_memory_desc_init_by_strides(md, 2, dims, type, strides);

	return s == dnnl_success ? dnnl_memory_create(ret, md, engine, DNNL_MEMORY_NONE) : s;
}

static dnnl_status_t matmul_of(dnnl_primitive_desc_t *ret, dnnl_memory_desc_t a, dnnl_memory_desc_t b, dnnl_memory_desc_t c,
			       const_dnnl_primitive_attr_t attr)
{
	dnnl_matmul_desc_t d;
	dnnl_status_t s = dnnl_matmul_desc_init(&d, &a, &b, NULL, &c);

	return s == dnnl_success ? dnnl_primitive_desc_create(ret, &d, attr, engine, NULL) : s;
}

static dnnl_status_t add_sum(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_sum(ops, 1);
}
#endif

static dnnl_status_t make(struct product *p)
{
	const struct key *q = &p->key;
	const dnnl_dims_t da = { q->m, q->k }, db = { q->k, q->n }, dc = { q->m, q->n };
	const dnnl_dims_t sa = { q->ta ? 1 : q->lda, q->ta ? q->lda : 1 }, sb = { q->tb ? 1 : q->ldb, q->tb ? q->ldb : 1 };
	const dnnl_dims_t sc = { q->ldc, 1 };
	dnnl_memory_desc_t a, b, c;
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	dnnl_post_ops_t ops = NULL;
	dnnl_status_t s;

	s = memory_of(&p->a, &a, dnnl_bf16, da, sa);
	s = s == dnnl_success ? memory_of(&p->b, &b, dnnl_bf16, db, sb) : s;
	s = s == dnnl_success ? memory_of(&p->c, &c, dnnl_f32, dc, sc) : s;
	s = s == dnnl_success ? dnnl_primitive_attr_create(&attr) : s;
	s = s == dnnl_success ? dnnl_post_ops_create(&ops) : s;
	if (s == dnnl_success && q->add)
		s = add_sum(ops);
	s = s == dnnl_success ? dnnl_primitive_attr_set_post_ops(attr, ops) : s;
	s = s == dnnl_success ? matmul_of(&pd, a, b, c, attr) : s;
	s = s == dnnl_success ? dnnl_primitive_create(&p->primitive, pd) : s;
	if (pd)
		dnnl_primitive_desc_destroy(pd);
	if (ops)
		dnnl_post_ops_destroy(ops);
	if (attr)
		dnnl_primitive_attr_destroy(attr);
	return s;
}

static void forget_all(void)
{
	for (int i = 0; i < n_products; i++) {
		struct product *p = &products[i];

		if (p->primitive)
			dnnl_primitive_destroy(p->primitive);
		dnnl_memory_destroy(p->a);
		dnnl_memory_destroy(p->b);
		dnnl_memory_destroy(p->c);
	}
	memset(products, 0, sizeof(products));
	memset(head, 0, sizeof(head));
	n_products = 0;
}

static struct product *find(const struct key *key)
{
	uint64_t place = gt_hash64(key, sizeof(*key), 0) % PRODUCTS;
	struct product *p;

	for (int i = head[place]; i; i = next[i - 1])
		if (!memcmp(&products[i - 1].key, key, sizeof(*key)))
			return products[i - 1].primitive ? &products[i - 1] : NULL;
	if (n_products == PRODUCTS)
		forget_all();
	p = &products[n_products];
	next[n_products] = head[place];
	head[place] = (int16_t)++n_products;
	p->key = *key;
	created++;
	if (make(p) != dnnl_success)
		p->primitive = NULL;
	return p->primitive ? p : NULL;
}

int64_t rt_bf16_primitives(void)
{
	return created;
}

/* Returns whether the library supports such products. Small and large products use the same code. */
static bool library_multiplies(void)
{
	const struct key small = { 64, 64, 64, 64, 64, 64, 0, 1, 0, 1 };

	return dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
	       dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success && find(&small);
}

static const char *gemm_isa;

/* Finds out what the library will use. The CPU's features are not enough: ONEDNN_MAX_CPU_ISA may limit the library, and
 * AMX's tiles need the kernel's permission. The library's ISA names are bit masks. */
static void detect(void)
{
	unsigned isa = dnnl_get_effective_cpu_isa(), bf16 = dnnl_cpu_isa_avx512_core_bf16, amx = dnnl_cpu_isa_avx512_core_amx;

	if ((isa & bf16) == bf16 && library_multiplies())
		gemm_isa = (isa & amx) == amx ? "amx" : "avx512_bf16";
}

const char *rt_bf16_gemm_isa(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, detect);
	return gemm_isa;
}

void rt_gemm_bf16(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
		  const void *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	bool alone = 2.0 * (double)m * (double)n * (double)k < TEAM_FLOPS;
	struct key key;
	struct product *p;

	memset(&key, 0, sizeof(key)); /* includes padding, because keys are compared as bytes */
	key.m = m;
	key.n = n;
	key.k = k;
	key.lda = lda;
	key.ldb = ldb;
	key.ldc = ldc;
	key.ta = ta;
	key.tb = tb;
	key.add = beta != 0;
	key.threads = alone ? 1 : cpu->threads;
	if (alone)
		omp_set_num_threads(1);
	pthread_mutex_lock(&lock);
	p = find(&key);
	if (!p) {
		fprintf(stderr, "oneDNN has no bf16 product of %lld x %lld x %lld\n", (long long)m, (long long)n, (long long)k);
		abort();
	}
	dnnl_memory_set_data_handle(p->a, (void *)(uintptr_t)a);
	dnnl_memory_set_data_handle(p->b, (void *)(uintptr_t)b);
	dnnl_memory_set_data_handle(p->c, c);
	dnnl_primitive_execute(p->primitive, stream, 3,
			       (dnnl_exec_arg_t[]){ { DNNL_ARG_SRC, p->a }, { DNNL_ARG_WEIGHTS, p->b }, { DNNL_ARG_DST, p->c } });
	dnnl_stream_wait(stream);
	pthread_mutex_unlock(&lock);
	if (alone)
		omp_set_num_threads(cpu->threads);
}
#else
const char *rt_bf16_gemm_isa(void)
{
	return NULL;
}

int64_t rt_bf16_primitives(void)
{
	return 0;
}

void rt_gemm_bf16(const struct rt_cpu *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
		  const void *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	abort(); /* not called, because rt_bf16_gemm_isa() returns NULL */
}
#endif
