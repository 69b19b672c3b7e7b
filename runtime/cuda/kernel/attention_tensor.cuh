/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention of bf16 and f16 on tensor cores (Dao, FlashAttention-2), with the interface and results of the kernels of
 * attention.cuh. Depth is a multiple of 8, so that the 16-byte pieces of a row are aligned; columns after it are zero.
 *
 * A warp has 16 rows. The other operand is streamed through shared memory in tiles; the next tile is loaded while the
 * present one is used. Piece p (16 bytes) of row r of a tile is stored at p ^ (r % 8), so that eight rows of a column
 * are in different banks. The backward pass runs twice, by keys and by queries. It needs 7 products instead of 5, but no atomic
 * sums, so the results are reproducible to the bit.
 */
#include "attention.cuh"
#include "tensor.cuh"

#ifdef RT_HAVE_TENSOR
template <int DP> RT_DEVICE int tile_at(int row, int piece) /* elements */
{
	return row * DP + ((piece ^ (row & 7)) << 3);
}

/* Starts loading rows row0 … of one head into a tile of ROWS. Does not wait. */
template <int DP, int ROWS, class T>
RT_DEVICE void tile_start(T *tile, const T *base, int64_t stride, int row0, const struct attention_shape &s)
{
	constexpr int PIECES = DP / 8;

	for (int i = threadIdx.x; i < ROWS * PIECES; i += blockDim.x) {
		int r = i / PIECES, p = i % PIECES;
		bool there = row0 + r < s.len && 8 * p < s.depth;

		copy_start(tile + tile_at<DP>(r, p), there ? base + (int64_t)(row0 + r) * stride + 8 * p : base, there);
	}
}

/* Operand a: rows first … first + 15, columns 16 k … */
template <int DP, class T> RT_DEVICE void tile_rows(uint32_t (&a)[4], const T *tile, int first, int k)
{
	int lane = threadIdx.x & 31;

	tensor_load(a, tile + tile_at<DP>(first + (lane & 15), 2 * k + (lane >> 4)));
}

/* Operand b of a product with a transposed tile, x y^T: rows first … +7 in b[0], b[1]; the next 8 in b[2], b[3]. */
template <int DP, class T> RT_DEVICE void tile_turned(uint32_t (&b)[4], const T *tile, int first, int k)
{
	int lane = threadIdx.x & 31;

	tensor_load(b, tile + tile_at<DP>(first + (lane & 7) + (lane >> 4 << 3), 2 * k + (lane >> 3 & 1)));
}

/* Operand b of a product with the tile as it is, x y: rows 16 k …; columns 16 n … +7 in b[0], b[1]; the next 8 in b[2],
 * b[3]. */
template <int DP, class T> RT_DEVICE void tile_straight(uint32_t (&b)[4], const T *tile, int k, int n)
{
	int lane = threadIdx.x & 31;

	tensor_load_turned(b, tile + tile_at<DP>(16 * k + (lane & 15), 2 * n + (lane >> 4)));
}

