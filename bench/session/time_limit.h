/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_TIME_LIMIT_H
#define BN_TIME_LIMIT_H
#include "lib/err.h"

/* Fails with exit status 64 and -ETIME: --minutes is too short for a comparison. The message contains the minimum time
 * and the time of the whole session. file: the session that can be resumed with more time, or NULL. */
int bn_session_short(double limit_s, double need_s, double all_s, const char *file, struct gt_err *err);
#endif
