/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLASLt for tests without a GPU. Implements the calls of runtime/cuda/blas.c by the documented meaning of their
 * descriptors, in plain loops on the stand-in driver's streams. Rejects what the documentation says the real library
 * rejects: odd auxiliary rows, and with STANDIN_LT_PLAIN=STATUS every fused epilogue, with that status. The state of its
 * first proposal marks it as unusable. STANDIN_LT_VERSION sets the version (says.h). With STANDIN_LT_MAX, relu is
 * fmax(x, 0). STANDIN_LT_SLOW=N makes a product with an epilogue take N microseconds longer.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "record.h"
#include "says.h"
#include "standin.h"

enum {
	NOT_SUPPORTED = 15,
	INVALID = 7,
	EPI_RELU = 2,
	EPI_BIAS = 4,
	EPI_GELU = 32,
	EPI_DGELU = 64,
	EPI_AUX = 128,
	EPI_BGRADB = 512
};

static int eight(int type) /* E4M3, E5M2 */
{
	return type == 28 || type == 29;
}

struct desc {
	int transa, transb;
	unsigned epilogue;
	void *bias, *aux;
	int64_t aux_ld;
	const float *a_scale, *b_scale;
	int8_t fast;
};
struct layout {
	int type;
	uint64_t rows, cols;
	int64_t ld;
	int32_t batch;
	int64_t stride;
};
struct job {
	struct desc d;
	struct layout a, b, c;
	float alpha, beta;
	const void *pa, *pb;
	void *pc;
};
struct heuristic {
	uint64_t algo[8];
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};

int cublasLtCreate(void **h)
{
	standin_record("cublasLtCreate");
	*h = malloc(1);
	return 0;
}

int cublasLtDestroy(void *h)
{
	standin_record("cublasLtDestroy");
	free(h);
	return 0;
}

size_t cublasLtGetVersion(void)
{
	return standin_says("STANDIN_LT_VERSION", (const void *)cublasLtGetVersion, 120400);
}

size_t cublasLtGetCudartVersion(void)
{
	return cublasLtGetVersion() / 10000 * 1000;
}

int cublasLtMatmulDescCreate(void **d, int compute, int scale)
{
	*d = calloc(1, sizeof(struct desc));
	((struct desc *)*d)->epilogue = 1;
	return (compute == 68 || compute == 77) && !scale ? 0 : INVALID;
}

int cublasLtMatmulDescDestroy(void *d)
{
	free(d);
	return 0;
}

int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t size)
{
	struct desc *d = desc;
	static const struct {
		int attribute;
		size_t size, offset;
	} known[] = {
		{3, 4, offsetof(struct desc, transa)},   {4, 4, offsetof(struct desc, transb)},
		{7, 4, offsetof(struct desc, epilogue)}, {8, 8, offsetof(struct desc, bias)},
		{11, 8, offsetof(struct desc, aux)},     {12, 8, offsetof(struct desc, aux_ld)},
		{17, 8, offsetof(struct desc, a_scale)}, {18, 8, offsetof(struct desc, b_scale)},
		{25, 1, offsetof(struct desc, fast)},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].attribute == attribute && known[i].size == size) {
			memcpy((char *)d + known[i].offset, value, size);
			return 0;
		}
	return INVALID;
}

int cublasLtMatrixLayoutCreate(void **l, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
	struct layout *x = *l = calloc(1, sizeof(*x));

	*x = (struct layout){type, rows, cols, ld, 1, 0};
	return (type == 0 || type == 2 || type == 14 || eight(type)) && ld >= (int64_t)rows ? 0 : INVALID;
}

int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t size)
{
	struct layout *l = layout;

	if (attribute == 5 && size == sizeof(l->batch))
		memcpy(&l->batch, value, size);
	else if (attribute == 6 && size == sizeof(l->stride))
		memcpy(&l->stride, value, size);
	else
		return INVALID;
	return l->batch > 0 ? 0 : INVALID;
}

int cublasLtMatrixLayoutDestroy(void *l)
{
	free(l);
	return 0;
}

int cublasLtMatmulPreferenceCreate(void **p)
{
	*p = malloc(1);
	return 0;
}

int cublasLtMatmulPreferenceDestroy(void *p)
{
	free(p);
	return 0;
}

int cublasLtMatmulPreferenceSetAttribute(void *p, int attribute, const void *value, size_t size)
{
	standin_record("cublasLtMatmulPreferenceSetAttribute %d = %llu", attribute,
		       size == 8 ? (unsigned long long)*(const uint64_t *)value : *(const uint32_t *)value);
	return p && value && ((attribute == 1 && size == 8) || (attribute >= 5 && attribute <= 8 && size == 4))
		       ? 0
		       : INVALID;
}

