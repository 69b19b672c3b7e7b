/* SPDX-License-Identifier: Apache-2.0 */
/* Part of simd_body.h: row norms, per-channel kernels of batchnorm, and small ops. */

/* Mean and 1/sqrt(var + eps) of one row. The variance is computed from the differences to the mean. */
INLINE void moments(const float *x, int64_t cols, float eps, float *mean, float *rstd)
{
	vf s = { 0 }, q = { 0 };
	int64_t full = cols / W * W;
	float m, left = 0;

	EACH_PIECE(c, end, full) {
		vf part = { 0 };

		for (int64_t i = c; i < end; i += W)
			part += ld(x + i);
		s += part;
	}
	m = hsum(s);
	for (int64_t i = full; i < cols; i++)
		m += x[i];
	m /= (float)cols;
	EACH_PIECE(c, end, full) {
		vf part = { 0 };

		for (int64_t i = c; i < end; i += W)
			part += (ld(x + i) - m) * (ld(x + i) - m);
		q += part;
	}
	for (int64_t i = full; i < cols; i++)
		left += (x[i] - m) * (x[i] - m);
	*mean = m;
	*rstd = 1.0f / sqrtf((hsum(q) + left) / (float)cols + eps);
}

static void norm(float *x, float *y, float *mean, float *rstd, const float *a, const float *b, const float *gain,
		 const float *bias, float eps, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++, a += cols, y += cols) {
		const float *in = a;
		float m, s;

		if (b) {
			add(x, a, b + r * cols, cols);
			in = x;
			x += cols;
		}
		moments(in, cols, eps, &m, &s);
		EACH(i, cols) {
			vf v = (ldx(in + i, cols - i) - m) * s;

			stx(y + i, v * ldx(gain + i, cols - i) + ldx(bias + i, cols - i), cols - i);
		}
		if (mean)
			mean[r] = m;
		if (rstd)
			rstd[r] = s;
	}
}

/* dx = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gain. */
static void norm_bwd(float *dx, const float *dy, const float *x, const float *gain, const float *mean, const float *rstd,
		     int64_t rows, int64_t cols, bool accumulate)
{
	for (int64_t r = 0; r < rows; r++, dx += cols, dy += cols, x += cols) {
		vf sg = { 0 }, sgx = { 0 };
		float m = mean[r], s = rstd[r], mg, mgx;

		EACH_PIECE(c, end, cols) {
			vf pg = { 0 }, pgx = { 0 };

			for (int64_t i = c; i < end; i += W) {
				vf g = ldx(dy + i, cols - i) * ldx(gain + i, cols - i);

				pg += g;
				pgx += g * ((ldx(x + i, cols - i) - m) * s);
			}
			sg += pg;
			sgx += pgx;
		}
		mg = hsum(sg) / (float)cols;
		mgx = hsum(sgx) / (float)cols;
		EACH(i, cols) {
			vf g = ldx(dy + i, cols - i) * ldx(gain + i, cols - i);
			vf d = (g - mg - (ldx(x + i, cols - i) - m) * s * mgx) * s;

			stx(dx + i, accumulate ? d + ldx(dx + i, cols - i) : d, cols - i);
		}
	}
}

/* Rows that are summed in float before adding to a double. The error does not grow with the batch size. */
#define SUM_ROWS	64

/* Per-lane sums of two quantities, v and w, of the same row. */
struct pair {
	vf v, w;
};

INLINE struct pair shifted(const float *x, const float *shift, int64_t n)
{
	vf v = ldx(x, n) - ldx(shift, n);

	return (struct pair){ v, v * v };
}

INLINE void flush(double *sum, vf v, int64_t n)
{
	float t[RT_W];

	st(t, v);
	for (int64_t i = 0; i < W && i < n; i++)
		sum[i] += (double)t[i];
}

static void channel_sums(double *sums, const float *x, const float *shift, int64_t rows, int64_t cols)
{
	memset(sums, 0, 2 * (size_t)cols * sizeof(double));
	for (int64_t r0 = 0; r0 < rows; r0 += SUM_ROWS)
		EACH(i, cols) {
			const float *p = x + r0 * cols + i;
			int64_t n = cols - i, count = rows - r0 < SUM_ROWS ? rows - r0 : SUM_ROWS;
			vf s0 = { 0 }, q0 = { 0 }, s1 = { 0 }, q1 = { 0 };
			int64_t r = 0;

			for (; r + 1 < count; r += 2) {
				struct pair a = shifted(p + r * cols, shift + i, n), b = shifted(p + (r + 1) * cols, shift + i, n);

				s0 += a.v;
				q0 += a.w;
				s1 += b.v;
				q1 += b.w;
			}
			if (r < count) {
				struct pair a = shifted(p + r * cols, shift + i, n);

				s0 += a.v;
				q0 += a.w;
			}
			flush(sums + i, s0 + s1, n);
			flush(sums + cols + i, q0 + q1, n);
		}
}

