/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optimizers, over all tensors in one launch. Values that change from step to step are in device memory, so that a
 * captured step can be replayed. A non-finite loss or norm of the gradients leaves every parameter unchanged.
 */
#include "random.cuh"
#include "reduce.cuh"
#include "runtime/cuda/kernel/update.h"

RT_DEVICE float gradient_at(const struct rt_update_tensor *t, int64_t i)
{
	return t->gradient_type == RT_UPDATE_BF16 ? as_float(((const bf16 *)t->gradient)[i]) :
	       t->gradient_type == RT_UPDATE_F16  ? as_float(((const f16 *)t->gradient)[i]) :
						    ((const float *)t->gradient)[i];
}

/* Loads N gradients from index i on, a multiple of N. N is 4 or 8. */
template <int N> RT_DEVICE void gradients_at(float *g, const struct rt_update_tensor *t, int64_t i)
{
	if (t->gradient_type == RT_UPDATE_BF16)
		get<N>(g, (const bf16 *)t->gradient + i);
	else if (t->gradient_type == RT_UPDATE_F16)
		get<N>(g, (const f16 *)t->gradient + i);
	else
		for (int k = 0; k < N; k += 4)
			get<4>(g + k, (const float *)t->gradient + i + k);
}

/* The random numbers of an element depend on seed, tensor, step and index only. */
RT_DEVICE void random4(uint32_t (&r)[4], const struct rt_update_step *h, uint64_t stream, int64_t index)
{
	r[0] = (uint32_t)index;
	r[1] = (uint32_t)(index >> 32);
	r[2] = (uint32_t)stream;
	r[3] = h->step;
	philox(r, h->seed[0], h->seed[1]);
}

/* Stochastic rounding: the expectation is exact (Gupta et al., Deep learning with limited numerical precision, 2015). */
RT_DEVICE float round_at_random(float x, uint32_t random)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	u = isfinite(x) ? (u + (random & 0xffff)) & 0xffff0000u : u;
	memcpy(&x, &u, sizeof(u));
	return x;
}

/* Loads four parameters from index i on, a multiple of 4; n of them exist. */
RT_DEVICE void get_params(float *p, const struct rt_update_tensor *t, int64_t i, int n)
{
	if (n == 4 && t->narrow_param)
		get<4>(p, (const bf16 *)t->param + i);
	else if (n == 4)
		get<4>(p, (const float *)t->param + i);
	else
		for (int k = 0; k < 4; k++)
			p[k] = k >= n		? 0 :
			       t->narrow_param ? as_float(((const bf16 *)t->param)[i + k]) :
						 ((const float *)t->param)[i + k];
}

RT_DEVICE void put_params(const struct rt_update_tensor *t, const struct rt_update_step *h, int64_t i, int n, float *p)
{
	if (t->narrow_param) {
		uint32_t r[4];

		random4(r, h, t->stream, i / 4);
		for (int k = 0; k < 4; k++)
			p[k] = round_at_random(p[k], r[k]);
		if (n == 4)
			put<4>((bf16 *)t->param + i, p);
		else
			for (int k = 0; k < 4; k++)
				if (k < n)
					assign(((bf16 *)t->param)[i + k], p[k]);
		return;
	}
	if (n == 4) {
		put<4>((float *)t->param + i, p);
		if (t->copy && t->half_copy)
			put<4>((f16 *)t->copy + i, p);
		else if (t->copy)
			put<4>((bf16 *)t->copy + i, p);
		return;
	}
	for (int k = 0; k < 4; k++) {
		if (k >= n)
			break;
		((float *)t->param)[i + k] = p[k];
		if (t->copy && t->half_copy)
			assign(((f16 *)t->copy)[i + k], p[k]);
		else if (t->copy)
			assign(((bf16 *)t->copy)[i + k], p[k]);
	}
}

/* Does the same for floats and gradients, with 16-byte accesses except at the end of a tensor, where missing elements are
 * zero. Compile-time indexes keep all four in registers. */