/* Descriptors of a product: operands, then the layouts of a, b and c. */
static const char *describe(const struct desc *d, const struct layout *const l[3], char text[512])
{
	int n = snprintf(text, 512, "%s%s epilogue %u bias %s aux %s ld %lld scales %s %s fast %d", d->transa ? "T" : "N",
			 d->transb ? "T" : "N", d->epilogue, standin_at(d->bias), standin_at(d->aux), (long long)d->aux_ld,
			 standin_at(d->a_scale), standin_at(d->b_scale), d->fast);

	for (int i = 0; i < 3; i++)
		n += snprintf(text + n, 512 - (size_t)n, ", type %d %llux%llu ld %lld batch %d stride %lld", l[i]->type,
			      (unsigned long long)l[i]->rows, (unsigned long long)l[i]->cols, (long long)l[i]->ld, l[i]->batch,
			      (long long)l[i]->stride);
	return text;
}

/*
 * Documented rules of 8-bit products: the first operand transposed and the second not, sides and rows in multiples of 16
 * bytes, not both E5M2, no bias gradients.
 */
static int eights_fit(const struct desc *d, const struct layout *a, const struct layout *b, const struct layout *c)
{
	return eight(b->type) && (a->type != 29 || b->type != 29) && d->transa && !d->transb && !(a->ld % 16) &&
	       !(b->ld % 16) && !(a->rows % 16) && !(a->cols % 16) && !(b->cols % 16) && !(c->ld % 8) &&
	       !(d->epilogue & (EPI_BGRADB | EPI_DGELU));
}

int cublasLtMatmulAlgoGetHeuristic(void *h, void *desc, void *a, void *b, void *c, void *d, void *pref, int wanted,
				   struct heuristic *list, int *found)
{
	const struct desc *x = desc;
	const struct layout *lc = c;
	char text[512];

	*found = 0;
	if (!h || !a || !b || c != d || !pref)
		return INVALID;
	standin_record("cublasLtMatmulAlgoGetHeuristic %s, wanted %d",
		       describe(x, (const struct layout *const[]){ a, b, c }, text), wanted);
	if (lc->batch > 1 && x->epilogue != 1) /* never requested */
		return NOT_SUPPORTED;
	if (x->epilogue != 1 && getenv("STANDIN_LT_PLAIN"))
		return atoi(getenv("STANDIN_LT_PLAIN"));
	if (x->epilogue & EPI_AUX &&
	    (x->aux_ld % 8 || x->aux_ld < (int64_t)lc->rows || (uintptr_t)x->aux % 16 || !x->aux || !lc->type))
		return NOT_SUPPORTED;
	if (eight(((struct layout *)a)->type) && !eights_fit(x, a, b, lc))
		return NOT_SUPPORTED;
	*found = wanted < 3 ? wanted : 3;
	for (int i = 0; i < *found; i++)
		list[i] = (struct heuristic){.algo = {i ? 0x57a2d : 0, (uint64_t)i}, .workspace = (size_t)i << 20,
					     .state = i ? 0 : NOT_SUPPORTED};
	return 0;
}

static float load(const void *p, int type, int64_t i)
{
	float f;

	if (eight(type)) {
		unsigned x = ((const uint8_t *)p)[i], fraction = type == 28 ? 3 : 2, bias = type == 28 ? 7 : 15;
		unsigned exponent = (x & 0x7f) >> fraction, rest = x & ((1u << fraction) - 1);

		if (type == 28 ? (x & 0x7f) == 0x7f : exponent == 31)
			return type == 29 && !rest ? (x & 0x80 ? -INFINITY : INFINITY) : NAN;
		f = ldexpf((float)(exponent ? rest + (1u << fraction) : rest),
			   (int)(exponent ? exponent : 1) - (int)bias - (int)fraction);
		return x & 0x80 ? -f : f;
	}
	if (type == 2) {
		_Float16 h;

		memcpy(&h, (const uint16_t *)p + i, sizeof(h));
		return (float)h;
	}
	if (type == 14) {
		uint32_t u = (uint32_t)((const uint16_t *)p)[i] << 16;

		memcpy(&f, &u, sizeof(f));
		return f;
	}
	return ((const float *)p)[i];
}

