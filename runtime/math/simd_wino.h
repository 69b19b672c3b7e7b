/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner part of cpu/conv_winograd.c: the transforms of one tile, and the products of transformed tiles. Channels
 * are the lanes. A tile reads 6x6 pixels and writes 4x4. In between are 36 planes, one per interpolation point. Each
 * output element is the same sum in the same order, for any block. Included by simd_body.h.
 *
 * The points are 0, +-5/8, +-3/2 and infinity. All constants of the image transforms are exact in f32. The error is one
 * third of that of the points 0, +-1, +-2.
 */
#define PA	0.625f
#define PB	1.5f
#define PA2	(PA * PA)
#define PB2	(PB * PB)
/* 1 / the product of a point's differences from the other finite points. */
#define P0_FACTOR	(1.0f / (PA2 * PB2))
#define PA_FACTOR	(1.0f / (2 * PA2 * (PA2 - PB2)))
#define PB_FACTOR	(1.0f / (2 * PB2 * (PB2 - PA2)))

#if RT_W == 16
#define WINO_OUTER	8
#else
#define WINO_OUTER	4
#endif

/* Transforms 6 pixels to values at the 6 points: 12 multiply-adds. */
INLINE void wino_read(vf *to, int64_t step, const vf *d)
{
	vf even_a = d[4] - PB2 * d[2], odd_a = d[3] - PB2 * d[1];
	vf even_b = d[4] - PA2 * d[2], odd_b = d[3] - PA2 * d[1];

	to[0] = PA2 * PB2 * d[0] - (PA2 + PB2) * d[2] + d[4];
	to[step] = even_a + PA * odd_a;
	to[2 * step] = even_a - PA * odd_a;
	to[3 * step] = even_b + PB * odd_b;
	to[4 * step] = even_b - PB * odd_b;
	to[5 * step] = PA2 * PB2 * d[1] - (PA2 + PB2) * d[3] + d[5];
}

/* Transforms values at the 6 points to 4 pixels. */
INLINE void wino_write(vf *to, int64_t step, const vf *m)
{
	vf sum_a = m[1] + m[2], diff_a = m[1] - m[2], sum_b = m[3] + m[4], diff_b = m[3] - m[4];

	to[0] = m[0] + sum_a + sum_b;
	to[step] = PA * diff_a + PB * diff_b;
	to[2 * step] = PA2 * sum_a + PB2 * sum_b;
	to[3 * step] = m[5] + PA * PA2 * diff_a + PB * PB2 * diff_b;
}

/* The transpose of wino_write(): 4 values to 6. */
INLINE void wino_write_transposed(vf *to, int64_t step, const vf *y)
{
	vf even_a = y[0] + PA2 * y[2], odd_a = PA * y[1] + PA * PA2 * y[3];
	vf even_b = y[0] + PB2 * y[2], odd_b = PB * y[1] + PB * PB2 * y[3];

	to[0] = y[0];
	to[step] = even_a + odd_a;
	to[2 * step] = even_a - odd_a;
	to[3 * step] = even_b + odd_b;
	to[4 * step] = even_b - odd_b;
	to[5 * step] = y[3];
}

/* Transforms 3 weights to 6 points; wino_weigh_transposed() is the transpose. */
INLINE void wino_weigh(vf *to, int64_t step, const vf *g)
{
	vf even_a = PA_FACTOR * g[0] + PA_FACTOR * PA2 * g[2], odd_a = PA_FACTOR * PA * g[1];
	vf even_b = PB_FACTOR * g[0] + PB_FACTOR * PB2 * g[2], odd_b = PB_FACTOR * PB * g[1];

	to[0] = P0_FACTOR * g[0];
	to[step] = even_a + odd_a;
	to[2 * step] = even_a - odd_a;
	to[3 * step] = even_b + odd_b;
	to[4 * step] = even_b - odd_b;
	to[5 * step] = g[2];
}

