/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuDNN for tests without a GPU: the part of the graph interface that runtime/cuda/dnn_graph.c uses, by the documented
 * meaning of its descriptors. An attribute has one type and number of elements, a finalized descriptor is not changed,
 * an unfinalized one is not used, and shapes must match. Convolutions are plain loops on the stand-in driver's streams.
 *
 * A graph has engines 0 to 4. 0 sums in the order of the definition. 1 is nondeterministic by its notes and computes
 * wrong values, so that its use shows. 2 rounds f32 to TF32, as its notes say. 3 uses workspace (STANDIN_DNN_WORKSPACE
 * sets its size). 4 requests more than is available. Graphs of several operations run one operation at a time, with
 * intermediates rounded to their types; all engines compute them correctly, and 1 is nondeterministic by its notes.
 *
 * STANDIN_DNN_SLOW=N makes them take N microseconds longer. STANDIN_DNN_VERSION sets the version, STANDIN_DNN_CUDART
 * that of CUDA (says.h). STANDIN_DNN_FAIL=WHAT:STATUS makes WHAT (create, finalize, plan, execute) return that status;
 * WHAT none: no engine is proposed.
 */
#define _GNU_SOURCE
#include "libcudnn.h"
#include "says.h"

/* Attributes: kind of descriptor, type, elements (-n: up to n). 801, a graph's operations, has its own code. */
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
	FIELD(0, POINTWISE, 14, 1, mode), FIELD(1, POINTWISE, 1, 1, type), FIELD(9, POINTWISE, 3, 1, axis),
	FIELD(750, OP_POINTWISE, 15, 1, conv), FIELD(751, OP_POINTWISE, 15, 1, x), FIELD(752, OP_POINTWISE, 15, 1, b),
	FIELD(753, OP_POINTWISE, 15, 1, y), FIELD(758, OP_POINTWISE, 15, 1, t), FIELD(1500, MATMUL, 1, 1, type),
	FIELD(1520, OP_MATMUL, 15, 1, x), FIELD(1521, OP_MATMUL, 15, 1, b), FIELD(1522, OP_MATMUL, 15, 1, y),
	FIELD(1523, OP_MATMUL, 15, 1, conv), FIELD(1600, REDUCTION, 18, 1, mode), FIELD(1601, REDUCTION, 1, 1, type),
	FIELD(1610, OP_REDUCTION, 15, 1, x), FIELD(1611, OP_REDUCTION, 15, 1, y), FIELD(1612, OP_REDUCTION, 15, 1, conv),
	FIELD(2200, OP_RESHAPE, 15, 1, x), FIELD(2201, OP_RESHAPE, 15, 1, y), FIELD(907, TENSOR, 2, 1, is_virtual),
	FIELD(908, TENSOR, 2, 1, by_value), FIELD(800, GRAPH, 0, 1, workspace), FIELD(900, TENSOR, 3, 1, index),
	FIELD(901, TENSOR, 1, 1, type), FIELD(902, TENSOR, 3, 4, dims), FIELD(903, TENSOR, 3, 4, strides),
	FIELD(906, TENSOR, 3, 1, uid), FIELD(1000, PACK, 3, -ARGS, ids), FIELD(1001, PACK, 6, -ARGS, pointers),
	FIELD(1003, PACK, 6, 1, workspace),
#undef FIELD
};

static int fails(const char *what)
{
	const char *spec = getenv("STANDIN_DNN_FAIL");
	size_t n = strlen(what);

	return spec && !strncmp(spec, what, n) && spec[n] == ':' ? atoi(spec + n + 1) : 0;
}

/* The library's parts load each other by name, so the first copy called is used by the whole process. */
static size_t said_first(const char *variable, size_t otherwise)
{
	char kept[64], text[24];

	snprintf(kept, sizeof(kept), "%s_FIRST", variable);
	snprintf(text, sizeof(text), "%zu", standin_says(variable, attributes, otherwise));
	setenv(kept, text, 0);
	return strtoull(getenv(kept), NULL, 10);
}

