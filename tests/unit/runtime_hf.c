/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Hugging Face layout: a saved model is loaded unchanged, also from several files. A directory that does not fit
 * changes nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "runtime/ckpt/hf.h"
#include "tests/unit/check_runtime.h"

#define ROWS	2
#define LENGTH	7

static char dir[] = "/tmp/hfXXXXXX";
static int32_t tokens[ROWS * LENGTH];

static const struct rt_hf_config llama = {
	.family = RT_HF_LLAMA,
	.size = { .layers = 2, .width = 16, .heads = 4, .kv_heads = 2, .ffn = 20, .vocab = 11, .depth = 4, .context = 32,
		  .rope_base = 10000, .eps = 1e-5f },
};
static const struct rt_hf_config gpt2 = {
	.family = RT_HF_GPT2,
	.size = { .layers = 2, .width = 16, .heads = 4, .kv_heads = 4, .ffn = 40, .vocab = 11, .depth = 4, .context = 9,
		  .eps = 1e-5f, .tied = true },
};

static char *in_dir(const char *name)
{
	return gt_xasprintf("%s/%s", dir, name);
}

static void begin(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (int i = 0; i < ROWS * LENGTH; i++)
		tokens[i] = (int32_t)(rt_random_u64(5, 5, (uint64_t)i) % 11);
}

