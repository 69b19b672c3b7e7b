/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisation per channel of x (rows,cols) over its rows. A thread has W channels (16 bytes) for all its rows, so the values of a
 * channel stay in registers. lanes = min(cols / W, 256) threads cover a row, and a block covers 256 / lanes rows at a time.
 * gridDim.x iterates over the channels; gridDim.y divides the rows. Forward: x is read twice and y written. Backward: dy, x (and y
 * after an activation) are read twice, and dx (and the residual's gradient) written.
 *
 * As on the CPU (cpu/op_batchnorm.c), everything is computed from x - mean, with the mean rounded to float first. That
 * difference is exact if the mean is large and the deviations are small. The rounding error of the mean is corrected per
 * channel.
 */
#include "common.cuh"

struct channels {
	int lanes, c, row, step; /* first channel of the thread; its first row and the distance of its rows */
};

/* Returns c < 0 if this thread has nothing to do. */
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

/* Adds the block's rows of N sums in thread order; part (gridDim.y, N, cols). */
template <int N, int W> RT_DEVICE void channels_add(float *part, const channels &p, int cols, const float (*sums)[W])
{
	__shared__ float sh[N * W * 256];
	int below = 256 / p.lanes, lane = (int)threadIdx.x % p.lanes;

	for (int i = 0; i < N; i++)
		for (int k = 0; k < W; k++)
			sh[(i * W + k) * 256 + threadIdx.x] = sums[i][k];
	__syncthreads();
	if ((int)threadIdx.x >= p.lanes || p.c < 0)
		return;
	for (int i = 0; i < N; i++)
		for (int k = 0; k < W; k++) {
			float s = 0;

			for (int y = 0; y < below; y++)
				s += sh[(i * W + k) * 256 + y * p.lanes + lane];
			part[((int64_t)N * blockIdx.y + i) * cols + p.c + k] = s;
		}
}

/* ---- forward ---- */
/* Computes the shift that is subtracted from x before summation. It must be near the mean; otherwise the variance loses
 * digits to cancellation. It is the median of three rows, because a single row may be an outlier, and often the first
 * one is. */
template <int W, class T> RT_DEVICE void channel_shift(float *shift, const T *x, int64_t rows, int cols, int c)
{
	float b[W], d[W];

	get<W>(shift, x + rows * 146 / 1000 * cols + c);
	get<W>(b, x + rows * 382 / 1000 * cols + c);
	get<W>(d, x + rows * 764 / 1000 * cols + c);
	for (int k = 0; k < W; k++)
		shift[k] = fmaxf(fminf(shift[k], b[k]), fminf(fmaxf(shift[k], b[k]), d[k]));
}

template <class T, int W> RT_DEVICE void channel_sums(float *part, const T *x, int64_t rows, int cols)
{
	channels p = channels_of(cols, W);
	float sums[2][W] = {}, shift[W], v[W];

	if (p.c >= 0)
		channel_shift<W>(shift, x, rows, cols, p.c);
#pragma unroll 4
	for (int64_t r = p.row; p.c >= 0 && r < rows; r += p.step) {
		get<W>(v, x + r * cols + p.c);
		for (int k = 0; k < W; k++) {
			float d = v[k] - shift[k];

			sums[0][k] += d;
			sums[1][k] += d * d;
		}
	}
	channels_add<2, W>(part, p, cols, sums);
}

/* part (gridDim.y, 2, cols) = sums of x - shift and of its square; w: 1, or the elements of 16 bytes if cols is a multiple */
RT_TYPED(channel_sums, (float *part, const T *x, int64_t rows, int cols, int w),
	RT_WIDE(w > 1, channel_sums, (part, x, rows, cols)))

/* Adds the N sums of a channel over all parts. Blocks of 32 x 8; threads (x,0) have the result. */
template <int N> RT_DEVICE void channel_fold(const float *part, int parts, int cols, int c, double *sums)
{
	__shared__ double sh[N][8][32];

	for (int k = 0; k < N; k++) {
		double s = 0;

		for (int i = threadIdx.y; c < cols && i < parts; i += 8)
			s += (double)part[((int64_t)N * i + k) * cols + c];
		sh[k][threadIdx.y][threadIdx.x] = s;
	}
	__syncthreads();
	for (int k = 0; k < N; k++) {
		sums[k] = 0;
		for (int y = 0; y < 8; y++)
			sums[k] += sh[k][y][threadIdx.x];
	}
}

/* y = (x - factor[0]) factor[1] + factor[2]; factor[0] is m, rounded */
RT_DEVICE void channel_factors(float *factor, int cols, int c, double m, double r, double gain, double bias)
{
	factor[c] = (float)m;
	factor[cols + c] = (float)(r * gain);
	factor[2 * cols + c] = (float)(bias - (m - (double)factor[c]) * r * gain);
}

template <class T>
RT_DEVICE void channel_stats_body(float *factor, float *mean, float *rstd, const float *part, int parts, const T *x,
				  const float *gain, const float *bias, float eps, int64_t rows, int cols)
{
	int c = blockIdx.x * 32 + threadIdx.x;
	double sums[2], m, var, r;
	float shift;

	channel_fold<2>(part, parts, cols, c, sums);
	if (threadIdx.y || c >= cols)
		return;
	m = sums[0] / (double)rows;
	var = sums[1] / (double)rows - m * m;
	var = var < 0 ? 0 : var; /* keeps NaN */
	channel_shift<1>(&shift, x, rows, cols, c);
	m += (double)shift;
	r = 1 / sqrt(var + (double)eps);
	if (mean)
		mean[c] = (float)m;
	if (rstd)
		rstd[c] = (float)r;
	channel_factors(factor, cols, c, m, r, (double)gain[c], (double)bias[c]);
}

/* factor (3,cols): constants for y from x; mean, rstd (cols) or NULL */
RT_TYPED(channel_stats, (float *factor, float *mean, float *rstd, const float *part, int parts, const T *x,
		const float *gain, const float *bias, float eps, int64_t rows, int cols),
	channel_stats_body(factor, mean, rstd, part, parts, x, gain, bias, eps, rows, cols))

/* Does the same from running statistics. left_out (cols) or NULL: a bias that is in the mean but not in x. */
RT_KERNEL rt_channel_running(float *factor, const float *mean, const float *var, const float *left_out, const float *gain,
			     const float *bias, float eps, int cols)
{
	int c = (int)global_thread();

	if (c >= cols)
		return;
	channel_factors(factor, cols, c, (double)mean[c] - (left_out ? (double)left_out[c] : 0),
			1 / sqrt((double)var[c] + (double)eps), (double)gain[c], (double)bias[c]);
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
	float m[W], a[W], b[W], v[W], u[W];

	if (p.c < 0)
		return;
	for (int k = 0; k < W; k++) {
		m[k] = factor[p.c + k];
		a[k] = factor[cols + p.c + k];
		b[k] = factor[2 * cols + p.c + k];
	}
#pragma unroll 4
	for (int64_t r = p.row; r < rows; r += p.step) {
		int64_t at = r * cols + p.c;

		get<W>(v, x + at);
		if (residual)
			get<W>(u, residual + at);
		for (int k = 0; k < W; k++) {
			v[k] = (v[k] - m[k]) * a[k] + b[k] + (residual ? u[k] : 0);
			v[k] = relu && v[k] < 0 ? 0 : v[k];
		}
		put<W>(y + at, v);
	}
}

/* y (rows,cols) = act((x - factor[0]) factor[1] + factor[2] [+ residual]); y may be x or the residual */
RT_TYPED(channel_affine, (T *y, const T *x, const T *residual, const float *factor, int64_t rows, int cols, int relu,
		int w),
	RT_WIDE(w > 1, channel_affine, (y, x, residual, factor, rows, cols, relu)))

/* ---- backward ---- */
/* g (W): the gradient before the activation, whose output is y; NULL: no activation. */
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
	float sums[3][W] = {}, m[W], g[W], v[W];

	for (int k = 0; p.c >= 0 && k < W; k++)
		m[k] = mean[p.c + k];
#pragma unroll 4
	for (int64_t r = p.row; p.c >= 0 && r < rows; r += p.step) {
		int64_t at = r * cols + p.c;

		channel_gradient<W>(g, dy, y, at);
		get<W>(v, x + at);
		for (int k = 0; k < W; k++) {
			float d = v[k] - m[k];

			sums[0][k] += g[k];
			sums[1][k] += g[k] * d;
			sums[2][k] += d;
		}
	}
	channels_add<3, W>(part, p, cols, sums);
}

