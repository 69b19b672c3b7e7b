/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RACE_REQUEST_H
#define BN_RACE_REQUEST_H
/* The requested races. */
#include "bench/prove/state.h"

#define BN_RACE_FIRST_PAIRS 4
#define BN_RACE_VALUES_MAX  16

/* Parses and checks "ID=VALUE,VALUE" for this host and the command of q. q gets the change with the first value. Free *ret with
 * bn_races_free(), also on failure. */
int bn_races_parse(struct gt_fsroot *fs, const struct gt_strv *specs, struct bn_request *q, struct bn_race **ret, size_t *ret_n,
		   struct gt_err *err);
json_t *bn_races_json(const struct bn_race *races, size_t n);
int bn_races_restore(const json_t *list, struct bn_race **ret, size_t *ret_n, struct gt_err *err);
void bn_races_free(struct bn_race *races, size_t n);
size_t bn_races_pairs(const struct bn_race *races, size_t n); /* pairs of launches in all rounds */
#endif
