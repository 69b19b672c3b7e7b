/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optimizers over all tensors in one launch. What changes from step to step lies in device memory, so that a captured
 * step can be replayed. A loss or a norm of the gradients that is no number leaves every parameter as it is.
 */
#include "reduce.cuh"
#include "runtime/cuda/update.h"

/* It may be bf16. */
RT_DEVICE float gradient_at(const struct rt_update_tensor *t, int64_t i)
{
	return t->narrow_gradient ? as_float(((const bf16 *)t->gradient)[i]) : ((const float *)t->gradient)[i];
}

/* Philox 4x32-10, as runtime/exec/random.c: what a place gets follows from seed, tensor, step and place alone. */
RT_DEVICE void random4(uint32_t *r, const struct rt_update_step *h, uint64_t stream, int64_t index)
{
	uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = (uint32_t)stream, c3 = h->step;
	uint32_t k0 = h->seed[0], k1 = h->seed[1];

#pragma unroll
	for (int round = 0; round < 10; round++) {
		uint64_t a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;

		c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
		c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
		c1 = (uint32_t)b;
		c3 = (uint32_t)a;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	r[0] = c0;
	r[1] = c1;
	r[2] = c2;
	r[3] = c3;
}

/* Up or down with the probability that makes the mean right (Gupta et al., Deep learning with limited numerical
 * precision, 2015). */
RT_DEVICE float round_at_random(float x, uint32_t random)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	u = isfinite(x) ? (u + (random & 0xffff)) & 0xffff0000u : u;
	memcpy(&x, &u, sizeof(u));
	return x;
}

/* Parameters of four places from i on, a multiple of 4; n of them exist. */
RT_DEVICE void get_params(float *p, const struct rt_update_tensor *t, int64_t i, int n)
{
	if (n == 4 && t->narrow_param)
		get<4>(p, (const bf16 *)t->param + i);
	else if (n == 4)
		get<4>(p, (const float *)t->param + i);
	else
		for (int k = 0; k < n; k++)
			p[k] = t->narrow_param ? as_float(((const bf16 *)t->param)[i + k]) : ((const float *)t->param)[i + k];
}

RT_DEVICE void put_params(const struct rt_update_tensor *t, const struct rt_update_step *h, int64_t i, int n, float *p)
{
	if (t->narrow_param) {
		uint32_t r[4];

		random4(r, h, t->stream, i / 4);
		for (int k = 0; k < n; k++)
			p[k] = round_at_random(p[k], r[k]);
		if (n == 4)
			put<4>((bf16 *)t->param + i, p);
		else
			for (int k = 0; k < n; k++)
				assign(((bf16 *)t->param)[i + k], p[k]);
		return;
	}
	if (n == 4) {
		put<4>((float *)t->param + i, p);
		if (t->copy)
			put<4>((bf16 *)t->copy + i, p);
		return;
	}
	for (int k = 0; k < n; k++) {
		((float *)t->param)[i + k] = p[k];
		if (t->copy)
			assign(((bf16 *)t->copy)[i + k], p[k]);
	}
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

		get_params(p, &t, i, n);
		if (n == 4) {
			get<4>(m, pm + i);
			get<4>(v, pv + i);
			if (t.narrow_gradient)
				get<4>(g, (const bf16 *)t.gradient + i);
			else
				get<4>(g, (const float *)t.gradient + i);
		} else {
			for (int k = 0; k < n; k++) {
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
		put_params(&t, h, i, n, p);
		if (n == 4) {
			put<4>(pm + i, m);
			put<4>(pv + i, v);
		} else {
			for (int k = 0; k < n; k++) {
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
	for (int64_t i = chunk.start + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
		int n = end - i < 4 ? (int)(end - i) : 4;
		float p[4];

		get_params(p, &t, i, n);
		for (int k = 0; k < n; k++) {
			float g = gradient_at(&t, i + k) * factor + h->weight_decay * p[k];

			if (pm) {
				g = h->first ? g : h->momentum * pm[i + k] + g;
				pm[i + k] = g;
			}
			p[k] -= h->lr * g;
		}
		put_params(&t, h, i, n, p);
	}
}
