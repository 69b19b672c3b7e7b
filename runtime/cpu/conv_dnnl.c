/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution with oneDNN; hides the differences of its 2.x and 3.x interfaces. Images are used as they are. The
 * weights are reordered for the kernel, in the program's scratch memory, so the library allocates nothing in a step. A
 * primitive is created once per shape and cached; compiling the program creates all of them.
 */
#include "config.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cpu/conv_dnnl.h"

#ifdef HAVE_DNNL
#include <oneapi/dnnl/dnnl.h>

enum { X, W, Y, PACKED, SCRATCH, N_MEMORIES };
struct key {
	struct rt_conv shape;
	int64_t kind, bf16, threads; /* threads of the library */
};
/* Tensors of one execution. Concurrent executions use different slots. */
struct slot {
	dnnl_memory_t memory[N_MEMORIES];
};
struct primitive {
	struct rt_conv_kernel kernel; /* public part */
	struct key key;
	bool usable;
	dnnl_primitive_t conv, reorder; /* reorder: of the weights, if the kernel uses another layout */
	struct slot *slots;
	int n_slots;
};
/* One model needs some dozens of shapes with three kinds each. If the table is full, the oldest entry is replaced. */
#define PRIMITIVES	512
static struct primitive primitives[PRIMITIVES];
static int n_primitives, next_primitive;
static dnnl_engine_t engine;
static dnnl_stream_t stream;

struct dims {
	dnnl_dims_t x, w, y, strides, pads, dilates;
	int w_dims;
};

static struct dims dims_of(const struct rt_conv *s)
{
	struct dims d = {
		.x = { s->n, s->c, s->h, s->w },
		.y = { s->n, s->o, s->oh, s->ow },
		.w = { s->o, s->c, s->kh, s->kw },
		.w_dims = 4,
		.strides = { s->stride, s->stride },
		.pads = { s->pad, s->pad },
	};

	if (s->groups > 1) {
		const dnnl_dims_t w = { s->groups, s->o / s->groups, s->c / s->groups, s->kh, s->kw };

		memcpy(d.w, w, sizeof(w));
		d.w_dims = 5;
	}
	return d;
}

/* Padding after the image, up to the end of the last window. May be less than the padding before it. */
static void pads_after(const struct rt_conv *s, dnnl_dims_t ret)
{
	ret[0] = (s->oh - 1) * s->stride + s->kh - s->h - s->pad;
	ret[1] = (s->ow - 1) * s->stride + s->kw - s->w - s->pad;
}

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t layout;
typedef const_dnnl_memory_desc_t layout_of_pd;

/* Layouts of a call's tensors. any: weights in a layout chosen by the kernel. hint_*: a backward primitive needs a
 * forward primitive as a hint, whose operands all have the type that is read. */
struct layouts {
	layout x, w, y, any, hint_x, hint_w, hint_y;
};

static dnnl_status_t layout_make(layout *ret, int n, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
	return dnnl_memory_desc_create_with_tag(ret, n, dims, type, tag);
}

static void layout_free(layout l)
{
	if (l)
		dnnl_memory_desc_destroy(l);
}

static dnnl_status_t describe(dnnl_primitive_desc_t *ret, enum rt_conv_kind kind, const struct layouts *l, const struct dims *d,
			      const dnnl_dims_t after, const_dnnl_primitive_attr_t attr)
{
	dnnl_primitive_desc_t forward = NULL;
	dnnl_status_t s = dnnl_convolution_forward_primitive_desc_create(
		&forward, engine, dnnl_forward_training, dnnl_convolution_direct, l->hint_x, l->hint_w, NULL, l->hint_y,
		d->strides, d->dilates, d->pads, after, attr);

	if (s != dnnl_success || kind == RT_CONV_FWD) {
		*ret = forward;
		return s;
	}
	if (kind == RT_CONV_BWD_X)
		s = dnnl_convolution_backward_data_primitive_desc_create(ret, engine, dnnl_convolution_direct, l->x, l->any,
									 l->y, d->strides, d->dilates, d->pads, after, forward,
									 attr);
	else
		s = dnnl_convolution_backward_weights_primitive_desc_create(ret, engine, dnnl_convolution_direct, l->x, l->any,
									    NULL, l->y, d->strides, d->dilates, d->pads, after,
									    forward, attr);
	dnnl_primitive_desc_destroy(forward);
	return s;
}

