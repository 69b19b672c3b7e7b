/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed gradients: effect of each method on training, and comparison with its publication. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/ddp/codec.h"
#include "tests/unit/check_comm.h"

START_TEST(every_compression_trains)
{
	static const enum rt_compress all[] = { RT_COMPRESS_FP16, RT_COMPRESS_BF16, RT_COMPRESS_INT8, RT_COMPRESS_POWERSGD,
						RT_COMPRESS_ONEBIT };
	static const double most[] = { 1e-2, 3e-2, 5e-2, 0.6, 0.6 };
	struct job j = { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 } } };
	double plain[STEPS], loss[STEPS], late[STEPS];

	losses(j, 2, plain);
	j.opt.ranks.compress = all[_i];
	j.opt.ranks.powersgd_rank = 2;
	losses(j, 2, loss);
	ck_assert_msg(fabs(loss[STEPS - 1] - plain[STEPS - 1]) < most[_i], "%g instead of %g", loss[STEPS - 1], plain[STEPS - 1]);
	ck_assert(loss[STEPS - 1] < loss[0]);
	j.opt.ranks.compress_after = STEPS;
	losses(j, 2, late);
	ck_assert_double_eq(late[STEPS - 1], plain[STEPS - 1]);
}
END_TEST

/* ---- compression against its definitions ---- */

#define R	2
#define ROUNDS	4
#define DN	48
#define DM	40

/*
 * Gradients of a matrix (DN,DM) that each rank prescribes. With plain SGD of lr 1 the change of w is the gradient that
 * the optimizer read.
 */
static float dictated(int rank, int round, int64_t i)
{
	return rt_random_normal(21 + (uint64_t)round, (uint64_t)rank, (uint64_t)i) * (i % 3 ? 1 : 0.01f);
}

struct dictate {
	enum rt_compress compress;
	void (*expect)(double *mean, int round); /* has state of its own */
	double tolerance; /* 0: bit equality */
	int levels; /* in each block of 512 each element is an integer multiple of 1/levels of the largest; 0: no such rule */
	bool scaled; /* the loss scale doubles with every update, and halves with a skipped one */
};

/* One rank's gradients are not finite: no rank updates, and the residual is unchanged. */
static int overflow(struct rt_program *p, struct rt_comm *c, struct gt_err *err)
{
	static float x[DN * DM];
	struct rt_metrics m;
	int r;

	for (int64_t i = 0; i < DN * DM; i++)
		x[i] = dictated(rt_comm_rank(c), ROUNDS, i);
	x[7] = rt_comm_rank(c) ? INFINITY : 1;
	r = rt_step(p, (const void *[]){ x }, &m, err);
	WANT(r || m.skipped, "the update was not skipped");
	return r;
}

static int on_levels(const double *x, int levels, struct gt_err *err)
{
	/* the second segment starts at a multiple of a block */
	for (int b = 0; b < DN * DM; b += 512) {
		double most = 0;

		for (int i = b; i < GT_MIN(b + 512, DN * DM); i++)
			most = fmax(most, fabs(x[i]));
		for (int i = b; i < GT_MIN(b + 512, DN * DM); i++) {
			double level = x[i] / most * levels;

			WANT(fabs(level - rint(level)) < 1e-3, "element %d is on level %g of %d", i, level, levels);
		}
	}
	return 0;
}

