/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_TIME_LIMIT_H
#define BN_TIME_LIMIT_H
#include "lib/err.h"

/* --minutes is too short to compare anything: exit 64, -ETIME, with what is needed and what all of it takes. file: of the session
 * that can be taken up with more time, or NULL. */
int bn_session_short(double limit_s, double need_s, double all_s, const char *file, struct gt_err *err);
#endif
