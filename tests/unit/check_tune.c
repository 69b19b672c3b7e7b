/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include "tests/unit/check_tune.h"

int main(void)
{
	Suite *s = suite_create("tune");
	SRunner *sr;
	int failed;

	unsetenv("GT_FAULT");
	suite_add_tcase(s, tune_plan_case());
	suite_add_tcase(s, tune_knob_case());
	suite_add_tcase(s, tune_boot_case());
	suite_add_tcase(s, tune_needs_case());
	suite_add_tcase(s, tune_side_case());
	suite_add_tcase(s, tune_moved_case());
	suite_add_tcase(s, tune_txn_case());
	suite_add_tcase(s, tune_persisted_case());
	suite_add_tcase(s, tune_missing_case());
	suite_add_tcase(s, tune_journal_case());
	suite_add_tcase(s, tune_compact_case());
	suite_add_tcase(s, tune_fault_case());
	suite_add_tcase(s, tune_stack_case());
	suite_add_tcase(s, tune_run_case());
	suite_add_tcase(s, tune_ranks_case());
	suite_add_tcase(s, tune_command_case());
	suite_add_tcase(s, tune_device_case());
	suite_add_tcase(s, tune_pcie_case());
	suite_add_tcase(s, tune_invariant_case());
	suite_add_tcase(s, tune_provision_case());
	suite_add_tcase(s, tune_interrupts_case());
	suite_add_tcase(s, tune_run_libs_case());
	suite_add_tcase(s, tune_rank_gpu_case());
	suite_add_tcase(s, tune_registry_case());
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
