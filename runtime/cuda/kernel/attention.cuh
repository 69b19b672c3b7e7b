/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiled attention. qkv (B,T,C + 2 kv_heads depth) = q | k | v concatenated, heads of `depth` columns. heads / kv_heads consecutive
 * heads read the same keys and values. Each query attends to the keys up to its own position, or to all keys. The (T,T) scores
 * exist one tile at a time in shared memory. Arithmetic is float. These kernels are for float tensors, for heads that share keys
 * and values, and for devices and libraries without fused attention.
 *
 * Blocks of 256 threads as 16 x 16; a thread has TB/16 rows and every 16th column. Grid: (tiles of T, B * heads).
 * DP: depth rounded up to a multiple of 16; columns after depth are zero.
 */
#include "common.cuh"

struct attention_shape {
	int len, heads, depth;
	float scale;  /* 1 / sqrt(depth) */
	int all_keys; /* 0: causal */
	int kv_heads;
};

/* Returns the columns of a row of qkv. */
RT_DEVICE int64_t qkv_columns(const struct attention_shape &s)
{
	return (int64_t)(s.heads + 2 * s.kv_heads) * s.depth;
}

/* Returns the first column of the keys that this head of queries reads. Its values follow after kv_heads * depth columns. */
RT_DEVICE int key_column(int head, const struct attention_shape &s)
{
	return (s.heads + head / (s.heads / s.kv_heads)) * s.depth;
}

/* Returns the end of the keys that the queries up to `row` attend to. */
RT_DEVICE int keys_seen(int row, const struct attention_shape &s)
{
	return s.all_keys || row >= s.len ? s.len : row + 1;
}

/* Loads rows row0 … of one head into tile (TB, DP+1); rows after len are zero. stride: elements between rows. */
template <class T, int DP, int TB>
RT_DEVICE void load_tile(float *tile, const T *base, int64_t stride, int row0, const struct attention_shape &s)
{
	for (int i = threadIdx.x; i < TB * DP; i += 256) {
		int r = i / DP, c = i % DP;
		bool there = row0 + r < s.len && c < s.depth;

		tile[r * (DP + 1) + c] = there ? as_float(base[(int64_t)(row0 + r) * stride + c]) : 0;
	}
}

/* out[i][j] = sum over d of a[ty R + i][d] b[tx + 16 j][d] */
template <int DP, int R> RT_DEVICE void products(float (&out)[R][R], const float *a, const float *b)
{
	int ty = threadIdx.x / 16, tx = threadIdx.x % 16;

	for (int i = 0; i < R; i++)
		for (int j = 0; j < R; j++)
			out[i][j] = 0;
	for (int d = 0; d < DP; d++) {
		float u[R], v[R];

		for (int i = 0; i < R; i++) {
			u[i] = a[(ty * R + i) * (DP + 1) + d];
			v[i] = b[(tx + 16 * i) * (DP + 1) + d];
		}
		for (int i = 0; i < R; i++)
			for (int j = 0; j < R; j++)
				out[i][j] += u[i] * v[j];
	}
}

/* out[i][e] += sum over k of w[ty R + i][k] x[k][tx + 16 e]; turned: w[k][ty R + i] */
template <int DP, int TB, int R, int E>
RT_DEVICE void weighted(float (&out)[R][E], const float *w, const float *x, bool turned)
{
	int ty = threadIdx.x / 16, tx = threadIdx.x % 16;

	for (int k = 0; k < TB; k++) {
		float u[R];

		for (int i = 0; i < R; i++)
			u[i] = turned ? w[k * (TB + 1) + ty * R + i] : w[(ty * R + i) * (TB + 1) + k];
		for (int e = 0; e < E; e++) {
			float v = x[k * (DP + 1) + tx + 16 * e];

			for (int i = 0; i < R; i++)
				out[i][e] += u[i] * v;
		}
	}
}

/* Returns the maximum over the 16 threads of a row. */
RT_DEVICE float row_max(float x)
{
	for (int o = 8; o; o >>= 1)
		x = fmaxf(x, __shfl_xor_sync(FULL, x, o));
	return x;
}

