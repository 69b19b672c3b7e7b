/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses config.json of the Hugging Face layout. Keys are refused if their values request a computation that the models of
 * runtime/model do not have. Keys that are not known to be harmless are listed for a warning.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/err.h"
#include "runtime/ckpt/hf.h"

#define SIZE_MOST	(INT64_C(1) << 24)

struct reader {
	const json_t *o;
	const char *name;
	bool sizes; /* only sizes matter */
	struct gt_err *err;
};

/* Sets *ret to a size of 1 to 2^24. A default of 0 makes the key mandatory. */
static int read_size(const struct reader *f, const char *key, int64_t dflt, int64_t *ret)
{
	const json_t *v = json_object_get(f->o, key);

	if ((!v || json_is_null(v)) && dflt) {
		*ret = dflt;
		return 0;
	}
	if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > SIZE_MOST)
		return gt_fail(f->err, EINVAL, "%s: %s must be a number from 1 to %lld", f->name, key, (long long)SIZE_MOST);
	*ret = json_integer_value(v);
	return 0;
}

static int read_real(const struct reader *f, const json_t *o, const char *key, double dflt, float *ret)
{
	const json_t *v = json_object_get(o, key);
	double x = !v || json_is_null(v) ? dflt : json_is_number(v) ? json_number_value(v) : NAN;

	if (!(x > 0 && isfinite((float)x) && (float)x > 0))
		return gt_fail(f->err, EINVAL, "%s: %s must be a number above 0", f->name, key);
	*ret = (float)x;
	return 0;
}

static int read_flag(const struct reader *f, const char *key, bool dflt, bool *ret)
{
	const json_t *v = json_object_get(f->o, key);

	if (v && !json_is_null(v) && !json_is_boolean(v))
		return gt_fail(f->err, EINVAL, "%s: %s must be true or false", f->name, key);
	*ret = json_is_boolean(v) ? json_is_true(v) : dflt;
	return 0;
}

static int require_flag(const struct reader *f, const char *key, bool want)
{
	bool value = want;
	int r = read_flag(f, key, want, &value);

	if (r || value == want)
		return r;
	return gt_fail(f->err, EINVAL, "%s: %s is %s; only %s is supported", f->name, key, want ? "false" : "true",
		       want ? "true" : "false");
}

static int require_text(const struct reader *f, const char *key, const char *want, const char *or_want)
{
	const json_t *v = json_object_get(f->o, key);
	const char *text = json_string_value(v);

	if (f->sizes || !v || gt_streq(text, want) || gt_streq(text, or_want))
		return 0;
	return gt_fail(f->err, EINVAL, "%s: %s is \"%.40s\"; only \"%s\" is supported", f->name, key,
		       text ? text : "no text", want);
}

/*
 * Reads rope_theta from the top level or from rope_parameters, depending on the version of the writer. Scaled angles are
 * refused.
 */
static int read_rope(const struct reader *f, float *ret)
{
	static const char *const keys[] = { "rope_scaling", "rope_parameters" };
	const json_t *theta = f->o;
	bool scaled = false;

	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++) {
		const json_t *o = json_object_get(f->o, keys[i]), *type;

		if (!o || json_is_null(o) || f->sizes)
			continue;
		type = json_object_get(o, "rope_type") ? json_object_get(o, "rope_type") : json_object_get(o, "type");
		if (type && !gt_streq(json_string_value(type), "default"))
			return gt_fail(f->err, EINVAL, "%s: the rope type is \"%.40s\"; only \"default\" is supported", f->name,
				       json_is_string(type) ? json_string_value(type) : "no text");
		scaled = !json_is_object(o) || (!type && json_object_get(o, "factor")) ||
			 fabs(gt_json_get_real(o, "partial_rotary_factor", 1) - 1) > 0;
		if (scaled)
			return gt_fail(f->err, EINVAL, "%s: %s changes the angles; only the rope type \"default\" is supported",
				       f->name, keys[i]);
		if (json_object_get(o, "rope_theta"))
			theta = o;
	}
	return read_real(f, theta, "rope_theta", 10000, ret);
}

