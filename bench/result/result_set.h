/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RESULT_SET_H
#define BN_RESULT_SET_H
/* Many saved results at once: read, checked, and the level of each metric as the host was (never with a change applied). */
#include "bench/result/data.h"
#include "lib/buf.h"

struct bn_result_set {
	char *name; /* the file's, without folder and .json */
	json_t *doc;
	struct bn_data *data;
	const char *identity, *started, *cpu;
	char *skipped; /* why it counts for nothing, or NULL */
};
struct bn_result_set_set {
	struct bn_result_set *v;
	size_t n;
};
/* Every path is a file, or a folder of which each *.json is taken in order of names. A file that is no result of ours is an
 * error; one whose session was invalid, wrong or of another suite is kept and skipped. */
int bn_result_set_load(char *const *paths, struct bn_result_set_set *ret, struct gt_err *err);
/* One more, from a document that is taken a reference of. */
int bn_result_set_add(struct bn_result_set_set *set, const char *path, json_t *doc, struct gt_err *err);
void bn_result_set_clear(struct bn_result_set_set *s);
#define bn_auto_saved	__attribute__((cleanup(bn_result_set_clear))) struct bn_result_set_set

/* Are both surely of one machine? Nodes that are cloned, or have no machine id, may share an identity. */
bool bn_result_set_one_machine(const struct bn_result_set *a, const struct bn_result_set *b);
/* The metric of that id and definition, or NULL. */
const struct bn_metric *bn_result_set_metric(const struct bn_result_set *s, const char *id, const char *definition);
/* Logarithm of the median over launches of the unchanged host; *ret_se is its standard error from launch to launch (0 where
 * there is one launch only). NaN: no launch gave a number. */
double bn_result_set_level(const struct bn_result_set *s, const struct bn_metric *m, double *ret_se);
/* What of two results differs may be a cause: memory is compared in GiB, everything else as it is. */
bool bn_result_set_same(const json_t *a, const json_t *b, const char *key);
/* A setting or a fact of the host by key, as it was in that session; NULL: not recorded. bn_result_set_keys() collects all keys of
 * all results that count. */
const json_t *bn_result_set_setting(const struct bn_result_set *s, const char *key);
void bn_result_set_keys(const struct bn_result_set_set *s, struct gt_strv *ret);
#endif
