/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted config.json and index: they are rejected with a message, or give sizes that a model can have, and names
 * inside the directory.
 */
#include <string.h>
#include "runtime/ckpt/hf.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 20000;

#define SIZE_MOST	(1 << 24)

static bool is_size(int64_t n)
{
	return n >= 1 && n <= SIZE_MOST;
}

/* An accepted configuration is unchanged after writing and reading. */
static void check_config(const struct rt_hf_config *c)
{
	const struct rt_llama_config *k = &c->size;
	gt_auto_json *doc = rt_hf_config_json(c);
	gt_autofree char *text = gt_json_text(doc);
	struct rt_hf_config again;
	struct gt_err err = { 0 };

	FUZZ_ASSERT(is_size(k->layers) && is_size(k->width) && is_size(k->heads) && is_size(k->kv_heads) && is_size(k->vocab));
	FUZZ_ASSERT(is_size(k->context) && k->ffn >= 1 && k->heads % k->kv_heads == 0 && k->depth >= 1 && k->eps > 0);
	FUZZ_ASSERT(c->family == RT_HF_GPT2 || (k->depth % 2 == 0 && k->rope_base > 0));
	FUZZ_ASSERT(rt_hf_parse_config(text, strlen(text), "written", &again, &err) == 0);
	FUZZ_ASSERT(again.family == c->family && again.size.width == k->width && again.size.depth == k->depth &&
		    again.size.tied == k->tied && again.size.kv_heads == k->kv_heads && again.size.ffn == k->ffn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rt_hf_config c = { .size.vocab = -7 };
	gt_auto_json *map = NULL;
	struct gt_err err = { 0 }, err2 = { 0 };
	const char *tensor;
	json_t *file;

	if (rt_hf_parse_config((const char *)data, size, "config.json", &c, &err) < 0)
		FUZZ_ASSERT(err.code > 0 && err.msg[0] && c.size.vocab == -7);
	else
		check_config(&c);
	if (rt_hf_parse_index((const char *)data, size, "index", &map, &err2) < 0)
		FUZZ_ASSERT(err2.code > 0 && err2.msg[0] && !map);
	json_object_foreach(map, tensor, file) {
		const char *base = json_string_value(file);

		FUZZ_ASSERT(base && *base && *base != '.' && !strchr(base, '/'));
	}
	return 0;
}
