/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 3x3 convolutions of stride 1 with Winograd's F(4x4,3x3): 36 products per 4x4 outputs and pair of channels instead of
 * 144. A thread takes a block of tiles and transforms the input into 36 planes (144 multiply-adds per tile and
 * channel). It multiplies each plane with its plane of weights and transforms the sums back (130 per tile and channel).
 * The planes stay in the core's L2 cache.
 *
 * The gradient of the input is the same operation with rotated weights. The gradient of the weights sums the products
 * of both images' planes, each thread over its own tiles; the threads' sums are added in thread order. With C input and
 * output channels a tile costs 36 C + 274 multiply-adds per output channel; a direct convolution costs 144 C.
 */
#include <omp.h>
#include <string.h>
#include "runtime/cpu/conv.h"

/* Number of floats in a thread's input and output planes: a quarter of an L2 cache of 1 MiB. */
#define BLOCK_FLOATS	(INT64_C(64) << 10)
#define SUM_FLOATS	(INT64_C(192) << 10) /* floats of gradient sums that fit in the L2 cache in addition to the planes */
#define BLOCK_MIN	INT64_C(28) /* tiles: two panels of the widest product */
#define BLOCK_MAX	INT64_C(112)
#define LINE		INT64_C(16) /* floats; lets planes start in different sets of the L1 cache */

struct image {
	int64_t h, w, channels, lanes; /* lanes: channels rounded up to whole blocks */
	int64_t before; /* padding before its first tile, in pixels */
};
struct wino {
	const struct rt_wino *k;
	struct image in, out;
	int64_t n, rows, cols; /* tiles per image */
	int64_t tiles, block, blocks;
	int64_t in_plane, out_plane, u_plane; /* plane sizes in floats */
	bool add; /* add to the output image */
};

