/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic loss scale with the rules of torch's GradScaler, as in runtime/cpu/run.c. Scale, tracker and the number
 * of updates are in device memory, so that no step waits for the result of an update. One thread each.
 */
#include "common.cuh"
#include "runtime/cuda/kernel/update.h"

/* Before a batch: sets the numbers of the step that the host does not know. first: first batch of the update; lr and
 * betas: of the optimizer. */
RT_KERNEL rt_scaler_begin(struct rt_update_step *h, struct rt_scaler_state *s, int first, double lr, double beta1, double beta2)
{
	double step = (double)(s->step + 1);

	if (first)
		s->overflow = 0;
	h->loss_scale = (float)((double)h->loss_scale * (double)s->scale);
	h->grad_scale = (float)((double)h->grad_scale / (double)s->scale);
	h->step = (uint32_t)(s->step + 1);
	h->first = s->step == 0;
	h->step_size = (float)(lr / (1 - pow(beta1, step)));
	h->scale2 = (float)(1 / sqrt(1 - pow(beta2, step)));
}

/* After a forward pass. */
RT_KERNEL rt_scaler_check(struct rt_scaler_state *s, const float *loss)
{
	if (!isfinite(*loss))
		s->overflow = 1;
}

/* Before the updates, which change nothing if norm[0] is not finite. A non-finite loss of any batch makes it so. */
RT_KERNEL rt_scaler_judge(const struct rt_scaler_state *s, float *norm)
{
	if (s->overflow)
		norm[0] = INFINITY;
}

/* After the updates. */
RT_KERNEL rt_scaler_end(struct rt_scaler_state *s, const float *norm, double growth, double backoff, int64_t interval)
{
	bool skipped = !isfinite(norm[0]);

	s->norm = norm[0];
	s->skipped = skipped ? s->skipped + 1 : 0;
	s->total_skipped += skipped;
	s->step += !skipped;
	if (skipped) {
		s->scale = (float)((double)s->scale * backoff);
		s->tracker = 0;
	} else if (++s->tracker == interval) {
		float grown = (float)((double)s->scale * growth);

		if (isfinite(grown))
			s->scale = grown;
		s->tracker = 0;
	}
}
