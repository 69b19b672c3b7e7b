/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CKPT_UNITS_H
#define RT_CKPT_UNITS_H
#include "runtime/runtime.h"

/*
 * Removes the units that a checkpoint has lost. text: the list { WEIGHT: [units, original units] } of its metadata (see
 * rt_graph_pruned_text()); path: its file, for messages. -EBADMSG: not such a list. -EINVAL: of another model. g is then unchanged.
 */
int rt_match_pruned_text(struct rt_graph *g, const char *text, size_t len, const char *path, struct gt_err *err);
#endif
