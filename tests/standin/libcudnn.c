/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuDNN for tests on hosts without a GPU: the graph interface as far as runtime/cuda/dnn_graph.c uses it, by the documented
 * meaning of its descriptors: an attribute has one type and number of elements, what is finalized is not changed, what is not
 * finalized is not used, shapes must fit. Convolutions are plain loops on the stand-in driver's streams.
 *
 * A graph has engines 0 to 4: 0 sums in the order of the definition; 1 is nondeterministic, 2 rounds f32 to TF32, both by their
 * notes, and compute nonsense, so that a program that runs the wrong one shows; 3 wants workspace and writes on it; 4
 * wants more than there is. STANDIN_DNN_VERSION sets the version; STANDIN_DNN_FAIL=WHAT:STATUS makes WHAT (create, finalize,
 * plan, execute) return that status; WHAT none: no engine is suggested.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "standin.h"

enum { BAD_PARAM = 2000, NOT_FINALIZED = 2004, NOT_SUPPORTED = 3000, EXECUTION_FAILED = 5000 };
enum {
	CONVOLUTION = 1, ENGINE, ENGINECFG, ENGINEHEUR, PLAN, KNOB_CHOICE = 7, FORWARD = 10, FILTER, DATA, GRAPH = 15, PACK, TENSOR
};
#define ENGINES	  5
#define SCRIBBLED (1 << 16) /* bytes of workspace that engine 3 wants */

struct desc {
	int kind;
	bool final;
	int64_t dims[4], strides[4], uid;			     /* tensor */
	int64_t pad[2][2], stride[2], dilation[2], spatial;	     /* convolution */
	int type, mode;						     /* data type; of a heuristic too */
	struct desc *conv, *w, *x, *y;				     /* operation: copies */
	float alpha, beta;
	struct desc *of;					     /* graph: operation; engine: graph; plan, config: engine */
	int64_t index;						     /* engine; knob's value */
	int64_t ids[8];						     /* variant pack */
	void *pointers[8], *workspace;
	int64_t n_ids, n_pointers;
	bool has_handle;
};

/* What each attribute is: of which kind, its type, elements (-n: up to n). */
static const struct attribute {
	int name, kind, type;
	int64_t n;
	size_t offset, size;
	bool readable;
} attributes[] = {
#define FIELD(name, kind, type, n, member) \
	{ name, kind, type, n, offsetof(struct desc, member), sizeof(((struct desc *)0)->member), false }
	FIELD(100, CONVOLUTION, 1, 1, type), FIELD(101, CONVOLUTION, 7, 1, mode), FIELD(102, CONVOLUTION, 3, 2, dilation),
	FIELD(103, CONVOLUTION, 3, 2, stride), FIELD(104, CONVOLUTION, 3, 2, pad[0]), FIELD(105, CONVOLUTION, 3, 2, pad[1]),
	FIELD(106, CONVOLUTION, 3, 1, spatial), FIELD(200, ENGINEHEUR, 8, 1, mode), FIELD(201, ENGINEHEUR, 15, 1, of),
	FIELD(400, PLAN, 0, 1, workspace), FIELD(401, PLAN, 15, 1, of), FIELD(700, FORWARD, 4, 1, alpha),
	FIELD(701, FORWARD, 4, 1, beta), FIELD(702, FORWARD, 15, 1, conv), FIELD(703, FORWARD, 15, 1, w),
	FIELD(704, FORWARD, 15, 1, x), FIELD(705, FORWARD, 15, 1, y), FIELD(706, DATA, 4, 1, alpha),
	FIELD(707, DATA, 4, 1, beta), FIELD(708, DATA, 15, 1, conv), FIELD(709, DATA, 15, 1, w), FIELD(710, DATA, 15, 1, x),
	FIELD(711, DATA, 15, 1, y), FIELD(712, FILTER, 4, 1, alpha), FIELD(713, FILTER, 4, 1, beta),
	FIELD(714, FILTER, 15, 1, conv), FIELD(715, FILTER, 15, 1, w), FIELD(716, FILTER, 15, 1, x), FIELD(717, FILTER, 15, 1, y),
	FIELD(800, GRAPH, 0, 1, workspace), FIELD(801, GRAPH, 15, 1, of), FIELD(900, TENSOR, 3, 1, index),
	FIELD(901, TENSOR, 1, 1, type), FIELD(902, TENSOR, 3, 4, dims), FIELD(903, TENSOR, 3, 4, strides),
	FIELD(906, TENSOR, 3, 1, uid), FIELD(1000, PACK, 3, 3, ids), FIELD(1001, PACK, 6, 3, pointers),
	FIELD(1003, PACK, 6, 1, workspace),
#undef FIELD
};

