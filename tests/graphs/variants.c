/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the properties share. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tests/graphs/variants.h"

bool broken(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->message, sizeof(t->message), fmt, ap);
	va_end(ap);
	t->kind = fmt;
	return false;
}

bool discard(struct trial *t)
{
	t->discarded = true;
	return true;
}

struct rt_program *trial_program(struct trial *t, const struct gen_program *m, const struct gen_graph *mg,
				 const struct rt_options *opt)
{
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	struct rt_options o = *opt;
	int r;

	o.device = variants_device;
	r = rt_compile(mg->g, mg->loss, &o, &p, &err);
	t->refused |= r == -ENOSYS && strstr(err.msg, "; the CPU can run it");
	if (r) {
		broken(t, "compiling: %s", err.msg);
		return NULL;
	}
	gen_load(m, mg, p);
	return p;
}

/* Copies of device tensors until the trial ends. */
static struct seen {
	struct seen *next;
	float x[];
} *seen;

void read_clear(void)
{
	while (seen) {
		struct seen *next = seen->next;

		free(seen);
		seen = next;
	}
}

static float *copy_of(struct rt_program *p, const struct rt_node *n,
		      int (*read)(struct rt_program *, const struct rt_node *, float *, struct gt_err *))
{
	struct seen *s = gt_xcalloc(1, sizeof(*s) + (size_t)rt_shape_elements(&n->shape) * sizeof(float));

	if (read(p, n, s->x, NULL)) {
		free(s);
		return NULL;
	}
	s->next = seen;
	seen = s;
	return s->x;
}

const float *read_value(struct rt_program *p, const struct rt_node *n)
{
	return variants_device == RT_CPU ? rt_value(p, n) : copy_of(p, n, rt_read_value);
}

const float *read_gradient(struct rt_program *p, const struct rt_node *n)
{
	return variants_device == RT_CPU ? rt_gradient(p, n) : copy_of(p, n, rt_read_gradient);
}

bool trial_has(const struct gen_program *m, enum gen_op op)
{
	for (int i = 0; i < m->n; i++)
		if (m->step[i].op == op)
			return true;
	return false;
}

struct rt_options trial_options(const struct gen_program *m)
{
	static const struct rt_optimizer optimizers[] = {
		{ .kind = RT_SGD, .lr = 0.05 },
		{ .kind = RT_SGD, .lr = 0.02, .momentum = 0.9, .weight_decay = 0.01 },
		{ .kind = RT_ADAM, .lr = 1e-3, .weight_decay = 0.01 },
		{ .kind = RT_ADAMW, .lr = 1e-3, .weight_decay = 0.1 },
		{ .kind = RT_ADAMW8, .lr = 1e-3 },
	};
	const uint8_t *how = m->how;
	struct rt_options o = {
		.optimizer = optimizers[how[0] % 5],
		.accum = 1 + how[1] % 3,
		.clip_norm = how[2] % 3 == 0 ? 0.5 : 0,
		.precision = { .amp = how[3] % 6 == 4 ? RT_BF16 : how[3] % 6 == 5 ? RT_F16 : RT_F32,
			       .scaler = { .use = how[9] % 4 == 0 ? RT_SCALER_ON : RT_SCALER_AUTO, .init = 1024 } },
		.debug = { .no_fuse = how[4] % 4 == 0, .zero_gradients = how[5] % 5 == 0, .no_winograd = how[8] % 2 },
		.threads = 1 + how[6] % 3,
		.memory.logits_slice_bytes = how[7] % 3 ? 256u << how[7] % 3 : 0,
		.seed = 5,
	};

	if (variants_device == RT_CUDA) { /* CUDA assigns gradients; compared bits need deterministic kernels */
		o.debug.zero_gradients = false;
		o.deterministic = true;
		o.precision.tf32 = how[8] % 3 == 0;
		o.debug.no_pad = how[6] % 2;
		o.precision.fp8.use = o.precision.amp == RT_BF16 && how[4] % 3 == 0;
		o.precision.no_master = o.precision.amp == RT_BF16 && how[13] % 2;
	}
	return o;
}
