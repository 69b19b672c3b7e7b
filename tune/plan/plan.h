/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PLAN_H
#define TN_PLAN_H
/* What the files of this room share about plans. */
#include "tune/model/knob.h"

struct tn_item *tn_plan_add(struct tn_plan *p, const struct tn_knob *k, const char *instance);
void tn_item_clear(struct tn_item *i);
/* Is what it has good enough for what is wanted? Raise-only and lower-only knobs are content with more, or less. pair: the
 * counterpart's value, NULL if there is none. */
bool tn_knob_good(const struct tn_knob *k, const char *want, const char *have, const char *pair);
bool tn_item_good(const struct tn_item *i, const char *current);
/* It holds, but no file sets it so at boot: somebody's by hand, or the kernel's own. --persist keeps it as it is. */
bool tn_item_keeps(const struct tn_item *i);
/* Is this item as the plan saw it, and what has to hold holds? Otherwise exit 3 and which one moved. */
int tn_plan_check_item(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan *plan, const struct tn_item *i,
		       struct gt_err *err);
/* The host given, or one discovered now (without NVML), which *own then holds. */
int tn_host_get(struct gt_fsroot *fs, const struct pr_host *given, struct pr_host **own, const struct pr_host **ret,
		struct gt_err *err);
/* Puts the kept changes of a receipt (gpubench-receipt/2, of file path) into the plan: foreign input, all of it checked.
 * marks: those of this host (probe/host/machine_fingerprint.h). Pure. */
int tn_plan_take_receipt(const json_t *doc, const char *path, const struct pr_host *host, const json_t *marks,
			 struct tn_plan *plan, struct gt_err *err);
/* Whether effects, intervals and verdicts of a receipt follow from its samples. -EINVAL, -EBADMSG and a sentence if not. Pure. */
int tn_receipt_check_samples(const json_t *doc, struct gt_err *err);
/* A device's or policy's name: one component of a path. */
bool tn_instance_ok(const char *s);
/* No string of the document has control characters, so that it may be printed. */
bool tn_json_is_plain(const json_t *doc);
#endif
