/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "runtime/cuda/blas.h"
#include "runtime/cuda/blas_lt.h"
#include "runtime/cuda/tuned.h"
#include "runtime/cuda/vendor.h"

static const struct gt_dlsym lt_syms[] = {
	GT_DLSYM(lt, create, cublasLtCreate),
	GT_DLSYM(lt, destroy, cublasLtDestroy),
	GT_DLSYM(lt, version, cublasLtGetVersion),
	GT_DLSYM(lt, cudart_version, cublasLtGetCudartVersion),
	GT_DLSYM(lt, desc_create, cublasLtMatmulDescCreate),
	GT_DLSYM(lt, desc_destroy, cublasLtMatmulDescDestroy),
	GT_DLSYM(lt, desc_set, cublasLtMatmulDescSetAttribute),
	GT_DLSYM(lt, layout_create, cublasLtMatrixLayoutCreate),
	GT_DLSYM(lt, layout_destroy, cublasLtMatrixLayoutDestroy),
	GT_DLSYM(lt, layout_set, cublasLtMatrixLayoutSetAttribute),
	GT_DLSYM(lt, pref_create, cublasLtMatmulPreferenceCreate),
	GT_DLSYM(lt, pref_destroy, cublasLtMatmulPreferenceDestroy),
	GT_DLSYM(lt, pref_set, cublasLtMatmulPreferenceSetAttribute),
	GT_DLSYM(lt, heuristic, cublasLtMatmulAlgoGetHeuristic),
	GT_DLSYM(lt, matmul, cublasLtMatmul),
	GT_DLSYM_OPT(lt, status_name, cublasLtGetStatusName),
};

#define GUESSES	 8
#define NOT_WORTH_IT SIZE_MAX /* stored instead of a workspace: the epilogue is slower than a separate kernel */
#define ROUNDS	 3 /* timed runs of each algorithm, after one warm-up run */

struct plan {
	struct rt_gemm key;
	uint32_t align; /* common alignment of all addresses, at most 256 */
	void *desc, *a, *b, *c;
	struct heuristic how;
	bool none; /* the library does not support it */
};
struct rt_blas {
	struct rt_cuda *dev;
	struct lt lt;
	void *lib, *handle;
	cu_ptr workspace;
	struct plan *plans;
	int n_plans, cap_plans;
	int timed, cached, guessed;
	bool newly_timed; /* the last product was timed now */
	struct rt_tuned *tuned;
};

static int check(const struct rt_blas *b, int status, const char *what, struct gt_err *err)
{
	const char *name = b->lt.status_name ? b->lt.status_name(status) : NULL;

	if (status == LT_OK)
		return 0;
	return gt_fail(err, ENODEV, "%s of cuBLASLt %zu failed with status %d (%s)", what, b->lt.version(), status,
		       name ? name : "no name");
}

static int suits(void *arg, struct gt_err *err)
{
	const struct rt_blas *b = arg;
	int made_for = (int)b->lt.cudart_version() / 1000, have = b->dev->version;

	if (made_for <= have / 1000)
		return 0;
	return gt_fail(err, ENOSYS,
		       "cuBLASLt %zu is built for CUDA %d and this driver supports CUDA %d.%d: install a newer driver or the "
		       "library of CUDA %d",
		       b->lt.version(), made_for, have / 1000, have % 1000 / 10, have / 1000);
}

