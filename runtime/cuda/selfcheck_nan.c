/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that a NaN stays a NaN after a relu; otherwise the error would be hidden. This program's kernel guarantees
 * that. cuBLASLt's documentation defines its epilogue only as max(x, 0), which does not. Therefore the product with its
 * epilogue is run, even if it is slower, and the loss is checked.
 */
#include <errno.h>
#include <math.h>
#include "runtime/cuda/selfcheck.h"

#define M 48
#define K 32
#define N 64

int rt_cuda_selfcheck_nan(enum rt_check_type type, uint64_t seed, json_t *rows, struct gt_err *err)
{
	struct rt_options o = { .device = RT_CUDA, .seed = seed, .deterministic = true };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_auto_json *about = NULL;
	gt_autofree char *why = NULL;
	json_t *row;
	struct rt_node *y = rt_linear(g, rt_input(g, "x", RT_F32, RT_SHAPE(M, K)),
				      rt_param(g, "w", RT_SHAPE(N, K), RT_INIT_NORMAL(1)),
				      rt_param(g, "b", RT_SHAPE(N), RT_INIT_ZEROS));
	struct rt_node *loss = rt_dot(g, rt_relu(g, y), rt_input(g, "weights", RT_F32, RT_SHAPE(M, N)));
	float x[M * K], weights[M * N];
	const void *const in[] = { x, weights };
	struct gt_err ignored;
	double value = 0;
	int r;

	for (int i = 0; i < M * N; i++)
		weights[i] = 1;
	for (int i = 0; i < M * K; i++)
		x[i] = rt_random_normal(seed, 95, (uint64_t)i);
	rt_check_set_type(type, &o);
	r = rt_compile(g, loss, &o, &p, err);
	if (!r)
		r = rt_eval(p, in, &value, err);
	if (r)
		return r;
	x[K + 7] = NAN;
	r = rt_eval(p, in, &value, &ignored);
	if (r && r != -EDOM) {
		*err = ignored;
		return r;
	}
	about = rt_program_report(p);
	row = json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:b}", "case", "relu.nan", "type", rt_check_type_name(type), "tensor",
			"loss of a NaN", "error", r ? 0.0 : 1.0, "worst", 0.0, "limit", 0.0, "ok", r == -EDOM);
	why = gt_xasprintf("the fused relu of %s turns NaN into a number: --without fuse uses a separate kernel, which keeps NaN",
			   gt_json_get_str(about, "blas", "cuBLASLt"));
	if (!r)
		json_object_set_new(row, "failure", gt_json_str(why));
	json_array_append_new(rows, row);
	return !r;
}
