/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_FLEET_H
#define BN_FLEET_H
/*
 * Comparison of many hosts, and of one host over time. Both take saved results and return one document.
 *
 * Fleet: hosts with the same processor form a class. In each class and metric the centre is the median host, and the
 * scale is the median absolute deviation. A host is an outlier under three conditions. It is farther from the centre
 * than expected by chance for all tests together (bn_outlier_critical). The distance is at least the metric's margin.
 * The distance is more than three standard errors of its own launches.
 *
 * History: the results of one host in order of date; for each metric the change points (bn_change_points) of at least
 * the margin.
 *
 * The probable causes are differences of settings. Settings that should affect the workload are listed first.
 */
#include "bench/result/result_set.h"

#define BN_FLEET_MIN	  4 /* minimum number of hosts of a class */

/* Returns {schema, hosts, metrics, outliers, warnings, verdict, exit_code}. outliers[].causes[] has the settings of the
 * host and the usual values. */
json_t *bn_fleet_judge(const struct bn_result_set *set);
/* Returns {schema, host, results, metrics, changes, warnings, verdict, exit_code}. All results must be from one host. */
json_t *bn_history_judge(const struct bn_result_set *set, uint64_t seed);
#endif
