/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_FLEET_H
#define BN_FLEET_H
/*
 * Many hosts beside each other, and one host through time. Both take saved results and answer with one document.
 *
 * Fleet: hosts with the same processor are a class. In each class and metric the centre is the median host and the scale the
 * median absolute deviation; a host is an outlier when it lies farther out than one in a session should by chance
 * (bn_outlier_critical), by at least the metric's margin, and when its own launches do not reach the centre.
 *
 * History: the results of one host in order of their dates; per metric the points since when it is another one
 * (bn_change_points), by at least the margin.
 *
 * The probable cause is what differs: settings that the workload says should move it come first.
 */
#include "bench/result/result_set.h"

#define BN_FLEET_MIN	  4 /* hosts of a class, to judge it */

/* {schema, hosts, metrics, outliers, warnings, verdict, exit_code}. Settings of host and usual value lie in
 * outliers[].causes[]. */
json_t *bn_fleet_judge(const struct bn_result_set_set *set);
/* {schema, host, results, metrics, changes, warnings, verdict, exit_code}; the set is of one host. */
json_t *bn_history_judge(const struct bn_result_set_set *set, uint64_t seed);
#endif
