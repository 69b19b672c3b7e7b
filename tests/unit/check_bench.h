/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_BENCH_H
#define CHECK_BENCH_H
#include <check.h>

TCase *bench_stats_case(void);
TCase *bench_simulation_case(void);
TCase *bench_data_case(void);
TCase *bench_session_case(void);
TCase *bench_report_case(void);
TCase *bench_view_case(void);
TCase *bench_many_case(void);
TCase *bench_node_case(void);
TCase *bench_gauge_case(void);
TCase *bench_prove_case(void);
TCase *bench_guard_case(void);
int bench_prove_launch(int argc, char **argv); /* runs a launch of a simulated session in this process */
#endif
