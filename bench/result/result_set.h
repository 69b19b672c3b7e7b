/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RESULT_SET_H
#define BN_RESULT_SET_H
/* A set of saved results: read, checked, and the level of each metric on the unchanged host. */
#include "bench/result/data.h"
#include "lib/buf.h"

struct bn_result {
	char *name; /* file name without directory and .json */
	json_t *doc;
	struct bn_data *data;
	const char *identity, *started, *cpu;
	char *skipped; /* why this result is not used, or NULL */
};
struct bn_result_set {
	struct bn_result *v;
	size_t n;
};
/* Loads results. Each path is a file, or a directory of which all *.json are loaded, sorted by name. A file that is not
 * a gpubench result is an error. A result of an invalid, wrong or interrupted session or of another suite is loaded
 * with `skipped` set. */
int bn_result_set_load(char *const *paths, struct bn_result_set *ret, struct gt_err *err);
/* Adds a result. Takes a reference of the document. */
int bn_result_set_add(struct bn_result_set *set, const char *path, json_t *doc, struct gt_err *err);
void bn_result_set_clear(struct bn_result_set *s);
#define bn_auto_result_set	__attribute__((cleanup(bn_result_set_clear))) struct bn_result_set

/* Returns true only if both results are certainly from one machine. Cloned nodes and nodes without a machine id may
 * share an identity. */
bool bn_result_same_machine(const struct bn_result *a, const struct bn_result *b);
/* Returns the metric with that id and definition, or NULL. */
const struct bn_metric *bn_result_metric(const struct bn_result *s, const char *id, const char *definition);
/* Returns the logarithm of the median over the launches of the unchanged host, or NaN without a value. *ret_se is the
 * standard error between launches (0 for one launch). */
double bn_result_level(const struct bn_result *s, const struct bn_metric *m, double *ret_se);
/* Compares a setting of two results. Memory is compared in whole GiB, everything else exactly. */
bool bn_setting_equal(const json_t *a, const json_t *b, const char *key);
/* Returns a setting or host fact of that session by key, or NULL if it was not recorded. bn_result_set_keys() collects
 * the keys of all results that are not skipped. */
const json_t *bn_result_setting(const struct bn_result *s, const char *key);
void bn_result_set_keys(const struct bn_result_set *s, struct gt_strv *ret);
#endif