static void channel_affine(float *y, uint8_t *open, const float *x, const float *residual, const float *mean, const float *a,
			   const float *b, int64_t rows, int64_t cols, bool relu)
{
	for (int64_t r = 0; r < rows; r++, x += cols, y += cols)
		EACH(i, cols) {
			int64_t n = cols - i;
			vf v = (ldx(x + i, n) - ldx(mean + i, n)) * ldx(a + i, n) + ldx(b + i, n);

			if (residual)
				v += ldx(residual + r * cols + i, n);
			stx(y + i, relu ? sel(v <= 0.0f, (vf){ 0 }, v) : v, n);
			if (open)
				st_bits(open + r * rt_bits_bytes(cols), i, v > 0.0f);
		}
}

/* Returns elements i..i+W of row r of dy, or 0 where the activation's bit in `open` is clear. */
INLINE vf masked_gradient(const float *dy, const uint8_t *open, int64_t r, int64_t i, int64_t cols)
{
	vf g = ldx(dy + r * cols + i, cols - i);

	return open ? sel(ld_bits(open + r * rt_bits_bytes(cols), i), g, (vf){ 0 }) : g;
}

static void channel_bwd_sums(double *sums, const float *dy, const uint8_t *open, const float *x, const float *mean, int64_t rows,
			     int64_t cols)
{
	memset(sums, 0, 3 * (size_t)cols * sizeof(double));
	for (int64_t r0 = 0; r0 < rows; r0 += SUM_ROWS)
		EACH(i, cols) {
			int64_t n = cols - i, count = rows - r0 < SUM_ROWS ? rows - r0 : SUM_ROWS, at = r0 * cols + i, r = 0;
			vf s0 = { 0 }, q0 = { 0 }, d0 = { 0 }, s1 = { 0 }, q1 = { 0 }, d1 = { 0 }, m = ldx(mean + i, n);

			for (; r + 1 < count; r += 2, at += 2 * cols) {
				vf g = masked_gradient(dy, open, r0 + r, i, cols);
				vf h = masked_gradient(dy, open, r0 + r + 1, i, cols);
				vf a = ldx(x + at, n) - m, b = ldx(x + at + cols, n) - m;

				s0 += g;
				q0 += g * a;
				d0 += a;
				s1 += h;
				q1 += h * b;
				d1 += b;
			}
			if (r < count) {
				vf g = masked_gradient(dy, open, r0 + r, i, cols), a = ldx(x + at, n) - m;

				s0 += g;
				q0 += g * a;
				d0 += a;
			}
			flush(sums + i, s0 + s1, n);
			flush(sums + cols + i, q0 + q1, n);
			flush(sums + 2 * cols + i, d0 + d1, n);
		}
}

static void channel_bwd(float *dx, float *dres, const float *dy, const uint8_t *open, const float *x, const float *mean,
			const float *a, const float *b, const float *k, int64_t rows, int64_t cols, bool add_dx, bool add_dres)
{
	for (int64_t r = 0; r < rows; r++)
		EACH(i, cols) {
			int64_t n = cols - i, at = r * cols + i;
			vf g = masked_gradient(dy, open, r, i, cols);

			if (dres)
				put(dres, at, n, g, add_dres);
			if (dx)
				put(dx, at, n, g * ldx(a + i, n) + (ldx(x + at, n) - ldx(mean + i, n)) * ldx(b + i, n) +
					       ldx(k + i, n), add_dx);
		}
}

/* y = softmax(x) per row; writes the log-sum-exp to lse unless that is NULL. */
static void softmax(float *y, const float *x, int64_t ld_x, int64_t rows, int64_t cols, float *lse)
{
	for (int64_t r = 0; r < rows; r++, x += ld_x, y += ld_x) {
		float max = row_max(x, cols), sum = row_exp(y, x, cols, max), k = 1.0f / sum;

		EACH(i, cols)
			stx(y + i, ldx(y + i, cols - i) * k, cols - i);
		if (lse)
			lse[r] = max + logf(sum);
	}
}

