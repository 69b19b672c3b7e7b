/* SPDX-License-Identifier: Apache-2.0 */
/* The names of parameters in the Hugging Face layout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/util.h"
#include "runtime/ckpt/hf.h"

#define GPT2_PREFIX	"transformer."

/* Writes `param` with its last `cut` bytes replaced by `tail`. */
static void set_name(struct rt_hf_piece *p, const char *param, size_t cut, const char *tail)
{
	snprintf(p->name, sizeof(p->name), "%.*s%s", (int)(strlen(param) - cut), param, tail);
}

/*
 * Splits the weights of a layer that this program stores joined. All other parameters have their own names in the
 * layout.
 */
static int llama_pieces(const struct rt_llama_config *k, const char *param, int64_t rows, struct rt_hf_piece *ret)
{
	const struct {
		const char *joined, *name[RT_HF_PIECES];
		int64_t rows[RT_HF_PIECES];
	} splits[] = {
		{ "qkv_proj.weight", { "q_proj.weight", "k_proj.weight", "v_proj.weight" },
		  { k->heads * k->depth, k->kv_heads * k->depth, k->kv_heads * k->depth } },
		{ "gate_up_proj.weight", { "gate_proj.weight", "up_proj.weight" }, { k->ffn, k->ffn } },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(splits); i++) {
		int64_t row = 0;
		int n = 0;

		if (!gt_ends_with(param, splits[i].joined))
			continue;
		for (; n < RT_HF_PIECES && splits[i].name[n]; row += splits[i].rows[n++]) {
			set_name(&ret[n], param, strlen(splits[i].joined), splits[i].name[n]);
			ret[n].row = row;
			ret[n].rows = splits[i].rows[n];
		}
		return n;
	}
	set_name(&ret[0], param, 0, "");
	ret[0].rows = rows;
	return 1;
}

/* The layout stores the linear layers of GPT-2 transposed. */
static int gpt2_pieces(const char *param, int64_t rows, struct rt_hf_piece *ret)
{
	static const struct {
		const char *own, *name;
		bool linear;
	} layers[] = { { "ln1.", "ln_1.", false }, { "ln2.", "ln_2.", false }, { "qkv.", "attn.c_attn.", true },
		       { "proj.", "attn.c_proj.", true }, { "fcproj.", "mlp.c_proj.", true }, { "fc.", "mlp.c_fc.", true } };
	char *rest;
	unsigned long layer;

	ret[0].rows = rows;
	if (gt_streq(param, "wte") || gt_streq(param, "wpe"))
		snprintf(ret[0].name, sizeof(ret[0].name), "%s.weight", param);
	else if (gt_starts_with(param, "lnf."))
		snprintf(ret[0].name, sizeof(ret[0].name), "ln_f.%s", param + 4);
	if (param[0] != 'h' || ret[0].name[0])
		return 1;
	layer = strtoul(param + 1, &rest, 10);
	rest += *rest == '.';
	for (size_t i = 0; i < GT_ARRAY_SIZE(layers); i++)
		if (gt_starts_with(rest, layers[i].own)) {
			const char *end = rest + strlen(layers[i].own);

			snprintf(ret[0].name, sizeof(ret[0].name), "h.%lu.%s%s", layer, layers[i].name, end);
			ret[0].transposed = layers[i].linear && gt_streq(end, "weight");
			break;
		}
	return 1;
}

int rt_hf_pieces(const struct rt_hf_config *c, const char *param, int64_t rows, struct rt_hf_piece ret[RT_HF_PIECES])
{
	memset(ret, 0, RT_HF_PIECES * sizeof(*ret));
	return c->family == RT_HF_LLAMA ? llama_pieces(&c->size, param, rows, ret) : gpt2_pieces(param, rows, ret);
}

const char *rt_hf_plain_name(const struct rt_hf_config *c, const char *name)
{
	return c->family == RT_HF_GPT2 && gt_starts_with(name, GPT2_PREFIX) ? name + strlen(GPT2_PREFIX) : name;
}

/*
 * Tensors that a file may contain although no parameter needs them: copies of tied weights, and tables of older versions
 * that follow from the sizes.
 */
bool rt_hf_ignored(const struct rt_hf_config *c, const char *plain_name)
{
	if (gt_streq(plain_name, "lm_head.weight"))
		return c->size.tied;
	return gt_ends_with(plain_name, c->family == RT_HF_LLAMA ? ".rotary_emb.inv_freq" : ".attn.bias") ||
	       (c->family == RT_HF_GPT2 && gt_ends_with(plain_name, ".attn.masked_bias"));
}
