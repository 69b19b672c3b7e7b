/* SPDX-License-Identifier: Apache-2.0 */
/* Compares AdamW with 8-bit m and v with the CPU: weights, codes and scales after some steps, also with reused memory
 * and a captured step. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cuda/engine.h"
#include "runtime/cuda/selfcheck.h"

#define ROWS  739
#define SMALL 37 /* keeps f32 moments */
#define BIG   (ROWS * SMALL) /* longer than a chunk of the update, odd, and with a short last block of codes */
#define STEPS 12
#define CODES 1e-3 /* share that may differ by one code: rounded differently at a border on CPUs without fused multiply-add */

enum { CPU, EAGER, CAPTURED, N_RUNS };

struct kept {
	float x[BIG], small[SMALL];
	unsigned char m[BIG], v[BIG];
	float m_scale[BIG / 256 + 1], v_scale[BIG / 256 + 1];
};

static int read_state(struct rt_program *p, const char *name, void *ret, struct gt_err *err)
{
	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (n->role != RT_ROLE_STATE || !gt_streq(n->name, name))
			continue;
		return p->backend->get(p, n, ret, err);
	}
	return gt_fail(err, ENOENT, "the program has no state %s", name);
}

/* Gradients of very different sizes, some of them 0. */
static void fill(float *w, uint64_t seed, uint64_t stream)
{
	for (int i = 0; i < BIG; i++)
		w[i] = i % 11 ? rt_random_normal(seed, stream, (uint64_t)i) * powf(10, (float)(i % 5) - 4) : 0;
}

static int run(enum rt_check_type type, int k, uint64_t seed, struct kept *ret, struct gt_err *err)
{
	struct rt_options o = { .device = k == CPU ? RT_CPU : RT_CUDA, .seed = seed, .debug.poison = k == EAGER,
				.optimizer = { .kind = RT_ADAMW8, .lr = 0.01, .weight_decay = 0.05 } };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *x = rt_param(g, "x", RT_SHAPE(ROWS, SMALL), RT_INIT_NORMAL(1));
	struct rt_node *small = rt_param(g, "small", RT_SHAPE(SMALL), RT_INIT_NORMAL(1)), *loss;
	gt_autofree float *w = gt_xcalloc(BIG, sizeof(*w));
	int r;

	loss = rt_dot(g, rt_add(g, x, small), rt_input(g, "w", RT_F32, RT_SHAPE(ROWS, SMALL)));
	if (k != CPU)
		rt_check_set_type(type, &o);
	r = rt_compile(g, loss, &o, &p, err);
	for (uint64_t t = 0; !r && t < STEPS; t++) {
		struct rt_metrics m;

		fill(w, seed, t);
		r = rt_step(p, (const void *const[]){ w }, &m, err);
	}
	if (!r)
		r = rt_wait(p, err);
	if (!r)
		r = rt_read_value(p, x, ret->x, err);
	if (!r)
		r = rt_read_value(p, small, ret->small, err);
	if (!r)
		r = read_state(p, "m x", ret->m, err);
	if (!r)
		r = read_state(p, "v x", ret->v, err);
	if (!r)
		r = read_state(p, "m scale x", ret->m_scale, err);
	return r ? r : read_state(p, "v scale x", ret->v_scale, err);
}

static bool compare_codes(json_t *rows, enum rt_check_type type, const char *tensor, const unsigned char *a,
			  const unsigned char *b, double most)
{
	int differ = 0, worst = 0;
	bool ok;

	for (int i = 0; i < BIG; i++) {
		differ += a[i] != b[i];
		worst = GT_MAX(worst, abs(a[i] - b[i]));
	}
	ok = differ <= most * BIG && worst <= 1;
	json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:b}", "case", "adamw8", "type",
					      rt_check_type_name(type), "tensor", tensor, "error", (double)differ / BIG,
					      "worst", (double)worst, "limit", most, "ok", ok));
	return ok;
}

int rt_cuda_selfcheck_adam8(enum rt_check_type type, uint64_t seed, json_t *rows, struct gt_err *err)
{
	struct kept *k = gt_xcalloc(N_RUNS, sizeof(*k));
	int failed = 0, r = 0;

	for (int i = 0; !r && i < N_RUNS; i++)
		r = run(type, i, seed, &k[i], err);
	if (!r) {
		struct kept *a = &k[CPU], *b = &k[EAGER], *c = &k[CAPTURED];

		/* a rounded gradient that is small in its block can change v's code, and so the step */
		failed += !rt_check_compare(type, "adamw8", type != RT_CHECK_F32, "x", a->x, b->x, BIG, rows);
		failed += !rt_check_bits(type, "adamw8", "x, captured", b->x, c->x, BIG, rows);
		failed += !rt_check_compare(type, "adamw8", false, "small", a->small, b->small, SMALL, rows);
		failed += !rt_check_compare(type, "adamw8", false, "m scale", a->m_scale, b->m_scale, BIG / 256 + 1, rows);
		failed += !rt_check_compare(type, "adamw8", false, "v scale", a->v_scale, b->v_scale, BIG / 256 + 1, rows);
		if (type == RT_CHECK_F32) { /* the other types round the gradients */
			failed += !compare_codes(rows, type, "m", a->m, b->m, CODES);
			failed += !compare_codes(rows, type, "v", a->v, b->v, CODES);
		}
		failed += !compare_codes(rows, type, "m, captured", b->m, c->m, 0);
		failed += !compare_codes(rows, type, "v, captured", b->v, c->v, 0);
	}
	free(k);
	return r ? gt_fail_prefix(err, "adamw8 in %s", rt_check_type_name(type)) : failed;
}
