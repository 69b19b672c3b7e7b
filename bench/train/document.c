/* SPDX-License-Identifier: Apache-2.0 */
/* The document of a training run. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/train/check_options.h"
#include "bench/train/omp_spin.h"
#include "bench/train/run.h"
#include "config.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bn_train_median(const double *v, size_t n)
{
	gt_autofree double *s = gt_xcalloc(n, sizeof(*s));

	memcpy(s, v, n * sizeof(*s));
	qsort(s, n, sizeof(*s), by_value);
	return n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

static void put_real(json_t *doc, const char *key, double v)
{
	json_object_set_new(doc, key, gt_json_real(v));
}

static void put_int(json_t *doc, const char *key, uint64_t v)
{
	json_object_set_new(doc, key, json_integer((json_int_t)v));
}

static double items_per_step(const struct bn_training *r)
{
	return (double)(r->all_rows * r->o.seq * r->o.accum);
}

static void put_times(json_t *doc, const struct bn_training *r)
{
	double med = bn_train_median(r->step_s, r->n_timed);
	json_t *times = json_array();

	for (uint64_t i = 0; i < r->n_timed; i++)
		json_array_append_new(times, gt_json_real(r->step_s[i]));
	json_object_set_new(doc, "step_s", times);
	put_real(doc, "median_step_s", med);
	put_real(doc, "items_per_s", r->o.documents ? r->data.tokens / r->data.step_s : items_per_step(r) / med);
	json_object_set_new(doc, "unit", json_string(r->model->unit));
	put_int(doc, "max_rss_bytes", r->rss_bytes);
	put_real(doc, "heldout_loss_before", r->before);
	put_real(doc, "heldout_loss_after", r->after);
	json_object_set_new(doc, "void", json_boolean(r->data.train && r->model->tokens && r->o.lr > 0 &&
						      !(r->after < r->before)));
	put_real(doc, "minor_faults_per_step", (double)r->faults / (double)r->n_timed);
	put_real(doc, "flops_per_s", r->all_flops_per_s);
}

/* Returns the peak of the requested precision; low_flops is 0 if the device multiplies none in it. */
static double low_peak_of(const struct rt_peaks *k)
{
	return k->f16_flops_per_s > 0 ? k->f16_flops_per_s : k->bf16_flops_per_s > 0 ? k->bf16_flops_per_s : k->flops_per_s;
}

/* Sets of_peak in each row with known work. */
static void put_shares(json_t *rows, const struct rt_peaks *k)
{
	double low_peak = low_peak_of(k);
	double eight_peak = k->fp8_flops_per_s > 0 ? k->fp8_flops_per_s : low_peak;
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		double flops = gt_json_get_real(row, "flops", 0), low = gt_json_get_real(row, "low_flops", 0);
		double eight = gt_json_get_real(row, "fp8_flops", 0);
		double least = fmax((flops - low) / k->flops_per_s + (low - eight) / low_peak + eight / eight_peak,
				    gt_json_get_real(row, "bytes", 0) / k->bytes_per_s);

		if (json_object_get(row, "bytes"))
			put_real(row, "of_peak", least / gt_json_get_real(row, "seconds", NAN));
	}
}

/*
 * Adds the measured peaks, and the shares of them that the step and each row reached. The step's share is MFU: its flops
 * relative to matrix products of its type. For a row, the minimum time is the longer of those of its flops and of its
 * bytes. The share is the minimum time divided by the row's duration.
 */
void bn_train_put_peaks(json_t *doc, const struct bn_training *r)
{
	const struct rt_peaks *k = &r->peaks;
	double low_peak = low_peak_of(k);
	double eight_peak = k->fp8_flops_per_s > 0 ? k->fp8_flops_per_s : low_peak;
	const char *amp = gt_json_get_str(doc, "amp", "");

	json_object_set_new(doc, "peaks",
			    json_pack("{s:o, s:o, s:o}", "flops_per_s", gt_json_real(k->flops_per_s), "bf16_flops_per_s",
				      gt_json_real(k->bf16_flops_per_s), "bytes_per_s", gt_json_real(k->bytes_per_s)));
	if (k->fp8_flops_per_s > 0)
		put_real(json_object_get(doc, "peaks"), "fp8_flops_per_s", k->fp8_flops_per_s);
	if (k->f16_flops_per_s > 0)
		put_real(json_object_get(doc, "peaks"), "f16_flops_per_s", k->f16_flops_per_s);
	put_real(doc, "mfu", r->flops_per_s /
				     (gt_streq(amp, "bf16") || k->f16_flops_per_s > 0 ? low_peak :
				      gt_streq(amp, "fp8")			      ? eight_peak :
											k->flops_per_s));
	put_shares(json_object_get(doc, "ops"), k);
	put_shares(json_object_get(doc, "kernels"), k);
}