static int64_t round_up(int64_t n, int64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* For the gradient of the weights, `in` is x and `out` is dy. */
static struct wino wino_of(const struct rt_conv *s, enum rt_conv_kind kind, int threads)
{
	struct image x = { s->h, s->w, s->c, round_up(s->c, RT_WINO_LANES), s->pad };
	struct image y = { s->oh, s->ow, s->o, round_up(s->o, RT_WINO_LANES), 0 };
	struct wino p = { .in = x, .out = y, .n = s->n };
	int64_t each;

	if (kind == RT_CONV_BWD_X) {
		p.in = y;
		p.out = x;
		p.in.before = 2 - s->pad;
		p.out.before = 0;
	}
	p.rows = (p.out.h + 3) / 4;
	p.cols = (p.out.w + 3) / 4;
	p.tiles = p.n * p.rows * p.cols;
	each = BLOCK_FLOATS / (RT_WINO_PLANES * (p.in.lanes + p.out.lanes)) / BLOCK_MIN * BLOCK_MIN;
	each = GT_MIN(GT_MAX(each, BLOCK_MIN), BLOCK_MAX);
	p.blocks = round_up((p.tiles + each - 1) / each, threads);
	p.block = (p.tiles + p.blocks - 1) / p.blocks;
	p.in_plane = p.block * p.in.lanes + LINE;
	p.out_plane = p.block * p.out.lanes + LINE;
	p.u_plane = p.in.lanes * p.out.lanes + LINE;
	return p;
}

bool rt_conv_winograd_fits(const struct rt_conv *s)
{
	return s->kh == 3 && s->kw == 3 && s->stride == 1 && s->groups == 1 && s->pad <= 2;
}

/*
 * Returns whether Winograd is faster than a direct convolution whose products run at `rate` times the speed of f32.
 * Counts multiply-adds, and loads, stores and cache misses as the equivalent number of multiply-adds. Measured with
 * AVX-512 on Zen 4 and 16 to 512 channels:
 * per tile and channel:      190 to read, 165 to write
 * per pair of channels:      2500 to transform and load the weights or their gradients
 *   and in addition per block: 50 to reload these, or 150 to read and write the sums, 600 if these exceed the L2 cache
 * With rate > 1 the direct convolution uses reduced precision; at equal speed Winograd is then preferred for its
 * smaller error.
 */
bool rt_conv_winograd_faster(const struct rt_conv *s, enum rt_conv_kind kind, double rate)
{
	const double margin = rate > 1 ? 1 : 1.25;
	struct wino p = wino_of(s, kind, 1);
	double in = (double)p.in.lanes, out = (double)p.out.lanes, tiles = (double)p.tiles;
	double per_block = kind != RT_CONV_BWD_W ? 50 : RT_WINO_PLANES * p.u_plane <= SUM_FLOATS ? 150 : 600;
	double cost = tiles * ((double)RT_WINO_PLANES * in * out + 190 * in + 165 * out) +
		      (2500 + per_block * (double)p.blocks) * in * out;

	return rate * margin * cost < 9.0 * (double)(s->n * s->oh * s->ow) * (double)(s->c * s->o);
}

double rt_conv_winograd_flops(const struct rt_conv *s, enum rt_conv_kind kind)
{
	struct wino p = wino_of(s, kind, 1);

	return 2.0 * (double)RT_WINO_PLANES * (double)p.tiles * (double)s->c * (double)s->o;
}

size_t rt_conv_winograd_scratch(const struct rt_conv *s, enum rt_conv_kind kind, int threads)
{
	struct wino p = wino_of(s, kind, threads);
	int64_t planes = threads * (p.in_plane + p.out_plane) + (kind == RT_CONV_BWD_W ? threads : 1) * p.u_plane;

	return (size_t)(RT_WINO_PLANES * planes) * sizeof(float);
}

/*
 * Position of a tile. It advances tile by tile, because computing it from the index takes three divisions, 5 % of the
 * time of the transform.
 */
struct place {
	int64_t image, row, col;
};

static struct place place_of(const struct wino *p, int64_t tile)
{
	return (struct place){ tile / p->cols / p->rows, tile / p->cols % p->rows, tile % p->cols };
}

static void next_place(const struct wino *p, struct place *at)
{
	if (++at->col < p->cols)
		return;
	at->col = 0;
	if (++at->row < p->rows)
		return;
	at->row = 0;
	at->image++;
}

/* Returns the tile at a position: n x n pixels, starting every 4 pixels. */
static struct rt_wino_tile tile_of(const struct image *m, const struct place *at, int64_t n)
{
	int64_t row = at->row * 4 - m->before, col = at->col * 4 - m->before;

	return (struct rt_wino_tile){
		.at = ((at->image * m->h + row) * m->w + col) * m->channels,
		.row = m->w * m->channels,
		.pixel = m->channels,
		.channels = m->channels,
		.top = -row,
		.bottom = GT_MIN(n, m->h - row),
		.left = -col,
		.right = GT_MIN(n, m->w - col),
	};
}

static void read_block(const struct wino *p, const float *image, int64_t lo, int64_t hi, float *v)
{
	struct place at = place_of(p, lo);

	for (int64_t i = lo; i < hi; i++, next_place(p, &at)) {
		struct rt_wino_tile t = tile_of(&p->in, &at, 6);

		p->k->input(v + (i - lo) * RT_WINO_LANES, p->in_plane, p->block * RT_WINO_LANES, &t, image);
	}
}

/* The whole image rows that a block of tiles of n x n pixels will read. They are prefetched in as many parts as there
 * are planes, during the products of the planes, when memory is idle. */
struct ahead {
	const char *from;
	int64_t bytes;
};

static struct ahead ahead_of(const struct wino *p, const struct image *m, const float *image, int64_t lo, int64_t hi, int64_t n)
{
	struct place a = place_of(p, lo), b = place_of(p, GT_MIN(hi, p->tiles) - 1);
	int64_t first = GT_MAX(a.image * m->h + a.row * 4 - m->before, 0), row = m->w * m->channels * (int64_t)sizeof(float);
	int64_t end = GT_MIN(b.image * m->h + b.row * 4 - m->before + n, p->n * m->h);

	return (struct ahead){ (const char *)image + first * row, lo < p->tiles ? GT_MAX(end - first, 0) * row : 0 };
}

/* Always inlined: GCC 12 treats a function that only prefetches as free of effects and removes its calls. */
static inline __attribute__((always_inline)) void fetch(const struct ahead *a, int64_t part)
{
	int64_t end = a->bytes * (part + 1) / RT_WINO_PLANES;

	for (int64_t at = a->bytes * part / RT_WINO_PLANES; at < end; at += 64)
		__builtin_prefetch(a->from + at, 0, 2);
}

static void convolve_block(const struct wino *p, const float *in, const float *u, float *out, int64_t lo, int64_t hi, float *v,
			   float *m)
{
	struct ahead next = ahead_of(p, &p->in, in, hi, 2 * hi - lo, 6), here = ahead_of(p, &p->out, out, lo, hi, 4);
	struct place at = place_of(p, lo);

	read_block(p, in, lo, hi, v);
	for (int64_t k = 0; k < RT_WINO_PLANES; k++) {
		fetch(&next, k);
		fetch(&here, k);
		p->k->product(m + k * p->out_plane, v + k * p->in_plane, p->block * RT_WINO_LANES, u + k * p->u_plane, hi - lo,
			      p->in.lanes, p->out.lanes);
	}
	for (int64_t i = lo; i < hi; i++, next_place(p, &at)) {
		struct rt_wino_tile t = tile_of(&p->out, &at, 4);

		p->k->output(out, &t, m + (i - lo) * p->out.lanes, p->out_plane, p->add);
	}
}

/* w is (O,C,3,3). */
static struct rt_wino_weights weights_of(const struct wino *p, const float *w, bool rotated)
{
	return (struct rt_wino_weights){
		.at = w,
		.in_step = rotated ? 9 * p->out.channels : 9,
		.out_step = rotated ? 9 : 9 * p->in.channels,
		.n_in = p->in.channels, .n_out = p->out.channels, .in = p->in.lanes, .out = p->out.lanes,
		.rotated = rotated,
	};
}

/* Tasks are pairs of channel blocks, and blocks of tiles. A thread writes the same images as in other ops. */
static void convolve(const struct wino *p, int threads, const struct rt_wino_weights *w, const float *in, float *out,
		     float *scratch)
{
	int64_t ins = p->in.lanes / RT_WINO_LANES, groups = (p->out.lanes + p->k->group - 1) / p->k->group;
	float *u = scratch, *planes = u + RT_WINO_PLANES * p->u_plane;

#pragma omp parallel num_threads(threads) if (threads > 1)
	{
		float *v = planes + RT_WINO_PLANES * (p->in_plane + p->out_plane) * omp_get_thread_num();
		float *m = v + RT_WINO_PLANES * p->in_plane;

#pragma omp for schedule(static)
		for (int64_t i = 0; i < ins * groups; i++)
			p->k->weights(u, p->u_plane, w, i % ins * RT_WINO_LANES, i / ins * p->k->group);
#pragma omp for schedule(static)
		for (int64_t i = 0; i < p->blocks; i++)
			convolve_block(p, in, u, out, p->tiles * i / p->blocks, p->tiles * (i + 1) / p->blocks, v, m);
	}
}

/* sum (planes, in, out) = one thread's sum over its tiles. */
static void sum_blocks(const struct wino *p, const float *x, const float *dy, int64_t first, int64_t end, float *v, float *d,
		       float *sum)
{
	for (int64_t b = first; b < end; b++) {
		int64_t lo = p->tiles * b / p->blocks, hi = p->tiles * (b + 1) / p->blocks;
		struct ahead next_x = ahead_of(p, &p->in, x, hi, 2 * hi - lo, 6);
		struct ahead next_dy = ahead_of(p, &p->out, dy, hi, 2 * hi - lo, 4);
		struct place at = place_of(p, lo);

		read_block(p, x, lo, hi, v);
		for (int64_t i = lo; i < hi; i++, next_place(p, &at)) {
			struct rt_wino_tile t = tile_of(&p->out, &at, 4);

			p->k->output_grad(d + (i - lo) * p->out.lanes, p->out_plane, &t, dy);
		}
		for (int64_t k = 0; k < RT_WINO_PLANES; k++) {
			fetch(&next_x, k);
			fetch(&next_dy, k);
			p->k->outer(sum + k * p->u_plane, v + k * p->in_plane, p->block * RT_WINO_LANES, d + k * p->out_plane,
				    hi - lo, p->in.lanes, p->out.lanes, b > first);
		}
	}
}

static void weights_gradient(const struct rt_cpu *cpu, const struct wino *p, const float *x, float *w, const float *dy,
			     float *scratch)
{
	int64_t floats = RT_WINO_PLANES * (p->in_plane + p->out_plane + p->u_plane), offset = floats - RT_WINO_PLANES * p->u_plane;

#pragma omp parallel num_threads(cpu->threads) if (cpu->threads > 1)
	{
		int thread = omp_get_thread_num(), all = omp_get_num_threads();
		float *v = scratch + floats * thread;

		sum_blocks(p, x, dy, p->blocks * thread / all, p->blocks * (thread + 1) / all, v, v + RT_WINO_PLANES * p->in_plane,
			   v + offset);
#pragma omp barrier
#pragma omp for schedule(static)
		for (int64_t c = 0; c < p->in.channels; c++) {
			for (int64_t k = 0; k < RT_WINO_PLANES; k++)
				for (int t = 1; t < all; t++) {
					float *sum = scratch + offset + k * p->u_plane + c * p->out.lanes;

					cpu->simd->add(sum, sum, sum + floats * t, p->out.lanes);
				}
			p->k->weights_grad(w + 9 * c, 9 * p->in.channels, scratch + offset + c * p->out.lanes, p->u_plane,
					   p->out.channels);
		}
	}
}

void rt_conv_winograd(const struct rt_cpu *cpu, const struct rt_conv *s, enum rt_conv_kind kind, float *x, float *w, float *y,
		      float *scratch, bool add)
{
	struct wino p = wino_of(s, kind, cpu->threads);
	struct rt_wino_weights weights = weights_of(&p, w, kind == RT_CONV_BWD_X);

	p.k = cpu->simd->wino;
	p.add = add;
	if (kind == RT_CONV_BWD_W)
		weights_gradient(cpu, &p, x, w, y, scratch);
	else if (kind == RT_CONV_FWD)
		convolve(&p, cpu->threads, &weights, x, y, scratch);
	else
		convolve(&p, cpu->threads, &weights, y, x, scratch);
}
