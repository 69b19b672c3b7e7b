/* SPDX-License-Identifier: Apache-2.0 */
/* Magnitude pruning of the weights that pass/mask.c masks. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/exec/program.h"

#define GROUP 4 /* group size of the 2:4 pattern */

/* Returns the value at index k (from 0) of the sorted v (n), which is reordered. */
static float kth_smallest(float *v, int64_t n, int64_t k)
{
	int64_t lo = 0, hi = n - 1;

	while (lo < hi) {
		float pivot = v[lo + (hi - lo) / 2];
		int64_t i = lo, j = hi;

		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i <= j) {
				float t = v[i];

				v[i++] = v[j];
				v[j--] = t;
			}
		}
		if (k > j && k < i)
			break;
		lo = k >= i ? i : lo;
		hi = k <= j ? j : hi;
	}
	return v[k];
}

/* Prunes the count elements of w (n) with the smallest magnitudes. The first of equal elements is pruned. */
static void prune_smallest(uint8_t *mask, const float *w, int64_t n, int64_t count)
{
	gt_autofree float *sorted = gt_xcalloc((size_t)n, sizeof(*sorted));
	int64_t below = 0;
	float limit;

	if (!count)
		return;
	for (int64_t i = 0; i < n; i++)
		sorted[i] = fabsf(w[i]);
	limit = kth_smallest(sorted, n, count - 1);
	for (int64_t i = 0; i < n; i++)
		below += fabsf(w[i]) < limit;
	for (int64_t i = 0; i < n; i++)
		if (fabsf(w[i]) < limit || (fabsf(w[i]) == limit && below++ < count))
			mask[i] = 1;
}

/* Prunes the two smallest of four elements with this stride. The first of equal elements is pruned. */
static void prune_group(uint8_t *mask, const float *w, int64_t stride)
{
	for (int i = 0; i < GROUP; i++) {
		int smaller = 0;

		for (int j = 0; j < GROUP; j++) {
			float a = fabsf(w[i * stride]), b = fabsf(w[j * stride]);

			smaller += b < a || (b == a && j < i);
		}
		if (smaller < 2)
			mask[i * stride] = 1;
	}
}

static bool fits_2_of_4(const struct rt_node *w)
{
	return w->shape.d[1] % GROUP == 0;
}

/* w (O,K), or (O,C,KH,KW) with groups of input channels */
static void prune_2_of_4(const struct rt_node *w, uint8_t *mask)
{
	int64_t n = rt_shape_elements(&w->shape), taps = n / w->shape.d[0] / w->shape.d[1];

	for (int64_t at = 0; at < n; at += GROUP * taps)
		for (int64_t tap = 0; tap < taps; tap++)
			prune_group(mask + at + tap, (const float *)w->data + at + tap, taps);
}

static void prune_weight(const struct rt_call *c, enum rt_sparsity how, double fraction)
{
	const struct rt_node *w = c->out[0];
	uint8_t *mask = c->out[1]->data;
	float *v = w->data;
	int64_t n = rt_shape_elements(&w->shape);

	if (how == RT_UNSTRUCTURED)
		prune_smallest(mask, v, n, (int64_t)nearbyint(fraction * (double)n));
	else
		prune_2_of_4(w, mask);
	for (int64_t i = 0; i < n; i++)
		v[i] = mask[i] ? 0 : v[i];
}

int rt_prune(struct rt_program *p, enum rt_sparsity how, double fraction, struct gt_err *err)
{
	int n = 0;

	if (!p->opt.sparse)
		return gt_fail(err, EINVAL, "the program has no masks: compile it with options.sparse");
	if (how != RT_UNSTRUCTURED && how != RT_2_OF_4)
		return gt_fail(err, EINVAL, "sparsity pattern %d: 0 and 1 are supported", (int)how);
	if (how == RT_UNSTRUCTURED && !(fraction >= 0 && fraction < 1))
		return gt_fail(err, EINVAL, "a fraction of %g of the weights: it must be at least 0 and below 1", fraction);
	for (int i = 0; i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];

		if (!rt_is(c, RT_OP_MASK) || (how == RT_2_OF_4 && !fits_2_of_4(c->out[0])))
			continue;
		prune_weight(c, how, fraction);
		n++;
	}
	p->stale = true;
	return n ? 0 : gt_fail(err, EINVAL, "no weight can be pruned%s",
			       how == RT_2_OF_4 ? ": 2:4 needs a multiple of 4 inputs" : "");
}

double rt_pruned_fraction(const struct rt_program *p)
{
	int64_t pruned = 0, all = 0;

	for (int i = 0; i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];
		int64_t n = rt_is(c, RT_OP_MASK) ? rt_shape_elements(&c->out[0]->shape) : 0;
		const uint8_t *mask = n ? c->out[1]->data : NULL;

		all += n;
		for (int64_t k = 0; k < n; k++)
			pruned += mask[k];
	}
	return all ? (double)pruned / (double)all : 0;
}