int rt_blas_open(struct rt_cuda *dev, struct rt_blas **ret, struct gt_err *err)
{
	/* checks the version of the driver first */
	static const char *const names[] = { "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL };
	struct rt_blas *b = gt_xcalloc(1, sizeof(*b));
	const struct rt_vendor library = { .names = names + (dev->version < 13000), .syms = lt_syms, .suits = suits, .arg = b,
					   .n_syms = GT_ARRAY_SIZE(lt_syms), .table = &b->lt };
	int r;

	b->dev = dev;
	r = rt_vendor_open(&library, &b->lib, err);
	if (r == -ENOENT)
		gt_fail_prefix(err, "no cuBLASLt");
	if (!r)
		r = check(b, b->lt.create(&b->handle), "cublasLtCreate", err);
	if (r) {
		rt_blas_close(b);
		return r;
	}
	b->tuned = rt_tuned_open("cublaslt", dev->name, dev->arch, b->lt.version());
	*ret = b;
	return 0;
}

void rt_blas_set_workspace(struct rt_blas *b, cu_ptr workspace)
{
	b->workspace = workspace;
}

void rt_blas_close(struct rt_blas *b)
{
	if (!b)
		return;
	for (int i = 0; i < b->n_plans; i++) {
		struct plan *p = &b->plans[i];

		if (p->desc)
			b->lt.desc_destroy(p->desc);
		if (p->a)
			b->lt.layout_destroy(p->a);
		if (p->b)
			b->lt.layout_destroy(p->b);
		if (p->c)
			b->lt.layout_destroy(p->c);
	}
	if (b->handle)
		b->lt.destroy(b->handle);
	rt_tuned_close(b->tuned);
	free(b->plans);
	if (b->lib)
		dlclose(b->lib);
	free(b);
}

size_t rt_blas_version(const struct rt_blas *b)
{
	return b->lt.version();
}

static int lt_type(enum rt_dtype t)
{
	switch (t) {
	case RT_BF16:
		return R_16BF;
	case RT_F16:
		return R_16F;
	case RT_E4M3:
		return R_8F_E4M3;
	case RT_E5M2:
		return R_8F_E5M2;
	default:
		return R_32F;
	}
}

static int32_t lt_epilogue(const struct rt_gemm *g)
{
	switch (g->epilogue) {
	case RT_EPI_BIAS:
		return EPI_BIAS;
	case RT_EPI_GELU:
		return EPI_GELU | (g->bias ? EPI_BIAS : 0) | (g->aux ? EPI_AUX : 0);
	case RT_EPI_RELU:
		return EPI_RELU | (g->bias ? EPI_BIAS : 0);
	case RT_EPI_DGELU:
		return EPI_DGELU;
	case RT_EPI_BGRAD:
		return EPI_BGRADB;
	case RT_EPI_NONE:
		break;
	}
	return EPI_DEFAULT;
}

/* Returns the elements of one operand, for the batch stride. */
static int64_t stride_of(const struct rt_gemm *g, int operand)
{
	return operand == 0 ? g->m * g->k : operand == 1 ? g->k * g->n : g->m * g->n;
}

static int describe_batch(struct rt_blas *b, struct plan *p, struct gt_err *err)
{
	void *const layout[] = { p->b, p->a, p->c };
	int32_t count = (int32_t)p->key.batch;
	int r = 0;

	for (int i = 0; !r && i < 3; i++) {
		int64_t stride = stride_of(&p->key, i);

		r = check(b, b->lt.layout_set(layout[i], LAYOUT_BATCH_COUNT, &count, sizeof(count)), "BATCH_COUNT", err);
		if (!r)
			r = check(b, b->lt.layout_set(layout[i], LAYOUT_BATCH_STRIDE, &stride, sizeof(stride)),
				  "STRIDED_BATCH_OFFSET", err);
	}
	return r;
}

/* The library is column-major and computes c^T = op(b)^T op(a)^T. So b is the first operand, and the rows are n. */
static int describe(struct rt_blas *b, struct plan *p, struct gt_err *err)
{
	const struct rt_gemm *g = &p->key;
	int32_t first = g->tb ? OP_T : OP_N, second = g->ta ? OP_T : OP_N, epilogue = lt_epilogue(g);
	int64_t n = g->n, m = g->m, k = g->k;
	int8_t fast = 1;
	int compute = g->ab == RT_F32 && g->tf32 ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F;
	int r = check(b, b->lt.desc_create(&p->desc, compute, R_32F), "cublasLtMatmulDescCreate", err);

	if (!r)
		r = check(b, b->lt.desc_set(p->desc, DESC_TRANSA, &first, sizeof(first)), "TRANSA", err);
	if (!r)
		r = check(b, b->lt.desc_set(p->desc, DESC_TRANSB, &second, sizeof(second)), "TRANSB", err);
	if (!r)
		r = check(b, b->lt.desc_set(p->desc, DESC_EPILOGUE, &epilogue, sizeof(epilogue)), "EPILOGUE", err);
	if (!r && g->fast)
		r = check(b, b->lt.desc_set(p->desc, DESC_FAST_ACCUM, &fast, sizeof(fast)), "FAST_ACCUM", err);
	if (!r && g->aux)
		r = check(b, b->lt.desc_set(p->desc, DESC_AUX_LD, &g->ldc, sizeof(g->ldc)), "EPILOGUE_AUX_LD", err);
	if (!r)
		r = check(b,
			  b->lt.layout_create(&p->a, lt_type(g->b ? g->b : g->ab), (uint64_t)(g->tb ? k : n),
					      (uint64_t)(g->tb ? n : k), g->ldb),
			  "cublasLtMatrixLayoutCreate", err);
	if (!r)
		r = check(b,
			  b->lt.layout_create(&p->b, lt_type(g->ab), (uint64_t)(g->ta ? m : k), (uint64_t)(g->ta ? k : m), g->lda),
			  "cublasLtMatrixLayoutCreate", err);
	if (!r)
		r = check(b, b->lt.layout_create(&p->c, lt_type(g->c), (uint64_t)n, (uint64_t)m, g->ldc),
			  "cublasLtMatrixLayoutCreate", err);
	if (!r && g->batch > 1)
		r = describe_batch(b, p, err);
	return r;
}

static int point(struct rt_blas *b, struct plan *p, const struct rt_gemm_args *x, struct gt_err *err)
{
	int r = 0;

	if (x->a_scale)
		r = check(b, b->lt.desc_set(p->desc, DESC_B_SCALE_POINTER, &x->a_scale, sizeof(x->a_scale)), "B_SCALE_POINTER",
			  err);
	if (!r && x->b_scale)
		r = check(b, b->lt.desc_set(p->desc, DESC_A_SCALE_POINTER, &x->b_scale, sizeof(x->b_scale)), "A_SCALE_POINTER",
			  err);
	if (!r && (p->key.bias || p->key.epilogue == RT_EPI_BGRAD))
		r = check(b, b->lt.desc_set(p->desc, DESC_BIAS_POINTER, &x->bias, sizeof(x->bias)), "BIAS_POINTER", err);
	if (!r && p->key.aux)
		r = check(b, b->lt.desc_set(p->desc, DESC_AUX_POINTER, &x->aux, sizeof(x->aux)), "EPILOGUE_AUX_POINTER", err);
	return r;
}

static int run(struct rt_blas *b, struct plan *p, const struct heuristic *how, const struct rt_gemm_args *x, cu_stream stream)
{
	float one = 1, beta = (float)p->key.beta;

	return b->lt.matmul(b->handle, p->desc, &one, (void *)(uintptr_t)x->b, p->a, (void *)(uintptr_t)x->a, p->b, &beta,
			    (void *)(uintptr_t)x->c, p->c, (void *)(uintptr_t)x->c, p->c, how->algo,
			    (void *)(uintptr_t)b->workspace, how->workspace, stream);
}

/* ret_ms: time of one run; negative if the library rejects that algorithm. A driver error is a device failure. */
static int time_one(struct rt_blas *b, struct plan *p, const struct heuristic *how, const struct rt_gemm_args *x,
		    cu_stream stream, cu_event from, cu_event to, float *ret_ms, struct gt_err *err)
{
	const struct rt_driver *d = &b->dev->d;
	int status = run(b, p, how, x, stream), r;
	float ms = -1;

	*ret_ms = -1;
	if (status != LT_OK)
		return 0;
	r = rt_cuda_check(b->dev, d->event_record(from, stream), "cuEventRecord", err);
	for (int i = 0; !r && i < ROUNDS && status == LT_OK; i++)
		status = run(b, p, how, x, stream);
	if (!r)
		r = rt_cuda_check(b->dev, d->event_record(to, stream), "cuEventRecord", err);
	if (!r)
		r = rt_cuda_check(b->dev, d->event_sync(to), "cuEventSynchronize", err);
	if (!r)
		r = rt_cuda_check(b->dev, d->event_elapsed(&ms, from, to), "cuEventElapsedTime", err);
	if (!r && status == LT_OK)
		*ret_ms = ms / ROUNDS;
	return r;
}

static int fastest(struct rt_blas *b, struct plan *p, const struct heuristic *list, int n, const struct rt_gemm_args *x,
		   cu_stream stream, struct gt_err *err)
{
	const struct rt_driver *d = &b->dev->d;
	cu_event from = NULL, to = NULL;
	float best = -1;
	int r = rt_cuda_check(b->dev, d->event_create(&from, CU_EVENT_DEFAULT), "cuEventCreate", err);

	if (!r)
		r = rt_cuda_check(b->dev, d->event_create(&to, CU_EVENT_DEFAULT), "cuEventCreate", err);
	for (int i = 0; !r && i < n; i++) {
		float ms = -1;

		r = time_one(b, p, &list[i], x, stream, from, to, &ms, err);
		if (ms >= 0 && (best < 0 || ms < best)) {
			best = ms;
			p->how = list[i];
		}
	}
	if (from)
		d->event_destroy(from);
	if (to)
		d->event_destroy(to);
	p->none = best < 0;
	return r;
}

static void name_key(const struct rt_gemm *g, uint32_t align, char *buf, size_t size)
{
	char batch[32] = "";

	if (g->batch > 1)
		snprintf(batch, sizeof(batch), " batch %lld", (long long)g->batch);
	snprintf(buf, size, "%c%c %lldx%lldx%lld ld %lld,%lld,%lld align %u %s%s%s>%s%s%s beta %d epi %d%s%s%s", g->ta ? 't' : 'n',
		 g->tb ? 't' : 'n', (long long)g->m, (long long)g->n, (long long)g->k, (long long)g->lda, (long long)g->ldb,
		 (long long)g->ldc, align, rt_dtype_name(g->ab), g->b ? "x" : "",
		 g->b ? rt_dtype_name(g->b) : "",
		 rt_dtype_name(g->c), g->tf32 ? " tf32" : "", g->fast ? " fast" : "", g->beta,
		 (int)g->epilogue, g->bias ? " bias" : "", g->aux ? " aux" : "", batch);
}

/*
 * Gets the library's suggestions, best first, without those that it rejects itself. Two status codes mean "none"; one of
 * them is returned if the epilogue conflicts with types or layouts. Sets p->none if there is no suggestion.
 */
static int ask(struct rt_blas *b, struct plan *p, void *pref, struct heuristic *list, int *ret_n, struct gt_err *err)
{
	int found = 0, n = 0;
	int status = b->lt.heuristic(b->handle, p->desc, p->a, p->b, p->c, p->c, pref, GUESSES, list, &found);

	if (status == LT_INVALID_VALUE && p->key.epilogue != RT_EPI_NONE)
		status = LT_NOT_SUPPORTED;
	for (int i = 0; status == LT_OK && i < found; i++)
		if (list[i].state == LT_OK)
			list[n++] = list[i];
	*ret_n = n;
	p->none = status == LT_NOT_SUPPORTED || (status == LT_OK && !n);
	return p->none ? 0 : check(b, status, "cublasLtMatmulAlgoGetHeuristic", err);
}

/*
 * Uses the choice stored on disk if the library accepts it for this shape. Otherwise chooses by timing, or takes the
 * library's first suggestion.
 */
static int choose(struct rt_blas *b, struct plan *p, const struct rt_gemm_args *x, cu_stream stream, bool tune,
		  struct gt_err *err)
{
	struct heuristic list[GUESSES] = { 0 };
	size_t limit = RT_BLAS_WORKSPACE;
	void *pref = NULL;
	char key[224];
	bool known;
	int n = 0, r = check(b, b->lt.pref_create(&pref), "cublasLtMatmulPreferenceCreate", err);

	name_key(&p->key, p->align, key, sizeof(key));
	if (!r)
		r = check(b, b->lt.pref_set(pref, PREF_WORKSPACE, &limit, sizeof(limit)), "MAX_WORKSPACE_BYTES", err);
	for (int i = 0; !r && i < 4; i++)
		r = check(b, b->lt.pref_set(pref, PREF_ALIGN_A + i, &p->align, sizeof(p->align)), "MIN_ALIGNMENT_BYTES", err);
	known = !r && tune && rt_tuned_get(b->tuned, key, p->how.algo, &p->how.workspace);
	p->none = known && p->how.workspace == NOT_WORTH_IT;
	if (p->none || (known && p->how.workspace <= RT_BLAS_WORKSPACE && run(b, p, &p->how, x, stream) == LT_OK)) {
		b->cached++;
		b->lt.pref_destroy(pref);
		return 0;
	}
	if (!r)
		r = ask(b, p, pref, list, &n, err);
	if (pref)
		b->lt.pref_destroy(pref);
	if (r || p->none)
		return r;
	p->how = list[0];
	if (!tune) {
		b->guessed++;
		return 0;
	}
	r = fastest(b, p, list, n, x, stream, err);
	if (!r && !p->none) {
		b->timed++;
		rt_tuned_put(b->tuned, key, p->how.algo, p->how.workspace);
	}
	return r;
}

static bool same_key(const struct rt_gemm *x, const struct rt_gemm *y)
{
	return x->ta == y->ta && x->tb == y->tb && x->m == y->m && x->n == y->n && x->k == y->k && x->lda == y->lda &&
	       x->ldb == y->ldb && x->ldc == y->ldc && x->batch == y->batch && x->ab == y->ab && x->b == y->b && x->c == y->c &&
	       x->fast == y->fast && x->tf32 == y->tf32 &&
	       x->beta == y->beta && x->epilogue == y->epilogue && x->bias == y->bias && x->aux == y->aux;
}

/* Returns the common alignment of all operands, including the later ones of a batch. */
static uint32_t alignment(const struct rt_gemm *g, const struct rt_gemm_args *x)
{
	uint64_t bits = x->a | x->b | x->c | x->bias | x->aux | 256;

	for (int i = 0; g->batch > 1 && i < 3; i++)
		bits |= (uint64_t)stride_of(g, i) * rt_dtype_bytes(i == 2 ? g->c : g->ab);
	return (uint32_t)(bits & -bits);
}

static struct plan *find(struct rt_blas *b, const struct rt_gemm *g, uint32_t align)
{
	for (int i = 0; i < b->n_plans; i++)
		if (b->plans[i].align == align && same_key(&b->plans[i].key, g))
			return &b->plans[i];
	return NULL;
}

int rt_blas_gemm(struct rt_blas *b, const struct rt_gemm *g, const struct rt_gemm_args *x, cu_stream stream, bool tune,
		 struct gt_err *err)
{
	uint32_t align = alignment(g, x);
	struct plan *p = find(b, g, align);
	int r = 0, timed = b->timed;

	if (!p) {
		if (b->n_plans == b->cap_plans) {
			b->cap_plans = b->cap_plans ? 2 * b->cap_plans : 32;
			b->plans = gt_xrealloc(b->plans, (size_t)b->cap_plans * sizeof(*b->plans));
		}
		p = &b->plans[b->n_plans++];
		*p = (struct plan){ .key = *g, .align = align };
		r = describe(b, p, err);
		if (!r)
			r = point(b, p, x, err);
		if (!r)
			r = choose(b, p, x, stream, tune, err);
		if (r)
			return r;
	}
	b->newly_timed = b->timed > timed;
	if (p->none)
		return gt_fail(err, ENOTSUP, "cuBLASLt %zu has no algorithm for a product of this shape", b->lt.version());
	r = point(b, p, x, err);
	if (!r)
		r = check(b, run(b, p, &p->how, x, stream), "cublasLtMatmul", err);
	return r;
}

bool rt_blas_newly_timed(const struct rt_blas *b)
{
	return b->newly_timed;
}

void rt_blas_give_up(struct rt_blas *b, const struct rt_gemm *g, const struct rt_gemm_args *x)
{
	static const uint64_t nothing[RT_TUNED_WORDS];
	uint32_t align = alignment(g, x);
	struct plan *p = find(b, g, align);
	char key[224];

	if (!p)
		return;
	p->none = true;
	name_key(&p->key, p->align, key, sizeof(key));
	rt_tuned_put(b->tuned, key, nothing, NOT_WORTH_IT);
}

void rt_blas_counts(const struct rt_blas *b, int *ret_timed, int *ret_cached, int *ret_guessed)
{
	*ret_timed = b->timed;
	*ret_cached = b->cached;
	*ret_guessed = b->guessed;
}
