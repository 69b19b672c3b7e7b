/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisation per channel of x (rows,cols) over its rows. A thread keeps W channels of 16 bytes for all its rows, so that
 * what belongs to a channel stays in registers: lanes = min(cols / W, 256) threads lie side by side, 256 / lanes rows below one
 * another; gridDim.x walks over the channels, gridDim.y shares the rows out. Forward: x is read twice and y written; backward: dy, x
 * (and y behind an activation) are read twice and dx (and the residual's gradient) written.
 */
#include "common.cuh"

struct channels {
	int lanes, c, row, step; /* my first channel; my first row and how far the next one is */
};

/* c < 0: nothing to do for this thread. */
RT_DEVICE channels channels_of(int cols, int w)
{
	channels p;
	int groups = cols / w, below;

	p.lanes = groups < 256 ? groups : 256;
	below = 256 / p.lanes;
	p.c = ((int)blockIdx.x * p.lanes + (int)threadIdx.x % p.lanes) * w;
	p.row = (int)blockIdx.y * below + (int)threadIdx.x / p.lanes;
	p.step = (int)gridDim.y * below;
	if ((int)threadIdx.x >= below * p.lanes || p.c >= cols)
		p.c = -1;
	return p;
}

/* The block's rows of both sums, added in the order of the threads; part (gridDim.y, 2, cols). */
template <int W> RT_DEVICE void channels_add(float *part, const channels &p, int cols, const float *a, const float *b)
{
	__shared__ float sh[256 * 16];
	int below = 256 / p.lanes, lane = (int)threadIdx.x % p.lanes;

	for (int k = 0; k < W; k++) {
		sh[(2 * k) * 256 + threadIdx.x] = a[k];
		sh[(2 * k + 1) * 256 + threadIdx.x] = b[k];
	}
	__syncthreads();
	if ((int)threadIdx.x >= p.lanes || p.c < 0)
		return;
	for (int k = 0; k < W; k++) {
		float s = 0, q = 0;

		for (int y = 0; y < below; y++) {
			s += sh[(2 * k) * 256 + y * p.lanes + lane];
			q += sh[(2 * k + 1) * 256 + y * p.lanes + lane];
		}
		part[(int64_t)(2 * blockIdx.y) * cols + p.c + k] = s;
		part[(int64_t)(2 * blockIdx.y + 1) * cols + p.c + k] = q;
	}
}

/* ---- forward ---- */
template <class T, int W> RT_DEVICE void channel_sums(float *part, const T *x, int64_t rows, int cols)
{
	channels p = channels_of(cols, W);
	float s[W] = {}, q[W] = {}, first[W], v[W];

	if (p.c >= 0)
		get<W>(first, x + p.c);
#pragma unroll 4
	for (int64_t r = p.row; p.c >= 0 && r < rows; r += p.step) {
		get<W>(v, x + r * cols + p.c);
		for (int k = 0; k < W; k++) {
			float d = v[k] - first[k];

			s[k] += d;
			q[k] += d * d;
		}
	}
	channels_add<W>(part, p, cols, s, q);
}

/* part (gridDim.y, 2, cols) = sums of x - x[0] and of its square; w: 1, or the elements of 16 bytes if cols is a multiple */
RT_TYPED(channel_sums, (float *part, const T *x, int64_t rows, int cols, int w),
	RT_WIDE(w > 1, channel_sums, (part, x, rows, cols)))

/* Both sums of a channel over all parts; blocks of 32 x 8, thread (x,0) has them. */
RT_DEVICE void channel_fold(const float *part, int parts, int cols, int c, double *ret_a, double *ret_b)
{
	__shared__ double sh[2][8][32];
	double a = 0, b = 0;

	for (int i = threadIdx.y; c < cols && i < parts; i += 8) {
		a += (double)part[(int64_t)(2 * i) * cols + c];
		b += (double)part[(int64_t)(2 * i + 1) * cols + c];
	}
	sh[0][threadIdx.y][threadIdx.x] = a;
	sh[1][threadIdx.y][threadIdx.x] = b;
	__syncthreads();
	a = b = 0;
	for (int y = 0; y < 8; y++) {
		a += sh[0][y][threadIdx.x];
		b += sh[1][y][threadIdx.x];
	}
	*ret_a = a;
	*ret_b = b;
}

template <class T>
RT_DEVICE void channel_stats_body(float *factor, float *mean, float *rstd, const float *part, int parts, const T *first,
				  const float *gain, const float *bias, float eps, int64_t rows, int cols)
{
	int c = blockIdx.x * 32 + threadIdx.x;
	double s, q, m, var, r;

	channel_fold(part, parts, cols, c, &s, &q);
	if (threadIdx.y || c >= cols)
		return;
	m = s / (double)rows;
	var = q / (double)rows - m * m;
	var = var < 0 ? 0 : var; /* NaN stays */
	m += (double)as_float(first[c]);
	r = 1 / sqrt(var + (double)eps);
	if (mean)
		mean[c] = (float)m;
	if (rstd)
		rstd[c] = (float)r;
	factor[c] = (float)(r * (double)gain[c]);
	factor[cols + c] = (float)((double)bias[c] - m * r * (double)gain[c]);
}

/* factor (2,cols): what x is multiplied by and what is added; mean, rstd (cols) or NULL; first: x's first row */
RT_TYPED(channel_stats, (float *factor, float *mean, float *rstd, const float *part, int parts, const T *first,
		const float *gain, const float *bias, float eps, int64_t rows, int cols),
	channel_stats_body(factor, mean, rstd, part, parts, first, gain, bias, eps, rows, cols))

/* The same from running statistics; left_out (cols) or NULL: a bias that x lacks and the mean has */
RT_KERNEL rt_channel_running(float *factor, const float *mean, const float *var, const float *left_out, const float *gain,
			     const float *bias, float eps, int cols)
{
	int c = (int)global_thread();
	double r, m;

	if (c >= cols)
		return;
	r = 1 / sqrt((double)var[c] + (double)eps);
	m = (double)mean[c] - (left_out ? (double)left_out[c] : 0);
	factor[c] = (float)(r * (double)gain[c]);
	factor[cols + c] = (float)((double)bias[c] - m * r * (double)gain[c]);
}

template <class T>
RT_DEVICE void fold_norm_body(T *w, T *b, const float *from, const float *bias, const float *gain, const float *beta,
			      const float *mean, const float *var, float eps, int64_t n, int outputs)
{
	int64_t inner = n / outputs;

	for (int64_t i = global_thread(); i < n; i += global_threads()) {
		int64_t o = i / inner;
		double s = (double)gain[o] / sqrt((double)var[o] + (double)eps);

		assign(w[i], from[i] * (float)s);
		if (i % inner == 0)
			assign(b[o], (float)((double)beta[o] + ((bias ? (double)bias[o] : 0) - (double)mean[o]) * s));
	}
}

/* w (outputs,n/outputs) = from times s, b (outputs) = beta + (bias - mean) s, s = gain / sqrt(var + eps); bias may be NULL */
RT_TYPED(fold_norm, (T *w, T *b, const float *from, const float *bias, const float *gain, const float *beta,
		const float *mean, const float *var, float eps, int64_t n, int outputs),
	fold_norm_body(w, b, from, bias, gain, beta, mean, var, eps, n, outputs))

template <class T, int W>
RT_DEVICE void channel_affine(T *y, const T *x, const T *residual, const float *factor, int64_t rows, int cols, int relu)
{
	channels p = channels_of(cols, W);
	float a[W], b[W], v[W], u[W];

	if (p.c < 0)
		return;
	for (int k = 0; k < W; k++) {
		a[k] = factor[p.c + k];
		b[k] = factor[cols + p.c + k];
	}
#pragma unroll 4
	for (int64_t r = p.row; r < rows; r += p.step) {
		int64_t at = r * cols + p.c;

		get<W>(v, x + at);
		if (residual)
			get<W>(u, residual + at);
		for (int k = 0; k < W; k++) {
			v[k] = v[k] * a[k] + b[k] + (residual ? u[k] : 0);
			v[k] = relu && v[k] < 0 ? 0 : v[k];
		}
		put<W>(y + at, v);
	}
}

/* y (rows,cols) = act(x factor[0] + factor[1] [+ residual]); y may be x or the residual */
RT_TYPED(channel_affine, (T *y, const T *x, const T *residual, const float *factor, int64_t rows, int cols, int relu,
		int w),
	RT_WIDE(w > 1, channel_affine, (y, x, residual, factor, rows, cols, relu)))

/* ---- backward ---- */
/* g (W): the gradient behind the activation, whose result is y if there is one. */
template <int W, class T> RT_DEVICE void channel_gradient(float *g, const T *dy, const T *y, int64_t at)
{
	float u[W];

	get<W>(g, dy + at);
	if (y)
		get<W>(u, y + at);
	for (int k = 0; y && k < W; k++)
		g[k] = u[k] > 0 ? g[k] : 0;
}

template <class T, int W>
RT_DEVICE void channel_bwd_sums(float *part, const T *dy, const T *y, const T *x, const float *mean, int64_t rows, int cols)
{
	channels p = channels_of(cols, W);
	float s[W] = {}, q[W] = {}, m[W], g[W], v[W];

	for (int k = 0; p.c >= 0 && k < W; k++)
		m[k] = mean[p.c + k];
#pragma unroll 4
	for (int64_t r = p.row; p.c >= 0 && r < rows; r += p.step) {
		int64_t at = r * cols + p.c;

		channel_gradient<W>(g, dy, y, at);
		get<W>(v, x + at);
		for (int k = 0; k < W; k++) {
			s[k] += g[k];
			q[k] += g[k] * (v[k] - m[k]);
		}
	}
	channels_add<W>(part, p, cols, s, q);
}

/* part (gridDim.y, 2, cols) = sums of g and of g (x - mean) */
RT_TYPED(channel_bwd_sums, (float *part, const T *dy, const T *y, const T *x, const float *mean, int64_t rows, int cols,
		int w),
	RT_WIDE(w > 1, channel_bwd_sums, (part, dy, y, x, mean, rows, cols)))

/* dgain, dbias (cols) = or += (add: bits 0 and 1), or NULL; factor (3,cols): dx = factor[0] g + factor[1] x + factor[2] */
RT_KERNEL rt_channel_bwd_stats(float *factor, float *dgain, float *dbias, const float *part, int parts, const float *gain,
			       const float *mean, const float *rstd, int64_t rows, int cols, int add)
{
	int c = blockIdx.x * 32 + threadIdx.x;
	double g, gx, m, r, scale;

	channel_fold(part, parts, cols, c, &g, &gx);
	if (threadIdx.y || c >= cols)
		return;
	m = (double)mean[c];
	r = (double)rstd[c];
	scale = r * (double)gain[c];
	if (dgain)
		dgain[c] = (float)(gx * r) + (add & 1 ? dgain[c] : 0);
	if (dbias)
		dbias[c] = (float)g + (add & 2 ? dbias[c] : 0);
	g /= (double)rows;
	gx *= r * r / (double)rows;
	factor[c] = (float)scale;
	factor[cols + c] = (float)(-scale * gx);
	factor[2 * cols + c] = (float)(scale * (m * gx - g));
}

/* The running statistics of a step whose loss is a number move by share; rows: of the batch */
RT_KERNEL rt_channel_move(float *running_mean, float *running_var, const float *mean, const float *rstd, const float *left_out,
			  float share, float eps, int64_t rows, int cols, const float *loss)
{
	int c = (int)global_thread();
	double m, r, var;

	if (c >= cols || !isfinite(*loss))
		return;
	m = (double)mean[c] + (left_out ? (double)left_out[c] : 0);
	r = (double)rstd[c];
	var = 1 / (r * r) - (double)eps;
	var = (var < 0 ? 0 : var) * ((double)rows / (double)(rows - 1));
	running_mean[c] = (float)((1 - (double)share) * (double)running_mean[c] + (double)share * m);
	running_var[c] = (float)((1 - (double)share) * (double)running_var[c] + (double)share * var);
}

template <class T, int W>
RT_DEVICE void channel_bwd(T *dx, T *dres, const T *dy, const T *y, const T *x, const float *factor, int64_t rows, int cols,
			   int add)
{
	channels p = channels_of(cols, W);
	float a[W], b[W], c[W], g[W], v[W] = {}, u[W];

	if (p.c < 0)
		return;
	for (int k = 0; k < W; k++) {
		a[k] = factor[p.c + k];
		b[k] = factor[cols + p.c + k];
		c[k] = factor[2 * cols + p.c + k];
	}
#pragma unroll 2
	for (int64_t r = p.row; r < rows; r += p.step) {
		int64_t at = r * cols + p.c;

		channel_gradient<W>(g, dy, y, at);
		if (dx) {
			get<W>(v, x + at);
			for (int k = 0; k < W; k++)
				v[k] = a[k] * g[k] + b[k] * v[k] + c[k];
			if (add & 1)
				get<W>(u, dx + at);
			for (int k = 0; add & 1 && k < W; k++)
				v[k] += u[k];
		}
		if (dres && add & 2) {
			get<W>(u, dres + at);
			for (int k = 0; k < W; k++)
				g[k] += u[k];
		}
		if (dx)
			put<W>(dx + at, v);
		if (dres)
			put<W>(dres + at, g);
	}
}

/* dx, dres (rows,cols) = or += (add: bits 0 and 1), each or NULL; dx may be dy */
RT_TYPED(channel_bwd, (T *dx, T *dres, const T *dy, const T *y, const T *x, const float *factor, int64_t rows, int cols,
		int add, int w),
	RT_WIDE(w > 1, channel_bwd, (dx, dres, dy, y, x, factor, rows, cols, add)))