RT_DEVICE void get_floats(float *x, const float *p, int n)
{
	if (n == 4)
		get<4>(x, p);
	else
		for (int k = 0; k < 4; k++)
			x[k] = k < n ? p[k] : 0;
}

RT_DEVICE void put_floats(float *p, const float *x, int n)
{
	if (n == 4)
		put<4>(p, x);
	else
		for (int k = 0; k < 4; k++)
			if (k < n)
				p[k] = x[k];
}

RT_DEVICE void four_gradients(float *g, const struct rt_update_tensor *t, int64_t i, int n)
{
	if (n == 4)
		gradients_at<4>(g, t, i);
	else
		for (int k = 0; k < 4; k++)
			g[k] = k < n ? gradient_at(t, i + k) : 0;
}

/* Returns the sum of squares of this thread's gradients from start to end. */
template <class S> RT_DEVICE S own_squares(const struct rt_update_tensor *t, int64_t start, int64_t end)
{
	S sum = 0;

	for (int64_t i = start + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
		int n = end - i < 4 ? (int)(end - i) : 4;
		float g[4];

		four_gradients(g, t, i, n);
		for (int k = 0; k < 4; k++)
			sum += (S)g[k] * (S)g[k];
	}
	return sum;
}

/* part[block] = norm_share times the squares of the chunk's gradients. With a large loss scale the squares overflow float. */
RT_KERNEL rt_squares(double *part, const struct rt_update_tensor *tensors, const struct rt_update_chunk *chunks)
{
	const struct rt_update_chunk chunk = chunks[blockIdx.x];
	const struct rt_update_tensor t = tensors[chunk.tensor];
	int64_t end = chunk.start + RT_UPDATE_CHUNK < t.n ? chunk.start + RT_UPDATE_CHUNK : t.n;
	double sum = (double)own_squares<float>(&t, chunk.start, end);

	if (!isfinite(sum))
		sum = own_squares<double>(&t, chunk.start, end);
	sum = block_sum_double(sum);
	if (!threadIdx.x)
		part[blockIdx.x] = sum * (double)t.norm_share;
}

/* total = sum of part (n). One block of 1024. */
RT_KERNEL_1024 rt_total(double *total, const double *part, int n)
{
	double sum = 0;

	for (int i = threadIdx.x; i < n; i += 1024)
		sum += part[i];
	sum = block_sum_double(sum);
	if (!threadIdx.x)
		*total = sum;
}

/* norm[0] = norm of all gradients, norm[1] = their factor in updates, as torch.nn.utils.clip_grad_norm_. One block of
 * 1024. */
RT_KERNEL_1024 rt_clip(float *norm, const double *part, int n, const struct rt_update_step *h)
{
	double sum = 0;
	float all;

	for (int i = threadIdx.x; i < n; i += 1024)
		sum += part[i];
	sum = block_sum_double(sum);
	if (threadIdx.x)
		return;
	all = (float)(sqrt(sum) * (double)h->grad_scale);
	norm[0] = all;
	norm[1] = h->grad_scale * (h->clip > 0 ? fminf(1, h->clip / (all + 1e-6f)) : 1);
}

/* Returns false if nothing must be updated. */
RT_DEVICE bool update_factor(float *factor, const struct rt_update_step *h, const float *loss, const float *norm)
{
	*factor = norm ? norm[1] : h->grad_scale;
	return isfinite(*loss) && (!norm || isfinite(norm[0]));
}

/* torch's order: decay (adamw: of the parameter, adam: added to the gradient), m, v, step. Elements from start to end. */
RT_DEVICE void adamw_chunk(const struct rt_update_tensor *t, const struct rt_update_step *h, float factor, int64_t start,
			   int64_t end)
{
	float *pm = (float *)t->state0, *pv = (float *)t->state1;

	for (int64_t i = start + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
		float p[4], m[4], v[4], g[4];
		int n = end - i < 4 ? (int)(end - i) : 4;

		get_params(p, t, i, n);
		get_floats(m, pm + i, n);
		get_floats(v, pv + i, n);
		four_gradients(g, t, i, n);
		for (int k = 0; k < 4; k++) {
			g[k] = g[k] * factor + h->l2 * p[k];
			m[k] = h->beta1 * m[k] + h->rest1 * g[k];
			v[k] = h->beta2 * v[k] + h->rest2 * g[k] * g[k];
			p[k] = p[k] * h->decay - h->step_size * m[k] / (sqrtf(v[k]) * h->scale2 + h->eps);
		}
		put_params(t, h, i, n, p);
		put_floats(pm + i, m, n);
		put_floats(pv + i, v, n);
	}
}

