/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/stats/stats.h"
#include "bench/train/check_options.h"
#include "bench/train/generate.h"

/* Shapes of the program. */
enum { PREFILL, DECODE, SHAPES };

struct run {
	struct bn_generation *g;
	const struct bn_prompts *p;
	struct rt_graph *graph[SHAPES];
	struct rt_program *program;
	int32_t *positions; /* (rows,longest) */
	int32_t *last;	    /* (rows): index of the last token */
	int32_t *tokens, *first_tokens; /* (rows,new): tokens of this generation, and of the first one */
	int32_t *next;	    /* (rows): tokens that are the input of the next step */
	float *logits;	    /* (rows,vocab) */
	struct choice {
		float logit;
		int32_t id;
	} *choice; /* (vocab) */
	double *prefill_s, *decode_s; /* times of the timed generations */
	int64_t prefills, decodes;
};

static void run_clear(struct run *u)
{
	rt_program_free(u->program);
	for (int i = 0; i < SHAPES; i++)
		rt_graph_free(u->graph[i]);
	free(u->positions);
	free(u->last);
	free(u->tokens);
	free(u->first_tokens);
	free(u->next);
	free(u->logits);
	free(u->choice);
	free(u->prefill_s);
	free(u->decode_s);
}

static int compile(struct run *u, struct gt_err *err)
{
	const struct bn_generation *g = u->g;
	struct bn_train_options o = *g->model;
	struct rt_options opt = {
		.threads = (int)o.threads,
		.seed = o.seed,
		.precision = bn_train_precision(&o),
		.memory.limit_bytes = o.memory_limit_bytes,
	};
	struct rt_node *logits[SHAPES], *const *outputs[SHAPES] = { &logits[PREFILL], &logits[DECODE] };
	uint64_t ticket;
	int r;

	opt.precision.int8 = g->int8 ? RT_INT8_DYNAMIC : RT_INT8_OFF;
	o.batch = (uint64_t)u->p->rows;
	o.positions = g->kind->hf ? 0 : (uint64_t)g->context;
	o.cache = (uint64_t)u->p->longest + g->o->tokens;
	for (int i = 0; i < SHAPES; i++) {
		o.seq = i == PREFILL ? (uint64_t)u->p->longest : 1;
		u->graph[i] = rt_graph_new();
		logits[i] = g->kind->declare(u->graph[i], &o);
		r = g->load ? rt_graph_match_checkpoint(u->graph[i], g->load, err) : 0;
		if (r)
			return r;
	}
	r = rt_compile_outputs_shapes((const struct rt_graph *const *)u->graph, outputs, 1, SHAPES, &opt, &u->program, err);
	if (r)
		return gt_fail_prefix(err, "batch %lld", (long long)u->p->rows);
	if (o.weights)
		return gt_fail_as(err, GT_EXIT_USAGE, rt_hf_load(u->program, &o.hf, o.weights, err));
	return g->load ? rt_load(u->program, g->load, &ticket, err) : 0;
}

static void allocate(struct run *u)
{
	size_t rows = (size_t)u->p->rows, longest = (size_t)u->p->longest, new = (size_t)u->g->o->tokens;
	size_t vocab = (size_t)u->g->model->vocab, runs = (size_t)u->g->model->steps;

	u->positions = gt_xcalloc(rows * longest, sizeof(*u->positions));
	for (size_t i = 0; i < rows * longest; i++)
		u->positions[i] = (int32_t)(i % longest);
	u->last = gt_xcalloc(rows, sizeof(*u->last));
	u->next = gt_xcalloc(rows, sizeof(*u->next));
	u->tokens = gt_xcalloc(rows * new, sizeof(*u->tokens));
	u->first_tokens = gt_xcalloc(rows * new, sizeof(*u->first_tokens));
	u->logits = gt_xcalloc(rows * vocab, sizeof(*u->logits));
	u->choice = gt_xcalloc(vocab, sizeof(*u->choice));
	u->prefill_s = gt_xcalloc(runs, sizeof(*u->prefill_s));
	u->decode_s = gt_xcalloc(runs * new, sizeof(*u->decode_s));
}

static int32_t largest(const float *x, int64_t n)
{
	int64_t best = 0;

	for (int64_t i = 1; i < n; i++)
		best = x[i] > x[best] ? i : best;
	return (int32_t)best;
}

static int by_logit(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->logit != y->logit)
		return x->logit < y->logit ? 1 : -1;
	return x->id - y->id;
}

/* Draws a token of softmax(logits / temperature) over the top_k largest logits. The draw is a function of seed, row and
 * token. */
static int32_t draw(const struct run *u, const float *x, int64_t row, int64_t token)
{
	const struct bn_generation *g = u->g;
	int64_t n = (int64_t)g->model->vocab;
	double sum = 0, at, max;

	for (int64_t i = 0; i < n; i++)
		u->choice[i] = (struct choice){ x[i], (int32_t)i };
	if (g->o->top_k) {
		qsort(u->choice, (size_t)n, sizeof(*u->choice), by_logit);
		n = (int64_t)g->o->top_k;
	}
	max = (double)x[largest(x, (int64_t)g->model->vocab)];
	for (int64_t i = 0; i < n; i++)
		sum += exp(((double)u->choice[i].logit - max) / g->temperature);
	at = sum * (double)rt_random_uniform(g->model->seed, 200 + (uint64_t)row, (uint64_t)token);
	for (int64_t i = 0; i < n; i++) {
		at -= exp(((double)u->choice[i].logit - max) / g->temperature);
		if (at < 0)
			return u->choice[i].id;
	}
	return u->choice[0].id;
}