static dnnl_status_t describe_reorder(dnnl_primitive_desc_t *ret, layout_of_pd from, layout_of_pd to)
{
	return dnnl_reorder_primitive_desc_create(ret, from, engine, to, engine, NULL);
}

static layout_of_pd same(layout l)
{
	return l;
}
#else
typedef dnnl_memory_desc_t layout;
typedef const dnnl_memory_desc_t *layout_of_pd;

/* Layouts of a call's tensors. any: weights in a layout chosen by the kernel. hint_*: a backward primitive needs a
 * forward primitive as a hint, whose operands all have the type that is read. */
struct layouts {
	layout x, w, y, any, hint_x, hint_w, hint_y;
};

static dnnl_status_t layout_make(layout *ret, int n, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
	return dnnl_memory_desc_init_by_tag(ret, n, dims, type, tag);
}

static void layout_free(layout l)
{
}

static dnnl_status_t describe(dnnl_primitive_desc_t *ret, enum rt_conv_kind kind, const struct layouts *l, const struct dims *d,
			      const dnnl_dims_t after, const_dnnl_primitive_attr_t attr)
{
	dnnl_primitive_desc_t forward = NULL;
	dnnl_convolution_desc_t desc;
	dnnl_status_t s = dnnl_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct, &l->hint_x,
							     &l->hint_w, NULL, &l->hint_y, d->strides, d->pads, after);

	if (s == dnnl_success)
		s = dnnl_primitive_desc_create(&forward, &desc, attr, engine, NULL);
	if (s != dnnl_success || kind == RT_CONV_FWD) {
		*ret = forward;
		return s;
	}
	if (kind == RT_CONV_BWD_X)
		s = dnnl_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &l->x, &l->any, &l->y, d->strides,
							     d->pads, after);
	else
		s = dnnl_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &l->x, &l->any, NULL, &l->y,
								d->strides, d->pads, after);
	if (s == dnnl_success)
		s = dnnl_primitive_desc_create(ret, &desc, attr, engine, forward);
	dnnl_primitive_desc_destroy(forward);
	return s;
}

static dnnl_status_t describe_reorder(dnnl_primitive_desc_t *ret, layout_of_pd from, layout_of_pd to)
{
	return dnnl_reorder_primitive_desc_create(ret, from, engine, to, engine, NULL);
}

static layout_of_pd same(const layout l)
{
	static _Thread_local layout copy;

	copy = l;
	return &copy;
}
#endif

static dnnl_status_t memory_make(struct primitive *p, int which, layout_of_pd l)
{
	return dnnl_memory_create(&p->slots[0].memory[which], l, engine, DNNL_MEMORY_NONE);
}

