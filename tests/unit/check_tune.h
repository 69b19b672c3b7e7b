/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_TUNE_H
#define CHECK_TUNE_H
/* A captured host as a directory, and a snapshot of the whole tree for comparison. */
#include <check.h>
#include "probe/host/host.h"
#include "tune/knob/list.h"
#include "tune/run/run.h"
#include "tune/txn/emulate.h"
#include "tune/plan/plan_json.h"
#include "tune/txn/txn.h"

struct box {
	char dir[64];
	struct gt_fsroot *fs;
};
/* Unpacks the fixture NAME.host into a new directory. */
void box_open(struct box *b, const char *name);
void box_copy(struct box *to, const struct box *from); /* including gputune's own files */
void box_close(struct box *b);
void box_reopen(struct box *b); /* reloads the journal as another process would; disarms faults */
void box_put(struct box *b, const char *path, const char *text); /* creates parents */
void box_link(struct box *b, const char *path, const char *target); /* creates parents */
#define BOX_PORT "/sys/devices/pci0000:c0/0000:c0:01.0/0000:c1:00.0"
void box_add_port(struct box *b); /* eth9, BOX_PORT: 100 Gbit/s at node 1 of server-8gpu, two interrupts */
void box_remove(struct box *b, const char *path);
char *box_get(struct box *b, const char *path); /* value as gputune reads it */
/* Returns every file, link and directory with its content, without the state directory. The caller frees it. */
char *box_picture(struct box *b);
bool box_has_journal(struct box *b);

/* Plans everything including optional tunables; must succeed. */
struct tn_plan *box_plan(struct box *b);
/* Returns the plan's item for this tunable and device (NULL: the first). The test fails if there is none. */
struct tn_item *box_item(const struct tn_plan *p, const char *id, const char *instance);
struct gt_strv box_fixtures(void); /* names without .host */

TCase *tune_plan_case(void);
TCase *tune_knob_case(void);
TCase *tune_boot_case(void);
TCase *tune_needs_case(void);
TCase *tune_side_case(void);
TCase *tune_moved_case(void);
TCase *tune_txn_case(void);
TCase *tune_persisted_case(void);
TCase *tune_missing_case(void);
TCase *tune_journal_case(void);
TCase *tune_compact_case(void);
TCase *tune_fault_case(void);
TCase *tune_stack_case(void);
TCase *tune_run_case(void);
TCase *tune_ranks_case(void);
TCase *tune_command_case(void);
TCase *tune_device_case(void);
TCase *tune_pcie_case(void);
TCase *tune_invariant_case(void);
TCase *tune_provision_case(void);
TCase *tune_interrupts_case(void);
TCase *tune_run_libs_case(void);
TCase *tune_rank_gpu_case(void);
TCase *tune_registry_case(void);
#endif