RT_DEVICE float row_sum(float x)
{
	for (int o = 8; o; o >>= 1)
		x += __shfl_xor_sync(FULL, x, o);
	return x;
}

template <class T, int DP, int TB>
RT_DEVICE void attention_body(T *y, float *lse, const T *qkv, const struct attention_shape s)
{
	constexpr int R = TB / 16, E = DP / 16;
	RT_DYNAMIC_SHARED(q);
	float *kv = q + TB * (DP + 1), *p = kv + TB * (DP + 1);
	int width = s.heads * s.depth, head = blockIdx.y % s.heads, q0 = (gridDim.x - 1 - blockIdx.x) * TB;
	int64_t batch = blockIdx.y / s.heads, stride = qkv_columns(s);
	const T *row0 = qkv + batch * s.len * stride, *keys = row0 + key_column(head, s), *values = keys + s.kv_heads * s.depth;
	int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
	float m[R], l[R], o[R][E] = {}, t[R][R];

	for (int i = 0; i < R; i++) {
		m[i] = -INFINITY;
		l[i] = 0;
	}
	load_tile<T, DP, TB>(q, row0 + head * s.depth, stride, q0, s);
	for (int k0 = 0, end = keys_seen(q0 + TB - 1, s); k0 < end; k0 += TB) {
		__syncthreads();
		load_tile<T, DP, TB>(kv, keys, stride, k0, s);
		__syncthreads();
		products<DP, R>(t, q, kv);
		for (int i = 0; i < R; i++) {
			int row = q0 + ty * R + i;
			int end = keys_seen(row, s);
			float top = m[i], sum = 0, shrink;

			for (int j = 0; j < R; j++) {
				int key = k0 + tx + 16 * j;

				t[i][j] = key < end ? t[i][j] * s.scale : -INFINITY;
				top = fmaxf(top, t[i][j]);
			}
			top = row_max(top);
			shrink = expf(m[i] - top);
			for (int j = 0; j < R; j++) {
				float e = expf(t[i][j] - top);

				sum += e;
				p[(ty * R + i) * (TB + 1) + tx + 16 * j] = e;
			}
			l[i] = l[i] * shrink + row_sum(sum);
			m[i] = top;
			for (int e = 0; e < E; e++)
				o[i][e] *= shrink;
		}
		__syncthreads();
		load_tile<T, DP, TB>(kv, values, stride, k0, s);
		__syncthreads();
		weighted<DP, TB, R, E>(o, p, kv, false);
	}
	for (int i = 0; i < R; i++) {
		int row = q0 + ty * R + i;

		if (row >= s.len)
			continue;
		for (int e = 0; e < E; e++)
			if (tx + 16 * e < s.depth)
				assign(y[(batch * s.len + row) * width + head * s.depth + tx + 16 * e], o[i][e] / l[i]);
		if (!tx && lse)
			lse[(int64_t)blockIdx.y * s.len + row] = m[i] + logf(l[i]);
	}
}

/* delta (B,heads,T) = dy . y per head. W lanes, a power of two, per (row, head). */
template <class T, int W>
RT_DEVICE void attention_delta_rows(float *delta, const T *dy, const T *y, int64_t rows, const struct attention_shape &s, int lanes)
{
	int64_t i = global_thread() / lanes, row = i / s.heads;
	int head = (int)(i % s.heads), lane = threadIdx.x & (lanes - 1);
	float a[W], b[W], sum = 0;

	for (int d = lane * W; row < rows && d < s.depth; d += lanes * W) {
		get<W>(a, dy + i * s.depth + d);
		get<W>(b, y + i * s.depth + d);
		for (int k = 0; k < W; k++)
			sum += a[k] * b[k];
	}
	for (int o = lanes / 2; o; o /= 2)
		sum += __shfl_xor_sync(FULL, sum, o);
	if (!lane && row < rows)
		delta[(row / s.len * s.heads + head) * s.len + row % s.len] = sum;
}

