/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PLAN_JSON_H
#define TN_PLAN_JSON_H
/* The plan as a document, gputune-plan/1. */
#include "tune/plan/plan.h"

#define TN_PLAN_SCHEMA "gputune-plan/1"

json_t *tn_plan_to_json(const struct tn_plan *plan);
/* Refuses unknown tunables, values out of range, control characters, duplicate items and other schemas (exit 64).
 * Ignores the document's paths. */
int tn_plan_from_json(const json_t *doc, struct tn_plan **ret, struct gt_err *err);
/* Returns whether s may be the name of a device or policy: one component of a path. */
bool tn_instance_ok(const char *s);
/* Returns whether the document can be printed, which requires that no string has control characters. */
bool tn_json_is_plain(const json_t *doc);
#endif
