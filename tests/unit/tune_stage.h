/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUNE_STAGE_H
#define TUNE_STAGE_H
/* The captured host cpu-server, fresh for each test: applied to, verified, put back. */
#include "tests/unit/check_tune.h"

#define SWAPPINESS "/proc/sys/vm/swappiness"

extern struct box b;
extern char *before; /* its picture as the test found it */
extern struct gt_err err;
extern int status; /* of the last revert or verify */

void set_up(void);
void tear_down(void);
void apply(const struct tn_plan_opts *choice, bool persist); /* a new plan; must succeed */
void revert(int want); /* ends with the status wanted */
int verify(void); /* the status */
void expect_before(void); /* as the test found it, and no journal */
void expect(const char *path, const char *value);
#endif
