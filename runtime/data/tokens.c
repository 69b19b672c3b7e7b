/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of consecutive ids from mapped files: text as bytes, and token files. A token file is llm.c's (256 words of
 * header: magic, version, tokens; then u16 for GPT-2 or u32 for Llama 3), or ids only, as written by nanoGPT.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "runtime/data/tokens.h"

#define HEADER_WORDS	256
#define MAGIC_U16	20240520u
#define MAGIC_U32	20240801u

static uint32_t word(const unsigned char *p, int i)
{
	return (uint32_t)p[4 * i] | (uint32_t)p[4 * i + 1] << 8 | (uint32_t)p[4 * i + 2] << 16 | (uint32_t)p[4 * i + 3] << 24;
}

static int ids_alone(uint64_t len, int bytes, const char *name, struct rt_token_file *ret, struct gt_err *err)
{
	if (len % (uint64_t)bytes)
		return gt_fail(err, EBADMSG, "%s: %" PRIu64 " bytes are no whole number of u%d ids", name, len, 8 * bytes);
	*ret = (struct rt_token_file){ .bytes = bytes, .at = 0, .tokens = len / (uint64_t)bytes };
	return 0;
}

int rt_token_file_parse(const unsigned char *p, uint64_t have, uint64_t len, enum rt_token_type type, const char *name,
			struct rt_token_file *ret, struct gt_err *err)
{
	uint32_t magic = have >= 12 ? word(p, 0) : 0, version = have >= 12 ? word(p, 1) : 0;
	int bytes = magic == MAGIC_U32 ? 4 : 2;
	uint64_t tokens;

	if (magic != MAGIC_U16 && magic != MAGIC_U32)
		return ids_alone(len, type == RT_TOKEN_U32 ? 4 : 2, name, ret, err);
	if (version != (magic == MAGIC_U32 ? 7u : 1u))
		return gt_fail(err, EBADMSG, "%s: a token file of unknown version %u", name, version);
	if (type != RT_TOKEN_AUTO && (type == RT_TOKEN_U32) != (bytes == 4))
		return gt_fail(err, EINVAL, "%s: its header says u%d ids, not u%d", name, 8 * bytes,
			       type == RT_TOKEN_U32 ? 32 : 16);
	tokens = word(p, 2);
	if (len < 4 * HEADER_WORDS || tokens > (len - 4 * HEADER_WORDS) / (uint64_t)bytes)
		return gt_fail(err, EBADMSG,
			       "%s is cut short: its header promises %" PRIu64 " tokens, its %" PRIu64 " bytes hold fewer", name,
			       tokens, len);
	*ret = (struct rt_token_file){ .bytes = bytes, .at = 4 * HEADER_WORDS, .tokens = tokens };
	return 0;
}

void rt_tokens_free(struct rt_source *s)
{
	struct rt_tokens *t = (struct rt_tokens *)s;

	for (size_t i = 0; i < t->n; i++) {
		rt_file_unmap(&t->file[i].map);
		free(t->file[i].path);
	}
	free(t->file);
	free(t->sample);
	free(t->base.lengths);
	free(t);
}

const struct rt_token_map *rt_tokens_file(const struct rt_tokens *t, uint64_t i)
{
	size_t lo = 0, hi = t->n;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (t->file[mid].first <= i)
			lo = mid;
		else
			hi = mid;
	}
	return &t->file[lo];
}

static char *tokens_where(const struct rt_source *s, uint64_t i)
{
	const struct rt_tokens *t = (const struct rt_tokens *)s;
	const struct rt_token_map *f = rt_tokens_file(t, i);

	return gt_xasprintf("%s: token %" PRIu64, f->path, (i - f->first) * (uint64_t)t->seq);
}

/*
 * Converts seq + 1 ids to x and y and returns the largest id. The maximum is computed in the stored type, because a
 * register holds more values of that type.
 */
typedef uint32_t widen_fn(const void *from, int64_t seq, int32_t *restrict x, int32_t *restrict y);
#define WIDEN(type, isa, target)                                                                                       \
	target static uint32_t widen_##type##_##isa(const void *from, int64_t seq, int32_t *restrict x, int32_t *restrict y) \
	{                                                                                                              \
		const type *restrict p = from;                                                                         \
		type top = p[seq];                                                                                     \
                                                                                                                       \
		_Pragma("omp simd reduction(max : top)") for (int64_t i = 0; i < seq; i++) top = p[i] > top ? p[i] : top; \
		_Pragma("omp simd") for (int64_t i = 0; i < seq; i++) x[i] = (int32_t)p[i];                            \
		_Pragma("omp simd") for (int64_t i = 0; i < seq; i++) y[i] = (int32_t)p[i + 1];                        \
		return top;                                                                                            \
	}
WIDEN(uint8_t, plain, )
WIDEN(uint16_t, plain, )
WIDEN(uint32_t, plain, )
#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2")))
WIDEN(uint8_t, avx2, AVX2)
WIDEN(uint16_t, avx2, AVX2)
WIDEN(uint32_t, avx2, AVX2)
#endif

static widen_fn *widen_for(int bytes)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return bytes == 1 ? widen_uint8_t_avx2 : bytes == 2 ? widen_uint16_t_avx2 : widen_uint32_t_avx2;
#endif
	return bytes == 1 ? widen_uint8_t_plain : bytes == 2 ? widen_uint16_t_plain : widen_uint32_t_plain;
}

