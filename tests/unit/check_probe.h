/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_PROBE_H
#define CHECK_PROBE_H
#include <check.h>
#include "probe/host/host.h"

struct gt_fsroot *open_fixture(const char *name);   /* the fixture NAME.host */
struct gt_fsroot *open_text(const char *text);	    /* a captured host of these entries */
struct pr_host *discover(struct gt_fsroot *fs);

TCase *case_advice(void);
TCase *case_messages(void);
TCase *case_tables(void);
TCase *case_identity(void);
TCase *case_signatures(void);
TCase *case_holders(void);
#endif