/*
 * Keys without effect on the logits: of PretrainedConfig, LlamaConfig and GPT2Config in transformers 4 and 5 (dropout rates,
 * initial values, token ids, names, defaults of generation, output formats, and the writer's version).
 */
static const char *const harmless[] = {
	"_attn_implementation_autoset", "_commit_hash", "_name_or_path", "architectures", "attention_dropout", "attn_pdrop",
	"auto_map", "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "chunk_size_feed_forward",
	"cross_attention_hidden_size", "decoder_start_token_id", "diversity_penalty", "do_sample", "dtype", "early_stopping",
	"embd_pdrop", "encoder_no_repeat_ngram_size", "eos_token_id", "exponential_decay_length_penalty", "finetuning_task",
	"forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing", "id2label", "initializer_range", "is_decoder",
	"is_encoder_decoder", "label2id", "length_penalty", "max_length", "min_length", "model_type", "n_ctx",
	"no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences", "output_attentions",
	"output_hidden_states", "output_scores", "pad_token_id", "prefix", "pretraining_tp", "problem_type",
	"remove_invalid_values", "reorder_and_upcast_attn", "repetition_penalty", "resid_pdrop", "return_dict",
	"return_dict_in_generate", "sep_token_id", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
	"summary_type", "summary_use_proj", "suppress_tokens", "task_specific_params", "temperature", "tf_legacy_loss",
	"tokenizer_class", "top_k", "top_p", "torch_dtype", "torchscript", "transformers_version", "typical_p", "use_bfloat16",
	"use_cache",
};
/* Keys that read_llama(), read_gpt2() and rt_hf_config_json() use. */
static const char *const used[] = {
	"activation_function", "add_cross_attention", "attention_bias", "head_dim", "hidden_act", "hidden_size",
	"intermediate_size", "layer_norm_epsilon", "max_position_embeddings", "mlp_bias", "n_embd", "n_head", "n_inner",
	"n_layer", "n_positions", "num_attention_heads", "num_hidden_layers", "num_key_value_heads", "rms_norm_eps",
	"rope_parameters", "rope_scaling", "rope_theta", "scale_attn_by_inverse_layer_idx", "scale_attn_weights",
	"tie_word_embeddings", "vocab_size",
};
/* Keys of models in transformers that change the computation, unless they are null, false, 0, 1 or empty. */
static const char *const refused[] = {
	"attention_multiplier", "attn_logit_softcapping", "embedding_multiplier", "final_logit_softcapping", "logit_scale",
	"logits_scaling", "no_rope_layers", "num_experts", "num_local_experts", "partial_rotary_factor", "pruned_heads",
	"qk_layernorm", "quantization_config", "residual_multiplier", "sliding_window", "use_qk_norm",
};

static bool is_one_of(const char *key, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (gt_streq(key, list[i]))
			return true;
	return false;
}

/* Returns whether the value switches a feature off, is a factor of 1, or is empty. */
static bool is_neutral(const json_t *v)
{
	double x = json_number_value(v);

	return json_is_null(v) || json_is_false(v) || (json_is_number(v) && !(fabs(x) > 0 && fabs(x - 1) > 0)) ||
	       (json_is_object(v) && !json_object_size(v)) || (json_is_array(v) && !json_array_size(v));
}

/* Refuses keys that change the computation, and lists other unknown keys in unknown (size). */
static int check_keys(const struct reader *f, char *unknown, size_t size)
{
	json_t *value;
	const char *key;

	json_object_foreach((json_t *)f->o, key, value) {
		size_t len = strlen(unknown);

		if (is_neutral(value) || is_one_of(key, harmless, GT_ARRAY_SIZE(harmless)) ||
		    is_one_of(key, used, GT_ARRAY_SIZE(used)))
			continue;
		if (is_one_of(key, refused, GT_ARRAY_SIZE(refused)))
			return gt_fail(f->err, EINVAL, "%s: %s changes the computation in a way that is not supported", f->name,
				       key);
		snprintf(unknown + len, size - len, "%s%.40s", len ? ", " : "", key);
	}
	return 0;
}