size_t cudnnGetVersion(void)
{
	return said_first("STANDIN_DNN_VERSION", 91600);
}

size_t cudnnGetCudartVersion(void)
{
	return said_first("STANDIN_DNN_CUDART", 12040);
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

int cudnnCreate(void **h)
{
	*h = calloc(1, sizeof(struct handle));
	standin_record("cudnnCreate");
	return fails("create");
}

int cudnnDestroy(void *h)
{
	free(h);
	return 0;
}

int cudnnSetStream(void *h, void *stream)
{
	standin_record("cudnnSetStream s%u", standin_stream(stream));
	((struct handle *)h)->stream = stream;
	return 0;
}

int cudnnBackendCreateDescriptor(int kind, void **ret)
{
	struct desc *d = *ret = calloc(1, sizeof(*d));

	d->kind = kind;
	return 0;
}

/* A descriptor copies the ones that it refers to, so the caller may destroy them. */
static struct desc *copy(const struct desc *d)
{
	struct desc *c = malloc(sizeof(*c)), **own[] = { &c->conv, &c->w, &c->x, &c->y, &c->b, &c->t, &c->of };

	*c = *d;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (*own[i])
			*own[i] = copy(*own[i]);
	for (int64_t i = 0; i < c->n_ops; i++)
		c->ops[i] = copy(c->ops[i]);
	return c;
}

int cudnnBackendDestroyDescriptor(void *desc)
{
	struct desc *d = desc, *own[] = { d->conv, d->w, d->x, d->y, d->b, d->t, d->of };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i])
			cudnnBackendDestroyDescriptor(own[i]);
	for (int64_t i = 0; i < d->n_ops; i++)
		cudnnBackendDestroyDescriptor(d->ops[i]);
	free(d);
	return 0;
}

static int set_operations(struct desc *d, int type, int64_t n, const void *value)
{
	struct desc *const *ops = value;

	if (d->kind != GRAPH || type != 15 || n < 1 || n > OPS || d->final || d->n_ops)
		return BAD_PARAM;
	for (int64_t i = 0; i < n; i++)
		if (!ops[i]->final)
			return NOT_FINALIZED;
	for (d->n_ops = 0; d->n_ops < n; d->n_ops++)
		d->ops[d->n_ops] = copy(ops[d->n_ops]);
	return 0;
}

