/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include "bench/train/evaluate.h"
#include "bench/train/infer_int8.h"
#include "bench/train/train_data.h"

#define CALIBRATION_BATCHES	8
#define PERCENTILE		99.99

static int usage(struct gt_err *err, const char *what)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s", what);
}

static enum rt_calibration method_of(const char *name)
{
	return gt_streq(name, "percentile") ? RT_CALIBRATE_PERCENTILE :
	       gt_streq(name, "entropy")    ? RT_CALIBRATE_ENTROPY :
					      RT_CALIBRATE_MINMAX;
}

int bn_int8_parse(const struct bn_int8_options *o, const struct bn_train_options *model, struct bn_int8 *ret, struct gt_err *err)
{
	bool is_static = gt_streq(o->int8, "static");

	if ((o->calibrate || o->calibration_batches) && !is_static)
		return usage(err, "--calibrate and --calibration-batches need --int8 static");
	if (o->int8 && gt_streq(model->device, "cuda"))
		return usage(err, "--int8 runs on the CPU: choose --amp fp8 or --amp bf16 with --device cuda");
	if (o->int8 && model->amp && !gt_streq(model->amp, "fp32"))
		return usage(err, "--int8 multiplies 8-bit numbers: it takes no --amp");
	*ret = (struct bn_int8){
		.use = !o->int8 ? RT_INT8_OFF : is_static ? RT_INT8_STATIC : RT_INT8_DYNAMIC,
		.method = method_of(o->calibrate),
		.batches = o->calibration_batches ? o->calibration_batches : CALIBRATION_BATCHES,
	};
	return 0;
}

int bn_int8_calibrate(const struct bn_int8 *q, const struct bn_model *m, const struct bn_train_options *o, struct rt_program *p,
		      const void *input, float *logits, struct rt_ranges **ret, struct gt_err *err)
{
	gt_auto(rt_loader) *l = NULL;
	int r = bn_train_data_wanted(m, o) ? bn_train_data_part(m, o, RT_PART_TRAIN, o->batch, &l, err) : 0;

	if (r)
		return r;
	for (uint64_t i = 0; i < q->batches; i++) {
		struct rt_batch b = { .x = input };

		r = l ? rt_loader_next(l, &b, err) : 0;
		if (r)
			return r;
		r = rt_run(p, (const void *[]){ b.x, NULL }, &logits, err);
		if (r)
			return r;
	}
	return rt_calibrate(p, q->method, PERCENTILE, ret, err);
}

int bn_int8_evaluate(const struct bn_model *m, const struct bn_train_options *o, struct rt_program *int8, struct rt_program *fp32,
		     float *logits[2], json_t **ret, struct gt_err *err)
{
	struct bn_score score[2];
	int64_t rows;
	int r;

	*ret = NULL;
	if (!bn_train_data_wanted(m, o)) {
		*ret = json_null();
		return 0;
	}
	r = bn_evaluate(m, o, (struct rt_program *[]){ int8, fp32 }, logits, 2, score, &rows, err);
	if (r)
		return r;
	*ret = json_pack("{s:I, s:o, s:o, s:o, s:o}", "rows", (json_int_t)rows, "loss", gt_json_real(score[0].loss), "fp32_loss",
			 gt_json_real(score[1].loss), "accuracy", gt_json_real(score[0].accuracy), "fp32_accuracy",
			 gt_json_real(score[1].accuracy));
	return 0;
}

double bn_int8_difference(const float *a, const float *b, int64_t n)
{
	double d = 0, s = 0;

	for (int64_t i = 0; i < n; i++) {
		d += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
		s += (double)b[i] * (double)b[i];
	}
	return s > 0 ? sqrt(d / s) : 0;
}
