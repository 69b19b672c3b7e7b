/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts of gpubench infer --generate: token ids from a file, or random ones. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bench/train/generate.h"
#include "lib/file.h"
#include "lib/parse.h"

#define PROMPT_TOKENS	64
#define FILE_BYTES	((size_t)64 << 20)
#define BLANKS		" \t\r,"

static int usage(struct gt_err *err, const char *what)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s", what);
}

int bn_generate_check(struct bn_generation *g, struct gt_err *err)
{
	const struct bn_generate_options *o = g->o;

	if (!g->kind->tokens)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s does not generate text: gpt2, llama and gpt do", g->kind->name);
	if (gt_streq(g->model->device, "cuda"))
		return usage(err, "--generate runs on the CPU: it takes no --device cuda");
	if (g->int8 && !gt_streq(g->int8, "dynamic"))
		return usage(err, "--generate takes --int8 dynamic: static ranges need a calibration of each shape");
	if (o->prompts && o->prompt_tokens)
		return usage(err, "--prompts and --prompt-tokens exclude each other");
	if (o->temperature && (gt_parse_double(o->temperature, &g->temperature) || g->temperature < 0))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--temperature %s: it must be 0 or more, as in 0.8",
				    o->temperature);
	if (o->top_k && !(g->temperature > 0))
		return usage(err, "--top-k needs a --temperature above 0");
	if (o->top_k > g->model->vocab)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--top-k %llu is larger than the vocabulary of %llu tokens",
				    (unsigned long long)o->top_k, (unsigned long long)g->model->vocab);
	g->context = g->kind->hf ? g->model->hf.size.context : (int64_t)g->model->seq;
	return 0;
}

void bn_prompts_clear(struct bn_prompts *p)
{
	free(p->ids);
	free(p->length);
	memset(p, 0, sizeof(*p));
}

/* Checks the number of tokens of prompt `row`, counted from 1. */
static int check_length(const struct bn_generation *g, int64_t row, int64_t length, struct gt_err *err)
{
	if (length < 1)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s: prompt %lld has no token", g->o->prompts, (long long)row);
	if (!g->context || length + (int64_t)g->o->tokens <= g->context)
		return 0;
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
			    "prompt %lld has %lld tokens and --generate adds %llu, but the context is %lld tokens", (long long)row,
			    (long long)length, (unsigned long long)g->o->tokens, (long long)g->context);
}

/* Copies the rows, of all[0] and so on, into a padded table. */
static void pad(struct bn_prompts *p, const int32_t *all)
{
	for (int64_t r = 0; r < p->rows; r++)
		p->longest = GT_MAX(p->longest, p->length[r]);
	p->ids = gt_xcalloc((size_t)(p->rows * p->longest), sizeof(*p->ids));
	for (int64_t r = 0; r < p->rows; all += p->length[r++])
		memcpy(p->ids + r * p->longest, all, (size_t)p->length[r] * sizeof(*all));
}

static int parse_line(const struct bn_generation *g, int64_t row, char *line, int32_t *ids, int64_t *ret_length, struct gt_err *err)
{
	char *save = NULL;
	int64_t n = 0;

	for (char *word = strtok_r(line, BLANKS, &save); word; word = strtok_r(NULL, BLANKS, &save)) {
		uint64_t id;

		if (gt_parse_u64(word, &id))
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s: prompt %lld: '%.20s' is not a token id", g->o->prompts,
					    (long long)row, word);
		if (id >= g->model->vocab)
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "%s: prompt %lld has token %llu, but the vocabulary has %llu tokens", g->o->prompts,
					    (long long)row, (unsigned long long)id, (unsigned long long)g->model->vocab);
		ids[n++] = (int32_t)id;
	}
	*ret_length = n;
	return check_length(g, row, n, err);
}

static int read_prompts(const struct bn_generation *g, struct bn_prompts *p, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	gt_autofree int32_t *all = NULL;
	int64_t used = 0;
	char *next;
	size_t len;
	int r = gt_file_read(g->o->prompts, FILE_BYTES, &text, &len, err);

	if (r < 0)
		return r;
	all = gt_xcalloc(len / 2 + 1, sizeof(*all));
	p->length = gt_xcalloc(len + 1, sizeof(*p->length));
	for (char *line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		r = parse_line(g, p->rows + 1, line, all + used, &p->length[p->rows], err);
		if (r)
			return r;
		used += p->length[p->rows++];
	}
	if (!p->rows)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s has no prompt: each line has the token ids of one",
				    g->o->prompts);
	pad(p, all);
	return 0;
}

static int random_prompts(const struct bn_generation *g, uint64_t rows, struct bn_prompts *p, struct gt_err *err)
{
	p->longest = (int64_t)g->o->prompt_tokens;
	if (!p->longest) {
		int64_t room = g->context ? g->context - (int64_t)g->o->tokens : PROMPT_TOKENS;

		p->longest = GT_MAX(GT_MIN(PROMPT_TOKENS, room), 1);
	}
	p->rows = (int64_t)rows;
	p->ids = gt_xcalloc((size_t)(p->rows * p->longest), sizeof(*p->ids));
	p->length = gt_xcalloc((size_t)p->rows, sizeof(*p->length));
	for (int64_t r = 0; r < p->rows; r++)
		p->length[r] = p->longest;
	for (int64_t i = 0; i < p->rows * p->longest; i++)
		p->ids[i] = (int32_t)(rt_random_u64(g->model->seed, 100, (uint64_t)i) % g->model->vocab);
	return check_length(g, 1, p->longest, err);
}

int bn_prompts_make(const struct bn_generation *g, uint64_t rows, struct bn_prompts *ret, struct gt_err *err)
{
	struct bn_prompts p = { 0 };
	int r = g->o->prompts ? read_prompts(g, &p, err) : random_prompts(g, rows, &p, err);

	if (r) {
		bn_prompts_clear(&p);
		return r;
	}
	*ret = p;
	return 0;
}