int cudnnBackendSetAttribute(void *desc, int name, int type, int64_t n, const void *value)
{
	struct desc *d = desc, **slot;

	if (name == 801)
		return set_operations(d, type, n, value);
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const struct attribute *a = &attributes[i];

		if (a->name != name)
			continue;
		if (a->kind != d->kind || a->type != type || (a->n < 0 ? n < 1 || n > -a->n : n != a->n) || d->final || !value)
			return BAD_PARAM;
		d->has_handle |= type == 0;
		if (name == 1000 || name == 1001)
			*(name == 1000 ? &d->n_ids : &d->n_pointers) = n;
		if (type != 15) {
			memcpy((char *)d + a->offset, value,
			       type == 0 ? sizeof(void *) : (size_t)n * (type == 3 || type == 6 ? 8 : type == 2 ? 1 : 4));
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

static bool is_tensor(const struct desc *t)
{
	for (int i = 0; i < 4; i++)
		if (t->dims[i] < 1 || t->strides[i] < 1)
			return false;
	return t->uid && t->index % 16 == 0 && !(t->is_virtual && t->by_value) &&
	       (t->type == 0 || t->type == 2 || t->type == 4 || t->type == 9 || t->type == 11);
}

/* Innermost channels without gaps: the layout of a convolution here. */
static bool is_dense(const struct desc *t)
{
	const int64_t *d = t->dims, *s = t->strides;

	return d[0] > 0 && d[1] > 0 && s[1] == 1 && s[3] == d[1] && s[2] == d[3] * d[1] && s[0] == d[2] * s[2] &&
	       (t->type == 0 || t->type == 2 || t->type == 9) && t->uid && t->index % 16 == 0;
}

static bool operation_fits(const struct desc *op)
{
	const struct desc *c = op->conv, *x = op->x, *w = op->w, *y = op->y;

	if (!c || !x || !w || !y || !is_dense(x) || !is_dense(w) || !is_dense(y) || op->alpha != 1 || op->beta != 0 ||
	    x->dims[1] % w->dims[1] || w->dims[0] % (x->dims[1] / w->dims[1]) ||
	    y->dims[0] != x->dims[0] || y->dims[1] != w->dims[0] ||
	    x->type != w->type || x->type != y->type)
		return false;
	for (int i = 0; i < 2; i++)
		if (y->dims[2 + i] != (x->dims[2 + i] + c->pad[0][i] + c->pad[1][i] - w->dims[2 + i]) / c->stride[i] + 1)
			return false;
	return true;
}

/* Each dimension equals that of `to`, or is one. */
static bool reaches(const struct desc *from, const struct desc *to)
{
	for (int i = 0; i < 4; i++)
		if (from->dims[i] != to->dims[i] && from->dims[i] != 1)
			return false;
	return true;
}

static bool pointwise_fits(const struct desc *op)
{
	static const struct {
		int mode, operands;
	} known[] = { { 0, 2 }, { 1, 2 }, { 6, 2 }, { 9, 2 }, { 13, 1 }, { 15, 1 }, { 21, 1 }, { 303, 2 }, { 501, 1 }, { 601, 3 } };

	if (!op->conv || !op->x || !op->y || !reaches(op->x, op->y) || (op->b && !reaches(op->b, op->y)) ||
	    (op->t && !reaches(op->t, op->y)) || (op->conv->mode == 303) != (op->conv->type == 11))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].mode == op->conv->mode)
			return 1 + !!op->b + !!op->t == known[i].operands;
	return false;
}

static bool matmul_fits(const struct desc *op)
{
	const struct desc *a = op->x, *b = op->b, *c = op->y;

	return op->conv && a && b && c && a->dims[0] == c->dims[0] && b->dims[0] == c->dims[0] && a->dims[1] == c->dims[1] &&
	       b->dims[1] == c->dims[1] && a->dims[2] == c->dims[2] && b->dims[3] == c->dims[3] && a->dims[3] == b->dims[2] &&
	       (a->type == b->type || (a->is_virtual && !a->type)) && (b->type == 9 || b->type == 2);
}

static bool is_convolution(const struct desc *graph)
{
	return graph->ops[0]->kind >= FORWARD && graph->ops[0]->kind <= DATA;
}

/* A single convolution, or attention: products with the computation of probabilities between them. */
static bool is_known(const struct desc *graph)
{
	int products = 0;

	if (is_convolution(graph))
		return graph->n_ops == 1;
	for (int64_t i = 0; i < graph->n_ops; i++)
		products += graph->ops[i]->kind == OP_MATMUL;
	return products == 2 || products == 5;
}

/* Values of a descriptor and of all that it refers to. */
static void describe(const struct desc *d, FILE *out)
{
	const struct desc *parts[] = { d->conv, d->w, d->x, d->y, d->b, d->t, d->of };

	fprintf(out, " {%d type %d mode %d axis %lld index %lld %g %g", d->kind, d->type, d->mode, (long long)d->axis,
		(long long)d->index, (double)d->alpha, (double)d->beta);
	if (d->kind == TENSOR)
		fprintf(out, " uid %lld%s%s", (long long)d->uid, d->is_virtual ? " virtual" : "", d->by_value ? " value" : "");
	for (int i = 0; d->kind == TENSOR && i < 4; i++)
		fprintf(out, " %lld:%lld", (long long)d->dims[i], (long long)d->strides[i]);
	for (int i = 0; d->kind == CONVOLUTION && i < 2; i++)
		fprintf(out, " pad %lld %lld stride %lld dilation %lld", (long long)d->pad[0][i], (long long)d->pad[1][i],
			(long long)d->stride[i], (long long)d->dilation[i]);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i])
			describe(parts[i], out);
	for (int64_t i = 0; i < d->n_ops; i++)
		describe(d->ops[i], out);
	for (int64_t i = 0; i < d->n_ids; i++)
		fprintf(out, " %lld=%s", (long long)d->ids[i], standin_at(d->pointers[i]));
	if (d->kind == PACK)
		fprintf(out, " workspace %s", standin_at(d->workspace));
	fputc('}', out);
}