static int check_heads(const struct reader *f, const struct rt_llama_config *c)
{
	if (c->heads % c->kv_heads)
		return gt_fail(f->err, EINVAL, "%s: %lld heads are not a multiple of %lld key/value heads", f->name,
			       (long long)c->heads, (long long)c->kv_heads);
	if (!c->depth && c->width % c->heads)
		return gt_fail(f->err, EINVAL, "%s: the width of %lld is not a multiple of %lld heads", f->name,
			       (long long)c->width, (long long)c->heads);
	return 0;
}

static int read_llama(const struct reader *f, struct rt_llama_config *c)
{
	static const char *const no_bias[] = { "attention_bias", "mlp_bias" };
	int64_t depth;
	int r = require_text(f, "hidden_act", "silu", "swish");

	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(no_bias); i++)
		r = require_flag(f, no_bias[i], false);
	r = r ? r : read_size(f, "hidden_size", 0, &c->width);
	r = r ? r : read_size(f, "num_hidden_layers", 0, &c->layers);
	r = r ? r : read_size(f, "num_attention_heads", 0, &c->heads);
	r = r ? r : read_size(f, "num_key_value_heads", c->heads, &c->kv_heads);
	r = r ? r : read_size(f, "intermediate_size", 0, &c->ffn);
	r = r ? r : read_size(f, "vocab_size", 0, &c->vocab);
	r = r ? r : read_size(f, "max_position_embeddings", 2048, &c->context);
	r = r ? r : read_real(f, f->o, "rms_norm_eps", 1e-6, &c->eps);
	r = r ? r : read_rope(f, &c->rope_base);
	r = r ? r : read_flag(f, "tie_word_embeddings", false, &c->tied);
	if (r)
		return r;
	r = read_size(f, "head_dim", SIZE_MOST, &depth);
	if (r)
		return r;
	c->depth = json_is_integer(json_object_get(f->o, "head_dim")) ? depth : 0;
	r = check_heads(f, c);
	if (r)
		return r;
	c->depth = c->depth ? c->depth : c->width / c->heads;
	if (c->depth % 2)
		return gt_fail(f->err, EINVAL, "%s: heads of %lld columns cannot be rotated; the number must be even", f->name,
			       (long long)c->depth);
	return 0;
}

static int read_gpt2(const struct reader *f, struct rt_llama_config *c)
{
	int r = require_text(f, "activation_function", "gelu_new", "gelu_pytorch_tanh");

	r = r ? r : require_flag(f, "tie_word_embeddings", true);
	r = r ? r : require_flag(f, "scale_attn_weights", true);
	r = r ? r : require_flag(f, "scale_attn_by_inverse_layer_idx", false);
	r = r ? r : require_flag(f, "add_cross_attention", false);
	r = r ? r : read_size(f, "n_embd", 768, &c->width);
	r = r ? r : read_size(f, "n_layer", 12, &c->layers);
	r = r ? r : read_size(f, "n_head", 12, &c->heads);
	r = r ? r : read_size(f, "n_inner", 4 * c->width, &c->ffn);
	r = r ? r : read_size(f, "vocab_size", 50257, &c->vocab);
	r = r ? r : read_size(f, "n_positions", 1024, &c->context);
	r = r ? r : read_real(f, f->o, "layer_norm_epsilon", 1e-5, &c->eps);
	if (r)
		return r;
	c->kv_heads = c->heads;
	c->tied = true;
	if (!f->sizes && fabs((double)c->eps - 1e-5) > 1e-9)
		return gt_fail(f->err, EINVAL, "%s: layer_norm_epsilon is %g; only 1e-05 is supported", f->name, (double)c->eps);
	r = check_heads(f, c);
	c->depth = r ? 0 : c->width / c->heads;
	return r;
}

