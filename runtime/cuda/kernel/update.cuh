/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optimizers over all tensors in one launch. What changes from step to step lies in device memory, so that a captured
 * step can be replayed. A loss or a norm of the gradients that is no number leaves every parameter as it is.
 */
#include "reduce.cuh"
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

/* part[block] = squares of the chunk's gradients */
RT_KERNEL rt_squares(float *part, const struct rt_update_tensor *tensors, const struct rt_update_chunk *chunks)
{
	__shared__ float sh[32];
	const struct rt_update_chunk chunk = chunks[blockIdx.x];
	const struct rt_update_tensor t = tensors[chunk.tensor];
	int64_t end = chunk.start + RT_UPDATE_CHUNK < t.n ? chunk.start + RT_UPDATE_CHUNK : t.n;
	float sum = 0;

	for (int64_t i = chunk.start + threadIdx.x; i < end; i += blockDim.x) {
		float g = gradient_at(&t, i);

		sum += g * g;
	}
	sum = block_sum(sum, sh);
	if (!threadIdx.x)
		part[blockIdx.x] = sum;
}

/* norm[0] = norm of all gradients, norm[1] = what updates multiply them by; torch.nn.utils.clip_grad_norm_. One block of 1024. */
RT_KERNEL rt_clip(float *norm, const float *part, int n, const struct rt_update_step *h)
{
	double sum = 0;
	float all;

	for (int i = threadIdx.x; i < n; i += 1024)
		sum += (double)part[i];
	sum = block_sum_double(sum);
	if (threadIdx.x)
		return;
	all = (float)sqrt(sum) * h->grad_scale;
	norm[0] = all;
	norm[1] = h->grad_scale * (h->clip > 0 ? fminf(1, h->clip / (all + 1e-6f)) : 1);
}

/* false: nothing is to be updated */
RT_DEVICE bool update_factor(float *factor, const struct rt_update_step *h, const float *loss, const float *norm)
{
	*factor = norm ? norm[1] : h->grad_scale;
	return isfinite(*loss) && (!norm || isfinite(norm[0]));
}

/* torch's order: decay (adamw: of the parameter, adam: into the gradient), m, v, step. Grid: chunks of RT_UPDATE_CHUNK elements. */
RT_KERNEL rt_adamw(const struct rt_update_tensor *tensors, const struct rt_update_chunk *chunks,
		   const struct rt_update_step *h, const float *loss, const float *norm)
{
	const struct rt_update_chunk chunk = chunks[blockIdx.x];
	const struct rt_update_tensor t = tensors[chunk.tensor];
	int64_t end = chunk.start + RT_UPDATE_CHUNK < t.n ? chunk.start + RT_UPDATE_CHUNK : t.n;
	float *pm = (float *)t.state0, *pv = (float *)t.state1, factor;

	if (!update_factor(&factor, h, loss, norm))
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
			g[k] = g[k] * factor + h->l2 * p[k];
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
		 const float *loss, const float *norm)
{
	const struct rt_update_chunk chunk = chunks[blockIdx.x];
	const struct rt_update_tensor t = tensors[chunk.tensor];
	int64_t end = chunk.start + RT_UPDATE_CHUNK < t.n ? chunk.start + RT_UPDATE_CHUNK : t.n;
	float *pm = (float *)t.state0, factor;

	if (!update_factor(&factor, h, loss, norm))
		return;
	for (int64_t i = chunk.start + threadIdx.x; i < end; i += blockDim.x) {
		float p = ((const float *)t.param)[i], g = gradient_at(&t, i) * factor + h->weight_decay * p;

		if (pm) {
			g = h->first ? g : h->momentum * pm[i] + g;
			pm[i] = g;
		}
		store(&t, i, p - h->lr * g);
	}
}
