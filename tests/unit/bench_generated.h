/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_GENERATED_H
#define BENCH_GENERATED_H
/* Generated result documents. */
#include "bench/bench.h"
#include "lib/json.h"

json_t *gen_doc(const char *design, size_t pairs);
json_t *gen_launch(json_t *doc, int block, const char *kind, const char *arm, double value);
/* n A/B pairs with this effect on a time, after n_aa A/A pairs with aa_effect. */
json_t *gen_pairs(size_t n, size_t n_aa, double effect, double aa_effect);
/* Analyses the document; returns the exit code, and verdict and reason of the first metric. */
int gen_verdict(json_t *doc, const char **ret_verdict, const char **ret_reason);
#endif