static int follow(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct dictate *d = arg;
	static float x[DN * DM];
	static double mean[DN * DM], got[DN * DM];
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(DN, DM), RT_INIT_ZEROS);
	struct rt_node *loss = rt_dot(g, w, rt_input(g, "x", RT_F32, RT_SHAPE(DN, DM)));
	struct rt_options opt = { .threads = 1, .seed = 9, .optimizer = { .kind = RT_SGD, .lr = 1 },
				  .ranks = { .comm = c, .compress = d->compress, .powersgd_rank = R },
				  .precision.scaler = { d->scaled ? RT_SCALER_ON : RT_SCALER_OFF, .init = 4, .interval = 1 } };
	gt_auto(rt_program) *p = NULL;
	int r = rt_compile(g, loss, &opt, &p, err);

	for (int round = 0; !r && round < ROUNDS; round++) {
		struct rt_metrics m;

		if (d->scaled && round % 2) /* the loss scale changes between the other updates */
			r = overflow(p, c, err);
		if (r)
			return r;
		for (int64_t i = 0; i < DN * DM; i++)
			x[i] = dictated(rt_comm_rank(c), round, i);
		memset(rt_value(p, w), 0, sizeof(x));
		r = rt_step(p, (const void *[]){ x }, &m, err);
		d->expect(mean, round);
		for (int64_t i = 0; !r && i < DN * DM; i++) {
			got[i] = -(double)rt_value(p, w)[i];
			WANT(fabs(got[i] - mean[i]) <= d->tolerance, "round %d element %lld: %.9g, by the definition %.9g", round,
			     (long long)i, got[i], mean[i]);
		}
		if (!r && d->levels)
			r = on_levels(got, d->levels, err);
	}
	return r;
}

/* 1-bit with error feedback on both sides, two ranks, in double. The segments have 1024 and 896 elements. */
static void expect_onebit(double *mean, int round)
{
	static double lost[2][DN * DM], lost_sum[DN * DM], sent[2][DN * DM];
	const int64_t n = DN * DM, cut = 1024;

	for (int k = 0; k < 2; k++) {
		double norm = 0, scale;

		for (int64_t i = 0; i < n; i++) {
			lost[k][i] += (double)dictated(k, round, i) / 2;
			norm += lost[k][i] * lost[k][i];
		}
		scale = sqrt(norm / (double)n);
		for (int64_t i = 0; i < n; i++) {
			sent[k][i] = lost[k][i] >= 0 ? scale : -scale;
			lost[k][i] -= sent[k][i];
		}
	}
	for (int s = 0; s < 2; s++) {
		int64_t lo = s ? cut : 0, hi = s ? n : cut;
		double norm = 0, scale;

		for (int64_t i = lo; i < hi; i++) {
			lost_sum[i] += sent[0][i] + sent[1][i];
			norm += lost_sum[i] * lost_sum[i];
		}
		scale = sqrt(norm / (double)(hi - lo));
		for (int64_t i = lo; i < hi; i++) {
			mean[i] = lost_sum[i] >= 0 ? scale : -scale;
			lost_sum[i] -= mean[i];
		}
	}
}

/* Algorithm 1 of Vogels et al. with error feedback, two ranks, in double. */
static void expect_powersgd(double *mean, int round)
{
	static double lost[2][DN * DM], q[DM * R];
	double m[2][DN * DM], p[DN * R] = { 0 };

	for (int i = 0; !round && i < DM * R; i++)
		q[i] = (double)rt_random_normal(9, 4000, (uint64_t)i);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < DN * DM; i++) {
			m[k][i] = lost[k][i] + (double)dictated(k, round, i);
			for (int c = 0; c < R; c++)
				p[i / DM * R + c] += m[k][i] * q[i % DM * R + c] / 2;
		}
	for (int c = 0; c < R; c++) {
		double norm = 0;

		for (int d = 0; d < c; d++) {
			double dot = 0;

			for (int i = 0; i < DN; i++)
				dot += p[i * R + c] * p[i * R + d];
			for (int i = 0; i < DN; i++)
				p[i * R + c] -= dot * p[i * R + d];
		}
		for (int i = 0; i < DN; i++)
			norm += p[i * R + c] * p[i * R + c];
		for (int i = 0; i < DN; i++)
			p[i * R + c] /= sqrt(norm);
	}
	memset(q, 0, sizeof(q));
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < DN * DM; i++)
			for (int c = 0; c < R; c++)
				q[i % DM * R + c] += m[k][i] * p[i / DM * R + c] / 2;
	for (int i = 0; i < DN * DM; i++) {
		mean[i] = 0;
		for (int c = 0; c < R; c++)
			mean[i] += p[i / DM * R + c] * q[i % DM * R + c];
		lost[0][i] = m[0][i] - mean[i];
		lost[1][i] = m[1][i] - mean[i];
	}
}

