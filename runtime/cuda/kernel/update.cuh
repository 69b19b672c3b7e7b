/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optimizers over all tensors in one launch. What changes from step to step lies in device memory, so that a captured
 * step can be replayed. A loss that is no number leaves every parameter as it is.
 */
#include "common.cuh"
#include "runtime/cuda/update.h"

/* g may be bf16; the low-precision copy, if any, is written with the parameter. */
RT_DEVICE float gradient_at(const struct rt_update_tensor *t, int64_t i)
{
	return t->narrow_gradient ? as_float(((const bf16 *)t->gradient)[i]) : ((const float *)t->gradient)[i];
}

RT_DEVICE void store(const struct rt_update_tensor *t, int64_t i, float p)
{
	((float *)t->param)[i] = p;
	if (t->copy)
		assign(((bf16 *)t->copy)[i], p);
}

/* torch's order: decay (adamw: of the parameter, adam: into the gradient), m, v, step. Grid: chunks of RT_UPDATE_CHUNK elements. */
RT_KERNEL rt_adamw(const struct rt_update_tensor *tensors, const struct rt_update_chunk *chunks,
		   const struct rt_update_step *h, const float *loss)
{
	const struct rt_update_chunk chunk = chunks[blockIdx.x];
	const struct rt_update_tensor t = tensors[chunk.tensor];
	int64_t end = chunk.start + RT_UPDATE_CHUNK < t.n ? chunk.start + RT_UPDATE_CHUNK : t.n;
	float *pm = (float *)t.state0, *pv = (float *)t.state1;

	if (!isfinite(*loss))
		return;
	for (int64_t i = chunk.start + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
		float p[4], m[4], v[4], g[4];
		int n = end - i < 4 ? (int)(end - i) : 4;

		if (n == 4) {
			get<4>(p, (const float *)t.param + i);
			get<4>(m, pm + i);
			get<4>(v, pv + i);
			if (t.narrow_gradient)
				get<4>(g, (const bf16 *)t.gradient + i);
			else
				get<4>(g, (const float *)t.gradient + i);
		} else {
			for (int k = 0; k < n; k++) {
				p[k] = ((const float *)t.param)[i + k];
				m[k] = pm[i + k];
				v[k] = pv[i + k];
				g[k] = gradient_at(&t, i + k);
			}
		}
		for (int k = 0; k < n; k++) {
			g[k] += h->l2 * p[k];
			m[k] = h->beta1 * m[k] + h->rest1 * g[k];
			v[k] = h->beta2 * v[k] + h->rest2 * g[k] * g[k];
			p[k] = p[k] * h->decay - h->step_size * m[k] / (sqrtf(v[k]) * h->scale2 + h->eps);
		}
		if (n == 4) {
			put<4>((float *)t.param + i, p);
			put<4>(pm + i, m);
			put<4>(pv + i, v);
			if (t.copy)
				put<4>((bf16 *)t.copy + i, p);
		} else {
			for (int k = 0; k < n; k++) {
				store(&t, i + k, p[k]);
				pm[i + k] = m[k];
				pv[i + k] = v[k];
			}
		}
	}
}

/* g += decay * p; momentum: v = mu v + g (the first step assigns), p -= lr v */
RT_KERNEL rt_sgd(const struct rt_update_tensor *tensors, const struct rt_update_chunk *chunks, const struct rt_update_step *h,
		 const float *loss)
{
	const struct rt_update_chunk chunk = chunks[blockIdx.x];
	const struct rt_update_tensor t = tensors[chunk.tensor];
	int64_t end = chunk.start + RT_UPDATE_CHUNK < t.n ? chunk.start + RT_UPDATE_CHUNK : t.n;
	float *pm = (float *)t.state0;

	if (!isfinite(*loss))
		return;
	for (int64_t i = chunk.start + threadIdx.x; i < end; i += blockDim.x) {
		float p = ((const float *)t.param)[i], g = gradient_at(&t, i) + h->weight_decay * p;

		if (pm) {
			g = h->first ? g : h->momentum * pm[i] + g;
			pm[i] = g;
		}
		store(&t, i, p - h->lr * g);
	}
}