static int fails(const char *what)
{
	const char *spec = getenv("STANDIN_DNN_FAIL");
	size_t n = strlen(what);

	return spec && !strncmp(spec, what, n) && spec[n] == ':' ? atoi(spec + n + 1) : 0;
}

size_t cudnnGetVersion(void)
{
	const char *s = getenv("STANDIN_DNN_VERSION");

	return s ? strtoull(s, NULL, 10) : 91200;
}

size_t cudnnGetCudartVersion(void)
{
	const char *s = getenv("STANDIN_DNN_CUDART");

	return s ? strtoull(s, NULL, 10) : 12040;
}

const char *cudnnGetErrorString(int status)
{
	return status == BAD_PARAM	      ? "CUDNN_STATUS_BAD_PARAM"
	       : status == NOT_FINALIZED      ? "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED"
	       : status / 1000 == 3	      ? "CUDNN_STATUS_NOT_SUPPORTED"
	       : status == EXECUTION_FAILED   ? "CUDNN_STATUS_EXECUTION_FAILED"
	       : status == 4003		      ? "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"
	       : status == 1008		      ? "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"
					      : "CUDNN_STATUS";
}

void cudnnGetLastErrorString(char *text, size_t size)
{
	snprintf(text, size, "the stand-in was told to");
}

struct handle {
	void *stream;
};

int cudnnCreate(void **h)
{
	*h = calloc(1, sizeof(struct handle));
	return fails("create");
}

int cudnnDestroy(void *h)
{
	free(h);
	return 0;
}

int cudnnSetStream(void *h, void *stream)
{
	((struct handle *)h)->stream = stream;
	return 0;
}

int cudnnBackendCreateDescriptor(int kind, void **ret)
{
	struct desc *d = *ret = calloc(1, sizeof(*d));

	d->kind = kind;
	return 0;
}

/* Descriptors that others refer to are copied by them, so that the owner may destroy his. */
static struct desc *copy(const struct desc *d)
{
	struct desc *c = malloc(sizeof(*c)), **own[] = { &c->conv, &c->w, &c->x, &c->y, &c->of };

	*c = *d;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (*own[i])
			*own[i] = copy(*own[i]);
	return c;
}

int cudnnBackendDestroyDescriptor(void *desc)
{
	struct desc *d = desc, *own[] = { d->conv, d->w, d->x, d->y, d->of };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i])
			cudnnBackendDestroyDescriptor(own[i]);
	free(d);
	return 0;
}

int cudnnBackendSetAttribute(void *desc, int name, int type, int64_t n, const void *value)
{
	struct desc *d = desc, **slot;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const struct attribute *a = &attributes[i];

		if (a->name != name)
			continue;
		if (a->kind != d->kind || a->type != type || a->n != n || d->final || !value)
			return BAD_PARAM;
		d->has_handle |= type == 0;
		if (name == 1000 || name == 1001)
			*(name == 1000 ? &d->n_ids : &d->n_pointers) = n;
		if (type != 15) {
			memcpy((char *)d + a->offset, value,
			       type == 0 ? sizeof(void *) : (size_t)n * (type == 3 || type == 6 ? 8 : 4));
			return 0;
		}
		slot = (struct desc **)(void *)((char *)d + a->offset);
		if (!(*(struct desc *const *)value)->final)
			return NOT_FINALIZED;
		if (*slot)
			cudnnBackendDestroyDescriptor(*slot);
		*slot = copy(*(struct desc *const *)value);
		return 0;
	}
	return BAD_PARAM;
}

/* Channels innermost and nothing between: all that this program uses. */
static bool is_dense(const struct desc *t)
{
	const int64_t *d = t->dims, *s = t->strides;

	return d[0] > 0 && d[1] > 0 && s[1] == 1 && s[3] == d[1] && s[2] == d[3] * d[1] && s[0] == d[2] * s[2] &&
	       (t->type == 0 || t->type == 9) && t->uid && t->index % 16 == 0;
}

