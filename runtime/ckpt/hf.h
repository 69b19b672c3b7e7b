/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_HF_H
#define RT_HF_H
/* The Hugging Face layout: a directory with config.json and model.safetensors, or several safetensors files and their
 * index. The public functions are in runtime.h. */
#include "lib/json.h"
#include "runtime/runtime.h"

#define RT_HF_INDEX	"model.safetensors.index.json"
#define RT_HF_SINGLE	"model.safetensors"

/* Parse the text of a file; `name` is used in messages. Return -EBADMSG or -EINVAL with one sentence. */
int rt_hf_parse_config(const char *text, size_t len, const char *name, struct rt_hf_config *ret, struct gt_err *err);
/* *ret: the object { tensor: file }. Each file is a plain name. */
int rt_hf_parse_index(const char *text, size_t len, const char *name, json_t **ret, struct gt_err *err);
json_t *rt_hf_config_json(const struct rt_hf_config *c);

/* A tensor of the layout that is a part of a parameter: `rows` rows from `row`, or all of it transposed. */
struct rt_hf_piece {
	char name[128];
	int64_t row, rows;
	bool transposed;
};
#define RT_HF_PIECES	3
/*
 * Returns the number of tensors that together are the parameter of that name with `rows` rows, and describes them in
 * ret.
 */
int rt_hf_pieces(const struct rt_hf_config *c, const char *param, int64_t rows, struct rt_hf_piece ret[RT_HF_PIECES]);
/* Returns the place of the name without the "transformer." that some files put before the names of GPT-2. */
const char *rt_hf_plain_name(const struct rt_hf_config *c, const char *name);
/* Returns whether a file may contain the tensor although the model has no such parameter. */
bool rt_hf_ignored(const struct rt_hf_config *c, const char *plain_name);
#endif
