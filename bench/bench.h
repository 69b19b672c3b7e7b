/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_BENCH_H
#define BN_BENCH_H
/* Names and versions of the documents, and the exit codes. Other programs rely on them. */
#define BN_SCHEMA	 "gpubench/1"
#define BN_LAUNCH_SCHEMA "gpubench-launch/1"
#define BN_DATA_SCHEMA	 "gpubench-data/1"
#define BN_LADDER_SCHEMA "gpubench-ladder/1"
#define BN_OP_SCHEMA	 "gpubench-op/1"
#define BN_PROVE_SCHEMA	  "gpubench-prove/1"
#define BN_RECEIPT_SCHEMA "gpubench-receipt/2"
#define BN_FLEET_SCHEMA	  "gpubench-fleet/1"
#define BN_HISTORY_SCHEMA "gpubench-history/1"
#define BN_PLAN_PARALLEL_SCHEMA "gpubench-plan-parallel/1"
/*
 * Results with different major versions are not comparable. Increased when a workload or the measuring method changes
 * its meaning.
 */
#define BN_SUITE_MAJOR	1

/* Exit codes of gpubench besides the common ones. */
enum {
	BN_EXIT_REGRESSION = 1,
	BN_EXIT_INCONCLUSIVE = 3,
	BN_EXIT_INCOMPARABLE = 4,
	BN_EXIT_INVALID = 5,
	BN_EXIT_WRONG = 6
};
#endif
