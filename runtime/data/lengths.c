/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/err.h"
#include "runtime/data/lengths.h"

/* best[j]: lowest cost, in units, of the samples of up to j units with the widths so far, the last of them j. */
int rt_lengths_choose(const uint64_t *counts, int n, int k, int *ret)
{
	gt_autofree double *best = gt_xcalloc((size_t)(n + 1) * (size_t)(k + 1), sizeof(*best));
	gt_autofree int *from = gt_xcalloc((size_t)(n + 1) * (size_t)(k + 1), sizeof(*from));
	gt_autofree double *below = gt_xcalloc((size_t)n + 1, sizeof(*below)); /* samples of up to i units */
	int longest = 0, used = 0;

	for (int i = 1; i <= n; i++) {
		below[i] = below[i - 1] + (double)counts[i - 1];
		longest = counts[i - 1] ? i : longest;
	}
	for (int w = 1; w <= k; w++)
		for (int j = 1; j <= longest; j++) {
			double *at = &best[w * (n + 1) + j];

			*at = below[j] * j;
			for (int i = 1; w > 1 && i < j; i++) {
				double cost = best[(w - 1) * (n + 1) + i] + (below[j] - below[i]) * j;

				if (cost < *at) {
					*at = cost;
					from[w * (n + 1) + j] = i;
				}
			}
		}
	for (int w = k, j = longest; j; j = from[w-- * (n + 1) + j])
		ret[used++] = j;
	for (int i = 0; i < used / 2; i++) {
		int last = ret[used - 1 - i];

		ret[used - 1 - i] = ret[i];
		ret[i] = last;
	}
	return used;
}

static uint64_t parts(uint64_t n, uint64_t of)
{
	return (n + of - 1) / of;
}

int rt_lengths_set_rows(struct rt_lengths *l, const uint64_t *all_documents, int64_t rows, int64_t budget, uint64_t ranks,
			struct gt_err *err)
{
	int64_t longest = l->of[l->n - 1].width;

	if (budget && budget < longest)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "a budget of %lld tokens is too small for a sample of %lld: the "
				    "longest sample must fit", (long long)budget, (long long)longest);
	l->batches = 0;
	for (int k = 0; k < l->n; k++) {
		struct rt_length *x = &l->of[k];
		uint64_t most = (uint64_t)(budget ? budget / x->width : rows);

		/* the same number of batches, but of equal size: otherwise the last one would have fewer samples than
		 * rows */
		x->rows = (int64_t)parts(GT_MAX(all_documents[k], 1), parts(GT_MAX(all_documents[k], 1), most));
		x->batches = parts(x->documents, (uint64_t)x->rows * ranks);
		l->batches += x->batches;
	}
	return 0;
}

int rt_lengths_find(const struct rt_lengths *l, uint64_t i, uint64_t *ret_batch)
{
	int k = 0;

	while (i >= l->of[k].batches)
		i -= l->of[k++].batches;
	*ret_batch = i;
	return k;
}