/* A complete plan has about a thousand characters. Its hash stands for it; the line of its graph contains the text. */
static void record(const char *call, const struct desc *d, const struct handle *h, const struct desc *pack)
{
	char *text = NULL, *packed = NULL;
	size_t n, n_packed;
	FILE *out;

	if (!standin_records())
		return;
	out = open_memstream(&text, &n);
	describe(d, out);
	fclose(out);
	if (!pack) {
		standin_record("%s%s", call, text);
		free(text);
		return;
	}
	out = open_memstream(&packed, &n_packed);
	describe(pack, out);
	fclose(out);
	standin_record("%s s%u plan %llx%s", call, standin_stream(h->stream), (unsigned long long)standin_hash(text, n), packed);
	free(text);
	free(packed);
}

int cudnnBackendFinalize(void *desc)
{
	struct desc *d = desc;
	int status = fails(d->kind == PLAN ? "plan" : d->kind == GRAPH ? "finalize" : "no");
	bool good = true;

	if (d->kind == GRAPH || d->kind == PLAN || d->kind == ENGINEHEUR)
		record("cudnnBackendFinalize", d, NULL, NULL);
	if (status)
		return status;
	switch (d->kind) {
	case TENSOR:
		good = is_tensor(d);
		break;
	case POINTWISE:
	case MATMUL:
	case REDUCTION:
		good = !d->type || d->type == 11;
		break;
	case OP_POINTWISE:
		good = pointwise_fits(d);
		break;
	case OP_MATMUL:
		good = matmul_fits(d);
		break;
	case OP_REDUCTION:
		good = d->x && d->y && d->conv && reaches(d->y, d->x) && d->y->dims[3] == 1 &&
		       (d->conv->mode == 0 || d->conv->mode == 3);
		break;
	case OP_RESHAPE:
		good = d->x && d->y && d->y->is_virtual && count_of(d->x) == count_of(d->y);
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
		good = d->n_ops && d->has_handle;
		break;
	case PLAN:
		good = d->of && d->has_handle;
		break;
	case ENGINEHEUR:
		good = d->of && d->of->kind == GRAPH && is_known(d->of) && (d->mode == 2 || d->mode == 3);
		break;
	case PACK:
		good = d->n_ids == d->n_pointers;
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

/* The best proposals first: engine 2, 1, 3; the fallback 4, 0. */
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
	const char *s = getenv("STANDIN_DNN_WORKSPACE");

	return engine == 3 ? (s ? strtoll(s, NULL, 10) : SCRIBBLED) : engine == 4 ? INT64_C(1) << 40 : 0;
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
	case 302: /* Returns one knob; its value is 10 times the engine number. */
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

int cudnnBackendExecute(void *h, void *plan, void *pack)
{
	const struct desc *p = plan, *v = pack;
	int status = fails("execute");

	record("cudnnBackendExecute", p, h, v);
	if (status)
		return status;
	if (!p->final || !v->final || p->kind != PLAN || v->kind != PACK || (workspace_of(p->of->index) && !v->workspace))
		return BAD_PARAM;
	return is_convolution(p->of->of) ? run_convolution(h, p, v) : run_operations(h, p, v);
}