INLINE void wino_weigh_transposed(vf *to, int64_t step, const vf *m)
{
	vf sum_a = PA_FACTOR * (m[1] + m[2]), diff_a = PA_FACTOR * (m[1] - m[2]);
	vf sum_b = PB_FACTOR * (m[3] + m[4]), diff_b = PB_FACTOR * (m[3] - m[4]);

	to[0] = P0_FACTOR * m[0] + sum_a + sum_b;
	to[step] = PA * diff_a + PB * diff_b;
	to[2 * step] = PA2 * sum_a + PB2 * sum_b + m[5];
}

/* Loads n pixels of column j of a tile. Pixels outside the image read as zero. */
INLINE void wino_load(vf *to, const struct rt_wino_tile *t, const float *image, int j, int n, int64_t channel, bool inside)
{
	const float *x = image + t->at + j * t->pixel + channel;

#pragma GCC unroll 6
	for (int i = 0; i < n; i++)
		if (inside)
			to[i] = ld(x + i * t->row);
		else if (i >= t->top && i < t->bottom && j >= t->left && j < t->right && channel < t->channels)
			to[i] = ldx(x + i * t->row, t->channels - channel);
		else
			to[i] = (vf){ 0 };
}

INLINE void wino_read_lanes(float *v, int64_t plane, const struct rt_wino_tile *t, const float *image, int64_t channel,
			    bool inside)
{
	vf half[6][6], d[6];

#pragma GCC unroll 6
	for (int j = 0; j < 6; j++) {
		wino_load(d, t, image, j, 6, channel, inside);
		wino_read(&half[0][j], 6, d);
	}
#pragma GCC unroll 6
	for (int i = 0; i < 6; i++) {
		wino_read(d, 1, half[i]);
#pragma GCC unroll 6
		for (int j = 0; j < 6; j++)
			st(v + (i * 6 + j) * plane, d[j]);
	}
}

static bool wino_inside(const struct rt_wino_tile *t, int n, int64_t channel)
{
	return t->top <= 0 && t->left <= 0 && t->bottom >= n && t->right >= n && channel + W <= t->channels;
}

static void wino_input(float *v, int64_t plane, int64_t block, const struct rt_wino_tile *t, const float *image)
{
	for (int64_t c = 0; c < t->channels; c += RT_WINO_LANES, v += block)
		for (int64_t l = 0; l < RT_WINO_LANES; l += W)
			if (wino_inside(t, 6, c + l))
				wino_read_lanes(v + l, plane, t, image, c + l, true);
			else
				wino_read_lanes(v + l, plane, t, image, c + l, false);
}

INLINE void wino_output_grad_lanes(float *d, int64_t plane, const struct rt_wino_tile *t, const float *image, int64_t channel,
				   bool inside)
{
	vf half[6][4], y[6];

#pragma GCC unroll 4
	for (int j = 0; j < 4; j++) {
		wino_load(y, t, image, j, 4, channel, inside);
		wino_write_transposed(&half[0][j], 4, y);
	}
#pragma GCC unroll 6
	for (int i = 0; i < 6; i++) {
		wino_write_transposed(y, 1, half[i]);
#pragma GCC unroll 6
		for (int j = 0; j < 6; j++)
			st(d + (i * 6 + j) * plane, y[j]);
	}
}

static void wino_output_grad(float *d, int64_t plane, const struct rt_wino_tile *t, const float *image)
{
	for (int64_t c = 0; c < t->channels; c += RT_WINO_LANES)
		for (int64_t l = c; l < c + RT_WINO_LANES; l += W)
			if (wino_inside(t, 4, l))
				wino_output_grad_lanes(d + l, plane, t, image, l, true);
			else
				wino_output_grad_lanes(d + l, plane, t, image, l, false);
}

