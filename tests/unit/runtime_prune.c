/* SPDX-License-Identifier: Apache-2.0 */
/* Pruning by magnitude, and masks in updates and checkpoints. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/check_runtime.h"

#define ROWS	8
#define IN	16
#define MID	12
#define OUT	5

struct net {
	struct rt_graph *g;
	struct rt_program *p;
	struct rt_node *w1, *w2, *table;
	int32_t ids[ROWS], y[ROWS];
};

/* A table, two linear layers and a loss. The first layer also reads the table as embedding. */
static void net_open(struct net *n, enum rt_optimizer_kind kind)
{
	struct rt_options opt = { .threads = 1, .seed = 5, .sparse = true,
				  .optimizer = { .kind = kind, .lr = 0.05, .momentum = 0.9 } };
	struct gt_err err = { 0 };
	struct rt_node *ids, *x, *y;

	*n = (struct net){ .g = rt_graph_new() };
	ids = rt_input(n->g, "ids", RT_I32, RT_SHAPE(1, ROWS));
	y = rt_input(n->g, "y", RT_I32, RT_SHAPE(1, ROWS));
	n->table = rt_param(n->g, "table", RT_SHAPE(OUT, IN), RT_INIT_NORMAL(1));
	n->w1 = rt_param(n->g, "w1", RT_SHAPE(MID, IN), RT_INIT_NORMAL(1));
	n->w2 = rt_param(n->g, "w2", RT_SHAPE(IN, MID), RT_INIT_NORMAL(1));
	x = rt_relu(n->g, rt_linear(n->g, rt_embedding(n->g, ids, n->table, NULL), n->w1, NULL));
	x = rt_linear(n->g, rt_linear(n->g, x, n->w2, NULL), n->table, NULL);
	ck_assert_msg(!rt_compile(n->g, rt_cross_entropy(n->g, x, y), &opt, &n->p, &err), "%s", err.msg);
	for (int i = 0; i < ROWS; i++) {
		n->ids[i] = i % OUT;
		n->y[i] = (i + 1) % OUT;
	}
}

static void net_close(struct net *n)
{
	rt_program_free(n->p);
	rt_graph_free(n->g);
}

static void train(struct net *n, int steps)
{
	struct rt_metrics m;
	struct gt_err err = { 0 };

	for (int i = 0; i < steps; i++)
		ck_assert_msg(!rt_step(n->p, (const void *[]){ n->ids, n->y }, &m, &err), "%s", err.msg);
}

static int zeros(struct net *n, const struct rt_node *w)
{
	const float *v = rt_value(n->p, w);
	int count = 0;

	for (int64_t i = 0; i < rt_shape_elements(rt_node_shape(w)); i++)
		count += v[i] == 0;
	return count;
}

static void prune(struct net *n, enum rt_sparsity how, double fraction)
{
	struct gt_err err = { 0 };

	ck_assert_msg(!rt_prune(n->p, how, fraction, &err), "%s", err.msg);
}

START_TEST(the_smallest_elements_are_pruned)
{
	static const double fractions[] = { 0, 0.1, 0.5, 0.9, 0.99 };
	struct net n;

	for (size_t f = 0; f < GT_ARRAY_SIZE(fractions); f++) {
		int wanted = (int)nearbyint(fractions[f] * MID * IN);
		float before[MID * IN], largest_pruned = 0, smallest_kept = INFINITY;
		const float *w;

		net_open(&n, RT_SGD);
		w = rt_value(n.p, n.w1);
		memcpy(before, w, sizeof(before));
		prune(&n, RT_UNSTRUCTURED, fractions[f]);
		for (int i = 0; i < MID * IN; i++) {
			ck_assert(w[i] == 0 || w[i] == before[i]);
			if (w[i] == 0)
				largest_pruned = fmaxf(largest_pruned, fabsf(before[i]));
			else
				smallest_kept = fminf(smallest_kept, fabsf(before[i]));
		}
		ck_assert_int_eq(zeros(&n, n.w1), wanted);
		ck_assert(largest_pruned <= smallest_kept);
		ck_assert_double_eq_tol(rt_pruned_fraction(n.p), (double)wanted / (MID * IN), 1e-9);
		ck_assert_int_eq(zeros(&n, n.table), 0);
		net_close(&n);
	}
}
END_TEST

START_TEST(two_of_four_neighbours_are_pruned)
{
	struct net n;
	const float *w;

	net_open(&n, RT_SGD);
	prune(&n, RT_2_OF_4, 0);
	w = rt_value(n.p, n.w2);
	for (int i = 0; i < IN * MID; i += 4)
		ck_assert_int_eq((w[i] == 0) + (w[i + 1] == 0) + (w[i + 2] == 0) + (w[i + 3] == 0), 2);
	net_close(&n);
}
END_TEST

START_TEST(equal_magnitudes_are_counted)
{
	struct net n;
	float *w;

	net_open(&n, RT_SGD);
	w = rt_value(n.p, n.w1);
	for (int i = 0; i < MID * IN; i++)
		w[i] = i % 2 ? 1 : -1;
	prune(&n, RT_UNSTRUCTURED, 0.25);
	ck_assert_int_eq(zeros(&n, n.w1), MID * IN / 4);
	net_close(&n);
}
END_TEST

