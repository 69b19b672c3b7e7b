/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LADDER_COMMANDS_H
#define BN_LADDER_COMMANDS_H
/* The commands of a ladder. Words "@dir/NAME" stay as they are. */
#include "bench/ladder/ladder.h"

/* Builds the command that `command` runs with the options of a rung, or NULL for none. */
void bn_ladder_command(struct gt_strv *argv, const struct bn_ladder_request *q, const struct bn_ladder *l,
		       enum bn_ladder_command command, const struct bn_rung *rung);
#endif
