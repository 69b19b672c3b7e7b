/* SPDX-License-Identifier: Apache-2.0 */
/* GPT-2: x = x + attention(norm(x)), x = x + mlp(norm(x)); the output projection is the token table. */
#include <stdio.h>
#include "runtime/runtime.h"

#define EPS	1e-5f
#define STD	0.02f

struct scope {
	struct rt_graph *g;
	char prefix[32];
};

static struct rt_node *param(const struct scope *s, const char *layer, const char *name, struct rt_shape shape,
			     struct rt_init init)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s.%s", s->prefix, layer, name);
	return rt_param(s->g, full, shape, init);
}

static struct rt_node *named(const struct scope *s, const char *name, struct rt_node *n)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s", s->prefix, name);
	return rt_name(n, full);
}

static struct rt_node *dense(const struct scope *s, const char *name, struct rt_node *x, int64_t in, int64_t out)
{
	struct rt_node *w = param(s, name, "weight", RT_SHAPE(out, in), RT_INIT_NORMAL(STD));
	struct rt_node *b = param(s, name, "bias", RT_SHAPE(out), RT_INIT_ZEROS);

	return named(s, name, rt_linear(s->g, x, w, b));
}

static struct rt_node *norm(const struct scope *s, const char *name, struct rt_node *x, int64_t width)
{
	struct rt_node *w = param(s, name, "weight", RT_SHAPE(width), RT_INIT_ONES);
	struct rt_node *b = param(s, name, "bias", RT_SHAPE(width), RT_INIT_ZEROS);

	return named(s, name, rt_layernorm(s->g, x, w, b, EPS));
}

/* x (B,T,C) -> (B,T,C) */
static struct rt_node *block(struct rt_graph *g, struct rt_node *x, int64_t layer, int64_t c, int heads)
{
	struct scope s = { .g = g };
	struct rt_node *y;

	snprintf(s.prefix, sizeof(s.prefix), "h%lld.", (long long)layer);
	y = dense(&s, "qkv", norm(&s, "ln1", x, c), c, 3 * c);
	y = named(&s, "attention", rt_attention(g, y, heads));
	x = named(&s, "middle", rt_add(g, x, dense(&s, "proj", y, c, c)));
	y = named(&s, "gelu", rt_gelu(g, dense(&s, "fc", norm(&s, "ln2", x, c), c, 4 * c)));
	return named(&s, "out", rt_add(g, x, dense(&s, "fcproj", y, 4 * c, c)));
}

struct rt_node *rt_model_gpt(struct rt_graph *g, const struct rt_gpt_config *k)
{
	struct scope top = { .g = g };
	struct rt_node *tokens = rt_input(g, "tokens", RT_I32, RT_SHAPE(k->batch, k->seq));
	struct rt_node *targets = rt_input(g, "targets", RT_I32, RT_SHAPE(k->batch, k->seq));
	int64_t positions = k->positions ? k->positions : k->seq;
	struct rt_node *wte = rt_param(g, "wte", RT_SHAPE(k->vocab, k->width), RT_INIT_NORMAL(STD));
	struct rt_node *wpe = rt_param(g, "wpe", RT_SHAPE(positions, k->width), RT_INIT_NORMAL(STD));
	struct rt_node *x = rt_embedding(g, tokens, wte, wpe);

	for (int64_t layer = 0; layer < k->layers; layer++)
		x = block(g, x, layer, k->width, (int)k->heads);
	x = norm(&top, "lnf", x, k->width);
	return rt_name(rt_cross_entropy(g, rt_name(rt_linear(g, x, wte, NULL), "logits"), targets), "loss");
}