/* Grid: chunks of RT_UPDATE_CHUNK elements. */
RT_KERNEL rt_adamw(const struct rt_update_tensor *tensors, const struct rt_update_chunk *chunks,
		   const struct rt_update_step *h, const float *loss, const float *norm)
{
	const struct rt_update_chunk chunk = chunks[blockIdx.x];
	const struct rt_update_tensor t = tensors[chunk.tensor];
	int64_t end = chunk.start + RT_UPDATE_CHUNK < t.n ? chunk.start + RT_UPDATE_CHUNK : t.n;
	float factor;

	if (update_factor(&factor, h, loss, norm))
		adamw_chunk(&t, h, factor, chunk.start, end);
}

/* g += decay * p; momentum: v = mu v + g (assigned in the first step), p -= lr v */
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
		float p[4], g[4], m[4] = { 0 };

		get_params(p, &t, i, n);
		four_gradients(g, &t, i, n);
		if (pm && !h->first)
			get_floats(m, pm + i, n);
		for (int k = 0; k < 4; k++) {
			g[k] = g[k] * factor + h->weight_decay * p[k];
			if (pm && !h->first)
				g[k] = h->momentum * m[k] + g[k];
			p[k] -= h->lr * g[k];
		}
		if (pm)
			put_floats(pm + i, g, n);
		put_params(&t, h, i, n, p);
	}
}

/* ---- adamw with m and v in 8 bits: runtime/math/simd_adam8.h, one block of codes per warp, eight per lane ---- */
#define EACH8 (RT_MAP8_BLOCK / 32)

/* n of eight codes, followed by zeros */
RT_DEVICE void get_codes(float *x, const unsigned char *p, int n, const float *value, float scale, int zero)
{
	pack<unsigned char, EACH8> c;

	if (n == EACH8) {
		RT_ALIGNED(p, EACH8);
		c = *reinterpret_cast<const pack<unsigned char, EACH8> *>(p);
	}
	for (int k = 0; k < EACH8; k++)
		x[k] = __fmul_rn(value[n == EACH8 ? c.v[k] : k < n ? p[k] : zero], scale);
}

/* |x| <= 1 */
RT_DEVICE unsigned char code_of(float x, const uint32_t *cells, int zero)
{
	uint32_t a, word;
	int cell, code;

	memcpy(&a, &x, sizeof(a));
	a &= 0x7fffffff;
	cell = (int)(a >> 16) - (int)RT_MAP8_FIRST;
	word = cells[cell > 0 ? cell : 0];
	code = (int)(word >> 16) + (cell >= 0 && (a & 0xffff) > (word & 0xffff));
	code = x < 0 ? 2 * zero - code : code;
	return (unsigned char)(code > 0 ? code : 0);
}

RT_DEVICE void put_codes(unsigned char *p, int n, const float *x, float top, const uint32_t *cells, int zero)
{
	float per = top > 0 ? 1 / top : 0;
	pack<unsigned char, EACH8> c;

	for (int k = 0; k < EACH8; k++)
		c.v[k] = code_of(fminf(fmaxf(__fmul_rn(x[k], per), -1), 1), cells, zero);
	if (n == EACH8) {
		RT_ALIGNED(p, EACH8);
		*reinterpret_cast<pack<unsigned char, EACH8> *>(p) = c;
	} else {
		for (int k = 0; k < n; k++)
			p[k] = c.v[k];
	}
}

