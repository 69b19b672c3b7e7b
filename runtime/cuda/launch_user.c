/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's own ops: the caller's image is loaded into the context, and the caller's functions launch from it on the
 * engine's stream. */
#include <errno.h>
#include "runtime/cuda/launch.h"

struct rt_user_kernels {
	const struct rt_user_op *op;
	void *module, *fn[RT_USER_KERNELS];
	size_t shared[RT_USER_KERNELS];
	struct rt_user_kernels *next;
};

static struct rt_user_kernels *kernels_of(const struct rt_engine *e, const struct rt_user_op *op)
{
	struct rt_user_kernels *k = e->user;

	while (k && k->op != op)
		k = k->next;
	return k;
}

static const char *user_refuses(const struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_user_cuda *cuda = c->attr.user->cuda;

	if (!cuda || !cuda->forward)
		return "it has no device code: give its struct rt_user_op a .cuda with an image and a forward";
	return NULL;
}

static const char *user_bwd_refuses(const struct rt_engine *e, const struct rt_call *c)
{
	const char *why = user_refuses(e, c);

	if (!why && !c->attr.user->cuda->backward)
		why = "it has no device code for its gradient: give its .cuda a backward";
	return why;
}

/* ---- loading ---- */
static int find_kernels(struct rt_engine *e, struct rt_user_kernels *k, struct gt_err *err)
{
	const char *const *names = k->op->cuda->kernels;
	int r = 0;

	for (int i = 0; !r && names && names[i]; i++) {
		cu_result code;

		if (i == RT_USER_KERNELS)
			return gt_fail(err, EINVAL, "%s: more than %d kernels", k->op->name, RT_USER_KERNELS);
		code = e->dev->d.module_function(&k->fn[i], k->module, names[i]);
		if (code == CU_NOT_FOUND)
			return gt_fail(err, EINVAL, "%s: its image has no kernel \"%s\" (declare it extern \"C\" to keep its "
						    "name)",
				       k->op->name, names[i]);
		r = rt_engine_check(e, code, "cuModuleGetFunction", err);
	}
	return r;
}

static int load(struct rt_engine *e, const struct rt_user_op *op, struct gt_err *err)
{
	struct rt_user_kernels *k = gt_xcalloc(1, sizeof(*k));
	int r = 0;

	k->op = op;
	k->next = e->user;
	e->user = k;
	if (op->cuda->image)
		r = rt_engine_check(e, e->dev->d.module_load(&k->module, op->cuda->image), "cuModuleLoadData", err);
	if (r)
		return gt_fail_prefix(err, "the image of %s", op->name);
	return k->module ? find_kernels(e, k, err) : 0;
}

int rt_launch_user_open(struct rt_program *p, struct gt_err *err)
{
	int r = 0;

	for (int i = 0; !r && i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];

		if (c->attr.user && !kernels_of(p->state, c->attr.user))
			r = load(p->state, c->attr.user, err);
	}
	return r;
}

void rt_launch_user_close(struct rt_engine *e)
{
	while (e->user) {
		struct rt_user_kernels *next = e->user->next;

		if (e->user->module)
			e->dev->d.module_unload(e->user->module);
		free(e->user);
		e->user = next;
	}
}

/* ---- running ---- */
/* Argument of the caller's callbacks, which they pass to rt_user_launch(). */
struct run {
	struct rt_user_run public;
	struct rt_engine *e;
	struct rt_user_kernels *kernels;
};

static int allow_shared(struct rt_engine *e, struct rt_user_kernels *k, int kernel, size_t bytes, struct gt_err *err)
{
	int r;

	if (bytes <= k->shared[kernel]) /* same condition as in rt_cuda_allow_shared() */
		return 0;
	r = rt_engine_check(e,
			    e->dev->d.function_attribute(k->fn[kernel], CU_FUNC_ATTR_DYNAMIC_SHARED,
							 (int)GT_MIN(bytes, (size_t)INT32_MAX)),
			    "cuFuncSetAttribute", err);
	if (r)
		return gt_fail_prefix(err, "%zu bytes of shared memory for %s", bytes, k->op->cuda->kernels[kernel]);
	k->shared[kernel] = bytes;
	return 0;
}

