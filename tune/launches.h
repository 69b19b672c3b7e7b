/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LAUNCHES_H
#define TN_LAUNCHES_H
/* A command that is itself a launcher: how many processes it will start on this host, read from its own options as it would. */
#include "tune/knob.h"

#define TN_LAUNCHES_UNSAID (-1)

/* 0: the command is no launcher, or not known. TN_LAUNCHES_UNSAID: it is one, and its number hangs on what cannot be seen from
 * here, such as mpirun's slots or a file of hosts. */
int tn_launches(const struct tn_ctx *c);
/* Does it say that the job has other hosts than this? False where it is no launcher, and where its number or its names of hosts
 * do not show it. */
bool tn_launches_on_hosts(const struct tn_ctx *c);
/* What to do where the number is not said; a clause. */
#define TN_LAUNCHES_WHY "how many ranks it starts on this host is not said: say so by its option, or let it start gputune run"
#endif
