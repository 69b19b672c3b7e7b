/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_METRIC_H
#define BN_METRIC_H
/* The direction and the role of a metric in a comparison. */
enum bn_direction { BN_LOWER, BN_HIGHER }; /* the better direction */
enum bn_role {
	BN_PRIMARY, /* decides the verdict; adjusted by Holm */
	BN_GUARD,   /* must not get worse, for example a tail */
	BN_EXPLORE, /* all others; adjusted by Benjamini-Hochberg */
	BN_CONTROL, /* measures the harness; no setting should change it */
};
extern const char *const bn_direction_name[];
extern const char *const bn_role_name[];
#endif