START_TEST(pruned_elements_stay_zero_in_updates)
{
	static const enum rt_optimizer_kind kinds[] = { RT_SGD, RT_ADAM, RT_ADAMW, RT_ADAMW8 };
	struct net n;

	for (size_t k = 0; k < GT_ARRAY_SIZE(kinds); k++) {
		net_open(&n, kinds[k]);
		train(&n, 2);
		ck_assert_int_eq(zeros(&n, n.w1), 0);
		prune(&n, RT_UNSTRUCTURED, 0.5);
		train(&n, 3);
		ck_assert_int_eq(zeros(&n, n.w1), MID * IN / 2);
		ck_assert_int_eq(zeros(&n, n.w2), MID * IN / 2);
		prune(&n, RT_UNSTRUCTURED, 0.25); /* prunes nothing back */
		ck_assert_int_eq(zeros(&n, n.w1), MID * IN / 2);
		net_close(&n);
	}
}
END_TEST

START_TEST(masks_survive_a_checkpoint)
{
	gt_autofree char *path = gt_xasprintf("prune-%d.st", (int)getpid());
	struct gt_err err = { 0 };
	struct net a, b;
	uint64_t ticket;

	net_open(&a, RT_ADAMW);
	train(&a, 1);
	prune(&a, RT_UNSTRUCTURED, 0.5);
	ck_assert_msg(!rt_save(a.p, path, 0, &err), "%s", err.msg);
	net_open(&b, RT_ADAMW);
	ck_assert_msg(!rt_load(b.p, path, &ticket, &err), "%s", err.msg);
	unlink(path);
	ck_assert_double_eq_tol(rt_pruned_fraction(b.p), 0.5, 1e-9);
	train(&a, 3);
	train(&b, 3);
	ck_assert_int_eq(zeros(&b, b.w1), MID * IN / 2);
	ck_assert(!memcmp(rt_value(a.p, a.w1), rt_value(b.p, b.w1), MID * IN * sizeof(float)));
	net_close(&a);
	net_close(&b);
}
END_TEST

START_TEST(a_dense_checkpoint_has_empty_masks)
{
	gt_autofree char *path = gt_xasprintf("dense-%d.st", (int)getpid());
	struct rt_options o = { .threads = 1, .optimizer.kind = RT_ADAM };
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(2, 8)), *w = rt_param(g, "w", RT_SHAPE(3, 8), RT_INIT_NORMAL(1));
	struct rt_node *loss = rt_cross_entropy(g, rt_linear(g, x, w, NULL), rt_input(g, "y", RT_I32, RT_SHAPE(2)));
	gt_auto(rt_program) *dense = NULL, *sparse = NULL;
	struct gt_err err = { 0 };
	uint64_t ticket;

	ck_assert(!rt_compile(g, loss, &o, &dense, &err));
	ck_assert(!rt_save(dense, path, 0, &err));
	o.sparse = true;
	ck_assert(!rt_compile(g, loss, &o, &sparse, &err));
	ck_assert(!rt_prune(sparse, RT_UNSTRUCTURED, 0.5, &err));
	ck_assert_msg(!rt_load(sparse, path, &ticket, &err), "%s", err.msg);
	unlink(path);
	ck_assert_double_eq(rt_pruned_fraction(sparse), 0);
	ck_assert(!memcmp(rt_value(dense, w), rt_value(sparse, w), 24 * sizeof(float)));
}
END_TEST

START_TEST(impossible_pruning_is_refused)
{
	static const double bad[] = { -0.1, 1, NAN, INFINITY };
	struct rt_options o = { .threads = 1, .optimizer.kind = RT_SGD };
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(2, 6)), *w = rt_param(g, "w", RT_SHAPE(3, 6), RT_INIT_NORMAL(1));
	struct rt_node *loss = rt_cross_entropy(g, rt_linear(g, x, w, NULL), rt_input(g, "y", RT_I32, RT_SHAPE(2)));
	gt_auto(rt_program) *plain = NULL, *sparse = NULL;
	struct gt_err err = { 0 };

	ck_assert(!rt_compile(g, loss, &o, &plain, &err));
	ck_assert_int_eq(rt_prune(plain, RT_UNSTRUCTURED, 0.5, &err), -EINVAL);
	ck_assert_msg(strstr(err.msg, "has no masks"), "%s", err.msg);
	o.sparse = true;
	ck_assert(!rt_compile(g, loss, &o, &sparse, &err));
	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(rt_prune(sparse, RT_UNSTRUCTURED, bad[i], &err), -EINVAL);
	ck_assert_int_eq(rt_prune(sparse, RT_2_OF_4, 0, &err), -EINVAL);
	ck_assert_msg(strstr(err.msg, "no weight can be pruned: 2:4 needs a multiple of 4 inputs"), "%s", err.msg);
	ck_assert_double_eq(rt_pruned_fraction(sparse), 0);
	o.optimizer.kind = RT_NO_OPTIMIZER;
	ck_assert_int_eq(rt_compile(g, loss, &o, &(struct rt_program *){ NULL }, &err), -EINVAL);
}
END_TEST

TCase *case_prune(void)
{
	TCase *t = tcase_create("prune");

	tcase_add_test(t, the_smallest_elements_are_pruned);
	tcase_add_test(t, two_of_four_neighbours_are_pruned);
	tcase_add_test(t, equal_magnitudes_are_counted);
	tcase_add_test(t, pruned_elements_stay_zero_in_updates);
	tcase_add_test(t, masks_survive_a_checkpoint);
	tcase_add_test(t, a_dense_checkpoint_has_empty_masks);
	tcase_add_test(t, impossible_pruning_is_refused);
	return t;
}