template <class T>
RT_DEVICE void attention_delta_body(float *delta, const T *dy, const T *y, int64_t rows, const struct attention_shape &s, int lanes)
{
	RT_WIDE(s.depth % wide<T>::n == 0, attention_delta_rows, (delta, dy, y, rows, s, lanes));
}

/* Computes probabilities and score gradients of one tile, queries from q0 and keys from k0, in shared memory. */
template <int DP, int TB>
RT_DEVICE void score_gradients(float *p, float *ds, const float *q, const float *k, const float *v, const float *dy,
			       const float *lse, const float *delta, int q0, int k0, const struct attention_shape &s)
{
	constexpr int R = TB / 16;
	int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
	float t[R][R], dp[R][R];

	products<DP, R>(t, q, k);
	products<DP, R>(dp, dy, v);
	for (int i = 0; i < R; i++) {
		int row = q0 + ty * R + i, end = keys_seen(row, s);

		for (int j = 0; j < R; j++) {
			int key = k0 + tx + 16 * j, at = (ty * R + i) * (TB + 1) + tx + 16 * j;
			bool there = row < s.len && key < end;
			float w = there ? expf(t[i][j] * s.scale - lse[row]) : 0;

			p[at] = w;
			ds[at] = there ? w * (dp[i][j] - delta[row]) * s.scale : 0;
		}
	}
}

template <class T, int DP, int TB, int R, int E>
RT_DEVICE void store_tile(T *out, int64_t stride, int row0, const float (&x)[R][E], const struct attention_shape &s)
{
	int ty = threadIdx.x / 16, tx = threadIdx.x % 16;

	for (int i = 0; i < R; i++)
		for (int e = 0; e < E; e++)
			if (row0 + ty * R + i < s.len && tx + 16 * e < s.depth)
				assign(out[(int64_t)(row0 + ty * R + i) * stride + tx + 16 * e], x[i][e]);
}

/* Computes dk and dv of one tile of keys from all queries that attend to it, of all heads that share the keys. Grid: (tiles of T,
 * B * kv_heads). */
template <class T, int DP, int TB>
RT_DEVICE void attention_dkv_body(T *dqkv, const T *dy, const T *qkv, const float *lse, const float *delta,
				  const struct attention_shape s)
{
	constexpr int R = TB / 16, E = DP / 16, TILE = TB * (DP + 1);
	RT_DYNAMIC_SHARED(k);
	float *v = k + TILE, *q = v + TILE, *g = q + TILE, *p = g + TILE, *ds = p + TB * (TB + 1);
	int width = s.heads * s.depth, group = s.heads / s.kv_heads, first = blockIdx.y % s.kv_heads * group, k0 = blockIdx.x * TB;
	int64_t batch = blockIdx.y / s.kv_heads, stride = qkv_columns(s), at = batch * s.len * stride;
	int64_t keys = at + key_column(first, s), values = keys + s.kv_heads * s.depth;
	float dk[R][E] = {}, dv[R][E] = {};

	load_tile<T, DP, TB>(k, qkv + keys, stride, k0, s);
	load_tile<T, DP, TB>(v, qkv + values, stride, k0, s);
	for (int head = first; head < first + group; head++) {
		int64_t row = (batch * s.heads + head) * s.len; /* of lse and delta */

		for (int q0 = s.all_keys ? 0 : k0; q0 < s.len; q0 += TB) {
			__syncthreads();
			load_tile<T, DP, TB>(q, qkv + at + head * s.depth, stride, q0, s);
			load_tile<T, DP, TB>(g, dy + batch * s.len * width + head * s.depth, width, q0, s);
			__syncthreads();
			score_gradients<DP, TB>(p, ds, q, k, v, g, lse + row, delta + row, q0, k0, s);
			__syncthreads();
			weighted<DP, TB, R, E>(dv, p, g, true);
			weighted<DP, TB, R, E>(dk, ds, q, true);
		}
	}
	store_tile<T, DP, TB>(dqkv + keys, stride, k0, dk, s);
	store_tile<T, DP, TB>(dqkv + values, stride, k0, dv, s);
}

