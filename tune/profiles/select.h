/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_SELECT_H
#define TN_SELECT_H
/* Names that profiles, --only and --skip accept. A knob is a tunable of the host or a launch setting; "vm." is a
 * family. */
#include "lib/err.h"
#include "lib/util.h"

/* Returns id i of tunables and launch settings, NULL past the last; for completion. */
const char *tn_knob_word(size_t i);
/* Returns whether the list has the id or its family. True also for an empty list and for NULL. */
bool tn_knob_selected(const char *id, const struct gt_strv *list);
/* Returns whether the list has the id itself. A family selects its knobs, but does not enable opt-in ones. */
bool tn_knob_named(const char *id, const struct gt_strv *list);
/* Checks that every entry of the list is an id or a family. Exit 64 with a sentence if not. */
int tn_knob_check_list(const struct gt_strv *list, const char *option, struct gt_err *err);
#endif