static void empty(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!gt_streq(e->d_name, ".") && !gt_streq(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static void end(void)
{
	gt_autofree char *model = in_dir("model");

	empty(model);
	rmdir(model);
	rmdir(dir);
	strcpy(dir, "/tmp/hfXXXXXX");
}

struct built {
	struct rt_graph *g;
	struct rt_program *p;
};

static void built_clear(struct built *b)
{
	rt_program_free(b->p);
	rt_graph_free(b->g);
}
#define auto_built __attribute__((cleanup(built_clear))) struct built

static struct built build(const struct rt_hf_config *c, uint64_t seed)
{
	struct built b = { .g = rt_graph_new() };
	struct rt_llama_config k = c->size;
	const struct rt_gpt_config as_gpt = { .batch = ROWS, .seq = LENGTH, .layers = k.layers, .width = k.width, .heads = k.heads,
					      .ffn = k.ffn, .vocab = k.vocab, .positions = k.context };
	struct rt_node *loss;
	struct gt_err err = { 0 };

	k.batch = ROWS;
	k.seq = LENGTH;
	loss = c->family == RT_HF_LLAMA ? rt_model_llama(b.g, &k) : rt_model_gpt(b.g, &as_gpt);
	ck_assert_msg(rt_compile(b.g, loss, &(struct rt_options){ .seed = seed, .optimizer = { .kind = RT_ADAMW, .lr = 0.05 } },
				 &b.p, &err) == 0, "%s", err.msg);
	return b;
}

static void train(const struct built *b)
{
	struct rt_metrics m;

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(rt_step(b->p, (const void *[]){ tokens, tokens }, &m, NULL), 0);
}

static double loss_of(const struct built *b)
{
	double loss = 0;

	ck_assert_int_eq(rt_eval(b->p, (const void *[]){ tokens, tokens }, &loss, NULL), 0);
	return loss;
}

static void save(const struct built *b, const struct rt_hf_config *c, uint64_t shard_bytes)
{
	gt_autofree char *model = in_dir("model");
	struct gt_err err = { 0 };

	ck_assert_msg(rt_hf_save(b->p, c, model, shard_bytes, &err) == 0, "%s", err.msg);
}

/* Every parameter of a trained model has the same bits after saving and loading, and so has the loss. */
START_TEST(a_saved_model_is_loaded)
{
	const struct rt_hf_config tied = { .family = RT_HF_LLAMA,
					   .size = { .layers = 1, .width = 16, .heads = 4, .kv_heads = 1, .ffn = 20, .vocab = 11,
						     .depth = 6, .context = 32, .rope_base = 500, .eps = 1e-3f, .tied = true } };
	const struct rt_hf_config *const all[] = { &llama, &tied, &gpt2 };
	const struct rt_hf_config *c = all[_i / 2];
	auto_built a = build(c, 1), b = build(c, 2);
	gt_autofree char *model = in_dir("model"), *index = in_dir("model/" RT_HF_INDEX);
	struct rt_hf_config read;
	struct gt_err err = { 0 };

	train(&a);
	save(&a, c, _i % 2 ? 3000 : 0);
	ck_assert_int_eq(access(index, F_OK) == 0, _i % 2);
	ck_assert_msg(rt_hf_read_config(model, &read, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(read.family, c->family);
	ck_assert_int_eq(read.size.kv_heads, c->size.kv_heads);
	ck_assert_int_eq(read.size.tied, c->size.tied);
	ck_assert(read.size.eps == c->size.eps && read.size.rope_base == c->size.rope_base);
	ck_assert(loss_of(&a) != loss_of(&b));
	ck_assert_msg(rt_hf_load(b.p, &read, model, &err) == 0, "%s", err.msg);
	ck_assert(loss_of(&a) == loss_of(&b));
	for (int i = 0; i < rt_graph_leaves(a.g); i++) {
		const struct rt_node *x = rt_graph_leaf(a.g, i), *y = rt_graph_leaf(b.g, i);

		if (rt_node_is_param(x))
			ck_assert_mem_eq(rt_value(a.p, x), rt_value(b.p, y),
					 (size_t)rt_shape_elements(rt_node_shape(x)) * sizeof(float));
	}
}
END_TEST

START_TEST(an_existing_model_is_not_replaced)
{
	auto_built a = build(&llama, 1);
	gt_autofree char *model = in_dir("model");
	struct gt_err err = { 0 };
	struct stat before, after;

	save(&a, &llama, 0);
	ck_assert_int_eq(stat(model, &before), 0);
	ck_assert_int_eq(rt_hf_try(model, &err), -ENOTEMPTY);
	ck_assert_int_eq(rt_hf_save(a.p, &llama, model, 0, &err), -ENOTEMPTY);
	ck_assert_ptr_nonnull(strstr(err.msg, "is not an empty directory"));
	ck_assert_int_eq(stat(model, &after), 0);
	ck_assert_int_eq(before.st_ino, after.st_ino);
}
END_TEST

/* A write that fails leaves no files. */
START_TEST(a_failed_save_leaves_nothing)
{
	auto_built a = build(&llama, 1);
	gt_autofree char *model = in_dir("absent/model");
	struct gt_err err = { 0 };
	DIR *d;
	int entries = 0;

	ck_assert_int_eq(rt_hf_save(a.p, &llama, model, 0, &err), -ENOENT);
	d = opendir(dir);
	while (readdir(d))
		entries++;
	closedir(d);
	ck_assert_int_eq(entries, 2);
}
END_TEST

static void refused(struct built *b, const struct rt_hf_config *c, int code, const char *part)
{
	gt_autofree char *model = in_dir("model");
	double before = loss_of(b);
	struct gt_err err = { 0 };

	ck_assert_msg(rt_hf_load(b->p, c, model, &err) == code, "%s", err.msg);
	ck_assert_msg(strstr(err.msg, part) != NULL, "\"%s\" lacks \"%s\"", err.msg, part);
	ck_assert(loss_of(b) == before);
}

START_TEST(another_model_changes_nothing)
{
	struct rt_hf_config other = llama, deeper = llama, tied = llama;
	auto_built a = build(&llama, 1);
	gt_autofree char *model = in_dir("model");

	other.size.vocab = 13;
	deeper.size.layers = 3;
	tied.size.tied = true;
	save(&a, &llama, 4000);
	{
		auto_built b = build(&other, 2), c = build(&deeper, 2), d = build(&tied, 2);

		refused(&b, &other, -EINVAL, "tensor model.embed_tokens.weight is (11,16) and the model needs (13,16)");
		refused(&c, &deeper, -EINVAL, "has no tensor model.layers.2.input_layernorm.weight, which the model needs");
		ck_assert_int_eq(rt_hf_load(d.p, &tied, model, NULL), 0); /* a stored output projection is ignored */
		refused(&d, &llama, -EINVAL, "the model has no tensor lm_head.weight");
	}
}
END_TEST

static void write_text(const char *name, const char *text)
{
	gt_autofree char *path = in_dir(name);
	struct gt_err err = { 0 };

	ck_assert_msg(gt_file_write(path, text, strlen(text), 0644, &err) == 0, "%s", err.msg);
}

START_TEST(a_broken_index_changes_nothing)
{
	static const struct {
		const char *text, *part;
		int code;
	} bad[] = {
		{ "{}", "weight_map must name the file of each tensor", -EBADMSG },
		{ "{\"weight_map\": {\"a\": \"../x\"}}", "the file of tensor a must be a name in the same directory", -EBADMSG },
		{ "{\"weight_map\": {\"a\": 3}}", "the file of tensor a must be a name in the same directory", -EBADMSG },
		{ "{\"weight_map\": {\"a\": \"absent\"}}", "cannot read ", -ENOENT },
		{ "{\"weight_map\": {\"a\": \"model-00001-of-00003.safetensors\"}}", "has no tensor a", -EBADMSG },
		{ "{\"weight_map\": {\"model.embed_tokens.weight\": \"model-00001-of-00003.safetensors\"}}",
		  "index.json does not contain tensor model.layers.0.", -EBADMSG },
		{ "[", "index.json", -EINVAL },
	};
	auto_built a = build(&llama, 1);

	save(&a, &llama, 6000);
	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++) {
		write_text("model/" RT_HF_INDEX, bad[i].text);
		refused(&a, &llama, bad[i].code, bad[i].part);
	}
}
END_TEST

#define LLAMA(more) "{\"model_type\": \"llama\", \"hidden_size\": 16, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, " \
		    "\"intermediate_size\": 20, \"vocab_size\": 11" more "}"

START_TEST(a_config_is_accepted_or_refused_in_one_sentence)
{
	static const struct {
		const char *text, *part; /* part NULL: accepted */
	} all[] = {
		{ LLAMA(""), NULL },
		{ LLAMA(", \"unknown\": {\"deep\": [1]}"), NULL },
		{ LLAMA(", \"sliding_window\": null, \"attn_logit_softcapping\": null, \"partial_rotary_factor\": 1.0"), NULL },
		{ LLAMA(", \"sliding_window\": 4096"), "config.json: sliding_window changes the computation" },
		{ LLAMA(", \"partial_rotary_factor\": 0.5"), "partial_rotary_factor changes the computation" },
		{ LLAMA(", \"final_logit_softcapping\": 30.0"), "final_logit_softcapping changes the computation" },
		{ LLAMA(", \"num_local_experts\": 8"), "num_local_experts changes the computation" },
		{ LLAMA(", \"quantization_config\": {\"bits\": 4}"), "quantization_config changes the computation" },
		{ LLAMA(", \"rope_scaling\": null, \"head_dim\": null"), NULL },
		{ LLAMA(", \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 7}"), NULL },
		{ LLAMA(", \"rope_scaling\": {\"rope_type\": \"llama3\"}"),
		  "the rope type is \"llama3\"; only \"default\" is supported" },
		{ LLAMA(", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}"), "the rope type is \"linear\"" },
		{ LLAMA(", \"rope_scaling\": {\"factor\": 2}"), "rope_scaling changes the angles" },
		{ LLAMA(", \"rope_parameters\": {\"partial_rotary_factor\": 0.5}"), "rope_parameters changes the angles" },
		{ LLAMA(", \"hidden_act\": \"gelu\""), "hidden_act is \"gelu\"; only \"silu\" is supported" },
		{ LLAMA(", \"attention_bias\": true"), "attention_bias is true; only false is supported" },
		{ LLAMA(", \"num_key_value_heads\": 3"), "4 heads are not a multiple of 3 key/value heads" },
		{ LLAMA(", \"head_dim\": 5"), "heads of 5 columns cannot be rotated" },
		{ LLAMA(", \"rms_norm_eps\": -1"), "rms_norm_eps must be a number above 0" },
		{ LLAMA(", \"rope_theta\": \"big\""), "rope_theta must be a number above 0" },
		{ LLAMA(", \"max_position_embeddings\": 1e9"), "max_position_embeddings must be a number from 1 to 16777216" },
		{ "{\"model_type\": \"llama\"}", "hidden_size must be a number from 1 to 16777216" },
		{ "{\"model_type\": \"mamba\"}", "model_type is \"mamba\"; llama and gpt2 are supported" },
		{ "{}", "model_type is \"missing\"" },
		{ "[]", "is not a JSON object" },
		{ "{\"model_type\": \"gpt2\"}", NULL },
		{ "{\"model_type\": \"gpt2\", \"n_inner\": 100}", NULL },
		{ "{\"model_type\": \"gpt2\", \"n_inner\": 0}", "n_inner must be a number from 1 to 16777216" },
		{ "{\"model_type\": \"gpt2\", \"activation_function\": \"relu\"}", "activation_function is \"relu\"" },
		{ "{\"model_type\": \"gpt2\", \"n_head\": 7}", "the width of 768 is not a multiple of 7 heads" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(all); i++) {
		struct rt_hf_config c = { .size.vocab = -1 };
		struct gt_err err = { 0 };
		int r = rt_hf_parse_config(all[i].text, strlen(all[i].text), "config.json", &c, &err);

		ck_assert_msg(!r == !all[i].part, "%s: %s", all[i].text, err.msg);
		ck_assert_msg(!r || strstr(err.msg, all[i].part), "\"%s\" lacks \"%s\"", err.msg, all[i].part);
		ck_assert_int_eq(c.size.vocab == -1, r != 0);
	}
}
END_TEST

START_TEST(keys_of_unknown_effect_are_listed)
{
	static const char text[] = LLAMA(", \"attention_dropout\": 0.1, \"torch_dtype\": \"bfloat16\", \"use_cache\": true, "
					 "\"moon\": 3, \"off\": false, \"sun\": \"x\"");
	struct rt_hf_config c = { 0 };
	struct gt_err err = { 0 };
	gt_auto_buf many = { 0 };

	ck_assert_msg(!rt_hf_parse_config(text, strlen(text), "config.json", &c, &err), "%s", err.msg);
	ck_assert_str_eq(c.unknown, "moon, sun");
	gt_buf_printf(&many, "%s", LLAMA(""));
	many.s[--many.len] = 0; /* the brace */
	for (int i = 0; i < 100; i++)
		gt_buf_printf(&many, ", \"a key with a long name and number %d\": 7", i);
	gt_buf_printf(&many, "}");
	ck_assert_msg(!rt_hf_parse_config(many.s, many.len, "config.json", &c, &err), "%s", err.msg);
	ck_assert_uint_lt(strlen(c.unknown), sizeof(c.unknown));
	ck_assert_msg(!strncmp(c.unknown, "a key with a long name and number 0, a key", 42), "%s", c.unknown);
}
END_TEST

TCase *case_hf(void)
{
	TCase *c = tcase_create("hf");

	tcase_add_checked_fixture(c, begin, end);
	tcase_add_loop_test(c, a_saved_model_is_loaded, 0, 6);
	tcase_add_test(c, an_existing_model_is_not_replaced);
	tcase_add_test(c, a_failed_save_leaves_nothing);
	tcase_add_test(c, another_model_changes_nothing);
	tcase_add_test(c, a_broken_index_changes_nothing);
	tcase_add_test(c, a_config_is_accepted_or_refused_in_one_sentence);
	tcase_add_test(c, keys_of_unknown_effect_are_listed);
	return c;
}
