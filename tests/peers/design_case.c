/* SPDX-License-Identifier: Apache-2.0 */
/*
 * design_case FACTORS SPARE SEED LOST: prints a design, generated pairs with some missing, and its fit, as JSON. For
 * bench_stats.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include "bench/stats/design.h"
#include "lib/json.h"

#define ALPHA .05

int main(int argc, char **argv)
{
	size_t factors, lost, n = 0;
	gt_auto_json *doc = json_object();
	json_t *rows = json_array(), *pairs = json_array(), *fit = json_array();
	gt_autofree struct bn_effect *e = NULL;
	gt_autofree double *y = NULL;
	gt_autofree size_t *row = NULL;
	struct bn_design d;
	struct bn_rng rng;

	if (argc != 5)
		return 64;
	factors = (size_t)atoi(argv[1]);
	lost = (size_t)atoi(argv[4]);
	bn_rng_seed(&rng, (uint64_t)atoi(argv[3]));
	bn_design_make(factors, (size_t)atoi(argv[2]), &rng, &d);
	e = gt_xcalloc(factors, sizeof(*e));
	y = gt_xcalloc(d.rows, sizeof(*y));
	row = gt_xcalloc(d.rows, sizeof(*row));
	for (size_t i = 0; i < d.rows; i++) {
		json_t *signs = json_array();
		double v = .02 * bn_rng_normal(&rng);

		for (size_t k = 0; k < factors; k++) {
			json_array_append_new(signs, json_integer(d.sign[i * factors + k]));
			v += d.sign[i * factors + k] * .01 * (double)(k % 3);
		}
		json_array_append_new(rows, signs);
		if (bn_rng_below(&rng, d.rows) < lost)
			continue;
		y[n] = v;
		row[n++] = i;
		json_array_append_new(pairs, json_pack("[i, f]", (int)i, v));
	}
	json_object_set_new(doc, "fitted", json_boolean(bn_design_fit(&d, y, row, n, ALPHA, e)));
	for (size_t k = 0; k < factors; k++)
		json_array_append_new(fit, json_pack("[f, f, f, f]", e[k].est, e[k].lo, e[k].hi, e[k].p));
	json_object_set_new(doc, "signs", rows);
	json_object_set_new(doc, "pairs", pairs);
	json_object_set_new(doc, "effects", fit);
	json_dumpf(doc, stdout, JSON_REAL_PRECISION(17));
	bn_design_clear(&d);
	return 0;
}