/* The error feedback of each rank is as large as the parameters, so no checkpoint contains it. */
static void warn_about_feedback(json_t *doc, const struct bn_training *r)
{
	char text[160];

	if (!r->o.resume || !(gt_streq(r->o.compress, "powersgd") || gt_streq(r->o.compress, "onebit")))
		return;
	snprintf(text, sizeof(text),
		 "a checkpoint does not contain the error feedback of %s: this run differs from one without interruption",
		 r->o.compress);
	json_array_append_new(json_object_get(doc, "warnings"), json_string(text));
}

json_t *bn_train_document(const struct bn_training *r)
{
	static const char *const report_keys[] = {
		"flops_per_step", "bytes_per_step", "planned_bytes", "unplanned_bytes", "plan", "blas", "isa", "pages", "placement",
		"memory", "inputs", "pages_on_node", "pages_by_kind", "threads_on_node", "passes", "shapes", "ddp", "groups",
		"warnings",
		"products", "attention", "host_s_per_step", "timed_by",
		"ops", "kernels" };
	gt_auto_json *report = rt_program_report(r->program);
	json_t *doc = json_object();
	gt_autofree char *spin = NULL;

	if (r->o.prune)
		json_object_set_new(doc, "pruning", bn_train_pruning(r));
	json_object_set_new(doc, "schema", json_string("gpubench-train/1"));
	json_object_set_new(doc, "framework", json_string("gputune " PACKAGE_VERSION));
	json_object_set_new(doc, "model", json_string(r->model->name));
	json_object_set(doc, "device", json_object_get(report, "device"));
	put_int(doc, "batch", r->o.batch);
	put_int(doc, "seq", r->o.seq);
	put_int(doc, "layers", r->o.layers);
	put_int(doc, "width", r->o.width);
	put_int(doc, "heads", r->o.heads);
	if (r->model->kv_heads) {
		put_int(doc, "kv_heads", r->o.kv_heads);
		put_int(doc, "ffn", r->o.ffn);
		json_object_set_new(doc, "tied", json_boolean(r->o.tied));
	}
	put_int(doc, "vocab", r->o.vocab);
	put_int(doc, "size", r->o.size);
	put_int(doc, "patch", r->o.patch);
	put_int(doc, "ranks", r->o.ranks);
	put_int(doc, "tp", r->o.tp);
	json_object_set_new(doc, "sp", json_boolean(r->o.sp));
	put_int(doc, "pp", r->o.pp);
	put_int(doc, "microbatches", r->o.microbatches);
	put_int(doc, "warmup", r->o.warmup);
	put_int(doc, "threads", (uint64_t)rt_program_threads(r->program));
	json_object_set_new(doc, "amp", gt_json_str(r->o.amp ? r->o.amp : "fp32"));
	spin = bn_omp_spin_text();
	json_object_set_new(doc, "spin", gt_json_str(spin));
	json_object_set_new(doc, "optimizer", json_string(r->o.optimizer));
	put_int(doc, "accum", r->o.accum);
	put_real(doc, "clip_norm", r->o.clip_norm > 0 ? r->o.clip_norm : NAN);
	put_real(doc, "grad_norm", r->last.grad_norm);
	put_real(doc, "loss_scale", r->last.loss_scale);
	put_int(doc, "skipped_updates", r->skipped);
	put_int(doc, "seed", r->o.seed);
	put_real(doc, "lr", r->o.lr);
	put_int(doc, "parameters", (uint64_t)rt_program_parameters(r->program));
	put_real(doc, "loss", r->loss);
	put_times(doc, r);
	for (size_t i = 0; i < GT_ARRAY_SIZE(report_keys); i++)
		if (r->o.profile || strcmp(report_keys[i], "ops") != 0)
			json_object_set(doc, report_keys[i], json_object_get(report, report_keys[i]));
	json_object_set_new(doc, "data", bn_train_data_report(&r->data, r->o.documents ? r->data.tokens :
									items_per_step(r) * (double)r->n_timed,
							      json_object_get(doc, "warnings")));
	warn_about_feedback(doc, r);
	bn_train_warn_of_keys(&r->o, json_object_get(doc, "warnings"));
	if (*r->resumed)
		json_array_append_new(json_object_get(doc, "warnings"), gt_json_str(r->resumed));
	if (r->stages)
		json_object_set(doc, "pipeline", r->stages);
	if (r->ranks)
		json_object_update(json_object_get(doc, "ddp"), r->ranks);
	if (r->o.check_gradients)
		json_object_set_new(doc, "gradient_check", json_pack("{s:i, s:o}", "checked", r->checked.checked, "worst",
								     gt_json_real(r->checked.worst)));
	return doc;
}
