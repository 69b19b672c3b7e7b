/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_INFER_INT8_H
#define BN_INFER_INT8_H
/* INT8 inference: options, calibration, and comparison with f32 on data. */
#include "bench/train/models.h"
#include "lib/json.h"

struct bn_int8 {
	enum rt_int8 use;
	enum rt_calibration method;
	uint64_t batches; /* number of calibration batches */
};
/* The options of gpubench infer, see infer.h. */
struct bn_int8_options {
	const char *int8;	      /* "dynamic", "static"; NULL: off */
	const char *calibrate;	      /* method of "static": "minmax", "percentile", "entropy"; NULL: minmax */
	uint64_t calibration_batches; /* 0: 8 */
};
/* Checks the options together with those of the model. */
int bn_int8_parse(const struct bn_int8_options *o, const struct bn_train_options *model, struct bn_int8 *ret, struct gt_err *err);
/* Runs p, compiled with RT_INT8_OBSERVE for o->batch rows, on training data, or on `input` if the model has none. logits:
 * memory for its output. */
int bn_int8_calibrate(const struct bn_int8 *q, const struct bn_model *m, const struct bn_train_options *o, struct rt_program *p,
		      const void *input, float *logits, struct rt_ranges **ret, struct gt_err *err);
/* Computes loss and accuracy of two programs for o->batch rows on the same held-out batches. logits: memory of both outputs.
 * *ret: { "rows", "loss", "fp32_loss", "accuracy", "fp32_accuracy" }, or null without data. */
int bn_int8_evaluate(const struct bn_model *m, const struct bn_train_options *o, struct rt_program *int8, struct rt_program *fp32,
		     float *logits[2], json_t **ret, struct gt_err *err);
/* Returns the root mean square of a - b (n) relative to that of b. */
double bn_int8_difference(const float *a, const float *b, int64_t n);
#endif