/* Computes dq of one tile of queries from all keys that it attends to. */
template <class T, int DP, int TB>
RT_DEVICE void attention_dq_body(T *dqkv, const T *dy, const T *qkv, const float *lse, const float *delta,
				 const struct attention_shape s)
{
	constexpr int R = TB / 16, E = DP / 16, TILE = TB * (DP + 1);
	RT_DYNAMIC_SHARED(k);
	float *v = k + TILE, *q = v + TILE, *g = q + TILE, *p = g + TILE, *ds = p + TB * (TB + 1);
	int width = s.heads * s.depth, head = blockIdx.y % s.heads, q0 = (gridDim.x - 1 - blockIdx.x) * TB;
	int64_t batch = blockIdx.y / s.heads, stride = qkv_columns(s), at = batch * s.len * stride;
	const T *keys = qkv + at + key_column(head, s), *values = keys + s.kv_heads * s.depth;
	float dq[R][E] = {};

	load_tile<T, DP, TB>(q, qkv + at + head * s.depth, stride, q0, s);
	load_tile<T, DP, TB>(g, dy + batch * s.len * width + head * s.depth, width, q0, s);
	for (int k0 = 0, end = keys_seen(q0 + TB - 1, s); k0 < end; k0 += TB) {
		__syncthreads();
		load_tile<T, DP, TB>(k, keys, stride, k0, s);
		load_tile<T, DP, TB>(v, values, stride, k0, s);
		__syncthreads();
		score_gradients<DP, TB>(p, ds, q, k, v, g, lse + (int64_t)blockIdx.y * s.len,
					delta + (int64_t)blockIdx.y * s.len, q0, k0, s);
		__syncthreads();
		weighted<DP, TB, R, E>(dq, ds, k, false);
	}
	store_tile<T, DP, TB>(dqkv + at + head * s.depth, stride, q0, dq, s);
}

/*
 * Forward tiles have 64 rows up to depth 64, 32 above. Shared memory: (2 TB (DP+1) + TB (TB+1)) floats forward, (4 TB
 * (DP+1) + 2 TB (TB+1)) backward with TB 32.
 */
#define ATTENTION(T, NAME, DP, TB)                                                                                        \
	RT_KERNEL rt_attention_##NAME##_##DP(T *y, float *lse, const T *qkv, const struct attention_shape s)               \
	{                                                                                                                  \
		attention_body<T, DP, TB>(y, lse, qkv, s);                                                                 \
	}                                                                                                                  \
	RT_KERNEL rt_attention_dkv_##NAME##_##DP(T *dqkv, const T *dy, const T *qkv, const float *lse, const float *delta, \
						 const struct attention_shape s)                                           \
	{                                                                                                                  \
		attention_dkv_body<T, DP, 32>(dqkv, dy, qkv, lse, delta, s);                                               \
	}                                                                                                                  \
	RT_KERNEL rt_attention_dq_##NAME##_##DP(T *dqkv, const T *dy, const T *qkv, const float *lse, const float *delta,  \
						const struct attention_shape s)                                            \
	{                                                                                                                  \
		attention_dq_body<T, DP, 32>(dqkv, dy, qkv, lse, delta, s);                                                \
	}
ATTENTION(float, f32, 16, 64)
ATTENTION(float, f32, 64, 64)
ATTENTION(float, f32, 128, 32)
ATTENTION(bf16, bf16, 16, 64)
ATTENTION(bf16, bf16, 64, 64)
ATTENTION(bf16, bf16, 128, 32)
ATTENTION(f16, f16, 16, 64)
ATTENTION(f16, f16, 64, 64)
ATTENTION(f16, f16, 128, 32)

RT_TYPED(attention_delta, (float *delta, const T *dy, const T *y, int64_t rows, const struct attention_shape s, int lanes),
	attention_delta_body(delta, dy, y, rows, s, lanes))