/* Computes the same probabilities again, in place, from scores and lse. */
static void softmax_probs(float *s, int64_t ld_s, int64_t rows, int64_t cols, const float *lse)
{
	for (int64_t r = 0; r < rows; r++, s += ld_s)
		EACH(i, cols)
			stx(s + i, vexp(ldx(s + i, cols - i) - lse[r]), cols - i);
}

static void rms(float *y, float *rstd, const float *x, const float *gain, float eps, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++, x += cols, y += cols) {
		vf q = { 0 };
		float s;

		EACH_PIECE(c, end, cols) {
			vf part = { 0 };

			for (int64_t i = c; i < end; i += W) {
				vf v = ldx(x + i, cols - i);

				part += v * v;
			}
			q += part;
		}
		s = 1.0f / sqrtf(hsum(q) / (float)cols + eps);
		EACH(i, cols)
			stx(y + i, ldx(x + i, cols - i) * s * ldx(gain + i, cols - i), cols - i);
		if (rstd)
			rstd[r] = s;
	}
}

/* dx = rstd (g - x rstd^2 mean(g x)) with g = dy gain. */
static void rms_bwd(float *dx, const float *dy, const float *x, const float *gain, const float *rstd, int64_t rows, int64_t cols,
		    bool accumulate)
{
	for (int64_t r = 0; r < rows; r++, dx += cols, dy += cols, x += cols) {
		float s = rstd[r], k;
		vf sum = { 0 };

		EACH_PIECE(c, end, cols) {
			vf part = { 0 };

			for (int64_t i = c; i < end; i += W)
				part += ldx(dy + i, cols - i) * ldx(gain + i, cols - i) * ldx(x + i, cols - i);
			sum += part;
		}
		k = hsum(sum) / (float)cols * s * s;
		EACH(i, cols) {
			int64_t n = cols - i;

			put(dx, i, n, (ldx(dy + i, n) * ldx(gain + i, n) - ldx(x + i, n) * k) * s, accumulate);
		}
	}
}

/* Columns c0..c1 of dgain = or += sum over rows of dy x rstd. */
static void rms_bwd_gain(float *dgain, const float *dy, const float *x, const float *rstd, int64_t rows, int64_t cols, int64_t c0,
			 int64_t c1, bool accumulate)
{
	for (int64_t i = c0; i < c1; i += W) {
		vf g = { 0 };

		for (int64_t r = 0; r < rows; r++)
			g += ldx(dy + r * cols + i, c1 - i) * ldx(x + r * cols + i, c1 - i) * rstd[r];
		put(dgain, i, c1 - i, g, accumulate);
	}
}

static void swiglu(float *y, const float *x, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++, x += 2 * cols, y += cols)
		EACH(i, cols) {
			vf a = ldx(x + i, cols - i);

			stx(y + i, a * sigmoid(a) * ldx(x + cols + i, cols - i), cols - i);
		}
}

static void swiglu_bwd(float *dx, const float *dy, const float *x, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++, x += 2 * cols, dx += 2 * cols, dy += cols)
		EACH(i, cols) {
			vf a = ldx(x + i, cols - i), b = ldx(x + cols + i, cols - i), g = ldx(dy + i, cols - i), s = sigmoid(a);

			stx(dx + i, g * b * (s + a * s * (1.0f - s)), cols - i);
			stx(dx + cols + i, g * a * s, cols - i);
		}
}

static void mul(float *y, const float *a, const float *b, int64_t n, bool accumulate)
{
	EACH(i, n)
		put(y, i, n - i, ldx(a + i, n - i) * ldx(b + i, n - i), accumulate);
}

static void affine(float *y, const float *x, float scale, float offset, int64_t n, bool accumulate)
{
	EACH(i, n)
		put(y, i, n - i, ldx(x + i, n - i) * scale + offset, accumulate);
}

INLINE vu mix(vu x)
{
	RT_MIX(x);
	return x;
}

/* Drops element first + i if its 32 random bits are below `limit`. */
static void dropout(float *y, const float *x, int64_t n, uint64_t first, uint64_t key, uint32_t limit, float scale,
		    bool accumulate)
{
	vu lane;

	for (uint32_t i = 0; i < RT_W; i++)
		lane[i] = i;
	EACH(i, n) {
		uint64_t at = first + (uint64_t)i;
		vu r = mix(mix((lane + (uint32_t)at) ^ (uint32_t)key) ^ ((uint32_t)(key >> 32) + (uint32_t)(at >> 32)));

		put(y, i, n - i, sel((vi)(r >= limit), ldx(x + i, n - i) * scale, (vf){ 0 }), accumulate);
	}
}