static int parse(const char *text, size_t len, const char *name, bool sizes, struct rt_hf_config *ret, struct gt_err *err)
{
	struct rt_hf_config c = { 0 };
	gt_auto_json *o = NULL;
	const char *type;
	bool mistral;
	int r = gt_json_parse(text, len, name, &o, err);

	if (r)
		return r;
	if (!json_is_object(o))
		return gt_fail(err, EBADMSG, "%s is not a JSON object", name);
	type = gt_json_get_str(o, "model_type", NULL);
	mistral = sizes && gt_streq(type, "mistral");
	if (!gt_streq(type, "llama") && !gt_streq(type, "gpt2") && !mistral)
		return gt_fail(err, EINVAL, "%s: model_type is \"%.40s\"; llama%s and gpt2 are supported", name,
			       type ? type : "missing", sizes ? ", mistral" : "");
	c.family = gt_streq(type, "gpt2") ? RT_HF_GPT2 : RT_HF_LLAMA;
	r = (c.family == RT_HF_LLAMA ? read_llama : read_gpt2)(&(struct reader){ o, name, sizes, err }, &c.size);
	r = r || sizes ? r : check_keys(&(struct reader){ o, name, sizes, err }, c.unknown, sizeof(c.unknown));
	if (!r)
		*ret = c;
	return r;
}

int rt_hf_parse_config(const char *text, size_t len, const char *name, struct rt_hf_config *ret, struct gt_err *err)
{
	return parse(text, len, name, false, ret, err);
}

int rt_hf_parse_sizes(const char *text, size_t len, const char *name, struct rt_hf_config *ret, struct gt_err *err)
{
	return parse(text, len, name, true, ret, err);
}

int rt_hf_parse_index(const char *text, size_t len, const char *name, json_t **ret, struct gt_err *err)
{
	gt_auto_json *o = NULL;
	json_t *map, *file;
	const char *tensor;
	int r = gt_json_parse(text, len, name, &o, err);

	if (r)
		return r;
	map = json_object_get(o, "weight_map");
	if (!json_is_object(map) || !json_object_size(map))
		return gt_fail(err, EBADMSG, "%s: weight_map must name the file of each tensor", name);
	json_object_foreach(map, tensor, file) {
		const char *base = json_string_value(file);

		if (!base || !*base || *base == '.' || strchr(base, '/'))
			return gt_fail(err, EBADMSG, "%s: the file of tensor %.200s must be a name in the same directory", name,
				       tensor);
	}
	*ret = json_incref(map);
	return 0;
}

/* Writes a real with the digits of a float, so that 1e-5f is 1e-05. */
static json_t *float_json(float v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.7g", (double)v);
	return gt_json_real(strtod(text, NULL));
}

static void put_size(json_t *o, const char *key, int64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

static void put_llama(json_t *o, const struct rt_llama_config *c)
{
	json_object_update_new(o, json_pack("{s:[s], s:s, s:s, s:n, s:b, s:b}", "architectures", "LlamaForCausalLM", "model_type",
					    "llama", "hidden_act", "silu", "rope_scaling", "attention_bias", 0, "mlp_bias", 0));
	put_size(o, "hidden_size", c->width);
	put_size(o, "num_hidden_layers", c->layers);
	put_size(o, "num_attention_heads", c->heads);
	put_size(o, "num_key_value_heads", c->kv_heads);
	put_size(o, "head_dim", c->depth);
	put_size(o, "intermediate_size", c->ffn);
	put_size(o, "max_position_embeddings", c->context);
	json_object_set_new(o, "rms_norm_eps", float_json(c->eps));
	json_object_set_new(o, "rope_theta", float_json(c->rope_base));
}

static void put_gpt2(json_t *o, const struct rt_llama_config *c)
{
	json_object_update_new(o, json_pack("{s:[s], s:s, s:s}", "architectures", "GPT2LMHeadModel", "model_type", "gpt2",
					    "activation_function", "gelu_new"));
	put_size(o, "n_embd", c->width);
	put_size(o, "n_layer", c->layers);
	put_size(o, "n_head", c->heads);
	put_size(o, "n_positions", c->context);
	if (c->ffn != 4 * c->width)
		put_size(o, "n_inner", c->ffn);
	json_object_set_new(o, "layer_norm_epsilon", float_json(c->eps));
}

json_t *rt_hf_config_json(const struct rt_hf_config *c)
{
	json_t *o = json_object();

	(c->family == RT_HF_LLAMA ? put_llama : put_gpt2)(o, &c->size);
	put_size(o, "vocab_size", c->size.vocab);
	json_object_set_new(o, "tie_word_embeddings", json_boolean(c->size.tied));
	json_object_set_new(o, "torch_dtype", json_string("float32"));
	return o;
}