int rt_user_launch(const struct rt_user_run *run, int kernel, const unsigned blocks[3], const unsigned threads[3],
		   size_t shared_bytes, void **args, struct gt_err *err)
{
	const struct run *r = (const struct run *)run;
	struct rt_user_kernels *k = r->kernels;
	int failed;

	if (kernel < 0 || kernel >= RT_USER_KERNELS || !k->fn[kernel])
		return gt_fail(err, EINVAL, "there is no kernel %d in its list", kernel);
	failed = allow_shared(r->e, k, kernel, shared_bytes, err);
	if (failed)
		return failed;
	failed = rt_engine_check(r->e,
				 r->e->dev->d.launch(k->fn[kernel], blocks[0], blocks[1], blocks[2], threads[0], threads[1],
						     threads[2], (unsigned)shared_bytes, run->stream, args, NULL),
				 "cuLaunchKernel", err);
	return failed ? gt_fail_prefix(err, "%s", k->op->cuda->kernels[kernel]) : 0;
}

/* Shapes of the inputs from in[first] on; y is the result. */
static void set_shapes(const struct rt_call *c, int first, const struct rt_node *y, struct rt_shape *ret)
{
	for (int i = 0; i < c->attr.user->inputs; i++)
		ret[i] = c->in[first + i]->shape;
	ret[c->attr.user->inputs] = y->shape;
}

static void call_out(struct rt_engine *e, const struct rt_call *c, int first, const struct rt_node *y, const struct rt_node *dy,
		     int (*how)(const struct rt_user_run *, struct gt_err *))
{
	const struct rt_user_op *op = c->attr.user;
	struct rt_shape shapes[RT_USER_INPUTS + 1];
	struct gt_err err = { 0 };
	struct run run = { .e = e, .kernels = kernels_of(e, op) };
	int r;

	if (e->r)
		return;
	set_shapes(c, first, y, shapes);
	run.public = (struct rt_user_run){ .shapes = shapes, .arg = c->attr.arg, .y = rt_at(y), .dy = rt_at(dy),
					   .scratch = scratch(c), .multiprocessors = e->dev->sms, .stream = e->stream };
	for (int i = 0; i < op->inputs; i++) {
		run.public.in[i] = rt_at(c->in[first + i]);
		run.public.dx[i] = dy ? rt_at(c->out[i]) : 0;
	}
	r = how(&run.public, &err);
	if (r && !err.msg[0])
		gt_fail(&err, EINVAL, "its device code failed with %d", r);
	if (r)
		gt_fail_prefix(&err, "%s", op->name);
	rt_launch_result(e, r > 0 ? -EINVAL : r, &err);
}

static size_t scratch_of(const struct rt_call *c, int first, const struct rt_node *y, bool backward)
{
	const struct rt_user_cuda *cuda = c->attr.user->cuda;
	struct rt_shape shapes[RT_USER_INPUTS + 1];

	if (!cuda || !cuda->scratch_bytes)
		return 0;
	set_shapes(c, first, y, shapes);
	return cuda->scratch_bytes(shapes, backward, c->attr.arg);
}

static size_t user_scratch(struct rt_engine *e, const struct rt_call *c)
{
	return scratch_of(c, 0, c->out[0], false);
}

static size_t user_bwd_scratch(struct rt_engine *e, const struct rt_call *c)
{
	return scratch_of(c, 2, c->in[1], true);
}

static void run_user(struct rt_engine *e, const struct rt_call *c)
{
	call_out(e, c, 0, c->out[0], NULL, c->attr.user->cuda->forward);
}

const struct rt_cuda_kernel rt_cuda_user = { .run = run_user, .scratch = user_scratch, .refuses = user_refuses };

static void run_user_bwd(struct rt_engine *e, const struct rt_call *c)
{
	call_out(e, c, 2, c->in[1], c->in[0], c->attr.user->cuda->backward);
}

const struct rt_cuda_kernel rt_cuda_user_bwd = { .run = run_user_bwd, .scratch = user_bwd_scratch, .refuses = user_bwd_refuses };