/* part (gridDim.y, 3, cols) = sums of g, of g (x - mean) and of x - mean */
RT_TYPED(channel_bwd_sums, (float *part, const T *dy, const T *y, const T *x, const float *mean, int64_t rows, int cols,
		int w),
	RT_WIDE(w > 1, channel_bwd_sums, (part, dy, y, x, mean, rows, cols)))

/* dgain, dbias (cols) = or += (add: bits 0 and 1), or NULL; factor (3,cols): dx = factor[0] g + factor[1] (x - mean) + factor[2] */
RT_KERNEL rt_channel_bwd_stats(float *factor, float *dgain, float *dbias, const float *part, int parts, const float *gain,
			       const float *rstd, int64_t rows, int cols, int add)
{
	int c = blockIdx.x * 32 + threadIdx.x;
	double sums[3], g, gx, off, r, scale;

	channel_fold<3>(part, parts, cols, c, sums);
	if (threadIdx.y || c >= cols)
		return;
	r = (double)rstd[c];
	scale = r * (double)gain[c];
	off = sums[2] / (double)rows; /* difference between the mean and mean[c] */
	g = sums[0];
	gx = sums[1] - off * g;
	if (dgain)
		dgain[c] = (float)(gx * r) + (add & 1 ? dgain[c] : 0);
	if (dbias)
		dbias[c] = (float)g + (add & 2 ? dbias[c] : 0);
	g /= (double)rows;
	gx *= r * r / (double)rows;
	factor[c] = (float)scale;
	factor[cols + c] = (float)(-scale * gx);
	factor[2 * cols + c] = (float)(scale * (off * gx - g));
}

/* Updates the running statistics with weight `share` if the loss of the step is finite. rows: of the batch. */
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
RT_DEVICE void channel_bwd(T *dx, T *dres, const T *dy, const T *y, const T *x, const float *mean, const float *factor,
			   int64_t rows, int cols, int add)
{
	channels p = channels_of(cols, W);
	float m[W], a[W], b[W], c[W], g[W], v[W] = {}, u[W];

	if (p.c < 0)
		return;
	for (int k = 0; k < W; k++) {
		m[k] = mean[p.c + k];
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
				v[k] = a[k] * g[k] + b[k] * (v[k] - m[k]) + c[k];
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
RT_TYPED(channel_bwd, (T *dx, T *dres, const T *dy, const T *y, const T *x, const float *mean, const float *factor,
		int64_t rows, int cols, int add, int w),
	RT_WIDE(w > 1, channel_bwd, (dx, dres, dy, y, x, mean, factor, rows, cols, add)))