static bool operation_fits(const struct desc *op)
{
	const struct desc *c = op->conv, *x = op->x, *w = op->w, *y = op->y;

	if (!c || !x || !w || !y || op->alpha != 1 || op->beta != 0 || x->dims[1] % w->dims[1] ||
	    w->dims[0] % (x->dims[1] / w->dims[1]) || y->dims[0] != x->dims[0] || y->dims[1] != w->dims[0] ||
	    x->type != w->type || x->type != y->type)
		return false;
	for (int i = 0; i < 2; i++)
		if (y->dims[2 + i] != (x->dims[2 + i] + c->pad[0][i] + c->pad[1][i] - w->dims[2 + i]) / c->stride[i] + 1)
			return false;
	return true;
}

int cudnnBackendFinalize(void *desc)
{
	struct desc *d = desc;
	int status = fails(d->kind == PLAN ? "plan" : d->kind == GRAPH ? "finalize" : "no");
	bool good = true;

	if (status)
		return status;
	switch (d->kind) {
	case TENSOR:
		good = is_dense(d);
		break;
	case CONVOLUTION:
		good = d->mode == 1 && !d->type && d->spatial == 2 && d->dilation[0] == 1 && d->dilation[1] == 1 &&
		       d->stride[0] > 0;
		break;
	case FORWARD:
	case FILTER:
	case DATA:
		good = operation_fits(d);
		break;
	case GRAPH:
	case PLAN:
		good = d->of && d->has_handle;
		break;
	case ENGINEHEUR:
		good = d->of && d->of->kind == GRAPH && (d->mode == 2 || d->mode == 3);
		break;
	case PACK:
		good = d->n_ids == 3 && d->n_pointers == 3;
		break;
	}
	d->final = good;
	return good ? 0 : BAD_PARAM;
}

static int notes_of(int64_t engine, int *notes)
{
	notes[0] = engine == 1 ? 4 : 0;
	return engine == 1 || engine == 2;
}

/* The best guess first is engine 2, 1, 3; the fallback 4, 0. */
static int suggest(const struct desc *heur, int64_t room, int64_t *ret_n, struct desc **found)
{
	static const int64_t lists[2][3] = { { 4, 0, 0 }, { 2, 1, 3 } };
	const int64_t *list = lists[heur->mode == 3];

	*ret_n = heur->mode == 3 ? 3 : 2;
	if (fails("none"))
		return NOT_SUPPORTED;
	if (room < *ret_n)
		return BAD_PARAM;
	for (int i = 0; i < *ret_n; i++) {
		if (found[i]->kind != ENGINECFG)
			return BAD_PARAM;
		found[i]->of = copy(heur->of);
		found[i]->index = list[i];
		found[i]->final = true;
	}
	return 0;
}

static int64_t workspace_of(int64_t engine)
{
	return engine == 3 ? SCRIBBLED : engine == 4 ? INT64_C(1) << 40 : 0;
}

int cudnnBackendGetAttribute(void *desc, int name, int type, int64_t room, int64_t *ret_n, void *value)
{
	struct desc *d = desc, *out;

	if (!d->final || room < 1)
		return NOT_FINALIZED;
	*ret_n = 1;
	switch (name) {
	case 202:
		return d->kind == ENGINEHEUR && type == 15 ? suggest(d, room, ret_n, value) : BAD_PARAM;
	case 300:
		out = *(struct desc **)value;
		if (d->kind != ENGINECFG || type != 15 || out->kind != ENGINE)
			return BAD_PARAM;
		out->index = d->index;
		out->final = true;
		return 0;
	case 302: /* one knob: which engine it is of, times 10 */
		out = *(struct desc **)value;
		if (d->kind != ENGINECFG || type != 15 || out->kind != KNOB_CHOICE)
			return BAD_PARAM;
		out->index = 10 * d->index;
		out->final = true;
		return 0;
	case 402:
		*(int64_t *)value = workspace_of(d->of->index);
		return d->kind == PLAN && type == 3 ? 0 : BAD_PARAM;
	case 600:
		*(int *)value = 3;
		return d->kind == KNOB_CHOICE && type == 9 ? 0 : BAD_PARAM;
	case 601:
	case 1301:
		*(int64_t *)value = d->index;
		return d->kind == (name == 601 ? KNOB_CHOICE : ENGINE) && type == 3 ? 0 : BAD_PARAM;
	case 1303:
		*ret_n = notes_of(d->index, value);
		return d->kind == ENGINE && type == 11 ? 0 : BAD_PARAM;
	default:
		return BAD_PARAM;
	}
}

/* ---- running ---- */
static float load(const void *p, int type, int64_t i)
{
	float f;

	if (type == 9) {
		uint32_t u = (uint32_t)((const uint16_t *)p)[i] << 16;

		memcpy(&f, &u, sizeof(f));
		return f;
	}
	return ((const float *)p)[i];
}