static void expect_mean(double *mean, int round)
{
	for (int64_t i = 0; i < DN * DM; i++)
		mean[i] = ((double)dictated(0, round, i) + (double)dictated(1, round, i)) / 2;
}

/* Rounds to nearest even with this many bits including the leading 1, but not to less than 2^least. */
static float rounded(float x, int bits, int least)
{
	double unit = ldexp(1, GT_MAX((x < 0 || x > 0 ? ilogb((double)x) : 0) - bits + 1, least));

	return (float)(rint((double)x / unit) * unit);
}

/*
 * Transmitted values are rounded twice: each rank's part, and the sum. With two ranks the bits equal those of torch's
 * hooks (fp16_compress_hook, bf16_compress_hook), because halving is exact.
 */
static void expect_rounded(double *mean, int bits, int least, int round)
{
	for (int64_t i = 0; i < DN * DM; i++) {
		float sum = rounded(dictated(0, round, i) * 0.5f, bits, least) + rounded(dictated(1, round, i) * 0.5f, bits, least);

		mean[i] = (double)rounded(sum, bits, least);
	}
}

static void expect_fp16(double *mean, int round)
{
	expect_rounded(mean, 11, -24, round);
}

static void expect_bf16(double *mean, int round)
{
	expect_rounded(mean, 8, -133, round);
}

START_TEST(compression_follows_its_publication)
{
	/* int8: two steps of norm/127 of values below 4 */
	static const struct dictate all[] = {
		{ RT_COMPRESS_ONEBIT, expect_onebit, 3e-5 },
		{ RT_COMPRESS_POWERSGD, expect_powersgd, 3e-5 },
		{ RT_COMPRESS_FP16, expect_fp16, 0 },
		{ RT_COMPRESS_BF16, expect_bf16, 0 },
		{ RT_COMPRESS_INT8, expect_mean, 3 * 4.0 / 127, .levels = 127 },
		{ RT_COMPRESS_NONE, expect_mean, 1e-6 },
		{ RT_COMPRESS_ONEBIT, expect_onebit, 3e-5, .scaled = true },
		{ RT_COMPRESS_POWERSGD, expect_powersgd, 3e-5, .scaled = true },
	};
	struct dictate d = all[_i];

	run(&(struct rt_group){ .ranks = 2 }, follow, &d);
}
END_TEST

/*
 * Ten gradients and the padding of their bucket. A value in the padding that is not finite must not affect later
 * updates.
 */
int few(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const enum rt_compress *compress = arg;
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(2, 5), RT_INIT_ZEROS);
	struct rt_node *loss = rt_dot(g, w, rt_input(g, "x", RT_F32, RT_SHAPE(2, 5)));
	struct rt_options opt = { .threads = 1, .optimizer = { .kind = RT_SGD, .lr = 1 },
				  .ranks = { .comm = c, .compress = *compress, .compress_after = 1 },
				  .precision.scaler = { RT_SCALER_ON, .init = 4, .interval = 1000 } };
	gt_auto(rt_program) *p = NULL;
	int r = rt_compile(g, loss, &opt, &p, err);

	for (int round = 0; !r && round < 8; round++) {
		float x[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
		bool spoilt = round == 0 || round == 3; /* before and after the first compressed update */
		struct rt_metrics m;

		if (spoilt && rt_comm_rank(c) == rt_comm_size(c) - 1)
			x[3] = INFINITY;
		r = rt_step(p, (const void *[]){ x }, &m, err);
		WANT(r || m.skipped == spoilt, "%s: update %d was %s", rt_compress_name(*compress), round,
		     m.skipped ? "skipped" : "done");
	}
	return r;
}

START_TEST(an_infinity_skips_one_update)
{
	enum rt_compress compress = (enum rt_compress)_i;

	run(&(struct rt_group){ .ranks = 2 }, few, &compress);
}
END_TEST

