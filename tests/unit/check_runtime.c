/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include "tests/unit/check_runtime.h"

static void leaves_alloc(struct leaves *l, const struct rt_graph *g)
{
	l->n = rt_graph_leaves(g);
	l->n_inputs = 0;
	l->value = gt_xcalloc((size_t)l->n + 1, sizeof(*l->value));
	l->input = gt_xcalloc((size_t)l->n + 1, sizeof(*l->input));
}

/* Takes ownership of `data`: the values of leaf i as 32-bit floats or integers. */
static void leaves_set(struct leaves *l, const struct rt_graph *g, int i, void *data)
{
	const struct rt_node *n = rt_graph_leaf(g, i);
	size_t count = (size_t)rt_shape_elements(rt_node_shape(n));

	l->value[i] = gt_xcalloc(count, sizeof(double));
	for (size_t k = 0; k < count; k++)
		l->value[i][k] = rt_node_dtype(n) == RT_I32 ? (double)((int32_t *)data)[k] : (double)((float *)data)[k];
	if (rt_node_is_param(n) || rt_node_is_buffer(n))
		free(data);
	else
		l->input[l->n_inputs++] = data;
}

void leaves_make(struct leaves *l, const struct rt_graph *g, int limit, uint64_t seed)
{
	leaves_alloc(l, g);
	for (int i = 0; i < l->n; i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		size_t count = (size_t)rt_shape_elements(rt_node_shape(n));
		void *data = gt_xcalloc(count, 4);

		for (size_t k = 0; k < count; k++)
			if (rt_node_dtype(n) == RT_I32)
				((int32_t *)data)[k] = (int32_t)(rt_random_u64(seed, (uint64_t)i, k) % (uint64_t)limit);
			else
				((float *)data)[k] = rt_random_normal(seed, (uint64_t)i, k) * 0.7f + 0.1f;
		leaves_set(l, g, i, data);
	}
}

void leaves_of_case(struct leaves *l, const struct rt_case *c, const struct rt_graph *g, const struct rt_case_graph *built,
		    uint64_t seed)
{
	leaves_alloc(l, g);
	for (int i = 0; i < l->n; i++) {
		void *data = gt_xcalloc((size_t)rt_shape_elements(rt_node_shape(rt_graph_leaf(g, i))), 4);

		rt_case_values(c, g, built, i, seed, data);
		leaves_set(l, g, i, data);
	}
}

void leaves_free(struct leaves *l)
{
	for (int i = 0; i < l->n; i++)
		free(l->value[i]);
	for (int i = 0; i < l->n_inputs; i++)
		free((void *)(uintptr_t)l->input[i]);
	free(l->value);
	free(l->input);
}

void leaves_load(const struct leaves *l, const struct rt_graph *g, struct rt_program *p)
{
	for (int i = 0; i < l->n; i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		int64_t count = rt_shape_elements(rt_node_shape(n));
		float *w = rt_node_is_param(n) ? rt_value(p, n) : NULL;

		for (int64_t k = 0; w && k < count; k++)
			w[k] = (float)l->value[i][k];
	}
}

int main(void)
{
	Suite *s = suite_create("runtime");
	SRunner *r;
	int failed;

	suite_add_tcase(s, case_ops());
	suite_add_tcase(s, case_nn());
	suite_add_tcase(s, case_plan());
	suite_add_tcase(s, case_simd());
	suite_add_tcase(s, case_train());
	suite_add_tcase(s, case_errors());
	suite_add_tcase(s, case_amp());
	suite_add_tcase(s, case_prune());
	suite_add_tcase(s, case_units());
	suite_add_tcase(s, case_update());
	suite_add_tcase(s, case_shapes());
	suite_add_tcase(s, case_winograd());
	suite_add_tcase(s, case_checkpoint());
	suite_add_tcase(s, case_hf());
	suite_add_tcase(s, case_team());
	suite_add_tcase(s, case_alloc());
	suite_add_tcase(s, case_debug());
	suite_add_tcase(s, case_norm());
	suite_add_tcase(s, case_ties());
	suite_add_tcase(s, case_outputs());
	suite_add_tcase(s, case_int8());
	suite_add_tcase(s, case_cache());
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
