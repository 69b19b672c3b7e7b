/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include "tests/unit/check_bench.h"

int main(int argc, char **argv)
{
	Suite *s;
	SRunner *sr;
	int failed;

	if (argc > 2 && strcmp(argv[1], "launch") == 0)
		return bench_prove_launch(argc, argv);
	s = suite_create("bench");
	sr = srunner_create(s);
	suite_add_tcase(s, bench_stats_case());
	suite_add_tcase(s, bench_simulation_case());
	suite_add_tcase(s, bench_data_case());
	suite_add_tcase(s, bench_session_case());
	suite_add_tcase(s, bench_report_case());
	suite_add_tcase(s, bench_view_case());
	suite_add_tcase(s, bench_many_case());
	suite_add_tcase(s, bench_node_case());
	suite_add_tcase(s, bench_gauge_case());
	suite_add_tcase(s, bench_prove_case());
	suite_add_tcase(s, bench_guard_case());
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