/*
 * Bytes that each of two ranks sends for 1920 gradients, in both directions: of a segment of 1024, in whole lines of 64
 * bytes; for PowerSGD half of each of two factors of rank 1, in both directions.
 */
static const struct sent {
	enum rt_compress how;
	double bytes;
} sent[] = {
	{ RT_COMPRESS_FP16, 2 * 2048 }, { RT_COMPRESS_BF16, 2 * 2048 }, { RT_COMPRESS_INT8, 2 * 1088 },
	{ RT_COMPRESS_POWERSGD, (DN + DM) * 4 }, { RT_COMPRESS_ONEBIT, 2 * 192 },
};

/* Updates before the first compressed one send everything. */
static int count_sent(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct sent *want = arg;
	static float x[DN * DM];
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(DN, DM), RT_INIT_ZEROS);
	struct rt_node *loss = rt_dot(g, w, rt_input(g, "x", RT_F32, RT_SHAPE(DN, DM)));
	struct rt_options opt = { .threads = 1, .optimizer = { .kind = RT_SGD, .lr = 1 },
				  .ranks = { .comm = c, .compress = want->how, .compress_after = 3 } };
	gt_auto(rt_program) *p = NULL;
	const double raw = DN * DM * 4;
	int r = rt_compile(g, loss, &opt, &p, err);

	for (int step = 1; !r && step <= 6; step++) {
		double by_now = step <= 3 ? raw : (3 * raw + (step - 3) * want->bytes) / step, said;
		gt_auto_json *doc = NULL;
		struct rt_metrics m;

		r = rt_step(p, (const void *[]){ x }, &m, err);
		doc = rt_program_report(p);
		said = gt_json_get_real(json_object_get(doc, "ddp"), "sent_bytes_per_step", NAN);
		WANT(r || fabs(said - by_now) < 1e-6, "%g bytes per step after %d, not %g", said, step, by_now);
		said = gt_json_get_real(json_object_get(doc, "ddp"), "raw_bytes_per_step", NAN);
		WANT(r || fabs(said - raw) < 1e-6, "%g raw bytes, not %g", said, raw);
	}
	return r;
}

START_TEST(sent_bytes_are_counted)
{
	struct sent want = sent[_i];

	run(&(struct rt_group){ .ranks = 2 }, count_sent, &want);
}
END_TEST

START_TEST(int8_is_right_on_average)
{
	const struct rt_codec *codec = rt_codec_find(RT_COMPRESS_INT8);
	enum { N = 700, TIMES = 4000 };
	unsigned char out[2 * sizeof(float) + N];
	float x[N], y[N];
	double sum[N] = { 0 };

	ck_assert_uint_eq(codec->bytes(N), sizeof(out));
	for (int i = 0; i < N; i++)
		x[i] = rt_random_normal(1, 1, (uint64_t)i);
	for (uint64_t t = 0; t < TIMES; t++) {
		codec->encode(x, N, 0, t << 20, out);
		codec->decode(out, N, y);
		for (int i = 0; i < N; i++)
			sum[i] += (double)y[i] / TIMES;
	}
	/* steps of at most 4/127, so a standard error of 4/127/2/sqrt(4000); six of them */
	for (int i = 0; i < N; i++)
		ck_assert_double_eq_tol(sum[i], (double)x[i], 6 * 4.0 / 127 / 2 / sqrt(TIMES));
	x[3] = INFINITY;
	codec->encode(x, N, 0, 0, out);
	codec->decode(out, N, y);
	ck_assert(isnan(y[0]) && isnan(y[511]) && !isnan(y[512]));
}
END_TEST

TCase *case_compression(void)
{
	TCase *t = tcase_create("compression");

	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, every_compression_trains, 0, 5);
	tcase_add_loop_test(t, compression_follows_its_publication, 0, 8);
	tcase_add_loop_test(t, an_infinity_skips_one_update, RT_COMPRESS_NONE, RT_COMPRESS_ONEBIT + 1);
	tcase_add_loop_test(t, sent_bytes_are_counted, 0, GT_ARRAY_SIZE(sent));
	tcase_add_test(t, int8_is_right_on_average);
	return t;
}