static size_t lines(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* Creates the reorder of the weights between PyTorch's layout and the kernel's. */
static dnnl_status_t make_reorder(struct primitive *p, layout plain, layout_of_pd packed)
{
	dnnl_primitive_desc_t pd = NULL;
	dnnl_status_t s;

	p->kernel.reorders = true;
	s = p->key.kind == RT_CONV_BWD_W ? describe_reorder(&pd, packed, same(plain)) :
					   describe_reorder(&pd, same(plain), packed);
	if (s == dnnl_success)
		s = dnnl_primitive_create(&p->reorder, pd);
	if (pd)
		dnnl_primitive_desc_destroy(pd);
	return s == dnnl_success ? memory_make(p, PACKED, packed) : s;
}

static dnnl_status_t make_memories(struct primitive *p, dnnl_primitive_desc_t pd, layout x, layout w, layout y)
{
	layout_of_pd scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0), packed;
	dnnl_status_t s;

	packed = dnnl_primitive_desc_query_md(
		pd, p->key.kind == RT_CONV_BWD_W ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
	p->kernel.scratch_bytes = lines(dnnl_memory_desc_get_size(scratch));
	p->kernel.weight_bytes = lines(dnnl_memory_desc_get_size(packed));
	p->slots = gt_xcalloc(1, sizeof(*p->slots));
	p->n_slots = 1;
	s = memory_make(p, SCRATCH, scratch);
	s = s == dnnl_success ? memory_make(p, X, same(x)) : s;
	s = s == dnnl_success ? memory_make(p, Y, same(y)) : s;
	s = s == dnnl_success ? memory_make(p, W, same(w)) : s;
	if (s == dnnl_success && !dnnl_memory_desc_equal(packed, same(w)))
		s = make_reorder(p, w, packed);
	return s;
}

/* Returns false for the library's reference implementation, which is slower than conv_own.c. */
static bool is_fast(dnnl_primitive_desc_t pd)
{
	const char *name = NULL;

	return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success && !strstr(name, "ref");
}

static dnnl_status_t attributes(dnnl_primitive_attr_t *ret)
{
	dnnl_status_t s = dnnl_primitive_attr_create(ret);

	return s == dnnl_success ? dnnl_primitive_attr_set_scratchpad_mode(*ret, dnnl_scratchpad_mode_user) : s;
}

static dnnl_status_t make_layouts(struct layouts *l, const struct key *k, const struct dims *d)
{
	dnnl_data_type_t read = k->bf16 ? dnnl_bf16 : dnnl_f32;
	dnnl_data_type_t x = k->kind == RT_CONV_BWD_X ? dnnl_f32 : read, w = k->kind == RT_CONV_BWD_W ? dnnl_f32 : read;
	dnnl_data_type_t y = k->kind == RT_CONV_FWD ? dnnl_f32 : read;
	const struct {
		layout *to;
		int n;
		const int64_t *dims;
		dnnl_data_type_t type;
		dnnl_format_tag_t tag;
	} all[] = {
		{ &l->x, 4, d->x, x, dnnl_nhwc },	  { &l->y, 4, d->y, y, dnnl_nhwc },
		{ &l->w, d->w_dims, d->w, w, d->w_dims == 5 ? dnnl_goihw : dnnl_oihw },
		{ &l->any, d->w_dims, d->w, w, dnnl_format_tag_any },
		{ &l->hint_x, 4, d->x, read, dnnl_nhwc },
		{ &l->hint_y, 4, d->y, k->kind == RT_CONV_FWD ? y : read, dnnl_nhwc },
		{ &l->hint_w, d->w_dims, d->w, read, dnnl_format_tag_any },
	};
	dnnl_status_t s = dnnl_success;

	for (size_t i = 0; i < GT_ARRAY_SIZE(all) && s == dnnl_success; i++)
		s = layout_make(all[i].to, all[i].n, all[i].dims, all[i].type, all[i].tag);
	return s;
}

/* oneDNN 2.6's weight gradient in bf16 processes pixels of a row in pairs. If a row is shorter than the stride, it
 * multiplies uninitialised scratch memory, which may be NaN, by zero. */
static bool reads_uninitialised(const struct key *k)
{
	return k->bf16 && k->kind == RT_CONV_BWD_W && k->shape.w < k->shape.stride;
}

static void make(struct primitive *p)
{
	struct dims d = dims_of(&p->key.shape);
	struct layouts l;
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	dnnl_dims_t after = { 0 };
	dnnl_status_t s;

	memset(&l, 0, sizeof(l));
	pads_after(&p->key.shape, after);
	s = make_layouts(&l, &p->key, &d);
	s = s == dnnl_success ? attributes(&attr) : s;
	s = s == dnnl_success ? describe(&pd, (enum rt_conv_kind)p->key.kind, &l, &d, after, attr) : s;
	if (s == dnnl_success && is_fast(pd) && !reads_uninitialised(&p->key)) {
		s = make_memories(p, pd, l.x, l.w, l.y);
		s = s == dnnl_success ? dnnl_primitive_create(&p->conv, pd) : s;
		p->usable = s == dnnl_success;
	}
	if (pd)
		dnnl_primitive_desc_destroy(pd);
	if (attr)
		dnnl_primitive_attr_destroy(attr);
	layout_free(l.x);
	layout_free(l.y);
	layout_free(l.w);
	layout_free(l.any);
	layout_free(l.hint_x);
	layout_free(l.hint_y);
	layout_free(l.hint_w);
}

static void forget(struct primitive *p)
{
	if (p->conv)
		dnnl_primitive_destroy(p->conv);
	if (p->reorder)
		dnnl_primitive_destroy(p->reorder);
	for (int k = 0; k < p->n_slots; k++)
		for (int i = 0; i < N_MEMORIES; i++)
			if (p->slots[k].memory[i])
				dnnl_memory_destroy(p->slots[k].memory[i]);
	free(p->slots);
	memset(p, 0, sizeof(*p));
}

static bool open_library(void)
{
	if (stream)
		return true;
	return dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
	       dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
}

static struct primitive *find(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads)
{
	struct key key = { .shape = *s, .kind = kind, .bf16 = bf16, .threads = threads };
	struct primitive *p;

	for (int i = 0; i < n_primitives; i++)
		if (!memcmp(&primitives[i].key, &key, sizeof(key)))
			return &primitives[i];
	if (!open_library())
		return NULL;
	p = &primitives[next_primitive];
	next_primitive = (next_primitive + 1) % PRIMITIVES;
	if (n_primitives < PRIMITIVES)
		n_primitives++;
	else
		forget(p);
	p->key = key;
	omp_set_num_threads(threads);
	make(p);
	return p;
}

static layout_of_pd layout_of(const dnnl_memory_t m)
{
	layout_of_pd l = NULL;

	dnnl_memory_get_memory_desc(m, &l);
	return l;
}

static bool have_slots(struct primitive *p, int n)
{
	if (p->n_slots < n)
		p->slots = gt_xrealloc(p->slots, (size_t)n * sizeof(*p->slots));
	while (p->n_slots < n) {
		dnnl_memory_t *m = p->slots[p->n_slots++].memory;

		memset(m, 0, sizeof(p->slots->memory));
		for (int i = 0; i < N_MEMORIES; i++)
			if (p->slots[0].memory[i] && dnnl_memory_create(&m[i], layout_of(p->slots[0].memory[i]), engine,
									DNNL_MEMORY_NONE) != dnnl_success)
				return p->usable = false;
	}
	return true;
}

const struct rt_conv_kernel *rt_conv_kernel(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads, int at_once)
{
	struct primitive *p = find(s, kind, bf16, threads);

	return p && p->usable && have_slots(p, at_once) ? &p->kernel : NULL;
}

static const struct primitive *primitive_of(const struct rt_conv_kernel *k)
{
	return (const struct primitive *)(const void *)k; /* kernel is its first member */
}

bool rt_conv_kernels_share_weights(const struct rt_conv_kernel *a, const struct rt_conv_kernel *b)
{
	int which = a->reorders ? PACKED : W;

	return a->reorders == b->reorders && dnnl_memory_desc_equal(layout_of(primitive_of(a)->slots[0].memory[which]),
								    layout_of(primitive_of(b)->slots[0].memory[which]));
}

static void execute(dnnl_primitive_t p, const dnnl_exec_arg_t *args, int n)
{
	/* Everything was checked when the primitive was created, so a failure here is a bug. */
	if (dnnl_primitive_execute(p, stream, n, args) != dnnl_success || dnnl_stream_wait(stream) != dnnl_success)
		abort();
}

void rt_conv_execute(const struct rt_conv_kernel *k, int slot, void *x, void *w, void *y, void *scratch)
{
	static const int names[][3] = {
		[RT_CONV_FWD] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST },
		[RT_CONV_BWD_X] = { DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST },
		[RT_CONV_BWD_W] = { DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST },
	};
	const struct primitive *p = primitive_of(k);
	const dnnl_memory_t *m = p->slots[slot].memory;
	const int *name = names[p->key.kind], weights = k->reorders ? PACKED : W;

	dnnl_memory_set_data_handle(m[X], x);
	dnnl_memory_set_data_handle(m[weights], w);
	dnnl_memory_set_data_handle(m[Y], y);
	dnnl_memory_set_data_handle(m[SCRATCH], scratch);
	execute(p->conv,
		(dnnl_exec_arg_t[]){ { name[0], m[X] }, { name[1], m[weights] }, { name[2], m[Y] },
				     { DNNL_ARG_SCRATCHPAD, m[SCRATCH] } }, 4);
}

void rt_conv_reorder(const struct rt_conv_kernel *k, void *w, void *packed)
{
	const dnnl_memory_t *m = primitive_of(k)->slots[0].memory;
	bool back = primitive_of(k)->key.kind == RT_CONV_BWD_W;

	dnnl_memory_set_data_handle(m[W], w);
	dnnl_memory_set_data_handle(m[PACKED], packed);
	execute(primitive_of(k)->reorder,
		(dnnl_exec_arg_t[]){ { DNNL_ARG_FROM, m[back ? PACKED : W] }, { DNNL_ARG_TO, m[back ? W : PACKED] } }, 2);
}
#else
const struct rt_conv_kernel *rt_conv_kernel(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads, int at_once)
{
	return NULL;
}

bool rt_conv_kernels_share_weights(const struct rt_conv_kernel *a, const struct rt_conv_kernel *b)
{
	return false;
}

void rt_conv_execute(const struct rt_conv_kernel *k, int slot, void *x, void *w, void *y, void *scratch)
{
	abort(); /* not reached: rt_conv_kernel() returns NULL */
}

void rt_conv_reorder(const struct rt_conv_kernel *k, void *w, void *packed)
{
	abort();
}
#endif
