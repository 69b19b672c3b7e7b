/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUNE_STAGE_H
#define TUNE_STAGE_H
/* The captured host cpu-server, fresh for each test: apply, verify, revert. */
#include "tests/unit/check_tune.h"

#define SWAPPINESS "/proc/sys/vm/swappiness"

extern struct box b;
extern char *before; /* its contents before the test */
extern struct gt_err err;
extern int status; /* exit status of the last revert or verify */

void set_up(void);
void tear_down(void);
void apply(const struct tn_plan_opts *choice, bool persist); /* makes a new plan; must succeed */
void revert(int want); /* checks the exit status */
int verify(void); /* exit status */
void expect_before(void); /* checks that the tree is unchanged and no journal exists */
void expect(const char *path, const char *value);
#endif
