/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_TRAIN_H
#define BN_TRAIN_H
/* gpubench train MODEL: one training run in this process. Options and members are those of tests/peers/torch_train.py. */
#include "bench/train/options.h"
#include "lib/err.h"
#include "lib/json.h"

/*
 * Returns { "schema": "gpubench-train/1", "framework", "model", "device", "batch", "seq", "ranks", "threads", "amp",
 * "parameters", "loss" (of the last step), "step_s" [ … ] (seconds of each step after the warm-up), "median_step_s",
 * "items_per_s" (tokens without padding), "unit" ("tokens", "samples"), "max_rss_bytes", "heldout_loss_before",
 * "heldout_loss_after" (nats per token or sample; null without data), "data" (the loader's report with "wait_share",
 * "items_per_s" and "loader_bound", or null), "void" (trained on text and the held-out loss did not fall; false with a
 * learning rate of 0), "minor_faults_per_step", "flops_per_s" (of all ranks, as items_per_s), "mfu" (with profile: one
 * rank's flops relative to its own peak), "flops_per_step" (of one rank and batch), "planned_bytes", "blas", "isa",
 * "pages", "placement", "pages_on_node", "optimizer", "accum", "clip_norm", "grad_norm", "loss_scale",
 * "skipped_updates", "seed", "lr", "passes", "warnings", "spin", "shapes" (with documents), "ops" and "peaks" (with
 * profile) }. Fails with -EINVAL and exit status 64 for invalid options.
 */
int bn_train(const struct bn_train_options *o, json_t **ret, struct gt_err *err);
#endif