struct take {
	widen_fn *widen;
	const unsigned char *from;
	int64_t seq;
	int32_t *x, *y;
	uint32_t top;
};

static void take(void *arg)
{
	struct take *t = arg;

	t->top = t->widen(t->from, t->seq, t->x, t->y);
}

int rt_tokens_take(const struct rt_tokens *t, const struct rt_token_map *f, uint64_t at, int64_t seq, int32_t *x, int32_t *y,
		   struct gt_err *err)
{
	struct take it = { .widen = widen_for(f->head.bytes), .seq = seq, .x = x, .y = y,
			   .from = f->map.bytes + f->head.at + at * (uint64_t)f->head.bytes };
	int r = rt_map_read(f->path, take, &it, err);

	if (!r && t->vocab && it.top >= (uint64_t)t->vocab)
		return gt_fail(err, ERANGE,
			       "%s: a token from %" PRIu64 " on is %u, but the vocabulary has %lld: are the ids really u%d?",
			       f->path, at, it.top, (long long)t->vocab, 8 * f->head.bytes);
	return r;
}

static int tokens_window(const struct rt_source *s, uint64_t i, int32_t *x, int32_t *y, struct gt_err *err)
{
	const struct rt_tokens *t = (const struct rt_tokens *)s;
	const struct rt_token_map *f = rt_tokens_file(t, i);

	return rt_tokens_take(t, f, (i - f->first) * (uint64_t)t->seq, t->seq, x, y, err);
}

#define ASKED	8u

int rt_tokens_check(const struct rt_source *s, uint64_t ticket, struct gt_err *err)
{
	const struct rt_tokens *t = (const struct rt_tokens *)s;
	int r = 0;

	/* An access after the new end of a truncated file raises a signal (rt_map_read), except in the rest of its last
	 * page, which reads as zeros. With many files, checking all of them costs more than the batch, so each batch
	 * checks some of them in turn. */
	for (uint64_t i = 0; !r && i < GT_MIN(t->n, ASKED); i++) {
		const struct rt_token_map *f = &t->file[(ticket * ASKED + i) % t->n];

		r = rt_map_check(&f->map, f->path, err);
	}
	return r;
}

static const struct rt_source_ops tokens_ops = {
	.name = "tokens", .tokens = tokens_window, .check = rt_tokens_check, .where = tokens_where, .free = rt_tokens_free,
};

struct head {
	unsigned char bytes[4 * HEADER_WORDS];
	const unsigned char *from;
	size_t n;
};

static void copy_head(void *arg)
{
	struct head *h = arg;

	if (h->n)
		memcpy(h->bytes, h->from, h->n);
}

static int read_head(struct rt_token_map *f, enum rt_token_type type, struct gt_err *err)
{
	struct head h = { .from = f->map.bytes, .n = (size_t)GT_MIN(f->map.len, sizeof(h.bytes)) };
	int r = rt_map_read(f->path, copy_head, &h, err);

	return r ? r : rt_token_file_parse(h.bytes, h.n, f->map.len, type, f->path, &f->head, err);
}

int rt_tokens_open(const struct rt_loader_options *o, const struct gt_strv *files, bool text, struct rt_tokens **ret,
		   struct gt_err *err)
{
	struct rt_tokens *t = gt_xcalloc(1, sizeof(*t));
	int r = 0;

	t->base = (struct rt_source){ .kind = text ? RT_DATA_TEXT : RT_DATA_TOKENS, .files = files->n };
	t->seq = o->seq;
	t->vocab = o->vocab;
	t->file = gt_xcalloc(files->n + 1, sizeof(*t->file));
	for (size_t i = 0; !r && i < files->n; i++) {
		struct rt_token_map *f = &t->file[i];

		r = rt_file_map(files->v[i], &f->map, err);
		if (r)
			break;
		t->n++;
		f->path = gt_xstrdup(files->v[i]);
		if (text)
			f->head = (struct rt_token_file){ .bytes = 1, .tokens = f->map.len };
		else
			r = read_head(f, o->token_type, err);
		t->base.bytes += f->map.len;
		t->tokens += r ? 0 : f->head.tokens;
	}
	if (r)
		rt_tokens_free(&t->base);
	else
		*ret = t;
	return r;
}

int rt_source_tokens(const struct rt_loader_options *o, const struct gt_strv *files, bool text, struct rt_source **ret,
		     struct gt_err *err)
{
	gt_auto(rt_source) *s = NULL;
	struct rt_tokens *t = NULL;
	int r = rt_tokens_open(o, files, text, &t, err);

	if (r)
		return r;
	s = &t->base;
	s->ops = &tokens_ops;
	for (size_t i = 0; i < t->n; i++) {
		struct rt_token_map *f = &t->file[i];

		f->first = s->n;
		/* the last window needs one more id, for its last target */
		s->n += f->head.tokens ? (f->head.tokens - 1) / (uint64_t)t->seq : 0;
	}
	if (s->n < 10)
		return gt_fail(err, ENODATA, "%s has too %s: %" PRIu64 " tokens, and 10 windows of %lld and one more are needed",
			       o->path ? o->path : RT_DEFAULT_TEXT, text ? "little text" : "few tokens", t->tokens,
			       (long long)t->seq);
	*ret = gt_take(s);
	return 0;
}