/* Chooses token number `token` of each row from the logits. */
static int choose(struct run *u, int64_t token, struct gt_err *err)
{
	int64_t vocab = (int64_t)u->g->model->vocab;

	for (int64_t r = 0; r < u->p->rows; r++) {
		const float *x = u->logits + r * vocab;

		for (int64_t i = 0; i < vocab; i++)
			if (!isfinite(x[i]))
				return gt_fail_exit(err, BN_EXIT_WRONG, EDOM, "logit %lld of token %lld of prompt %lld is %g",
						    (long long)i, (long long)token + 1, (long long)r + 1, (double)x[i]);
		u->next[r] = u->g->temperature > 0 ? draw(u, x, r, token) : largest(x, vocab);
		u->tokens[r * (int64_t)u->g->o->tokens + token] = u->next[r];
	}
	return 0;
}

/* Runs one shape. *ret_s: its time with the choice of the tokens. */
static int step(struct run *u, int shape, int64_t token, const int32_t *ids, const int32_t *positions, double *ret_s,
		struct gt_err *err)
{
	double t0 = gt_now_s();
	int r;

	rt_use_shape(u->program, shape);
	r = rt_run(u->program, (const void *[]){ ids, positions, u->last }, &u->logits, err);
	if (r)
		return r;
	r = choose(u, token, err);
	*ret_s = gt_now_s() - t0;
	if (r)
		return r;
	u->g->done++;
	if (u->g->progress && u->g->progress(u->g->arg, u->g->done, u->g->total))
		return gt_fail(err, EINTR, "interrupted");
	return 0;
}

static int generate_once(struct run *u, bool timed, struct gt_err *err)
{
	gt_autofree int32_t *at = gt_xcalloc((size_t)u->p->rows, sizeof(*at));
	double seconds = 0;
	int r;

	for (int64_t i = 0; i < u->p->rows; i++)
		u->last[i] = (int32_t)u->p->length[i] - 1;
	r = step(u, PREFILL, 0, u->p->ids, u->positions, &seconds, err);
	if (timed)
		u->prefill_s[u->prefills++] = seconds;
	memset(u->last, 0, (size_t)u->p->rows * sizeof(*u->last));
	for (int64_t token = 1; !r && token < (int64_t)u->g->o->tokens; token++) {
		for (int64_t i = 0; i < u->p->rows; i++)
			at[i] = (int32_t)(u->p->length[i] + token - 1);
		r = step(u, DECODE, token, u->next, at, &seconds, err);
		if (timed)
			u->decode_s[u->decodes++] = seconds;
	}
	return r;
}

/* Every generation starts with the cache of the one before, which must have no effect. */
static int compare_with_first(struct run *u, uint64_t i, struct gt_err *err)
{
	int64_t new = (int64_t)u->g->o->tokens;

	if (i == 0)
		memcpy(u->first_tokens, u->tokens, (size_t)(u->p->rows * new) * sizeof(*u->tokens));
	for (int64_t k = 0; k < u->p->rows * new; k++)
		if (u->tokens[k] != u->first_tokens[k])
			return gt_fail_exit(err, BN_EXIT_WRONG, EDOM,
					    "token %lld of prompt %lld is %d in generation %llu and %d in the first",
					    (long long)(k % new) + 1, (long long)(k / new) + 1, u->tokens[k],
					    (unsigned long long)i + 1, u->first_tokens[k]);
	return 0;
}

static json_t *times(const double *s, int64_t n, double tokens)
{
	double sum = 0;

	if (!n)
		return json_null();
	for (int64_t i = 0; i < n; i++)
		sum += s[i];
	return json_pack("{s:o, s:o, s:o, s:o}", "p50_s", gt_json_real(bn_quantile(s, (size_t)n, 0.5)), "p99_s",
			 gt_json_real(bn_quantile(s, (size_t)n, 0.99)), "mean_s", gt_json_real(sum / (double)n), "tokens_per_s",
			 gt_json_real(tokens * (double)n / sum));
}

static json_t *describe(const struct run *u)
{
	int64_t new = (int64_t)u->g->o->tokens;
	json_t *rows = json_array(), *lengths = json_array();
	double prompt_tokens = 0;

	for (int64_t r = 0; r < u->p->rows; r++) {
		json_t *row = json_array();

		for (int64_t i = 0; i < new; i++)
			json_array_append_new(row, json_integer(u->tokens[r * new + i]));
		json_array_append_new(rows, row);
		json_array_append_new(lengths, json_integer((json_int_t)u->p->length[r]));
		prompt_tokens += (double)u->p->length[r];
	}
	return json_pack("{s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:o}", "batch", (json_int_t)u->p->rows, "prompt_tokens", lengths,
			 "prefill", times(u->prefill_s, u->prefills, prompt_tokens), "decode",
			 times(u->decode_s, u->decodes, (double)u->p->rows), "cache_bytes",
			 (json_int_t)rt_program_cache_bytes(u->program), "planned_bytes",
			 (json_int_t)rt_program_planned_bytes(u->program), "weight_bytes",
			 (json_int_t)rt_program_weight_bytes(u->program), "tokens", rows);
}

static int generate(struct run *u, struct gt_err *err)
{
	uint64_t warmup = u->g->model->warmup;
	int r = compile(u, err);

	if (r)
		return r;
	allocate(u);
	for (uint64_t i = 0; !r && i < warmup + u->g->model->steps; i++) {
		r = generate_once(u, i >= warmup, err);
		r = r ? r : compare_with_first(u, i, err);
	}
	return r;
}

int bn_generate(struct bn_generation *g, const struct bn_prompts *p, json_t **ret, json_t **ret_report, struct gt_err *err)
{
	struct run u = { .g = g, .p = p };
	int r = generate(&u, err);

	if (!r) {
		*ret = describe(&u);
		*ret_report = rt_program_report(u.program);
	}
	run_clear(&u);
	return r;
}
