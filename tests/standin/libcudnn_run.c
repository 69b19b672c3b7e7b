/* SPDX-License-Identifier: Apache-2.0 */
/* Execution of descriptors: convolutions as plain loops, graphs operation by operation. */
#include "libcudnn.h"

/* ---- numbers ---- */
static float load(const void *p, int type, int64_t i)
{
	float f;

	if (type == 2) {
		_Float16 h;

		memcpy(&h, (const uint16_t *)p + i, sizeof(h));
		return (float)h;
	}
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
	_Float16 h = (_Float16)f;
	uint32_t u;

	if (type == 2) {
		memcpy((uint16_t *)p + i, &h, sizeof(h));
		return;
	}
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

/* Rounds an f32 operand for engine 2: ten bits of the fraction, to nearest even. */
static float tf32(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	u = (u + 0xfff + (u >> 13 & 1)) & ~0x1fffu;
	memcpy(&x, &u, sizeof(u));
	return x;
}

static double *operands(const struct job *j, const void *p, int64_t n)
{
	double *ret = malloc((size_t)n * sizeof(*ret));

	for (int64_t i = 0; i < n; i++) {
		float x = load(p, j->type, i);

		ret[i] = (double)(j->engine == 2 && !j->type && isfinite(x) ? tf32(x) : x);
	}
	return ret;
}

/* Adds the products of one output element with one position of the window. One of x, w, y is the sum. */
static void multiply(const struct job *j, double *restrict x, double *restrict w, double *restrict y)
{
	if (j->kind == FORWARD)
		for (int64_t i = 0; i < j->per; i++)
			*y += x[i] * w[i];
	else if (j->kind == DATA)
		for (int64_t i = 0; i < j->per; i++)
			x[i] += *y * w[i];
	else
		for (int64_t i = 0; i < j->per; i++)
			w[i] += *y * x[i];
}

/* Adds every product of the definition. */
static void convolve(const struct job *j, double *x, double *w, double *y)
{
	int64_t total = j->n * j->oh * j->ow * j->o, outs = j->o / (j->c / j->per);

	for (int64_t k = 0; k < total; k++) {
		int64_t o = k % j->o, col = k / j->o % j->ow, row = k / j->o / j->ow % j->oh, image = k / j->o / j->ow / j->oh;

		for (int64_t at = 0; at < j->kh * j->kw; at++) {
			int64_t h = row * j->stride[0] - j->pad[0] + at / j->kw, v = col * j->stride[1] - j->pad[1] + at % j->kw;

			if (h >= 0 && h < j->h && v >= 0 && v < j->w)
				multiply(j, x + ((image * j->h + h) * j->w + v) * j->c + o / outs * j->per,
					 w + (o * j->kh * j->kw + at) * j->per, y + k);
		}
	}
}

static void run(void *data)
{
	const struct job *j = data;
	int64_t sizes[] = { j->n * j->h * j->w * j->c, j->o * j->per * j->kh * j->kw, j->n * j->oh * j->ow * j->o };
	int which = j->kind == DATA ? 0 : j->kind == FILTER ? 1 : 2;
	void *memory[] = { j->px, j->pw, j->py };
	double *value[3];

	for (int i = 0; i < 3; i++)
		value[i] = i == which ? calloc((size_t)sizes[i], sizeof(double)) : operands(j, memory[i], sizes[i]);
	convolve(j, value[0], value[1], value[2]);
	if (j->engine == 3)
		memset(j->workspace, 0xff, SCRIBBLED);
	for (int64_t i = 0; i < sizes[which]; i++)
		store(memory[which], j->type, i, value[which][i] * (j->engine == 1 ? 2 : 1));
	for (int i = 0; i < 3; i++)
		free(value[i]);
}

/* ---- graphs of several operations ---- */
/* A tensor of a running graph: its address, or the values of an intermediate, rounded to its type, with its strides. */
struct place {
	int64_t uid;
	void *at;	/* in memory */
	double *held;	/* intermediate */
	double number;	/* by value */
};
struct run {
	struct desc *graph;
	int64_t engine;
	struct place places[64];
	int n;
	void *workspace;
};

static int64_t offset_of(const struct desc *t, const int64_t at[4])
{
	int64_t o = 0;

	for (int i = 0; i < 4; i++)
		o += t->dims[i] == 1 ? 0 : at[i] * t->strides[i];
	return o;
}

static int64_t extent_of(const struct desc *t)
{
	return offset_of(t, (int64_t[]){ t->dims[0] - 1, t->dims[1] - 1, t->dims[2] - 1, t->dims[3] - 1 }) + 1;
}

static struct place *place_of(struct run *r, const struct desc *t)
{
	for (int i = 0; i < r->n; i++)
		if (r->places[i].uid == t->uid)
			return &r->places[i];
	if (!t->is_virtual || r->n == 64)
		abort(); /* checked by execute */
	r->places[r->n] = (struct place){ .uid = t->uid, .held = malloc((size_t)extent_of(t) * sizeof(double)) };
	for (int64_t i = 0; i < extent_of(t); i++)
		r->places[r->n].held[i] = __builtin_nan("");
	return &r->places[r->n++];
}

struct view { /* view of a tensor of an operation */
	const struct desc *t;
	struct place *p;
};
struct operation {
	const struct desc *op;
	struct view x, b, t, y;
};

static double element(const struct view *v, int64_t offset)
{
	const struct place *p = v->p;

	if (v->t->by_value)
		return p->number;
	return p->held ? p->held[offset] : (double)load(p->at, v->t->type, offset);
}

static double get(const struct view *v, const int64_t at[4])
{
	return element(v, offset_of(v->t, at));
}

/* Returns the distance of neighbours along a dimension. */
static int64_t step_of(const struct desc *t, int dim)
{
	return t->dims[dim] == 1 ? 0 : t->strides[dim];
}

static double rounded(int type, double value)
{
	uint16_t low;

	if (type != 9 && type != 2)
		return type == 0 ? (double)(float)value : value;
	store(&low, type, 0, value);
	return (double)load(&low, type, 0);
}

static void put(const struct view *v, const int64_t at[4], double value)
{
	if (v->p->held)
		v->p->held[offset_of(v->t, at)] = rounded(v->t->type, value);
	else
		store(v->p->at, v->t->type, offset_of(v->t, at), value);
}

static double apply(const struct operation *o, const int64_t at[4])
{
	double x = get(&o->x, at), b = o->b.t ? get(&o->b, at) : 0;

	switch (o->op->conv->mode) {
	case 0: return x + b;
	case 1: return x * b;
	case 6: return x / b;
	case 9: return x - b;
	case 13: return exp(x);
	case 15: return log(x);
	case 21: return x;
	case 303: return x >= b;
	case 501: return (double)at[o->op->conv->axis];
	default: return get(&o->t, at) != 0 ? x : b;
	}
}

static double product(const struct operation *o, const int64_t at[4])
{
	int64_t i = offset_of(o->x.t, (int64_t[]){ at[0], at[1], at[2], 0 }), n = o->x.t->dims[3];
	int64_t j = offset_of(o->b.t, (int64_t[]){ at[0], at[1], 0, at[3] });
	double sum = 0;

	for (int64_t k = 0; k < n; k++)
		sum += element(&o->x, i + k * step_of(o->x.t, 3)) * element(&o->b, j + k * step_of(o->b.t, 2));
	return sum;
}

/* Over the last dimension, the only one that attention sums. */
static double reduced(const struct operation *o, const int64_t at[4])
{
	int64_t i = offset_of(o->x.t, (int64_t[]){ at[0], at[1], at[2], 0 });
	bool max = o->op->conv->mode == 3;
	double out = max ? -INFINITY : 0;

	for (int64_t k = 0; k < o->x.t->dims[3]; k++) {
		double x = element(&o->x, i + k * step_of(o->x.t, 3));

		out = max ? fmax(out, x) : out + x;
	}
	return out;
}

/* Describes the same memory with other strides. */
static void reshape(const struct operation *o)
{
	for (int64_t i = 0; i < extent_of(o->y.t); i++)
		o->y.p->held[i] = rounded(o->y.t->type,
					  o->x.p->held ? o->x.p->held[i] : (double)load(o->x.p->at, o->x.t->type, i));
}

static struct view view_of(struct run *r, const struct desc *t)
{
	return (struct view){ t, t ? place_of(r, t) : NULL };
}

static void run_operation(struct run *r, const struct desc *op)
{
	const struct desc *y = op->y;
	const struct operation o = { op, view_of(r, op->x), view_of(r, op->b), view_of(r, op->t), view_of(r, y) };

	if (op->kind == OP_RESHAPE) {
		reshape(&o);
		return;
	}
	for (int64_t i = 0; i < count_of(y); i++) {
		int64_t at[4], left = i;

		for (int k = 3; k >= 0; k--) {
			at[k] = left % y->dims[k];
			left /= y->dims[k];
		}
		put(&o.y, at, op->kind == OP_POINTWISE ? apply(&o, at) : op->kind == OP_MATMUL ? product(&o, at) : reduced(&o, at));
	}
}

static void run_graph(void *data)
{
	struct run *r = data;
	const char *slow = getenv("STANDIN_DNN_SLOW");

	if (slow)
		usleep((unsigned)atoi(slow));
	if (r->engine == 3)
		memset(r->workspace, 0xff, SCRIBBLED);
	for (int64_t i = 0; i < r->graph->n_ops; i++)
		run_operation(r, r->graph->ops[i]);
	for (; r->n && r->places[r->n - 1].held; r->n--)
		free(r->places[r->n - 1].held);
}

/* Every tensor except intermediates has a pointer, a multiple of 16 unless it is the host's. */
static int gather(struct run *r, const struct desc *t, const struct desc *pack)
{
	for (int i = 0; i < r->n && t; i++)
		if (r->places[i].uid == t->uid)
			return 0;
	for (int64_t i = 0; t && !t->is_virtual && i < pack->n_ids; i++) {
		void *at = pack->pointers[i];

		if (pack->ids[i] != t->uid)
			continue;
		if (!at || (!t->by_value && (uintptr_t)at % 16) || r->n == 64)
			return BAD_PARAM;
		if (t->by_value && isinf(*(float *)at) && cudnnGetVersion() < 91000) /* cudnn-frontend passes none */
			return BAD_PARAM;
		r->places[r->n++] = (struct place){ .uid = t->uid, .at = at, .number = t->by_value ? (double)*(float *)at : 0 };
		return 0;
	}
	return !t || t->is_virtual ? 0 : BAD_PARAM;
}

int run_operations(struct handle *h, const struct desc *plan, const struct desc *pack)
{
	struct run r = { .engine = plan->of->index, .graph = plan->of->of, .workspace = pack->workspace };

	for (int64_t i = 0; i < r.graph->n_ops; i++) {
		const struct desc *op = r.graph->ops[i], *all[] = { op->x, op->b, op->t, op->y };

		for (int k = 0; k < 4; k++)
			if (gather(&r, all[k], pack))
				return BAD_PARAM;
	}
	return standin_enqueue(h->stream, run_graph, &r, sizeof(r)) ? EXECUTION_FAILED : 0;
}

int run_convolution(struct handle *h, const struct desc *p, const struct desc *v)
{
	const struct desc *cfg = p->of, *op = cfg->of->ops[0];
	struct job j = { .kind = op->kind, .type = op->x->type, .engine = cfg->index, .workspace = v->workspace };

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
	return standin_enqueue(h->stream, run, &j, sizeof(j)) ? EXECUTION_FAILED : 0;
}

