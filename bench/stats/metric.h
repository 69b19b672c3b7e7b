/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_METRIC_H
#define BN_METRIC_H
/* What a metric is to a comparison: which way is better, and what it decides. */
enum bn_direction { BN_LOWER, BN_HIGHER }; /* which way is better */
enum bn_role {
	BN_PRIMARY, /* decides the verdict; Holm over these */
	BN_GUARD,   /* must not get worse; a tail, say */
	BN_EXPLORE, /* the rest; Benjamini-Hochberg */
	BN_CONTROL, /* nothing that is tuned should move it: the harness */
};
extern const char *const bn_direction_name[];
extern const char *const bn_role_name[];
#endif