RT_DEVICE void get_gradients(float *g, const struct rt_update_tensor *t, int64_t i, int n)
{
	if (n == EACH8) {
		gradients_at<EACH8>(g, t, i);
	} else {
		for (int k = 0; k < EACH8; k++)
			g[k] = k < n ? gradient_at(t, i + k) : 0;
	}
}

/* Updates the block of codes that starts with element `at`. Rounds as CPUs with fused multiply-add do. */
RT_DEVICE void adamw8_block(const struct rt_update_tensor *t, const struct rt_update_step *h, const struct rt_update_maps *maps,
			    float factor, int64_t at, int64_t end)
{
	int64_t i = at + EACH8 * (threadIdx.x & 31), block = at / RT_MAP8_BLOCK;
	int n = end - i < EACH8 ? (end > i ? (int)(end - i) : 0) : EACH8;
	unsigned char *pm = (unsigned char *)t->state0 + i, *pv = (unsigned char *)t->state1 + i;
	float *m_top = (float *)t->scale0 + block, *v_top = (float *)t->scale1 + block, most_m = 0, most_v = 0;
	float g[EACH8], m[EACH8], v[EACH8], p[EACH8] = {};

	get_gradients(g, t, i, n);
	get_codes(m, pm, n, maps->value[1], *m_top, 127);
	get_codes(v, pv, n, maps->value[0], *v_top, 0);
	for (int k = 0; k < n; k += 4)
		get_params(p + k, t, i + k, n - k < 4 ? n - k : 4);
	for (int k = 0; k < EACH8; k++) {
		g[k] = __fmul_rn(g[k], factor);
		m[k] = __fmaf_rn(m[k], h->beta1, __fmul_rn(g[k], h->rest1));
		v[k] = __fmaf_rn(v[k], h->beta2, __fmul_rn(__fmul_rn(g[k], g[k]), h->rest2));
		most_m = fmaxf(most_m, fabsf(m[k]));
		most_v = fmaxf(most_v, v[k]);
		p[k] = __fmaf_rn(p[k], h->decay, -(__fmul_rn(h->step_size, m[k]) / __fmaf_rn(sqrtf(v[k]), h->scale2, h->eps)));
	}
	most_m = warp_max(most_m);
	most_v = warp_max(most_v);
	for (int k = 0; k < n; k += 4)
		put_params(t, h, i + k, n - k < 4 ? n - k : 4, p + k);
	put_codes(pm, n, m, most_m, maps->cell[1], 127);
	put_codes(pv, n, v, most_v, maps->cell[0], 0);
	if (threadIdx.x & 31)
		return;
	*m_top = most_m;
	*v_top = most_v;
}

/*
 * Tensors without scales have f32 moments. Counted bytes per element of the others, with parameter and gradient in f32:
 * 16 (gradient 4, parameter 8, codes 4) and 16/256 of scales; adamw moves 28. The tables are read once per chunk, from
 * the L2 cache.
 */
RT_KERNEL rt_adamw8(const struct rt_update_tensor *tensors, const struct rt_update_chunk *chunks, const struct rt_update_step *h,
		    const float *loss, const float *norm, const struct rt_update_maps *maps)
{
	__shared__ struct rt_update_maps sh;
	const struct rt_update_chunk chunk = chunks[blockIdx.x];
	const struct rt_update_tensor t = tensors[chunk.tensor];
	int64_t end = chunk.start + RT_UPDATE_CHUNK < t.n ? chunk.start + RT_UPDATE_CHUNK : t.n;
	float factor;

	if (!update_factor(&factor, h, loss, norm))
		return;
	if (!t.scale0) {
		adamw_chunk(&t, h, factor, chunk.start, end);
		return;
	}
	for (unsigned i = threadIdx.x; i < sizeof(sh) / sizeof(uint32_t); i += blockDim.x)
		((uint32_t *)&sh)[i] = ((const uint32_t *)maps)[i];
	__syncthreads();
	for (int64_t at = chunk.start + RT_MAP8_BLOCK * (threadIdx.x / 32); at < end; at += RT_MAP8_BLOCK * (blockDim.x / 32))
		adamw8_block(&t, h, &sh, factor, at, end);
}