INLINE void wino_write_lanes(float *image, const struct rt_wino_tile *t, const float *m, int64_t plane, int64_t channel,
			     bool inside, bool add)
{
	vf half[4][6], d[6];

#pragma GCC unroll 6
	for (int j = 0; j < 6; j++) {
#pragma GCC unroll 6
		for (int i = 0; i < 6; i++)
			d[i] = ld(m + (i * 6 + j) * plane);
		wino_write(&half[0][j], 6, d);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		float *y = image + t->at + i * t->row + channel;

		wino_write(d, 1, half[i]);
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			if (inside)
				put(y, j * t->pixel, W, d[j], add);
			else if (i < t->bottom && j < t->right)
				put(y, j * t->pixel, t->channels - channel, d[j], add);
	}
}

static void wino_output(float *image, const struct rt_wino_tile *t, const float *m, int64_t plane, bool add)
{
	for (int64_t c = 0; c < t->channels; c += W)
		if (!wino_inside(t, 4, c))
			wino_write_lanes(image, t, m + c, plane, c, false, add);
		else if (add)
			wino_write_lanes(image, t, m + c, plane, c, true, true);
		else
			wino_write_lanes(image, t, m + c, plane, c, true, false);
}

/* m (rows, stride ld_m) = v (rows,k) u (k, vectors). v is in blocks of RT_WINO_LANES channels, `block` floats apart. */
INLINE void wino_tile(float *m, int64_t ld_m, const float *v, int64_t block, const float *u, int rows, int vectors,
		      int64_t blocks)
{
	vf sum[TILE_ROWS][2];

#pragma GCC unroll 16
	for (int i = 0; i < rows; i++)
		sum[i][0] = sum[i][1] = (vf){ 0 };
	for (; blocks > 0; blocks--, v += block)
		for (const float *p = v; p < v + RT_WINO_LANES; p++, u += vectors * W) {
			vf u0 = ld(u), u1 = vectors > 1 ? ld(u + W) : u0;

#pragma GCC unroll 16
			for (int i = 0; i < rows; i++) {
				vf x = splat(p[i * RT_WINO_LANES]);

				sum[i][0] += x * u0;
				if (vectors > 1)
					sum[i][1] += x * u1;
			}
		}
#pragma GCC unroll 16
	for (int i = 0; i < rows; i++, m += ld_m) {
		st(m, sum[i][0]);
		if (vectors > 1)
			st(m + W, sum[i][1]);
	}
}

static void wino_rows(float *m, int64_t ld_m, const float *v, int64_t block, const float *u, int64_t rows, int vectors,
		      int64_t blocks)
{
	switch (rows) {
#define PRODUCT(n)                                                                                                     \
	case n:                                                                                                        \
		if (vectors > 1)                                                                                       \
			wino_tile(m, ld_m, v, block, u, n, 2, blocks);                                                 \
		else                                                                                                   \
			wino_tile(m, ld_m, v, block, u, n, 1, blocks);                                                 \
		break;
		EACH_ROWS(PRODUCT)
#undef PRODUCT
	default:
		break;
	}
}

/* Splits the rows into panels of nearly equal size. Each panel uses two vectors of u at a time. */
static void wino_product(float *m, const float *v, int64_t block, const float *u, int64_t rows, int64_t in, int64_t out)
{
	int64_t panels = (rows + TILE_ROWS - 1) / TILE_ROWS;

	for (int64_t q = 0; q < out; q += 2 * W)
		for (int64_t i = 0; i < panels; i++) {
			int64_t row = rows * i / panels, end = rows * (i + 1) / panels;

			wino_rows(m + row * out + q, out, v + row * RT_WINO_LANES, block, u + q * in, end - row,
				  out - q > W ? 2 : 1, in / RT_WINO_LANES);
		}
}

INLINE void wino_outer_tile(float *p, int64_t ld_p, const float *v, const float *d, int64_t ld_d, int64_t rows, int vectors,
			    bool add)
{
	vf sum[WINO_OUTER][2];

#pragma GCC unroll 8
	for (int i = 0; i < WINO_OUTER; i++)
		for (int k = 0; k < vectors; k++)
			sum[i][k] = add ? ld(p + i * ld_p + k * W) : (vf){ 0 };
	for (; rows > 0; rows--, v += RT_WINO_LANES, d += ld_d) {
		vf d0 = ld(d), d1 = vectors > 1 ? ld(d + W) : d0;

#pragma GCC unroll 8
		for (int i = 0; i < WINO_OUTER; i++) {
			vf x = splat(v[i]);

			sum[i][0] += x * d0;
			if (vectors > 1)
				sum[i][1] += x * d1;
		}
	}
#pragma GCC unroll 8
	for (int i = 0; i < WINO_OUTER; i++)
		for (int k = 0; k < vectors; k++)
			st(p + i * ld_p + k * W, sum[i][k]);
}