static void store(void *p, int type, int64_t i, double value)
{
	float f = (float)value;
	uint32_t u;

	if (type != 9) {
		((float *)p)[i] = f;
		return;
	}
	memcpy(&u, &f, sizeof(u));
	((uint16_t *)p)[i] = f != f ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

struct job {
	int kind, type;
	int64_t engine, n, h, w, c, o, oh, ow, kh, kw, per, stride[2], pad[2];
	void *px, *pw, *py, *workspace;
};

typedef void visit(void *arg, int64_t x, int64_t w, int64_t y);

/* Every product of the definition by the places of its three elements. */
static void each(const struct job *j, visit *fn, void *arg)
{
	int64_t total = j->n * j->oh * j->ow * j->o, outs = j->o / (j->c / j->per);

	for (int64_t y = 0; y < total; y++) {
		int64_t o = y % j->o, col = y / j->o % j->ow, row = y / j->o / j->ow % j->oh, image = y / j->o / j->ow / j->oh;

		for (int64_t k = 0; k < j->kh * j->kw; k++) {
			int64_t h = row * j->stride[0] - j->pad[0] + k / j->kw, v = col * j->stride[1] - j->pad[1] + k % j->kw;

			if (h < 0 || h >= j->h || v < 0 || v >= j->w)
				continue;
			for (int64_t i = 0; i < j->per; i++)
				fn(arg, ((image * j->h + h) * j->w + v) * j->c + o / outs * j->per + i,
				   (o * j->kh * j->kw + k) * j->per + i, y);
		}
	}
}

struct sums {
	const struct job *j;
	double *sum;
};

static void multiply(void *arg, int64_t x, int64_t w, int64_t y)
{
	struct sums *s = arg;
	const struct job *j = s->j;

	if (j->kind == FORWARD)
		s->sum[y] += (double)load(j->px, j->type, x) * (double)load(j->pw, j->type, w);
	else if (j->kind == DATA)
		s->sum[x] += (double)load(j->py, j->type, y) * (double)load(j->pw, j->type, w);
	else
		s->sum[w] += (double)load(j->py, j->type, y) * (double)load(j->px, j->type, x);
}

static void run(void *data)
{
	const struct job *j = data;
	int64_t sizes[] = { j->n * j->h * j->w * j->c, j->o * j->per * j->kh * j->kw, j->n * j->oh * j->ow * j->o };
	int which = j->kind == DATA ? 0 : j->kind == FILTER ? 1 : 2;
	struct sums s = { j, calloc((size_t)sizes[which], sizeof(double)) };
	void *out = which == 0 ? j->px : which == 1 ? j->pw : j->py;

	each(j, multiply, &s);
	if (j->engine == 3)
		memset(j->workspace, 0xff, SCRIBBLED);
	for (int64_t i = 0; i < sizes[which]; i++)
		store(out, j->type, i, s.sum[i] * (j->engine == 1 || (j->engine == 2 && !j->type) ? 2 : 1));
	free(s.sum);
}

int cudnnBackendExecute(void *h, void *plan, void *pack)
{
	const struct desc *p = plan, *v = pack, *cfg = p->of, *op = cfg->of->of;
	struct job j = { .kind = op->kind, .type = op->x->type, .engine = cfg->index, .workspace = v->workspace };
	int status = fails("execute");

	if (status)
		return status;
	if (!p->final || !v->final || p->kind != PLAN || v->kind != PACK || (workspace_of(j.engine) && !j.workspace))
		return BAD_PARAM;
	for (int i = 0; i < 3; i++) {
		if ((uintptr_t)v->pointers[i] % 16 || !v->pointers[i])
			return BAD_PARAM;
		*(v->ids[i] == op->x->uid ? &j.px : v->ids[i] == op->w->uid ? &j.pw : &j.py) = v->pointers[i];
	}
	j.n = op->x->dims[0], j.c = op->x->dims[1], j.h = op->x->dims[2], j.w = op->x->dims[3];
	j.o = op->w->dims[0], j.per = op->w->dims[1], j.kh = op->w->dims[2], j.kw = op->w->dims[3];
	j.oh = op->y->dims[2], j.ow = op->y->dims[3];
	memcpy(j.stride, op->conv->stride, sizeof(j.stride));
	memcpy(j.pad, op->conv->pad[1], sizeof(j.pad));
	return standin_enqueue(((struct handle *)h)->stream, run, &j, sizeof(j)) ? EXECUTION_FAILED : 0;
}
