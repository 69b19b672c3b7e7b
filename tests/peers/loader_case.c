/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_case PATH ROWS SIZE CHANNELS AUGMENT START BATCHES WORKERS CACHE: writes batches of images as raw bytes to
 * stdout, x (f32) and y (i32) of each, pixels unchanged, and the loader's report as JSON to stderr.
 */
#include <stdio.h>
#include <string.h>
#include "lib/json.h"
#include "runtime/data/loader.h"

int main(int argc, char **argv)
{
	struct rt_loader_options o = { .mean = 0, .std = 1.f / 255, .max_corrupt = UINT64_MAX, .in_order = true };
	gt_auto(rt_loader) *l = NULL;
	gt_auto_json *report = NULL;
	struct gt_err err = { 0 };
	int n, r;

	if (argc != 10)
		return 64;
	o.path = argv[1];
	o.rows = atoll(argv[2]);
	o.size = atoll(argv[3]);
	o.channels = atoll(argv[4]);
	o.augment = (enum rt_augment)atoi(argv[5]);
	o.start = strtoull(argv[6], NULL, 10);
	n = atoi(argv[7]);
	o.workers = atoi(argv[8]);
	o.cache_bytes = strtoull(argv[9], NULL, 10);
	r = rt_loader_open(&o, &l, &err);
	for (int i = 0; !r && i < n; i++) {
		struct rt_batch b;

		r = rt_loader_next(l, &b, &err);
		if (!r) {
			fwrite(b.x, rt_loader_row_bytes(l), (size_t)o.rows, stdout);
			fwrite(b.y, sizeof(*b.y), (size_t)o.rows, stdout);
		}
	}
	if (r) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	report = rt_loader_report(l);
	gt_json_print(stderr, report);
	return 0;
}