static void wino_outer(float *p, const float *v, int64_t block, const float *d, int64_t rows, int64_t in, int64_t out, bool add)
{
	for (int64_t c = 0; c < in; c += WINO_OUTER) {
		const float *lanes = v + c / RT_WINO_LANES * block + c % RT_WINO_LANES;

		for (int64_t q = 0; q < out; q += 2 * W)
			if (out - q > W)
				wino_outer_tile(p + c * out + q, out, lanes, d + q, out, rows, 2, add);
			else
				wino_outer_tile(p + c * out + q, out, lanes, d + q, out, rows, 1, add);
	}
}

/* Transforms the weights of one input channel and W output channels. Channels beyond n_in and n_out have zero
 * weights. */
INLINE void wino_weights_lanes(float *u, int64_t plane, const struct rt_wino_weights *w, int64_t in, int64_t out)
{
	float taps[9][RT_W] = { { 0 } };
	int64_t n = in < w->n_in ? w->n_out - out : 0;
	const float *from = w->at + in * w->in_step + out * w->out_step;
	vf half[6][3], g[6];

	for (int64_t l = 0; l < W && l < n; l++, from += w->out_step)
		for (int k = 0; k < 9; k++)
			taps[k][l] = from[w->rotated ? 8 - k : k];
#pragma GCC unroll 3
	for (int j = 0; j < 3; j++) {
		for (int i = 0; i < 3; i++)
			g[i] = ld(taps[i * 3 + j]);
		wino_weigh(&half[0][j], 3, g);
	}
#pragma GCC unroll 6
	for (int i = 0; i < 6; i++) {
		wino_weigh(g, 1, half[i]);
#pragma GCC unroll 6
		for (int j = 0; j < 6; j++)
			st(u + (i * 6 + j) * plane, g[j]);
	}
}

static void wino_weights(float *u, int64_t plane, const struct rt_wino_weights *w, int64_t in, int64_t out)
{
	int64_t wide = w->out - out > W ? 2 * W : W;

	u += out * w->in + in * wide;
	for (int64_t c = in; c < in + RT_WINO_LANES; c++, u += wide)
		for (int64_t l = 0; l < wide; l += W)
			wino_weights_lanes(u + l, plane, w, c, out + l);
}

/* Gradients of the weights of one input channel and all output channels, which are `step` floats apart. */
static void wino_weights_grad(float *w, int64_t step, const float *p, int64_t plane, int64_t out)
{
	for (int64_t q = 0; q < out; q += W) {
		float taps[9][RT_W];
		vf half[3][6], g[6], t[3];

		for (int j = 0; j < 6; j++) {
			for (int i = 0; i < 6; i++)
				g[i] = ld(p + (i * 6 + j) * plane + q);
			wino_weigh_transposed(&half[0][j], 6, g);
		}
		for (int i = 0; i < 3; i++) {
			wino_weigh_transposed(t, 1, half[i]);
			for (int j = 0; j < 3; j++)
				st(taps[i * 3 + j], t[j]);
		}
		for (int64_t l = 0; l < W && q + l < out; l++)
			for (int k = 0; k < 9; k++)
				w[(q + l) * step + k] = taps[k][l];
	}
}

static const struct rt_wino wino = {
	.group = 2 * RT_W,
	.input = wino_input,
	.output_grad = wino_output_grad,
	.output = wino_output,
	.product = wino_product,
	.outer = wino_outer,
	.weights = wino_weights,
	.weights_grad = wino_weights_grad,
};