static void store(void *p, int type, int64_t i, float f)
{
	_Float16 h = (_Float16)f;
	uint32_t u;

	if (type == 2) {
		memcpy((uint16_t *)p + i, &h, sizeof(h));
		return;
	}
	if (type != 14) {
		((float *)p)[i] = f;
		return;
	}
	memcpy(&u, &f, sizeof(u));
	((uint16_t *)p)[i] = f != f ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static float epilogue(const struct job *j, float x, int64_t row, int64_t col)
{
	const float k = 0.79788456f;

	if (j->d.epilogue & EPI_BIAS)
		x += load(j->d.bias, j->c.type, row);
	if (j->d.epilogue & EPI_DGELU) {
		float v = load(j->d.aux, j->c.type, col * j->d.aux_ld + row),
		      t = tanhf(k * (v + 0.044715f * v * v * v));

		return x * (0.5f * (1 + t) + 0.5f * v * (1 - t * t) * k * (1 + 3 * 0.044715f * v * v));
	}
	if (j->d.epilogue & EPI_AUX)
		store(j->d.aux, j->c.type, col * j->d.aux_ld + row, x);
	if (j->d.epilogue & EPI_GELU)
		x = 0.5f * x * (1 + tanhf(k * (x + 0.044715f * x * x * x)));
	if (j->d.epilogue & EPI_RELU)
		x = x < 0 || (isnan(x) && getenv("STANDIN_LT_MAX")) ? 0 : x;
	return x;
}

/* Decoded once, with the rows of a column of A contiguous: (n,rows). */
static float *left_of(const struct job *j, int64_t n, int64_t rows)
{
	float *left = malloc((size_t)(n * rows + 1) * sizeof(*left));

	for (int64_t k = 0; left && k < n; k++)
		for (int64_t row = 0; row < rows; row++)
			left[k * rows + row] = load(j->pa, j->a.type, j->d.transa ? row * j->a.ld + k : k * j->a.ld + row);
	return left;
}

/* sum (rows) = left (n,rows)^T column `col` of B; returns the sum of that column */
static double multiply_column(const struct job *j, const float *left, int64_t n, int64_t rows, int64_t col, double *sum)
{
	double all = 0;

	memset(sum, 0, (size_t)rows * sizeof(*sum));
	for (int64_t k = 0; k < n; k++) {
		double b = (double)load(j->pb, j->b.type, j->d.transb ? k * j->b.ld + col : col * j->b.ld + k);

		all += b;
		for (int64_t row = 0; row < rows; row++)
			sum[row] += (double)left[k * rows + row] * b;
	}
	return all;
}

static void multiply_one(const struct job *j)
{
	int64_t n = (int64_t)(j->d.transa ? j->a.rows : j->a.cols), rows = (int64_t)j->c.rows;
	double scale = (j->d.a_scale ? *j->d.a_scale : 1) * (double)(j->d.b_scale ? *j->d.b_scale : 1);
	double *sum = malloc((size_t)(rows + 1) * sizeof(*sum));
	float *left = left_of(j, n, rows);

	if (!sum || !left)
		abort();
	for (int64_t col = 0; col < (int64_t)j->c.cols; col++) {
		double all = multiply_column(j, left, n, rows, col, sum);

		for (int64_t row = 0; row < rows; row++) {
			int64_t at = col * j->c.ld + row;
			double s = j->alpha * (sum[row] * scale) + (j->beta != 0 ? j->beta * load(j->pc, j->c.type, at) : 0);

			store(j->pc, j->c.type, at, epilogue(j, (float)s, row, col));
		}
		if (j->d.epilogue & EPI_BGRADB)
			store(j->d.bias, j->c.type, col, (float)all);
	}
	free(left);
	free(sum);
}

static int64_t size_of(int type)
{
	return eight(type) ? 1 : type ? 2 : 4;
}

static void multiply(void *data)
{
	struct job j = *(const struct job *)data;
	const char *slow = getenv("STANDIN_LT_SLOW");

	if (slow && j.d.epilogue != 1)
		usleep((unsigned)atoi(slow));
	for (int32_t i = 0; i < j.c.batch; i++) {
		multiply_one(&j);
		j.pa = (const char *)j.pa + j.a.stride * size_of(j.a.type);
		j.pb = (const char *)j.pb + j.b.stride * size_of(j.b.type);
		j.pc = (char *)j.pc + j.c.stride * size_of(j.c.type);
	}
}

int cublasLtMatmul(void *h, void *desc, const float *alpha, const void *a, void *la, const void *b, void *lb,
		   const float *beta, const void *c, void *lc, void *d, void *ld, const uint64_t *algo, void *workspace,
		   size_t bytes, void *stream)
{
	struct job j = {*(struct desc *)desc,
			*(struct layout *)la,
			*(struct layout *)lb,
			*(struct layout *)lc,
			*alpha,
			*beta,
			a,
			b,
			d};
	uint64_t k = j.d.transa ? j.a.rows : j.a.cols;
	char text[512];

	standin_record("cublasLtMatmul s%u %s, algorithm %llu, %g %s %s + %g %s, workspace %s %zu", standin_stream(stream),
		       describe(&j.d, (const struct layout *const[]){ &j.a, &j.b, &j.c }, text), (unsigned long long)algo[1],
		       (double)j.alpha, standin_at(a), standin_at(b), (double)j.beta, standin_at(d), standin_at(workspace), bytes);
	if (!h || c != d || lc != ld || algo[0] != 0x57a2d || (algo[1] && !workspace) || bytes != algo[1] << 20)
		return INVALID;
	if ((j.d.transa ? j.a.cols : j.a.rows) != j.c.rows || (j.d.transb ? j.b.rows : j.b.cols) != j.c.cols ||
	    (j.d.transb ? j.b.cols : j.b.rows) != k || (j.a.type != j.b.type && !(eight(j.a.type) && eight(j.b.type))))
		return INVALID;
	if (eight(j.a.type) && !eights_fit(&j.d, &j.a, &j.b, &j.c))
		return INVALID;
	if (j.a.batch != j.c.batch || j.b.batch != j.c.batch)
		return INVALID;
	return standin_enqueue(stream, multiply, &j, sizeof(j)) ? 14 : 0;
}

const char *cublasLtGetStatusName(int status)
{
	return status == NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
	       : status == INVALID     ? "CUBLAS_STATUS_INVALID_VALUE"
				       : "status";
}