/* out (16, 8 N) = x y^T; x: this warp's 16 rows of a tile, starting at `first`. */
template <int DP, int N, class T> RT_DEVICE void scores_of(float (&out)[N][4], const T *x, int first, const T *y)
{
#pragma unroll
	for (int n = 0; n < N; n++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			out[n][i] = 0;
#pragma unroll
	for (int k = 0; k < DP / 16; k++) {
		uint32_t a[4];

		tile_rows<DP>(a, x, first, k);
#pragma unroll
		for (int n = 0; n < N; n += 2) {
			uint32_t b[4];

			tile_turned<DP>(b, y, 8 * n, k);
			tensor_mma<T>(out[n], a, b[0], b[1]);
			tensor_mma<T>(out[n + 1], a, b[2], b[3]);
		}
	}
}

/* out (16, DP) += w y; w (16, 8 N) is rounded to the type of y. */
template <int DP, int N, class T> RT_DEVICE void weigh(float (&out)[DP / 8][4], const float (&w)[N][4], const T *y)
{
#pragma unroll
	for (int k = 0; k < N / 2; k++) {
		const uint32_t a[4] = { pack_low<T>(w[2 * k][0], w[2 * k][1]), pack_low<T>(w[2 * k][2], w[2 * k][3]),
					pack_low<T>(w[2 * k + 1][0], w[2 * k + 1][1]),
					pack_low<T>(w[2 * k + 1][2], w[2 * k + 1][3]) };

#pragma unroll
		for (int n = 0; n < DP / 16; n++) {
			uint32_t b[4];

			tile_straight<DP>(b, y, k, n);
			tensor_mma<T>(out[2 * n], a, b[0], b[1]);
			tensor_mma<T>(out[2 * n + 1], a, b[2], b[3]);
		}
	}
}

/* Multiplies this warp's 16 rows by their factors and stores them, through its own rows of a tile that is no longer
 * read. */
template <int DP, class T>
RT_DEVICE void store_rows(T *out, int64_t stride, int row0, T *tile, int first, const float (&x)[DP / 8][4],
			  const float (&factor)[2], const struct attention_shape &s)
{
	int lane = threadIdx.x & 31, group = lane >> 2, quad = lane & 3;

	__syncwarp();
#pragma unroll
	for (int n = 0; n < DP / 8; n++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			uint32_t both = pack_low<T>(x[n][2 * h] * factor[h], x[n][2 * h + 1] * factor[h]);

			memcpy(tile + tile_at<DP>(first + group + 8 * h, n) + 2 * quad, &both, sizeof(both));
		}
	__syncwarp();
	for (int i = lane; i < 16 * (DP / 8); i += 32) {
		int r = i / (DP / 8), p = i % (DP / 8);

		if (row0 + first + r < s.len && 8 * p < s.depth)
			*reinterpret_cast<pack<T, 8> *>(out + (int64_t)(row0 + first + r) * stride + 8 * p) =
				*reinterpret_cast<const pack<T, 8> *>(tile + tile_at<DP>(first + r, p));
	}
}

RT_DEVICE float quad_max(float x)
{
	x = fmaxf(x, __shfl_xor_sync(FULL, x, 1));
	return fmaxf(x, __shfl_xor_sync(FULL, x, 2));
}

RT_DEVICE float quad_sum(float x)
{
	x += __shfl_xor_sync(FULL, x, 1);
	return x + __shfl_xor_sync(FULL, x, 2);
}

#define LOG2E 1.44269504f
#define LN2   0.69314718f

/* Adds one tile of scores to the running maximum (in bits), the running sum of this lane, and o; t becomes the weights. */
template <int DP, int N>
RT_DEVICE void soften(float (&t)[N][4], float (&m)[2], float (&l)[2], float (&o)[DP / 8][4], float bits)
{
#pragma unroll
	for (int h = 0; h < 2; h++) {
		float top = m[h], shrink;

#pragma unroll
		for (int n = 0; n < N; n++)
			top = fmaxf(top, fmaxf(t[n][2 * h], t[n][2 * h + 1]) * bits);
		top = quad_max(top);
		shrink = exp2_fast(m[h] - top);
		m[h] = top;
		l[h] *= shrink;
#pragma unroll
		for (int n = 0; n < N; n++)
#pragma unroll
			for (int j = 2 * h; j < 2 * h + 2; j++) {
				t[n][j] = exp2_fast(t[n][j] * bits - top);
				l[h] += t[n][j];
			}
#pragma unroll
		for (int n = 0; n < DP / 8; n++) {
			o[n][2 * h] *= shrink;
			o[n][2 * h + 1] *= shrink;
		}
	}
}

/* Blocks of 8 warps: 128 queries and tiles of 64 keys. The first tile contains each query's first key. Therefore no row
 * is without a key, and no maximum is minus infinity. */
template <int DP, class T> RT_DEVICE void attention_tensor_body(T *y, float *lse, const T *qkv, const struct attention_shape s)
{
	constexpr int BM = 128, BN = 64, N = BN / 8;
	RT_DYNAMIC_SHARED(shared);
	T *q = reinterpret_cast<T *>(shared), *kv = q + BM * DP; /* k, v, k, v */
	int width = s.heads * s.depth, head = blockIdx.y % s.heads, q0 = (gridDim.x - 1 - blockIdx.x) * BM;
	int64_t batch = blockIdx.y / s.heads, stride = 3 * (int64_t)width;
	const T *base = qkv + batch * s.len * stride + head * s.depth;
	int first = (threadIdx.x >> 5) * 16, lane = threadIdx.x & 31, row = q0 + first + (lane >> 2), quad = lane & 3;
	int tiles = (keys_seen(q0 + BM - 1, s) + BN - 1) / BN;
	float m[2] = { -INFINITY, -INFINITY }, l[2] = { 0, 0 }, o[DP / 8][4] = {}, factor[2];

	tile_start<DP, BM>(q, base, stride, q0, s);
	tile_start<DP, BN>(kv, base + width, stride, 0, s);
	tile_start<DP, BN>(kv + BN * DP, base + 2 * width, stride, 0, s);
	copy_commit();
	for (int i = 0; i < tiles; i++) {
		T *k = kv + (i & 1) * 2 * BN * DP, *next = kv + (~i & 1) * 2 * BN * DP;
		int k0 = i * BN;
		float t[N][4];

		if (i + 1 < tiles) {
			tile_start<DP, BN>(next, base + width, stride, k0 + BN, s);
			tile_start<DP, BN>(next + BN * DP, base + 2 * width, stride, k0 + BN, s);
		}
		copy_commit();
		copy_wait<1>();
		__syncthreads();
		if (s.all_keys || k0 <= q0 + first + 15) {
			scores_of<DP, N>(t, q, first, k);
			if (k0 + BN > keys_seen(q0 + first, s))
#pragma unroll
				for (int n = 0; n < N; n++)
#pragma unroll
					for (int j = 0; j < 4; j++)
						if (k0 + 8 * n + 2 * quad + (j & 1) >= keys_seen(row + 8 * (j >> 1), s))
							t[n][j] = -INFINITY;
			soften<DP, N>(t, m, l, o, s.scale * LOG2E);
			weigh<DP, N>(o, t, k + BN * DP);
		}
		__syncthreads();
	}
#pragma unroll
	for (int h = 0; h < 2; h++) {
		l[h] = quad_sum(l[h]);
		factor[h] = 1 / l[h];
		if (!quad && lse && row + 8 * h < s.len)
			lse[(int64_t)blockIdx.y * s.len + row + 8 * h] = (m[h] + log2f(l[h])) * LN2;
	}
	store_rows<DP>(y + batch * s.len * width + head * s.depth, width, q0, q, first, o, factor, s);
}

/*
 * Backward pass of one tile of BM rows x, 16 of them per warp, against all tiles of BN rows y that it attends to:
 *   by queries: x0 = q, x1 = dy, y0 = k, y1 = v:  dq = ds k
 *   by keys:    x0 = k, x1 = v, y0 = q, y1 = dy:  dk = ds^T q, dv = p^T dy
 * with p = exp(scale q k^T - lse), ds = scale p (dy v^T - delta). lse and delta belong to the queries.
 */
template <int DP, bool KEYS, class T> struct backward {
	static constexpr int BM = 64, BN = DP > 64 ? 32 : 64, N = BN / 8;
	const T *x[2], *y[2];
	int64_t x_stride[2], y_stride[2];
	const float *lse, *delta; /* values of this head */
	int row0, row;		  /* first row of the block, first row of this lane */

	/* Starts loading a tile of y into a stage: two tiles, then lse and delta of its rows. */
	RT_MEMBER void start(T *stage, int at, const struct attention_shape &s) const
	{
		float *per_row = reinterpret_cast<float *>(stage + 2 * BN * DP);

		tile_start<DP, BN>(stage, y[0], y_stride[0], at, s);
		tile_start<DP, BN>(stage + BN * DP, y[1], y_stride[1], at, s);
		if (KEYS && threadIdx.x < BN) {
			bool there = at + (int)threadIdx.x < s.len;

			per_row[threadIdx.x] = there ? lse[at + threadIdx.x] * LOG2E : INFINITY;
			per_row[BN + threadIdx.x] = there ? delta[at + threadIdx.x] : 0;
		}
	}

	/* Converts scores t and dp of a tile to weights and their gradients. A masked pair has weight 0. */
	RT_MEMBER void gradients(float (&t)[N][4], float (&dp)[N][4], const float (&own_lse)[2], const float (&own_delta)[2],
				 const T *stage, int at, const struct attention_shape &s) const
	{
		const float *per_row = reinterpret_cast<const float *>(stage + 2 * BN * DP);
		int quad = threadIdx.x & 3;
		float bits = s.scale * LOG2E;

#pragma unroll
		for (int n = 0; n < N; n++)
#pragma unroll
			for (int j = 0; j < 4; j++) {
				int col = 8 * n + 2 * quad + (j & 1), mine = row + 8 * (j >> 1);
				float top = KEYS ? per_row[col] : own_lse[j >> 1];
				float mean = KEYS ? per_row[BN + col] : own_delta[j >> 1];
				bool there = KEYS ? s.all_keys || mine <= at + col : at + col < keys_seen(mine, s);
				float w = there ? exp2_fast(t[n][j] * bits - top) : 0;

				t[n][j] = w;
				dp[n][j] = w * (dp[n][j] - mean) * s.scale;
			}
	}

	RT_MEMBER void run(T *x_tiles, float (&out)[DP / 8][4], float (&out2)[DP / 8][4], const struct attention_shape &s) const
	{
		constexpr int STAGE = 2 * BN * DP + 4 * BN; /* elements: two tiles and two floats per row */
		T *stages = x_tiles + 2 * BM * DP;
		int first = (threadIdx.x >> 5) * 16, end = KEYS ? s.len : keys_seen(row0 + BM - 1, s);
		int from = KEYS && !s.all_keys ? row0 / BN : 0, to = (end + BN - 1) / BN;
		float own_lse[2], own_delta[2];

#pragma unroll
		for (int h = 0; h < 2; h++) {
			bool there = !KEYS && row + 8 * h < s.len;

			own_lse[h] = there ? lse[row + 8 * h] * LOG2E : INFINITY;
			own_delta[h] = there ? delta[row + 8 * h] : 0;
		}
		tile_start<DP, BM>(x_tiles, x[0], x_stride[0], row0, s);
		tile_start<DP, BM>(x_tiles + BM * DP, x[1], x_stride[1], row0, s);
		start(stages + (from & 1) * STAGE, from * BN, s);
		copy_commit();
		for (int i = from; i < to; i++) {
			T *stage = stages + (i & 1) * STAGE;
			int at = i * BN;
			float t[N][4], dp[N][4];

			if (i + 1 < to)
				start(stages + (~i & 1) * STAGE, at + BN, s);
			copy_commit();
			copy_wait<1>();
			__syncthreads();
			if (s.all_keys || (KEYS ? at + BN - 1 >= row0 + first : at <= row0 + first + 15)) {
				scores_of<DP, N>(t, x_tiles, first, stage);
				scores_of<DP, N>(dp, x_tiles + BM * DP, first, stage + BN * DP);
				gradients(t, dp, own_lse, own_delta, stage, at, s);
				weigh<DP, N>(out, dp, stage);
				if (KEYS)
					weigh<DP, N>(out2, t, stage + BN * DP);
			}
			__syncthreads();
		}
	}
};

template <int DP, class T>
RT_DEVICE void attention_dq_tensor_body(T *dqkv, const T *dy, const T *qkv, const float *lse, const float *delta,
					const struct attention_shape s)
{
	typedef backward<DP, false, T> pass;
	RT_DYNAMIC_SHARED(shared);
	T *tiles = reinterpret_cast<T *>(shared);
	int width = s.heads * s.depth, head = blockIdx.y % s.heads, q0 = (gridDim.x - 1 - blockIdx.x) * pass::BM;
	int64_t batch = blockIdx.y / s.heads, stride = 3 * (int64_t)width, at = batch * s.len * stride + head * s.depth;
	const T *base = qkv + at;
	int first = (threadIdx.x >> 5) * 16;
	const float one[2] = { 1, 1 };
	float dq[DP / 8][4] = {};
	const pass b = { { base, dy + batch * s.len * width + head * s.depth },
			 { base + width, base + 2 * width },
			 { stride, width },
			 { stride, stride },
			 lse + (int64_t)blockIdx.y * s.len,
			 delta + (int64_t)blockIdx.y * s.len,
			 q0,
			 q0 + first + (int)(threadIdx.x & 31) / 4 };

	b.run(tiles, dq, dq, s);
	store_rows<DP>(dqkv + at, stride, q0, tiles, first, dq, one, s);
}

template <int DP, class T>
RT_DEVICE void attention_dkv_tensor_body(T *dqkv, const T *dy, const T *qkv, const float *lse, const float *delta,
					 const struct attention_shape s)
{
	typedef backward<DP, true, T> pass;
	RT_DYNAMIC_SHARED(shared);
	T *tiles = reinterpret_cast<T *>(shared);
	int width = s.heads * s.depth, head = blockIdx.y % s.heads, k0 = blockIdx.x * pass::BM;
	int64_t batch = blockIdx.y / s.heads, stride = 3 * (int64_t)width, at = batch * s.len * stride + head * s.depth;
	const T *base = qkv + at;
	int first = (threadIdx.x >> 5) * 16;
	const float one[2] = { 1, 1 };
	float dk[DP / 8][4] = {}, dv[DP / 8][4] = {};
	const pass b = { { base + width, base + 2 * width },
			 { base, dy + batch * s.len * width + head * s.depth },
			 { stride, stride },
			 { stride, width },
			 lse + (int64_t)blockIdx.y * s.len,
			 delta + (int64_t)blockIdx.y * s.len,
			 k0,
			 k0 + first + (int)(threadIdx.x & 31) / 4 };

	b.run(tiles, dk, dv, s);
	store_rows<DP>(dqkv + at + width, stride, k0, tiles, first, dk, one, s);
	store_rows<DP>(dqkv + at + 2 * width, stride, k0, tiles, first, dv, one, s);
}
#define TENSOR(call)	call
#else
#define TENSOR(call)	__trap() /* the host checks the architecture before */
#endif

#define ATTENTION_TENSOR(T, DP)                                                                                             \
	RT_KERNEL __launch_bounds__(256, DP > 64 ? 1 : 2)                                                                  \
		rt_attention_tensor_##T##_##DP(T *y, float *lse, const T *qkv, const struct attention_shape s)             \
	{                                                                                                                  \
		TENSOR(attention_tensor_body<DP>(y, lse, qkv, s));                                                         \
	}                                                                                                                  \
	RT_KERNEL __launch_bounds__(128)                                                                                   \
		rt_attention_dkv_tensor_##T##_##DP(T *dqkv, const T *dy, const T *qkv, const float *lse,                \
					     const float *delta, const struct attention_shape s)                           \
	{                                                                                                                  \
		TENSOR(attention_dkv_tensor_body<DP>(dqkv, dy, qkv, lse, delta, s));                                       \
	}                                                                                                                  \
	RT_KERNEL __launch_bounds__(128)                                                                                   \
		rt_attention_dq_tensor_##T##_##DP(T *dqkv, const T *dy, const T *qkv, const float *lse,                 \
					    const float *delta, const struct attention_shape s)                            \
	{                                                                                                                  \
		TENSOR(attention_dq_tensor_body<DP>(dqkv, dy, qkv, lse, delta, s));                                        \
	}
ATTENTION_TENSOR(bf16, 64)
ATTENTION_TENSOR(bf16, 128)
ATTENTION_TENSOR(f16, 64)
ATTENTION_TENSOR(f16, 128)
